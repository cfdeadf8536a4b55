// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/device_rate.h"

#include <algorithm>

#include "kernels/rate/packets.h"
#include "kernels/rate/resume.h"
#include "rate/rate.h"

namespace cj2k::cuda {
namespace {

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
    : s_(setup),
      results_(static_cast<size_t>(setup.plan.params.gop)),
      units_per_frame_(raw_frame_bytes(setup.plan) / kUnit) {}

bool DeviceRate::allocates(std::span<const BlockRequest> requests) const {
  // The samples may be asked for later; their memory is where bytes are packed.
  if (!s_.tables.rate.has_value() || keeps_coefficients(s_.plan)) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const BlockRequest& request) {
    return request.limits != nullptr && request.blocks.size() == s_.plan.blocks.size();
  });
}

Status DeviceRate::begin(CudaGopWork& work, std::span<const BlockRequest> requests) {
  num_frames_ = requests.back().frame + 1;
  if (requests.size() == num_frames_) return Status::kOk;
  return work.stream.fill(m_.results.in(work.device), 0,
                          num_frames_ * s_.plan.blocks.size() * sizeof(Tier1Result));
}

RatePlan DeviceRate::rate_plan() const {
  return s_.tables.rate->on_device(s_.tables.on_device.rate.in(s_.table_memory),
                                   s_.tables.on_device.tier1.in(s_.table_memory));
}

Status DeviceRate::allocate(CudaGopWork& work, std::span<const BlockRequest> requests,
                            const Tier1Output& output, bool again) {
  const simt::DeviceBuffer& d = work.device;
  return allocate_rate(work.stream, rate_plan(), num_frames_, rates_of(requests), again,
                       {output.results, output.hull}, m_.rate_scratch.in(d),
                       {m_.chosen.in(d), m_.outcomes.in(d)});
}

Status DeviceRate::mark_resumed(CudaGopWork& work, std::span<const BlockRequest> requests,
                                const Tier1Buffers& buffers, const Tier1Output& output,
                                bool is_last) {
  const simt::DeviceBuffer& d = work.device;
  auto* const coded_to = m_.thresholds.in(d);
  ResumeOutput resume{m_.outcomes.in(d), coded_to, m_.next_thresholds.in(work.device),
                      m_.paused_passes.in(d), frames_of(requests)};
  if (is_last)
    resume = {resume.outcomes, m_.next_thresholds.in(work.device), coded_to, nullptr,
              resume.frames};
  return resume_blocks(work.stream, buffers, num_frames_,
                       static_cast<uint32_t>(s_.plan.components.size()), output, resume);
}

uint64_t DeviceRate::most_units(const CudaGopWork& work) const {
  const uint64_t bytes = std::min(s_.pinned.most_ahead(work.bytes), s_.memory.samples.bytes());
  return std::min<uint64_t>(bytes / kUnit, UINT32_MAX / 2);
}

/// What the caps allow, but at most a quarter more than the call before had. The guess alone is no
/// reason for more memory.
uint32_t DeviceRate::room_of(CudaGopWork& work, std::span<const BlockRequest> requests) const {
  const uint64_t most = most_units(work);
  uint64_t units = 0;
  for (const BlockRequest& request : requests) {
    uint64_t cap = request.limits->frame_bytes;
    if (request.limits->component_bytes <= most * kUnit)
      cap = std::min(cap, request.limits->component_bytes * s_.plan.components.size());
    units += std::min(most, cap / kUnit + 1);
  }
  const uint64_t guess = (units_per_frame_ + units_per_frame_ / 4 + 1) * requests.size();
  return static_cast<uint32_t>(std::min({units, guess, most}));
}

uint32_t DeviceRate::more_room(CudaGopWork& work) const {
  const auto* totals = p_.totals.in(work.pinned);
  const bool has_hulls = totals[0] <= m_.hull.count, has_room = totals[2] <= room_;
  work.bytes.shrink(taken_bytes(), has_hulls && has_room ? totals[2] * kUnit : 0);
  return has_hulls && !has_room && totals[2] <= most_units(work) ? totals[2] : 0;
}

Status DeviceRate::bring(CudaGopWork& work, std::span<const BlockRequest> requests,
                         const Tier1Buffers& buffers, const Tier1Output& output, bool resumes,
                         uint32_t room) {
  const simt::DeviceBuffer& d = work.device;
  simt::Stream& stream = work.stream;
  const auto download = [&](const auto& to, const void* from, size_t bytes) {
    return stream.download(to.in(work.pinned), from, bytes);
  };
  room_ = room;
  CJ2K_TRY(work.bytes.take(taken_bytes(), &bytes_));
  const PacketInput from{buffers.bytes,
                         buffers.frame_bytes,
                         output.results,
                         m_.chosen.in(d),
                         resumes ? m_.paused_passes.in(d) : nullptr,
                         m_.rate_scratch.in(d),
                         frames_of(requests)};
  const PacketOutput to{m_.outcomes.in(d),
                        m_.left.in(d),
                        m_.part_places.in(d),
                        m_.packet_places.in(d),
                        m_.block_places.in(d),
                        reinterpret_cast<uint8_t*>(s_.memory.samples.in(d)),
                        room_,
                        output.totals + 2};
  CJ2K_TRY(write_packets(stream, rate_plan(), num_frames_, from, to));
  CJ2K_TRY(download(p_.totals, output.totals, kTotals * sizeof(uint32_t)));
  CJ2K_TRY(download(p_.outcomes, to.outcomes, num_frames_ * sizeof(RateOutcome)));
  if (resumes) {
    CJ2K_TRY(download(p_.thresholds, m_.next_thresholds.in(work.device),
                      num_frames_ * size_t{CJ2K_MAX_COMPONENTS} * sizeof(uint16_t)));
  }
  CJ2K_TRY(download(p_.left, to.left, num_frames_ * s_.plan.blocks.size() * sizeof(double)));
  return stream.download(bytes_, to.bytes, room_ * kUnit);
}

FrameResult DeviceRate::result_of(const CudaGopWork& work, const BlockRequest& request,
                                  const RateOutcome& outcome) const {
  FrameResult result;
  for (uint32_t c = 0; c < s_.plan.components.size(); ++c) {
    result.component_bytes[c] = outcome.header_bytes[c] + outcome.body_bytes[c];
    result.body_bytes += outcome.body_bytes[c];
    result.exhausted[c] = outcome.exhausted[c];
  }
  const double* const left = p_.left.in(work.pinned) + request.frame * s_.plan.blocks.size();
  for (size_t b = 0; b < s_.plan.blocks.size(); ++b)
    result.add_error(s_.plan, s_.plan.blocks[b], request.step_set, left[b]);
  result.totals = outcome.totals;
  result.threshold = outcome.threshold;
  result.rounds = outcome.totals.passes_resumed > 0 ? 1 : 0;
  result.tile_parts = {bytes_ + outcome.first_unit * kUnit, outcome.tile_part_bytes};
  return result;
}

bool DeviceRate::take(CudaGopWork& work, std::span<BlockRequest> requests, bool resumes) {
  const auto* totals = p_.totals.in(work.pinned);
  const auto* outcomes = p_.outcomes.in(work.pinned);
  const auto* thresholds = p_.thresholds.in(work.pinned);
  units_per_frame_ = totals[2] / requests.size();
  // If hulls or tile-parts had no room, no frame can be sure of its own.
  bool all_final = totals[0] <= m_.hull.count && totals[2] <= room_;
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
