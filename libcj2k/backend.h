// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a backend must give: from a frame's samples to coded blocks. Rate and packets follow on the host for all of them.
#pragma once

#include <memory>

#include "base/status.h"
#include "cj2k.h"
#include "plan.h"
#include "stages/coded_block.h"

namespace cj2k {

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
  /// Reads the samples of a checked frame into `work` (ingest, colour). The frame may be released afterwards.
  virtual Status ingest(const cj2k_frame& frame, FrameWork& work, cj2k_stats& stats) = 0;
  /// DWT, quantisation, tier-1.
  virtual Status encode(FrameWork& work, cj2k_stats& stats) = 0;
};

/// Call inside the arena that will run it. Throws std::bad_alloc. `plan` must outlive the backend.
std::unique_ptr<Backend> make_cpu_backend(const Plan& plan);

}  // namespace cj2k
