// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/gop_choice.h"

#include <algorithm>
#include <cinttypes>

#include "cuda/gop_memory.h"
#include "params/params.h"

namespace cj2k::cuda {
namespace {

/// Checks the numbers of blocks and passes of a GOP, which have 32 bits on the device.
Status check_counts(const Plan& plan, const Log& log) {
  uint64_t passes = 0;
  for (const CodeBlock& block : plan.blocks)
    passes += static_cast<uint64_t>(num_passes_of(block.max_bit_planes));
  const auto gop = static_cast<uint64_t>(std::max(plan.params.gop, 1));
  if (gop * passes <= UINT32_MAX) return Status::kOk;
  return log.fail(Status::kNotSupported,
                  "gop %" PRIu64 ": %" PRIu64
                  " coding passes per frame are more than 4294967295 per GOP, the limit on a CUDA "
                  "device; use a smaller gop or device=cpu",
                  gop, passes);
}

}  // namespace

Tier1Form tier1_form(const Plan& plan) {
  if (plan.has_rdoq) return Tier1Form::kClassic;  // the others know no Tier1Limits::last_planes
  switch (plan.params.tier1) {
    case CJ2K_TIER1_CIBO:
      return Tier1Form::kCibo;
    case CJ2K_TIER1_FUSED:
      return Tier1Form::kFused;
    default:
      return Tier1Form::kClassic;  // the fastest on an H200
  }
}
const char* form_name(Tier1Form form) {
  constexpr const char* kNames[] = {"classic", "cibo", "fused"};
  return kNames[static_cast<int>(form)];
}

int gops_of_device(int num_gops, size_t device, size_t num_devices) {
  const auto n = static_cast<int>(num_devices);
  return (num_gops + n - 1 - static_cast<int>(device)) / n;
}

uint64_t device_bytes(const Plan& plan, int num_gops) {
  const PlanTables tables(plan);
  const GopMemory memory(plan, tables);
  return tables.bytes + static_cast<uint64_t>(num_gops) * memory.bytes;
}

namespace {

/// The device with the least free memory.
struct Room {
  const simt::Context* device = nullptr;
  size_t free = SIZE_MAX, total = 0;
};
Status find_room(std::span<const std::unique_ptr<simt::Context>> contexts, Room* room) {
  for (const auto& context : contexts) {
    size_t free = 0, total = 0;
    CJ2K_TRY(context->memory(&free, &total));
    if (free < room->free) *room = {context.get(), free, total};
  }
  return Status::kOk;
}

Status fail_no_room(const cj2k_params& p, int num_gops, uint64_t bytes, const Room& room,
                    const Log& log) {
  constexpr double kMega = 1e6;
  return log.fail(Status::kNoMemory,
                  "%d GOP%s of %d frame%s take %.1f MB of CUDA device %d (%s), which has %.1f MB "
                  "free of %.1f MB; use a smaller gop or async_depth, or device=cpu",
                  num_gops, num_gops == 1 ? "" : "s", p.gop, p.gop == 1 ? "" : "s",
                  static_cast<double>(bytes) / kMega, room.device->info().ordinal,
                  room.device->info().name.c_str(), static_cast<double>(room.free) / kMega,
                  static_cast<double>(room.total) / kMega);
}

}  // namespace

Status choose_gops(Plan* plan, std::span<const std::unique_ptr<simt::Context>> contexts,
                   const Log& log) {
  const cj2k_params asked = plan->params;
  cj2k_params& p = plan->params;
  const auto num_blocks = static_cast<int64_t>(plan->blocks.size());
  const auto num_devices = static_cast<int32_t>(contexts.size());
  Room room;
  CJ2K_TRY(find_room(contexts, &room));
  choose_depth(&p, true, num_blocks);
  while (true) {
    CJ2K_TRY(check_counts(*plan, log));
    if (asked.async_depth == 0) {
      int32_t gops = cuda_gops(p.gop);
      while (gops > kFewestCudaGops && device_bytes(*plan, gops) > room.free / 2) --gops;
      p.async_depth = gops * num_devices * p.gop;
    }
    const int num_gops = gops_of_device(p.async_depth / p.gop, 0, contexts.size());
    const uint64_t bytes = device_bytes(*plan, num_gops);
    if (bytes <= room.free) return Status::kOk;
    if (asked.gop != 0 || p.gop == 1) return fail_no_room(p, num_gops, bytes, room, log);
    p.gop /= 2;
    p.async_depth = asked.async_depth;
    choose_depth(&p, true, num_blocks);
  }
}

}  // namespace cj2k::cuda
