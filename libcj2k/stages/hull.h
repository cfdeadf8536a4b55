// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The truncation points of one block that rate control may use (PCRD-opt): the upper convex hull of
// distortion removed over bytes.
#pragma once

#include "core/ebcot/coding_passes.h"
#include "core/hull.h"

namespace cj2k {

/// @param weight    squared error of the picture per squared unit of quantised coefficient
/// (Subband::distortion_weight)
/// @param keep_all  lossless: the last point holds all passes, whatever its gain
/// @param hull      kMaxPasses entries
/// @param total     distortion of all passes
/// @return points written. Deterministic: yes. Allocates: no.
int build_hull(const CodingPass* passes, int num_passes, double weight, bool keep_all,
               HullPoint* hull, double* total);

}  // namespace cj2k
