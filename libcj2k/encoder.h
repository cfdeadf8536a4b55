// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// READ FIRST. The way of a frame:
//
//   send -> check -> GOP: ingest -> transform -> code blocks <-> rate control -> fetch -> packets
//                         (gop.h)                                                       -> receive
//
//   ingest       samples to coefficients of the first wavelet level  }
//   transform    the other levels                                    }  a backend (backend.h):
//   code blocks  quantisation and block coding, as far as a rule     }  the CPU or a GPU
//                says (stages/stop_rule.h)                           }
//   rate control which truncation points go in (stages/rate.h); with stop = exact it may ask for
//                more of some blocks (stages/early_stop.h), until what it chose is final
//   fetch        the bytes of these points                              the backend again
//   packets      headers and bytes (stages/packets.h)
//
// A GOP is `gop` frames that go through the stages together (gop.h). `async_depth` frames' worth
// of GOPs go round; each has a thread of its own that drives it, and whose loops share the threads
// of the encoder's arena (base/threads.h). With one CPU thread there is none: the call that fills a
// GOP encodes it. All threads are started by open; it goes on with fewer where the system refuses
// some.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "cj2k.h"
#include "frame_check.h"
#include "gop.h"
#include "plan.h"
#include "stages/early_stop.h"
#include "stages/packets.h"

namespace cj2k {

/// One thread may send while another receives; what they share is behind `mutex_`, which is held
/// neither while samples are read nor while a GOP is waited for. flush and the destructor come
/// alone.
class Encoder {
 public:
  /// Checks, plans, reserves. Throws std::bad_alloc.
  static Status open(const cj2k_params& params, const Log& log, std::unique_ptr<Encoder>* encoder);
  ~Encoder();

  /// What open would reserve; no device is touched.
  static Status describe(const cj2k_params& params, const Log& log, cj2k_info* info);
  void info(cj2k_info* info) const;
  /// What was asked for, with what was chosen.
  void params(cj2k_params* params) const;
  /// @param frame  a caller's, of any header (caller_struct.h); null: drain
  Status send(const cj2k_frame* frame);
  /// Fills `packet` with kOk, and with the error of a frame; not with kAgain and kEof.
  Status receive(cj2k_packet* packet);
  /// @param timeout_ms  negative: no limit
  Status receive_timed(cj2k_packet* packet, int timeout_ms);
  Status flush();

 private:
  explicit Encoder(const Log& log);
  Status make_frame_check(const cj2k_params& asked);
  Status check_frame(const cj2k_frame& frame, RateLimits* limits) const;
  Status open_backends();
  Status open_cuda(const DeviceList& devices, const Log& log);
  Status reserve(bool own_threads);
  void start_threads();
  Gop& gop(size_t i) { return *gops_[(first_gop_ + i) % gops_.size()]; }
  Status drain();
  Status take(Gop& oldest, cj2k_packet* packet);
  // With mutex_ held.
  int num_frames_in_flight();
  /// The GOP that the next frame goes to; null: all are full.
  Gop* filling();

  Log log_;
  Plan plan_;
  std::optional<FrameCheck> frame_check_;
  std::unique_ptr<Threads> threads_;
  std::vector<std::unique_ptr<Backend>> backends_;  ///< GOPs go round
  std::vector<PacketScratch> packet_scratch_;       ///< one per worker
  std::unique_ptr<BlockSample> sample_;
  std::shared_ptr<PacketMemory> packets_;
  std::unique_ptr<StopFeedback> feedback_;
  std::optional<GopShared> shared_;
  std::vector<std::unique_ptr<Gop>> gops_;  ///< a ring: `num_in_flight_` from `first_gop_` on
  uint64_t header_bytes_ = 0;

  std::mutex send_mutex_, receive_mutex_;  ///< of a whole call; taken before mutex_
  std::mutex mutex_;                       ///< of what follows
  std::condition_variable changed_;        ///< a GOP is in flight, or the encoder drains
  size_t first_gop_ = 0;
  size_t num_in_flight_ = 0;  ///< with frames in them
  bool draining_ = false;
};

}  // namespace cj2k
