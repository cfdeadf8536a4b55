// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Sorting and summing up for rate control. All threads of the block call the functions, and find the
// results in memory when these return.
#pragma once

#include "kernels/rate/frame_memory.cuh"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::rate {

template <typename T>
class CandidateOrder {
 public:
  CJ2K_KERNEL_FN CandidateOrder(T& t, AllocateSmem& s, const FrameMemory& memory)
      : t_(t), s_(s), m_(memory) {}

  /// Sorts the candidates by falling slope. Those of the same slope stay in their order.
  CJ2K_KERNEL_FN void sort_by_slope(uint32_t count) {
    sort_by_digit(m_.candidates(), m_.sorted(), count, 0);
    sort_by_digit(m_.sorted(), m_.candidates(), count, 8);
  }

  /// Sums up the bits of the candidates.
  CJ2K_KERNEL_FN void sum_bits(uint32_t count) {
    uint64_t* const bits = m_.candidate_bits();
    if (t_.thread() == 0) t_.gstore(bits, 0);
    uint64_t sum = 0;
    for (uint32_t first = 0; first < count; first += kRateThreads) {
      const uint32_t i = first + t_.thread();
      uint64_t mine = 0, more = 0;
      if (i < count) {
        const Candidate candidate = t_.gload(m_.candidates() + i);
        const int64_t added = int64_t{8} * candidate.bytes + candidate.header_bits;
        mine = added > 1 ? static_cast<uint64_t>(added) : 1;
      }
      const uint64_t before = sum + simt::block_exclusive_add(t_, s_.wide, mine, &more);
      if (i < count) t_.gstore(bits + i + 1, before + mine);
      sum += more;
    }
    t_.sync();
  }

  /// Sums up the histogram of a component from slope `end` - 1 down to `lowest`.
  CJ2K_KERNEL_FN void sum_histogram(uint32_t component, uint32_t lowest, uint32_t end) {
    constexpr uint32_t kEach = 4;
    uint64_t* const table = m_.histogram() + component * kAboveAllSlopes;
    uint64_t sum = 0;
    while (end > lowest) {
      const uint32_t above = end > kEach * t_.thread() ? end - kEach * t_.thread() : 0;
      uint64_t values[kEach], mine = 0, more = 0;
      CJ2K_UNROLL
      for (uint32_t k = 0; k < kEach; ++k) {
        values[k] = above > lowest + k ? t_.gload(table + above - 1 - k) : 0;
        mine += values[k];
      }
      uint64_t before = sum + simt::block_exclusive_add(t_, s_.wide, mine, &more);
      CJ2K_UNROLL
      for (uint32_t k = 0; k < kEach; ++k) {
        before += values[k];
        if (above > lowest + k) t_.gstore(table + above - 1 - k, before);
      }
      sum += more;
      end -= end - lowest < kEach * kRateThreads ? end - lowest : kEach * kRateThreads;
    }
    t_.sync();
  }

 private:
  /// Stable. @param shift  of the digit in the slope
  CJ2K_KERNEL_FN void sort_by_digit(const Candidate* from, Candidate* to, uint32_t count,
                                    uint32_t shift) {
    OrderSmem& s = s_.order;
    const uint32_t thread = t_.thread();
    count_digits(from, count, shift);
    for (uint32_t first = 0; first < count; first += kRateThreads) {
      for (uint32_t i = thread; i < OrderSmem::kDigits * (kRateThreads / 32); i += kRateThreads)
        t_.sstore(s.places[i / OrderSmem::kDigits][i % OrderSmem::kDigits], 0);
      t_.sync();
      const uint32_t i = first + thread;
      const bool is_there = i < count;
      Candidate candidate{};
      if (is_there) candidate = t_.gload(from + i);
      const uint32_t digit = digit_of(candidate, shift);
      const uint32_t same = same_digit(digit, is_there);
      const uint32_t before = T::popcount(same & ((1u << t_.lane()) - 1));
      if (is_there && before == 0) t_.sstore(s.places[t_.warp()][digit], T::popcount(same));
      t_.sync();
      if (thread < OrderSmem::kDigits) {
        uint32_t place = t_.sload(s.next[thread]);
        for (uint32_t w = 0; w < kRateThreads / 32; ++w) {
          const uint32_t more = t_.sload(s.places[w][thread]);
          t_.sstore(s.places[w][thread], place);
          place += more;
        }
        t_.sstore(s.next[thread], place);
      }
      t_.sync();
      if (is_there) t_.gstore(to + t_.sload(s.places[t_.warp()][digit]) + before, candidate);
      t_.sync();
    }
  }

  /// Finds where the candidates of each digit begin.
  CJ2K_KERNEL_FN void count_digits(const Candidate* from, uint32_t count, uint32_t shift) {
    OrderSmem& s = s_.order;
    const bool is_digit = t_.thread() < OrderSmem::kDigits;
    if (is_digit) t_.sstore(s.next[t_.thread()], 0);
    t_.sync();
    for (uint32_t i = t_.thread(); i < count; i += kRateThreads)
      t_.atomic_add(&s.next[digit_of(t_.gload(from + i), shift)], 1);
    t_.sync();
    const uint32_t mine = is_digit ? t_.sload(s.next[t_.thread()]) : 0;
    const uint32_t before = simt::block_exclusive_add(t_, s_.narrow, mine);
    if (is_digit) t_.sstore(s.next[t_.thread()], before);
    t_.sync();
  }

  CJ2K_KERNEL_FN static uint32_t digit_of(const Candidate& candidate, uint32_t shift) {
    return (kMaxSlope - uint32_t{candidate.slope}) >> shift & 255;
  }

  /// The lanes that are there and have the digit of this one.
  CJ2K_KERNEL_FN uint32_t same_digit(uint32_t digit, bool is_there) {
    uint32_t same = t_.ballot(is_there);
    CJ2K_UNROLL
    for (int bit = 0; bit < 8; ++bit) {
      const bool is_set = (digit >> bit & 1) != 0;
      const uint32_t set = t_.ballot(is_set);
      same &= is_set ? set : ~set;
    }
    return same;
  }

  T& t_;
  AllocateSmem& s_;
  const FrameMemory m_;
};

}  // namespace cj2k::cuda::rate
