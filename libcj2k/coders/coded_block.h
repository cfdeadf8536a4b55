// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The result of block coding for each code-block, and the part of it that rate control chose: the
// input of the packets stage.
#pragma once

#include <cstdint>

#include "core/codeword_segment.h"
#include "core/contribution_code.h"
#include "core/hull.h"
#include "core/step_vote.h"

namespace cj2k {

/// A hull point with bytes of its own: the cleanup passes of different planes of an HT block are
/// alternatives.
struct PointCode {
  const uint8_t* first;  ///< segment of the first pass
  const uint8_t* rest;   ///< segment of all other passes: the rest of the point's length
  uint32_t first_bytes;
  uint8_t zero_bit_planes;  ///< for the packet header: planes above the cleanup pass
  uint8_t coding = 0;       ///< of that plane; 0: without RDOQ
  /// With RDOQ and keeps_coefficients: the samples that are changed (coders/ht/ht_rdoq.h); else null.
  const uint8_t* changes = nullptr;
};

/// Where lower layers may cut a point with bytes of its own: after each of its passes.
struct LayerCuts {
  uint32_t bytes[3];   ///< from the start of the point to the end of pass i + 1; never falling
  uint16_t slopes[3];  ///< log-slope of the bytes up to there; never rising
};

/// One code-block as rate control and the packets stage see it, from any block coder. The pointers
/// are valid as long as the frame slot.
struct CodedBlock {
  uint8_t* data = nullptr;          ///< the block's bytes
  const HullPoint* hull = nullptr;  ///< [num_hull] points where the block may be cut
  /// [num_segments] ends of the codeword segments that end wherever the block is cut, rising. The
  /// last hull point in the codestream ends a segment too.
  const SegmentEnd* segments = nullptr;
  /// [num_hull] the tail that ends the block at each point; null: no point needs one.
  const PassTail* tails = nullptr;
  /// [num_hull] null: the bytes of each hull point are the start of `data`. Otherwise each point
  /// has its own bytes, and `data`, `segments`, `tails` and `zero_bit_planes` are not used.
  const PointCode* codes = nullptr;
  /// [num_hull] with `codes` and more than one layer; else null.
  const LayerCuts* cuts = nullptr;
  /// [height][width] with RDOQ and keeps_coefficients: the samples that were coded, as in Tier1Block;
  /// null: the quantised coefficients. Points with bytes of their own have PointCode::changes.
  const uint32_t* samples = nullptr;
  /// What the block coder needs to go on: to resume, if planes_left > 0; of HT, for RDOQ.
  const void* coder_state = nullptr;
  /// Squared error that all planes together remove, weighted as in HullPoint. For planes that are
  /// not coded it is an estimate.
  double total_distortion = 0;
  uint32_t num_bytes = 0;  ///< bytes that the block coder made, chosen or not
  /// With stop = psb, if planes_left > 0: last_hull_slope of the passes (core/stop.h).
  uint16_t last_slope = 0;
  uint8_t num_hull = 0;
  uint8_t num_segments = 0;
  uint8_t zero_bit_planes = 0;     ///< for the packet header (T.800 B.10.5)
  uint8_t num_passes = 0;          ///< passes coded; some of them are not on the hull
  uint8_t num_passes_resumed = 0;  ///< passes coded after the block first paused
  uint8_t num_passes_left = 0;     ///< passes that an early stop left uncoded
  uint8_t planes_left = 0;         ///< bit-planes that an early stop left uncoded; 0: finished
  bool is_coded = false;           ///< the block coder has processed the block
  StepVote step_vote = StepVote::kNone;  ///< if it was asked for (BlockOrder::votes)
};

/// Assigns the hull points of each block to layers. Layers 0 .. l hold the points with slope >=
/// layer_slopes[l] for l < layers - 1 (layer_slopes fall). All layers together hold the first
/// final_points[block] points. A point beyond final_points is in no layer.
///
/// If a block has CodedBlock::codes, all layers together hold only its last point, which is
/// final_points[block] - 1. Layers 0 .. l hold its passes with LayerCuts::slopes >= layer_slopes[l].
struct Selection {
  const CodedBlock* blocks;      ///< [plan.blocks]
  const uint8_t* final_points;   ///< [plan.blocks], <= num_hull
  const uint16_t* layer_slopes;  ///< [layers - 1]
  uint32_t layers;
  uint32_t step_set = 0;  ///< the quantisation that the blocks were coded with (plan.h)
  /// [plan.blocks] contribution_of the chosen points (packets/contribution.h), which saves the
  /// packets stage the work; only with one layer. Null: not known.
  const Contribution* contributions = nullptr;
};

}  // namespace cj2k
