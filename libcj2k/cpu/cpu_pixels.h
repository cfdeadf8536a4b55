// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the CPU: from the samples of a frame to transform coefficients. Each level of
// the wavelet transform is one pass over memory, the first one from the frame itself: reading,
// level shift and colour transform happen on the rows on their way into it.
#pragma once

#include <vector>

#include "base/buffer.h"
#include "cj2k.h"
#include "plan.h"
#include "stages/coefficients.h"
#include "stages/dwt.h"

namespace cj2k {

/// Coefficients of one frame, with their memory.
class CpuPlanes : public CoefficientPlanes {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit CpuPlanes(const Plan& plan);
  static size_t bytes(const Plan& plan);

 private:
  std::vector<HostBuffer> memory_;
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
