// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context labels of T.800 Annex D for one sample, written as the tables are.
#pragma once

#include "core/ebcot/mq.h"
#include "core/hd.h"
#include "core/orientation.h"

namespace cj2k::ebcot {

/// Zero-coding label, Table D.1.
/// @param h, v  significant neighbours in the row and in the column, 0 .. 2 each
/// @param d     significant neighbours on the diagonals, 0 .. 4
CJ2K_HD constexpr unsigned zero_context(Orientation orientation, int h, int v, int d) {
  if (orientation == kHH) {
    const int hv = h + v;
    if (d >= 3) return 8;
    if (d == 2) return hv >= 1 ? 7 : 6;
    if (d == 1) return hv >= 2 ? 5 : hv == 1 ? 4 : 3;
    return hv >= 2 ? 2 : hv == 1 ? 1 : 0;
  }
  if (orientation == kHL) {
    const int swap = h;
    h = v;
    v = swap;
  }
  if (h == 2) return 8;
  if (h == 1) return v >= 1 ? 7 : d >= 1 ? 6 : 5;
  if (v == 2) return 4;
  if (v == 1) return 3;
  return d >= 2 ? 2 : d == 1 ? 1 : 0;
}

struct SignContext {
  unsigned context;  ///< mq::kSign + 0..4
  unsigned flip;     ///< XORbit
};

/// Sign-coding label, Tables D.2 and D.3.
/// @param h, v  sum of the signs (+1, -1) of the significant neighbours in the row and in the
///              column, clamped to [-1, 1]
CJ2K_HD constexpr SignContext sign_context(int h, int v) {
  const unsigned flip = h < 0 || (h == 0 && v < 0) ? 1u : 0u;
  if (flip) {
    h = -h;
    v = -v;
  }
  // The standard's labels by (h, v): (1,1) 13, (1,0) 12, (1,-1) 11, (0,1) 10, (0,0) 9.
  return {mq::kSign + static_cast<unsigned>(h == 1 ? 3 + v : v), flip};
}

}  // namespace cj2k::ebcot
