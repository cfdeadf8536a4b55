// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/rate/slopes.cuh"
#include "kernels/rate/slopes.h"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(slopes_accumulate, cj2k::cuda::slopes::Accumulate)
CJ2K_KERNEL(slopes_predict, cj2k::cuda::slopes::Predict)
CJ2K_KERNEL(plane_slopes, cj2k::cuda::slopes::PlaneSlopes)
CJ2K_KERNEL(plane_thresholds, cj2k::cuda::slopes::PlaneThresholds)
CJ2K_KERNEL(plane_mark_slopes, cj2k::cuda::slopes::MarkBySlope)
CJ2K_KERNEL(plane_bytes, cj2k::cuda::slopes::PlaneBytes)
CJ2K_KERNEL(plane_mark_bytes, cj2k::cuda::slopes::MarkByBytes)

namespace cj2k::cuda {
namespace {

/// A grid with one row of thread blocks per frame.
template <typename Kernel>
simt::Dim3 over_blocks(const Tier1Buffers& buffers, uint32_t num_frames) {
  return {(buffers.num_blocks + Kernel::kThreads - 1) / Kernel::kThreads, num_frames};
}

}  // namespace

Status slopes_accumulate(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                         const Tier1Output& output, const uint32_t* weights,
                         const SlopeTables& tables) {
  constexpr uint32_t kWarps = slopes::Accumulate::kThreads / 32;
  return simt::launch<slopes::Accumulate>(stream, {(list.count() + kWarps - 1) / kWarps},
                                          {buffers, list, output, weights, tables});
}

Status slopes_predict(simt::Stream& stream, const SlopeTables& tables, uint32_t num_frames,
                      const FrameTargets& targets, uint16_t* thresholds) {
  return simt::launch<slopes::Predict>(stream, {num_frames}, {tables, targets, thresholds});
}

Status stop_by_slope_bytes(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                           uint32_t plane, const FrameTargets& targets,
                           const PlaneDecisions& decisions) {
  const slopes::PlaneParams params{buffers, plane, targets, decisions};
  CJ2K_TRY(simt::launch<slopes::PlaneSlopes>(
      stream, over_blocks<slopes::PlaneSlopes>(buffers, num_frames), params));
  CJ2K_TRY(simt::launch<slopes::PlaneThresholds>(stream, {num_frames}, params));
  return simt::launch<slopes::MarkBySlope>(
      stream, over_blocks<slopes::MarkBySlope>(buffers, num_frames), params);
}

Status stop_by_bytes(simt::Stream& stream, const Tier1Buffers& buffers, uint32_t num_frames,
                     uint32_t plane, const FrameTargets& targets, const PlaneDecisions& decisions) {
  const slopes::PlaneParams params{buffers, plane, targets, decisions};
  CJ2K_TRY(simt::launch<slopes::PlaneBytes>(
      stream, over_blocks<slopes::PlaneBytes>(buffers, num_frames), params));
  return simt::launch<slopes::MarkByBytes>(
      stream, over_blocks<slopes::MarkByBytes>(buffers, num_frames), params);
}

}  // namespace cj2k::cuda
