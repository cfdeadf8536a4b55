// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel that quantises coefficients and turns them into bit-planes. A thread block does one
// code-block.
#pragma once

#include "kernels/ebcot/quantize.h"
#include "kernels/pixels/core.h"
#include "kernels/simt/block.h"

namespace cj2k::cuda {

/// A warp processes units of 4 rows x 32 columns, which are two words in scan order. Lane 4 * g + r
/// holds columns 4 * g to 4 * g + 3 of row r. The kernel first quantises all units into shared
/// memory and computes the number of bit-planes. Then each lane reads its own values back, and four
/// transpositions of 32 x 32 bits over the warp give lane p the bits of plane p (lane 31: the
/// signs), which it stores. A transposition takes five shuffles; ballots would take one per plane.
///
/// Quantising where the transform stores would not save traffic: the transform writes 4 bytes per
/// coefficient, and they are read once, quantised or not. The bit-planes take 0.5 to 0.9 bytes per
/// coefficient.
///
/// Grid: x = code-block, y = frame. Block: 4 warps.
/// Shared bytes: 16 KB (4,096 samples) + 16 bytes.
/// Global traffic: 4 bytes read per sample (16 at a time where aligned); (planes + 1) bits written
/// per sample in 16-byte stores (8-byte stores where the block is an odd number of words wide).
/// Barriers: 2, those of the reduction. The samples in shared memory need none, because each lane
/// reads back only what it wrote itself.
template <bool kReversible>
struct Quantize {
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;
  static constexpr uint32_t kMaxSamples = 4096;

  struct Params {
    const QuantizeJob* jobs;
    const uint32_t* samples;
    uint64_t frame_samples;
    uint64_t* words;
    uint64_t frame_words;
    uint32_t* magnitudes;
  };
  struct Smem {
    simt::U32x4 samples[kMaxSamples / 4];  ///< [stripe][group of 4 columns][row]
    simt::BlockScratch<uint32_t, kThreads> scratch;
  };

  CJ2K_KERNEL_FN static uint32_t quantize(uint32_t bits, const QuantizeJob& job, float limit,
                                          uint32_t max_magnitude) {
    return sample_of_bits<kReversible>(bits, job.inverse_step, limit, max_magnitude);
  }

  /// Transposes 32 x 32 bits over the warp: bit j of lane i becomes bit i of lane j. Swaps ever
  /// smaller squares off the diagonal.
  template <typename T>
  CJ2K_KERNEL_FN static uint32_t transpose(T& t, uint32_t x) {
    uint32_t low = 0x0000FFFFu;  // columns of each pair of squares that come from the lower lanes
    CJ2K_UNROLL
    for (uint32_t d = 16; d > 0; d >>= 1) {
      const uint32_t other = t.shuffle_xor(x, d);
      const bool is_upper = (t.lane() & d) != 0;
      x = is_upper ? ((x & ~low) | (other >> d & low)) : ((x & low) | (other << d & ~low));
      low ^= low << (d >> 1);
    }
    return x;
  }

  /// Puts the bits of a unit into scan order. Bit 4 * g + r of b[j] belongs to the sample in column
  /// 4 * g + j and row r. It goes to bit 4 * (column % 16) + r of word column / 16.
  template <typename T>
  CJ2K_KERNEL_FN static simt::U32x4 words_of(T& t, const uint32_t* b) {
    constexpr uint32_t kEven = 0x0F0F0F0Fu;
    // Byte n of even01 has columns 0 and 1 of group 2 * n. Byte n of odd01 has columns 0 and 1 of
    // group 2 * n + 1.
    const uint32_t even01 = (b[0] & kEven) | (b[1] & kEven) << 4;
    const uint32_t even23 = (b[2] & kEven) | (b[3] & kEven) << 4;
    const uint32_t odd01 = (b[0] >> 4 & kEven) | (b[1] & ~kEven);
    const uint32_t odd23 = (b[2] >> 4 & kEven) | (b[3] & ~kEven);
    const uint32_t even_low = t.byte_permute(even01, even23, 0x5140);
    const uint32_t odd_low = t.byte_permute(odd01, odd23, 0x5140);
    const uint32_t even_high = t.byte_permute(even01, even23, 0x7362);
    const uint32_t odd_high = t.byte_permute(odd01, odd23, 0x7362);
    return {t.byte_permute(even_low, odd_low, 0x5410), t.byte_permute(even_low, odd_low, 0x7632),
            t.byte_permute(even_high, odd_high, 0x5410),
            t.byte_permute(even_high, odd_high, 0x7632)};
  }

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const QuantizeJob job = t.gload(p.jobs + t.block_x());
    const uint32_t frame = t.block_y();
    const uint32_t* source = p.samples + frame * p.frame_samples + job.source;
    const uint32_t width = job.width, height = job.height;
    const uint32_t groups = (width + 3) / 4;
    const uint32_t units_wide = (width + 31) / 32;
    const uint32_t num_units = units_wide * ((height + 3) / 4);
    const uint32_t max_magnitude = (1u << job.max_bit_planes) - 1;
    const float limit = quantizer_limit(max_magnitude);
    const bool is_aligned = ((job.source | job.stride) & 3) == 0;
    const uint32_t row_in_stripe = t.lane() & 3;

    uint32_t all = 0;
    for (uint32_t unit = t.warp(); unit < num_units; unit += kThreads / 32) {
      const uint32_t stripe = unit / units_wide;
      const uint32_t group = (unit - stripe * units_wide) * 8 + (t.lane() >> 2);
      const uint32_t y = stripe * 4 + row_in_stripe;
      if (group >= groups) continue;
      simt::U32x4 v{0, 0, 0, 0};
      if (y < height) {
        const uint32_t* from = source + uint64_t{y} * job.stride + 4 * group;
        const uint32_t count = width - 4 * group;
        if (is_aligned && count >= 4) {
          v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(from));
        } else {
          v.x = t.gload_ro(from);
          if (count > 1) v.y = t.gload_ro(from + 1);
          if (count > 2) v.z = t.gload_ro(from + 2);
          if (count > 3) v.w = t.gload_ro(from + 3);
        }
        v.x = quantize(v.x, job, limit, max_magnitude);
        v.y = quantize(v.y, job, limit, max_magnitude);
        v.z = quantize(v.z, job, limit, max_magnitude);
        v.w = quantize(v.w, job, limit, max_magnitude);
        all |= v.x | v.y | v.z | v.w;
      }
      t.sstore(s.samples[(stripe * groups + group) * 4 + row_in_stripe], v);
    }
    const uint32_t magnitudes = simt::block_reduce_or(t, s.scratch, all) & 0x7FFFFFFFu;
    if (t.thread() == 0) {
      t.gstore(p.magnitudes + uint64_t{frame} * t.grid_x() + t.block_x(), magnitudes);
    }
    if (magnitudes == 0) return;

    // The plan reserves max_bit_planes. More cannot occur; they would overwrite the words of the
    // next block.
    uint32_t planes = 32 - t.clz(magnitudes);
    if (planes > job.max_bit_planes) planes = job.max_bit_planes;
    const uint32_t words_wide = job.words_wide;
    const uint32_t slot = t.lane() == 31 ? 0 : planes - t.lane();  // not used where !stores
    const bool stores = t.lane() == 31 || t.lane() < planes;
    uint64_t* to =
        p.words + frame * p.frame_words + job.first_word + (stores ? slot * job.plane_words : 0);
    for (uint32_t unit = t.warp(); unit < num_units; unit += kThreads / 32) {
      const uint32_t stripe = unit / units_wide;
      const uint32_t column_unit = unit - stripe * units_wide;
      const uint32_t group = column_unit * 8 + (t.lane() >> 2);
      simt::U32x4 v{0, 0, 0, 0};
      if (group < groups) v = t.sload(s.samples[(stripe * groups + group) * 4 + row_in_stripe]);
      const uint32_t b[4] = {transpose(t, v.x), transpose(t, v.y), transpose(t, v.z),
                             transpose(t, v.w)};
      if (!stores) continue;
      const simt::U32x4 words = words_of(t, b);
      uint64_t* const at = to + stripe * words_wide + column_unit * 2;
      if ((words_wide & 1) == 0) {
        t.gstore(reinterpret_cast<simt::U32x4*>(at), words);
      } else {
        t.gstore(at, uint64_t{words.y} << 32 | words.x);
        if (column_unit * 2 + 1 < words_wide) t.gstore(at + 1, uint64_t{words.w} << 32 | words.z);
      }
    }
  }
};

}  // namespace cj2k::cuda
