// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/picture_error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <type_traits>

#include "base/parallel.h"
#include "coders/ebcot/tier1.h"
#include "core/lifting.h"
#include "pixels/quantize.h"

namespace cj2k {
namespace {

constexpr size_t kBlockGrain = 4;
constexpr size_t kRowGrain = 16;
/// Columns that are transformed vertically together.
constexpr int32_t kStripColumns = 64;

// ---- Code-blocks ----

/// Finds the samples that the significance pass of `plane` codes, by its definition (T.800 D.3.1).
class SignificancePass {
 public:
  SignificancePass(const uint32_t* samples, int width, int height, int plane, bool vsc)
      : pitch_(width + 2) {
    std::fill_n(significant_.data(), pitch_ * (height + 2), uint8_t{0});
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const uint32_t magnitude = samples[y * width + x] & ~kSignBit;
        significant_[at(x, y)] = magnitude >> (plane + 1) != 0;
      }
    }
    for (int stripe = 0; stripe < height; stripe += 4) {
      for (int x = 0; x < width; ++x) {
        for (int y = stripe; y < std::min(stripe + 4, height); ++y) {
          if (significant_[at(x, y)] != 0 || !has_neighbour(x, y, vsc && y % 4 == 3)) continue;
          const bool bit = (samples[y * width + x] >> plane & 1) != 0;
          significant_[at(x, y)] = bit ? kMember | 1 : kMember;
        }
      }
    }
  }
  bool codes(int x, int y) const { return (significant_[at(x, y)] & kMember) != 0; }

 private:
  static constexpr uint8_t kMember = 2;
  int at(int x, int y) const { return (y + 1) * pitch_ + x + 1; }
  bool has_neighbour(int x, int y, bool hides_below) const {
    const uint8_t* s = significant_.data() + at(x, y);
    unsigned any = s[-1] | s[1] | s[-pitch_] | s[-pitch_ - 1] | s[-pitch_ + 1];
    if (!hides_below) any |= s[pitch_] | s[pitch_ - 1] | s[pitch_ + 1];
    return (any & 1) != 0;
  }

  const int pitch_;
  std::array<uint8_t, (kMaxBlockSide + 2) * (kMaxBlockSamples / kMaxBlockSide + 2) + 64>
      significant_;
};

/// The value of a sample if only the bits from `plane` up are known (T.800 E.1.1.2, r = 1/2).
double reconstruct(uint32_t sample, int plane, bool reversible) {
  const uint32_t known = (sample & ~kSignBit) >> plane << plane;
  if (known == 0) return 0;
  double value = known;
  if (plane > 0 || !reversible) value += std::ldexp(0.5, plane);
  return (sample & kSignBit) != 0 ? -value : value;
}

/// The passes of EBCOT up to a hull point. The passes of an HT block leave the same samples known as
/// the clean-up pass of their plane and the two passes after it.
int passes_from_the_top(const CodedBlock& coded, int points, const Subband& band, int planes) {
  const int passes = coded.hull[points - 1].passes;
  if (coded.codes == nullptr) return passes;
  const int cleanup_plane = band.max_bit_planes - 1 - coded.codes[points - 1].zero_bit_planes;
  return 3 * (planes - 1 - cleanup_plane) + passes;
}

/// Decodes the first `passes` passes of a block with `planes` bit-planes.
template <typename Sample>
void decode_block(const uint32_t* samples, int width, int height, int planes, int passes,
                  uint32_t style, double step, Plane<Sample> out) {
  constexpr bool kReversible = std::is_same_v<Sample, int32_t>;
  const int plane = planes - num_planes_begun(passes);  // plane of the last pass
  const PassKind last = passes == 0 ? PassKind::kCleanup : pass_kind(passes - 1);
  const auto store = [&](int x, int y, int lowest) {
    const double value = reconstruct(samples[y * width + x], lowest, kReversible) * step;
    out.row(y)[x] = static_cast<Sample>(value);
  };
  if (last == PassKind::kCleanup) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) store(x, y, passes == 0 ? kMaxBitPlanes : plane);
    }
    return;
  }
  const SignificancePass significance(samples, width, height, plane, (style & CJ2K_STYLE_VSC) != 0);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const uint32_t magnitude = samples[y * width + x] & ~kSignBit;
      const bool coded = significance.codes(x, y) ||
                         (last == PassKind::kRefinement && magnitude >> (plane + 1) != 0);
      store(x, y, coded ? plane : plane + 1);
    }
  }
}

// ---- The inverse wavelet transform, T.800 F.3 ----

/// `width` lines side by side: element i is a row with sample i of every line, so that the compiler
/// can vectorise over lines.
template <typename Sample>
struct Lines {
  Sample* data;
  int32_t count, width;
  Sample* operator[](int32_t i) const { return data + static_cast<ptrdiff_t>(i) * width; }
};

/// target[i] = step(target[i], a, b), with the neighbours a = neighbours[i + first] and
/// b = neighbours[i + first + 1].
template <typename Sample, typename Step>
void lift_lines(const Lines<Sample>& target, const Lines<Sample>& neighbours, int32_t first,
                Step step) {
  for (int32_t i = 0; i < target.count; ++i) {
    Sample* t = target[i];
    const Sample* a = neighbours[lifting_clamp(i + first, neighbours.count)];
    const Sample* b = neighbours[lifting_clamp(i + first + 1, neighbours.count)];
    for (int32_t k = 0; k < target.width; ++k) t[k] = step(t[k], a[k], b[k]);
  }
}

/// Inverse lifting of `width` lines of `n` samples, low samples first, in place.
template <typename Sample>
void unlift(Sample* data, int32_t n, int parity, int32_t width) {
  const int32_t num_low = lifting_low_count(n, parity);
  const Lines<Sample> low{data, num_low, width};
  const Lines<Sample> high{data + static_cast<ptrdiff_t>(num_low) * width, n - num_low, width};
  if (n == 1) {
    if (parity == 1) {
      for (int32_t k = 0; k < width; ++k) high[0][k] /= 2;
    }
    return;
  }
  const int32_t before_low = parity - 1, before_high = -parity;
  if constexpr (std::is_same_v<Sample, int32_t>) {
    lift_lines(low, high, before_low,
               [](int32_t x, int32_t a, int32_t b) { return x - ((a + b + 2) >> 2); });
    lift_lines(high, low, before_high,
               [](int32_t x, int32_t a, int32_t b) { return x + ((a + b) >> 1); });
  } else {
    for (int64_t k = 0; k < int64_t{num_low} * width; ++k) low.data[k] *= kHighScale97;
    for (int64_t k = 0; k < int64_t{high.count} * width; ++k) high.data[k] *= kLowScale97;
    const auto step = [](float factor) {
      return [factor](float x, float a, float b) { return lift97(x, -factor, a, b); };
    };
    lift_lines(low, high, before_low, step(kDelta97));
    lift_lines(high, low, before_high, step(kGamma97));
    lift_lines(low, high, before_low, step(kBeta97));
    lift_lines(high, low, before_high, step(kAlpha97));
  }
}

/// The position of sample i of a line (low samples first) after interleaving.
int32_t interleaved(int32_t i, int32_t num_low, int parity) {
  return i < num_low ? 2 * i + parity : 2 * (i - num_low) + 1 - parity;
}

/// Inverts one level: rows, then columns.
/// @param scratch  at least one row, and kStripColumns columns
template <typename Sample>
void inverse_level(Plane<Sample> plane, int parity_x, int parity_y, Sample* scratch) {
  const int32_t low_columns = lifting_low_count(plane.width, parity_x);
  for (int32_t y = 0; y < plane.height; ++y) {
    Sample* row = plane.row(y);
    std::copy_n(row, plane.width, scratch);
    unlift(scratch, plane.width, parity_x, 1);
    for (int32_t i = 0; i < plane.width; ++i)
      row[interleaved(i, low_columns, parity_x)] = scratch[i];
  }
  const int32_t low_rows = lifting_low_count(plane.height, parity_y);
  for (int32_t x = 0; x < plane.width; x += kStripColumns) {
    const int32_t width = std::min(kStripColumns, plane.width - x);
    for (int32_t y = 0; y < plane.height; ++y)
      std::copy_n(plane.row(y) + x, width, scratch + static_cast<ptrdiff_t>(y) * width);
    unlift(scratch, plane.height, parity_y, width);
    for (int32_t y = 0; y < plane.height; ++y) {
      std::copy_n(scratch + static_cast<ptrdiff_t>(y) * width, width,
                  plane.row(interleaved(y, low_rows, parity_y)) + x);
    }
  }
}

template <typename Sample>
void inverse_transform(const Plan& plan, const TileComponent& tc, Plane<Sample> plane,
                       Sample* scratch) {
  for (int r = 1; r <= plan.params.levels; ++r) {
    const Rect& rect = plan.resolutions[tc.first_resolution + static_cast<uint32_t>(r)].rect;
    if (rect.empty()) continue;
    inverse_level(plane.sub(0, 0, rect.width(), rect.height()), rect.x0 & 1, rect.y0 & 1, scratch);
  }
}

// ---- Samples ----

/// Inverse RCT (T.800 G.2.2) or ICT (G.3.2) of one sample of components 0, 1 and 2.
void inverse_colour(int32_t* s) {
  const int32_t g = s[0] - ((s[1] + s[2]) >> 2);
  const int32_t r = s[2] + g, b = s[1] + g;
  s[0] = r;
  s[1] = g;
  s[2] = b;
}
void inverse_colour(float* s) {
  const float y = s[0], cb = s[1], cr = s[2];
  s[0] = y + 1.402f * cr;
  s[1] = y - 0.344136f * cb - 0.714136f * cr;
  s[2] = y + 1.772f * cb;
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

struct TileSize {
  int32_t width = 0, height = 0;
  size_t samples() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
};
TileSize largest_tile(const Plan& plan, uint32_t component) {
  TileSize largest;
  for (const TileComponent& tc : plan.tile_components) {
    if (tc.component != component) continue;
    largest.width = std::max(largest.width, tc.rect.width());
    largest.height = std::max(largest.height, tc.rect.height());
  }
  return largest;
}
size_t scratch_samples(const TileSize& size) {
  return static_cast<size_t>(std::max<int64_t>(size.width, int64_t{kStripColumns} * size.height));
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
                                uint32_t tile, uint64_t* sums) {
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
      std::array<uint32_t, kMaxBlockSamples> samples;
      for (size_t i = begin; i < end; ++i) {
        const auto number = static_cast<uint32_t>(tc.first_block + i);
        const CodeBlock& block = plan_.blocks[number];
        const Subband& band = subband_of(plan_, block, selection.step_set);
        const Plane<Sample> from = coefficients.block<Sample>(block);
        const int32_t x = block.plane_x - tc.plane_x, y = block.plane_y - tc.plane_y;
        const uint8_t points = selection.final_points[number];
        const CodedBlock& result = selection.blocks[number];
        const uint32_t* coded = points > 0 && result.codes != nullptr
                                    ? result.codes[points - 1].samples
                                    : result.samples;
        uint32_t all = 0;
        if (coded != nullptr) {
          for (int j = 0; j < block.width * block.height; ++j) {
            samples[j] = coded[j];
            all |= coded[j] & ~kSignBit;
          }
        } else if constexpr (std::is_same_v<Sample, int32_t>) {
          all = simd::quantize_53(from.data, from.stride_samples, block.width, block.height,
                                  samples.data(), block.width);
        } else {
          all = simd::quantize_97(from.data, from.stride_samples, block.width, block.height,
                                  band.inverse_step, (uint32_t{1} << band.max_bit_planes) - 1,
                                  samples.data(), block.width);
        }
        const Plane<Sample> source = plane(c, 0).sub(x, y, block.width, block.height);
        for (int32_t row = 0; row < block.height; ++row)
          std::copy_n(from.row(row), block.width, source.row(row));
        const int planes = std::bit_width(all);
        const int passes = points > 0 ? passes_from_the_top(result, points, band, planes) : 0;
        decode_block(samples.data(), block.width, block.height, planes, passes,
                     static_cast<uint32_t>(plan_.params.cblk_style), double{band.step},
                     plane(c, 1).sub(x, y, block.width, block.height));
      }
    });
  }

  parallel_for(size_t{2} * num_components, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto c = static_cast<uint32_t>(i / 2);
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
                           double* mse) {
  std::array<uint64_t, CJ2K_MAX_COMPONENTS> sums{};
  for (uint32_t tile = 0; tile < plan_.tiles.size(); ++tile) {
    if (plan_.reversible) {
      measure_tile<int32_t>(coefficients, selection, tile, sums.data());
    } else {
      measure_tile<float>(coefficients, selection, tile, sums.data());
    }
  }
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const Rect& rect = plan_.components[c].rect;
    mse[c] = static_cast<double>(sums[c]) / (static_cast<double>(rect.width()) * rect.height());
  }
}

}  // namespace cj2k
