// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "conformance/profile_params.h"

namespace cj2k::test {

/// A profile at a size. Rsiz without the levels, which follow from size and rate.
struct MatrixRow {
  const char* profile;
  uint16_t rsiz;
  int32_t width, height, depth;
  bool chroma_422;
};

/// Encodes `content` as the row says, within the caps of that frame rate, and fails the running
/// test if the checker finds anything: errors, or warnings other than those in `warnings_allowed`.
void check_matrix_point(const MatrixRow& row, cj2k_check::FrameRate fps, Content content);

}  // namespace cj2k::test
