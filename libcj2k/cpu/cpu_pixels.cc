// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/cpu_pixels.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "pixels/colour.h"
#include "pixels/ingest.h"

namespace cj2k {
namespace {

constexpr uint32_t kColourComponents = 3;
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

/// Whether something looks at the coefficients of the whole frame, or at each of them for each
/// bit-plane.
bool needs_whole_frame(const Plan& plan) {
  return keeps_coefficients(plan) || plan.params.curves == CJ2K_CURVES_ONLY ||
         plan.stop == CJ2K_STOP_PSB || plan.stop == CJ2K_STOP_BPI;
}

/// Whether coefficients are kept in 16 bits: of the 5/3, if they fit for any picture. The low-pass
/// samples between two levels are smaller than the largest of a band. Without levels there are samples
/// only, and what looks at the whole frame reads 32 bits.
bool has_narrow_planes(const Plan& plan) {
  constexpr int kMostBits = 15;
  return plan.reversible && plan.params.levels > 0 && !needs_whole_frame(plan) &&
         std::all_of(plan.subbands.begin(), plan.subbands.end(),
                     [](const Subband& band) { return band.magnitude_bits <= kMostBits; });
}
size_t sample_bytes(const Plan& plan) {
  return has_narrow_planes(plan) ? sizeof(int16_t) : sizeof(int32_t);
}

/// Whether all blocks are coded once, in one order.
bool has_one_order(const Plan& plan) {
  return plan.params.lossless != 0 || (plan.stop == CJ2K_STOP_NONE && !plan.has_rdoq);
}

/// The part of a plane of a component (coefficient_plane) that a group has.
Rect plane_of(const Plan& plan, const TileGroup& group, uint32_t component, uint32_t plane) {
  if (coefficient_plane(plan, component, plane).empty()) return {};
  const auto tile_component = [&](uint32_t tile) -> const TileComponent& {
    return plan.tile_components[tile * plan.components.size() + component];
  };
  const TileComponent& last = tile_component(group.end - 1);
  const auto levels = static_cast<uint32_t>(plan.params.levels);
  const Rect& size =
      plan.resolutions[last.first_resolution + (plane == 1 || levels == 0 ? levels : levels - 1)]
          .rect;
  const PlanePoint begin = tile_component_corner(plan, tile_component(group.begin), plane);
  const PlanePoint end = tile_component_corner(plan, last, plane);
  return {begin.x, begin.y, end.x + size.width(), end.y + size.height()};
}

/// The size of a plane that has room for each group.
Rect largest_plane(const Plan& plan, std::span<const TileGroup> groups, uint32_t component,
                   uint32_t plane) {
  Rect largest;
  for (const TileGroup& group : groups) {
    const Rect part = plane_of(plan, group, component, plane);
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

CpuPlanes::CpuPlanes(const Plan& plan, std::span<const TileGroup> groups)
    : CoefficientPlanes(plan, has_narrow_planes(plan)), plan_(plan) {
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect shape = largest_plane(plan, groups, c, i);
      const ptrdiff_t stride = plane_stride(shape.width(), sample_bytes(plan));
      memory_.emplace_back(static_cast<size_t>(stride) * static_cast<size_t>(shape.height()) *
                           sample_bytes(plan));
      set_plane(c, i, {memory_.back().as<int32_t>(), shape.width(), shape.height(), stride});
    }
  }
  hold(groups[0]);
}

size_t CpuPlanes::bytes(const Plan& plan, std::span<const TileGroup> groups) {
  size_t samples = 0;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect shape = largest_plane(plan, groups, c, i);
      samples += static_cast<size_t>(plane_stride(shape.width(), sample_bytes(plan))) *
                 static_cast<size_t>(shape.height());
    }
  }
  return samples * sample_bytes(plan);
}

void CpuPlanes::hold(const TileGroup& group) {
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect part = plane_of(plan_, group, c, i);
      set_origin(c, i, {part.x0, part.y0});
    }
  }
}

CpuPixels::CpuPixels(const Plan& plan, std::span<const TileGroup> groups, size_t workers)
    : plan_(plan) {
  const cj2k_params& p = plan.params;
  if (p.xyz != CJ2K_XYZ_OFF) xyz_ = make_xyz_tables(p.xyz, p.xyz_gamma, p.source_depth[0]);
  int32_t widest = 0;
  for (const TileComponent& tc : plan.tile_components) widest = std::max(widest, tc.rect.width());
  row_samples_ = whole_lines(static_cast<size_t>(widest));
  band_samples_ = whole_lines(DwtBand<float>::scratch_samples(widest));
  for (size_t i = 0; i < workers; ++i) {
    scratch_.emplace_back(kColourComponents * (row_samples_ + band_samples_) * sizeof(int32_t));
  }
  const auto levels = static_cast<uint32_t>(plan.params.levels);
  for (const TileGroup& group : groups) {
    Levels& jobs = groups_.emplace_back(levels + 1);
    if (levels == 0) jobs[0] = plan_level(group, 0, workers);
    for (uint32_t level = 1; level <= levels; ++level)
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
    const auto levels = static_cast<uint32_t>(plan_.params.levels);
    const uint32_t r = level == 0 ? 0 : levels - level + 1;
    const Rect& rect = plan_.resolutions[tc.first_resolution + r].rect;
    if (rect.empty()) continue;
    const DwtShape shape{rect.width(), rect.height(), rect.x0 & 1, rect.y0 & 1};
    const int32_t pairs = level == 0 ? rect.height() : DwtBand<float>::num_pairs(shape);
    const auto bands = workers == 1 ? 1 : static_cast<int32_t>(workers) * kBandsPerWorker;
    const int32_t band = std::max(kMinBandPairs, (pairs + bands - 1) / bands);
    for (int32_t begin = 0; begin < pairs; begin += band) {
      jobs.push_back({t, is_colour ? kColourComponents : 1, begin, std::min(begin + band, pairs)});
    }
  }
  return jobs;
}

/// Reads row y of the job's tile-components as integers; with 9/7 as floats in the same memory.
void CpuPixels::read_row(const cj2k_frame& frame, const Job& job, int32_t y,
                         int32_t* const* rows) const {
  const TileComponent& tc = plan_.tile_components[job.tile_component];
  const int32_t width = tc.rect.width();
  for (uint32_t i = 0; i < job.num_components; ++i) {
    const cj2k_component_view& view = frame.components[tc.component + i];
    const Component& component = plan_.components[tc.component + i];
    const uint8_t* data = static_cast<const uint8_t*>(view.data) +
                          (ptrdiff_t{tc.plane_y} + y) * view.stride_bytes +
                          ptrdiff_t{tc.plane_x} * view.step_bytes;
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
void CpuPixels::first_level(const cj2k_frame& frame, const CpuPlanes& planes, const Job& job) {
  auto* memory = scratch_[worker_index()].as<int32_t>();
  int32_t* rows[kColourComponents];
  std::optional<DwtBand<Sample, Stored>> bands[kColourComponents];
  for (uint32_t i = 0; i < job.num_components; ++i) {
    const TileComponent& tc = plan_.tile_components[job.tile_component + i];
    rows[i] = memory + i * row_samples_;
    bands[i].emplace(
        DwtShape{tc.rect.width(), tc.rect.height(), tc.rect.x0 & 1, tc.rect.y0 & 1},
        planes.tile_component<Stored>(tc, 1, tc.rect.width(), tc.rect.height()), job.begin, job.end,
        reinterpret_cast<Sample*>(memory + kColourComponents * row_samples_ + i * band_samples_));
  }
  while (true) {
    const int32_t y = bands[0]->next_row();
    if (y < 0) break;
    read_row(frame, job, y, rows);
    for (uint32_t i = 0; i < job.num_components; ++i)
      bands[i]->push(reinterpret_cast<const Sample*>(rows[i]));
  }
}

template <typename Sample, typename Stored>
void CpuPixels::next_level(const CpuPlanes& planes, uint32_t level, const Job& job) {
  const TileComponent& tc = plan_.tile_components[job.tile_component];
  const auto r = static_cast<uint32_t>(plan_.params.levels) - level + 1;
  const Rect& rect = plan_.resolutions[tc.first_resolution + r].rect;
  const auto in = [&](uint32_t l) {
    return planes.tile_component<Stored>(tc, l, rect.width(), rect.height());
  };
  const Plane<Stored> source = in(level - 1);
  DwtBand<Sample, Stored> band({rect.width(), rect.height(), rect.x0 & 1, rect.y0 & 1}, in(level),
                               job.begin, job.end, scratch_[worker_index()].as<Sample>());
  for (int32_t y; (y = band.next_row()) >= 0;) band.push(source.row(y));
}

void CpuPixels::read_rows(const cj2k_frame& frame, const CpuPlanes& planes, const Job& job) {
  for (int32_t y = job.begin; y < job.end; ++y) {
    int32_t* rows[kColourComponents];
    for (uint32_t i = 0; i < job.num_components; ++i) {
      const TileComponent& tc = plan_.tile_components[job.tile_component + i];
      rows[i] = planes.tile_component<int32_t>(tc, 0, tc.rect.width(), tc.rect.height()).row(y);
    }
    read_row(frame, job, y, rows);
  }
}

void CpuPixels::read(const cj2k_frame& frame, const CpuPlanes& planes, size_t group) {
  const bool has_levels = plan_.params.levels > 0;
  const std::vector<Job>& jobs = groups_[group][has_levels ? 1 : 0];
  parallel_for(jobs.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!has_levels) {
        read_rows(frame, planes, jobs[i]);
      } else if (planes.is_narrow()) {
        first_level<int32_t, int16_t>(frame, planes, jobs[i]);
      } else if (plan_.reversible) {
        first_level<int32_t, int32_t>(frame, planes, jobs[i]);
      } else {
        first_level<float, float>(frame, planes, jobs[i]);
      }
    }
  });
}

void CpuPixels::transform(const CpuPlanes& planes, size_t group) {
  for (uint32_t level = 2; level < groups_[group].size(); ++level) {
    const std::vector<Job>& jobs = groups_[group][level];
    parallel_for(jobs.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (planes.is_narrow()) {
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
