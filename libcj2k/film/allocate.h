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

namespace cj2k {

/// Checks that a curve is one: bytes never rise, errors never fall.
Status check_curve(const cj2k_curve& curve, size_t frame, const Log& log);

/// cj2k_film_allocate. Throws std::bad_alloc.
/// @param caps, floors  [curves], or empty; 0 in them: none
/// @param targets       [curves] result; not written after an error
Status allocate_film(const cj2k_film& film, std::span<const cj2k_curve> curves,
                     std::span<const int64_t> caps, std::span<const int64_t> floors, const Log& log,
                     std::span<int64_t> targets);

/// cj2k_film_next. Throws std::bad_alloc.
/// @param curves  [before]: of the frame that gets its target
/// @param target  result; neither it nor `film` is written after an error
Status next_target(std::span<const cj2k_curve> curves, size_t before, const Log& log,
                   cj2k_lookahead* film, int64_t* target);

}  // namespace cj2k
