// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One budget for the frames of a film: from their curves to a byte target each, of all frames at once
// or of one after the other.
#pragma once

#include <cstdint>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "cj2k_film.h"

namespace cj2k {

/// Checks that a curve is one: bytes never rise, errors never fall.
Status check_curve(const cj2k_curve& curve, size_t frame, const Log& log);

/// cj2k_film_allocate. Throws std::bad_alloc.
/// @param caps, floors  [curves], or empty; 0 in them: none
/// @param targets       [curves] result; not written after an error
Status allocate_film(const cj2k_film& film, std::span<const cj2k_curve> curves,
                     std::span<const int64_t> caps, std::span<const int64_t> floors, const Log& log,
                     std::span<int64_t> targets);

/// One pass over a film: a mean rate, and bytes that easy frames save up for hard ones. The rates are
/// positive, the bytes at most 2^40, and the floor is not above the cap.
struct Lookahead {
  int64_t bits_per_second = 0;  ///< after n frames, their targets are at most n times its part
  int64_t frame_rate_num = 0, frame_rate_den = 0;
  int64_t max_frame_bytes = 0;  ///< cap of each frame; 0: none
  int64_t min_frame_bytes = 0;  ///< floor of each frame
  int64_t reservoir_bytes =
      0;              ///< what may be saved up: any n frames have at most n times the mean,
                      ///< and this, rounded up
  int64_t ended = 0;  ///< 1: no frames come after those ahead, so what is saved is for them
  int64_t frames = 0, saved_bytes = 0;  ///< how far the film is; next_target changes them
};

/// Bytes of `frames` frames at a rate, rounded down.
int64_t bytes_at_rate(int64_t bits_per_second, int64_t rate_num, int64_t rate_den, int64_t frames);

/// Gives the next frame its bytes, from the curves of frames before it, its own and those of the frames
/// ahead. The result depends on the arguments alone. Throws std::bad_alloc.
/// @param curves  that check_curve would pass; [before]: of the frame that gets its target
/// @param target  result; neither it nor `film` is written after an error
/// @return kInvalid: the floor is above the mean
Status next_target(std::span<const cj2k_curve> curves, size_t before, const Log& log,
                   Lookahead* film, int64_t* target);

}  // namespace cj2k
