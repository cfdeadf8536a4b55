// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Looks at frames in device memory for low bits that would be lost (pixels/low_bits.h).
#pragma once

#include "cj2k.h"
#include "kernels/pixels/low_bits.h"
#include "kernels/simt/device.h"
#include "pixels/low_bits.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// For the frames of one encoder, one after the other. The caller makes the context current.
class DeviceLowBits {
 public:
  /// `plan` must outlive it.
  explicit DeviceLowBits(const Plan& plan) : plan_(plan) {}
  Status create(simt::Context& context);
  /// Waits for the frame's producer, as FrameReader::enqueue does, and for the result.
  Status find(const cj2k_frame& frame, LowBitsSample* found, bool* is_found);

 private:
  Status look(const cj2k_frame& frame, LowBitsSample* found, bool* is_found);
  Status bring(void* to, const void* from, size_t bytes);

  const Plan& plan_;
  simt::Stream stream_;
  simt::Event ready_, done_;
  simt::DeviceBuffer first_;
  simt::PinnedBuffer found_;
};

}  // namespace cj2k::cuda
