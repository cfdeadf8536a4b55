// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Applies a profile (profiles.h) to the parameters. For params_rules.cc.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// Sets the parameters that are AUTO or unset as the profile says, levels and caps included, and
/// checks the others against it. Without a profile it only sets the defaults. With profile_strict =
/// 0 each contradiction is a warning, and if there is one, `profile` is NONE afterwards.
/// @param p  each field in its range
/// @return kOk | kInvalid
Status apply_profile(cj2k_params* p, const Log& log);

}  // namespace cj2k
