// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The coding passes of one HT code-block (T.814). A cleanup pass at plane p codes all planes from p
// up, in one go. Two more passes may refine it by plane p - 1: SigProp, and after it MagRef. So
// cleanup passes of different planes are alternatives, not increments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/ht/plane_choice.h"

namespace cj2k {

/// Quantised samples as pixels/quantize.h makes them: bit 31 = sign, bits 30..0 = magnitude, which is
/// below 2^30 (kMaxHtBitPlanes in plan_quant.h).
/// width * height <= 4096, each at most 1024.
struct HtSamples {
  const uint32_t* data;
  ptrdiff_t stride;
  int width, height;
};

/// Rows of memory that are read next. They are prefetched to the second-level cache a few at a time,
/// between rows of samples: all at once they would wait for each other.
struct HtNextRows {
  const uint8_t* data = nullptr;
  ptrdiff_t stride_bytes = 0;
  int rows = 0, row_bytes = 0;

  /// Always inlined: g++ takes a call that only prefetches for one without effect.
  [[gnu::always_inline]] void prefetch(int begin, int end) const {
    constexpr int kLine = 64;
    for (int y = begin; y < std::min(end, rows); ++y) {
      for (int x = 0; x < row_bytes; x += kLine)
        __builtin_prefetch(data + y * stride_bytes + x, 0, 2);
    }
  }
};

/// Most bytes of a cleanup segment: 4096 samples of 33 bits with a stuffed bit in 16, and 4079
/// bytes of MEL and VLC.
inline constexpr uint32_t kMaxHtCleanupBytes = 24576;
/// Most bytes of a refinement segment: two bits per sample, with a stuffed bit in 8. A decoder may
/// refuse more than 2046.
inline constexpr uint32_t kMaxHtRefinementBytes = 1280;

/// The passes below a cleanup pass.
struct HtRefinement {
  uint32_t sig_prop_bytes;  ///< of the segment with SigProp alone; 0: SigProp codes no sample
  uint32_t both_bytes;      ///< of the segment that has SigProp and MagRef
  /// Squared error that the passes remove, as CodingPass::distortion (core/distortion.h) of plane
  /// p - 1.
  int64_t sig_prop_distortion, mag_ref_distortion;
};

/// Counts over the samples of a block; [k] is for plane `plane` + k.
struct HtCounts {
  uint32_t significant[kHtNearPlanes];  ///< samples of 2^(plane + k) or more
  uint64_t left[kHtNearPlanes];         ///< sums for ht_left_error (core/ht/plane_choice.h)
  uint64_t total;                       ///< the same of all planes
};

/// ht_cleanup: codes planes `plane` and up.
///   @param plane  0 .. 30; at least one magnitude is 2^plane or more
///   @param out    kMaxHtCleanupBytes; also the working memory
///   @return bytes of the segment, at least 2
/// ht_refinement: codes plane `plane` - 1 below a cleanup pass of `plane` >= 1.
///   @param causal      with CJ2K_STYLE_VSC
///   @param reversible  the samples come from the 5/3
///   @param sig_prop, both  kMaxHtRefinementBytes each: the two segments to choose from. If `both`
///                          is null, only SigProp is coded, and both_bytes is 0
/// ht_count: what is known of planes `plane` .. plane + kHtNearPlanes - 1 before they are coded.
///   @param plane       0 .. 30
///   @param bit_planes  of the block's magnitudes, 1 .. 31
///   @param next        prefetched meanwhile; of ht_cleanup, too
/// Allocate: no. Deterministic: yes. Thread-safe: yes.
namespace ref {
uint32_t ht_cleanup(const HtSamples& samples, int plane, uint8_t* out);
HtRefinement ht_refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                           uint8_t* sig_prop, uint8_t* both);
HtCounts ht_count(const HtSamples& samples, int plane, int bit_planes, bool reversible);
}  // namespace ref
namespace simd {
uint32_t ht_cleanup(const HtSamples& samples, int plane, uint8_t* out, const HtNextRows& next = {});
HtRefinement ht_refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                           uint8_t* sig_prop, uint8_t* both);
HtCounts ht_count(const HtSamples& samples, int plane, int bit_planes, bool reversible,
                  const HtNextRows& next = {});
}  // namespace simd

}  // namespace cj2k
