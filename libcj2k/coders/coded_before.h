// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Whether a picture was JPEG 2000 before, with the steps of this plan: its coefficients then lie on
// the reconstruction points of that coding, up to the rounding of its pixels. A block that was cut at
// plane p has magnitudes (q + 1/2) 2^p, and (q + 1/2) 2^(p+1) for samples that its last passes did
// not reach. So in plane p and some below, nearly all are near a multiple of half a plane; in a
// picture that was not coded, half of them are. Near the bytes of the first coding, other steps
// cost up to 9 dB (docs/effort.md).
//
// Only counts decide, so the decision is the same on every backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coders/coded_block.h"
#include "plan/plan.h"

namespace cj2k {

/// The lowest plane with enough bits below it.
inline constexpr int kLowestHalves = 3;

/// Samples of a block with magnitudes m >= 2^p, at plane p; r = m mod 2^p, to the 3 bits below p.
struct HalfCounts {
  uint32_t significant;
  uint32_t near_half;    ///< r is within 2^(p-3) of 0, 2^(p-1) or 2^p; 0 below kLowestHalves
  uint32_t near_middle;  ///< r is within 2^(p-3) of 2^(p-1); 0 below kLowestHalves
};

/// Counts at a plane of a block. @param plane  0 .. 29
/// Allocate: no. Deterministic: yes. Thread-safe: yes.
namespace ref {
HalfCounts count_halves(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                        int plane);
}  // namespace ref
namespace simd {
HalfCounts count_halves(const uint32_t* samples, ptrdiff_t stride, int width, int height,
                        int plane);
}  // namespace simd

/// Makes the vote of a block from its planes.
class StepVoter {
 public:
  /// Call it for each plane of the block, from the highest to the lowest.
  void add(int plane, const HalfCounts& counts);
  StepVote vote() const {
    return !has_voted_ ? StepVote::kNone : is_on_steps_ ? StepVote::kOn : StepVote::kOff;
  }

 private:
  uint32_t above_ = 0;  ///< significant samples of the plane above
  bool has_voted_ = false, is_on_steps_ = false;
  bool is_between_ = false;  ///< in plane kLowestHalves, hardly any sample is near a half
};

/// The vote of a block that is quantised with the step set 0.
StepVote step_vote(const CodeBlock& block, const uint32_t* samples, ptrdiff_t stride,
                   int bit_planes);

/// Whether the votes of these blocks say that the frame was coded with the steps of the step set 0.
bool was_coded_before(const CodedBlock* blocks, std::span<const uint32_t> share);

}  // namespace cj2k
