// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_region.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace cj2k {
namespace {

/// Most bit-planes of a shifted coefficient of any picture. At 31, which only patterns at full swing
/// take, OpenJPEG refuses the picture, and FFmpeg decodes another one.
constexpr int kMaxShiftedPlanes = 30;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

Span columns(const Rect& rect) { return {rect.x0, rect.x1}; }
Span rows(const Rect& rect) { return {rect.y0, rect.y1}; }

/// The part of each subband of a tile-component that one rectangle needs.
class RegionMarker {
 public:
  RegionMarker(Plan* plan, const cj2k_region& region)
      : plan_(*plan), region_(region), needed_(3 * static_cast<size_t>(plan->params.levels) + 1) {}

  void mark(const TileComponent& tc) {
    const Component& component = plan_.components[tc.component];
    const auto on_component = [](int64_t begin, int64_t size, int32_t d) {
      return Span{ceil_div(begin, d), ceil_div(begin + size, d)};
    };
    Span x = intersection(on_component(region_.x, region_.width, component.dx), columns(tc.rect));
    Span y = intersection(on_component(region_.y, region_.height, component.dy), rows(tc.rect));
    if (x.empty() || y.empty()) return;
    first_subband_ = plan_.resolutions[tc.first_resolution].first_subband;
    for (int r = plan_.params.levels; r > 0; --r) {
      const Resolution& resolution =
          plan_.resolutions[tc.first_resolution + static_cast<uint32_t>(r)];
      const BandSpans bx = band_spans(x, columns(resolution.rect), plan_.reversible);
      const BandSpans by = band_spans(y, rows(resolution.rect), plan_.reversible);
      need(resolution.first_subband, bx.high, by.low);
      need(resolution.first_subband + 1, bx.low, by.high);
      need(resolution.first_subband + 2, bx.high, by.high);
      x = bx.low;
      y = by.low;
    }
    need(first_subband_, x, y);
    for (uint32_t b = tc.first_block; b < tc.first_block + tc.num_blocks; ++b) {
      CodeBlock& block = plan_.blocks[b];
      if (holds_needed(block)) block.in_region = true;
    }
  }

 private:
  struct Needed {
    Span x, y;
  };
  void need(uint32_t subband, const Span& x, const Span& y) {
    needed_[subband - first_subband_] = {x, y};
  }
  bool holds_needed(const CodeBlock& block) const {
    const Subband& band = plan_.subbands[block.subband];
    const Needed& needed = needed_[block.subband - first_subband_];
    const int64_t x = band.rect.x0 + (block.plane_x - band.plane_x);
    const int64_t y = band.rect.y0 + (block.plane_y - band.plane_y);
    return !intersection(needed.x, {x, x + block.width}).empty() &&
           !intersection(needed.y, {y, y + block.height}).empty();
  }

  Plan& plan_;
  const cj2k_region& region_;
  uint32_t first_subband_ = 0;
  std::vector<Needed> needed_;
};

/// H.1: the shift is at least the largest M_b of the component.
Status choose_shifts(Plan* plan, const Log& log) {
  const cj2k_params& p = plan->params;
  int asked = 0;
  for (int i = 0; i < p.num_roi; ++i) asked = std::max(asked, p.roi[i].shift);
  int most_planes[CJ2K_MAX_COMPONENTS] = {}, most_bits[CJ2K_MAX_COMPONENTS] = {};
  for (const Subband& band : plan->subbands) {
    const auto planes = static_cast<int>(band.max_bit_planes);
    most_planes[band.component] = std::max(most_planes[band.component], planes);
    most_bits[band.component] =
        std::max(most_bits[band.component], static_cast<int>(band.magnitude_bits));
  }
  int most_shift = 0;
  for (int c = 0; c < p.num_components; ++c) {
    if (asked != 0 && asked < most_planes[c]) {
      return log.fail(Status::kInvalid,
                      "roi shift %d not in [%d, %d]: component %d has %d bit-planes (T.800 H.1)",
                      asked, most_planes[c], kMaxShiftedPlanes - most_bits[c], c, most_planes[c]);
    }
    // OpenJPEG compares with the shift when a coefficient has got a half bit already. So the chosen
    // shift is above the bits of the largest coefficient, even where these are all of M_b.
    const int shift = asked != 0 ? asked : std::max(most_planes[c], most_bits[c] + 1);
    if (shift + most_bits[c] > kMaxShiftedPlanes) {
      return log.fail(
          Status::kNotSupported,
          "roi: component %d (depth %d, levels %d, %s, mct %s, guard_bits %d) has "
          "coefficients of up to %d bits, and %d with the shift of %d; decoders hold %d",
          c, p.depth[c], p.levels, plan->reversible ? "5/3" : "9/7",
          p.mct == CJ2K_MCT_ON ? "on" : "off", p.guard_bits, most_bits[c], shift + most_bits[c],
          shift, kMaxShiftedPlanes);
    }
    plan->roi_shifts[static_cast<size_t>(c)] = static_cast<uint8_t>(shift);
    most_shift = std::max(most_shift, shift);
  }
  plan->region_gain = std::ldexp(1.0, 2 * most_shift);
  return Status::kOk;
}

}  // namespace

Span intersection(const Span& a, const Span& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// A sample depends on the coefficients around its own position, low-pass at even positions and
// high-pass at odd ones: each lifting step reaches one position further. The 5/3 has two steps, the
// 9/7 four; an even sample takes no part in the last one. Beyond an end of the line the signal is
// mirrored, back into the same range.
BandSpans band_spans(const Span& samples, const Span& line, bool reversible) {
  const int64_t reach = reversible ? 2 : 4;
  const int64_t first = samples.begin, last = samples.end - 1;
  const Span positions =
      intersection({first - reach + (first % 2 == 0), last + reach - (last % 2 == 0) + 1}, line);
  // Positions are not negative: position u is coefficient u / 2 of its band.
  return {{(positions.begin + 1) / 2, (positions.end + 1) / 2},
          {positions.begin / 2, positions.end / 2}};
}

Status add_regions(Plan* plan, const Log& log) {
  const cj2k_params& p = plan->params;
  if (p.num_roi == 0) return Status::kOk;
  CJ2K_TRY(choose_shifts(plan, log));
  for (int i = 0; i < p.num_roi; ++i) {
    RegionMarker marker(plan, p.roi[i]);
    for (const TileComponent& tc : plan->tile_components) marker.mark(tc);
  }
  for (CodeBlock& block : plan->blocks) {
    if (!block.in_region) block.planes_above = plan->roi_shifts[block.component];
  }
  return Status::kOk;
}

}  // namespace cj2k
