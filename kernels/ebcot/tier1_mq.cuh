// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MQ coding, one lane per code-block: runs the coder of core/ebcot/mq.h and the segments of
// core/ebcot/segments.h on device memory.
#pragma once

#include "core/ebcot/mq.h"
#include "core/ebcot/segments.h"
#include "core/stop.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/ebcot/tier1_launch.h"
#include "kernels/ebcot/tier1_mq_step.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

/// The same value, from an instruction that ptxas does not repeat. Otherwise it reads the index of
/// the thread (S2R, some twenty cycles) and derives the address of the contexts anew for every
/// decision, whatever registers are free. Every lane must call it.
template <typename T>
CJ2K_KERNEL_FN uint32_t in_register(T& t, uint32_t value) {
  return t.shuffle(value, t.lane());
}

/// The Store of Segments in device memory.
template <typename T>
class DeviceStore {
 public:
  /// The memory for the bytes of the block.
  struct Memory {
    T* t;
    uint8_t* bytes;
    uint32_t capacity;  ///< in bytes; a multiple of 8, so a word that begins below it fits

    CJ2K_KERNEL_FN void store_word(uint32_t at, uint64_t word) const {
      if (at < capacity) t->gstore(reinterpret_cast<uint64_t*>(bytes + at), word);
    }
    CJ2K_KERNEL_FN uint64_t load_word(uint32_t at) const {
      return at < capacity ? t->gload(reinterpret_cast<const uint64_t*>(bytes + at)) : 0;
    }
  };

  /// Keeps B in a register, because a carry may still change it, and collects the bytes before B to
  /// stores of 8 bytes.
  struct Coder {
    uint32_t a, c, ct;
    uint32_t last;     ///< B; kNone before the first byte of a segment
    uint32_t written;  ///< bytes of the block so far, including B
    uint64_t word;     ///< the bytes before B that are not stored yet; the last one is the highest
    Memory memory;
    static constexpr uint32_t kNone = 0x100;

    CJ2K_KERNEL_FN uint32_t last_byte() const { return last; }
    CJ2K_KERNEL_FN void carry() { ++last; }
    CJ2K_KERNEL_FN void push(uint8_t byte) {
      if (last != kNone) commit();
      last = byte;
      ++written;
    }
    /// commit() where `b`, without a branch around it.
    CJ2K_KERNEL_FN void commit_if(bool b) {
      const auto low = static_cast<uint32_t>(word), high = static_cast<uint32_t>(word >> 32);
      const uint64_t shifted = static_cast<uint64_t>(T::byte_permute(high, last, 0x4321)) << 32 |
                               T::byte_permute(low, high, 0x4321);
      word = b ? shifted : word;
      const uint32_t at = written - 8;
      if (b & (written % 8 == 0) & (at < memory.capacity)) {
        memory.t->gstore(reinterpret_cast<uint64_t*>(memory.bytes + at), word);
      }
    }
    CJ2K_KERNEL_FN void commit() {
      word = word >> 8 | static_cast<uint64_t>(last) << 56;
      if (written % 8 == 0) memory.store_word(written - 8, word);
    }
  };

  /// Read access to the bytes of the block from `begin` on.
  struct Bytes {
    Memory memory;
    uint32_t begin;
    CJ2K_KERNEL_FN uint8_t operator[](size_t i) const {
      const uint32_t at = begin + static_cast<uint32_t>(i);
      return at < memory.capacity ? memory.t->gload(memory.bytes + at) : uint8_t{0};
    }
  };

  CJ2K_KERNEL_FN DeviceStore(T& t, const Tier1Buffers& buffers, const Tier1Job& job, uint32_t frame)
      : t_(&t),
        memory_{&t, buffers.bytes + frame * buffers.frame_bytes + job.bytes_offset,
                job.bytes_capacity} {
    first_pass_ = uint64_t{frame} * buffers.frame_passes + job.first_pass;
    buffers_ = &buffers;
  }

  CJ2K_KERNEL_FN void start(Coder& coder, uint32_t begin) const { resume(coder, begin, begin, 0); }
  CJ2K_KERNEL_FN void resume(Coder& coder, uint32_t begin, uint32_t written, uint8_t last) const {
    coder.memory = memory_;
    coder.last = written > begin ? uint32_t{last} : Coder::kNone;
    coder.written = written;
    const uint32_t stored = written > begin ? written - 1 : begin;
    coder.word = stored % 8 == 0 ? 0 : memory_.load_word(stored / 8 * 8) << (64 - stored % 8 * 8);
  }
  /// Stores the bytes before B, so that resume() finds them.
  CJ2K_KERNEL_FN void store_before_last(Coder& coder) const {
    const uint32_t stored = coder.written - (coder.last != Coder::kNone ? 1 : 0);
    const uint32_t rest = stored % 8;
    if (rest != 0) memory_.store_word(stored - rest, coder.word >> (64 - rest * 8));
  }
  CJ2K_KERNEL_FN uint32_t written(const Coder& coder) const { return coder.written; }
  /// Stores all bytes up to and including B. No byte may be pushed after this call.
  CJ2K_KERNEL_FN void store_all(Coder& coder) const {
    if (coder.last == Coder::kNone) return;
    coder.commit();
    const uint32_t rest = coder.written % 8;
    if (rest != 0) memory_.store_word(coder.written - rest, coder.word >> (64 - rest * 8));
  }
  CJ2K_KERNEL_FN Bytes segment(uint32_t begin) const { return {memory_, begin}; }

  CJ2K_KERNEL_FN void set_pass(int pass, const CodingPass& value) const {
    t_->gstore(entry(buffers_->passes, pass), value);
  }
  CJ2K_KERNEL_FN CodingPass pass(int pass) const {
    return t_->gload(entry(buffers_->passes, pass));
  }
  CJ2K_KERNEL_FN uint32_t length(int pass) const {
    return t_->gload(&entry(buffers_->passes, pass)->length_bytes);
  }
  CJ2K_KERNEL_FN void set_length(int pass, uint32_t length) const {
    t_->gstore(&entry(buffers_->passes, pass)->length_bytes, length);
  }
  CJ2K_KERNEL_FN mq::Snapshot snapshot(int pass) const {
    const Tier1Snapshot s = t_->gload(entry(buffers_->snapshots, pass));
    return {s.a, s.c, s.ct, s.bytes, static_cast<uint8_t>(s.last)};
  }
  CJ2K_KERNEL_FN void set_snapshot(int pass, const mq::Snapshot& s) const {
    t_->gstore(entry(buffers_->snapshots, pass), Tier1Snapshot{s.a, s.c, s.ct, s.bytes, s.last});
  }
  CJ2K_KERNEL_FN void set_tail(int pass, uint32_t offset, uint32_t count, uint32_t bytes) const {
    t_->gstore(entry(buffers_->tails, pass), make_tail(offset, count, bytes));
  }
  CJ2K_KERNEL_FN void copy_tail(int to, int from) const {
    t_->gstore(entry(buffers_->tails, to), t_->gload(entry(buffers_->tails, from)));
  }
  /// What modelling made of a pass.
  CJ2K_KERNEL_FN PassSymbols symbols(int pass) const {
    return t_->gload_ro(entry(buffers_->pass_symbols, pass));
  }

 private:
  /// The entry of a pass in an array with one entry per pass. Its address takes fewer registers than
  /// a pointer into each array.
  template <typename E>
  CJ2K_KERNEL_FN E* entry(E* entries, int pass) const {
    return entries + (first_pass_ + static_cast<uint64_t>(pass));
  }

  T* t_;
  Memory memory_;
  uint64_t first_pass_;
  const Tier1Buffers* buffers_;
};

/// Begins a pass, and resets the contexts where the style asks for it.
/// @return whether the pass is raw
template <typename Coder, typename Bank>
CJ2K_KERNEL_FN bool begin_pass(Coder& segments, const Bank& bank) {
  const bool raw = segments.begin_pass();
  if (segments.resets_contexts()) mq::reset_bank(bank);
  return raw;
}

/// Whether the block may pause after this plane: the same rule as in simd::encode_block.
template <typename Coder>
CJ2K_KERNEL_FN bool may_pause_now(Coder& segments, double weight, uint16_t threshold) {
  const auto& store = segments.store();
  return may_pause_after([&store](int pass) { return store.pass(pass); }, segments.num_passes(),
                         weight, threshold);
}

/// The contexts of a block that starts or resumes.
/// @param num_passes  passes coded so far
template <typename T>
CJ2K_KERNEL_FN void start_contexts(T& t, const SharedBank<T>& bank, const Tier1State* state,
                                   uint32_t num_passes) {
  if (num_passes == 0) {
    mq::reset_bank(bank);
    return;
  }
  for (unsigned i = 0; i < mq::kNumContexts; ++i) {
    bank.set_context(i, t.gload(state->contexts + i));
  }
}
template <typename T>
CJ2K_KERNEL_FN void save_contexts(T& t, const SharedBank<T>& bank, Tier1State* state) {
  for (unsigned i = 0; i < mq::kNumContexts; ++i) {
    t.gstore(state->contexts + i, bank.context(i));
  }
}

/// Tier1Job::weight of a block, which takes no registers until a lane decides on a pause.
template <typename T>
CJ2K_KERNEL_FN double weight_of(T& t, const Tier1Buffers& buffers, uint32_t block) {
  return t.gload(&buffers.job_of(block)->weight);
}

/// Codes all planes that the blocks of a list have left or, with kByPlane, one plane of the blocks
/// in that plane's list. Decides after each plane whether a block pauses.
///
/// Grid: x = maximum number of blocks / kThreads, or more if a warp takes fewer than 32. With
///   kByPlane each size has its own thread blocks, and thread blocks beyond the count on the device
///   return at once. Block: a lane per code-block, warps independent.
/// Shared bytes: 6,008: 2,816 per warp for contexts, 376 for the states.
/// Global traffic: reads the decisions once, 16 bytes per lane. Writes the codeword 8 bytes at a
///   time, and 52 bytes per pass. Reads back the last bytes of each segment, and 20 bytes per pass,
///   for the lengths. Moves the state of a block, 128 bytes, once in each direction. With a
///   threshold, reads 16 bytes for each pass so far after every plane.
/// Barriers: one, for the table. Before every 16 decisions the lanes of a warp meet by a vote, so
///   that lanes which have begun a pass code together with the others.
/// Registers: kMinBlocks limits them to 80. The two peaks are where a segment ends and where the
///   slopes of a block are computed; the loop over decisions needs some 65.
template <bool kByPlane>
struct MqCoder {
  using Params = MqParams;
  static constexpr int kThreads = 64;
  static constexpr int kMinBlocks = 12;
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
    const auto of_warp = static_cast<uint32_t>(t.warp() * sizeof(MqWarpSmem));
    const SharedBank<T> bank{&t, &smem.warps[0].contexts[0][0],
                             in_register(t, of_warp + t.lane() * 4), smem.table};
    bank.start();
    if constexpr (!kByPlane) {
      const uint32_t warp = t.block_x() * (kThreads / 32) + t.warp();
      const uint32_t entry = warp * p.blocks_per_warp + t.lane();
      uint32_t block = 0;
      bool codes = t.lane() < p.blocks_per_warp && entry < p.list.count();
      if (codes) {
        block = t.gload_ro(p.list.blocks + entry);
        codes = start_plane(t, p.buffers, p.stop, block) >= 0;
      }
      const uint32_t lanes = t.ballot(codes);
      if (codes) code_block(t, p, bank, block, lanes);
    } else {
      const uint32_t group = t.block_x(), plane = static_cast<uint32_t>(p.plane);
      const uint32_t size = group >= p.first_group_of[2] ? 2 : group >= p.first_group_of[1] ? 1 : 0;
      const uint32_t first_group = size == 0   ? 0
                                   : size == 1 ? p.first_group_of[1]
                                               : p.first_group_of[2];
      const uint32_t entry = (group - first_group) * kThreads + t.thread();
      uint32_t block = 0;
      bool goes_on = false;
      const bool codes = entry < t.gload_ro(p.to_code.counts + plane * kTier1Sizes + size);
      const uint32_t lanes = t.ballot(codes);
      if (codes) {
        block = t.gload_ro(p.to_code.blocks + uint64_t{plane} * p.to_code.stride +
                           first_of(p.to_code, size) + entry);
        goes_on = code_block(t, p, bank, block, lanes);
      }
      const uint32_t among = t.ballot(goes_on);
      if (among == 0) return;
      append(t, p.to_code, plane - 1, size, among, block);
      if (plane >= p.stop.last_plane + 2) append(t, p.to_model, plane - 2, size, among, block);
    }
  }

 private:
  /// Segments::pause, before the new head of the state is stored: the lengths from before are exact
  /// if the block paused. In tier1_mq that would take more instructions than it saves.
  template <typename T>
  CJ2K_KERNEL_FN static void pause(T& t, const Tier1State* state,
                                   Segments<DeviceStore<T>>& segments) {
    if constexpr (kByPlane) {
      StateHead before = load_head(t, state);
      if (before.paused == 0) before.open = 0;
      segments.pause(before);
    } else {
      segments.pause();
    }
  }

  /// Codes the planes of one block, as far as they are modelled. If it does not pause there, it stays
  /// open.
  /// @param lanes  those that call together
  /// @return whether the block goes on with the plane below; false without kByPlane
  template <typename T>
  CJ2K_KERNEL_FN static bool code_block(T& t, const Params& p, const SharedBank<T>& bank,
                                        uint32_t block, uint32_t lanes) {
    const uint32_t frame = block / p.buffers.num_blocks;
    const Tier1Job job = t.gload(p.buffers.job_of(block));
    Tier1State* state = p.buffers.states + block;
    StateHead head = load_head(t, state);
    const int last_plane = kByPlane ? p.plane : int{head.modelled};
    const int num_passes = num_passes_of(bit_planes(t, p.buffers, block) - last_plane);
    const uint16_t threshold = threshold_of(t, p.buffers, p.stop, block, job);

    Segments<DeviceStore<T>> segments(p.style, DeviceStore<T>(t, p.buffers, job, frame));
    segments.resume(head);
    start_contexts(t, bank, state, head.num_passes);
    const auto stops_after = [&](uint32_t plane) {
      return static_cast<int>(plane) <= last_plane_of(t, p.stop, block) ||
             (threshold != 0 && may_pause_now(segments, weight_of(t, p.buffers, block), threshold));
    };

    const uint8_t* symbols =
        p.buffers.symbols + frame * p.buffers.frame_symbols + job.symbols_offset;
    const auto symbols_of = [&segments](int of) { return segments.store().symbols(of); };
    PassSymbols pass = symbols_of(head.num_passes), after = pass;
    // Passes lie one behind the other. The next one is loaded early: a warp would wait for memory.
    const auto* from = reinterpret_cast<const simt::U32x4*>(symbols + pass.offset_bytes);
    simt::U32x4 chunk = t.gload_ro(from);
    if (segments.num_passes() + 1 < num_passes) after = symbols_of(segments.num_passes() + 1);
    uint32_t left = pass.count;  // decisions that the pass has left
    bool raw = begin_pass(segments, bank);
    bool paused = false, done = false;
    while (true) {
      while (left == 0 && !done) {
        if (segments.num_passes() + 1 == num_passes) {
          done = true;
          break;
        }
        segments.end_pass(static_cast<int>(pass.plane), pass.distortion, false);
        if (!kByPlane && pass_kind(segments.num_passes()) == PassKind::kSignificance &&
            stops_after(pass.plane)) {
          paused = done = true;
          break;
        }
        pass = after;
        if (segments.num_passes() + 1 < num_passes) after = symbols_of(segments.num_passes() + 1);
        left = pass.count;
        raw = begin_pass(segments, bank);
      }
      // Here the lanes meet, and then they code together.
      if (!t.any(!done, lanes)) break;
      if (done) continue;
      const simt::U32x4 now = chunk;
      // If no pass has decisions any more, the chunk is of the room that they did not need.
      if (left > 16 || segments.num_passes() + 1 < num_passes) chunk = t.gload_ro(++from);
      code_symbols(segments, bank, raw, now, left);
      left -= left < 16 ? left : 16;
    }
    // With one segment per block, all lengths are computed here.
    const bool finished = pass.plane == 0;
    if (!paused) segments.end_pass(static_cast<int>(pass.plane), pass.distortion, finished);
    segments.save(head);
    head.paused = 0;
    head.finished = finished;
    if (!finished) {
      save_contexts(t, bank, state);
      if (paused || stops_after(pass.plane)) {
        head.paused = 1;
        pause(t, state, segments);
      } else {
        segments.leave();
      }
    }
    head.num_bytes = segments.num_bytes();
    store_head(t, state, head);
    return head.paused == 0 && !finished;
  }
};

}  // namespace cj2k::cuda::tier1
