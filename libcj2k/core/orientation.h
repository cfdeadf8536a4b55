// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace cj2k {

/// Of a subband: the filter of the rows, then that of the columns (T.800 Annex B.5, Table D.1).
enum Orientation : uint8_t { kLL = 0, kHL = 1, kLH = 2, kHH = 3 };

}  // namespace cj2k
