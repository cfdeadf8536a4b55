// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/rate/packets.cuh"
#include "kernels/rate/packets.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(packet_places, cj2k::cuda::packets::PacketPlaces)
CJ2K_KERNEL(packet_headers, cj2k::cuda::packets::PacketHeaders)
CJ2K_KERNEL(packet_bodies, cj2k::cuda::packets::PacketBodies<false>)
CJ2K_KERNEL(ht_packet_bodies, cj2k::cuda::packets::PacketBodies<true>)

namespace cj2k::cuda {

Status write_packets(simt::Stream& stream, const RatePlan& plan, uint32_t num_frames,
                     const PacketInput& input, const PacketOutput& output) {
  const packets::PacketParams params{plan, input, output, rate::ScratchLayout(plan)};
  CJ2K_TRY(stream.fill_u32(output.total, 0, 1));
  CJ2K_TRY(simt::launch<packets::PacketPlaces>(stream, {num_frames}, params));
  CJ2K_TRY(simt::launch<packets::PacketHeaders>(stream, {plan.num_precincts, num_frames}, params));
  using Plain = packets::PacketBodies<false>;
  using Ht = packets::PacketBodies<true>;
  const simt::Dim3 grid{(plan.num_blocks + Plain::kThreads - 1) / Plain::kThreads, num_frames, 8};
  return input.codes != nullptr ? simt::launch<Ht>(stream, grid, params)
                                : simt::launch<Plain>(stream, grid, params);
}

}  // namespace cj2k::cuda
