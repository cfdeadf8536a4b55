// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The log of a first pass: the curves of a film as bytes (cj2k_film_log_write, cj2k_film_log_read).
// Little-endian:
//
//      0  "CJ2KFILM"
//      8  u32 version, 1
//     12  u32 points of a curve, 72
//     16  u64 hash of the parameters
//     24  u32 width, u32 height
//     32  u64 frames
//     40  u64 bytes of a frame up to which the curves reach; 0: all
//     48  u64 hash of the bytes before and of the curves
//     56  of each frame u32 bytes [72], f32 error [72]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "cj2k_film.h"

namespace cj2k {

inline constexpr size_t kFilmHeadBytes = 56;
inline constexpr size_t kFilmFrameBytes = sizeof(cj2k_curve);

/// @param p    a caller's struct
/// @param out  kFilmHeadBytes + curves.size() * kFilmFrameBytes
Status write_film_log(const cj2k_params& p, std::span<const cj2k_curve> curves, const Log& log,
                      uint8_t* out);
/// @param curves  null: only checks. @param frames  room in `curves`; result: frames of the log
Status read_film_log(const cj2k_params& p, std::span<const uint8_t> in, const Log& log,
                     cj2k_curve* curves, size_t* frames);

}  // namespace cj2k
