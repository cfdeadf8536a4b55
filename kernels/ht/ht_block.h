// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// HT block coding on the GPU (coders/ht/ht_block.h is the CPU version). The host says which blocks are
// coded, and how far. A kernel finds the cleanup planes that may be coded: each is a task. Another one
// may choose among those of a block. A warp does one task: the cleanup pass, the refinement passes
// below it, and the numbers for distortions. A kernel makes hulls of them, or the host. All functions
// are asynchronous and allocate nothing. They are deterministic: the bytes equal those of
// ref::ht_cleanup and ref::ht_refinement.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "cj2k.h"
#include "core/ht/plane_choice.h"
#include "core/ht/rdoq.h"
#include "core/hull.h"
#include "core/orientation.h"
#include "core/overlaps.h"
#include "kernels/ebcot/quantize.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// HtTask::plane if only HtResult::total_left is wanted; passes must be 0.
inline constexpr uint8_t kHtNoPlane = 255;

/// One cleanup plane of one block.
struct alignas(16) HtTask {
  uint64_t cleanup;        ///< offset of the cleanup segment in the GOP's bytes; a multiple of 16
  uint32_t rest;           ///< from there to the segment of SigProp; a multiple of 16
  uint32_t both;           ///< from there to the segment of SigProp and MagRef; a multiple of 16
  uint32_t block;          ///< frame * num_blocks + block
  float inverse_step;      ///< of the step set; not used with 5/3
  uint8_t plane;           ///< of the cleanup pass; at least one magnitude is 2^plane or more
  uint8_t bit_planes;      ///< of the block; 0: HtResult::total_left is not needed
  uint8_t max_bit_planes;  ///< of the step set; not used with 5/3
  uint8_t passes;    ///< 3: all; 2: no MagRef; 1: cleanup; 0: only the errors and `significant`
  bool is_counted;   ///< the errors are in the task's result already: those of an HtChoice
  uint8_t coding;    ///< 0: of the samples; 1 + k: of those that RDOQ k of the block has changed
  uint16_t rounder;  ///< upper half of quantizer_rounder (core/quantizer.h), whose lower half is 0
};

/// What a task leaves for the host.
struct alignas(16) HtResult {
  /// Sums of LeftPlanes::term (core/distortion.h) without the planes below the cleanup pass, and
  /// without any plane. With plane 0: the number of samples that are 0.
  uint64_t left, total_left;
  int64_t sig_prop_distortion, mag_ref_distortion;  ///< HtRefinement; 0 where the pass is not coded
  uint32_t cleanup_bytes;
  /// HtRefinement; 0 where the pass is not coded. Of a task without passes, with 9/7: HalfCounts.
  uint32_t sig_prop_bytes, both_bytes;
  /// The last byte of SigProp in the segment of both, where the segment of SigProp alone ends.
  uint8_t sig_prop_last;
  uint8_t passes;        ///< of an HtChoice: HtTask::passes that are coded; 0: nothing is
  uint16_t significant;  ///< samples in the cleanup pass

  /// HalfCounts (core/step_vote.h) of a task without passes, with 9/7.
  uint32_t near_half() const { return sig_prop_bytes; }
  uint32_t near_middle() const { return both_bytes; }
  /// Of a task of RDOQ: what the changes add to the squared error after the cleanup pass, in 4^p / 2^20
  /// squared units of the quantised coefficient.
  int64_t added_error() const { return static_cast<int64_t>(total_left); }
};

/// HtChoice::slope if all tasks of the block are done as they are.
inline constexpr int32_t kHtNoChoice = 0;

/// A block of a call, and where its tasks are: the planes from the highest to the lowest, or one task
/// without a plane if there are none; then those of RDOQ. ht_choose decides which passes of them are coded.
struct alignas(8) HtChoice {
  double weight;  ///< squared error of the picture per squared unit of quantised coefficient
  int32_t
      slope;  ///< of ht_passes_near; then there are at most kHtNearPlanes tasks, of adjacent planes
  uint32_t first_task;
  uint8_t num_tasks;
  uint8_t bit_planes;   ///< of the block
  uint8_t lowest, end;  ///< HtPlanes
  bool is_all;          ///< HtPlanes
  bool has_hull;        ///< ht_hulls makes its hull; then there are at most kHtNearPlanes tasks
  uint8_t most_passes;  ///< of ht_passes_near and ht_passes
  HtPoints points;      ///< that are made

  CJ2K_HD constexpr HtPlanes planes() const { return {lowest, end, is_all}; }
};

/// How the blocks of a frame are coded in a call: BlockOrder (depth/stop_rule.h).
struct HtOrder {
  double rdoq[CJ2K_MAX_COMPONENTS];  ///< rdoq_error of the slopes for RDOQ
  uint16_t thresholds[CJ2K_MAX_COMPONENTS], highest[CJ2K_MAX_COMPONENTS];
  uint8_t step_set;
  HtPoints points;
  bool is_trial;

  /// Lambda of a block (core/ht/rdoq.h); 0: no RDOQ.
  CJ2K_HD constexpr double lambda(uint8_t component, double weight) const {
    return rdoq[component] > 0 ? rdoq[component] / weight : 0;
  }
};
struct HtOrders {
  static constexpr size_t kMostFrames = 64;  ///< the maximum of cj2k_params::gop
  HtOrder of[kMostFrames];
};

/// The place of a cleanup plane: HtTask.
struct alignas(16) HtSlot {
  uint64_t cleanup;  ///< offset in the frame's bytes
  uint32_t rest, both;
};
/// A block of the plan.
struct alignas(16) HtPlanBlock {
  /// That of plane 0. With RDOQ, kMostHtRdoqPlanes slots follow those of the planes.
  uint32_t first_slot;
  uint32_t band;
  uint16_t samples;
  uint8_t num_slots;  ///< one for each plane that may be coded
  uint8_t component;
  Orientation orientation;
};
/// A subband with the steps of a step set, in or outside the region of interest.
struct alignas(16) HtBand {
  double weight;  ///< HtChoice
  float inverse_step;
  uint16_t rounder;        ///< HtTask
  uint8_t max_bit_planes;  ///< HtTask
  uint8_t reserved;
};
/// The plan of a frame, in device memory.
struct HtBlockTable {
  const HtPlanBlock* blocks;  ///< [num_blocks]
  uint32_t num_blocks;
  const HtBand* bands;  ///< [step sets][num_bands]
  uint32_t num_bands;
  const HtSlot* slots;
  uint64_t frame_bytes;  ///< from a frame to the next
  HtRules rules;
  bool has_hulls;            ///< hulls are made of blocks that may have them
  const Overlaps* overlaps;  ///< [num_blocks] HtRdoqBlock::overlaps; null without RDOQ
};

/// Most points on the hull of a block with HtChoice::has_hull: three of each plane, but the lowest one
/// has no MagRef.
inline constexpr uint32_t kMostHtHull = 3 * kHtNearPlanes - 1;
/// In HullPoint::passes of ht_hulls, the number of the block's task stands above the passes.
inline constexpr int kHtHullTaskShift = 8;

/// PointCode (coders/coded_block.h) on the device: what a hull point has besides its HullPoint.
struct alignas(16) HtPointCode {
  uint64_t from;         ///< HtTask::cleanup
  uint32_t first_bytes;  ///< of the cleanup segment
  uint16_t rest;         ///< from there to the segment of the other passes, in units of 16 bytes
  uint8_t zero_bit_planes;
  uint8_t plane;  ///< of the cleanup pass
};
/// The hulls of a GOP by block, for rate control on the device. The room of a block is fixed.
struct HtHulls {
  /// [num_blocks + 1] where the points of a block begin in a frame. Blocks without room for all points
  /// of their tasks are not written.
  const uint32_t* first_points;
  uint32_t num_blocks, frame_points;
  Tier1Result* results;  ///< [blocks] null: no hulls are wanted by block
  HullPoint* hull;       ///< [frames * frame_points]
  HtPointCode* codes;    ///< the same
  double* weights;       ///< [blocks] HtChoice::weight
};

/// Tasks by HtTask::passes: a list for each number of them, from 0 to 3.
inline constexpr uint32_t kHtKinds = 4;
struct HtTaskLists {
  uint32_t* tasks;    ///< [kHtKinds][capacity]; null: there are no lists
  uint32_t* counts;   ///< [kHtKinds], at a multiple of 16
  uint32_t capacity;  ///< of a list: most tasks of a call
};

/// Room for a cleanup segment of a block, in bytes.
/// @param planes  of the block's magnitudes from the cleanup plane up
constexpr uint32_t ht_cleanup_room(int width, int height, int planes) {
  const auto samples = static_cast<uint32_t>(width * height);
  const auto quads = static_cast<uint32_t>((width + 1) / 2 * ((height + 1) / 2));
  const auto m = static_cast<uint32_t>(planes);
  // A stuffed bit in 16 bits. A sample has U bits at most, which is one more than its planes.
  const uint32_t mag_sgn = samples * (m + 1) * 2 / 15 + 2;
  // A stuffed bit in 8. CxtVLC has 7 bits, u <= planes has 1, 2, 4 or 8.
  const uint32_t quad_bits = 7 + (m <= 2 ? m : m <= 4 ? 4 : 8);
  const uint32_t vlc = (quads * quad_bits + 4) / 7 + 2;
  // At most one and a half bits per event (a run that ends one step of the state above its begin).
  const uint32_t events = quads + (static_cast<uint32_t>(width) + 3) / 4;
  const uint32_t mel = (events * 3 / 2 + 1) / 7 + 2;
  return (mag_sgn + vlc + mel + 1 + 15) / 16 * 16;
}
/// Room for a refinement segment: two bits per sample and one stuffed bit in 8.
constexpr uint32_t ht_refinement_room(int width, int height) {
  return (static_cast<uint32_t>(width * height) * 2 / 7 + 4 + 15) / 16 * 16;
}

/// The codes of core/ht/cxt_vlc.h as the kernels read them:
/// - the CxtVLC tables of the first row of quads and of the others: codeword | length << 7 | e_k << 10
///   for each cxt_vlc_index, 0 where there is no such quad;
/// - from kHtUvlcPairs on, the U-VLC codewords of a pair: words of 32 bits, the low half first,
///   bits | count << 16, for each u0 | u1 << 5 | first row << 10;
/// - from kHtMelSteps on, steps of the MEL coder: words of 32 bits, bits | count << kHtMelCount |
///   next state << kHtMelState, for each state << 5 | 1 << n | n events, the first one lowest. With
///   n < 4 they are the last ones. A state is one of MEL with the zeros of a run that is not over;
/// - from kHtMelStates on, bytes: the next state for each state << 8 | 8 events.
inline constexpr uint32_t kHtUvlcPairs = 2 * 2048, kHtMelSteps = kHtUvlcPairs + 2 * 2048;
inline constexpr uint32_t kHtMelStates = kHtMelSteps + 2 * 85 * 32;
inline constexpr uint32_t kHtMelCount = 20, kHtMelState = 25;
std::vector<uint16_t> ht_vlc_words();

struct HtBlocks {
  /// [num_blocks] in device memory: where the coefficients are. The steps are those of the tasks.
  const QuantizeJob* jobs;
  uint32_t num_blocks;
  Samples samples;        ///< coefficients of the frames
  const uint16_t* words;  ///< ht_vlc_words in device memory
};
/// The samples that RDOQ changes, of codings of a block: a byte for each pair of quads. Bit 4 * quad +
/// sample, samples in the order of coding.
struct HtChanges {
  uint8_t* bytes;  ///< [blocks of the GOP][kMostHtRdoqPlanes][stride] null: no task has a coding
  uint32_t stride;

  CJ2K_HD constexpr uint8_t* of(uint32_t block, uint32_t coding) const {
    return bytes + (uint64_t{block} * kMostHtRdoqPlanes + coding - 1) * stride;
  }
};
/// Finds the largest coefficient of every block of all frames.
/// @param peaks  [frames][num_blocks] the bits of |c|, an integer with 5/3, else a float
Status ht_peaks(simt::Stream& stream, const HtBlocks& blocks, bool reversible, uint32_t* peaks);
/// Finds which planes of blocks are coded: their choices and tasks.
/// @param peaks      of ht_peaks
/// @param list       [count] numbers of blocks, frame * num_blocks + block
/// @param choices    [count]
/// @param num_tasks  must be 0; the order of the blocks' tasks varies
Status ht_items(simt::Stream& stream, const HtBlockTable& table, const HtOrders& orders,
                const uint32_t* peaks, bool reversible, const uint32_t* list, uint32_t count,
                HtChoice* choices, HtTask* tasks, uint32_t* num_tasks);
/// Counts in the blocks that choose, decides which of their passes are coded, and lists the tasks
/// of all blocks.
/// @param tasks    [choices' tasks] of blocks that choose: `passes` is written
/// @param choices  [count] in device memory
/// @param results  [choices' tasks] of blocks that choose: `left`, `significant` and `passes` are
///                 written, and total_left of the first task of each
/// @param lists    of which the counts must be 0
Status ht_choose(simt::Stream& stream, const HtBlocks& blocks, HtTask* tasks,
                 const HtChoice* choices, uint32_t count, bool reversible, HtResult* results,
                 const HtTaskLists& lists);
/// RDOQ: makes the second codings of planes, and lists those that differ from the first. Call it after
/// ht_choose.
/// @param tasks    those of RDOQ are written
/// @param results  of the tasks of RDOQ, `passes` is written: 0 if the pass does not change or has no
///                 significant sample any more. Else also added_error
Status ht_change(simt::Stream& stream, const HtBlocks& blocks, const HtBlockTable& table,
                 const HtOrders& orders, HtTask* tasks, const HtChoice* choices, uint32_t count,
                 bool reversible, HtResult* results, const HtTaskLists& lists,
                 const HtChanges& changes);
/// What ht_encode does.
struct HtWork {
  const HtTask* tasks;        ///< in device memory
  uint32_t most;              ///< tasks there may be
  const uint32_t* num_tasks;  ///< tasks there are, in device memory
  HtTaskLists lists;          ///< if there are lists, the tasks in them are done; else all
  bool reversible;
  bool lossless;  ///< only cleanup passes of plane 0, of the 5/3; no lists
  bool causal;    ///< with CJ2K_STYLE_VSC
  HtChanges changes;
};
/// Does the tasks.
/// @param results  [work.most]
Status ht_encode(simt::Stream& stream, const HtBlocks& blocks, const HtWork& work, uint8_t* bytes,
                 HtResult* results);
/// Makes the hulls of blocks whose tasks are done.
/// @param hulls     [count][kMostHtHull] of blocks with HtChoice::has_hull; a hull of fewer points
///                  ends with a point of slope 0. Null: not wanted
/// @param by_block  written of the blocks of the list
Status ht_hulls(simt::Stream& stream, const HtTask* tasks, const HtChoice* choices,
                const uint32_t* list, uint32_t count, bool reversible, const HtResult* results,
                HullPoint* hulls, const HtHulls& by_block);

}  // namespace cj2k::cuda
