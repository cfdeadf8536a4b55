// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The rules between parameters, and what "chosen" and AUTO become. For params.cc.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// The finest step that quant_step can have, as in cj2k_params.def.
inline constexpr double kMinQuantStep = 0.015625;

/// Checks fields that are each in range against the others; replaces "chosen" and AUTO.
/// @return kOk | kInvalid
Status apply_param_rules(cj2k_params* p, const Log& log);

}  // namespace cj2k
