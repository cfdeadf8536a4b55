// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The coding passes of a code-block (T.800 D.3): pass 0 is the clean-up pass of the highest
// bit-plane; then each plane has a significance, a refinement and a clean-up pass. All arithmetic
// between passes, planes and codeword segments is here.
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

/// Planes of which all passes are among the first `passes`.
CJ2K_HD constexpr int num_planes_coded(int passes) { return (passes + 2) / 3; }

/// Planes of which at least one pass is among the first `passes` >= 1.
CJ2K_HD constexpr int num_planes_begun(int passes) { return (passes + 4) / 3; }

inline constexpr int kMaxPasses = num_passes_of(kMaxBitPlanes);

/// The first pass of a block that BYPASS codes raw: the significance pass of the fifth plane (D.6).
inline constexpr int kFirstRawPass = 10;

/// True when pass `pass` of a block is coded raw: significance and refinement passes from the fifth
/// plane on (D.6).
CJ2K_HD constexpr bool pass_is_raw(uint32_t style, int pass) {
  return (style & CJ2K_STYLE_BYPASS) != 0 && pass >= kFirstRawPass &&
         pass_kind(pass) != PassKind::kCleanup;
}

/// True when pass `pass` ends a codeword segment in any block (D.4.2, D.6, Table D.9). The last
/// pass that is in the codestream always ends one, whatever this says.
CJ2K_HD constexpr bool pass_terminates(uint32_t style, int pass) {
  if (style & CJ2K_STYLE_TERMALL) return true;
  // From the clean-up pass before the first raw pass on, clean-up and refinement passes.
  return (style & CJ2K_STYLE_BYPASS) != 0 && pass >= kFirstRawPass - 1 &&
         pass_kind(pass) != PassKind::kSignificance;
}

/// Passes before `passes` for which pass_terminates holds.
CJ2K_HD constexpr int num_terminated(uint32_t style, int passes) {
  if (style & CJ2K_STYLE_TERMALL) return passes;
  if ((style & CJ2K_STYLE_BYPASS) == 0 || passes < kFirstRawPass) return 0;
  // Two of each plane's three: its significance pass ends none.
  const int after = passes - kFirstRawPass;
  return 1 + after / 3 * 2 + (after % 3 == 2 ? 1 : 0);
}

/// Whether blocks may have more than one codeword segment.
CJ2K_HD constexpr bool has_segments(uint32_t style) {
  return (style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL)) != 0;
}

/// One coding pass, and what it removes.
struct CodingPass {
  uint32_t length_bytes;  ///< cumulative: shortest prefix of the bytes that decodes all passes up
                          ///< to this one; with PTERM the length with a predictable termination
                          ///< after this pass
  uint8_t plane;
  int64_t distortion;  ///< in units of 2^plane / kDistortionOne; may be negative
};

}  // namespace cj2k
