// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One GOP in flight: it takes its frames from the caller's samples to packets.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "backend.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "cj2k.h"
#include "depth/early_stop.h"
#include "depth/stop_rule.h"
#include "packets/packets.h"
#include "plan/plan.h"
#include "rate/rate.h"
#include "run/frame_proof.h"
#include "run/packet_memory.h"
#include "run/picture_error.h"
#include "run/reading_turns.h"
#include "run/step_choice.h"
#include "run/stop_feedback.h"

namespace cj2k {

/// What all GOPs of an encoder share.
struct GopShared {
  const Plan& plan;
  const Log& log;
  const BlockSample& sample;
  std::vector<PacketScratch>& packet_scratch;  ///< one per worker
  PacketMemory& packets;
  StopFeedback& feedback;
  StepChoice& steps;
  Threads& threads;
  ReadingTurns& reading;
};

/// One thread of the caller fills it, another may empty it. Its own thread does the work or, if it
/// has none, the thread that fills it.
class Gop {
 public:
  struct Frame;

  /// Throws std::bad_alloc.
  /// @param own_thread  true: start a thread for the work. If it is false, or the system refuses
  ///                    the thread, the calls below do the work themselves.
  Gop(const GopShared& shared, Backend& backend, std::unique_ptr<GopWork> work, bool own_thread);
  ~Gop();
  Gop(const Gop&) = delete;
  Gop& operator=(const Gop&) = delete;

  /// An errno value: why the system refused the thread; 0: there is one, or none was asked for.
  int thread_error() const { return thread_error_; }
  bool full() const { return num_frames_ == frames_.size(); }
  /// Frames that were added and not taken yet.
  size_t num_left() const { return num_frames_ - num_taken_; }
  /// Whether the GOP takes no more frames until clear.
  bool closed() const { return closed_; }
  bool taking() const { return num_taken_ > 0; }

  /// Adds a checked frame; the GOP must not be full. If the frame has no `release`, its samples are
  /// read in this call, and an error leaves the GOP unchanged.
  Status add(const cj2k_frame& frame, const RateLimits& limits);
  /// Says that no more frames come.
  void close();
  /// Waits until the GOP is closed and all its frames are done.
  /// @param until  when to give up; none: never
  /// @return whether all frames are done
  bool wait_done(const std::optional<std::chrono::steady_clock::time_point>& until = {});
  /// Gives the packet or the error of the next frame, in order. Call it after wait_done. It fills
  /// `packet` in both cases; after an error, error_text is the log line.
  Status take(cj2k_packet* packet);
  /// Waits for the work in progress, drops all frames and makes the GOP empty. Call it also after
  /// the last take.
  void clear();

 private:
  void run();
  Status fail_caught(const Frame& frame) const;
  void fail(Frame& frame, Status status);
  void warn_if_device_failed(Frame& frame) const;
  void fail_all(size_t frames);
  Status read(Frame& frame);
  Status fail_read(const Frame& frame, int error) const;
  void ingest(Frame& frame);
  void release_frames();
  void release_read_frames();
  bool holds_frames() const;
  void encode();
  Status code_blocks(const SlopeThresholds& previous, std::optional<uint32_t> step_set);
  Status code_frames(std::span<const uint32_t> frames, const SlopeThresholds& previous,
                     std::optional<uint32_t> step_set);
  Status code_requests();
  void drop_failed(std::vector<uint32_t>& frames) const;
  Status analyse();
  void allocate();
  void allocate(Frame& frame);
  Status look_at_coefficients();
  void cut(Frame& frame, const RateLimits& limits);
  void reach_layer_psnr(Frame& frame, const CoefficientPlanes& planes);
  void reach_psnr(Frame& frame, const CoefficientPlanes& planes);
  void make_packets();
  void prove(Frame& frame);
  template <typename Step>
  void guard(const Step& step);
  void publish();
  void encode_headers(Frame& frame);
  void finish(Frame& frame);
  void collect_stats(const Frame& frame);
  void keep_curve(const Frame& frame);

  const GopShared& shared_;
  const Plan& plan_;
  const Log& log_;
  Backend& backend_;
  std::unique_ptr<GopWork> work_;
  std::vector<std::unique_ptr<Frame>> frames_;  ///< [gop]
  std::vector<cj2k_stats> stats_;               ///< [gop]
  std::vector<uint32_t> live_;                  ///< frames without an error so far
  std::vector<uint32_t> open_;                  ///< frames of live_ that have blocks to code
  std::vector<BlockRequest> requests_;
  std::vector<FetchRequest> fetches_;    ///< of frames whose hull points the host has chosen
  uint64_t empty_bytes_ = 0;             ///< with curves = with: of a frame without any block
  std::unique_ptr<PictureError> error_;  ///< with measure_mse
  std::unique_ptr<FrameProof> proof_;    ///< with verify
  uint64_t number_ = 0;                  ///< of the GOP, from StopFeedback::begin
  bool has_number_ = false;              ///< number_ is set and not published yet
  std::optional<uint64_t> turn_;         ///< to read frames; none: in any order
  bool chooses_steps_ = false;           ///< with keeps_steps: this GOP has not published them yet
  SlopeThresholds ended_{};              ///< where rate control of the last frame ended
  std::atomic<size_t> num_taken_ = 0;    ///< frames taken

  // Shared by the caller's threads and the GOP's. num_frames_ and closed_ are written with the
  // mutex held.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<size_t> num_frames_ = 0;  ///< frames added
  std::atomic<bool> closed_ = false;
  bool dropped_ = false;  ///< nobody will take the packets
  bool done_ = false;
  bool quit_ = false;
  std::thread thread_;
  int thread_error_ = 0;
};

}  // namespace cj2k
