// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Launchers of the kernels that make up the forms of tier-1 (libcj2k/cuda/tier1_coder.h). This file
// has host types only.
#pragma once

#include <cstdint>

#include "core/ebcot/mq.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k::cuda {

/// How the fused form spreads `count` blocks of one tier1_size: over at most as many thread blocks
/// as the device runs at a time. Where the list is short, each group uses fewer slots than it has.
struct FusedGrid {
  uint32_t thread_blocks;
  uint32_t num_slots;  ///< slots that each group uses
  uint32_t max_slots;  ///< slots that each group has
};
FusedGrid fused_grid(int size, uint32_t count, int num_multiprocessors, uint32_t max_thread_blocks);

namespace tier1 {

/// One list of blocks for each plane and tier1_size, which the device fills as the MQ coder decides
/// what goes on. The list of plane p and size s has counts[p * kTier1Sizes + s] numbers of blocks,
/// from blocks[p * stride + first_of[s]] on, in any order.
struct PlaneLists {
  uint32_t* counts;  ///< zeroed before the first block is appended
  uint32_t* blocks;
  uint32_t stride;                 ///< number of blocks in the list of the call
  uint32_t first_of[kTier1Sizes];  ///< where size s begins in the list of the call
};

/// Value of ModelParams::plane: all planes that a block has left.
inline constexpr int kPlanesLeft = -1;

struct ModelParams {
  Tier1Buffers buffers;
  const uint32_t* blocks;        ///< [count] of one tier1_size
  const uint32_t* device_count;  ///< if not null: the number of blocks, at most `count`
  uint32_t count;
  uint32_t style;
  /// The plane to model, which all blocks must have; its decisions go to half (plane & 1) of a
  /// job's room. Or kPlanesLeft: decisions go to the job's room from its start.
  int32_t plane;
  Tier1Limits stop;  ///< with kPlanesLeft: blocks that it keeps from starting are not modelled
  bool reversible;
};
/// Models blocks of one tier1_size.
Status tier1_model(simt::Stream& stream, const ModelParams& params, int size);

struct MqParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Limits stop;
  uint32_t style;
  mq::StateTable states;
  uint32_t blocks_per_warp;  ///< set by tier1_mq: 1 .. 32
  // For tier1_mq_plane only:
  int32_t plane;
  PlaneLists to_code;   ///< reads the list of `plane`; appends to plane - 1 the blocks that go on
  PlaneLists to_model;  ///< appends the same blocks to plane - 2, which is modelled next
  uint32_t first_group_of[kTier1Sizes];  ///< first thread block of each tier1_size
};
/// Codes all planes that the blocks of a list have left, as far as they are modelled.
Status tier1_mq(simt::Stream& stream, MqParams params);
/// Codes one plane of the blocks in `to_code`.
Status tier1_mq_plane(simt::Stream& stream, MqParams params);

inline constexpr uint32_t kSortBuckets = 256;
struct SortParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Limits stop;
  uint32_t* counts;   ///< [kSortBuckets] blocks of each bucket; zeroed before the call
  uint32_t* taken;    ///< [kSortBuckets] those that have their place; zeroed before the call
  uint32_t* buckets;  ///< [list.count()] of each entry of the list
  uint32_t*
      sorted;  ///< [list.count()] result: the blocks, those expected to code the most decisions first
};
/// Sorts the blocks of a list, modelled with the same limits, by the decisions that they are expected
/// to code (core/ebcot/expected_pause.h).
Status tier1_sort(simt::Stream& stream, const SortParams& params);

/// Blocks that one thread block of tier1_sort_plane sorts.
inline constexpr uint32_t kSortTile = 4096;
struct SortPlaneParams {
  Tier1Buffers buffers;
  PlaneLists lists;
  int32_t plane;
};
/// Sorts the blocks in the lists of a plane, which must be modelled in it, by the rounds of 16
/// decisions that the MQ coder takes: most first, exactly so among up to kSortTile blocks.
/// @param max_blocks  [kTier1Sizes] most blocks that the list of each size can have
Status tier1_sort_plane(simt::Stream& stream, const SortPlaneParams& params,
                        const uint32_t* max_blocks);

struct StartParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Limits stop;
  PlaneLists to_code, to_model;
  /// Lists one plane at a time, stop.last_plane: for coding the blocks that have it next, for
  /// modelling of the plane below these and the blocks that start there.
  bool by_plane;
};
/// Puts each block that has planes left to code into the lists of the plane where it starts or
/// resumes. The block is also listed for modelling of the plane below, which runs while the first
/// plane is coded.
Status tier1_start(simt::Stream& stream, const StartParams& params);

struct FusedParams {
  Tier1Buffers buffers;
  const uint32_t* blocks;  ///< [count] of one tier1_size
  uint32_t count;
  uint32_t style;
  Tier1Limits stop;
  uint32_t* taken;     ///< number of entries of the list that are taken; 0 at the launch
  uint32_t num_slots;  ///< slots that each group uses (FusedGrid)
  bool reversible;
  mq::StateTable states;
};
/// Models and codes the blocks of one tier1_size. tier1_close must follow.
/// @param params             num_slots is set by the function
/// @param max_thread_blocks  as in fused_grid
Status tier1_fused(simt::Stream& stream, FusedParams params, int size, uint32_t max_thread_blocks);
/// Ends the codewords that tier1_fused left open, of the paused and the finished blocks of a list.
Status tier1_close(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                   uint32_t style);

}  // namespace tier1
}  // namespace cj2k::cuda
