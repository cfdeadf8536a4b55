// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The interface of block coders in the CUDA backend. A block coder turns the coefficients of a GOP
// in device memory into CodedBlocks and their bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backend.h"
#include "cuda/gop_memory.h"
#include "cuda/gop_work.h"
#include "cuda/pinned_memory.h"
#include "kernels/simt/device.h"

namespace cj2k::cuda {

/// What a block coder is created from. Everything here must outlive the coder.
struct DeviceCoderSetup {
  const Plan& plan;
  simt::Context& context;
  Tier1Form form;
  const PlanTables& tables;
  const GopMemory& memory;
  const PinnedLayout& pinned;
  const simt::DeviceBuffer& table_memory;
};

/// A block coder; there is one per GOP in flight. The caller makes the context current and makes
/// one call at a time. After an error, enqueued work may still run.
class DeviceBlockCoder {
 public:
  virtual ~DeviceBlockCoder() = default;
  /// Enqueues the work before block coding: quantisation, and the initial state of the blocks.
  /// @param samples  coefficients of the frames
  virtual Status begin(CudaGopWork& work, const Samples& samples) = 0;
  /// Does Backend::code_blocks and waits for the results. Records work.begin and work.end for the
  /// time that it takes.
  virtual Status code(CudaGopWork& work, std::span<BlockRequest> requests,
                      const BlockSample& sample) = 0;
  /// Enqueues a copy of the first bytes of each job's block to `to`, in device memory.
  /// @param jobs  [count] in device memory
  virtual Status gather(CudaGopWork& work, const GatherJob* jobs, uint32_t count, uint8_t* to) = 0;
};

/// Creates the EBCOT block coder. Throws std::bad_alloc.
Status make_device_ebcot(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder);

}  // namespace cj2k::cuda
