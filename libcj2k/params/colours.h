// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The colours of the frames, from code points of ITU-T H.273 to parameters.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

struct SourceColours {
  int primaries, transfer, matrix;  ///< Tables 2, 3 and 4
  bool full_range;
};

/// cj2k_params_set_colours.
/// @param p  all fields are known; not changed after an error
Status set_colours(cj2k_params* p, const SourceColours& of, const Log& log);

}  // namespace cj2k
