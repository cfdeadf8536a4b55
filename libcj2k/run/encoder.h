// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// READ FIRST. How a frame goes through the encoder:
//
//   send -> check -> GOP: ingest -> transform -> code blocks <-> rate control -> fetch -> packets
//                         (gop.h)                                                       -> receive
//
//   ingest       samples to coefficients of the first wavelet level  }
//   transform    the other levels                                    }  a backend (backend.h):
//   code blocks  quantisation and block coding, as far as a stop     }  the CPU or a GPU
//                rule says (depth/stop_rule.h)                      }
//   rate control chooses the truncation points (rate/rate.h); with stop = exact some blocks may
//                resume after it (depth/early_stop.h), until its choice is final. A GPU may do both
//                for a whole GOP, with the fetch (BlockOutcome::result)
//   fetch        copies the bytes up to these points                    the backend again
//   packets      headers and bytes (packets/packets.h)
//
// A GOP is `gop` frames that go through the stages together (gop.h). The encoder has
// async_depth / gop GOPs in a ring. Each has a thread of its own that drives it, and the loops of
// that thread share the encoder's threads (base/threads.h). On the CPU with one
// thread, GOPs have no threads: the call that fills a GOP encodes it. open starts all threads. If
// the system refuses some, the encoder works with fewer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "cj2k.h"
#include "depth/early_stop.h"
#include "packets/packets.h"
#include "plan/plan.h"
#include "run/frame_check.h"
#include "run/gop.h"

namespace cj2k {

/// In the oldest header cj2k_frame ends with `components`.
inline constexpr size_t kMinFrameBytes = offsetof(cj2k_frame, pts);

/// One thread may send while another receives. `mutex_` guards what they share. It is not held
/// while samples are read or while a GOP is waited for. During flush and the destructor no other
/// call may run.
class Encoder {
 public:
  /// Checks the parameters, makes the plan, reserves all memory and starts the threads. Throws
  /// std::bad_alloc.
  static Status open(const cj2k_params& params, const Log& log, std::unique_ptr<Encoder>* encoder);
  ~Encoder();

  /// Says what open would reserve. It touches no device.
  static Status describe(const cj2k_params& params, const Log& log, cj2k_info* info);
  void info(cj2k_info* info) const;
  /// The parameters, with each "chosen" and AUTO replaced by its value.
  void params(cj2k_params* params) const;
  /// @param frame  a caller's struct from any header (caller_struct.h); null: drain
  Status send(const cj2k_frame* frame);
  /// Whether send would take a frame now.
  bool takes_frames();
  /// Fills `packet` if it returns kOk or the error of a frame, but not with kAgain and kEof.
  Status receive(cj2k_packet* packet);
  /// @param timeout_ms  negative: no limit
  Status receive_timed(cj2k_packet* packet, int timeout_ms);
  Status flush();

 private:
  explicit Encoder(const Log& log);
  Status make_frame_check(const cj2k_params& asked);
  Status check_frame(const cj2k_frame& frame, RateLimits* limits) const;
  int64_t extra_bytes() const;
  Status open_backends();
  Status open_cuda(const DeviceList& devices, const Log& log);
  Status reserve(bool own_threads);
  void start_threads();
  Gop& gop(size_t i) { return *gops_[(first_gop_ + i) % gops_.size()]; }
  Status drain();
  Status take(Gop& oldest, cj2k_packet* packet);
  // Call these two with mutex_ held.
  int num_frames_in_flight();
  /// The GOP that the next frame goes to; null: all are full.
  Gop* filling();

  Log log_;
  Plan plan_;
  std::optional<FrameCheck> frame_check_;
  std::unique_ptr<Threads> threads_;
  std::vector<std::unique_ptr<Backend>> backends_;  ///< GOP i uses backend i % size
  std::vector<PacketScratch> packet_scratch_;       ///< one per worker
  std::unique_ptr<BlockSample> sample_;
  std::shared_ptr<PacketMemory> packets_;
  std::unique_ptr<StopFeedback> feedback_;
  StepChoice steps_;
  ReadingTurns reading_;
  std::optional<GopShared> shared_;
  std::vector<std::unique_ptr<Gop>> gops_;  ///< a ring; those in flight begin at `first_gop_`
  uint64_t header_bytes_ = 0;

  std::mutex send_mutex_, receive_mutex_;  ///< held for a whole call, locked before mutex_
  std::mutex mutex_;                       ///< guards the members below
  std::condition_variable changed_;        ///< a GOP has its first frame, or draining has begun
  size_t first_gop_ = 0;
  size_t num_in_flight_ = 0;  ///< GOPs that have frames
  bool draining_ = false;
};

}  // namespace cj2k
