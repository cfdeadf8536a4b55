// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The coupling of Y, Cb and Cr by the ICT, for RDOQ (rdoq.h). The columns of the inverse ICT (T.800
// G.3.2) are not orthogonal, so the squared error of R, G and B is
//
//   3 (e_Y + s)^2 + terms without e_Y,   s = g_Cb e_Cb + g_Cr e_Cr,   g_c = <Y, c> / <Y, Y>
//
// with the errors of coefficients at one place. So Cb and Cr are coded first. Then the best target
// for Y is not its coefficient, but the coefficient plus s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ebcot/coding_passes.h"
#include "plan/plan.h"

namespace cj2k {

/// The part of s that Y aims at. All of s gains less, because rate control may cut Cb and Cr
/// elsewhere.
inline constexpr double kColourShift = 0.875;

/// Whether RDOQ looks at more than one component. It does not with tune = visual: the eye sees the
/// errors of luma and of colour separately.
bool couples_colours(const Plan& plan);

/// The blocks of a plan in the order that couples_colours asks for. The three blocks of a triple
/// lie at the same place of components 1, 2 and 0.
struct ColourOrder {
  std::vector<uint32_t> triples;  ///< three after three
  std::vector<uint32_t> rest;     ///< those of further components, rising
  /// The order of some of the blocks, rising, and of the other blocks of their triples.
  /// Throws std::bad_alloc.
  ColourOrder some(std::span<const uint32_t> blocks) const;
};
/// Empty unless couples_colours. Throws std::bad_alloc.
ColourOrder colour_order(const Plan& plan);

/// The block of component 0 at the place of a block of component 0, 1 or 2.
uint32_t luma_block(const Plan& plan, uint32_t block);
/// By how much an error of the block's component, 1 or 2, shifts Y: kColourShift * g.
float colour_factor(const Plan& plan, uint32_t block);

/// The part of a component's squared error that is left in the picture once Y has corrected what it aims
/// at; 1 unless couples_colours.
double error_left(const Plan& plan, uint32_t component);

/// A coded block, and where it is cut.
struct ChromaBlock {
  const uint32_t* samples;  ///< as in Tier1Block
  ptrdiff_t stride;
  int width, height;
  const float* coefficients;
  ptrdiff_t coefficient_stride;
  float step;
  PlaneCut cut;
  float factor;
};

/// Adds factor * (coefficient - what a decoder shows, at mid-point) to shift[height][width].
/// Deterministic: yes; all implementations give the same floats. Allocates: no. Thread-safe: yes.
namespace ref {
void add_colour_error(const ChromaBlock& block, float* shift);
}
namespace simd {
void add_colour_error(const ChromaBlock& block, float* shift);
}

}  // namespace cj2k
