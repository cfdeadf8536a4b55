// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace cj2k {

/// Orientation of a subband: the filter along rows, then the filter along columns (T.800 B.5, Table
/// D.1).
enum Orientation : uint8_t { kLL = 0, kHL = 1, kLH = 2, kHH = 3 };

}  // namespace cj2k
