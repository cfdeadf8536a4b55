// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control by post-compression rate-distortion optimisation under exact caps: which hull points
// of which block go into the codestream, and in which layer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/slope_search.h"
#include "plan.h"
#include "stages/coded_block.h"
#include "stages/packets.h"
#include "stages/slope_histogram.h"

namespace cj2k {

/// Bytes with nothing but headers: no cap below these can be met.
struct SmallestBytes {
  uint64_t frame;
  uint64_t component;  ///< packets of the component that takes most
};
SmallestBytes smallest_bytes(const Plan& plan);

/// Uncompressed bytes of a frame (depth / 8 per sample, rounded up for the frame): what compression
/// ratios refer to.
uint64_t raw_frame_bytes(const Plan& plan);

/// Threshold of constant quality: the log-slope at which a uniform quantiser with step `quality`
/// (LSB of an 8-bit sample) trades squared error for bytes. D = q^2 / 12 and dD/dR = -2 ln 2 D per
/// bit make it 16 ln 2 / 12 q^2 per byte.
uint16_t quality_slope(double quality, int depth);

/// Whether the frames of a plan, or their components, have caps in bytes. One frame may have a cap
/// where the plan has none.
bool has_byte_cap(const Plan& plan);

/// What bounds one frame.
struct RateLimits {
  uint64_t frame_bytes;      ///< kNoTarget: no cap
  uint64_t component_bytes;  ///< likewise
  uint16_t slope;            ///< threshold of constant quality; 0: none
};
/// @param p  the plan's parameters, or those with a frame's own target, caps and quality
RateLimits rate_limits(const Plan& plan, const cj2k_params& p);

/// One per frame; reuses its memory.
class RateControl {
 public:
  /// @param scratch  one per worker of the arena that runs allocate; may be shared with other
  /// frames of that arena
  RateControl(const Plan& plan, std::vector<PacketScratch>& scratch);
  /// Of the next frame; at first the plan's.
  void set_limits(const RateLimits& limits) { limits_ = limits; }

  /// Chooses for one frame. All hull points stand in one total order: falling slope, then block
  /// index. Each component with a cap, then the frame, takes the longest prefix of that order whose
  /// exact bytes fit, and then single later points that still fit. Without a cap everything above
  /// the quality threshold goes in. Deterministic: yes. Allocates: not after warm-up.
  void allocate(const CodedBlock* blocks);

  /// True when something bounds the frame from below: then blocks need not be coded to the last
  /// plane.
  bool has_limit() const;
  bool has_cap() const;  ///< in bytes
  /// The bytes of code-block data that are expected to fit under the caps, and the quality
  /// threshold.
  ByteTargets prediction_targets() const;
  /// The caps themselves.
  ByteTargets caps() const;
  /// After allocate: points of `component` above this slope are all in. Blocks whose coding stopped
  /// there or above may have had more to give. 0: whatever there is goes in.
  uint16_t exhausted_above(uint32_t component) const { return exhausted_[component]; }
  /// After allocate: how far the caps are from being used, in steps of the log-slope of bytes (256
  /// per doubling).
  uint16_t room() const;

  const Selection& selection() const { return selection_; }
  /// Slope of the last point that went in; 0: no limit was met.
  uint16_t threshold() const { return threshold_; }
  uint64_t component_bytes(uint32_t component) const;
  uint64_t body_bytes() const;

 private:
  struct Scope {
    uint32_t first_component, end_component;
    uint64_t cap;
    uint64_t fixed;
  };
  struct Candidate {
    uint16_t slope;
    uint8_t points;  ///< of its block when it is in
    uint32_t block;
    uint32_t bytes;
  };

  bool in_scope(const Scope& scope, uint32_t component) const {
    return component >= scope.first_component && component < scope.end_component;
  }
  void allocate_under(const std::array<uint64_t, CJ2K_MAX_COMPONENTS>& component_caps);
  void fill_histogram();
  uint64_t histogram_bytes(const Scope& scope, uint32_t slope) const;
  uint32_t slope_for(const Scope& scope, uint64_t bytes) const;
  void select(const Scope& scope, uint32_t slope);
  void choose_layers();
  uint64_t measure(const Scope& scope);
  uint16_t fill(const Scope& scope);
  uint64_t measured_body(const Scope& scope) const;
  uint64_t measured_bytes(const Scope& scope) const;
  uint32_t coarse_threshold(const Scope& scope, uint64_t overhead);
  void collect_candidates(const Scope& scope, uint32_t threshold, uint64_t bytes);
  size_t longest_prefix(const Scope& scope, uint32_t threshold);
  void add_single_points(const Scope& scope, size_t first);
  void take(size_t count);

  const Plan& plan_;
  std::vector<PacketScratch>& scratch_;
  const CodedBlock* blocks_ = nullptr;
  Selection selection_{};
  uint64_t fixed_bytes_;
  RateLimits limits_;
  uint16_t threshold_ = 0;
  SlopeThresholds exhausted_{};
  SlopeHistogram histogram_;    ///< body bytes
  std::vector<uint8_t> limit_;  ///< [blocks] most points that quality and component caps allow
  std::vector<uint8_t> final_points_;       ///< [blocks]
  std::vector<uint8_t> before_candidates_;  ///< [blocks] final_points_ then
  std::vector<uint16_t> layer_slopes_;
  std::vector<PrecinctBytes> precinct_bytes_;
  std::vector<Candidate> candidates_;
  std::vector<uint64_t> candidate_bytes_;  ///< [candidates + 1] running sum
};

}  // namespace cj2k
