// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The errors of Cb and Cr (coders/ebcot/colour_errors.h), from bit-planes and hulls.
#pragma once

#include <bit>

#include "core/ebcot/coding_passes.h"
#include "kernels/ebcot/colour.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// Adds the errors of blocks of Cb or Cr to what shifts Y, and with Cr the coefficients of Y.
///
/// Grid: x = entry of the list. Block: 4 warps. A warp does 8 columns of a stripe at once: lane
///   4 * column + row, which is also the sample's bit in the bit-planes.
/// Shared bytes: none. Barriers: none.
/// Global traffic: of each sample, the bits that are decoded, 4 bytes of its coefficient, and 4 of the
///   shift; Cr also reads the shift and the coefficient of Y. A row of 8 columns is 32 adjacent bytes.
struct ColourErrors {
  struct Params {
    Tier1Buffers buffers;
    Tier1List list;
    Tier1Output hulls;
    const ColourJob* jobs;
    uint32_t component;
    RdoqParams rdoq;
    float* shifted;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 8;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t entry = t.block_x();
    const ListedBlock block(t, p.buffers, p.list, entry);
    if (t.gload_ro(&block.job->component) != p.component) return;
    const RdoqFrame* frame = p.rdoq.frames + block.frame;
    if (t.gload_ro(&frame->slope[0]) == 0) return;

    const Tier1Job job = t.gload(block.job);
    const uint32_t first_job = t.gload_ro(&frame->step_set) * p.buffers.num_blocks;
    const uint32_t index = first_job + block.number % p.buffers.num_blocks;
    const ColourJob colour = t.gload(p.jobs + index);
    const QuantizeJob* const chroma = p.rdoq.quantize + index;
    const QuantizeJob* const luma = p.rdoq.quantize + first_job + colour.luma;
    const Area from = area_of(t, chroma), to = area_of(t, luma);
    const float* samples =
        static_cast<const float*>(p.rdoq.samples.data) + block.frame * p.rdoq.samples.frame_samples;
    float* shifted = p.shifted + block.frame * p.rdoq.shifted_samples;

    const int num_planes = bit_planes(t, p.buffers, block.number);
    const PlaneCut cut =
        plane_cut(num_planes, passes_at(t, p.hulls, p.hulls.place(entry, block.number),
                                        t.gload_ro(&frame->slope[p.component])));
    const uint32_t row_cells = (job.width + 15u) / 16 * 2;
    const uint32_t plane_cells = row_cells * ((job.height + 3u) / 4);
    const uint32_t* planes = reinterpret_cast<const uint32_t*>(
        p.buffers.planes.words + block.frame * p.buffers.planes.frame_words + job.first_word);
    const uint32_t used_cells = (job.width + 7u) / 8, stripes = (job.height + 3u) / 4;
    for (uint32_t i = t.warp(); i < used_cells * stripes; i += kThreads / 32) {
      const uint32_t stripe = i / used_cells, cell = i % used_cells;
      const uint32_t x = 8 * cell + t.lane() / 4, y = 4 * stripe + t.lane() % 4;
      if (x >= job.width || y >= job.height) continue;
      // The magnitude without the bits below the cut. The plane of the signs comes first in memory.
      uint32_t level = 0;
      const uint32_t* word = planes + stripe * row_cells + cell;
      for (int plane = num_planes - 1; plane >= cut.plane; --plane) {
        word += plane_cells;
        level = level << 1 | (t.gload_ro(word) >> t.lane() & 1);
      }
      const float coefficient = t.gload_ro(samples + from.at(x, y));
      const float shown = shown_at(level, cut, colour.step);
      const float error = colour.factor * (coefficient - with_sign_of(coefficient, shown));
      float* const sum = shifted + to.at(x, y);
      if (p.component == 1) {
        t.gstore(sum, 0.0f + error);
      } else {
        t.gstore(sum, t.gload(sum) + error + t.gload_ro(samples + to.at(x, y)));
      }
    }
  }

 private:
  /// Where the samples of a block are in a frame.
  struct Area {
    uint64_t first;
    uint32_t stride;
    CJ2K_KERNEL_FN uint64_t at(uint32_t x, uint32_t y) const {
      return first + uint64_t{y} * stride + x;
    }
  };
  template <typename T>
  CJ2K_KERNEL_FN static Area area_of(T& t, const QuantizeJob* job) {
    return {t.gload_ro(&job->source), t.gload_ro(&job->stride)};
  }

  /// Passes of a block whose slopes reach `slope`. Slopes fall.
  template <typename T>
  CJ2K_KERNEL_FN static int passes_at(T& t, const Tier1Output& hulls, uint32_t place,
                                      uint32_t slope) {
    const Tier1Result* result = hulls.results + place;
    const uint32_t count = t.gload(&result->num_hull);
    const HullPoint* hull = hulls.hull + t.gload(&result->first_hull);
    uint32_t points = 0;
    for (uint32_t first = 0; first < count; first += 32) {
      const uint32_t i = first + t.lane();
      points += T::popcount(t.ballot(i < count && t.gload(&hull[i].slope) >= slope));
    }
    return points == 0 ? 0 : t.gload(&hull[points - 1].passes);
  }

  /// What a decoder shows, at mid-point.
  /// @param level  the magnitude without the bits below the cut
  CJ2K_KERNEL_FN static float shown_at(uint32_t level, const PlaneCut& cut, float step) {
    const uint32_t above = cut.upper && level > 1 ? 1 : 0;
    level >>= above;
    if (level == 0) return 0;
    const uint32_t lowest = static_cast<uint32_t>(cut.plane) + above;
    const float unit = step * std::bit_cast<float>((127 + lowest) << 23);
    return (static_cast<float>(static_cast<int32_t>(level)) + 0.5f) * unit;
  }
  CJ2K_KERNEL_FN static float with_sign_of(float sign, float magnitude) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) |
                                (std::bit_cast<uint32_t>(sign) & 0x80000000u));
  }
};

}  // namespace cj2k::cuda::tier1
