// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The first level of the wavelet transform, straight from the stored words of a frame. The level
// shift and the colour transform are done on the way into registers, so no plane of samples is
// written before this level.
#pragma once

#include "kernels/pixels/dwt.cuh"
#include "kernels/pixels/ingest_words.cuh"

namespace cj2k::cuda {

/// The `Rows` of Dwt for the first level: rows of one component of the only frame of a launch. With
/// a colour transform they are rows of one transformed component, made from the words of three.
///
/// Global traffic per sample: one word is read, with a colour transform three words. Three warps of
/// one thread block make the three transformed components and read the same words, so two of three
/// reads hit lines that L1 has or is waiting for. The halo is that of Dwt. Four words are one
/// access of 4, 8 or 16 bytes where the words of a row are neighbours and aligned. Four packed
/// pixels of 1- or 2-byte words are three accesses (RGB), or one or two (with a fourth word). With a
/// colour transform neighbours at other addresses are loaded as aligned 4-byte words, one more than
/// they fill, but for the four columns at either end of a row. All other words are loaded one by
/// one.
template <typename Lifting, IngestMode kMode, bool kPixels = false>
class FirstLevelRows : public WordRows<kMode, kPixels> {
  using Base = WordRows<kMode, kPixels>;
  static_assert(std::is_same_v<typename Base::Sample, typename Lifting::Sample>);

 public:
  /// With a colour transform the three warps of a thread block make one part of three components.
  static constexpr int kThreads = Base::kIsColour ? 96 : 128;
  /// Registers: 80 with a colour transform (96 for packed pixels), else 72 for floats and 64 for
  /// integers. One step is loaded in advance: other warps run while its loads are on their way.
  /// With two steps in advance the kernel spills.
  static constexpr int kMinBlocks = kPixels ? 6 : Base::kIsColour ? 8 : Base::kIsFloat ? 7 : 8;
  static constexpr int32_t kAhead = 1;

  CJ2K_KERNEL_FN FirstLevelRows(const typename Base::Params& p, const DwtJob& job, uint32_t,
                                const FourColumns& columns)
      : Base(p, job.component, job.x, job.y, columns) {}
};

}  // namespace cj2k::cuda
