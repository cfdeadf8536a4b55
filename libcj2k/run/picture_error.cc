// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/picture_error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <type_traits>

#include "base/parallel.h"
#include "run/chosen_block.h"
#include "run/inverse.h"

namespace cj2k {
namespace {

constexpr size_t kBlockGrain = 4;
constexpr size_t kRowGrain = 16;

/// The value of a sample if only the bits from `plane` up are known (T.800 E.1.1.2, r = 1/2).
double reconstruct(uint32_t sample, int plane, bool reversible) {
  const uint32_t known = (sample & ~kSignBit) >> plane << plane;
  if (known == 0) return 0;
  double value = known;
  if (plane > 0 || !reversible) value += std::ldexp(0.5, plane);
  return (sample & kSignBit) != 0 ? -value : value;
}

/// Decodes the chosen passes of a block.
template <typename Sample>
void decode_block(const ChosenBlock& block, double step, Plane<Sample> out) {
  constexpr bool kReversible = std::is_same_v<Sample, int32_t>;
  block.for_known([&](int x, int y, int lowest) {
    const uint32_t sample = block.samples[y * block.width + x];
    out.row(y)[x] = static_cast<Sample>(reconstruct(sample, lowest, kReversible) * step);
  });
}

/// The sample as a decoder stores it, rounded and clipped, without the level shift.
template <typename Sample>
int64_t shown(Sample value, int32_t depth) {
  const int64_t half = int64_t{1} << (depth - 1);
  int64_t rounded;
  if constexpr (std::is_same_v<Sample, float>) {
    rounded = std::lrint(std::clamp(value, -2.0f * half, 2.0f * half));
  } else {
    rounded = value;
  }
  return std::clamp(rounded, -half, half - 1);
}

/// Adds the squared differences between the samples that a decoder shows and the source, for the
/// components of a colour transform (3) or for one other component.
/// @param planes  [source, decoded][component]
template <typename Sample>
void add_squares(const Plane<Sample> (&planes)[2][3], uint32_t count, const Component* components,
                 uint64_t* sums) {
  std::array<std::atomic<uint64_t>, 3> total{};
  const int32_t width = planes[0][0].width;
  parallel_for(static_cast<size_t>(planes[0][0].height), kRowGrain, [&](size_t begin, size_t end) {
    uint64_t sum[3] = {0, 0, 0};
    for (auto y = static_cast<int32_t>(begin); y < static_cast<int32_t>(end); ++y) {
      for (int32_t x = 0; x < width; ++x) {
        Sample samples[2][3];
        for (uint32_t decoded : {0u, 1u}) {
          for (uint32_t k = 0; k < count; ++k) samples[decoded][k] = planes[decoded][k].row(y)[x];
          if (count == 3) inverse_colour(samples[decoded]);
        }
        for (uint32_t k = 0; k < count; ++k) {
          const int32_t depth = components[k].depth;
          const int64_t off = shown(samples[0][k], depth) - shown(samples[1][k], depth);
          sum[k] += static_cast<uint64_t>(off * off);
        }
      }
    }
    for (uint32_t k = 0; k < count; ++k) total[k].fetch_add(sum[k], std::memory_order_relaxed);
  });
  for (uint32_t k = 0; k < count; ++k) sums[k] += total[k].load();
}

}  // namespace

PictureError::PictureError(const Plan& plan) : plan_(plan) {
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    const TileSize size = largest_tile(plan, c);
    tile_samples_.push_back(size.samples());
    for (auto* memory : {&source_, &decoded_})
      memory->emplace_back((size.samples() + scratch_samples(size)) * sizeof(int32_t));
  }
}

int64_t PictureError::bytes(const Plan& plan) {
  if (plan.params.measure_mse == 0) return 0;
  size_t samples = 0;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    const TileSize size = largest_tile(plan, c);
    samples += 2 * (size.samples() + scratch_samples(size));
  }
  return static_cast<int64_t>(samples * sizeof(int32_t));
}

template <typename Sample>
void PictureError::measure_tile(const CoefficientPlanes& coefficients, const Selection& selection,
                                uint32_t tile, bool keeps_source, uint64_t* sums) {
  const auto num_components = static_cast<uint32_t>(plan_.components.size());
  const TileComponent* const tcs = plan_.tile_components.data() + tile * num_components;
  // Plane 0 of a tile-component is its source, plane 1 is decoded.
  const auto plane = [&](uint32_t component, uint32_t decoded) {
    const Rect& rect = tcs[component].rect;
    HostBuffer& memory = (decoded != 0 ? decoded_ : source_)[component];
    return Plane<Sample>{memory.as<Sample>(), rect.width(), rect.height(), rect.width()};
  };

  for (uint32_t c = 0; c < num_components; ++c) {
    const TileComponent& tc = tcs[c];
    parallel_for(tc.num_blocks, kBlockGrain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const auto number = static_cast<uint32_t>(tc.first_block + i);
        const CodeBlock& block = plan_.blocks[number];
        const Plane<Sample> from = coefficients.block<Sample>(block);
        const int32_t x = block.plane_x - tc.plane_x, y = block.plane_y - tc.plane_y;
        const Plane<Sample> source = plane(c, 0).sub(x, y, block.width, block.height);
        for (int32_t row = 0; row < block.height && !keeps_source; ++row)
          std::copy_n(from.row(row), block.width, source.row(row));
        decode_block(ChosenBlock(plan_, coefficients, selection, number),
                     double{subband_of(plan_, block, selection.step_set).step},
                     plane(c, 1).sub(x, y, block.width, block.height));
      }
    });
  }

  parallel_for(size_t{2} * num_components, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto c = static_cast<uint32_t>(i / 2);
      if (i % 2 == 0 && keeps_source) continue;
      const Plane<Sample> p = plane(c, i % 2);
      inverse_transform(plan_, tcs[c], p, p.data + tile_samples_[c]);
    }
  });

  // The components of a colour transform are compared together, then the others one by one.
  const uint32_t together = plan_.use_mct ? 3 : 1;
  for (uint32_t first = 0; first < num_components; first += first == 0 ? together : 1) {
    const uint32_t count = first == 0 ? together : 1;
    Plane<Sample> planes[2][3];
    for (uint32_t k = 0; k < count; ++k) {
      for (uint32_t decoded : {0u, 1u}) planes[decoded][k] = plane(first + k, decoded);
    }
    add_squares(planes, count, plan_.components.data() + first, sums + first);
  }
}

void PictureError::measure(const CoefficientPlanes& coefficients, const Selection& selection,
                           double* mse, bool again) {
  // The source of a single tile is still there.
  const bool keeps_source = again && plan_.tiles.size() == 1;
  std::array<uint64_t, CJ2K_MAX_COMPONENTS> sums{};
  for (uint32_t tile = 0; tile < plan_.tiles.size(); ++tile) {
    if (plan_.reversible) {
      measure_tile<int32_t>(coefficients, selection, tile, keeps_source, sums.data());
    } else {
      measure_tile<float>(coefficients, selection, tile, keeps_source, sums.data());
    }
  }
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const Rect& rect = plan_.components[c].rect;
    mse[c] = static_cast<double>(sums[c]) / (static_cast<double>(rect.width()) * rect.height());
  }
}

}  // namespace cj2k
