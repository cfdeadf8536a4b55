// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the CPU: the samples of a frame become transform coefficients. The first level
// reads the frame itself: each row is read, level-shifted and colour-transformed just before the
// wavelet transform takes it. One worker makes all levels at once: each takes the low-pass rows of the
// level before as they are made. With several workers each level is one pass over memory.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "cj2k.h"
#include "pixels/coefficients.h"
#include "pixels/dwt.h"
#include "pixels/xyz.h"
#include "plan/plan.h"

namespace cj2k {

/// A frame, or a part of it that has been read, in memory.
struct FrameSamples {
  cj2k_component_view views[CJ2K_MAX_COMPONENTS];
  PlanePoint corners[CJ2K_MAX_COMPONENTS];  ///< of the parts, in their components

  FrameSamples() = default;
  explicit FrameSamples(const cj2k_frame& frame) : corners{} {
    std::copy(std::begin(frame.components), std::end(frame.components), views);
  }
};

/// Tiles whose coefficients are in memory at the same time: a part of a row of tiles, or whole rows.
struct TileGroup {
  uint32_t begin, end;  ///< tiles, in raster order
};

/// The groups of a frame, in raster order. There is one if all coefficients must be in memory
/// (measure_mse, verify, curves = only, stop = psb and bpi), or take little of it. If all blocks are
/// coded in one order (lossless, stop = none without RDOQ), each sample is read and transformed
/// once; else each order (the sample, the rest, blocks that resume) transforms its tiles again.
/// @param workers  that code a group together
std::vector<TileGroup> tile_groups(const Plan& plan, size_t workers);

/// The coefficients of one group of tiles, and their memory.
class CpuPlanes : public CoefficientPlanes {
 public:
  /// Reserves memory for the largest of the groups and holds the first. `plan` must outlive it.
  /// Throws std::bad_alloc.
  CpuPlanes(const Plan& plan, std::span<const TileGroup> groups, size_t workers);
  static size_t bytes(const Plan& plan, std::span<const TileGroup> groups, size_t workers);

  /// From now on the memory is that of this group.
  void hold(const TileGroup& group);

  /// What a level of a tile-component above the first reads, and what a level writes.
  template <typename Sample, typename Stored>
  auto source(const TileComponent& tc, uint32_t level) const;
  template <typename Sample, typename Stored>
  DwtTarget<Sample, Stored> target(const TileComponent& tc, uint32_t level) const;

 private:
  const Plan& plan_;
  const size_t workers_;
  std::vector<HostBuffer> memory_;
};

/// Call it inside Threads::run, like the backend. Two threads may read frames at the same
/// time.
class CpuPixels {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  CpuPixels(const Plan& plan, std::span<const TileGroup> groups, size_t workers);

  /// Ingest, colour transform and the first wavelet level of a group of tiles; all levels with one
  /// worker.
  /// @param planes  hold this group
  void read(const FrameSamples& samples, const CpuPlanes& planes, size_t group);
  /// The other wavelet levels.
  void transform(const CpuPlanes& planes, size_t group);

 private:
  /// The pairs of rows [begin, end) of one rectangle: of one tile-component, or of three with a
  /// colour transform or xyz. Without levels: rows.
  struct Job {
    uint32_t tile_component, num_components;
    int32_t begin, end;
  };

  using Levels =
      std::vector<std::vector<Job>>;  ///< [level]; [0]: rows, used if there are no levels

  std::vector<Job> plan_level(const TileGroup& group, uint32_t level, size_t workers) const;
  template <typename Sample, typename Stored>
  class Chain;
  template <typename Sample, typename Stored>
  void first_level(const FrameSamples& samples, const CpuPlanes& planes, const Job& job);
  template <typename Sample, typename Stored>
  void next_level(const CpuPlanes& planes, uint32_t level, const Job& job);
  void read_rows(const FrameSamples& samples, const CpuPlanes& planes, const Job& job);
  void read_row(const FrameSamples& samples, const Job& job, int32_t y, int32_t* const* rows) const;

  const Plan& plan_;
  std::optional<XyzTables> xyz_;
  std::vector<Levels> groups_;  ///< the work of each group
  /// In scratch_, whole cache lines. `band`: also those of the next levels, if there is one worker.
  size_t row_samples_ = 0, band_samples_ = 0;
  const bool has_chain_;
  std::vector<HostBuffer> scratch_;  ///< [worker]
};

}  // namespace cj2k
