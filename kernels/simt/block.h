// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Reductions and scans over a thread block. All threads of the block must call. Each function has
// two barriers, so the scratch can be used again at once.
#pragma once

#include "kernels/simt/kernel.h"

namespace cj2k::simt {

/// Scratch of these functions: a member of the kernel's Smem.
template <typename V, int kThreads>
struct BlockScratch {
  V totals[kThreads / 32];
};

/// Combines the values of all threads by `o`. All threads get the result.
template <typename T, typename V, int kThreads, typename Op>
CJ2K_KERNEL_FN V block_reduce(T& t, BlockScratch<V, kThreads>& scratch,
                              std::type_identity_t<V> value, Op o) {
  constexpr int kWarps = kThreads / 32;
  const V warp_total = t.warp_reduce(value, o);
  if (t.lane() == 0) t.sstore(scratch.totals[t.warp()], warp_total);
  t.sync();
  V total = t.sload(scratch.totals[0]);
  if constexpr (kWarps == 32) {
    total = t.warp_reduce(t.sload(scratch.totals[t.lane()]), o);
  } else {
    CJ2K_UNROLL
    for (int i = 1; i < kWarps; ++i) total = Op::apply(total, t.sload(scratch.totals[i]));
  }
  t.sync();
  return total;
}

/// Combines the values of the threads before this one by `o`.
/// @param total  if not null: set to the combination of all values
template <typename T, typename V, int kThreads, typename Op>
CJ2K_KERNEL_FN V block_exclusive_scan(T& t, BlockScratch<V, kThreads>& scratch,
                                      std::type_identity_t<V> value, Op o, V* total = nullptr) {
  constexpr int kWarps = kThreads / 32;
  const V inclusive = t.warp_inclusive_scan(value, o);
  if (t.lane() == 31) t.sstore(scratch.totals[t.warp()], inclusive);
  const V before = t.shuffle_up(inclusive, 1);
  t.sync();
  V sum = Op::template identity<V>();
  V warps_before = sum;
  if constexpr (kWarps == 32) {
    const V warps = t.warp_inclusive_scan(t.sload(scratch.totals[t.lane()]), o);
    sum = t.shuffle(warps, 31);
    const V up_to = t.shuffle(warps, (t.warp() + 31) % 32);
    if (t.warp() > 0) warps_before = up_to;
  } else {
    CJ2K_UNROLL
    for (int i = 0; i < kWarps; ++i) {
      if (static_cast<uint32_t>(i) == t.warp()) warps_before = sum;
      sum = Op::apply(sum, t.sload(scratch.totals[i]));
    }
  }
  if (total != nullptr) *total = sum;
  t.sync();
  return t.lane() == 0 ? warps_before : Op::apply(warps_before, before);
}

template <typename T, typename V, int kThreads>
CJ2K_KERNEL_FN V block_reduce_add(T& t, BlockScratch<V, kThreads>& scratch,
                                  std::type_identity_t<V> value) {
  return block_reduce(t, scratch, value, op::Add{});
}
template <typename T, typename V, int kThreads>
CJ2K_KERNEL_FN V block_reduce_or(T& t, BlockScratch<V, kThreads>& scratch,
                                 std::type_identity_t<V> value) {
  return block_reduce(t, scratch, value, op::Or{});
}
template <typename T, typename V, int kThreads>
CJ2K_KERNEL_FN V block_exclusive_add(T& t, BlockScratch<V, kThreads>& scratch,
                                     std::type_identity_t<V> value, V* total = nullptr) {
  return block_exclusive_scan(t, scratch, value, op::Add{}, total);
}

}  // namespace cj2k::simt
