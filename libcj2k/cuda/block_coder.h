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
  const PlanTables& tables;
  const GopMemory& memory;
  const PinnedLayout& pinned;
  const simt::DeviceBuffer& table_memory;
};

/// Bytes of a block in GopMemory::coded.
struct BlockPiece {
  uint64_t from;  ///< a multiple of 16
  uint32_t length_bytes;
};
inline constexpr uint32_t kMostPieces = 2;

/// A block coder; there is one per GOP in flight. The caller makes the context current and makes
/// one call at a time. After an error, enqueued work may still run.
class DeviceBlockCoder {
 public:
  virtual ~DeviceBlockCoder() = default;
  /// Enqueues the work before block coding: quantisation, and the initial state of the blocks. A
  /// coder that needs results of it on the host waits for them, here or in `code`.
  /// @param samples  coefficients of the frames
  virtual Status begin(CudaGopWork& work, const Samples& samples) = 0;
  /// Does Backend::code_blocks and waits for the results. Records work.begin and work.end for the
  /// time that it takes.
  virtual Status code(CudaGopWork& work, std::span<BlockRequest> requests,
                      const BlockSample& sample) = 0;
  /// Whether the bytes of hull point `points` of a block came with the results: CodedBlock::data has
  /// them. May be called by several threads.
  virtual bool has_bytes(CudaGopWork&, uint32_t, uint32_t) { return false; }
  /// Where the bytes of hull point `points` of a block are: in the device memory of
  /// GopMemory::coded.
  /// @param number  of the block in the GOP
  /// @param pieces  [kMostPieces] written
  /// @return number of pieces. May be called by several threads.
  virtual uint32_t pieces(CudaGopWork& work, uint32_t number, uint32_t points,
                          BlockPiece* pieces) = 0;
  /// Says where one of these pieces is in host memory, from fetch on.
  virtual void set_bytes(CudaGopWork& work, uint32_t number, uint32_t points, uint32_t piece,
                         uint8_t* bytes) = 0;
};

/// Creates the EBCOT block coder. Throws std::bad_alloc.
Status make_device_ebcot(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder);
/// Creates the HT block coder. Throws std::bad_alloc.
Status make_device_ht(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder);

}  // namespace cj2k::cuda
