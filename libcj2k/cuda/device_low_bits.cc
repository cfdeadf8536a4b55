// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/device_low_bits.h"

#include <array>

#include "core/sample.h"
#include "cuda/frame_reader.h"
#include "cuda/pixel_jobs.h"

namespace cj2k::cuda {

Status DeviceLowBits::create(simt::Context& context) {
  CJ2K_TRY(stream_.create(context, simt::Priority::kHigh));
  CJ2K_TRY(ready_.create(context));
  CJ2K_TRY(done_.create(context));
  CJ2K_TRY(first_.allocate(context, sizeof(uint64_t)));
  return found_.allocate(context, sizeof(uint64_t));
}

Status DeviceLowBits::find(const cj2k_frame& frame, LowBitsSample* found, bool* is_found) {
  const Status status = look(frame, found, is_found);
  // After an error the frame may still be read.
  if (status != Status::kOk && !stream_.context().poisoned()) (void)stream_.synchronize();
  return status;
}

Status DeviceLowBits::look(const cj2k_frame& frame, LowBitsSample* found, bool* is_found) {
  CJ2K_TRY(wait_for_producer(plan_, frame, stream_, ready_));
  PixelFormat stored = make_pixel_format(plan_);
  std::array<LowBitsOf, CJ2K_MAX_COMPONENTS> components{};
  FrameViews views{};
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const Component& component = plan_.components[c];
    stored.components[c].depth += component.low_bits;
    components[c] = {component.low_bits, component.rect.width(), component.rect.height()};
    views[c] = frame.components[c];
  }
  auto* const first = first_.as<uint64_t>();
  CJ2K_TRY(stream_.fill(first, 0xFF, sizeof *first));
  CJ2K_TRY(find_low_bits(stream_, stored, components.data(), views, first));
  auto* const brought = found_.as<uint64_t>();
  CJ2K_TRY(bring(brought, first, sizeof *first));
  const uint64_t place = *brought;
  *is_found = place != kNoPlace;
  if (!*is_found) return Status::kOk;
  const auto row = static_cast<uint32_t>(place >> 32);
  const uint32_t c = row % CJ2K_MAX_COMPONENTS;
  const auto x = static_cast<int32_t>(place & 0xFFFFFFFF);
  const auto y = static_cast<int32_t>(row / CJ2K_MAX_COMPONENTS);
  const cj2k_component_view& v = views[c];
  CJ2K_TRY(
      bring(brought,
            static_cast<const uint8_t*>(v.data) + y * v.stride_bytes + ptrdiff_t{x} * v.step_bytes,
            static_cast<size_t>(v.word_bytes)));
  const uint32_t word = load_word(found_.as<uint8_t>(), v.word_bytes);
  *found = {c, x, y, word >> v.shift & ((1u << stored.components[c].depth) - 1)};
  return Status::kOk;
}

Status DeviceLowBits::bring(void* to, const void* from, size_t bytes) {
  CJ2K_TRY(stream_.download(to, from, bytes));
  CJ2K_TRY(stream_.record(done_));
  return done_.synchronize();
}

}  // namespace cj2k::cuda
