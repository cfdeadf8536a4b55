// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How a rectangle is cut into parts for the DWT kernels. libcj2k/cuda/pixel_jobs.cc makes the parts
// and dwt.cuh processes them, so both must agree on these numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// A warp holds 128 columns. The outer four on each side are halo: they only feed the lifting steps
/// (9/7 reaches 4 samples to the left and to the right).
inline constexpr int32_t kDwtStripColumns = 120;
inline constexpr int32_t kDwtHaloColumns = 4;

/// Pairs of rows in a segment, the rows that one warp makes. Short segments waste reads: each costs
/// 7 rows of overlap with 9/7. Long segments leave too few warps to hide latency. A large rectangle
/// has 72 rows per segment (36 pairs): a frame of 4096x2160 with three components then makes 1,050
/// thread blocks in the first level (dwt_first_level.cuh), and 132 multiprocessors hold 1,056 at a
/// time. With 64 rows some blocks would have to wait and run alone at the end. Deeper levels have
/// smaller rectangles and fewer rows.
inline uint8_t dwt_segment_pairs(int32_t width, int32_t height) {
  const int64_t samples = int64_t{width} * height;
  return samples >= (1 << 21) ? 36 : samples >= (1 << 18) ? 16 : 8;
}

/// Appends the parts of the jobs index .. index + num_jobs - 1, which all have the shape of `job`.
/// Parts at the same place in their jobs are neighbours in the list.
inline void append_dwt_parts(const DwtJob& job, uint32_t index, uint32_t num_jobs,
                             std::vector<DwtPart>* parts) {
  const int64_t columns = int64_t{job.width} + job.parity_x;
  const int64_t pairs = (int64_t{job.height} + job.parity_y + 1) / 2;
  const auto strips = static_cast<uint32_t>((columns + kDwtStripColumns - 1) / kDwtStripColumns);
  const auto segments = static_cast<uint32_t>((pairs + job.segment_pairs - 1) / job.segment_pairs);
  for (uint32_t segment = 0; segment < segments; ++segment) {
    for (uint32_t strip = 0; strip < strips; ++strip) {
      for (uint32_t i = 0; i < num_jobs; ++i) parts->push_back({index + i, strip, segment});
    }
  }
}

}  // namespace cj2k::cuda
