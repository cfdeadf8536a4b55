// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/packet_memory.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace cj2k {

void PacketMemory::reserve(size_t count, size_t bytes) {
  const std::lock_guard lock(mutex_);
  // One for each frame in flight, and as many again that the caller may hold.
  most_idle_ = 2 * count;
  packets_.reserve(most_idle_);
  while (packets_.size() < count) {
    packets_.push_back(std::make_unique<Packet>());
    if (bytes == 0) continue;
    packets_.back()->bytes = HostBuffer(bytes + CJ2K_PACKET_PADDING);
    ++num_idle_;
  }
}

PacketMemory::Packet* PacketMemory::take(size_t bytes) {
  const size_t needed = bytes + CJ2K_PACKET_PADDING;
  const std::lock_guard lock(mutex_);
  Packet* packet = nullptr;
  for (const std::unique_ptr<Packet>& candidate : packets_) {
    if (candidate->in_use) continue;
    if (packet == nullptr || candidate->bytes.bytes() > packet->bytes.bytes())
      packet = candidate.get();
  }
  if (packet == nullptr) {
    packets_.push_back(std::make_unique<Packet>());
    packet = packets_.back().get();
  }
  const bool was_idle = packet->bytes.bytes() > 0;
  // Reserve half as much again, so that buffers stop growing after a few frames of a sequence.
  if (packet->bytes.bytes() < needed) packet->bytes = HostBuffer(needed + bytes / 2);
  if (was_idle) --num_idle_;
  packet->in_use = true;
  packet->has_curve = false;
  std::memset(packet->bytes.as<uint8_t>() + bytes, 0, CJ2K_PACKET_PADDING);
  return packet;
}

void PacketMemory::give(Packet* packet) {
  if (packet == nullptr) return;
  HostBuffer freed;  // frees its memory after the lock has ended
  const std::lock_guard lock(mutex_);
  packet->in_use = false;
  if (retired_ || num_idle_ == most_idle_) {
    freed = std::exchange(packet->bytes, HostBuffer());
  } else {
    ++num_idle_;
  }
}

void PacketMemory::retire() {
  const std::lock_guard lock(mutex_);
  retired_ = true;
  for (const std::unique_ptr<Packet>& packet : packets_) {
    if (!packet->in_use) packet->bytes = HostBuffer();
  }
}

void PacketMemory::release(Packet* packet) {
  const std::shared_ptr<PacketMemory> lender = std::move(packet->lender);
  lender->give(packet);
}

}  // namespace cj2k
