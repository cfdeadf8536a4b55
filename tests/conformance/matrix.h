// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "conformance/editor.h"
#include "support/encode.h"

namespace cj2k::test {

/// A profile at a size.
struct MatrixRow {
  const char* profile;
  int32_t width, height, depth;
  bool chroma_422;
};

/// Encodes `content` with the library's parameter `profile` at that frame rate, and fails the
/// running test if the checker finds anything, errors or warnings. With `full` a cinema profile
/// fills its cap, of which some checkers warn.
void check_matrix_point(const MatrixRow& row, cj2k_check::FrameRate fps, Content content,
                        bool full = false);

}  // namespace cj2k::test
