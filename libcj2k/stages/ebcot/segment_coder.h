// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// core/ebcot/segments.h on the host, over the memory of a Tier1Output.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/ebcot/segments.h"
#include "stages/ebcot/tier1.h"

namespace cj2k {

/// A Segments' store over Tier1Output.
class HostStore {
 public:
  using Coder = mq::Coder;
  HostStore(const Tier1Output& out, mq::Snapshot* snapshots)
      : bytes_(out.bytes), passes_(out.passes), tails_(out.tails), snapshots_(snapshots) {
    bytes_[-1] = 0;
  }

  void start(Coder& coder, uint32_t begin) const { coder.last = bytes_ + begin - 1; }
  void resume(Coder& coder, uint32_t, uint32_t written, uint8_t last) const {
    coder.last = bytes_ + written - 1;
    *coder.last = last;
  }
  uint32_t written(const Coder& coder) const {
    return static_cast<uint32_t>(coder.last + 1 - bytes_);
  }
  /// All that was pushed can be read from here on.
  void settle(Coder&) const {}
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

/// Codes the passes of one block in order into `out`: begin_pass, the decisions, end_pass.
class SegmentCoder {
 public:
  SegmentCoder(uint32_t style, Tier1Output& out)
      : out_(out), segments_(style, HostStore(out, snapshots_)) {
    publish();
    mq::reset_contexts(contexts_);
  }

  /// Goes on where `pause` left, before the first pass. `out` holds the passes, and the bytes up to
  /// SavedCoder::bytes_written.
  void resume(const SavedCoder& saved) {
    std::memcpy(contexts_, saved.contexts, sizeof contexts_);
    std::memcpy(snapshots_, saved.snapshots, saved.num_passes * sizeof(mq::Snapshot));
    segments_.restore(saved);
    publish();
  }
  SegmentCoder(const SegmentCoder&) = delete;
  SegmentCoder& operator=(const SegmentCoder&) = delete;

  /// Ends the output here for now, after a clean-up pass, which is never raw.
  void pause(SavedCoder& saved) {
    segments_.save(saved);
    std::memcpy(saved.contexts, contexts_, sizeof contexts_);
    std::memcpy(saved.snapshots, snapshots_, saved.num_passes * sizeof(mq::Snapshot));
    segments_.pause();
    publish();
  }

  /// Codes a raw pass itself, of which only bit 0 of each symbol counts.
  /// @return whether the decisions are the caller's to code, with registers() and contexts()
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
};

}  // namespace cj2k
