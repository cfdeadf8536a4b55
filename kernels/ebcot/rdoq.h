// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ for EBCOT (coders/ebcot/rdoq.h has the model) on the GPU: quantises blocks, changes magnitudes
// where the bits saved are worth more than the error added, and makes bit-planes. The results are those of
// simd::rdoq_block.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "core/overlaps.h"
#include "kernels/ebcot/quantize.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// How the blocks of a frame are quantised (BlockOrder).
struct RdoqFrame {
  uint32_t step_set;
  /// [component] BlockOrder::rdoq; slope[0] = 0: the blocks of this frame are left alone.
  uint16_t slope[CJ2K_MAX_COMPONENTS];
  /// [component] blocks may pause: the threshold is not 0.
  bool pauses[CJ2K_MAX_COMPONENTS];
  /// [component] rdoq_error of `slope`, and of the slope kRdoqDepth below it (0 if that is 0).
  double error[CJ2K_MAX_COMPONENTS], lower_error[CJ2K_MAX_COMPONENTS];
};

struct RdoqParams {
  const QuantizeJob* quantize;  ///< [step set][num_blocks]
  Samples samples;
  /// Null: coefficients are in `samples`. Else those of the blocks are here, where QuantizeJob::source says,
  /// frame f at f * shifted_samples.
  const float* shifted;
  uint64_t shifted_samples;
  const RdoqFrame* frames;   ///< [frame] in device memory
  const Overlaps* overlaps;  ///< [num_blocks] RdoqBlock::overlaps, in device memory
  uint32_t style;            ///< CJ2K_STYLE_*
  bool reversible;
  int rounds;  ///< RdoqBlock::rounds
};

struct RdoqOutput {
  /// RdoqResult::removed by pass, where Tier1Buffers::passes has the passes of the block.
  int64_t* removed;
  double* totals;        ///< [blocks of the GOP] RdoqResult::total
  uint8_t* last_planes;  ///< [blocks of the GOP] the lowest plane to code
};

/// For each block of the list, if its frame has RDOQ: writes its bit-planes and magnitudes, what RDOQ
/// removes, and its last plane, and sets its Tier1State to zero.
Status rdoq_quantize(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                     const RdoqParams& params, const RdoqOutput& output);

}  // namespace cj2k::cuda
