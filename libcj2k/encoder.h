// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// READ FIRST. The way of a frame:
//
//   send -> check -> slot -> [ ingest -> colour -> DWT -> quantise -> tier-1 ] -> rate -> packets
//   -> receive
//                             backend (backend.h)                              stages/rate.h,
//                             stages/packets.h
//
// A slot is all the memory of one frame in flight; `async_depth` of them go round in the order of
// the frames. Each slot's frame is one task of the encoder's arena, whose loops share the arena's
// threads.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend.h"
#include "base/buffer.h"
#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "plan.h"
#include "stages/packets.h"

namespace cj2k {

class Encoder {
 public:
  /// Checks, plans, reserves. Throws std::bad_alloc.
  static Status open(const cj2k_params& params, const Log& log, std::unique_ptr<Encoder>* encoder);
  ~Encoder();

  void info(cj2k_info* info) const;
  /// @param frame  null: drain
  Status send(const cj2k_frame* frame);
  Status receive(cj2k_packet* packet);
  void release(cj2k_packet* packet);
  Status flush();

 private:
  struct Slot;
  struct Threads;
  /// Memory of a packet: lent to the caller until it is released.
  struct Output {
    HostBuffer bytes;
    bool in_use = false;
  };

  explicit Encoder(const Log& log);
  Status check_limits() const;
  Status check_frame(const cj2k_frame& frame) const;
  void encode(Slot& slot);
  void wait(Slot& slot);
  void finish(Slot& slot);
  void collect_stats(Slot& slot) const;
  Output* take_output(size_t bytes);
  void give_output(Output* output);
  Slot& oldest() { return *slots_[first_slot_]; }
  void free_oldest();

  Log log_;
  Plan plan_;
  std::unique_ptr<Threads> threads_;
  std::unique_ptr<Backend> backend_;
  std::vector<PacketScratch> packet_scratch_;  ///< one per worker
  std::vector<std::unique_ptr<Slot>>
      slots_;  ///< a ring: `num_in_flight_` of them from `first_slot_` on
  size_t first_slot_ = 0;
  size_t num_in_flight_ = 0;
  std::mutex outputs_mutex_;  ///< frames finish on any thread
  std::vector<std::unique_ptr<Output>> outputs_;
  uint64_t header_bytes_ = 0;
  bool draining_ = false;
};

}  // namespace cj2k
