// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A view of the coefficients of one frame, or of some of its tiles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/view.h"
#include "plan/plan.h"

namespace cj2k {

/// The two planes of each component (coefficient_plane in plan.h): integers of 32 or 16 bits with 5/3,
/// floats with 9/7. Or all levels are in plane 1, in Mallat order. Or, with 9/7, the first levels are in
/// plane 1, as integers of 16 bits, quantised with the steps of one step set; and the others are floats,
/// odd levels in plane 0 and even ones in plane 2, which has the same size. Some of the quantised blocks
/// may also be kept as floats. The memory belongs to the backend.
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
    return is_narrow(plan_->subbands[block.subband].level) && !is_kept(block);
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
  /// The coefficients of a code-block of the plan.
  template <typename Sample>
  Plane<Sample> block(const CodeBlock& block) const {
    if (is_kept(block)) {
      const ptrdiff_t stride = kept_stride(block);
      return {reinterpret_cast<Sample*>(kept_ + kept_at_[number(block)] * kKeptUnit), block.width,
              block.height, stride};
    }
    const Subband& band = plan_->subbands[block.subband];
    const TileComponent& tc =
        plan_->tile_components[plan_->resolutions[band.resolution].tile_component];
    return tile_component<Sample>(tc, band.level, tc.rect.width(), tc.rect.height())
        .sub(block.plane_x - tc.plane_x, block.plane_y - tc.plane_y, block.width, block.height);
  }

 protected:
  static constexpr size_t kKeptUnit = 16;  ///< floats of a cache line
  static constexpr uint32_t kNotKept = UINT32_MAX;
  static ptrdiff_t kept_stride(const CodeBlock& block) {
    constexpr auto kUnit = static_cast<int32_t>(kKeptUnit);
    return (block.width + kUnit - 1) / kUnit * kUnit;
  }
  /// @param at  [blocks] where the floats of a block begin, in units; kNotKept: it is not kept
  void set_kept(float* floats, std::span<const uint32_t> at) {
    kept_ = floats;
    kept_at_ = at;
  }

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
  size_t number(const CodeBlock& block) const {
    return static_cast<size_t>(&block - plan_->blocks.data());
  }
  bool is_kept(const CodeBlock& block) const {
    return kept_ != nullptr && kept_at_[number(block)] != kNotKept;
  }
  uint32_t plane_index(uint32_t level) const {
    if (is_quantised()) return is_narrow(level) ? 1 : float_plane(level);
    return is_in_one_ ? 1 : level & 1;
  }

  const Plan* plan_;
  int narrow_levels_;
  bool is_in_one_;
  std::array<std::array<Plane<int32_t>, kPlanes>, CJ2K_MAX_COMPONENTS> planes_;
  std::array<std::array<PlanePoint, kPlanes>, CJ2K_MAX_COMPONENTS> origins_{};
  float* kept_ = nullptr;
  std::span<const uint32_t> kept_at_;
};

}  // namespace cj2k
