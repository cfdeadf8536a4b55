// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the passes of an HT block share: the shared memory of a warp, and the samples of a pair of
// quads, which are 4 columns by 2 rows. Pairs are numbered row by row.
#pragma once

#include "core/distortion.h"
#include "kernels/ht/ht_block.h"
#include "kernels/ht/ht_stuffing.cuh"
#include "kernels/pixels/core.h"

namespace cj2k::cuda::ht {

inline constexpr uint32_t kMostPairs = 512;  ///< of a block of 4,096 samples
/// Most bits: 4 of the length word and 30 of each pair; one event per quad, one per pair of the
/// first row.
inline constexpr uint32_t kVlcWords = (4 + 30 * kMostPairs) / 32 + 2;
inline constexpr uint32_t kMostEvents = 1024 + 256;
inline constexpr uint32_t kEventWords = kMostEvents / 32 + 2;
inline constexpr uint32_t kMelBytes = 272;  ///< 1.5 bits per event, with stuffing

template <bool kRefine>
struct WarpMemory {
  /// Cleanup: exponents of the pairs [512], MagSgn bits as a ring [512]; then the bytes of VLC.
  /// Refinement: see ht_refinement.cuh.
  uint32_t words[2 * kMostPairs];
  uint32_t vlc[kVlcWords];
  uint32_t events[kEventWords];
  uint32_t mel[kMelBytes / 4];
  /// Of each pair: significance | bit of the plane below << 8 | sign << 16. Bit 4 * quad + sample.
  uint32_t pairs[kRefine ? kMostPairs : 1];
};

/// Where a lane is: pair `index` of the block. Steps of 32 pairs.
struct PairPlace {
  uint32_t index, x, y;
  uint32_t step_x, step_y, wide;

  CJ2K_KERNEL_FN PairPlace(uint32_t lane, uint32_t pairs_wide)
      : index(lane),
        x(lane % pairs_wide),
        y(lane / pairs_wide),
        step_x(32 % pairs_wide),
        step_y(32 / pairs_wide),
        wide(pairs_wide) {}
  /// @param count  of pairs
  CJ2K_KERNEL_FN bool ends(uint32_t count) const { return index >= count; }
  CJ2K_KERNEL_FN void step() {
    index += 32;
    x += step_x;
    y += step_y;
    if (x >= wide) {
      x -= wide;
      ++y;
    }
  }
};

/// The coefficients of all blocks: HtBlocks.
struct Source {
  const QuantizeJob* jobs;
  uint32_t num_blocks;
  const uint32_t* samples;
  uint64_t frame_samples;
};

/// A block of the plan, and how its coefficients become samples.
/// @tparam kMayChange  tasks may be of samples that RDOQ has changed
template <bool kReversibleWavelet, bool kMayChange = false>
struct BlockReader {
  static constexpr bool kReversible = kReversibleWavelet;
  const uint32_t* source;
  uint32_t stride, width, height;
  uint32_t max_magnitude;
  float rounder, inverse_step, limit;
  bool aligned;
  const uint8_t* changes;  ///< HtChanges, or null
  int plane;               ///< of the changes

  /// Of a coefficient, as core/quantizer.h has it. The sign stays in bit 31, of 0 too.
  CJ2K_KERNEL_FN uint32_t sample(uint32_t bits) const {
    return (bits & 0x80000000) | magnitude(bits);
  }
  CJ2K_KERNEL_FN uint32_t magnitude(uint32_t bits) const {
#if defined(__CUDA_ARCH__)
    if constexpr (!kReversible) {
      // The conversion saturates.
      const float c = (__uint_as_float(bits & 0x7FFFFFFF) + rounder) - rounder;
      const uint32_t all = __float2uint_rz(c * inverse_step);
      return all < max_magnitude ? all : max_magnitude;
    }
#endif
    return sample_of_bits<kReversible>(bits, rounder, inverse_step, limit, max_magnitude) &
           0x7FFFFFFF;
  }
  /// Columns of the pair at x that are in the block, 1 .. 4.
  CJ2K_KERNEL_FN uint32_t columns(uint32_t x) const {
    return width - 4 * x < 4 ? width - 4 * x : 4;
  }
  CJ2K_KERNEL_FN uint32_t pairs_wide() const { return (width + 3) / 4; }
  CJ2K_KERNEL_FN uint32_t num_pairs() const { return pairs_wide() * ((height + 1) / 2); }
  /// Samples of the pairs that are not in the block.
  CJ2K_KERNEL_FN uint32_t outside() const { return 8 * num_pairs() - width * height; }
  /// Reads the samples of a pair that is in the block: s[4 * quad + n], where n = 0 .. 3 are top
  /// left, bottom left, top right, bottom right. Those outside of the block are 0.
  template <typename T>
  CJ2K_KERNEL_FN void read(T& t, uint32_t x, uint32_t y, uint32_t* s) const {
    read_bits(t, x, y, s);
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) s[i] = sample(s[i]);
    if constexpr (kMayChange) {
      const uint32_t changed =
          changes == nullptr ? 0 : uint32_t{t.gload_ro(changes + (y * pairs_wide() + x))};
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) {
        if ((changed >> i & 1) != 0) s[i] = ht_rdoq_model::changed_sample(s[i], 0, plane);
      }
    }
  }
  /// The same of the coefficients.
  template <typename T>
  CJ2K_KERNEL_FN void read_bits(T& t, uint32_t x, uint32_t y, uint32_t* s) const {
    const uint32_t* from = source + uint64_t{2 * y} * stride + 4 * x;
    simt::U32x4 row[2] = {};
    if (aligned && 4 * x + 3 < width && 2 * y + 1 < height) {
      row[0] = t.gload_ro(reinterpret_cast<const simt::U32x4*>(from));
      row[1] = t.gload_ro(reinterpret_cast<const simt::U32x4*>(from + stride));
    } else {
      const uint32_t count = columns(x);
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        if (2 * y + i >= height) break;
        row[i].x = t.gload_ro(from + i * stride);
        if (count > 1) row[i].y = t.gload_ro(from + i * stride + 1);
        if (count > 2) row[i].z = t.gload_ro(from + i * stride + 2);
        if (count > 3) row[i].w = t.gload_ro(from + i * stride + 3);
      }
    }
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      s[i] = row[i].x;
      s[i + 2] = row[i].y;
      s[i + 4] = row[i].z;
      s[i + 6] = row[i].w;
    }
  }
};

template <bool kReversible, bool kMayChange = false, typename T>
CJ2K_KERNEL_FN BlockReader<kReversible, kMayChange> read_block(T& t, const Source& source,
                                                               const HtTask& task,
                                                               const HtChanges& changes = {}) {
  const QuantizeJob job = t.gload(source.jobs + task.block % source.num_blocks);
  const uint32_t frame = task.block / source.num_blocks;
  const uint32_t max_magnitude = (1u << task.max_bit_planes) - 1;
  return {source.samples + frame * source.frame_samples + job.source,
          job.stride,
          job.width,
          job.height,
          max_magnitude,
          float_of_upper_half(task.rounder),
          task.inverse_step,
          quantizer_limit(max_magnitude),
          ((job.source | job.stride) & 3) == 0,
          kMayChange && task.coding > 0 ? changes.of(task.block, task.coding) : nullptr,
          task.plane};
}

}  // namespace cj2k::cuda::ht
