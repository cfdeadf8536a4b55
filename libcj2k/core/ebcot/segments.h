// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The bytes of a whole code-block from its decisions: codeword segments, their terminations, and
// the truncation length of every pass (T.800 D.4 to D.6). Context modelling hands over the passes
// in order and knows nothing of segments.
//
// Verbs:
//   save    copy the registers to a SavedCoder, between two planes
//   resume  load them again and continue the open segment
//   pause   end the block's bytes here for now, so that all passes so far have their lengths. A
//           coder that was saved before the pause can resume as if there had been none
//   leave   store the bytes and leave the segment open
//   finish  end the last segment when all planes are coded
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/codeword_segment.h"
#include "core/ebcot/coding_passes.h"
#include "core/ebcot/mq.h"
#include "core/hd.h"

namespace cj2k {

/// The state of a block coder between two planes: all that is needed to resume, as plain data. The
/// results so far (Tier1Output) are final, except the last bytes and the lengths of the passes in
/// the open segment. Those are the bytes and lengths of a segment that ends at the pause.
struct SavedCoder {
  uint32_t a, c, ct;
  uint32_t bytes_written;  ///< bytes of the block, up to and with B
  uint32_t closed_bytes;   ///< bytes of the block in closed segments
  uint8_t last;            ///< B
  bool open;  ///< a segment is open; it begins at byte `closed_bytes`, with pass `first_pass`
  uint8_t first_pass, num_passes;
  mq::State contexts[mq::kNumContexts];
  /// Entries [first_pass, num_passes) are used. Entries from num_passes on need not be kept.
  mq::Snapshot snapshots[kMaxPasses];
};
/// The open segment of a SavedCoder.
struct SavedSegment {
  uint32_t bytes_written, closed_bytes;
  bool open;
  uint8_t first_pass;
};
/// Bytes of a SavedCoder that must be kept, from its start.
inline size_t saved_bytes(int num_passes) {
  return offsetof(SavedCoder, snapshots) + static_cast<size_t>(num_passes) * sizeof(mq::Snapshot);
}

/// A copy of a coder that is terminated to see what the ending would be. It holds B and the bytes
/// after it, 4 bytes at most.
struct TailCoder {
  uint32_t a, c, ct;
  uint32_t bytes;  ///< the first byte in the lowest bits
  uint32_t count;  ///< 0 .. 4

  CJ2K_HD constexpr uint32_t last_byte() const {
    return count > 0 ? bytes >> (8 * count - 8) & 0xFF : 0;
  }
  CJ2K_HD constexpr void carry() { bytes += 1u << (8 * count - 8); }
  CJ2K_HD constexpr void push(uint8_t byte) { bytes |= static_cast<uint32_t>(byte) << 8 * count++; }
};

/// Makes the segments of one block and the lengths of its passes. For each pass, in order:
/// begin_pass, the decisions, end_pass. The decisions go to mq::encode_with(registers(), bank) or,
/// in a raw pass, to raw_bit().
///
/// `Store` keeps the block's bytes, passes, snapshots and tails. HostStore
/// (coders/ebcot/segment_coder.h) documents its functions. Store::Coder is a coder of mq.h whose
/// bytes the Store can count.
template <typename Store>
class Segments {
 public:
  CJ2K_HD constexpr Segments(uint32_t style, const Store& store) : style_(style), store_(store) {}

  /// @return whether the pass is raw. The caller resets the contexts if resets_contexts().
  CJ2K_HD constexpr bool begin_pass() {
    if (!open_) begin_segment(pass_is_raw(style_, num_passes_), num_passes_);
    return raw_;
  }
  CJ2K_HD constexpr bool resets_contexts() const {
    return !raw_ && (style_ & CJ2K_STYLE_RESET) != 0;
  }
  CJ2K_HD constexpr typename Store::Coder& registers() { return coder_; }

  /// Codes one bit of a raw pass. After an 0xFF a bit is stuffed, so the next byte has 7 bits
  /// (D.6). C holds the byte that is being filled, CT the number of its free bits.
  CJ2K_HD constexpr void raw_bit(uint32_t bit) {
    --coder_.ct;
    coder_.c |= bit << coder_.ct;
    if (coder_.ct == 0) {
      coder_.push(static_cast<uint8_t>(coder_.c));
      coder_.ct = coder_.c == 0xFF ? 7 : 8;
      coder_.c = 0;
    }
  }

  /// @param last_of_block  the pass is the last one of plane 0
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

  /// Copies the registers, between two planes. The caller copies the contexts and the snapshots.
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
  /// Continues where `saved` was filled in. The Store must hold the bytes up to
  /// saved.bytes_written.
  template <typename Saved>
  CJ2K_HD constexpr void resume(const Saved& saved) {
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
  /// Stores the bytes so that resume finds them, and leaves the segment open: the lengths of its
  /// passes are not known yet.
  CJ2K_HD constexpr void leave() {
    if (open_) store_.store_before_last(coder_);
  }
  /// Ends the block's bytes here for now, after a clean-up pass (which is never raw). To resume
  /// later, save first.
  /// `Saved` has the members of SavedSegment.
  /// @param before  what was saved at the pause before, from which the block has resumed. The lengths
  ///                that it left are final where they depend on no byte after it, so that many pauses
  ///                of a block compute each length a few times only. Zeros: none
  template <typename Saved>
  CJ2K_HD constexpr void pause(const Saved& before) {
    if (!open_) return;
    if (style_ & CJ2K_STYLE_PTERM) {
      num_bytes_ += bytes_so_far();  // every pass has its own tail
      store_.store_all(coder_);
    } else {
      const bool is_same =
          before.open && before.closed_bytes == num_bytes_ && before.first_pass == first_pass_;
      end_segment(num_passes_ - 1, is_same ? before.bytes_written - before.closed_bytes : 0);
    }
  }
  CJ2K_HD constexpr void pause() { pause(SavedSegment{}); }
  /// Ends a block whose last end_pass was called with last_of_block = false.
  CJ2K_HD constexpr void finish() {
    if (open_) end_segment(num_passes_ - 1);
  }

 private:
  /// Bytes of the open segment, B included.
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

  /// Whether the byte that is being filled need not be sent: it has no bits yet. After 0xFF with
  /// PTERM it is sent all the same, because a decoder that checks the ending looks for the stuffed
  /// bit and the padding pattern after it.
  CJ2K_HD constexpr bool raw_byte_is_empty() const {
    if (coder_.last_byte() == 0xFF) return coder_.ct == 7 && (style_ & CJ2K_STYLE_PTERM) == 0;
    return coder_.ct == 8;
  }
  /// The byte that is being filled, padded with 0101.. (D.6), so that a segment never ends in 0xFF.
  CJ2K_HD constexpr uint8_t raw_final_byte() const {
    return static_cast<uint8_t>(coder_.c | 0x55u >> (8 - coder_.ct));
  }
  /// Bytes of the raw segment if it ends here with its whole bytes, without a final 0xFF.
  CJ2K_HD constexpr uint32_t raw_whole_bytes() const {
    return bytes_so_far() - (coder_.last_byte() == 0xFF ? 1u : 0u);
  }

  /// Notes the length of a pass that does not end its segment, or what is needed to find it later.
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
      // end_segment replaces this by the exact length. It is close enough to decide about a pause.
      store_.set_length(pass, num_bytes_ + snapshot.bytes);
    }
  }

  CJ2K_HD constexpr mq::Snapshot take_snapshot() const {
    const uint32_t bytes = bytes_so_far();
    return {coder_.a, coder_.c, coder_.ct, bytes,
            bytes == 0 ? uint8_t{0} : static_cast<uint8_t>(coder_.last_byte())};
  }

  // What the ending of the segment would be if it were cut here. B may still change by a carry, so
  // it is part of the tail.
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

  /// @param known  bytes of the segment, B included, when the lengths of its passes were last computed
  CJ2K_HD constexpr void end_segment(int pass, uint32_t known = 0) {
    const uint32_t begin = num_bytes_;
    uint32_t bytes = 0;
    int first = first_pass_;  // of the passes whose lengths may change
    if (raw_) {
      if (raw_byte_is_empty()) {
        bytes = raw_whole_bytes();
      } else {
        bytes = bytes_so_far() + 1;
        coder_.push(raw_final_byte());
      }
      store_.store_all(coder_);
    } else if (style_ & CJ2K_STYLE_PTERM) {
      mq::flush_registers_predictable(coder_);
      bytes = bytes_so_far() - (bytes_so_far() > 0 && coder_.last_byte() == 0xFF ? 1u : 0u);
      store_.store_all(coder_);
    } else {
      store_.set_snapshot(pass, take_snapshot());
      mq::flush_registers(coder_);
      store_.store_all(coder_);
      const auto segment = store_.segment(begin);
      size_t flushed = bytes_so_far();
      while (flushed > 0 && segment[flushed - 1] == 0xFF) --flushed;
      for (int i = pass; i >= first; --i) {
        const mq::Snapshot snapshot = store_.snapshot(i);
        // B may change, and so may all bytes after it.
        if (snapshot.bytes + mq::kPrefixReach < known) {
          first = i + 1;
          break;
        }
        const auto length = static_cast<uint32_t>(mq::shortest_prefix(snapshot, segment, flushed));
        if (i == pass) bytes = length;
        store_.set_length(i, begin + length);
      }
    }
    store_.set_length(pass, begin + bytes);
    if (pass > first) order_lengths(pass, first, begin);
    num_bytes_ += bytes;
    open_ = false;
  }

  // The lengths of the passes of a segment were found one by one. Once the segment has ended, they
  // must obey three rules. Bytes that decode a later pass decode every earlier pass of the segment
  // too, so a pass may always take the length of a later pass. The loop goes from the last pass to
  // the first; `later` is the final length of the pass after the one that it looks at.
  //
  //  1. Raw passes without PTERM: the bytes up to a length do not end with 0xFF. When the length
  //     was noted, its last byte may have been incomplete, and the bits that followed may have made
  //     it 0xFF. A decoder continues a raw segment with ones, so the 0xFF need not be sent, and the
  //     length is cut before it. Without this rule the pass would take the length of the later pass
  //     by rule 2 or 3: correct, but often longer than necessary.
  //  2. Lengths do not fall from pass to pass. With PTERM they can: a tail has bytes of its own, up
  //     to 4, so the ending of the next pass may be shorter where only a few symbols lie between.
  //     The earlier pass then takes the length of the later one. Without this rule, a packet that
  //     adds the later pass would have a negative length.
  //  3. The block's own bytes up to a length do not end with 0xFF. Where one layer cuts the block
  //     inside a segment and a later layer continues it, the packet holds these bytes and not the
  //     tail. After an 0xFF at its end, the next byte of the codestream could complete a marker.
  //     The pass then takes the length of the later one, whose bytes end in no 0xFF. Only PTERM
  //     needs this rule: rule 1 serves raw passes, and shortest_prefix drops a final 0xFF.
  //
  // With PTERM, a pass that takes the length of the next pass takes its tail too. The last pass of
  // the segment has no tail, since the block's bytes contain its ending.
  CJ2K_HD constexpr void order_lengths(int pass, int first, uint32_t begin) {
    const auto block = store_.segment(0);
    uint32_t later = store_.length(pass);
    for (int i = pass; i > first; --i) {
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
  uint32_t num_bytes_ = 0;  ///< bytes of the block in closed segments
  typename Store::Coder coder_{};
};

/// The tail of a pass from `count` <= 4 bytes, the first byte in the lowest bits.
CJ2K_HD constexpr PassTail make_tail(uint32_t offset, uint32_t count, uint32_t bytes) {
  PassTail tail{offset, static_cast<uint8_t>(count), {}};
  for (uint32_t i = 0; i < 4; ++i)
    tail.bytes[i] = static_cast<uint8_t>(i < count ? bytes >> 8 * i : 0);
  return tail;
}

}  // namespace cj2k
