// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From symbols to bytes for a whole code-block: codeword segments, their terminations, and the length of every pass
// (T.800 D.4 to D.6). Context modelling hands over one pass after the other; it need not know about segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/mq.h"
#include "stages/coded_block.h"
#include "stages/tier1.h"

namespace cj2k {

/// True when pass `pass` of a block is coded raw (D.6): significance and refinement passes from the fifth plane on.
inline bool pass_is_raw(uint32_t style, int pass) {
  return (style & CJ2K_STYLE_BYPASS) != 0 && pass >= 10 && pass % 3 != 0;
}

/// A block coder between two planes: all that it takes to go on, as plain data. What was already said of the block
/// (Tier1Output) is final but for the last bytes and the lengths of the passes in the open segment, which are those of a
/// segment that ends here.
struct SavedCoder {
  uint32_t a, c, ct;
  uint32_t bytes_written;  ///< of the block, up to and with B
  uint32_t closed_bytes;   ///< of closed segments
  uint8_t last;            ///< B
  bool open;               ///< a segment is open: it began after `closed_bytes`, with pass `first_pass`
  uint8_t first_pass, num_passes;
  mq::State contexts[mq::kNumContexts];
  mq::Snapshot snapshots[kMaxPasses];  ///< [first_pass, num_passes); what lies beyond num_passes need not be kept
};
/// Bytes of a SavedCoder that must be kept.
inline size_t saved_bytes(int num_passes) {
  return offsetof(SavedCoder, snapshots) + static_cast<size_t>(num_passes) * sizeof(mq::Snapshot);
}

/// Codes a run of decisions; the default for SegmentCoder. A SIMD target brings its own, compiled for that target.
struct EncodeRun {
  static void run(mq::Coder& coder, mq::State* contexts, const mq::Symbol* symbols, size_t count) {
    mq::Coder registers = coder;
    for (size_t i = 0; i < count; ++i) mq::encode(registers, contexts, symbols[i]);
    coder = registers;
  }
};

/// Codes the passes of one block in order into `out`.
template <typename Run = EncodeRun>
class SegmentCoder {
 public:
  SegmentCoder(uint32_t style, Tier1Output& out) : style_(style), out_(out) {
    out_.num_passes = 0;
    out_.num_bytes = 0;
    out_.bytes[-1] = 0;
    mq::reset_contexts(contexts_);
  }

  /// Goes on where `pause` left. `out` holds the passes, and the bytes up to SavedCoder::bytes_written.
  SegmentCoder(uint32_t style, Tier1Output& out, const SavedCoder& saved) : style_(style), out_(out) {
    std::memcpy(contexts_, saved.contexts, sizeof contexts_);
    std::memcpy(snapshots_, saved.snapshots, saved.num_passes * sizeof(mq::Snapshot));
    open_ = saved.open;
    first_pass_ = saved.first_pass;
    out_.num_passes = saved.num_passes;
    out_.num_bytes = saved.closed_bytes;
    out_.bytes[-1] = 0;
    first_byte_ = out_.bytes + saved.closed_bytes;
    if (open_) {
      coder_ = {saved.a, saved.c, saved.ct, out_.bytes + saved.bytes_written - 1};
      *coder_.last = saved.last;
    }
  }

  /// Ends the output here for now, after a clean-up pass, which is never raw.
  void pause(SavedCoder& saved) {
    const uint32_t written =
        open_ ? static_cast<uint32_t>(coder_.last + 1 - out_.bytes) : static_cast<uint32_t>(out_.num_bytes);
    saved.a = coder_.a;
    saved.c = coder_.c;
    saved.ct = coder_.ct;
    saved.bytes_written = written;
    saved.closed_bytes = static_cast<uint32_t>(out_.num_bytes);
    saved.last = open_ ? *coder_.last : uint8_t{0};
    saved.open = open_;
    saved.first_pass = static_cast<uint8_t>(first_pass_);
    saved.num_passes = static_cast<uint8_t>(out_.num_passes);
    std::memcpy(saved.contexts, contexts_, sizeof contexts_);
    std::memcpy(saved.snapshots, snapshots_, static_cast<size_t>(out_.num_passes) * sizeof(mq::Snapshot));
    if (!open_) return;
    if (style_ & CJ2K_STYLE_PTERM) {
      out_.num_bytes = written;  // every pass brings its own tail
      return;
    }
    end_segment(out_.num_passes - 1);
  }

  /// Codes one pass. Raw passes use only bit 0 of each symbol.
  void code_pass(const mq::Symbol* symbols, size_t count, int plane, int32_t distortion, bool last_of_block) {
    const int pass = out_.num_passes++;
    const bool raw = pass_is_raw(style_, pass);
    if (!open_) begin_segment(raw, pass);
    if (raw) {
      code_raw(symbols, count);
    } else {
      if (style_ & CJ2K_STYLE_RESET) mq::reset_contexts(contexts_);
      Run::run(coder_, contexts_, symbols, count);
    }
    out_.passes[pass] = {0, distortion, static_cast<uint8_t>(plane)};
    if (last_of_block || pass_terminates(style_, pass)) {
      end_segment(pass);
    } else {
      note_truncation(pass);
    }
  }

 private:
  void begin_segment(bool raw, int pass) {
    open_ = true;
    raw_ = raw;
    first_pass_ = pass;
    first_byte_ = out_.bytes + out_.num_bytes;
    if (raw) {
      raw_byte_ = 0;
      raw_free_ = 8;
      raw_end_ = first_byte_;
    } else {
      mq::start(coder_, first_byte_);
    }
  }

  // A bit after 0xFF is stuffed: the next byte has 7 (D.6).
  void code_raw(const mq::Symbol* symbols, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      --raw_free_;
      raw_byte_ |= static_cast<uint32_t>(symbols[i] & 1) << raw_free_;
      if (raw_free_ == 0) {
        *raw_end_++ = static_cast<uint8_t>(raw_byte_);
        raw_free_ = raw_byte_ == 0xFF ? 7 : 8;
        raw_byte_ = 0;
      }
    }
  }

  bool raw_byte_is_empty() const { return raw_free_ == (raw_end_ > first_byte_ && raw_end_[-1] == 0xFF ? 7u : 8u); }

  /// Bytes of the raw segment so far when it ends here: padded with 0101.. (D.6), never ending in 0xFF.
  uint32_t raw_bytes_if_cut(uint8_t* final_byte) const {
    uint32_t bytes = static_cast<uint32_t>(raw_end_ - first_byte_);
    if (!raw_byte_is_empty()) {
      uint32_t byte = raw_byte_;
      uint32_t bit = 0;
      for (int i = static_cast<int>(raw_free_) - 1; i >= 0; --i, bit ^= 1) byte |= bit << i;
      *final_byte = static_cast<uint8_t>(byte);
      return bytes + 1;
    }
    while (bytes > 0 && first_byte_[bytes - 1] == 0xFF) --bytes;
    return bytes;
  }

  void note_truncation(int pass) {
    if (raw_) {
      uint8_t final_byte = 0;
      const uint32_t bytes = raw_bytes_if_cut(&final_byte);
      out_.passes[pass].length_bytes = static_cast<uint32_t>(out_.num_bytes) + bytes;
      if (style_ & CJ2K_STYLE_PTERM) {
        const bool padded = bytes > static_cast<uint32_t>(raw_end_ - first_byte_);
        out_.tails[pass] = {static_cast<uint32_t>(out_.num_bytes) + bytes - (padded ? 1u : 0u),
                            static_cast<uint8_t>(padded ? 1 : 0), {final_byte}};
      }
      return;
    }
    if (style_ & CJ2K_STYLE_PTERM) {
      note_predictable_tail(pass);
    } else {
      snapshots_[pass] = mq::snapshot(coder_, first_byte_);
      // Not exact before the segment is finished; near enough to decide when to stop.
      out_.passes[pass].length_bytes = static_cast<uint32_t>(out_.num_bytes) + snapshots_[pass].bytes;
    }
  }

  // Terminates a copy of the registers into a small buffer: what the segment's end would be if it were cut here.
  void note_predictable_tail(int pass) {
    const uint32_t written = static_cast<uint32_t>(coder_.last + 1 - first_byte_);
    uint8_t copy[9] = {};
    const uint32_t kept = written > 0 ? 1 : 0;  // B may still change
    copy[1] = kept != 0 ? *coder_.last : uint8_t{0};
    mq::Coder coder = coder_;
    coder.last = copy + kept;
    const size_t bytes = mq::flush_predictable(coder, copy + 1);
    PassTail& tail = out_.tails[pass];
    tail.offset_bytes = static_cast<uint32_t>(out_.num_bytes) + written - kept;
    tail.count = static_cast<uint8_t>(bytes);
    for (size_t i = 0; i < bytes; ++i) tail.bytes[i] = copy[1 + i];
    out_.passes[pass].length_bytes = tail.offset_bytes + static_cast<uint32_t>(bytes);
  }

  void end_segment(int pass) {
    const uint32_t begin = static_cast<uint32_t>(out_.num_bytes);
    uint32_t bytes;
    if (raw_) {
      uint8_t final_byte = 0;
      bytes = raw_bytes_if_cut(&final_byte);
      if (bytes > static_cast<uint32_t>(raw_end_ - first_byte_)) *raw_end_ = final_byte;
    } else if (style_ & CJ2K_STYLE_PTERM) {
      bytes = static_cast<uint32_t>(mq::flush_predictable(coder_, first_byte_));
    } else {
      snapshots_[pass] = mq::snapshot(coder_, first_byte_);
      const size_t flushed = mq::flush(coder_, first_byte_);
      for (int i = first_pass_; i <= pass; ++i) {
        out_.passes[i].length_bytes =
            begin + static_cast<uint32_t>(mq::shortest_prefix(snapshots_[i], first_byte_, flushed));
      }
      bytes = out_.passes[pass].length_bytes - begin;
    }
    out_.passes[pass].length_bytes = begin + bytes;
    // What decodes a later pass decodes the earlier ones of its segment too. So does a PTERM tail: one that is longer than
    // the ending after it (only a few symbols came between) gives way to that. So does one under which the bytes that go on
    // have an 0xFF: a layer may cut there, and what a packet holds of a block must not end in 0xFF (a marker could come of
    // it). Raw bits are continued by ones, so there an 0xFF need not be sent.
    for (int i = pass; i > first_pass_; --i) {
      const uint32_t later = out_.passes[i].length_bytes;
      uint32_t& length = out_.passes[i - 1].length_bytes;
      if (raw_ && !(style_ & CJ2K_STYLE_PTERM)) {
        while (length > begin && out_.bytes[length - 1] == 0xFF) --length;
      }
      if (length <= later && (length == begin || out_.bytes[length - 1] != 0xFF)) continue;
      length = later;
      if (style_ & CJ2K_STYLE_PTERM) out_.tails[i - 1] = i == pass ? PassTail{} : out_.tails[i];
    }
    out_.num_bytes += bytes;
    open_ = false;
  }

  const uint32_t style_;
  Tier1Output& out_;
  mq::State contexts_[mq::kNumContexts];
  bool open_ = false;
  bool raw_ = false;
  int first_pass_ = 0;
  uint8_t* first_byte_ = nullptr;
  mq::Coder coder_{};
  uint32_t raw_byte_ = 0;
  uint32_t raw_free_ = 8;
  uint8_t* raw_end_ = nullptr;
  mq::Snapshot snapshots_[kMaxPasses];
};

}  // namespace cj2k
