// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the CPU: from the samples of a frame to transform coefficients. Each level of
// the wavelet transform is one pass over memory, the first one from the frame itself: reading,
// level shift and colour transform happen on the rows on their way into it.
#pragma once

#include <vector>

#include "base/buffer.h"
#include "base/view.h"
#include "cj2k.h"
#include "plan.h"
#include "stages/dwt.h"

namespace cj2k {

/// Coefficients of one frame (plan.h: coefficient_plane); integers with 5/3, floats with 9/7.
class CpuPlanes {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit CpuPlanes(const Plan& plan);
  static size_t bytes(const Plan& plan);

  /// The rectangle of a level, from the corner of the tile-component.
  template <typename Sample>
  Plane<Sample> tile_component(const TileComponent& tc, uint32_t level, int32_t width,
                               int32_t height) const {
    const Plane<int32_t>& p = planes_[2 * tc.component + (level & 1)];
    const PlanePoint corner = tile_component_corner(plan_, tc, level & 1);
    return Plane<Sample>{reinterpret_cast<Sample*>(p.data), p.width, p.height, p.stride_samples}
        .sub(corner.x, corner.y, width, height);
  }
  template <typename Sample>
  Plane<Sample> block(const CodeBlock& block) const {
    const Subband& band = plan_.subbands[block.subband];
    const TileComponent& tc =
        plan_.tile_components[plan_.resolutions[band.resolution].tile_component];
    return tile_component<Sample>(tc, band.level, tc.rect.width(), tc.rect.height())
        .sub(block.plane_x - tc.plane_x, block.plane_y - tc.plane_y, block.width, block.height);
  }

 private:
  const Plan& plan_;
  std::vector<HostBuffer> memory_;
  std::vector<Plane<int32_t>> planes_;  ///< [component][2]
};

/// Inside the encoder's arena, as the backend's calls. Frames may be read in two threads at the
/// same time.
class CpuPixels {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  CpuPixels(const Plan& plan, size_t workers);

  /// Ingest, colour, the first level.
  void read(const cj2k_frame& frame, const CpuPlanes& planes);
  /// The other levels.
  void transform(const CpuPlanes& planes);

 private:
  /// Pairs of rows of one rectangle; of three components with a colour transform.
  struct Job {
    uint32_t tile_component, num_components;
    int32_t begin, end;
  };

  void plan_level(uint32_t level, size_t workers);
  template <typename Sample>
  void first_level(const cj2k_frame& frame, const CpuPlanes& planes, const Job& job);
  template <typename Sample>
  void next_level(const CpuPlanes& planes, uint32_t level, const Job& job);
  void read_rows(const cj2k_frame& frame, const CpuPlanes& planes, const Job& job);
  void read_row(const cj2k_frame& frame, const Job& job, int32_t y, int32_t* const* rows) const;

  const Plan& plan_;
  std::vector<std::vector<Job>> levels_;       ///< [level]; [0]: the rows where there are no levels
  size_t row_samples_ = 0, band_samples_ = 0;  ///< of scratch, whole cache lines
  std::vector<HostBuffer> scratch_;            ///< [worker]
};

}  // namespace cj2k
