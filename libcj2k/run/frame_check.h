// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The checks that a frame must pass before the encoder takes it.
#pragma once

#include <cstdint>

#include "backend.h"
#include "base/log.h"
#include "base/status.h"
#include "base/threads.h"
#include "cj2k.h"
#include "plan/plan.h"
#include "rate/rate.h"

namespace cj2k {

class FrameCheck {
 public:
  /// @param asked_quality  true: the caller set `quality`; false: the library chose it
  FrameCheck(const Plan& plan, bool asked_quality);

  /// Checks the caps of the parameters, so that a cap that no frame can meet is refused before the
  /// first frame.
  Status check_plan(const Log& log) const;
  /// The smallest caps that check_plan accepts.
  const SmallestBytes& smallest() const { return smallest_; }
  /// Checks the kind of memory, the size and the component views, but not whether the backend can
  /// read that memory.
  Status check_samples(const cj2k_frame& frame, const Log& log) const;
  /// With low_bits = refuse: reads a frame that has passed check_samples for low bits that must not
  /// be there.
  /// @param backend  reads frames in its memory
  Status check_low_bits(const cj2k_frame& frame, Threads& threads, Backend& backend,
                        const Log& log) const;
  /// The limits of this frame: those of the plan, except where the frame has its own.
  Status limits(const cj2k_frame& frame, const Log& log, RateLimits* limits) const;

 private:
  Status check_component(const cj2k_frame& frame, uint32_t c, const Log& log) const;
  Status check_cap(const char* name, int64_t cap, uint64_t least_bytes, const char* what,
                   const Log& log) const;
  Status check_profile_cap(const char* name, int64_t cap, int64_t most, const Log& log) const;

  const Plan& plan_;
  const bool asked_quality_;
  const bool refuses_low_bits_;
  const SmallestBytes smallest_;
  const RateLimits plan_limits_;
};

}  // namespace cj2k
