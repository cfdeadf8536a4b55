// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From symbols to bytes for a whole code-block: codeword segments, their terminations, and the
// length of every pass (T.800 D.4 to D.6). Context modelling hands over one pass after the other;
// it need not know about segments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/codeword_segment.h"
#include "core/ebcot/coding_passes.h"
#include "core/ebcot/mq.h"
#include "core/hd.h"

namespace cj2k {

/// A block coder between two planes: all that it takes to go on, as plain data. What was already
/// said of the block (Tier1Output) is final but for the last bytes and the lengths of the passes in
/// the open segment, which are those of a segment that ends here.
struct SavedCoder {
  uint32_t a, c, ct;
  uint32_t bytes_written;  ///< of the block, up to and with B
  uint32_t closed_bytes;   ///< of closed segments
  uint8_t last;            ///< B
  bool open;  ///< a segment is open: it began after `closed_bytes`, with pass `first_pass`
  uint8_t first_pass, num_passes;
  mq::State contexts[mq::kNumContexts];
  mq::Snapshot snapshots[kMaxPasses];  ///< [first_pass, num_passes); what lies beyond num_passes
                                       ///< need not be kept
};
/// Bytes of a SavedCoder that must be kept.
inline size_t saved_bytes(int num_passes) {
  return offsetof(SavedCoder, snapshots) + static_cast<size_t>(num_passes) * sizeof(mq::Snapshot);
}

/// A copy of a coder that is terminated to see what the end would be: B and what comes after it, 4
/// bytes at most.
struct TailCoder {
  uint32_t a, c, ct;
  uint32_t bytes;  ///< the first lowest
  uint32_t count;

  CJ2K_HD constexpr uint32_t last_byte() const {
    return count > 0 ? bytes >> (8 * count - 8) & 0xFF : 0;
  }
  CJ2K_HD constexpr void carry() { bytes += 1u << (8 * count - 8); }
  CJ2K_HD constexpr void push(uint8_t byte) { bytes |= static_cast<uint32_t>(byte) << 8 * count++; }
};

/// Segments and lengths of the passes of one block, in order: begin_pass, the decisions, end_pass.
/// The decisions go through mq::encode_with(registers(), bank) or, in a raw pass, raw_bit().
///
/// `Store` keeps the block's passes and bytes; HostStore (stages/ebcot/segment_coder.h) is one. Its
/// Coder is a coder of mq.h that counts.
template <typename Store>
class Segments {
 public:
  CJ2K_HD constexpr Segments(uint32_t style, const Store& store) : style_(style), store_(store) {}

  /// @return whether the pass is raw. The contexts are reset by the caller when resets_contexts().
  CJ2K_HD constexpr bool begin_pass() {
    if (!open_) begin_segment(pass_is_raw(style_, num_passes_), num_passes_);
    return raw_;
  }
  CJ2K_HD constexpr bool resets_contexts() const {
    return !raw_ && (style_ & CJ2K_STYLE_RESET) != 0;
  }
  CJ2K_HD constexpr typename Store::Coder& registers() { return coder_; }

  /// A bit after 0xFF is stuffed: the next byte has 7 (D.6). C holds the byte, CT its free bits.
  CJ2K_HD constexpr void raw_bit(uint32_t bit) {
    --coder_.ct;
    coder_.c |= bit << coder_.ct;
    if (coder_.ct == 0) {
      coder_.push(static_cast<uint8_t>(coder_.c));
      coder_.ct = coder_.c == 0xFF ? 7 : 8;
      coder_.c = 0;
    }
  }

  CJ2K_HD constexpr void end_pass(int plane, int64_t distortion, bool last_of_block) {
    const int pass = num_passes_++;
    store_.set_pass(pass, CodingPass{0, static_cast<uint8_t>(plane), distortion});
    if (last_of_block || pass_terminates(style_, pass)) {
      end_segment(pass);
    } else {
      note_truncation(pass);
    }
  }

  CJ2K_HD constexpr int num_passes() const { return num_passes_; }
  CJ2K_HD constexpr uint32_t num_bytes() const { return num_bytes_; }
  CJ2K_HD constexpr Store& store() { return store_; }

  /// The registers between two planes; the Store's part (contexts, snapshots) is the caller's.
  /// `Saved` has the members of SavedCoder up to num_passes.
  template <typename Saved>
  CJ2K_HD constexpr void save(Saved& saved) const {
    saved.a = coder_.a;
    saved.c = coder_.c;
    saved.ct = coder_.ct;
    saved.bytes_written = open_ ? num_bytes_ + bytes_so_far() : num_bytes_;
    saved.closed_bytes = num_bytes_;
    saved.last = open_ ? static_cast<uint8_t>(coder_.last_byte()) : uint8_t{0};
    saved.open = open_;
    saved.first_pass = static_cast<uint8_t>(first_pass_);
    saved.num_passes = static_cast<uint8_t>(num_passes_);
  }
  template <typename Saved>
  CJ2K_HD constexpr void restore(const Saved& saved) {
    open_ = saved.open;
    first_pass_ = saved.first_pass;
    num_passes_ = saved.num_passes;
    num_bytes_ = saved.closed_bytes;
    if (open_) {
      store_.resume(coder_, saved.closed_bytes, saved.bytes_written, saved.last);
      coder_.a = saved.a;
      coder_.c = saved.c;
      coder_.ct = saved.ct;
    }
  }
  /// Leaves the bytes where restore finds them, without an end.
  CJ2K_HD constexpr void suspend() {
    if (open_) store_.suspend(coder_);
  }
  /// Ends the output here for now, after a clean-up pass, which is never raw.
  CJ2K_HD constexpr void pause() {
    if (!open_) return;
    if (style_ & CJ2K_STYLE_PTERM) {
      num_bytes_ += bytes_so_far();  // every pass brings its own tail
      store_.settle(coder_);
    } else {
      end_segment(num_passes_ - 1);
    }
  }
  /// Ends a block whose last end_pass has not said that it is the last.
  CJ2K_HD constexpr void finish() {
    if (open_) end_segment(num_passes_ - 1);
  }

 private:
  CJ2K_HD constexpr uint32_t bytes_so_far() const { return store_.written(coder_) - num_bytes_; }

  CJ2K_HD constexpr void begin_segment(bool raw, int pass) {
    open_ = true;
    raw_ = raw;
    first_pass_ = pass;
    store_.start(coder_, num_bytes_);
    if (raw) {
      coder_.c = 0;
      coder_.ct = 8;
    } else {
      mq::start_registers(coder_);
    }
  }

  /// Nothing of the byte begun need be sent. After 0xFF a decoder that checks the ending (PTERM)
  /// looks for the stuffed bit, and the pattern behind it.
  CJ2K_HD constexpr bool raw_byte_is_empty() const {
    if (coder_.last_byte() == 0xFF) return coder_.ct == 7 && (style_ & CJ2K_STYLE_PTERM) == 0;
    return coder_.ct == 8;
  }
  /// The byte begun, padded with 0101.. (D.6): so a segment never ends in 0xFF.
  CJ2K_HD constexpr uint8_t raw_final_byte() const {
    return static_cast<uint8_t>(coder_.c | 0x55u >> (8 - coder_.ct));
  }
  /// Bytes of the raw segment so far when it ends here with what is in whole bytes: no 0xFF at the
  /// end.
  CJ2K_HD constexpr uint32_t raw_whole_bytes() const {
    return bytes_so_far() - (coder_.last_byte() == 0xFF ? 1u : 0u);
  }

  CJ2K_HD constexpr void note_truncation(int pass) {
    if (raw_) {
      const bool padded = !raw_byte_is_empty();
      const uint32_t offset = num_bytes_ + (padded ? bytes_so_far() : raw_whole_bytes());
      const uint32_t length = offset + (padded ? 1u : 0u);
      store_.set_length(pass, length);
      if (style_ & CJ2K_STYLE_PTERM)
        store_.set_tail(pass, offset, padded ? 1u : 0u, padded ? raw_final_byte() : 0u);
      return;
    }
    if (style_ & CJ2K_STYLE_PTERM) {
      note_predictable_tail(pass);
    } else {
      const mq::Snapshot snapshot = take_snapshot();
      store_.set_snapshot(pass, snapshot);
      // Not exact before the segment is finished; near enough to decide when to stop.
      store_.set_length(pass, num_bytes_ + snapshot.bytes);
    }
  }

  CJ2K_HD constexpr mq::Snapshot take_snapshot() const {
    const uint32_t bytes = bytes_so_far();
    return {coder_.a, coder_.c, coder_.ct, bytes,
            bytes == 0 ? uint8_t{0} : static_cast<uint8_t>(coder_.last_byte())};
  }

  // What the segment's end would be if it were cut here. B may still change, so it is part of that.
  CJ2K_HD constexpr void note_predictable_tail(int pass) {
    const uint32_t written = bytes_so_far();
    const uint32_t kept = written > 0 ? 1 : 0;
    TailCoder tail{coder_.a, coder_.c, coder_.ct, kept != 0 ? coder_.last_byte() : 0u, kept};
    mq::flush_registers_predictable(tail);
    const uint32_t count = tail.count - (tail.last_byte() == 0xFF ? 1u : 0u);
    const uint32_t offset = num_bytes_ + written - kept;
    store_.set_tail(pass, offset, count, tail.bytes);
    store_.set_length(pass, offset + count);
  }

  CJ2K_HD constexpr void end_segment(int pass) {
    const uint32_t begin = num_bytes_;
    uint32_t bytes = 0;
    if (raw_) {
      if (raw_byte_is_empty()) {
        bytes = raw_whole_bytes();
      } else {
        bytes = bytes_so_far() + 1;
        coder_.push(raw_final_byte());
      }
      store_.settle(coder_);
    } else if (style_ & CJ2K_STYLE_PTERM) {
      mq::flush_registers_predictable(coder_);
      bytes = bytes_so_far() - (bytes_so_far() > 0 && coder_.last_byte() == 0xFF ? 1u : 0u);
      store_.settle(coder_);
    } else {
      store_.set_snapshot(pass, take_snapshot());
      mq::flush_registers(coder_);
      store_.settle(coder_);
      const auto segment = store_.segment(begin);
      size_t flushed = bytes_so_far();
      while (flushed > 0 && segment[flushed - 1] == 0xFF) --flushed;
      for (int i = first_pass_; i <= pass; ++i) {
        bytes = static_cast<uint32_t>(mq::shortest_prefix(store_.snapshot(i), segment, flushed));
        store_.set_length(i, begin + bytes);
      }
    }
    store_.set_length(pass, begin + bytes);
    if (pass > first_pass_) order_lengths(pass, begin);
    num_bytes_ += bytes;
    open_ = false;
  }

  // What decodes a later pass decodes the earlier ones of its segment too. So does a PTERM tail:
  // one that is longer than the ending after it (only a few symbols came between) gives way to
  // that. So does one under which the bytes that go on have an 0xFF: a layer may cut there, and
  // what a packet holds of a block must not end in 0xFF (a marker could come of it). Raw bits are
  // continued by ones, so there an 0xFF need not be sent.
  CJ2K_HD constexpr void order_lengths(int pass, uint32_t begin) {
    const auto block = store_.segment(0);
    uint32_t later = store_.length(pass);
    for (int i = pass; i > first_pass_; --i) {
      uint32_t length = store_.length(i - 1);
      const uint32_t before = length;
      if (raw_ && !(style_ & CJ2K_STYLE_PTERM)) {
        while (length > begin && block[length - 1] == 0xFF) --length;
      }
      if (length > later || (length != begin && block[length - 1] == 0xFF)) {
        length = later;
        if (style_ & CJ2K_STYLE_PTERM) {
          if (i == pass) {
            store_.set_tail(i - 1, 0, 0, 0);
          } else {
            store_.copy_tail(i - 1, i);
          }
        }
      }
      if (length != before) store_.set_length(i - 1, length);
      later = length;
    }
  }

  uint32_t style_;
  Store store_;
  bool open_ = false;
  bool raw_ = false;
  int first_pass_ = 0;
  int num_passes_ = 0;
  uint32_t num_bytes_ = 0;  ///< of closed segments
  typename Store::Coder coder_{};
};

/// The tail of a pass from up to 4 bytes, the first lowest.
CJ2K_HD constexpr PassTail make_tail(uint32_t offset, uint32_t count, uint32_t bytes) {
  PassTail tail{offset, static_cast<uint8_t>(count), {}};
  for (uint32_t i = 0; i < 4; ++i)
    tail.bytes[i] = static_cast<uint8_t>(i < count ? bytes >> 8 * i : 0);
  return tail;
}

}  // namespace cj2k
