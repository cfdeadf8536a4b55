// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where lower layers cut an HT block. The passes of one cleanup plane are the only steps that a
// layer can take: bytes of another plane would be another set of passes (MULTIHT), which decoders
// do not read.
#pragma once

#include "coders/coded_block.h"

namespace cj2k {

/// @param passes      1 .. 3
/// @param bytes       [passes] from the start of the point to the end of each pass; never falling
/// @param distortion  [passes] squared error removed up to there, weighted
/// @return the slopes of the upper convex hull. Passes on one edge have the same slope, so they are
///         in the same layer: no layer ends just before bytes that gain more.
LayerCuts make_layer_cuts(int passes, const uint32_t* bytes, const double* distortion);

}  // namespace cj2k
