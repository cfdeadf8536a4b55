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

/// A warp processes units of two words in scan order, 16 columns x 4 rows each: lane 16 * h + 4 * g + r
/// holds columns 4 * g to 4 * g + 3 of row r of word h. All units are first quantised into
/// shared memory. Then four transpositions of 32 x 32 bits over
/// the warp turn samples into planes. A sample with its sign in bit 0 has planes + 1 bits, mostly at
/// most 8: the samples of four units side by side in 32 bits are transposed at once, of two units
/// if there are at most 16 bits. Lane 8 * u + p (16 * u + p) then has the bits p of unit u. So the
/// lanes store 64 (32) neighbouring bytes of a plane together. A transposition takes five shuffles;
/// ballots would take one per plane and unit.
///
/// @tparam kThreads  of the thread block, which does one code-block
template <int kThreads>
struct SamplePlanes {
  /// Of a code-block of 64 x 64 in shared memory.
  static constexpr uint32_t kMaxSamples = 4096;

  template <bool kReversible>
  CJ2K_KERNEL_FN static simt::U32x4 quantize(const simt::U32x4& v, const QuantizeJob& job,
                                             uint32_t max_magnitude) {
    const auto one = [&](uint32_t bits) {
      return signed_sample_of_bits<kReversible>(bits, job.inverse_step, max_magnitude);
    };
    return {one(v.x), one(v.y), one(v.z), one(v.w)};
  }

  /// Transposes 32 x 32 bits over the warp: bit j of lane i becomes bit i of lane j. Swaps ever
  /// smaller squares off the diagonal. Of each pair of lanes the upper one keeps the high bits of
  /// the squares, the other one the low bits, and the rest comes from the partner.
  class Transpose {
   public:
    template <typename T>
    CJ2K_KERNEL_FN explicit Transpose(T& t) {
      // Opaque: otherwise nvcc computes them anew for each transposition.
      const auto choose = [&t](uint32_t d, uint32_t upper, uint32_t lower) {
        return t.opaque((t.lane() & d) != 0 ? upper : lower);
      };
      halves_ = choose(16, 0x3276, 0x5410);
      bytes_ = choose(8, 0x3715, 0x6240);
      CJ2K_UNROLL
      for (uint32_t k = 0; k < 3; ++k) {
        const uint32_t d = 4u >> k, low = k == 0 ? 0x0F0F0F0Fu : k == 1 ? 0x33333333u : 0x55555555u;
        keep_[k] = choose(d, ~low, low);
        rotate_[k] = choose(d, 32 - d, d);
      }
    }
    template <typename T>
    CJ2K_KERNEL_FN uint32_t operator()(T& t, uint32_t x) const {
      x = t.byte_permute(x, t.shuffle_xor(x, 16), halves_);
      x = t.byte_permute(x, t.shuffle_xor(x, 8), bytes_);
      CJ2K_UNROLL
      for (uint32_t k = 0; k < 3; ++k) {
        const uint32_t other = t.shuffle_xor(x, 4u >> k);
        x = (x & keep_[k]) | (t.funnel_left(other, other, rotate_[k]) & ~keep_[k]);
      }
      return x;
    }

   private:
    uint32_t halves_, bytes_;  ///< byte_permute selectors
    uint32_t keep_[3], rotate_[3];
  };

  /// Puts the bits of a unit into scan order. Bit 16 * h + 4 * g + r of b[j] belongs to the sample in
  /// column 4 * g + j and row r of word h. It goes to bit 4 * column + r of that word.
  template <typename T>
  CJ2K_KERNEL_FN static simt::U32x4 words_of(T& t, const uint32_t* b) {
    constexpr uint32_t kEven = 0x0F0F0F0Fu;
    // Byte n of even01 has columns 0 and 1 of group 2 * n, those of both words counted. Byte n of
    // odd01 has columns 0 and 1 of group 2 * n + 1.
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

  /// A block as the lanes see it.
  struct Block {
    uint32_t words_wide, plane_words, num_units;
    uint32_t word_groups;  ///< groups of columns that a word has in shared memory
    uint32_t half;         ///< which word of a unit the lane's samples are in
    uint32_t group, row;   ///< of the lane in that word
    CJ2K_KERNEL_FN uint32_t place(uint32_t word) const {
      return (word * word_groups + group) * 4 + row;
    }
  };
  template <typename T>
  CJ2K_KERNEL_FN static Block block_of(T& t, const QuantizeJob& job) {
    return {job.words_wide,
            job.plane_words,
            (job.plane_words + 1u) / 2,
            job.width > 12 ? 4 : (job.width + 3u) / 4,
            t.lane() >> 4,
            t.lane() >> 2 & 3,
            t.lane() & 3};
  }

  /// Quantises the block into shared memory.
  /// @param samples  [word][group of 4 columns][row]. A word has 4 groups; in blocks of less than 13
  ///                 columns as many as there are
  /// @return  bitwise OR of what the thread quantised
  template <bool kReversible, typename T>
  CJ2K_KERNEL_FN static uint32_t load_samples(T& t, simt::U32x4* samples, const Block& block,
                                              const QuantizeJob& job, const uint32_t* source) {
    const uint32_t max_magnitude = (1u << job.max_bit_planes) - 1;
    const uint32_t width = job.width, height = job.height;
    const bool is_aligned = ((job.source | job.stride) & 3) == 0;
    // word / words_wide = word * reciprocal / 2^16 for word < 2^10. Nearly all blocks are 1, 2 or 4
    // words wide.
    const bool is_power = (block.words_wide & (block.words_wide - 1)) == 0;
    const uint32_t reciprocal =
        is_power ? 0x10000u >> t.ctz(block.words_wide) : 0x10000u / block.words_wide + 1;
    uint32_t all = 0;
    if (is_aligned && width % 16 == 0 && height % 4 == 0 && block.plane_words % 2 == 0) {
      // Whole units. The word after the last one of a stripe is `step` samples further on.
      const uint32_t step = 4 * job.stride - 16 * block.words_wide;
      const uint32_t* const lane_source =
          source + uint64_t{block.row} * job.stride + 4 * block.group;
      for (uint32_t unit = t.warp(); unit < block.num_units; unit += kThreads / 32) {
        const uint32_t word = 2 * unit + block.half;
        const uint32_t stripe = word * reciprocal >> 16;
        const uint32_t* const from = lane_source + uint64_t{stripe} * step + 16 * word;
        const simt::U32x4 v = quantize<kReversible>(
            t.gload_ro(reinterpret_cast<const simt::U32x4*>(from)), job, max_magnitude);
        t.sstore(samples[unit * 32 + t.lane()], v);
        all |= v.x | v.y | v.z | v.w;
      }
      return all;
    }
    for (uint32_t unit = t.warp(); unit < block.num_units; unit += kThreads / 32) {
      const uint32_t word = 2 * unit + block.half;
      if (word >= block.plane_words || block.group >= block.word_groups) continue;
      const uint32_t stripe = word * reciprocal >> 16;
      const uint32_t x = 16 * (word - stripe * block.words_wide) + 4 * block.group;
      const uint32_t y = 4 * stripe + block.row;
      simt::U32x4 v{0, 0, 0, 0};
      if (y < height && x < width) {
        const uint32_t* from = source + uint64_t{y} * job.stride + x;
        const uint32_t count = width - x;
        if (is_aligned && count >= 4) {
          v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(from));
        } else {
          v.x = t.gload_ro(from);
          if (count > 1) v.y = t.gload_ro(from + 1);
          if (count > 2) v.z = t.gload_ro(from + 2);
          if (count > 3) v.w = t.gload_ro(from + 3);
        }
        v = quantize<kReversible>(v, job, max_magnitude);
        all |= v.x | v.y | v.z | v.w;
      }
      t.sstore(samples[block.place(word)], v);
    }
    return all;
  }

  /// The lowest 32 / kUnits bits of each value, side by side.
  template <uint32_t kUnits, typename T>
  CJ2K_KERNEL_FN static uint32_t pack(T& t, const uint32_t* v) {
    if constexpr (kUnits == 1) return v[0];
    if constexpr (kUnits == 2) return t.byte_permute(v[0], v[1], 0x5410);
    return t.byte_permute(t.byte_permute(v[0], v[1], 0x0040), t.byte_permute(v[2], v[3], 0x0040),
                          0x5410);
  }

  /// Transposes the samples in shared memory, kUnits units at once, and stores the planes.
  /// @param to  where the block's words begin
  template <uint32_t kUnits, typename T>
  CJ2K_KERNEL_FN static void store_units(T& t, simt::U32x4* samples, const Block& block,
                                         uint32_t planes, uint64_t* to) {
    constexpr uint32_t kBits = 32 / kUnits;
    const Transpose transpose(t);
    const uint32_t bit = t.lane() % kBits, own_unit = t.lane() / kBits;
    const uint32_t slot = bit == 0 ? 0 : planes + 1 - bit;  // not used where bit > planes
    const bool is_in_word = block.group < block.word_groups;
    const uint32_t lane_place = block.place(block.half), unit_places = 8 * block.word_groups;
    if (bit <= planes) to += slot * block.plane_words;
    for (uint32_t first = t.warp() * kUnits; first < block.num_units;
         first += kThreads / 32 * kUnits) {
      simt::U32x4 v[kUnits];
      CJ2K_UNROLL
      for (uint32_t u = 0; u < kUnits; ++u) {
        v[u] = {0, 0, 0, 0};
        const uint32_t unit = first + u;
        if (is_in_word && unit < block.num_units) {
          v[u] = t.sload(samples[unit * unit_places + lane_place]);
        }
      }
      uint32_t b[4];
      CJ2K_UNROLL
      for (uint32_t j = 0; j < 4; ++j) {
        uint32_t column[kUnits];
        CJ2K_UNROLL
        for (uint32_t u = 0; u < kUnits; ++u) {
          column[u] = j == 0 ? v[u].x : j == 1 ? v[u].y : j == 2 ? v[u].z : v[u].w;
        }
        b[j] = transpose(t, pack<kUnits>(t, column));
      }
      const uint32_t unit = first + own_unit;
      if (bit > planes || unit >= block.num_units) continue;
      const simt::U32x4 words = words_of(t, b);
      uint64_t* const at = to + 2 * unit;
      if ((block.plane_words & 1) == 0) {
        t.gstore(reinterpret_cast<simt::U32x4*>(at), words);
      } else {
        t.gstore(at, uint64_t{words.y} << 32 | words.x);
        if (2 * unit + 1 < block.plane_words) t.gstore(at + 1, uint64_t{words.w} << 32 | words.z);
      }
    }
  }

  /// The same for any number of planes.
  template <typename T>
  CJ2K_KERNEL_FN static void store_planes(T& t, simt::U32x4* samples, const Block& block,
                                          uint32_t planes, uint64_t* to) {
    if (planes < 8) {
      store_units<4>(t, samples, block, planes, to);
    } else if (planes < 16) {
      store_units<2>(t, samples, block, planes, to);
    } else {
      store_units<1>(t, samples, block, planes, to);
    }
  }
};

/// Quantising where the transform stores would not save traffic: the transform writes 4 bytes per
/// coefficient, and they are read once, quantised or not. The bit-planes take 0.5 to 0.9 bytes per
/// coefficient.
///
/// Grid: x = code-block, y = frame. Block: 4 warps.
/// Shared bytes: 16 KB (4,096 samples) + 16 bytes.
/// Global traffic: 4 bytes read per sample (16 at a time where aligned); (planes + 1) bits written
/// per sample in 16-byte stores (8-byte stores where a plane is an odd number of words).
/// Barriers: 2, those of the reduction; the first one also orders the samples in shared memory.
template <bool kReversible>
struct Quantize {
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;
  using Planes = SamplePlanes<kThreads>;

  struct Params {
    const QuantizeJob* jobs;
    const uint32_t* samples;
    uint64_t frame_samples;
    uint64_t* words;
    uint64_t frame_words;
    uint32_t* magnitudes;
  };
  struct Smem {
    simt::U32x4 samples[Planes::kMaxSamples / 4];
    simt::BlockScratch<uint32_t, kThreads> scratch;
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const QuantizeJob job = t.gload(p.jobs + t.block_x());
    const uint32_t frame = t.block_y();
    const auto block = Planes::block_of(t, job);
    const uint32_t all = Planes::template load_samples<kReversible>(
        t, s.samples, block, job, p.samples + frame * p.frame_samples + job.source);
    const uint32_t magnitudes = simt::block_reduce_or(t, s.scratch, all) >> 1;
    if (t.thread() == 0) {
      t.gstore(p.magnitudes + uint64_t{frame} * t.grid_x() + t.block_x(), magnitudes);
    }
    if (magnitudes == 0) return;

    // The plan reserves max_bit_planes. More cannot occur; they would overwrite the words of the
    // next block.
    uint32_t planes = 32 - t.clz(magnitudes);
    if (planes > job.max_bit_planes) planes = job.max_bit_planes;
    uint64_t* const to = p.words + frame * p.frame_words + job.first_word;
    Planes::store_planes(t, s.samples, block, planes, to);
  }
};

}  // namespace cj2k::cuda
