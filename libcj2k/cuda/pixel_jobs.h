// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From the plan to the flat arrays that the kernels index.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ebcot/quantize.h"
#include "kernels/pixels/pixels.h"
#include "plan.h"

namespace cj2k::cuda {

PixelFormat make_pixel_format(const Plan& plan);

FrameLayout make_frame_layout(const Plan& plan);
/// Where the top left sample of a tile-component, or of its low-pass part, lies in a frame.
uint64_t tile_component_offset(const Plan& plan, const FrameLayout& layout, const TileComponent& tc,
                               int plane);

struct DwtLevel {
  std::vector<DwtJob> jobs;
  /// In level 1 those that a colour transform makes come first, the three components of one place
  /// side by side.
  std::vector<DwtPart> parts;
  uint32_t num_colour_parts = 0;
};
/// Level `level` (1 = the first) of all tile-components that have samples there.
DwtLevel make_dwt_level(const Plan& plan, const FrameLayout& layout, int level);
/// [plan.blocks] in their order. `*frame_words`: words of a frame's bit-planes.
std::vector<QuantizeJob> make_quantize_jobs(const Plan& plan, const FrameLayout& layout,
                                            uint64_t* frame_words);

}  // namespace cj2k::cuda
