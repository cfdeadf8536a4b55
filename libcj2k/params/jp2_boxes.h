// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Boxes of the caller in a JP2 file: those that tell of the picture and change nothing in it (T.800 I.7).
#pragma once

#include <cstddef>

#include "base/log.h"
#include "base/status.h"

namespace cj2k {

/// The most bytes of all boxes together.
inline constexpr size_t kMaxJp2BoxesBytes = size_t{1} << 26;

/// Checks that they are whole boxes of the types uuid, xml and uinf.
/// @return kOk | kInvalid, with the reason
Status check_jp2_boxes(const void* data, size_t bytes, const Log& log);

}  // namespace cj2k
