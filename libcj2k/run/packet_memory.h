// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of packets. The caller holds a packet until it releases it, which may be after the
// encoder is closed.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "cj2k.h"
#include "cj2k_film.h"

namespace cj2k {

/// Thread-safe.
class PacketMemory : public std::enable_shared_from_this<PacketMemory> {
 public:
  struct Packet {
    HostBuffer bytes;
    cj2k_stats stats{};
    cj2k_curve curve{};  ///< with params.curves
    bool has_curve = false;
    bool in_use = false;
    /// Set while the caller holds the packet. It keeps the memory when the encoder is closed.
    std::shared_ptr<PacketMemory> lender;
  };
  /// Makes `count` packets of `bytes` bytes in advance. With bytes = 0, a packet gets its memory
  /// when it is taken. Throws std::bad_alloc.
  void reserve(size_t count, size_t bytes);
  /// Takes a packet of `bytes` uninitialised bytes, followed by CJ2K_PACKET_PADDING zeros.
  /// @return never null. Throws std::bad_alloc.
  Packet* take(size_t bytes);
  /// Gives a packet back. Null is allowed.
  void give(Packet* packet);
  /// Says that no packet will be taken any more. Frees the bytes of the packets that are not in
  /// use; the others free theirs when they are given back.
  void retire();

  /// Gives back a packet that the caller holds. The last packet of a closed encoder destroys the
  /// PacketMemory too.
  static void release(Packet* packet);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Packet>> packets_;
  size_t num_idle_ = 0;   ///< packets that have bytes and are not in use
  size_t most_idle_ = 0;  ///< at this number, a packet that is given back frees its bytes
  bool retired_ = false;
};

}  // namespace cj2k
