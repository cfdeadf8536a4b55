// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/device_rate.h"

#include <algorithm>

#include "kernels/rate/packets.h"
#include "rate/rate.h"

namespace cj2k::cuda {
namespace {

FrameRates rates_of(std::span<const BlockRequest> requests) {
  FrameRates rates{};
  for (const BlockRequest& request : requests) {
    const RateLimits& limits = *request.limits;
    rates.of[request.frame] = {limits.frame_bytes, limits.component_bytes, limits.slope};
  }
  rates.frames = frames_of(requests);
  return rates;
}

}  // namespace

uint64_t frames_of(std::span<const BlockRequest> requests) {
  uint64_t frames = 0;
  for (const BlockRequest& request : requests) frames |= uint64_t{1} << request.frame;
  return frames;
}

DeviceRate::DeviceRate(const DeviceCoderSetup& setup, const Span<uint32_t>& totals)
    : s_(setup),
      totals_(totals),
      results_(static_cast<size_t>(setup.plan.params.gop)),
      units_per_frame_(raw_frame_bytes(setup.plan) / kUnit) {}

bool DeviceRate::allocates(std::span<const BlockRequest> requests) const {
  // The samples may be asked for later; their memory is where bytes are packed.
  if (!s_.tables.rate.has_value() || keeps_coefficients(s_.plan)) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const BlockRequest& request) {
    return request.limits != nullptr && request.blocks.size() == s_.plan.blocks.size();
  });
}

RatePlan DeviceRate::rate_plan() const {
  return s_.tables.rate->on_device(s_.tables.on_device.rate.in(s_.table_memory),
                                   s_.tables.on_device.tier1.in(s_.table_memory));
}

Status DeviceRate::allocate(CudaGopWork& work, std::span<const BlockRequest> requests,
                            const DeviceBlocks& from, bool again) {
  const simt::DeviceBuffer& d = work.device;
  return allocate_rate(work.stream, rate_plan(), num_frames(requests), rates_of(requests), again,
                       from.blocks, m_.scratch.in(d), {m_.chosen.in(d), m_.outcomes.in(d)});
}

uint64_t DeviceRate::most_units(const CudaGopWork& work, const DeviceBlocks& from) const {
  const uint64_t bytes = std::min(s_.pinned.most_ahead(work.bytes), from.tile_part_room);
  return std::min<uint64_t>(bytes / kUnit, UINT32_MAX / 2);
}

/// Room for the tile-parts, in units of 16, before their size is known: what the caps allow, but at
/// most a quarter more than the call before had. The guess alone is no reason for more memory.
uint32_t DeviceRate::room_of(CudaGopWork& work, std::span<const BlockRequest> requests,
                             const DeviceBlocks& from) const {
  const uint64_t most = most_units(work, from);
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

Status DeviceRate::bring_and_wait(CudaGopWork& work, std::span<const BlockRequest> requests,
                                  const DeviceBlocks& from) {
  uint32_t room = room_of(work, requests, from);
  do {
    CJ2K_TRY(bring(work, requests, from, room));
    CJ2K_TRY(work.stream.record(work.end));
    CJ2K_TRY(work.end.synchronize());
    room = more_room(work, from);
  } while (room > 0);
  return Status::kOk;
}

/// After a wait: gives back the host memory that the tile-parts do not take.
/// @return the room that they need, if they had too little and can have it; else 0
uint32_t DeviceRate::more_room(CudaGopWork& work, const DeviceBlocks& from) const {
  const auto* totals = totals_.in(work.pinned);
  const bool has_hulls = totals[0] <= from.hull_room, has_room = totals[2] <= room_;
  work.bytes.shrink(taken_bytes(), has_hulls && has_room ? totals[2] * kUnit : 0);
  return has_hulls && !has_room && totals[2] <= most_units(work, from) ? totals[2] : 0;
}

Status DeviceRate::bring(CudaGopWork& work, std::span<const BlockRequest> requests,
                         const DeviceBlocks& from, uint32_t room) {
  const simt::DeviceBuffer& d = work.device;
  simt::Stream& stream = work.stream;
  const auto download = [&](const auto& to, const void* source, size_t bytes) {
    return stream.download(to.in(work.pinned), source, bytes);
  };
  const uint32_t frames = num_frames(requests);
  room_ = room;
  CJ2K_TRY(work.bytes.take(taken_bytes(), &bytes_));
  const PacketInput input{from.bytes,        from.frame_bytes,   from.blocks.results,
                          from.blocks.codes, m_.chosen.in(d),    from.paused_passes,
                          m_.scratch.in(d),  frames_of(requests)};
  const PacketOutput to{m_.outcomes.in(d),
                        m_.left.in(d),
                        m_.part_places.in(d),
                        m_.packet_places.in(d),
                        m_.block_places.in(d),
                        from.tile_parts,
                        room_,
                        from.totals + 2};
  CJ2K_TRY(write_packets(stream, rate_plan(), frames, input, to));
  CJ2K_TRY(download(totals_, from.totals, kTotals * sizeof(uint32_t)));
  CJ2K_TRY(download(p_.outcomes, to.outcomes, frames * sizeof(RateOutcome)));
  CJ2K_TRY(download(p_.left, to.left, frames * s_.plan.blocks.size() * sizeof(double)));
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

bool DeviceRate::take(CudaGopWork& work, std::span<BlockRequest> requests,
                      const DeviceBlocks& from) {
  const auto* totals = totals_.in(work.pinned);
  units_per_frame_ = totals[2] / requests.size();
  // If hulls or tile-parts had no room, no frame can be sure of its own.
  const bool has_room = totals[0] <= from.hull_room && totals[2] <= room_;
  bool all_final = has_room;
  for (BlockRequest& request : requests) {
    request.outcome.result = nullptr;
    if (!has_room || outcome(work, request.frame).tile_part_bytes == 0) {
      all_final = false;
      continue;
    }
    results_[request.frame] = result_of(work, request, outcome(work, request.frame));
    request.outcome.result = &results_[request.frame];
  }
  return all_final;
}

}  // namespace cj2k::cuda
