// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the flat arrays that the pixel kernels use from the plan.
#pragma once

#include <cstdint>
#include <vector>

#include "core/overlaps.h"
#include "kernels/ebcot/colour.h"
#include "kernels/ebcot/quantize.h"
#include "kernels/pixels/pixels.h"
#include "plan/plan.h"

namespace cj2k::cuda {

PixelFormat make_pixel_format(const Plan& plan);

/// The format of the samples in a frame: as they are read, before rounding.
PixelFormat make_stored_format(const Plan& plan);

/// The layout of samples that a kernel of their own makes; empty if the first level can read the
/// frame.
CodedWords make_coded_words(const Plan& plan);

FrameLayout make_frame_layout(const Plan& plan);

/// Step sets that frames of EBCOT may have on the device (Plan::finer_subbands), with the first one.
inline uint32_t num_ebcot_step_sets(const Plan& plan) {
  const bool is_ht = plan.params.coder == CJ2K_CODER_HT;
  return is_ht ? 1 : 1 + static_cast<uint32_t>(plan.finer_subbands.size());
}

/// Offset in a frame, in samples, of the top left sample of a tile-component (plane 1), or of its
/// low-pass part (plane 0).
uint64_t tile_component_offset(const Plan& plan, const FrameLayout& layout, const TileComponent& tc,
                               int plane);

/// The jobs and parts of one level.
struct DwtLevel {
  std::vector<DwtJob> jobs;
  /// The parts of the components with a colour transform come first. There the three components of
  /// one place are neighbours.
  std::vector<DwtPart> parts;
  uint32_t num_colour_parts = 0;
};
/// Makes level `level` (1 = the first) of all tile-components that have samples in it.
DwtLevel make_dwt_level(const Plan& plan, const FrameLayout& layout, int level);
/// Makes one job per block, in the order of plan.blocks; with EBCOT for each step set, one after the other.
/// @param frame_words  set to the number of 64-bit words of a frame's bit-planes
std::vector<QuantizeJob> make_quantize_jobs(const Plan& plan, const FrameLayout& layout,
                                            uint64_t* frame_words);
/// The overlaps of each block, for RDOQ.
std::vector<Overlaps> make_overlaps(const Plan& plan);
/// The jobs of a plan that couples colours (coders/ebcot/colour_errors.h), for each step set.
std::vector<ColourJob> make_colour_jobs(const Plan& plan);

}  // namespace cj2k::cuda
