// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/cpu_pixels.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/parallel.h"
#include "core/quantizer.h"
#include "pixels/colour.h"
#include "pixels/ingest.h"

namespace cj2k {
namespace {

constexpr uint32_t kColourComponents = 3;
constexpr uint32_t kRows = kDwtPushed;  ///< of samples at a time
constexpr size_t kMaxLevels = 32;
/// Fewest pairs of rows in a band, because a band reads up to seven rows more than it makes.
constexpr int32_t kMinBandPairs = 32;
constexpr int32_t kBandsPerWorker = 4;
constexpr size_t kLine = kCacheLineBytes / sizeof(int32_t);

size_t whole_lines(size_t samples) { return (samples + kLine - 1) / kLine * kLine; }

/// Samples from row to row, whole cache lines. It is not a multiple of 4 KiB, which would map a column to
/// one cache set.
ptrdiff_t plane_stride(int32_t width, size_t sample_bytes) {
  constexpr size_t kPageBytes = 4096;
  size_t bytes = (static_cast<size_t>(width) * sample_bytes + kCacheLineBytes - 1) /
                 kCacheLineBytes * kCacheLineBytes;
  if (bytes % kPageBytes == 0) bytes += kCacheLineBytes;
  return static_cast<ptrdiff_t>(bytes / sample_bytes);
}

/// Samples of a group of tiles: enough blocks for full lanes (coders/ebcot/mq_lanes.h), and for all
/// workers.
constexpr size_t kGroupSamples = size_t{1} << 22, kGroupSamplesPerWorker = size_t{1} << 21;
/// Samples from which on a frame whose blocks are coded in several orders is coded in groups, too,
/// although each order transforms it again: clearing memory for all coefficients then takes longer.
constexpr size_t kManySamples = size_t{1} << 26;

/// Whether something looks at the coefficients of the whole frame.
bool needs_coefficients(const Plan& plan) {
  return keeps_coefficients(plan) || plan.params.curves == CJ2K_CURVES_ONLY;
}
/// Or at each of them for each bit-plane.
bool needs_whole_frame(const Plan& plan) {
  return needs_coefficients(plan) || plan.stop == CJ2K_STOP_PSB || plan.stop == CJ2K_STOP_BPI;
}

constexpr int kMostNarrowBits = 15;
/// Subbands of a tile: all tiles have the same.
ptrdiff_t bands_of_tile(const Plan& plan) {
  if (plan.tiles.size() == 1) return static_cast<ptrdiff_t>(plan.subbands.size());
  const TileComponent& second = plan.tile_components[plan.components.size()];
  return plan.resolutions[second.first_resolution].first_subband;
}

/// Bits of the largest magnitude of a band of the 5/3; of the 9/7 as it is quantised. The rounding of
/// floats may exceed their bound, but not M_b.
int magnitude_bits(const Plan& plan, const Subband& band) {
  if (plan.reversible) return band.magnitude_bits;
  return std::min(band.magnitude_bits + 1, int{band.max_bit_planes});
}

/// How many levels are kept in 16 bits, because their coefficients fit for any picture: of the 5/3,
/// whose low-pass samples between two levels are smaller than the largest of a band, all or none; of
/// the 9/7, quantised, if the frame has one quantisation and nothing reads what it drops, else those with
/// a unit. Without levels there are samples only, and what looks at the whole frame reads 32 bits.
int narrow_levels(const Plan& plan) {
  if (needs_coefficients(plan) || (plan.has_rdoq && !plan.reversible)) return 0;
  int levels = plan.params.levels;
  for (ptrdiff_t i = 0; i < bands_of_tile(plan); ++i) {
    const Subband& band = plan.subbands[static_cast<size_t>(i)];
    const bool fits =
        plan.finer_subbands.empty() ? magnitude_bits(plan, band) <= kMostNarrowBits : band.unit > 0;
    if (!fits) levels = plan.reversible ? 0 : std::min(levels, band.level - 1);
  }
  return std::max(levels, 0);  // without levels, that of LL is 0
}

/// Whether each level takes the low-pass rows of the level before as they are made. Several workers
/// make parts of a level, and would make the rows twice where these meet.
bool has_chain(const Plan& plan, size_t workers) { return workers == 1 && plan.params.levels > 0; }

/// How often the largest rectangle in a plane (CoefficientPlanes) is halved; -1: the plane is not used.
/// Where levels are quantised and there is no chain, float planes also have the low-pass samples between
/// levels.
int halvings_of(const Plan& plan, size_t workers, uint32_t plane) {
  const bool chain = has_chain(plan, workers);
  const int narrow = plan.reversible ? 0 : narrow_levels(plan);
  if (plane == 1) return 0;
  if (narrow == 0) return plane == 0 && !chain ? std::min(plan.params.levels, 1) : -1;
  const int last = plan.params.levels - (narrow == plan.params.levels ? 1 : 0);
  for (int level = chain ? narrow + 1 : 1; level <= last; ++level) {
    if (CoefficientPlanes::float_plane(static_cast<uint32_t>(level)) == plane)
      return level <= narrow ? level : level - 1;
  }
  return -1;
}
size_t sample_bytes(const Plan& plan, uint32_t plane) {
  const bool is_narrow = narrow_levels(plan) > 0 && (plan.reversible || plane == 1);
  return is_narrow ? sizeof(int16_t) : sizeof(int32_t);
}

/// The result of so many levels.
const Resolution& low_pass_of(const Plan& plan, const TileComponent& tc, uint32_t level) {
  return plan.resolutions[tc.first_resolution + static_cast<uint32_t>(plan.params.levels) - level];
}
DwtShape shape_of(const Rect& rect) {
  return {rect.width(), rect.height(), rect.x0 & 1, rect.y0 & 1};
}

/// Whether all blocks are coded once, in one order.
bool has_one_order(const Plan& plan) {
  return plan.params.lossless != 0 || (plan.stop == CJ2K_STOP_NONE && !plan.has_rdoq);
}

/// The part of a plane of a component that a group has: of one tile as much as is used.
Rect plane_of(const Plan& plan, size_t workers, const TileGroup& group, uint32_t component,
              uint32_t plane) {
  const int most_halvings = halvings_of(plan, workers, plane);
  if (most_halvings < 0 || coefficient_plane(plan, component, plane & 1).empty()) return {};
  const auto tile_component = [&](uint32_t tile) -> const TileComponent& {
    return plan.tile_components[tile * plan.components.size() + component];
  };
  const TileComponent& last = tile_component(group.end - 1);
  const int halvings = group.end - group.begin == 1 ? most_halvings : std::min(most_halvings, 1);
  const Rect& size = low_pass_of(plan, last, static_cast<uint32_t>(halvings)).rect;
  const PlanePoint begin = tile_component_corner(plan, tile_component(group.begin), plane & 1);
  const PlanePoint end = tile_component_corner(plan, last, plane & 1);
  return {begin.x, begin.y, end.x + size.width(), end.y + size.height()};
}

/// The size of a plane that has room for each group.
Rect largest_plane(const Plan& plan, std::span<const TileGroup> groups, size_t workers,
                   uint32_t component, uint32_t plane) {
  Rect largest;
  for (const TileGroup& group : groups) {
    const Rect part = plane_of(plan, workers, group, component, plane);
    largest.x1 = std::max(largest.x1, part.width());
    largest.y1 = std::max(largest.y1, part.height());
  }
  return largest;
}

}  // namespace

std::vector<TileGroup> tile_groups(const Plan& plan, size_t workers) {
  const auto num_tiles = static_cast<uint32_t>(plan.tiles.size());
  const auto samples_of = [](const Rect& r) {
    return static_cast<size_t>(r.width()) * static_cast<size_t>(r.height());
  };
  size_t all = 0, largest_tile = 1, tile = 0;
  for (const TileComponent& tc : plan.tile_components) {
    tile = (tc.component == 0 ? 0 : tile) + samples_of(tc.rect);
    all += samples_of(tc.rect);
    largest_tile = std::max(largest_tile, tile);
  }
  const size_t wanted = std::max(kGroupSamples, workers * kGroupSamplesPerWorker);
  if (needs_whole_frame(plan) || all <= (has_one_order(plan) ? wanted : kManySamples))
    return {{0, num_tiles}};
  const auto wide = static_cast<uint32_t>(plan.tiles_wide);
  auto most = static_cast<uint32_t>(std::max(wanted / largest_tile, size_t{1}));
  if (most > wide) most -= most % wide;
  std::vector<TileGroup> groups;
  for (uint32_t begin = 0; begin < num_tiles; begin = groups.back().end) {
    const uint32_t row_end = begin - begin % wide + wide;
    groups.push_back({begin, std::min(begin + most, most < wide ? row_end : num_tiles)});
  }
  return groups;
}

CpuPlanes::CpuPlanes(const Plan& plan, std::span<const TileGroup> groups, size_t workers)
    : CoefficientPlanes(plan, narrow_levels(plan), has_chain(plan, workers)),
      plan_(plan),
      workers_(workers) {
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    for (uint32_t i = 0; i < CoefficientPlanes::kPlanes; ++i) {
      const Rect shape = largest_plane(plan, groups, workers, c, i);
      const ptrdiff_t stride = plane_stride(shape.width(), sample_bytes(plan, i));
      memory_.emplace_back(static_cast<size_t>(stride) * static_cast<size_t>(shape.height()) *
                           sample_bytes(plan, i));
      set_plane(c, i, {memory_.back().as<int32_t>(), shape.width(), shape.height(), stride});
    }
  }
  hold(groups[0]);
}

size_t CpuPlanes::bytes(const Plan& plan, std::span<const TileGroup> groups, size_t workers) {
  size_t bytes = 0;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    for (uint32_t i = 0; i < CoefficientPlanes::kPlanes; ++i) {
      const Rect shape = largest_plane(plan, groups, workers, c, i);
      bytes += static_cast<size_t>(plane_stride(shape.width(), sample_bytes(plan, i))) *
               static_cast<size_t>(shape.height()) * sample_bytes(plan, i);
    }
  }
  return bytes;
}

void CpuPlanes::hold(const TileGroup& group) {
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    for (uint32_t i = 0; i < CoefficientPlanes::kPlanes; ++i) {
      const Rect part = plane_of(plan_, workers_, group, c, i);
      set_origin(c, i, {part.x0, part.y0});
    }
  }
}

template <typename Sample, typename Stored>
auto CpuPlanes::source(const TileComponent& tc, uint32_t level) const {
  const Rect& rect = low_pass_of(plan_, tc, level - 1).rect;
  if constexpr (kDwtQuantises<Sample, Stored>) {
    return rectangle<float>(tc, float_plane(level - 1), rect.width(), rect.height());
  } else {
    return tile_component<Stored>(tc, level - 1, rect.width(), rect.height());
  }
}

template <typename Sample, typename Stored>
DwtTarget<Sample, Stored> CpuPlanes::target(const TileComponent& tc, uint32_t level) const {
  const Resolution& from = low_pass_of(plan_, tc, level - 1);
  const Resolution& to = low_pass_of(plan_, tc, level);
  const int32_t width = from.rect.width(), height = from.rect.height();
  DwtTarget<Sample, Stored> target{};
  if constexpr (!kDwtQuantises<Sample, Stored>) {
    target.bands = tile_component<Stored>(tc, level, width, height);
  } else if (!is_narrow(level)) {
    target.wide = tile_component<float>(tc, level, width, height);
  } else {
    const auto quantizer = [&](uint32_t subband) {
      const Subband& band = plan_.subbands[subband];
      if (band.unit > 0) return DwtQuantizer{1 / band.unit, 32767, quantizer_rounder(1)};
      const int planes = std::min(int{band.max_bit_planes}, kMostNarrowBits);
      return DwtQuantizer{band.inverse_step, static_cast<float>((1 << planes) - 1), 0};
    };
    const bool is_last = level == static_cast<uint32_t>(plan_.params.levels);
    target.bands = tile_component<Stored>(tc, level, width, height);
    if (is_last) target.ll = quantizer(to.first_subband);
    if (!is_last && !has_chain(plan_, workers_))
      target.low = rectangle<float>(tc, float_plane(level), to.rect.width(), to.rect.height());
    target.hl = quantizer(from.first_subband);
    target.lh = quantizer(from.first_subband + 1);
    target.hh = quantizer(from.first_subband + 2);
  }
  return target;
}

/// The levels of a tile-component after the first, each of which takes rows of the one before.
template <typename Sample, typename Stored>
class CpuPixels::Chain {
 public:
  /// @param widest  of the first level
  static size_t samples(int32_t widest, int levels) {
    size_t all = 0;
    for (int level = 2; level <= levels; ++level) {
      widest = (widest + 1) / 2;
      all += level_samples(widest);
    }
    return all;
  }
  /// @param memory  [samples], aligned to a cache line
  /// @return what the first level writes
  DwtTarget<Sample, Stored> begin(const Plan& plan, const CpuPlanes& planes,
                                  const TileComponent& tc, Sample* memory) {
    DwtTarget<Sample, Stored> target;
    Plane<Sample> rows;
    DwtLowRows* taker = nullptr;
    for (auto level = static_cast<uint32_t>(plan.params.levels); level > 0; --level) {
      target = planes.target<Sample, Stored>(tc, level);
      target.low = rows;
      target.taker = taker;
      const Rect& rect = low_pass_of(plan, tc, level - 1).rect;
      if (level == 1 || rect.empty()) continue;
      const size_t stride = whole_lines(static_cast<size_t>(rect.width()));
      rows = {memory, rect.width(), kDwtKeptRows, static_cast<ptrdiff_t>(stride)};
      levels_[level].emplace(shape_of(rect), target, rows, memory + kDwtKeptRows * stride);
      memory += level_samples(rect.width());
      taker = &*levels_[level];
    }
    return target;
  }

 private:
  class Level final : public DwtLowRows {
   public:
    Level(const DwtShape& shape, const DwtTarget<Sample, Stored>& target, const Plane<Sample>& rows,
          Sample* scratch)
        : rows_(rows), band_(shape, target, 0, DwtBand<Sample>::num_pairs(shape), scratch) {}
    void take(int32_t y) override {
      for (int32_t next; (next = band_.next_row()) >= 0 && next <= y;)
        band_.push(static_cast<const Sample*>(rows_.row(next % kDwtKeptRows)));
    }

   private:
    Plane<Sample> rows_;
    DwtBand<Sample, Stored> band_;
  };
  static size_t level_samples(int32_t width) {
    return kDwtKeptRows * whole_lines(static_cast<size_t>(width)) +
           whole_lines(DwtBand<Sample>::scratch_samples(width));
  }

  std::array<std::optional<Level>, kMaxLevels + 1> levels_;
};

CpuPixels::CpuPixels(const Plan& plan, std::span<const TileGroup> groups, size_t workers)
    : plan_(plan), has_chain_(has_chain(plan, workers)) {
  const cj2k_params& p = plan.params;
  if (p.xyz != CJ2K_XYZ_OFF) xyz_ = make_xyz_tables(p.xyz, p.xyz_gamma, p.source_depth[0]);
  int32_t widest = 0;
  for (const TileComponent& tc : plan.tile_components) widest = std::max(widest, tc.rect.width());
  row_samples_ = whole_lines(static_cast<size_t>(widest));
  band_samples_ = whole_lines(DwtBand<float>::scratch_samples(widest)) +
                  (has_chain_ ? Chain<float, float>::samples(widest, p.levels) : 0);
  for (size_t i = 0; i < workers; ++i) {
    scratch_.emplace_back(kColourComponents * (kRows * row_samples_ + band_samples_) *
                          sizeof(int32_t));
  }
  const auto levels = static_cast<uint32_t>(plan.params.levels);
  for (const TileGroup& group : groups) {
    Levels& jobs = groups_.emplace_back(levels + 1);
    if (levels == 0) jobs[0] = plan_level(group, 0, workers);
    for (uint32_t level = 1; level <= (has_chain_ ? 1 : levels); ++level)
      jobs[level] = plan_level(group, level, workers);
  }
}

/// Splits the work of a level into jobs. Level 0 is the reading of rows if there are no levels.
std::vector<CpuPixels::Job> CpuPixels::plan_level(const TileGroup& group, uint32_t level,
                                                  size_t workers) const {
  const bool reads = level <= 1;
  const auto num_components = static_cast<uint32_t>(plan_.components.size());
  std::vector<Job> jobs;
  for (uint32_t t = group.begin * num_components; t < group.end * num_components; ++t) {
    const TileComponent& tc = plan_.tile_components[t];
    const bool is_colour =
        reads && (plan_.use_mct || xyz_.has_value()) && tc.component < kColourComponents;
    if (is_colour && tc.component > 0) continue;
    const Rect& rect = low_pass_of(plan_, tc, level == 0 ? 0 : level - 1).rect;
    if (rect.empty()) continue;
    const int32_t pairs = level == 0 ? rect.height() : DwtBand<float>::num_pairs(shape_of(rect));
    const auto bands = workers == 1 ? 1 : static_cast<int32_t>(workers) * kBandsPerWorker;
    const int32_t band = std::max(kMinBandPairs, (pairs + bands - 1) / bands);
    for (int32_t begin = 0; begin < pairs; begin += band) {
      jobs.push_back({t, is_colour ? kColourComponents : 1, begin, std::min(begin + band, pairs)});
    }
  }
  return jobs;
}

/// Reads row y of the job's tile-components as integers; with 9/7 as floats in the same memory.
void CpuPixels::read_row(const FrameSamples& samples, const Job& job, int32_t y,
                         int32_t* const* rows) const {
  const TileComponent& tc = plan_.tile_components[job.tile_component];
  const int32_t width = tc.rect.width();
  for (uint32_t i = 0; i < job.num_components; ++i) {
    const cj2k_component_view& view = samples.views[tc.component + i];
    const PlanePoint& corner = samples.corners[tc.component + i];
    const Component& component = plan_.components[tc.component + i];
    const uint8_t* data = static_cast<const uint8_t*>(view.data) +
                          (ptrdiff_t{tc.plane_y} - corner.y + y) * view.stride_bytes +
                          (ptrdiff_t{tc.plane_x} - corner.x) * view.step_bytes;
    simd::ingest_row(component_row(plan_, component, view, data), rows[i], width);
  }
  if (xyz_.has_value()) simd::xyz_row(*xyz_, rows[0], rows[1], rows[2], width);
  if (plan_.use_mct && job.num_components == kColourComponents) {
    (plan_.reversible ? simd::rct_row : simd::ict_row)(rows[0], rows[1], rows[2], width);
  } else if (!plan_.reversible) {
    for (uint32_t i = 0; i < job.num_components; ++i) simd::to_float_row(rows[i], width);
  }
}

template <typename Sample, typename Stored>
void CpuPixels::first_level(const FrameSamples& samples, const CpuPlanes& planes, const Job& job) {
  auto* memory = scratch_[worker_index()].as<int32_t>();
  int32_t* rows[kRows][kColourComponents];
  std::optional<DwtBand<Sample, Stored>> bands[kColourComponents];
  Chain<Sample, Stored> chains[kColourComponents];
  for (uint32_t i = 0; i < job.num_components; ++i) {
    const TileComponent& tc = plan_.tile_components[job.tile_component + i];
    for (uint32_t row = 0; row < kRows; ++row)
      rows[row][i] = memory + (kRows * i + row) * row_samples_;
    auto* scratch = reinterpret_cast<Sample*>(memory + kColourComponents * kRows * row_samples_ +
                                              i * band_samples_);
    const DwtTarget<Sample, Stored> target =
        has_chain_ ? chains[i].begin(
                         plan_, planes, tc,
                         scratch + whole_lines(DwtBand<Sample>::scratch_samples(tc.rect.width())))
                   : planes.target<Sample, Stored>(tc, 1);
    bands[i].emplace(shape_of(tc.rect), target, job.begin, job.end, scratch);
  }
  uint32_t row = 0;
  for (int32_t y; (y = bands[0]->next_row()) >= 0; row = (row + 1) % kRows) {
    read_row(samples, job, y, rows[row]);
    for (uint32_t i = 0; i < job.num_components; ++i)
      bands[i]->push(reinterpret_cast<const Sample*>(rows[row][i]));
  }
}

template <typename Sample, typename Stored>
void CpuPixels::next_level(const CpuPlanes& planes, uint32_t level, const Job& job) {
  const TileComponent& tc = plan_.tile_components[job.tile_component];
  const auto source = planes.source<Sample, Stored>(tc, level);
  DwtBand<Sample, Stored> band(shape_of(low_pass_of(plan_, tc, level - 1).rect),
                               planes.target<Sample, Stored>(tc, level), job.begin, job.end,
                               scratch_[worker_index()].as<Sample>());
  for (int32_t y; (y = band.next_row()) >= 0;) band.push(source.row(y));
}

void CpuPixels::read_rows(const FrameSamples& samples, const CpuPlanes& planes, const Job& job) {
  for (int32_t y = job.begin; y < job.end; ++y) {
    int32_t* rows[kColourComponents];
    for (uint32_t i = 0; i < job.num_components; ++i) {
      const TileComponent& tc = plan_.tile_components[job.tile_component + i];
      rows[i] = planes.tile_component<int32_t>(tc, 0, tc.rect.width(), tc.rect.height()).row(y);
    }
    read_row(samples, job, y, rows);
  }
}

void CpuPixels::read(const FrameSamples& samples, const CpuPlanes& planes, size_t group) {
  const bool has_levels = plan_.params.levels > 0;
  const std::vector<Job>& jobs = groups_[group][has_levels ? 1 : 0];
  parallel_for(jobs.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!has_levels) {
        read_rows(samples, planes, jobs[i]);
      } else if (planes.is_quantised()) {
        first_level<float, int16_t>(samples, planes, jobs[i]);
      } else if (planes.is_narrow(1)) {
        first_level<int32_t, int16_t>(samples, planes, jobs[i]);
      } else if (plan_.reversible) {
        first_level<int32_t, int32_t>(samples, planes, jobs[i]);
      } else {
        first_level<float, float>(samples, planes, jobs[i]);
      }
    }
  });
}

void CpuPixels::transform(const CpuPlanes& planes, size_t group) {
  for (uint32_t level = 2; level < groups_[group].size(); ++level) {
    const std::vector<Job>& jobs = groups_[group][level];
    parallel_for(jobs.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (planes.is_quantised()) {
          next_level<float, int16_t>(planes, level, jobs[i]);
        } else if (planes.is_narrow(1)) {
          next_level<int32_t, int16_t>(planes, level, jobs[i]);
        } else if (plan_.reversible) {
          next_level<int32_t, int32_t>(planes, level, jobs[i]);
        } else {
          next_level<float, float>(planes, level, jobs[i]);
        }
      }
    });
  }
}

}  // namespace cj2k
