// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of packets: lent to the caller until they are released, which may be after the encoder is
// closed.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "cj2k.h"

namespace cj2k {

/// Thread-safe.
class PacketMemory : public std::enable_shared_from_this<PacketMemory> {
 public:
  struct Packet {
    HostBuffer bytes;
    cj2k_stats stats{};
    bool in_use = false;
    /// Set while the caller holds the packet: keeps the memory there when the encoder is closed.
    std::shared_ptr<PacketMemory> lender;
  };
  /// As many packets of that size, for a start. Throws std::bad_alloc.
  void reserve(size_t count, size_t bytes);
  /// Uninitialised bytes, and CJ2K_PACKET_PADDING zeros behind them.
  /// @return never null. Throws std::bad_alloc.
  Packet* take(size_t bytes);
  /// Null is allowed.
  void give(Packet* packet);
  /// No packet will be taken any more: frees the bytes of each that is given back or is not in use.
  void retire();

  /// Ends a caller's use of a packet, and perhaps the memory itself.
  static void release(Packet* packet);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Packet>> packets_;
  size_t num_idle_ = 0;   ///< not in use, with bytes
  size_t most_idle_ = 0;  ///< more of them free their bytes
  bool retired_ = false;
};

}  // namespace cj2k
