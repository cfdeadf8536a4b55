// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "pixels/read_samples.h"

#include <cstddef>

namespace cj2k {

int ReadSamples::read(const Plan& plan, const cj2k_frame& frame, const Rect* rects,
                      cj2k_component_view* views) {
  cj2k_read_part parts[CJ2K_MAX_COMPONENTS] = {};
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const Rect& all = plan.components[c].rect;
    const Rect& rect = rects[c];
    const cj2k_component_view& layout = frame.components[c];
    const auto row_bytes =
        static_cast<size_t>(rect.width()) * static_cast<size_t>(layout.word_bytes);
    const size_t bytes = row_bytes * static_cast<size_t>(rect.height());
    if (memory_[c].bytes() < bytes) memory_[c] = HostBuffer(bytes);
    auto* const data = memory_[c].as<uint8_t>();
    const auto stride = static_cast<ptrdiff_t>(row_bytes);
    parts[c] = {data, stride, rect.x0 - all.x0, rect.y0 - all.y0, rect.width(), rect.height()};
    views[c] = {data, stride, layout.word_bytes, layout.word_bytes, layout.shift};
  }
  return frame.read(frame.read_opaque, parts);
}

}  // namespace cj2k
