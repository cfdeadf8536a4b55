// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Samples that the caller's function gives (cj2k_frame::read).
#pragma once

#include "base/buffer.h"
#include "cj2k.h"
#include "plan/plan.h"

namespace cj2k {

/// Whether the samples of a checked frame are not in memory: the caller's function is still to be called.
inline bool needs_read(const cj2k_frame& frame) {
  return frame.read != nullptr && frame.components[0].data == nullptr;
}

/// Memory for a part of a frame. It grows, and is reused.
class ReadSamples {
 public:
  /// Calls cj2k_frame::read. Throws std::bad_alloc.
  /// @param rects  [components] the part, each on its component's own grid
  /// @param views  [components] result: the part in memory, valid until the next call
  /// @return 0, or what the function returned
  int read(const Plan& plan, const cj2k_frame& frame, const Rect* rects,
           cj2k_component_view* views);

 private:
  HostBuffer memory_[CJ2K_MAX_COMPONENTS];
};

}  // namespace cj2k
