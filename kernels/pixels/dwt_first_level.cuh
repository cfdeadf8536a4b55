// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The first level of the wavelet transform from the words of a frame: level shift and colour
// transform on the way into the registers, no plane before it.
#pragma once

#include "kernels/pixels/dwt.cuh"
#include "kernels/pixels/ingest_words.cuh"

namespace cj2k::cuda {

/// Rows of one component (or of one result of the colour transform, for which the words of three
/// are read) of the only frame of a launch.
///
/// Global per sample: its word read, with a colour transform three, by three warps of one block:
/// two of the three reads are of lines that L1 has, or is waiting for; halo as Dwt's. Four words
/// are one access of 4, 8 or 16 bytes where a row's words are neighbours and aligned; of packed
/// pixels with bytes or 16-bit words twelve are three accesses; elsewhere single words.
template <typename Lifting, IngestMode kMode, bool kPixels = false>
class FirstLevelRows : public WordRows<kMode, kPixels> {
  using Base = WordRows<kMode, kPixels>;
  static_assert(std::is_same_v<typename Base::Sample, typename Lifting::Sample>);

 public:
  /// With a colour transform a block is one part in its three components.
  static constexpr int kThreads = Base::kIsColour ? 96 : 128;
  /// 80 registers with a colour transform (96 for packed pixels), else 72 and 64. While the loads
  /// of the next step are on their way the other warps take their turns; two steps in advance
  /// spill.
  static constexpr int kMinBlocks = kPixels ? 6 : Base::kIsColour ? 8 : Base::kIsFloat ? 7 : 8;
  static constexpr int32_t kAhead = 1;

  CJ2K_KERNEL_FN FirstLevelRows(const typename Base::Params& p, const DwtJob& job, uint32_t,
                                const FourColumns& columns)
      : Base(p, job.component, job.x, job.y, columns) {}
};

}  // namespace cj2k::cuda
