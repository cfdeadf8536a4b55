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

/// The two planes of each component (coefficient_plane in plan.h): integers of 32 or 16 bits with 5/3,
/// floats with 9/7. Or all levels are in plane 1, in Mallat order. Or, with 9/7, the first levels are in
/// plane 1, as integers of 16 bits, quantised if the plan has one step set, else multiples of
/// Subband::unit; and the others are floats, odd levels in plane 0 and even ones in plane 2, which has the
/// same size. The memory belongs to the backend.
class CoefficientPlanes {
 public:
  static constexpr uint32_t kPlanes = 3;
  /// The plane of the floats of a level beside quantised ones.
  static uint32_t float_plane(uint32_t level) { return (level & 1) != 0 ? 0 : 2; }

  /// `plan` must outlive it.
  /// @param narrow_levels  from the first on; with 5/3 none or all
  explicit CoefficientPlanes(const Plan& plan, int narrow_levels = 0, bool is_in_one = false)
      : plan_(&plan), narrow_levels_(narrow_levels), is_in_one_(is_in_one) {}

  /// Whether coefficients of a level, of a block, are integers of 16 bits.
  bool is_narrow(uint32_t level) const {
    return narrow_levels_ > 0 && static_cast<int>(level) <= narrow_levels_;
  }
  bool is_narrow(const CodeBlock& block) const {
    return is_narrow(plan_->subbands[block.subband].level);
  }
  bool is_quantised() const { return narrow_levels_ > 0 && !plan_->reversible; }
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
    return rectangle<Sample>(tc, plane_index(level), width, height);
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

 protected:
  /// The width x height rectangle at the corner of a tile-component in a plane.
  template <typename Sample>
  Plane<Sample> rectangle(const TileComponent& tc, uint32_t i, int32_t width,
                          int32_t height) const {
    const Plane<int32_t>& p = planes_[tc.component][i];
    const PlanePoint corner = tile_component_corner(*plan_, tc, i & 1);
    const PlanePoint origin = origins_[tc.component][i];
    return Plane<Sample>{reinterpret_cast<Sample*>(p.data), p.width, p.height, p.stride_samples}
        .sub(corner.x - origin.x, corner.y - origin.y, width, height);
  }

 private:
  uint32_t plane_index(uint32_t level) const {
    if (is_quantised()) return is_narrow(level) ? 1 : float_plane(level);
    return is_in_one_ ? 1 : level & 1;
  }

  const Plan* plan_;
  int narrow_levels_;
  bool is_in_one_;
  std::array<std::array<Plane<int32_t>, kPlanes>, CJ2K_MAX_COMPONENTS> planes_;
  std::array<std::array<PlanePoint, kPlanes>, CJ2K_MAX_COMPONENTS> origins_{};
};

}  // namespace cj2k
