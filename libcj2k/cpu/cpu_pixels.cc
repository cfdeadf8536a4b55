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

/// Samples from row to row. It is not a multiple of 4 KiB, which would map a column to one cache
/// set.
ptrdiff_t plane_stride(int32_t width) {
  constexpr size_t kPage = 1024;
  size_t stride = whole_lines(static_cast<size_t>(width));
  if (stride % kPage == 0) stride += kLine;
  return static_cast<ptrdiff_t>(stride);
}

}  // namespace

CpuPlanes::CpuPlanes(const Plan& plan) : CoefficientPlanes(plan) {
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect shape = coefficient_plane(plan, c, i);
      const ptrdiff_t stride = plane_stride(shape.width());
      memory_.emplace_back(static_cast<size_t>(stride) * static_cast<size_t>(shape.height()) *
                           sizeof(int32_t));
      set_plane(c, i, {memory_.back().as<int32_t>(), shape.width(), shape.height(), stride});
    }
  }
}

size_t CpuPlanes::bytes(const Plan& plan) {
  size_t samples = 0;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect shape = coefficient_plane(plan, c, i);
      samples +=
          static_cast<size_t>(plane_stride(shape.width())) * static_cast<size_t>(shape.height());
    }
  }
  return samples * sizeof(int32_t);
}

CpuPixels::CpuPixels(const Plan& plan, size_t workers) : plan_(plan) {
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
  levels_.resize(levels + 1);
  if (levels == 0) plan_level(0, workers);
  for (uint32_t level = 1; level <= levels; ++level) plan_level(level, workers);
}

/// Splits the work of a level into jobs. Level 0 is the reading of rows if there are no levels.
void CpuPixels::plan_level(uint32_t level, size_t workers) {
  const bool reads = level <= 1;
  for (uint32_t t = 0; t < plan_.tile_components.size(); ++t) {
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
      levels_[level].push_back(
          {t, is_colour ? kColourComponents : 1, begin, std::min(begin + band, pairs)});
    }
  }
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

template <typename Sample>
void CpuPixels::first_level(const cj2k_frame& frame, const CpuPlanes& planes, const Job& job) {
  auto* memory = scratch_[worker_index()].as<int32_t>();
  int32_t* rows[kColourComponents];
  std::optional<DwtBand<Sample>> bands[kColourComponents];
  for (uint32_t i = 0; i < job.num_components; ++i) {
    const TileComponent& tc = plan_.tile_components[job.tile_component + i];
    rows[i] = memory + i * row_samples_;
    bands[i].emplace(
        DwtShape{tc.rect.width(), tc.rect.height(), tc.rect.x0 & 1, tc.rect.y0 & 1},
        planes.tile_component<Sample>(tc, 1, tc.rect.width(), tc.rect.height()), job.begin, job.end,
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

template <typename Sample>
void CpuPixels::next_level(const CpuPlanes& planes, uint32_t level, const Job& job) {
  const TileComponent& tc = plan_.tile_components[job.tile_component];
  const auto r = static_cast<uint32_t>(plan_.params.levels) - level + 1;
  const Rect& rect = plan_.resolutions[tc.first_resolution + r].rect;
  const auto in = [&](uint32_t l) {
    return planes.tile_component<Sample>(tc, l, rect.width(), rect.height());
  };
  const Plane<Sample> source = in(level - 1);
  DwtBand<Sample> band({rect.width(), rect.height(), rect.x0 & 1, rect.y0 & 1}, in(level),
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

void CpuPixels::read(const cj2k_frame& frame, const CpuPlanes& planes) {
  const bool has_levels = plan_.params.levels > 0;
  const std::vector<Job>& jobs = levels_[has_levels ? 1 : 0];
  parallel_for(jobs.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!has_levels) {
        read_rows(frame, planes, jobs[i]);
      } else if (plan_.reversible) {
        first_level<int32_t>(frame, planes, jobs[i]);
      } else {
        first_level<float>(frame, planes, jobs[i]);
      }
    }
  });
}

void CpuPixels::transform(const CpuPlanes& planes) {
  for (uint32_t level = 2; level < levels_.size(); ++level) {
    const std::vector<Job>& jobs = levels_[level];
    parallel_for(jobs.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (plan_.reversible) {
          next_level<int32_t>(planes, level, jobs[i]);
        } else {
          next_level<float>(planes, level, jobs[i]);
        }
      }
    });
  }
}

}  // namespace cj2k
