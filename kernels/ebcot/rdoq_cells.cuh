// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What RDOQ on the GPU (rdoq.cuh) knows of a block: its samples, cells and counts in shared memory.
//
// Samples, twice the magnitude plus the sign, are placed as in quantize.cuh. A cell is a column of a
// stripe: nibble `map` has rows 0 .. 3 of a map of core/ebcot/rdoq_trial.h.
//   index(x, stripe) = stripe * width + x
#pragma once

#include <bit>

#include "core/ebcot/rdoq_trial.h"
#include "kernels/ebcot/quantize.cuh"
#include "kernels/ebcot/tier1_modeller.cuh"

namespace cj2k::cuda::tier1 {

// Maps of the device alone.
/// The sample or one beside it has changed since its visit.
inline constexpr int kChanged = rdoq::kRdoqMaps;
inline constexpr int kCandidate = kChanged + 1;  ///< a change may be tried

CJ2K_KERNEL_FN uint64_t cell_bit(int map, int row) { return uint64_t{1} << (4 * map + row); }
/// Row 0 of the maps that a magnitude m >> p and its sign decide.
CJ2K_KERNEL_FN uint64_t magnitude_maps(uint32_t q) {
  uint64_t maps = 0;
  CJ2K_UNROLL
  for (int up = 0; up < kTrackedPlanes; ++up)
    maps |= uint64_t{q >> up & 1} << 4 * (rdoq::kOne + up);
  CJ2K_UNROLL
  for (int up = 0; up < kTrackedPlanes + 2; ++up) {
    if (q >> up != 0) maps |= uint64_t{1} << 4 * (rdoq::kReached + up);
  }
  return maps;
}
inline constexpr uint64_t kMagnitudeMaps =
    uint64_t{0x111} << 4 * rdoq::kOne | uint64_t{0x11111} << 4 * rdoq::kReached;

/// The coefficients of a block.
struct Coefficients {
  const uint32_t* from;
  uint32_t stride;
  bool reversible;
  uint32_t max_magnitude;
  float inverse_step;
  float scale;  ///< from quantiser steps to 2^p / 2^kRdoqFraction

  template <typename T>
  CJ2K_KERNEL_FN uint32_t bits(T& t, uint32_t x, uint32_t y) const {
    return t.gload_ro(from + (uint64_t{y} * stride + x));
  }
  /// |coefficient| in 2^p / 2^kRdoqFraction.
  CJ2K_KERNEL_FN int32_t value(uint32_t bits) const {
    constexpr auto kMost = static_cast<float>(kMostValue);
    const auto whole = static_cast<int32_t>(bits);
    const float q = (reversible ? static_cast<float>(whole < 0 ? -whole : whole)
                                : std::bit_cast<float>(bits & rdoq::kMagnitude) * inverse_step) *
                    scale;
    return static_cast<int32_t>(q < kMost ? q : kMost);
  }
  /// The magnitude before RDOQ.
  CJ2K_KERNEL_FN uint32_t magnitude(uint32_t bits) const {
    return (reversible ? signed_sample_of_bits<true>(bits, inverse_step, max_magnitude)
                       : signed_sample_of_bits<false>(bits, inverse_step, max_magnitude)) >>
           1;
  }
};

/// Shared memory of a block for RDOQ.
template <uint32_t kWarps>
struct RdoqSmem {
  /// 1,280: three cells of 8 x 4 samples side by side take two words of 16 columns.
  static constexpr uint32_t kSamples = kWarps == 1 ? 1280 : 4096;
  static constexpr uint32_t kMaxCells = model_samples(kWarps) / 4;
  static constexpr uint32_t kMaxGroup = kWarps == 1 ? 64 : 256;  ///< samples of a group

  simt::U32x4 samples[kSamples / 4];
  uint64_t cells[kMaxCells];
  uint32_t zero_cost[512], sign_cost[256];  ///< rdoq::CostTables
  rdoq::Costs costs;
  rdoq::PassCounts counts[kTrackedPlanes];
  int64_t sums[kTrackedPlanes][3];  ///< of rdoq::may_pay
  int64_t removed[kMaxPasses];
  int64_t total;
  uint32_t places[kMaxGroup];    ///< candidates of a group: x | y << 16
  Overlaps overlaps;             ///< RdoqBlock::overlaps
  int32_t targets[kWarps * 32];  ///< [thread] of the sample that it visits
  ModelScratch<kWarps> model;
  simt::BlockScratch<uint32_t, kWarps * 32> scratch;
};

/// Counts the decisions of the planes from p on, and finds what the significance pass codes.
template <typename T, typename G, uint32_t kWarps>
class DecisionCounter : private CellModel<T, G, kWarps> {
  using Cells = CellModel<T, G, kWarps>;

 public:
  CJ2K_KERNEL_FN DecisionCounter(T& t, RdoqSmem<kWarps>& s, const Tier1Job& job, uint32_t style)
      : Cells(t, s.model, job.width, job.height, job.orientation, style),
        cells_(s.cells + this->stripe_ * job.width + 8 * this->column_),
        columns_(!this->active_                        ? 0u
                 : job.width - 8u * this->column_ < 8u ? job.width - 8u * this->column_
                                                       : 8u) {}

  /// @param counts  in shared memory, zeros
  CJ2K_KERNEL_FN void run(const rdoq::Model& model, rdoq::PassCounts* counts) {
    this->clear();
    this->set_signs(word(rdoq::kSign));
    int up = model.tracked - 1;
    this->set_significance(word(rdoq::kReached + up + 2), word(rdoq::kReached + up + 1));
    CJ2K_HD_ROLLED
    for (; up >= 0; --up) {
      bits_ = word(rdoq::kOne + up);
      group_.sync();
      count_plane(model.is_highest(up), up, counts[up]);
    }
  }

 private:
  using Cells::bits_;
  using Cells::group_;
  using Cells::significant_;
  using Cells::t_;
  using Cells::valid_;

  /// A map for the thread's samples. Lanes begin at unlike columns, so they read unlike banks.
  CJ2K_KERNEL_FN uint32_t word(int map) {
    uint32_t bits = 0;
    CJ2K_HD_ROLLED
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t c = (i + t_.lane()) & 7;
      if (c < columns_) bits |= static_cast<uint32_t>(t_.sload(cells_[c]) >> 4 * map & 15) << 4 * c;
    }
    return bits;
  }
  CJ2K_KERNEL_FN void store_early(int up, uint32_t members) {
    CJ2K_HD_ROLLED
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t c = (i + t_.lane()) & 7;
      if (c >= columns_) continue;
      const int shift = 4 * (rdoq::kEarly + up);
      const uint64_t cell = t_.sload(cells_[c]) & ~(uint64_t{15} << shift);
      t_.sstore(cells_[c], cell | uint64_t{members >> 4 * c & 15} << shift);
    }
  }

  CJ2K_KERNEL_FN void count_plane(bool is_highest, int up, rdoq::PassCounts& counts) {
    uint32_t members = 0, found = 0;
    if (!is_highest) found = this->grow(&members);
    store_early(up, members);
    const uint32_t left_over = valid_ & ~(significant_ | members);
    const uint32_t ones = left_over & bits_;
    if (!is_highest) {
      const Decisions d = this->significance_pass(members, found);
      add_zero(d, counts.significance);
      add_signs(d, counts.significance);
      const Decisions r = this->refinement_pass();
      CJ2K_HD_ROLLED
      for (uint32_t c = mq::kRefine; c < mq::kRefine + 3; ++c)
        add(labelled<4>(r.coded, r.label, c), bits_, counts.refinement.n[c]);
    }
    const uint32_t e = significant_ | found | ones;
    const Decisions d = this->cleanup_pass(left_over, ones, e);
    add_zero(d, counts.cleanup);
    add(labelled<4>(d.coded, d.label, mq::kRun), bits_, counts.cleanup.n[mq::kRun]);
    add_signs(d, counts.cleanup);
    add(d.breaks, d.breaks, counts.cleanup.n[mq::kRun]);
    // Two for each.
    add(d.breaks, d.breaks, counts.cleanup.n[mq::kUniform]);
    add(d.breaks, 0, counts.cleanup.n[mq::kUniform]);
    this->end_plane(e);
  }
  CJ2K_KERNEL_FN void add_zero(const Decisions& d, rdoq::Counts& counts) {
    CJ2K_HD_ROLLED
    for (uint32_t c = 0; c < mq::kRefine; ++c)
      add(labelled<4>(d.coded, d.label, c), bits_, counts.n[mq::kZero + c]);
  }
  CJ2K_KERNEL_FN void add_signs(const Decisions& d, rdoq::Counts& counts) {
    CJ2K_HD_ROLLED
    for (uint32_t c = 0; c < mq::kNumContexts - mq::kSign; ++c)
      add(labelled<3>(d.signs, d.sign_label, c), d.sign_bit, counts.n[mq::kSign + c]);
  }
  /// The samples of `mask` with this label.
  template <uint32_t kBits>
  CJ2K_KERNEL_FN static uint32_t labelled(uint32_t mask, const uint32_t* label, uint32_t value) {
    CJ2K_UNROLL
    for (uint32_t k = 0; k < kBits; ++k) mask &= label[k] ^ ((value >> k & 1) - 1);
    return mask;
  }
  /// Adds decisions to the counts of a context. A warp has at most 1,024.
  CJ2K_KERNEL_FN void add(uint32_t mask, uint32_t bits, uint32_t* n) {
    const uint32_t sum =
        t_.warp_reduce_add(T::popcount(mask & ~bits) | T::popcount(mask & bits) << 16);
    if (t_.lane() != 0 || sum == 0) return;
    t_.atomic_add(n, sum & 0xFFFF);
    t_.atomic_add(n + 1, sum >> 16);
  }

  uint64_t* const cells_;
  const uint32_t columns_;
};

/// The cells around a sample.
class NearCells {
 public:
  /// @param first  rdoq::Region
  template <typename T>
  CJ2K_KERNEL_FN void load(T& t, const uint64_t* cells, int x, int first, int width, int stripes) {
    const auto at = [&](int j, int stripe) {
      const int column = x - 2 + j;
      const bool is_in = static_cast<uint32_t>(column) < static_cast<uint32_t>(width) &&
                         static_cast<uint32_t>(stripe) < static_cast<uint32_t>(stripes);
      return is_in ? t.sload(cells[stripe * width + column]) : uint64_t{0};
    };
    CJ2K_UNROLL
    for (int j = 0; j < 5; ++j) {
      cells_[0][j] = at(j, first);
      cells_[1][j] = at(j, first + 1);
      // Row 3 of the stripe above, row 0 of the one below.
      const uint64_t up = at(j, first - 1) >> 3 & kLowest, down = at(j, first + 2) & kLowest;
      if (j < 4) {
        above_[0] = (j == 0 ? 0 : above_[0]) | up << j;
        below_[0] = (j == 0 ? 0 : below_[0]) | down << j;
      } else {
        above_[1] = up;
        below_[1] = down;
      }
    }
  }
  /// A window of stripe 0 or 1 of the region.
  CJ2K_KERNEL_FN uint32_t columns(int map, int i) const {
    const uint32_t upper = own(map, 0), lower = own(map, 1);
    if (i == 0) return upper | row(map, above_) | (lower << 4 & rdoq::kRowBelow);
    return lower | (upper >> 4 & rdoq::kRowAbove) | row(map, below_) << 5;
  }

 private:
  static constexpr uint64_t kLowest = 0x1111111111111111;

  CJ2K_KERNEL_FN static uint32_t nibble(uint64_t word, int map) {
    return static_cast<uint32_t>(word >> 4 * map) & 15;
  }
  /// Rows 0 .. 3.
  CJ2K_KERNEL_FN uint32_t own(int map, int i) const {
    uint32_t window = 0;
    CJ2K_UNROLL
    for (int j = 0; j < 5; ++j) window |= nibble(cells_[i][j], map) << (rdoq::kColumnBits * j + 1);
    return window;
  }
  /// A row as row -1 of a window: bit j of the nibble goes to bit 6 * j.
  CJ2K_KERNEL_FN static uint32_t row(int map, const uint64_t* of) {
    return (nibble(of[0], map) * 0x8421 & (rdoq::kRowAbove & 0xFFFFFF)) | nibble(of[1], map) << 24;
  }

  uint64_t cells_[2][5];
  uint64_t above_[2], below_[2];  ///< nibbles of four columns of a row, and of the last one
};

}  // namespace cj2k::cuda::tier1
