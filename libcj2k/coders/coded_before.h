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
#include "core/step_vote.h"
#include "plan/plan.h"

namespace cj2k {

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

/// The vote of a block that is quantised with the step set 0.
StepVote step_vote(const CodeBlock& block, const uint32_t* samples, ptrdiff_t stride,
                   int bit_planes);

/// Whether the votes of these blocks say that the frame was coded with the steps of the step set 0.
bool was_coded_before(const CodedBlock* blocks, std::span<const uint32_t> share);

}  // namespace cj2k
