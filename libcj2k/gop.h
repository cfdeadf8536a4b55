// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One GOP in flight: its frames from the caller's samples to packets.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "backend.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "cj2k.h"
#include "packet_memory.h"
#include "plan.h"
#include "stages/early_stop.h"
#include "stages/packets.h"
#include "stages/picture_error.h"
#include "stages/rate.h"
#include "stages/stop_rule.h"
#include "stop_feedback.h"

namespace cj2k {

/// What all GOPs of an encoder share.
struct GopShared {
  const Plan& plan;
  const Log& log;
  const BlockSample& sample;
  std::vector<PacketScratch>& packet_scratch;  ///< one per worker
  PacketMemory& packets;
  StopFeedback& feedback;
  Threads& threads;
};

/// Filled by one thread of the caller's, emptied by another, driven by its own or the first.
class Gop {
 public:
  struct Frame;

  /// @param own_thread  false, or where the system refuses one: the work is done in the calls
  /// themselves. Throws std::bad_alloc.
  Gop(const GopShared& shared, Backend& backend, std::unique_ptr<GopWork> work, bool own_thread);
  ~Gop();
  Gop(const Gop&) = delete;
  Gop& operator=(const Gop&) = delete;

  /// Why there is no thread of its own, an errno value; 0: there is, or none was asked for.
  int thread_error() const { return thread_error_; }
  bool full() const { return num_frames_ == frames_.size(); }
  /// Frames that have been added and not taken yet.
  size_t num_left() const { return num_frames_ - num_taken_; }
  /// No frame can be added before clear.
  bool closed() const { return closed_; }
  bool taking() const { return num_taken_ > 0; }

  /// A checked frame, while there is room. Without `release` its samples are read here; an error
  /// of that leaves the GOP as it was.
  Status add(const cj2k_frame& frame, const RateLimits& limits);
  /// No more frames come.
  void close();
  /// Waits until it is closed and all its frames are done.
  /// @param until  none: without a limit
  /// @return false: they are not
  bool wait_done(const std::optional<std::chrono::steady_clock::time_point>& until = {});
  /// The next frame's packet or error, in their order, after wait_done. Fills `packet` with both;
  /// of an error, error_text is the line.
  Status take(cj2k_packet* packet);
  /// Drops what is in it, after the work in progress, and makes it empty. Also after the last take.
  void clear();

 private:
  void run();
  template <typename Work>
  void drive(const Work& work);
  Status fail_caught(const Frame& frame) const;
  void fail(Frame& frame, Status status);
  void warn_if_device_failed(Frame& frame) const;
  void fail_all(size_t frames);
  void ingest(Frame& frame);
  void encode();
  Status code_blocks(const SlopeThresholds& previous);
  Status code_requests();
  void allocate();
  Status measure_errors();
  Status fetch();
  void make_packets();
  template <typename Step>
  void guard(const Step& step);
  void publish();
  void finish(Frame& frame);
  void collect_stats(const Frame& frame);

  const GopShared& shared_;
  const Plan& plan_;
  const Log& log_;
  Backend& backend_;
  std::unique_ptr<GopWork> work_;
  std::vector<std::unique_ptr<Frame>> frames_;  ///< [gop]
  std::vector<cj2k_stats> stats_;               ///< [gop]
  std::vector<uint32_t> live_;                  ///< frames without an error so far
  std::vector<uint32_t> open_;                  ///< of these, frames that have blocks to code
  std::vector<BlockRequest> requests_;
  std::vector<FetchRequest> fetches_;
  std::unique_ptr<PictureError> error_;  ///< with measure_mse
  uint64_t number_ = 0;                  ///< in the sequence
  bool has_number_ = false;              ///< and has not published yet
  SlopeThresholds ended_{};              ///< where the last frame's rate control ended
  std::atomic<size_t> num_taken_ = 0;

  // Between the caller's threads and the GOP's. The first two are written with the mutex held.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<size_t> num_frames_ = 0;  ///< added
  std::atomic<bool> closed_ = false;
  bool dropped_ = false;  ///< nobody will take the packets
  bool done_ = false;
  bool quit_ = false;
  std::thread thread_;
  int thread_error_ = 0;
};

}  // namespace cj2k
