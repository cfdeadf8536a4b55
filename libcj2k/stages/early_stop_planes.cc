// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The strategies that look at the whole frame after each bit-plane (early_stop.h): psb and bpi. All
// blocks go down plane by plane together, the highest of the frame first.
#include <algorithm>
#include <array>

#include "core/slope.h"
#include "core/stop.h"
#include "stages/early_stop.h"

namespace cj2k {

uint16_t SlopeByteTable::threshold(uint64_t target) const {
  uint64_t sum = 0;
  for (uint32_t i = kEntries; i-- > 0;) {
    sum += bytes_[i];
    if (sum > target) return slope_of_entry(i);
  }
  return 0;
}

namespace {

/// The walk down the planes; who stops after each is left to the derived class.
class PlaneStop : public EarlyStop {
 public:
  PlaneStop(const Plan& plan, const BlockSample& sample, bool backend_decides)
      : EarlyStop(plan, sample), bytes_(plan.blocks.size()), stopped_(plan.blocks.size()) {
    if (backend_decides) step_ = CodeStep::kPlanes;
    for (const CodeBlock& block : plan.blocks)
      max_planes_ = std::max<uint32_t>(max_planes_, block.max_bit_planes);
  }

  void begin(const RateControl& rate, const SlopeThresholds&) override {
    std::fill(bytes_.begin(), bytes_.end(), 0u);
    std::fill(stopped_.begin(), stopped_.end(), uint8_t{0});
    frame_target_ = rate.frame_cap();
    component_target_ = rate.component_cap();
    clear();
    // Above the highest plane nothing is coded: this tells how many planes each block has.
    last_plane_ = max_planes_;
    wanted_ = sample_.all;
  }

  bool next(const CodedBlock* blocks, RateControl& rate) override {
    if (step_ == CodeStep::kPlanes) {
      rate.allocate(blocks);
      return false;
    }
    if (last_plane_ < max_planes_) {
      for (const uint32_t b : wanted_) {
        const uint32_t component = plan_.blocks[b].component;
        account(blocks[b], component, blocks[b].num_bytes - bytes_[b]);
      }
      decide();
      for (const uint32_t b : wanted_) {
        const CodedBlock& block = blocks[b];
        stopped_[b] = stops(block, plan_.blocks[b].component, block.num_bytes - bytes_[b]) ? 1 : 0;
        bytes_[b] = block.num_bytes;
      }
    }
    while (last_plane_ > 0) {
      --last_plane_;
      if (all_stopped()) break;
      open_.clear();
      for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
        if (!stopped_[b] && blocks[b].planes_left > last_plane_) open_.push_back(b);
      }
      wanted_ = open_;
      return true;
    }
    rate.allocate(blocks);
    return false;
  }

 protected:
  virtual void clear() = 0;
  /// One block after one more plane, which took `bytes`.
  virtual void account(const CodedBlock& block, uint32_t component, uint32_t bytes) = 0;
  /// After all blocks of the plane.
  virtual void decide() = 0;
  virtual bool stops(const CodedBlock& block, uint32_t component, uint32_t bytes) const = 0;
  virtual bool all_stopped() const { return false; }

  uint64_t frame_target_ = 0, component_target_ = 0;

 private:
  uint32_t max_planes_ = 0;
  std::vector<uint32_t> bytes_;  ///< of each block so far
  std::vector<uint8_t> stopped_;
};

/// Section 5.2: bytes by slope say at which slope the target is used up.
class StopSlopeByte final : public PlaneStop {
 public:
  using PlaneStop::PlaneStop;

 private:
  static uint16_t slope_of(const CodedBlock& block) {
    return block.num_hull > 0 ? block.hull[block.num_hull - 1].slope : kMaxSlope;
  }
  void clear() override {
    frame_.clear();
    for (SlopeByteTable& table : components_) table.clear();
    thresholds_by_component_ = {};
  }
  void account(const CodedBlock& block, uint32_t component, uint32_t bytes) override {
    frame_.add(slope_of(block), bytes);
    components_[component].add(slope_of(block), bytes);
  }
  void decide() override {
    const uint16_t threshold = frame_.threshold(frame_target_);
    for (size_t c = 0; c < plan_.components.size(); ++c) {
      thresholds_by_component_[c] =
          std::max(threshold, components_[c].threshold(component_target_));
    }
  }
  bool stops(const CodedBlock& block, uint32_t component, uint32_t bytes) const override {
    return may_pause(slope_of(block), bytes, thresholds_by_component_[component]);
  }

  SlopeByteTable frame_;
  std::array<SlopeByteTable, CJ2K_MAX_COMPONENTS> components_;
  SlopeThresholds thresholds_by_component_{};
};

/// Section 5.3: the frame stops when its bytes exceed the target; a component likewise.
class StopBytes final : public PlaneStop {
 public:
  using PlaneStop::PlaneStop;

 private:
  void clear() override { component_bytes_ = {}; }
  void account(const CodedBlock&, uint32_t component, uint32_t bytes) override {
    component_bytes_[component] += bytes;
  }
  void decide() override {}
  uint64_t frame_bytes() const {
    uint64_t sum = 0;
    for (const uint64_t bytes : component_bytes_) sum += bytes;
    return sum;
  }
  bool stops(const CodedBlock&, uint32_t component, uint32_t) const override {
    return component_bytes_[component] > component_target_;
  }
  bool all_stopped() const override { return frame_bytes() > frame_target_; }

  std::array<uint64_t, CJ2K_MAX_COMPONENTS> component_bytes_{};
};

}  // namespace

std::unique_ptr<EarlyStop> make_plane_stop(const Plan& plan, const BlockSample& sample,
                                           bool backend_decides) {
  if (plan.params.stop == CJ2K_STOP_PSB)
    return std::make_unique<StopSlopeByte>(plan, sample, backend_decides);
  return std::make_unique<StopBytes>(plan, sample, backend_decides);
}

}  // namespace cj2k
