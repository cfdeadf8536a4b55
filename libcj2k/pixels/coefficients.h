// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A view of the coefficients of one frame, or of some of its tiles.
#pragma once

#include <array>
#include <cstdint>

#include "base/view.h"
#include "plan/plan.h"

namespace cj2k {

/// The two planes of each component (coefficient_plane in plan.h): integers of 32 or 16 bits with
/// 5/3, floats with 9/7. The memory belongs to the backend.
class CoefficientPlanes {
 public:
  /// `plan` must outlive it.
  explicit CoefficientPlanes(const Plan& plan, bool is_narrow = false)
      : plan_(&plan), is_narrow_(is_narrow) {}

  /// Whether they are integers of 16 bits.
  bool is_narrow() const { return is_narrow_; }
  /// @param plane  its stride is in samples of their type
  void set_plane(uint32_t component, uint32_t i, const Plane<int32_t>& plane) {
    planes_[component][i] = plane;
  }
  /// Which coefficient of the whole plane is the first one in memory.
  void set_origin(uint32_t component, uint32_t i, PlanePoint origin) {
    origins_[component][i] = origin;
  }

  /// The width x height rectangle at the corner of a tile-component, in the plane of a level.
  template <typename Sample>
  Plane<Sample> tile_component(const TileComponent& tc, uint32_t level, int32_t width,
                               int32_t height) const {
    const Plane<int32_t>& p = planes_[tc.component][level & 1];
    const PlanePoint corner = tile_component_corner(*plan_, tc, level & 1);
    const PlanePoint origin = origins_[tc.component][level & 1];
    return Plane<Sample>{reinterpret_cast<Sample*>(p.data), p.width, p.height, p.stride_samples}
        .sub(corner.x - origin.x, corner.y - origin.y, width, height);
  }
  /// The coefficients of a code-block.
  template <typename Sample>
  Plane<Sample> block(const CodeBlock& block) const {
    const Subband& band = plan_->subbands[block.subband];
    const TileComponent& tc =
        plan_->tile_components[plan_->resolutions[band.resolution].tile_component];
    return tile_component<Sample>(tc, band.level, tc.rect.width(), tc.rect.height())
        .sub(block.plane_x - tc.plane_x, block.plane_y - tc.plane_y, block.width, block.height);
  }

 private:
  const Plan* plan_;
  bool is_narrow_;
  std::array<std::array<Plane<int32_t>, 2>, CJ2K_MAX_COMPONENTS> planes_;
  std::array<std::array<PlanePoint, 2>, CJ2K_MAX_COMPONENTS> origins_{};
};

}  // namespace cj2k
