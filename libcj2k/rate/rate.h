// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control by post-compression rate-distortion optimisation (PCRD-opt) under exact caps. It
// chooses which hull points of each block go into the codestream, and in which layer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "coders/coded_block.h"
#include "core/rate_search.h"
#include "core/slope_search.h"
#include "packets/contribution.h"
#include "packets/packets.h"
#include "plan/plan.h"
#include "plan/plan_caps.h"
#include "rate/slope_histogram.h"

namespace cj2k {

/// Bytes of the headers without any code-block data. A smaller cap cannot be met.
struct SmallestBytes {
  uint64_t frame;
  uint64_t component;  ///< packets of the component that takes the most bytes
};
SmallestBytes smallest_bytes(const Plan& plan);

/// The rate control of one frame at a time. The memory is reused from frame to frame.
class RateControl {
 public:
  /// @param scratch  one per worker (base/parallel.h) where allocate runs; other frames there may
  ///                 share it
  RateControl(const Plan& plan, std::vector<PacketScratch>& scratch);
  /// Sets the limits of the next frame. Before the first call they are those of the plan.
  void set_limits(const RateLimits& limits) { limits_ = limits; }
  /// Where the layers end but the last: falling slopes for all frames that follow; empty: chosen for
  /// each allocation.
  void set_layer_slopes(std::span<const uint16_t> slopes);

  /// Chooses the hull points of one frame. All hull points have one total order: falling slope,
  /// then block index. Each component with a cap, then the frame, takes the longest prefix of that
  /// order whose exact bytes fit, and then single later points that still fit. Without a cap, all
  /// points down to the quality threshold go in. Deterministic: yes. Allocates: not after the first
  /// frames.
  void allocate(const CodedBlock* blocks);
  /// The quantisation of the frame, for the readers of the selection.
  void set_step_set(uint32_t step_set) { selection_.step_set = step_set; }

  const RateLimits& limits() const { return limits_; }
  /// Whether a cap or the quality threshold limits what goes in, so that blocks need not be coded
  /// to the last plane.
  bool has_limit() const;
  bool has_cap() const;  ///< in bytes
  /// The bytes of code-block data that are expected to fit under the caps, and the quality
  /// threshold as their floor.
  ByteTargets prediction_targets() const;
  /// The caps themselves as targets, with floor 0.
  ByteTargets caps() const;
  /// After allocate: all points of `component` above this slope are in. Blocks that paused at this
  /// slope or above may have had more points that go in. 0: all points are in.
  uint16_t exhausted_above(uint32_t component) const { return exhausted_[component]; }
  /// After allocate: log2(cap / bytes of the frame) in log-slope steps, 256 per doubling. 0: the
  /// cap is used up. If the frame has no cap, the sum of the component caps counts;
  /// without any cap it is 0.
  uint16_t unused_cap_steps() const;

  const Selection& selection() const { return selection_; }
  /// Slope of the last point that went in; 0: all points are in.
  uint16_t threshold() const { return threshold_; }
  uint64_t component_bytes(uint32_t component) const;
  uint64_t body_bytes() const;
  uint64_t frame_bytes() const;

 private:
  using Scope = RateScope;
  friend class RateSearch<RateControl>;
  /// A hull point that may be taken.
  struct Candidate {
    uint16_t slope;
    uint8_t points;       ///< points of its block when it is taken
    int16_t header_bits;  ///< with one layer: an estimate of what it adds to the packet header
    uint32_t block;
    uint32_t bytes;  ///< of the hull segment that ends at the point
  };
  /// The selection in a precinct, and what has changed since it was measured.
  struct PrecinctState {
    bool is_changed = true;        ///< the selection
    uint32_t measured_layers = 0;  ///< layers_version_ at the last measurement
    // With one layer:
    int64_t header_bits = 0;    ///< estimate: all but the bits of empty nodes, and stuffing
    int64_t measured_bits = 0;  ///< header_bits at the last measurement
    uint64_t body = 0;          ///< bytes of code-block data
  };

  /// What trying a single point has changed.
  struct Trial {
    size_t candidate;
    PrecinctState state;
    PrecinctBytes bytes;
  };

  /// The slopes on both sides of a block's cut.
  struct Cut {
    uint16_t last = 0;          ///< of its last point that is selected; none: 65535
    uint16_t next = kMaxSlope;  ///< of the point after it, within limit_; none: 0
  };

  void clear_selection();
  void set_points(uint32_t block, PrecinctState& precinct, uint8_t points);
  template <typename Work>
  void for_precincts(const Scope& scope, const Work& work) const;
  void allocate_under(const std::array<uint64_t, CJ2K_MAX_COMPONENTS>& component_caps);
  void fill_histogram();
  uint64_t histogram_bytes(const Scope& scope, uint32_t slope) const;
  uint32_t slope_for(const Scope& scope, uint64_t bytes) const;
  void select(const Scope& scope, uint32_t slope);
  uint64_t gather_layer_bytes();
  void choose_layers();
  uint64_t measure(const Scope& scope);
  uint64_t measure(const Scope& scope, bool tries, uint64_t total) {
    return tries ? measure_trial(total) : measure(scope);
  }
  uint64_t measure_trial(uint64_t total);
  void measure_one(uint32_t precinct);
  uint64_t measured_body(const Scope& scope) const;
  uint64_t measured_bytes(const Scope& scope) const;
  uint64_t estimated_overhead(const Scope& scope) const;
  bool has_one_layer() const { return one_layer_; }
  uint64_t num_blocks(const Scope& scope) const;
  void collect_from(uint32_t block, uint32_t lowest);
  size_t collect(const Scope& scope, uint32_t lowest);
  uint64_t candidate_bits(size_t i) const { return candidate_bits_[i]; }
  uint16_t candidate_slope(size_t i) const { return candidates_[i].slope; }
  uint32_t candidate_bytes(size_t i) const { return candidates_[i].bytes; }
  void take(size_t count);
  bool is_next(size_t i) const;
  void begin_try(size_t i);
  void undo_try();

  const Plan& plan_;
  const bool one_layer_;
  std::vector<PacketScratch>& scratch_;
  const CodedBlock* blocks_ = nullptr;
  Selection selection_{};
  uint64_t fixed_bytes_;
  RateLimits limits_;
  uint16_t threshold_ = 0;
  SlopeThresholds exhausted_{};
  SlopeHistogram histogram_;  ///< bytes of the points within limit_
  /// With LayerCuts: bytes of the passes of the points chosen. Else not used, and empty.
  SlopeHistogram layer_histogram_;
  std::vector<uint8_t> limit_;  ///< [blocks] most points that quality and component caps allow
  std::vector<uint8_t> final_points_;  ///< [blocks] points chosen
  /// [blocks] a threshold in (next, last] does not move the cut. At first no threshold is.
  std::vector<Cut> cuts_;
  std::vector<Contribution> contributions_;  ///< [blocks] with one layer; else empty
  std::vector<uint16_t> layer_slopes_;
  bool has_layer_slopes_ = false;  ///< given
  uint32_t layers_version_ = 0;    ///< counts the changes of layer_slopes_
  std::vector<PrecinctState> precincts_;
  std::vector<PrecinctBytes> precinct_bytes_;  ///< at the last measurement
  std::vector<Candidate> candidates_;
  size_t taken_ = 0;  ///< candidates that are in final_points_
  Trial trial_{};
  /// [candidates + 1] running sum of Candidate::bytes and header_bits, in bits
  std::vector<uint64_t> candidate_bits_;
};

}  // namespace cj2k
