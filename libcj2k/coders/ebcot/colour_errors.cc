// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ebcot/colour_errors.h"

#include <algorithm>
#include <iterator>

namespace cj2k {
namespace {

/// g_Cb and g_Cr, from the rows of T.800 G.3.2.
constexpr double kCouplings[3] = {0, (1.772 - 0.344136) / 3, (1.402 - 0.714136) / 3};
/// <c, c>: squared norms of the columns of Y, Cb and Cr.
constexpr double kNorms[3] = {3, 1.772 * 1.772 + 0.344136 * 0.344136,
                              1.402 * 1.402 + 0.714136 * 0.714136};

const TileComponent& tile_component_of(const Plan& plan, uint32_t block) {
  const Subband& band = plan.subbands[plan.blocks[block].subband];
  return plan.tile_components[plan.resolutions[band.resolution].tile_component];
}

/// The first block of the same tile's component 0.
uint32_t first_luma_block(const Plan& plan, const TileComponent& tc) {
  return plan.tile_components[tc.tile * plan.components.size()].first_block;
}

}  // namespace

bool couples_colours(const Plan& plan) {
  return plan.has_rdoq && plan.params.coder == CJ2K_CODER_EBCOT && plan.use_mct &&
         !plan.reversible && plan.params.num_roi == 0 && plan.params.tune == CJ2K_TUNE_MSE;
}

ColourOrder colour_order(const Plan& plan) {
  ColourOrder order;
  if (!couples_colours(plan)) return order;
  const size_t components = plan.components.size();
  for (size_t tile = 0; tile < plan.tiles.size(); ++tile) {
    const TileComponent* tc = &plan.tile_components[tile * components];
    for (uint32_t b = 0; b < tc->num_blocks; ++b) {
      for (const int component : {1, 2, 0}) order.triples.push_back(tc[component].first_block + b);
    }
    for (size_t component = 3; component < components; ++component) {
      for (uint32_t b = 0; b < tc[component].num_blocks; ++b)
        order.rest.push_back(tc[component].first_block + b);
    }
  }
  return order;
}

ColourOrder ColourOrder::some(std::span<const uint32_t> blocks) const {
  ColourOrder order;
  const auto is_asked = [&](uint32_t b) {
    return std::binary_search(blocks.begin(), blocks.end(), b);
  };
  for (size_t i = 0; i < triples.size(); i += 3) {
    const auto triple = std::span(triples).subspan(i, 3);
    if (std::any_of(triple.begin(), triple.end(), is_asked))
      order.triples.insert(order.triples.end(), triple.begin(), triple.end());
  }
  std::copy_if(rest.begin(), rest.end(), std::back_inserter(order.rest), is_asked);
  return order;
}

uint32_t luma_block(const Plan& plan, uint32_t block) {
  const TileComponent& tc = tile_component_of(plan, block);
  return first_luma_block(plan, tc) + (block - tc.first_block);
}

float colour_factor(const Plan& plan, uint32_t block) {
  return static_cast<float>(kColourShift * kCouplings[plan.blocks[block].component]);
}

double error_left(const Plan& plan, uint32_t component) {
  if (component > 2 || !couples_colours(plan)) return 1;
  constexpr double kMadeUp = 1 - (1 - kColourShift) * (1 - kColourShift);
  const double coupling = kCouplings[component];
  return 1 - kMadeUp * 3 * coupling * coupling / kNorms[component];
}

}  // namespace cj2k
