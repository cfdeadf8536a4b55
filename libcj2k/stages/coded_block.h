// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What tier-1 leaves behind per code-block, and which part of it the rate stage chose: the input of
// the packets stage.
#pragma once

#include <cstdint>

namespace cj2k {

inline constexpr int kMaxBitPlanes = 31;
inline constexpr int kMaxPasses = 3 * kMaxBitPlanes - 2;

/// A truncation point on the upper convex hull of a block's distortion over length; lengths and
/// passes rise strictly, slopes fall strictly. The point (0 passes, 0 bytes) is not stored.
struct HullPoint {
  uint32_t
      length_bytes;  ///< shortest prefix of CodedBlock::data that decodes the first `passes` passes
  uint16_t passes;   ///< 1 .. kMaxPasses
  uint16_t slope;    ///< 16-bit log-slope from the point before (core/slope.h), >= 1
  double distortion;  ///< squared error removed by the first `passes` passes, weighted: LSB^2 of
                      ///< the picture
};

struct CodingPass;  // stages/ebcot/tier1.h
struct PassTail;
struct SavedCoder;  // core/ebcot/segments.h

/// Coded bytes of one code-block. All pointers live as long as the frame slot.
struct CodedBlock {
  uint8_t* data = nullptr;
  const HullPoint* hull = nullptr;  ///< [num_hull]
  const uint32_t* pass_lengths =
      nullptr;  ///< [num_passes] cumulative; only with BYPASS or TERMALL, else null
  const PassTail* tails = nullptr;  ///< [num_hull]; only with PTERM, else null
  double total_distortion = 0;  ///< squared error that all planes together remove, as HullPoint's;
                                ///< of planes not coded an estimate
  uint8_t num_hull = 0;
  uint8_t num_passes = 0;          ///< coded, not all need to be on the hull
  uint8_t num_passes_resumed = 0;  ///< of these, after a first stop
  bool is_coded = false;           ///< tier-1 has seen it
  uint8_t planes_left = 0;         ///< planes that an early stop left; 0: everything is coded
  uint32_t num_bytes = 0;          ///< that tier-1 made, chosen or not
  const SavedCoder* saved =
      nullptr;  ///< with planes_left: to go on from here, after the bytes it counts in `data`
  const CodingPass* passes = nullptr;  ///< [num_passes] likewise
  uint8_t num_bit_planes =
      0;  ///< magnitude bit-planes from the first non-zero one; zero bit-planes of the
          ///< packet header (T.800 B.10.5) = CodeBlock::max_bit_planes - this
};

/// True when coding pass `pass` (0 = the first clean-up pass) ends a codeword segment (T.800 D.4.2,
/// D.6, Table D.9), for any block. The last pass that is in the codestream always ends one,
/// whatever this says.
constexpr bool pass_terminates(uint32_t style, int pass) {
  constexpr uint32_t kBypass = 1, kTermAll = 4;
  if (style & kTermAll) return true;
  if (!(style & kBypass) || pass < 9) return false;
  // Passes from the 10th (index 9, a clean-up pass) on: clean-up (MQ) and refinement (raw) passes
  // end their segment.
  return pass % 3 != 1;
}

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
