// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What block coding leaves behind per code-block, and which part of it the rate stage chose: the
// input of the packets stage.
#pragma once

#include <cstdint>

#include "core/codeword_segment.h"
#include "core/hull.h"

namespace cj2k {

/// One code-block as rate control and the packets see it, whichever block coder made it. All
/// pointers live as long as the frame slot.
struct CodedBlock {
  uint8_t* data = nullptr;
  const HullPoint* hull = nullptr;  ///< [num_hull] points where the block may be cut
  /// [num_segments] ends of the codeword segments that end in any case, rising. The last point that
  /// is in the codestream ends one, too.
  const SegmentEnd* segments = nullptr;
  const PassTail* tails =
      nullptr;  ///< [num_hull]: what ends the block at each point; null: nothing
  const void* coder_state = nullptr;  ///< with planes_left: the block coder's, to go on from here
  double total_distortion = 0;  ///< squared error that all planes together remove, as HullPoint's;
                                ///< of planes not coded an estimate
  uint32_t num_bytes = 0;       ///< that the block coder made, chosen or not
  uint8_t num_hull = 0;
  uint8_t num_segments = 0;
  uint8_t zero_bit_planes = 0;     ///< of the packet header (T.800 B.10.5)
  uint8_t num_passes = 0;          ///< coded, not all need to be on the hull
  uint8_t num_passes_resumed = 0;  ///< of these, after a first stop
  uint8_t num_passes_left = 0;     ///< that an early stop left
  uint8_t planes_left = 0;         ///< magnitude bit-planes likewise; 0: everything is coded
  bool is_coded = false;           ///< the block coder has seen it
};

/// Which hull points of which block are in which layer. Layer l < layers - 1 holds the points with
/// slope >= layer_slopes[l] (slopes fall with l); the last layer holds the first
/// final_points[block] points. A point beyond final_points is in no layer.
struct Selection {
  const CodedBlock* blocks;      ///< [plan.blocks]
  const uint8_t* final_points;   ///< [plan.blocks], <= num_hull
  const uint16_t* layer_slopes;  ///< [layers - 1]
  uint32_t layers;

  /// Number of hull points of `block` in layers 0 .. layer.
  uint32_t points(uint32_t block, uint32_t layer) const {
    const uint32_t last = final_points[block];
    if (layer + 1 == layers) return last;
    uint32_t n = 0;
    while (n < last && blocks[block].hull[n].slope >= layer_slopes[layer]) ++n;
    return n;
  }
};

}  // namespace cj2k
