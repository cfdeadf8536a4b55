// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The truncation points of one block that rate control (PCRD-opt) may use: the upper convex hull of
// the distortion removed over bytes.
#pragma once

#include "core/ebcot/coding_passes.h"
#include "core/hull.h"

namespace cj2k {

/// Builds the hull of a block's passes. Deterministic: yes. Allocates: no.
/// @param weight    squared error of the picture per squared unit of quantised coefficient
///                  (Subband::distortion_weight)
/// @param keep_all  lossless: the last point holds all passes, even if they remove nothing
/// @param hull      [kMaxPasses] result
/// @param total     result: distortion that all passes remove
/// @return points written
int build_hull(const CodingPass* passes, int num_passes, double weight, bool keep_all,
               HullPoint* hull, double* total);

}  // namespace cj2k
