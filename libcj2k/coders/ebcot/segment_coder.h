// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The codeword segments of core/ebcot/segments.h on the host, in the memory of a Tier1Output.
#pragma once

#include <cstdint>
#include <cstring>

#include "coders/ebcot/tier1.h"
#include "core/ebcot/segments.h"

namespace cj2k {

/// The Store of a Segments on the host. Each byte is in memory as soon as it is pushed.
class HostStore {
 public:
  using Coder = mq::Coder;
  HostStore(const Tier1Output& out, mq::Snapshot* snapshots)
      : bytes_(out.bytes), passes_(out.passes), tails_(out.tails), snapshots_(snapshots) {
    bytes_[-1] = 0;
  }

  /// A segment starts at byte `begin` of the block.
  void start(Coder& coder, uint32_t begin) const { coder.last = bytes_ + begin - 1; }
  /// Continues a segment after `written` bytes of the block, the last of which is `last`. The
  /// second parameter is the byte where the segment began.
  void resume(Coder& coder, uint32_t, uint32_t written, uint8_t last) const {
    coder.last = bytes_ + written - 1;
    *coder.last = last;
  }
  /// @return bytes of the block so far, B included
  uint32_t written(const Coder& coder) const {
    return static_cast<uint32_t>(coder.last + 1 - bytes_);
  }
  /// Stores every pushed byte, B included, so that `segment` can read them. Nothing may be pushed
  /// afterwards. A Store that buffers bytes also has store_before_last, which leaves out B.
  void store_all(Coder&) const {}
  /// The block's bytes from byte `begin` on.
  const uint8_t* segment(uint32_t begin) const { return bytes_ + begin; }

  void set_pass(int pass, const CodingPass& value) const { passes_[pass] = value; }
  uint32_t length(int pass) const { return passes_[pass].length_bytes; }
  void set_length(int pass, uint32_t length) const { passes_[pass].length_bytes = length; }
  const mq::Snapshot& snapshot(int pass) const { return snapshots_[pass]; }
  void set_snapshot(int pass, const mq::Snapshot& snapshot) const { snapshots_[pass] = snapshot; }
  void set_tail(int pass, uint32_t offset, uint32_t count, uint32_t bytes) const {
    tails_[pass] = make_tail(offset, count, bytes);
  }
  void copy_tail(int to, int from) const { tails_[to] = tails_[from]; }

 private:
  uint8_t* bytes_;
  CodingPass* passes_;
  PassTail* tails_;
  mq::Snapshot* snapshots_;
};

/// Codes the passes of one block into `out`. For each pass, in order: begin_pass, the decisions,
/// end_pass.
class SegmentCoder {
 public:
  SegmentCoder(uint32_t style, Tier1Output& out)
      : out_(out), segments_(style, HostStore(out, snapshots_)) {
    publish();
    mq::reset_contexts(contexts_);
  }

  /// Resumes a block after `pause`. Call it before the first pass. `out` must hold the passes so
  /// far, and the bytes up to SavedCoder::bytes_written.
  void resume(const SavedCoder& saved) {
    std::memcpy(contexts_, saved.contexts, sizeof contexts_);
    std::memcpy(snapshots_, saved.snapshots, saved.num_passes * sizeof(mq::Snapshot));
    segments_.resume(saved);
    before_ = {saved.bytes_written, saved.closed_bytes, saved.open, saved.first_pass};
    publish();
  }
  SegmentCoder(const SegmentCoder&) = delete;
  SegmentCoder& operator=(const SegmentCoder&) = delete;

  /// Fills `saved` and ends the block's bytes here for now, after a clean-up pass (which is never
  /// raw).
  void pause(SavedCoder& saved) {
    segments_.save(saved);
    std::memcpy(saved.contexts, contexts_, sizeof contexts_);
    std::memcpy(saved.snapshots, snapshots_, saved.num_passes * sizeof(mq::Snapshot));
    segments_.pause(before_);
    publish();
  }

  /// Codes all decisions of a raw pass; only bit 0 of each symbol counts there.
  /// @return true: the caller must code the decisions, with registers() and contexts()
  bool begin_pass(const mq::Symbol* symbols, size_t count) {
    if (segments_.begin_pass()) {
      for (size_t i = 0; i < count; ++i) segments_.raw_bit(symbols[i] & 1);
      return false;
    }
    if (segments_.resets_contexts()) mq::reset_contexts(contexts_);
    return true;
  }
  mq::Coder& registers() { return segments_.registers(); }
  mq::State* contexts() { return contexts_; }
  void end_pass(int plane, int64_t distortion, bool last_of_block) {
    segments_.end_pass(plane, distortion, last_of_block);
    publish();
  }

 private:
  void publish() {
    out_.num_passes = segments_.num_passes();
    out_.num_bytes = segments_.num_bytes();
  }

  Tier1Output& out_;
  mq::State contexts_[mq::kNumContexts];
  mq::Snapshot snapshots_[kMaxPasses];
  Segments<HostStore> segments_;
  SavedSegment before_{};
};

}  // namespace cj2k
