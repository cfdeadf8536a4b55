// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The region of interest by the max-shift method (T.800 Annex H): which coefficients it needs, which
// code-blocks hold them, and how far they are shifted. Used by plan.cc.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/status.h"
#include "plan/plan.h"

namespace cj2k {

/// A range of samples or coefficients on one axis, [begin, end).
struct Span {
  int64_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
};
Span intersection(const Span& a, const Span& b);

/// The low-pass and high-pass coefficients of one decomposition level that a range of samples is
/// reconstructed from (T.800 F.3, H.3). Samples and coefficients have the coordinates of B.5, with
/// coefficients of the same position twice the distance apart.
/// @param line  the samples that there are; `samples` lies in it
struct BandSpans {
  Span low, high;
};
BandSpans band_spans(const Span& samples, const Span& line, bool reversible);

/// Fills plan->roi_shifts and plan->region_gain, and marks the code-blocks that hold a coefficient
/// of the region. Does nothing without `roi`. Needs all arrays up to plan->blocks.
/// @return kOk
///         kInvalid: a shift is below the bit-planes of a component (H.1)
///         kNotSupported: too many bit-planes with the shift
Status add_regions(Plan* plan, const Log& log);

}  // namespace cj2k
