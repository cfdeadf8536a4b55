// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where a block coder plugs into the CUDA backend: from the coefficients of a GOP in device memory
// to its CodedBlocks, and their bytes.
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

/// What the coder of one device is made from; all of it outlives the coder.
struct DeviceCoderSetup {
  const Plan& plan;
  simt::Context& context;
  Tier1Form form;
  const PlanTables& tables;
  const GopMemory& memory;
  const PinnedLayout& pinned;
  const simt::DeviceBuffer& table_memory;
};

/// One per GOP in flight. Calls come with the context current, one after the other. After an error
/// enqueued work may still run.
class DeviceBlockCoder {
 public:
  virtual ~DeviceBlockCoder() = default;
  /// Enqueues what comes before block coding: quantisation, a GOP's clean state.
  /// @param samples  coefficients of the frames
  virtual Status begin(CudaGopWork& work, const Samples& samples) = 0;
  /// Backend::code_blocks; waits for the results. The times go to work.begin and work.end.
  virtual Status code(CudaGopWork& work, std::span<BlockRequest> requests,
                      const BlockSample& sample) = 0;
  /// Enqueues the copy of the first bytes of blocks to one place in device memory.
  /// @param jobs  [count] in device memory
  virtual Status gather(CudaGopWork& work, const GatherJob* jobs, uint32_t count, uint8_t* to) = 0;
};

/// coder = ebcot. Throws std::bad_alloc.
Status make_device_ebcot(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder);

}  // namespace cj2k::cuda
