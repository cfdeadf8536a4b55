// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/stop_rules.h"

#include <algorithm>
#include <numeric>

#include "core/stop.h"
#include "depth/ebcot_prediction.h"
#include "depth/ht_prediction.h"

namespace cj2k {
namespace {

/// Whether frames may need StopRule::kPredicted. The plan may have no cap, since a frame may have a
/// cap of its own.
bool predicts(const Plan& plan) { return plan.stop == CJ2K_STOP_EXACT && !plan.params.lossless; }

}  // namespace

/// Bytes so far: by slope for psb, sums for bpi.
struct CpuStopRules::PlaneTables {
  SlopeByteTable frame;
  std::array<SlopeByteTable, CJ2K_MAX_COMPONENTS> components;
  std::array<uint64_t, CJ2K_MAX_COMPONENTS> component_bytes;

  void clear() {
    frame.clear();
    for (SlopeByteTable& table : components) table.clear();
    component_bytes = {};
  }
};

CpuStopRules::CpuStopRules(const Plan& plan) : plan_(plan) {
  const cj2k_stop stop = plan.stop;
  if (predicts(plan)) histogram_ = std::make_unique<SlopeHistogram>(plan.components.size());
  if (stop != CJ2K_STOP_PSB && stop != CJ2K_STOP_BPI) return;
  for (const CodeBlock& block : plan.blocks)
    max_planes_ = std::max<uint32_t>(max_planes_, block.max_bit_planes);
  open_.reserve(plan.blocks.size());
  plane_bytes_.reserve(plan.blocks.size());
  bytes_.resize(plan.blocks.size());
  stopped_.resize(plan.blocks.size());
  tables_ = std::make_unique<PlaneTables>();
}

CpuStopRules::~CpuStopRules() = default;

int64_t CpuStopRules::bytes(const Plan& plan) {
  return predicts(plan) ? SlopeHistogram::bytes(plan.components.size()) : 0;
}

void CpuStopRules::run(BlockRequest& request, const BlockSample& sample, const CodedBlock* blocks,
                       const CodeSome& code) {
  const auto follow = [&](auto prediction) {
    do {
      code(prediction.order());
    } while (prediction.goes_on(blocks, *histogram_));
  };
  switch (request.rule) {
    case StopRule::kThresholds:
      code(request);
      break;
    case StopRule::kPredicted:
      if (plan_.params.coder == CJ2K_CODER_HT) {
        follow(HtPrediction(plan_, sample, request));
      } else {
        follow(EbcotPrediction(plan_, sample, request, plain_));
      }
      break;
    case StopRule::kSlopeBytes:
    case StopRule::kBytes:
      run_planes(request, blocks, code);
      break;
  }
}

void CpuStopRules::run_planes(const BlockRequest& request, const CodedBlock* blocks,
                              const CodeSome& code) {
  std::fill(bytes_.begin(), bytes_.end(), 0u);
  std::fill(stopped_.begin(), stopped_.end(), uint8_t{0});
  tables_->clear();
  // With max_planes_ as the last plane nothing is coded, but blocks[b].planes_left is set.
  code({.blocks = request.blocks, .last_plane = max_planes_});
  for (uint32_t plane = max_planes_; plane-- > 0;) {
    open_.clear();
    for (const uint32_t b : request.blocks) {
      if (stopped_[b] == 0 && blocks[b].planes_left > plane) open_.push_back(b);
    }
    code({.blocks = open_, .last_plane = plane});
    if (plane == 0) break;
    plane_bytes_.clear();
    for (const uint32_t b : open_) {
      plane_bytes_.push_back(blocks[b].num_bytes - bytes_[b]);
      bytes_[b] = blocks[b].num_bytes;
    }
    if (request.rule == StopRule::kSlopeBytes) {
      stop_by_slope(request.targets, blocks);
    } else {
      stop_by_bytes(request);
    }
  }
}

/// psb (section 5.2): the bytes by slope give the slope at which a target is used up.
void CpuStopRules::stop_by_slope(const ByteTargets& targets, const CodedBlock* blocks) {
  for (size_t i = 0; i < open_.size(); ++i) {
    const uint16_t slope = blocks[open_[i]].last_slope;
    tables_->frame.add(slope, plane_bytes_[i]);
    tables_->components[plan_.blocks[open_[i]].component].add(slope, plane_bytes_[i]);
  }
  const uint16_t frame = tables_->frame.threshold(targets.frame);
  SlopeThresholds thresholds{};
  for (size_t c = 0; c < plan_.components.size(); ++c)
    thresholds[c] = stop_threshold(tables_->components[c].threshold(targets.component[c]), frame);
  for (size_t i = 0; i < open_.size(); ++i) {
    const uint32_t b = open_[i];
    stopped_[b] =
        may_pause(blocks[b].last_slope, plane_bytes_[i], thresholds[plan_.blocks[b].component]);
  }
}

/// bpi (section 5.3): the frame or a component stops when its bytes exceed its target.
void CpuStopRules::stop_by_bytes(const BlockRequest& request) {
  std::array<uint64_t, CJ2K_MAX_COMPONENTS>& component = tables_->component_bytes;
  for (size_t i = 0; i < open_.size(); ++i)
    component[plan_.blocks[open_[i]].component] += plane_bytes_[i];
  const uint64_t frame = std::accumulate(component.begin(), component.end(), uint64_t{0});
  size_t next_open = 0;
  for (const uint32_t b : request.blocks) {
    const bool was_coded = next_open < open_.size() && open_[next_open] == b;
    if (was_coded) ++next_open;
    const uint32_t c = plan_.blocks[b].component;
    if (stops_by_bytes(frame, request.targets.frame, component[c], request.targets.component[c],
                       was_coded)) {
      stopped_[b] = 1;
    }
  }
}

}  // namespace cj2k
