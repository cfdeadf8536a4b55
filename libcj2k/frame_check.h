// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a frame must fulfil before it is taken.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "plan.h"
#include "stages/rate.h"

namespace cj2k {

class FrameCheck {
 public:
  /// @param asked_quality  the caller set the parameter, it is not the default
  FrameCheck(const Plan& plan, bool asked_quality);

  /// Refuses caps that no frame can meet before the first one comes.
  Status check_plan(const Log& log) const;
  /// Where the samples lie, and how many. Says nothing about devices.
  Status check_samples(const cj2k_frame& frame, const Log& log) const;
  /// The plan's limits, with the frame's own in their place.
  Status limits(const cj2k_frame& frame, const Log& log, RateLimits* limits) const;

 private:
  Status check_component(const cj2k_component_view& view, uint32_t c, const Log& log) const;
  Status check_cap(const char* name, int64_t cap, uint64_t least_bytes, const char* what,
                   const Log& log) const;

  const Plan& plan_;
  const bool asked_quality_;
  const SmallestBytes smallest_;
  const RateLimits plan_limits_;
};

}  // namespace cj2k
