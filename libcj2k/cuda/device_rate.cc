// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/device_rate.h"

#include <algorithm>

#include "kernels/rate/packets.h"
#include "kernels/rate/resume.h"
#include "rate/rate.h"

namespace cj2k::cuda {
namespace {

constexpr uint64_t kUnit = 16;

FrameRates rates_of(std::span<const BlockRequest> requests) {
  FrameRates rates{};
  // Frames that are not asked for have no points, and no limits.
  for (FrameRate& rate : rates.of) rate = {kNoTarget, kNoTarget, 0};
  for (const BlockRequest& request : requests) {
    const RateLimits& limits = *request.limits;
    rates.of[request.frame] = {limits.frame_bytes, limits.component_bytes, limits.slope};
  }
  return rates;
}

}  // namespace

uint64_t frames_of(std::span<const BlockRequest> requests) {
  uint64_t frames = 0;
  for (const BlockRequest& request : requests) frames |= uint64_t{1} << request.frame;
  return frames;
}

DeviceRate::DeviceRate(const DeviceCoderSetup& setup)
    : s_(setup), results_(static_cast<size_t>(setup.plan.params.gop)) {}

bool DeviceRate::allocates(std::span<const BlockRequest> requests) const {
  // With measure_mse the samples are asked for later; their memory is where bytes are packed.
  if (!s_.tables.rate.has_value() || s_.plan.params.measure_mse != 0) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const BlockRequest& request) {
    return request.limits != nullptr && request.blocks.size() == s_.plan.blocks.size();
  });
}

Status DeviceRate::begin(CudaGopWork& work, std::span<const BlockRequest> requests) {
  num_frames_ = requests.back().frame + 1;
  if (requests.size() == num_frames_) return Status::kOk;
  return work.stream.fill(work.device.as<void>(s_.memory.results), 0,
                          num_frames_ * s_.plan.blocks.size() * sizeof(Tier1Result));
}

RatePlan DeviceRate::rate_plan() const {
  return s_.tables.rate->on_device(s_.table_memory.as<void>(s_.tables.rate_offset),
                                   s_.table_memory.as<Tier1Job>(s_.tables.tier1_offset));
}

Status DeviceRate::allocate(CudaGopWork& work, std::span<const BlockRequest> requests,
                            const Tier1Output& output, bool again) {
  const simt::DeviceBuffer& d = work.device;
  return allocate_rate(
      work.stream, rate_plan(), num_frames_, rates_of(requests), again,
      {output.results, output.hull}, d.as<void>(s_.memory.rate_scratch),
      {d.as<ChosenBlock>(s_.memory.chosen), d.as<RateOutcome>(s_.memory.outcomes)});
}

Status DeviceRate::mark_resumed(CudaGopWork& work, std::span<const BlockRequest> requests,
                                const Tier1Buffers& buffers, const Tier1Output& output,
                                bool is_last) {
  const simt::DeviceBuffer& d = work.device;
  auto* const coded_to = d.as<uint16_t>(s_.memory.thresholds);
  ResumeOutput resume{d.as<RateOutcome>(s_.memory.outcomes), coded_to, next_thresholds(work),
                      d.as<uint8_t>(s_.memory.paused_passes), frames_of(requests)};
  if (is_last) resume = {resume.outcomes, next_thresholds(work), coded_to, nullptr, resume.frames};
  return resume_blocks(work.stream, buffers, num_frames_,
                       static_cast<uint32_t>(s_.plan.components.size()), output, resume);
}

/// Room for the tile-parts, in units of 16: what the caps allow, but at most a quarter more than
/// the call before had. The guess alone is no reason for more memory.
uint32_t DeviceRate::room_of(CudaGopWork& work, std::span<const BlockRequest> requests) const {
  const uint64_t most = std::min(s_.pinned.most_ahead(work.bytes), s_.memory.samples_bytes) / kUnit;
  uint64_t units = 0;
  for (const BlockRequest& request : requests) {
    uint64_t cap = request.limits->frame_bytes;
    if (request.limits->component_bytes <= most * kUnit)
      cap = std::min(cap, request.limits->component_bytes * s_.plan.components.size());
    units += std::min(most, cap / kUnit + 1);
  }
  const uint64_t guess = (units_per_frame_ + units_per_frame_ / 4 + 1) * requests.size();
  return static_cast<uint32_t>(std::min<uint64_t>({units, guess, most, UINT32_MAX / 2}));
}

Status DeviceRate::bring(CudaGopWork& work, std::span<const BlockRequest> requests,
                         const Tier1Buffers& buffers, const Tier1Output& output, bool resumes) {
  const simt::DeviceBuffer& d = work.device;
  simt::Stream& stream = work.stream;
  const auto download = [&](uint64_t to, const void* from, size_t bytes) {
    return stream.download(work.pinned.as<void>(to), from, bytes);
  };
  room_ = room_of(work, requests);
  CJ2K_TRY(work.bytes.take(std::max<uint64_t>(room_, 1) * kUnit, &bytes_));
  const PacketInput from{buffers.bytes,
                         buffers.frame_bytes,
                         output.results,
                         d.as<ChosenBlock>(s_.memory.chosen),
                         resumes ? d.as<uint8_t>(s_.memory.paused_passes) : nullptr,
                         d.as<uint8_t>(s_.memory.rate_scratch),
                         frames_of(requests)};
  const PacketOutput to{d.as<RateOutcome>(s_.memory.outcomes),
                        d.as<double>(s_.memory.left),
                        d.as<uint32_t>(s_.memory.part_places),
                        d.as<uint32_t>(s_.memory.packet_places),
                        d.as<uint32_t>(s_.memory.block_places),
                        d.as<uint8_t>(s_.memory.samples),
                        room_,
                        output.totals + 2};
  CJ2K_TRY(write_packets(stream, rate_plan(), num_frames_, from, to));
  CJ2K_TRY(download(s_.pinned.totals, output.totals, kTotals * sizeof(uint32_t)));
  CJ2K_TRY(download(s_.pinned.outcomes, to.outcomes, num_frames_ * sizeof(RateOutcome)));
  if (resumes) {
    CJ2K_TRY(download(s_.pinned.thresholds, next_thresholds(work),
                      num_frames_ * size_t{CJ2K_MAX_COMPONENTS} * sizeof(uint16_t)));
  }
  CJ2K_TRY(download(s_.pinned.left, to.left, num_frames_ * s_.plan.blocks.size() * sizeof(double)));
  return stream.download(bytes_, to.bytes, room_ * kUnit);
}

Status DeviceRate::bring_paused(CudaGopWork& work) {
  return work.stream.download(work.pinned.as<void>(s_.pinned.paused_passes),
                              work.device.as<void>(s_.memory.paused_passes),
                              num_frames_ * s_.plan.blocks.size());
}

FrameResult DeviceRate::result_of(const CudaGopWork& work, const BlockRequest& request,
                                  const RateOutcome& outcome) const {
  FrameResult result;
  for (uint32_t c = 0; c < s_.plan.components.size(); ++c) {
    result.component_bytes[c] = outcome.header_bytes[c] + outcome.body_bytes[c];
    result.body_bytes += outcome.body_bytes[c];
    result.exhausted[c] = outcome.exhausted[c];
  }
  const double* const left =
      work.pinned.as<double>(s_.pinned.left) + request.frame * s_.plan.blocks.size();
  result.squared_error =
      sum_errors(s_.plan, request.step_set, [left](uint32_t block) { return left[block]; });
  result.totals = outcome.totals;
  result.threshold = outcome.threshold;
  result.rounds = outcome.totals.passes_resumed > 0 ? 1 : 0;
  result.tile_parts = {bytes_ + outcome.first_unit * kUnit, outcome.tile_part_bytes};
  return result;
}

bool DeviceRate::take(CudaGopWork& work, std::span<BlockRequest> requests, bool resumes) {
  const auto* totals = work.pinned.as<uint32_t>(s_.pinned.totals);
  const auto* outcomes = work.pinned.as<RateOutcome>(s_.pinned.outcomes);
  const auto* thresholds = work.pinned.as<uint16_t>(s_.pinned.thresholds);
  units_per_frame_ = totals[2] / requests.size();
  // If hulls or tile-parts had no room, no frame can be sure of its own.
  bool all_final = totals[0] <= hull_room() && totals[2] <= room_;
  const bool has_room = all_final;
  for (BlockRequest& request : requests) {
    const RateOutcome& outcome = outcomes[request.frame];
    if (resumes) {
      std::copy_n(thresholds + request.frame * CJ2K_MAX_COMPONENTS, CJ2K_MAX_COMPONENTS,
                  request.thresholds.begin());
    }
    request.outcome.result = nullptr;
    if (!has_room || outcome.tile_part_bytes == 0) {
      all_final = false;
      continue;
    }
    results_[request.frame] = result_of(work, request, outcome);
    request.outcome.result = &results_[request.frame];
  }
  return all_final;
}

}  // namespace cj2k::cuda
