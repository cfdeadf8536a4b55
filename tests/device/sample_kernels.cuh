// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Kernels that use every operation of kernels/simt/kernel.h, and kernels with one planted bug each.
#pragma once

#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"
#include "tests/device/sample_kernels.h"

namespace cj2k::cuda::samples {

/// out[i] = in[i] / 2 in 16-byte accesses; in and out are 16-byte aligned, count is a multiple of
/// 4.
struct Halve {
  struct Params {
    const uint32_t* in;
    uint32_t* out;
    uint32_t count;
  };
  struct Smem {};
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 8;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t i = (t.block_x() * kThreads + t.thread()) * 4;
    if (i >= p.count) return;
    simt::U32x4 v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(p.in + i));
    v = {v.x / 2, v.y / 2, v.z / 2, v.w / 2};
    t.gstore(reinterpret_cast<simt::U32x4*>(p.out + i), v);
  }
};

/// Every warp operation on in[thread]. Result k of a thread goes to out[k * threads + thread].
template <typename V>
struct WarpCalls {
  static constexpr uint32_t kNumResults = 28;
  struct Params {
    const V* in;
    V* out;
  };
  struct Smem {};
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const V v = t.gload(p.in + t.thread());
    uint32_t k = 0;
    const auto put = [&](V result) { t.gstore(p.out + k++ * kThreads + t.thread(), result); };
    put(t.shuffle(v, 5));
    put(t.shuffle(v, (t.lane() * 7 + 3) & 31));
    put(t.shuffle_up(v, 3));
    put(t.shuffle_down(v, 4));
    put(t.shuffle_xor(v, 9));
    put(t.warp_reduce_add(v));
    put(t.warp_reduce_or(v));
    put(t.warp_reduce_xor(v));
    put(t.warp_reduce_and(v));
    put(t.warp_reduce_max(v));
    put(t.warp_reduce_min(v));
    put(t.warp_inclusive_add(v));
    put(t.warp_inclusive_or(v));
    put(t.warp_inclusive_max(v));
    put(t.warp_exclusive_add(v));
    put(t.warp_exclusive_or(v));
    put(t.warp_exclusive_max(v));
    put(t.warp_exclusive_min(v));
    put(static_cast<V>(t.ballot((v & 1) != 0)));
    put(t.any(v == 12345) ? 1 : 0);
    put(t.all(v != 12345) ? 1 : 0);
    // Two parts of the warp, separately.
    const uint32_t mask = t.lane() < 20 ? 0x000FFFFFu : 0xFFF00000u;
    V part = 0;
    if (t.lane() < 20) {
      part = t.shuffle(v, 19 - t.lane(), mask);
    } else {
      part = static_cast<V>(t.ballot((v & 2) != 0, mask));
    }
    t.sync_warp();
    put(part);
    using U = std::make_unsigned_t<V>;
    put(static_cast<V>(t.popcount(static_cast<U>(v))));
    put(static_cast<V>(t.clz(static_cast<U>(v))));
    put(static_cast<V>(t.ctz(static_cast<U>(v))));
    const auto low = static_cast<uint32_t>(v), high = t.reverse_bits(low);
    put(static_cast<V>(t.mul_high(low, high)));
    put(static_cast<V>(t.funnel_left(low, high, low & 31) ^ t.funnel_right(low, high, low & 31)));
    put(static_cast<V>(t.byte_permute(low, high, 0x3715)));
  }
};

/// The exclusive sum of in[block * threads + thread] within the block, and the block's total and
/// the bits of the values that 61 divides: few, so that not all bits are set.
struct BlockScan {
  struct Params {
    const uint32_t* in;
    uint32_t* before;
    uint32_t* totals;
    uint32_t* bits;
  };
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 4;
  struct Smem {
    simt::BlockScratch<uint32_t, kThreads> scratch;
  };
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t i = t.block_x() * kThreads + t.thread();
    const uint32_t v = t.gload(p.in + i);
    uint32_t total = 0;
    t.gstore(p.before + i, simt::block_exclusive_add(t, s.scratch, v, &total));
    const uint32_t bits = simt::block_reduce_or(t, s.scratch, v % 61 == 0 ? v : 0);
    if (t.thread() == 0) {
      t.gstore(p.totals + t.block_x(), total);
      t.gstore(p.bits + t.block_x(), bits);
    }
  }
};

/// Every thread of every block makes atomics of all kinds, in shared and in global memory.
template <typename V>
struct Atomics {
  struct Params {
    const V* in;
    /// [6] add, or, and, max, min, number of exchanges that compare-and-swap won. Must be set before
    /// the launch.
    V* out;
  };
  struct Smem {
    V sum, highest;
  };
  static constexpr int kThreads = 96;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    if (t.thread() == 0) {
      t.sstore(s.sum, 0);
      t.sstore(s.highest, 0);
    }
    t.sync();
    const V v = t.gload(p.in + t.block_x() * kThreads + t.thread());
    t.atomic_add(&s.sum, v);
    t.atomic_max(&s.highest, v);
    t.sync();
    if (t.thread() == 0) {
      t.atomic_add(p.out + 0, t.sload(s.sum));
      t.atomic_max(p.out + 3, t.sload(s.highest));
    }
    t.atomic_or(p.out + 1, v);
    t.atomic_and(p.out + 2, v);
    t.atomic_min(p.out + 4, v);
    V seen = t.atomic_load(p.out + 5);
    for (;;) {
      const V found = t.atomic_cas(p.out + 5, seen, seen + 1);
      if (found == seen) break;
      seen = found;
    }
  }
};

/// Warp 0 passes numbers to the other warps through a ring of two slots: bar.arrive and bar.sync on
/// four barriers.
struct Handover {
  struct Params {
    const uint32_t* in;  ///< [rounds][32]
    /// [threads] sums over the rounds: the lane's number times the warp's index
    uint32_t* out;
    uint32_t rounds;
  };
  struct Smem {
    uint32_t ring[2][32];
  };
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    constexpr uint32_t kFull = 1, kEmpty = 3;  // + slot
    uint32_t sum = 0;
    for (uint32_t round = 0; round < p.rounds; ++round) {
      const uint32_t slot = round & 1;
      if (t.warp() == 0) {
        if (round >= 2) t.sync_named(kEmpty + slot, kThreads);
        t.sstore(s.ring[slot][t.lane()], t.gload(p.in + round * 32 + t.lane()));
        t.arrive_named(kFull + slot, kThreads);
      } else {
        t.sync_named(kFull + slot, kThreads);
        sum += t.sload(s.ring[slot][t.lane()]) * t.warp();
        if (round + 2 < p.rounds) t.arrive_named(kEmpty + slot, kThreads);
      }
    }
    t.gstore(p.out + t.thread(), sum);
  }
};

/// The same transfer with flags that are released and acquired.
template <FlagWait kWait>
struct FlagHandover {
  struct Params {
    const uint32_t* in;  ///< [32]
    uint32_t* out;       ///< [32]
  };
  struct Smem {
    uint32_t data[32];
    uint32_t flag;
  };
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    if (t.thread() == 0) t.sstore(s.flag, 0);
    t.sync();
    if (t.warp() == 0) {
      t.sstore(s.data[t.lane()], t.gload(p.in + t.lane()));
      t.sync_warp();
      if (t.lane() == 0) {
        if constexpr (kWait == FlagWait::kRelaxed) {
          t.atomic_exchange(&s.flag, 1);
        } else {
          t.atomic_store(&s.flag, 1);
        }
      }
    } else {
      constexpr bool kEach = kWait == FlagWait::kEachLane || kWait == FlagWait::kRelaxed;
      if (kEach || t.lane() == 0) {
        while (t.atomic_load(&s.flag) == 0) t.relax();
      }
      if constexpr (kWait == FlagWait::kOneLane) t.sync_warp();
      if constexpr (kWait == FlagWait::kOneLaneNoSync) t.any(true);
      t.gstore(p.out + t.lane(), t.sload(s.data[t.lane()]));
    }
  }
};

/// Uses more than 48 KB of shared memory: reverses `count` words per block, count at most 16,384.
struct LargeSmem {
  static constexpr uint32_t kWords = 16384;
  struct Params {
    const uint32_t* in;
    uint32_t* out;
    uint32_t count;
  };
  struct Smem {
    uint32_t words[kWords];
  };
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    for (uint32_t i = t.thread(); i < p.count; i += kThreads)
      t.sstore(s.words[i], t.gload(p.in + i));
    t.sync();
    for (uint32_t i = t.thread(); i < p.count; i += kThreads)
      t.gstore(p.out + i, t.sload(s.words[p.count - 1 - i]));
  }
};

/// out[block][i] = in[block][threads - 1 - i] through shared memory. kBarrier = false: the planted
/// bug. kChecked = false: plain accesses, where only the poison and the order of threads can reveal
/// the bug.
template <bool kBarrier, bool kChecked>
struct Reverse {
  struct Params {
    const uint32_t* in;
    uint32_t* out;
  };
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 1;
  struct Smem {
    uint32_t words[kThreads];
  };
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t i = t.thread(), base = t.block_x() * kThreads;
    const uint32_t v = t.gload(p.in + base + i);
    if constexpr (kChecked) {
      t.sstore(s.words[i], v);
    } else {
      s.words[i] = v;
    }
    if constexpr (kBarrier) t.sync();
    t.gstore(p.out + base + i,
             kChecked ? t.sload(s.words[kThreads - 1 - i]) : s.words[kThreads - 1 - i]);
  }
};

/// Reads the neighbour lanes' values through shared memory.
template <Between kBetween>
struct WarpNeighbour {
  struct Params {
    uint32_t* out;
  };
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 1;
  struct Smem {
    uint32_t words[kThreads];
  };
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    t.sstore(s.words[t.thread()], t.thread() * 3);
    uint32_t nothing = 0;
    if constexpr (kBetween == Between::kSyncWarp) t.sync_warp();
    if constexpr (kBetween == Between::kShuffle) nothing = t.shuffle_xor(t.thread(), 1) / 64;
    t.gstore(p.out + t.thread(), t.sload(s.words[t.thread() ^ 1]) + nothing);
  }
};

/// out[i] = i for i < count. kCheck = false: the last block writes beyond `count`.
template <bool kCheck>
struct Iota {
  struct Params {
    uint32_t* out;
    uint32_t count;
  };
  struct Smem {};
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t i = t.block_x() * kThreads + t.thread();
    if (!kCheck || i < p.count) t.gstore(p.out + i, i);
  }
};

/// Counts the values below 16. kAtomic = false: blocks overwrite each other's counts.
template <bool kAtomic>
struct Histogram {
  struct Params {
    const uint32_t* in;
    uint32_t* counts;  ///< [16], zero before
  };
  struct Smem {
    uint32_t counts[16];
  };
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    if (t.thread() < 16) t.sstore(s.counts[t.thread()], 0);
    t.sync();
    t.atomic_add(&s.counts[t.gload(p.in + t.block_x() * kThreads + t.thread()) & 15], 1u);
    t.sync();
    if (t.thread() >= 16) return;
    const uint32_t count = t.sload(s.counts[t.thread()]);
    if constexpr (kAtomic) {
      t.atomic_add(p.counts + t.thread(), count);
    } else {
      t.gstore(p.counts + t.thread(), t.gload(p.counts + t.thread()) + count);
    }
  }
};

/// Planted bugs by number: half the threads miss a barrier (0), end before it (1), or wait at
/// another one (2); lanes of a warp end before a collective (3); lanes meet at different
/// collectives (4); some threads never reach a named barrier (5); a flag is never set (6).
struct Diverging {
  struct Params {
    uint32_t how;
    uint32_t* out;
  };
  struct Smem {
    uint32_t flag;
  };
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    if (t.thread() == 0) t.sstore(s.flag, 0);
    t.sync();
    const bool half = t.thread() % 64 < 32;
    if (p.how == 0 && half) t.sync();
    if (p.how == 1) {
      if (half) return;
      t.sync();
    }
    if (p.how == 2) {
      if (half) {
        t.sync();
      } else {
        t.sync();
      }
    }
    if (p.how == 3) {
      if (t.lane() == 7) return;
      t.gstore(p.out + t.thread(), t.shuffle(t.thread(), 0));
    }
    if (p.how == 4) {
      if (t.lane() < 16) {
        t.gstore(p.out + t.thread(), t.shuffle(t.thread(), 0));
      } else {
        t.gstore(p.out + t.thread(), t.ballot(true));
      }
    }
    if (p.how == 5 && half) t.sync_named(1, kThreads);
    if (p.how == 6) {
      while (t.atomic_load(&s.flag) == 0) t.relax();
    }
  }
};

/// To time the shim: `rounds` times a shuffle, a barrier, or only arithmetic (what = 2).
struct Spin {
  struct Params {
    uint32_t* out;
    uint32_t rounds, what;
  };
  struct Smem {};
  static constexpr int kThreads = 256;
  static constexpr int kMinBlocks = 1;
  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    uint32_t v = t.thread();
    for (uint32_t i = 0; i < p.rounds; ++i) {
      if (p.what == 0) v += t.shuffle_xor(v, 1);
      if (p.what == 1) t.sync();
      v = v * 1664525u + 1013904223u;
    }
    t.gstore(p.out + t.block_x() * kThreads + t.thread(), v);
  }
};

}  // namespace cj2k::cuda::samples
