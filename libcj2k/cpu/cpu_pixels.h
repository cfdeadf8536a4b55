// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the CPU: the samples of a frame become transform coefficients. Each level of
// the wavelet transform is one pass over memory. The first level reads the frame itself: each row
// is read, level-shifted and colour-transformed just before the wavelet transform takes it.
#pragma once

#include <optional>
#include <vector>

#include "base/buffer.h"
#include "cj2k.h"
#include "pixels/coefficients.h"
#include "pixels/dwt.h"
#include "pixels/xyz.h"
#include "plan/plan.h"

namespace cj2k {

/// The coefficients of one frame, and their memory.
class CpuPlanes : public CoefficientPlanes {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit CpuPlanes(const Plan& plan);
  static size_t bytes(const Plan& plan);

 private:
  std::vector<HostBuffer> memory_;
};

/// Call it inside Threads::run, like the backend. Two threads may read frames at the same
/// time.
class CpuPixels {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  CpuPixels(const Plan& plan, size_t workers);

  /// Ingest, colour transform and the first wavelet level.
  void read(const cj2k_frame& frame, const CpuPlanes& planes);
  /// The other wavelet levels.
  void transform(const CpuPlanes& planes);

 private:
  /// The pairs of rows [begin, end) of one rectangle: of one tile-component, or of three with a
  /// colour transform or xyz. Without levels: rows.
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
  std::optional<XyzTables> xyz_;
  std::vector<std::vector<Job>> levels_;       ///< [level]; [0]: rows, used if there are no levels
  size_t row_samples_ = 0, band_samples_ = 0;  ///< in scratch_, whole cache lines
  std::vector<HostBuffer> scratch_;            ///< [worker]
};

}  // namespace cj2k
