// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the errors of Cb and Cr shift Y by, for RDOQ (coders/ebcot/colour_errors.h).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/ebcot/rdoq.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k::cuda {

/// A block of Cb or Cr.
struct alignas(16) ColourJob {
  uint32_t luma;  ///< index in the plan of the block of Y at its place
  float factor;   ///< colour_factor
  float step;     ///< of its subband, in this step set
};

/// For the blocks of component `component` (1 or 2) in the list whose frame has RDOQ, which are coded and
/// have hulls: adds their errors to the shift of Y at their place. Component 1 overwrites what was there.
/// Component 2 also adds the coefficient of Y: then `shifted` holds what Y is quantised from.
/// @param jobs     [step set][num_blocks]
/// @param hulls    of tier1_hull for this list
/// @param shifted  RdoqParams::shifted
Status colour_errors(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                     const Tier1Output& hulls, const ColourJob* jobs, uint32_t component,
                     const RdoqParams& params, float* shifted);

}  // namespace cj2k::cuda
