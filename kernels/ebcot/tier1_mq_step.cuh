// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The inner loop of MQ coding: mq::encode_with of core/ebcot/mq.h with fewer instructions. The lanes
// of a warp code their own blocks in step, and nearly every decision makes some lane put out a byte.
#pragma once

#include "core/ebcot/mq.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// The contexts of the lanes of a warp. The contexts of lane l lie in bank l, so lanes do not
/// conflict. The table of states (MqCoder::Smem) is read at random, with conflicts, but only the
/// next state waits for that read; the coding interval does not. The last context is that of
/// kIdleSymbol.
struct MqWarpSmem {
  mq::State contexts[mq::kNumContexts + 1][32];
};

/// The Bank of mq.h in shared memory.
template <typename T>
struct SharedBank {
  T* t;
  mq::State* contexts;  ///< of lane 0 of the first warp
  uint32_t lane_bytes;  ///< from there to those of the lane; context i lies 128 * i bytes further
  const mq::State* table;

  CJ2K_KERNEL_FN mq::State& context_of(uint32_t bytes) const {
    return *reinterpret_cast<mq::State*>(reinterpret_cast<unsigned char*>(contexts) + bytes);
  }
  CJ2K_KERNEL_FN mq::State context(unsigned i) const {
    return t->sload(context_of(i * 128 + lane_bytes));
  }
  CJ2K_KERNEL_FN void set_context(unsigned i, mq::State state) const {
    t->sstore(context_of(i * 128 + lane_bytes), state);
  }
  CJ2K_KERNEL_FN mq::State state(unsigned number) const { return t->sload(table[number]); }
  /// Makes kIdleSymbol change nothing: a state with Qe = 0, in which the bit 0 is the MPS.
  CJ2K_KERNEL_FN void start() const { set_context(mq::kNumContexts, 0); }
};

/// BYTEOUT as in mq::byte_out. Lanes do not part.
/// @param k  DeviceStore::Coder
template <typename K>
CJ2K_KERNEL_FN void put_byte(K& k) {
  if (k.last != 0xFF) {
    k.last += k.c >> 27;
    k.c &= 0x7FFFFFF;
  }
  const uint32_t shift = k.last == 0xFF ? 20 : 19;
  const uint32_t byte = k.c >> shift;
  k.commit_if(k.last != K::kNone);
  k.last = byte;
  ++k.written;
  k.c -= byte << shift;
  k.ct = 27 - shift;
}

/// mq::encode_with of one decision. opaque() keeps the compiler from moving shifts and from testing
/// two bits where it can test their difference.
/// @param s  the decision in the lowest byte; the other bytes do not matter
template <typename T, typename K>
CJ2K_KERNEL_FN void encode_step(K& k, const SharedBank<T>& bank, uint32_t s) {
  T& t = *bank.t;
  mq::State& context = bank.context_of(T::opaque((s & 0x3E) * 64 + bank.lane_bytes));
  const mq::State state = t.sload(context);
  const uint32_t qe = state >> 16;
  const bool lps = (T::opaque(state ^ s) & 1) != 0;
  const mq::State next = bank.state(T::opaque((state >> (lps ? 1 : 8)) & 0x7F));
  const uint32_t rest = k.a - qe;
  const bool lower = (rest < qe) != lps;
  const uint32_t a = lower ? qe : rest;
  if (!lower) k.c += qe;
  uint32_t shift = T::clz(a) - 16;
  if (shift != 0) t.sstore(context, next);
  k.a = a << shift;
  while (shift >= k.ct) {
    k.c <<= k.ct;
    shift -= k.ct;
    put_byte(k);
  }
  k.c <<= shift;
  k.ct -= shift;
}

/// Codes the decisions of a chunk.
/// @param chunk  16 decisions, one byte each; behind the last one of a pass, kIdleSymbol
/// @param left   decisions that the pass has left; with `raw`, the first min(left, 16) are coded
template <typename T, typename Coder>
CJ2K_KERNEL_FN void code_symbols(Coder& segments, const SharedBank<T>& bank, bool raw,
                                 simt::U32x4 chunk, uint32_t left) {
  const uint32_t count = left < 16 ? left : 16;
  for (uint32_t i = 0; i < 16; i += 4) {
    if (raw) {
      for (uint32_t j = 0; j < 4; ++j) {
        if (i + j < count) segments.raw_bit(chunk.x >> 8 * j & 1);
      }
    } else {
      CJ2K_UNROLL
      for (uint32_t j = 0; j < 4; ++j) {
        encode_step(segments.registers(), bank, chunk.x);
        chunk.x = T::opaque(chunk.x >> 8);
      }
    }
    chunk.x = chunk.y;
    chunk.y = chunk.z;
    chunk.z = chunk.w;
  }
}

}  // namespace cj2k::cuda::tier1
