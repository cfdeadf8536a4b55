// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend.h"
#include "base/buffer.h"
#include "cuda/frame_reader.h"
#include "cuda/pinned_memory.h"
#include "kernels/simt/device.h"

namespace cj2k::cuda {

class DeviceBlockCoder;  // cuda/block_coder.h

/// The memory, the stream and the results of a GOP in flight.
class CudaGopWork final : public GopWork {
 public:
  explicit CudaGopWork(const Plan& plan)
      : blocks_(static_cast<size_t>(plan.params.gop) * plan.blocks.size()),
        num_blocks_(plan.blocks.size()) {
    coded_frames.reserve(static_cast<size_t>(plan.params.gop));
    transformed_frames.reserve(static_cast<size_t>(plan.params.gop));
  }
  ~CudaGopWork() override;

  const CodedBlock* blocks(uint32_t frame) const override {
    return blocks_.data() + frame * num_blocks_;
  }
  /// @param number  of the block in the GOP
  CodedBlock& block(uint32_t number) { return blocks_[number]; }
  size_t num_blocks() const { return blocks_.size(); }

  simt::DeviceBuffer device;  ///< laid out by GopMemory
  simt::PinnedBuffer pinned;  ///< laid out by PinnedLayout
  simt::PinnedBuffer input;   ///< [PinnedLayout::input_bytes] empty before the first frame needs it
  PinnedPool hulls, bytes;
  /// Everything but tier-1, with a high priority: what waits behind the long kernels of another GOP
  /// is short, and this GOP's tier-1 waits for it. `coding` runs tier-1 (EBCOT alone) with a middle
  /// one, in turn with `stream`: no work of a GOP runs beside other work of it but for uploads and
  /// level 1. Context modelling of many blocks has a low one (tier1_coder.cc). So of two GOPs, the one
  /// that is further on is preferred, and GOPs do not end all at once while the device waits.
  simt::Stream stream, coding;
  simt::Event to_code, coded;  ///< order these two streams
  // They measure the time of device work. begin and end: of block coding, of fetch.
  simt::Event transform_begin, transformed, quantised, begin, end;
  FrameEvents frame_events;
  std::unique_ptr<DeviceBlockCoder> coder;
  std::vector<uint32_t> coded_frames;  ///< frames of the call in progress
  /// Frames whose times of the transform are not in their statistics yet.
  std::vector<uint32_t> transformed_frames;
  HostBuffer coefficients;  ///< coefficients of one frame, if keeps_coefficients
  std::mutex ingest;        ///< two threads may read frames: the caller's and the GOP's

 private:
  std::vector<CodedBlock> blocks_;
  const size_t num_blocks_;
};

}  // namespace cj2k::cuda
