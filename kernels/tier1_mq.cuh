// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MQ coding, one lane per code-block: the coder of core/mq.h and the segments of core/segments.h
// over device memory.
#pragma once

#include "simt/kernel.h"

#include "core/mq.h"
#include "core/segments.h"
#include "tier1.h"

namespace cj2k::cuda::tier1 {

/// Contexts of a warp's lanes, and the states of all contexts. Lane l's contexts are in bank l; the
/// table is read at random, but only its result waits for that, not the interval.
struct MqWarpSmem {
  mq::State contexts[mq::kNumContexts][32];
};

/// mq's Bank in shared memory.
template <typename T>
struct SharedBank {
  T* t;
  mq::State* contexts;  ///< of the lane, 32 apart
  const mq::State* table;

  CJ2K_KERNEL_FN mq::State context(unsigned i) const { return t->sload(contexts[i * 32]); }
  CJ2K_KERNEL_FN void set_context(unsigned i, mq::State state) const {
    t->sstore(contexts[i * 32], state);
  }
  CJ2K_KERNEL_FN mq::State state(unsigned number) const { return t->sload(table[number]); }
};

/// A Segments' store in device memory.
template <typename T>
class DeviceStore {
 public:
  /// The block's bytes.
  struct Memory {
    T* t;
    uint8_t* bytes;
    uint32_t capacity;  ///< a multiple of 8: a word that begins below it ends there

    CJ2K_KERNEL_FN void store_word(uint32_t at, uint64_t word) const {
      if (at < capacity) t->gstore(reinterpret_cast<uint64_t*>(bytes + at), word);
    }
    CJ2K_KERNEL_FN uint64_t load_word(uint32_t at) const {
      return at < capacity ? t->gload(reinterpret_cast<const uint64_t*>(bytes + at)) : 0;
    }
  };

  /// B in a register, since a carry may still reach it; what came before it collected to 8 bytes.
  struct Coder {
    uint32_t a, c, ct;
    uint32_t last;     ///< B; kNone before the first byte of a segment
    uint32_t written;  ///< of the block, B included
    uint64_t word;     ///< the bytes before B that are not stored, highest last
    Memory memory;
    static constexpr uint32_t kNone = 0x100;

    CJ2K_KERNEL_FN uint32_t last_byte() const { return last; }
    CJ2K_KERNEL_FN void carry() { ++last; }
    CJ2K_KERNEL_FN void push(uint8_t byte) {
      if (last != kNone) commit();
      last = byte;
      ++written;
    }
    CJ2K_KERNEL_FN void commit() {
      word = word >> 8 | static_cast<uint64_t>(last) << 56;
      if (written % 8 == 0) memory.store_word(written - 8, word);
    }
  };

  /// Bytes that can be read: from `begin` on.
  struct Bytes {
    Memory memory;
    uint32_t begin;
    CJ2K_KERNEL_FN uint8_t operator[](size_t i) const {
      const uint32_t at = begin + static_cast<uint32_t>(i);
      return at < memory.capacity ? memory.t->gload(memory.bytes + at) : uint8_t{0};
    }
  };

  CJ2K_KERNEL_FN DeviceStore(T& t, const Tier1Buffers& buffers, const Tier1Job& job)
      : t_(&t),
        memory_{&t, buffers.bytes + job.bytes_offset, job.bytes_capacity},
        passes_(buffers.passes + job.first_pass),
        tails_(buffers.tails == nullptr ? nullptr : buffers.tails + job.first_pass),
        snapshots_(buffers.snapshots + job.first_pass) {}

  CJ2K_KERNEL_FN void start(Coder& coder, uint32_t begin) const {
    coder.memory = memory_;
    coder.last = Coder::kNone;
    coder.written = begin;
    coder.word = 0;
    if (begin % 8 != 0) coder.word = memory_.load_word(begin / 8 * 8) << (64 - begin % 8 * 8);
  }
  CJ2K_KERNEL_FN uint32_t written(const Coder& coder) const { return coder.written; }
  /// Stores B and what is not a whole word yet; nothing may be pushed after that.
  CJ2K_KERNEL_FN void settle(Coder& coder) const {
    if (coder.last == Coder::kNone) return;
    coder.commit();
    const uint32_t rest = coder.written % 8;
    if (rest != 0) memory_.store_word(coder.written - rest, coder.word >> (64 - rest * 8));
  }
  CJ2K_KERNEL_FN Bytes segment(uint32_t begin) const { return {memory_, begin}; }

  CJ2K_KERNEL_FN void set_pass(int pass, const CodingPass& value) const {
    t_->gstore(passes_ + pass, value);
  }
  CJ2K_KERNEL_FN uint32_t length(int pass) const { return t_->gload(&passes_[pass].length_bytes); }
  CJ2K_KERNEL_FN void set_length(int pass, uint32_t length) const {
    t_->gstore(&passes_[pass].length_bytes, length);
  }
  CJ2K_KERNEL_FN mq::Snapshot snapshot(int pass) const {
    const Tier1Snapshot s = t_->gload(snapshots_ + pass);
    return {s.a, s.c, s.ct, s.bytes, static_cast<uint8_t>(s.last)};
  }
  CJ2K_KERNEL_FN void set_snapshot(int pass, const mq::Snapshot& s) const {
    t_->gstore(snapshots_ + pass, Tier1Snapshot{s.a, s.c, s.ct, s.bytes, s.last});
  }
  CJ2K_KERNEL_FN void set_tail(int pass, uint32_t offset, uint32_t count, uint32_t bytes) const {
    t_->gstore(tails_ + pass, make_tail(offset, count, bytes));
  }
  CJ2K_KERNEL_FN void copy_tail(int to, int from) const {
    t_->gstore(tails_ + to, t_->gload(tails_ + from));
  }

 private:
  T* t_;
  Memory memory_;
  CodingPass* passes_;
  PassTail* tails_;
  Tier1Snapshot* snapshots_;
};

/// Codes all passes of the blocks of a list.
///
/// Grid: x = blocks / kThreads. Block: a lane per code-block, warps independent.
/// Shared bytes: 2,688 a warp for contexts, 376 for the states: 5,752.
/// Global traffic: reads the decisions once, 16 bytes a lane; writes bytes 8 at a time and 48 bytes
///   a pass; reads back the last bytes of a segment, and 20 bytes a pass, for the lengths.
/// Barriers: one, for the table. Each lane takes its own way from pass to pass, so that lanes wait
///   for each other over the whole block only, not over every pass.
/// Not tuned: no GPU at hand when it was written.
struct MqCoder {
  struct Params {
    Tier1Buffers buffers;
    Tier1List list;
    uint32_t style;
    mq::StateTable states;
  };
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 8;
  struct Smem {
    mq::State table[94];
    MqWarpSmem warps[kThreads / 32];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& smem, const Params& p) {
    for (uint32_t i = t.thread(); i < 94; i += kThreads) {
      t.sstore(smem.table[i], p.states.states[i]);
    }
    t.sync();
    const uint32_t entry = t.block_x() * kThreads + t.thread();
    if (entry >= p.list.count) return;
    const uint32_t index = t.gload_ro(p.list.indices + entry);
    const Tier1Job job = t.gload(p.buffers.jobs + index);
    const SharedBank<T> bank{&t, &smem.warps[t.warp()].contexts[0][t.lane()], smem.table};
    Segments<DeviceStore<T>> segments(p.style, DeviceStore<T>(t, p.buffers, job));
    const int num_passes = static_cast<int>(tier1_passes(job.bit_planes));

    mq::reset_bank(bank);
    PassSymbols pass{};
    bool raw = false;
    uint32_t left = 0;  // decisions of the pass
    const simt::U32x4* from = nullptr;
    for (int next = 0; left > 0 || next < num_passes;) {
      if (left == 0) {
        if (next > 0) segments.end_pass(static_cast<int>(pass.plane), pass.distortion, false);
        pass = t.gload_ro(p.buffers.pass_symbols + job.first_pass + next);
        from = reinterpret_cast<const simt::U32x4*>(p.buffers.symbols + job.symbols_bytes +
                                                    pass.offset_bytes);
        left = pass.count;
        raw = segments.begin_pass();
        if (segments.resets_contexts()) mq::reset_bank(bank);
        ++next;
      }
      // A pass without decisions reads nothing.
      if (left == 0) continue;
      code(segments, bank, raw, t.gload_ro(from++), left);
      left -= left < 16 ? left : 16;
    }
    // Here lanes are together again: with one segment, this is where all lengths are found.
    if (num_passes > 0) {
      segments.end_pass(static_cast<int>(pass.plane), pass.distortion, true);
    }
    t.gstore(p.buffers.num_bytes + index, segments.num_bytes());
  }

 private:
  /// The first `left` of 16 decisions.
  template <typename Coder, typename Bank>
  CJ2K_KERNEL_FN static void code(Coder& segments, const Bank& bank, bool raw, simt::U32x4 chunk,
                                  uint32_t left) {
    const uint32_t count = left < 16 ? left : 16;
    for (uint32_t i = 0; i < count; ++i) {
      const auto symbol = static_cast<mq::Symbol>(chunk.x & 0xFF);
      if (raw) {
        segments.raw_bit(symbol & 1);
      } else {
        mq::encode_with(segments.registers(), bank, symbol);
      }
      // The next to the lowest byte: of 4 a word, of 16 the chunk.
      chunk.x >>= 8;
      if (i % 4 == 3) {
        chunk.x = chunk.y;
        chunk.y = chunk.z;
        chunk.z = chunk.w;
      }
    }
  }
};

}  // namespace cj2k::cuda::tier1
