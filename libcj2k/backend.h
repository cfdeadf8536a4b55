// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a backend must give: from a frame's samples to coded blocks. Rate and packets follow on the
// host for all of them.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "base/status.h"
#include "cj2k.h"
#include "plan.h"
#include "stages/coded_block.h"

namespace cj2k {

/// 16-bit log-slope per component at which coding of a block may stop.
using SlopeThresholds = std::array<uint16_t, CJ2K_MAX_COMPONENTS>;

/// Memory and results of one frame in flight.
class FrameWork {
 public:
  virtual ~FrameWork() = default;
  /// [plan.blocks], valid until the next encode with the same FrameWork.
  virtual const CodedBlock* blocks() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual std::unique_ptr<FrameWork> make_frame_work() = 0;
  /// Planned host bytes of one FrameWork.
  virtual int64_t frame_work_bytes() const = 0;
  /// Reads the samples of a checked frame into `work` (ingest, colour). The frame may be released
  /// afterwards.
  virtual Status ingest(const cj2k_frame& frame, FrameWork& work, cj2k_stats& stats) = 0;
  /// Colour planes to transform coefficients, in place. Forgets the coded blocks of the frame
  /// before.
  virtual Status transform(FrameWork& work, cj2k_stats& stats) = 0;
  /// Quantisation and tier-1 of some blocks, by index. Each is coded until its last hull slope is
  /// below the threshold of its component (0: to the last plane); one that an earlier call left
  /// above that goes on where it stopped.
  virtual Status code_blocks(FrameWork& work, std::span<const uint32_t> blocks,
                             const SlopeThresholds& thresholds, cj2k_stats& stats) = 0;
};

/// Throws std::bad_alloc. `plan` must outlive the backend. Call inside the arena that will run it.
std::unique_ptr<Backend> make_cpu_backend(const Plan& plan);

}  // namespace cj2k
