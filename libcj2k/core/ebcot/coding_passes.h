// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The coding passes of a code-block (T.800 D.3): pass 0 is the clean-up pass of the highest
// bit-plane. Each lower plane has a significance, a refinement and a clean-up pass. This file has
// all arithmetic between passes, planes and codeword segments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cj2k.h"
#include "core/hd.h"

namespace cj2k {

inline constexpr int kMaxBitPlanes = 31;

enum class PassKind : uint8_t { kCleanup = 0, kSignificance = 1, kRefinement = 2 };

CJ2K_HD constexpr PassKind pass_kind(int pass) { return static_cast<PassKind>(pass % 3); }

/// Passes of a block with `planes` bit-planes.
CJ2K_HD constexpr int num_passes_of(int planes) { return planes == 0 ? 0 : 3 * planes - 2; }

/// Planes whose passes are all among the first `passes` passes.
CJ2K_HD constexpr int num_planes_coded(int passes) { return (passes + 2) / 3; }

/// Planes that have at least one pass among the first `passes` passes; passes >= 1.
CJ2K_HD constexpr int num_planes_begun(int passes) { return (passes + 4) / 3; }

/// What a decoder knows of a block that is cut after some pass: not the bits below `plane`; with `upper`,
/// of samples that are significant above `plane`, also not that bit.
struct PlaneCut {
  int plane;  ///< 0 .. 31; 31: nothing is decoded
  /// The last pass is a significance pass. It is taken to make every sample significant whose
  /// highest bit is `plane`.
  bool upper;
};
/// The cut after the first `passes` passes of a block.
CJ2K_HD constexpr PlaneCut plane_cut(int bit_planes, int passes) {
  if (passes == 0) return {31, false};
  return {bit_planes - num_planes_begun(passes), pass_kind(passes - 1) == PassKind::kSignificance};
}

inline constexpr int kMaxPasses = num_passes_of(kMaxBitPlanes);

/// The first pass of a block that BYPASS codes raw: the significance pass of the fifth plane (D.6).
inline constexpr int kFirstRawPass = 10;

/// True when pass `pass` of a block is coded raw: significance and refinement passes from the fifth
/// plane on (D.6).
CJ2K_HD constexpr bool pass_is_raw(uint32_t style, int pass) {
  return (style & CJ2K_STYLE_BYPASS) != 0 && pass >= kFirstRawPass &&
         pass_kind(pass) != PassKind::kCleanup;
}

/// True when pass `pass` ends a codeword segment in every block (D.4.2, D.6, Table D.9). The last
/// pass of a block in the codestream always ends one too, whatever this function returns.
CJ2K_HD constexpr bool pass_terminates(uint32_t style, int pass) {
  if (style & CJ2K_STYLE_TERMALL) return true;
  // All clean-up and refinement passes from the clean-up pass before the first raw pass on.
  return (style & CJ2K_STYLE_BYPASS) != 0 && pass >= kFirstRawPass - 1 &&
         pass_kind(pass) != PassKind::kSignificance;
}

/// Number of passes in [0, passes) for which pass_terminates holds.
CJ2K_HD constexpr int num_terminated(uint32_t style, int passes) {
  if (style & CJ2K_STYLE_TERMALL) return passes;
  if ((style & CJ2K_STYLE_BYPASS) == 0 || passes < kFirstRawPass) return 0;
  // Two of the three passes of a plane end a segment; its significance pass does not.
  const int after = passes - kFirstRawPass;
  return 1 + after / 3 * 2 + (after % 3 == 2 ? 1 : 0);
}

/// Whether blocks of this style may have more than one codeword segment.
CJ2K_HD constexpr bool has_segments(uint32_t style) {
  return (style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL)) != 0;
}

/// One coding pass: where the block can be cut after it, and the squared error that it removes.
struct CodingPass {
  /// Truncation length, from the start of the block: the shortest prefix of the block's bytes that
  /// decodes all passes up to and with this one. With PTERM: the length with a predictable
  /// termination after this pass.
  uint32_t length_bytes;
  uint8_t plane;       ///< 0 .. 30
  int64_t distortion;  ///< in units of 2^plane / kDistortionOne; may be negative
};

}  // namespace cj2k
