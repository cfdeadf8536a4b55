// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernels that the forms of tier-1 are made of (libcj2k/cuda/tier1_coder.h). Host types only.
#pragma once

#include <cstdint>

#include "core/ebcot/mq.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k::cuda {

/// How the fused form spreads `count` blocks of one tier1_size: as many thread blocks as the device
/// runs at a time, each with as many slots in use as it takes, fewer than there are where the list
/// is short.
struct FusedGrid {
  uint32_t thread_blocks;
  uint32_t num_slots;  ///< in use, of each group
  uint32_t max_slots;  ///< that a group has
};
FusedGrid fused_grid(int size, uint32_t count, int num_multiprocessors, uint32_t max_thread_blocks);

namespace tier1 {

/// Blocks to code in each plane, listed on the device as the MQ coder decides. Of tier1_size s and
/// plane p: the first counts[p * kTier1Sizes + s] numbers from blocks[p * stride + first(s)] on, in
/// any order.
struct PlaneLists {
  uint32_t* counts;  ///< zeroed before the first is appended
  uint32_t* blocks;
  uint32_t stride;                 ///< blocks in the call's list
  uint32_t first_of[kTier1Sizes];  ///< as there
};

/// ModelParams::plane: all that a block has left.
inline constexpr int kPlanesLeft = -1;

struct ModelParams {
  Tier1Buffers buffers;
  const uint32_t* blocks;        ///< [count] of one tier1_size
  const uint32_t* device_count;  ///< not null: the blocks that there are, at most `count`
  uint32_t count;
  uint32_t style;
  int32_t plane;     ///< the one plane, that all blocks have; its decisions go to half plane & 1
                     ///< of a job's room. Or kPlanesLeft: from the start of the room
  Tier1Limits stop;  ///< with kPlanesLeft: what it rules out from the start is not modelled
  bool reversible;
};
Status tier1_model(simt::Stream& stream, const ModelParams& params, int size);

struct MqParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Limits stop;
  uint32_t style;
  mq::StateTable states;
  // Plane by plane alone:
  int32_t plane;
  PlaneLists to_code;   ///< read: `plane`; appended: what goes on to the plane below
  PlaneLists to_model;  ///< appended: the same for two planes below, whose modelling is next
  uint32_t first_group_of[kTier1Sizes];  ///< thread block where a tier1_size begins
};
/// All planes that the blocks of a list have left, as far as they have been modelled.
Status tier1_mq(simt::Stream& stream, const MqParams& params);
/// One plane of the blocks in `to_code`.
Status tier1_mq_plane(simt::Stream& stream, MqParams params);

struct StartParams {
  Tier1Buffers buffers;
  Tier1List list;
  Tier1Limits stop;
  PlaneLists to_code, to_model;
};
/// Puts each block that has something left to code into the lists of the plane where it goes on; it
/// is modelled one plane further, beside the coding of the first.
Status tier1_start(simt::Stream& stream, const StartParams& params);

struct FusedParams {
  Tier1Buffers buffers;
  const uint32_t* blocks;  ///< [count] of one tier1_size
  uint32_t count;
  uint32_t style;
  Tier1Limits stop;
  uint32_t* taken;     ///< entries of the list that are taken; 0 at the launch
  uint32_t num_slots;  ///< that a group uses, so that a short list is spread
  bool reversible;
  mq::StateTable states;
};
/// Models and codes the blocks of one tier1_size; tier1_close must follow.
/// @param params             num_slots is filled here
/// @param max_thread_blocks  as fused_grid's
Status tier1_fused(simt::Stream& stream, FusedParams params, int size, uint32_t max_thread_blocks);
/// Ends the blocks of a list that pause.
Status tier1_close(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                   uint32_t style);

}  // namespace tier1
}  // namespace cj2k::cuda
