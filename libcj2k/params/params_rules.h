// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The rules between parameters, and the values that replace "chosen" and AUTO. For params.cc.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// The smallest value of quant_step, as in cj2k_params.def.
inline constexpr double kMinQuantStep = 0.015625;

/// Whether a parameter says how good frames are to be.
inline bool has_quality(const cj2k_params& p) {
  return p.quality != 0 || p.qfactor != 0 || p.target_psnr != 0;
}

/// Checks the fields against each other, and replaces "chosen" and AUTO. Each field must already be
/// in its range.
/// @return kOk | kInvalid
Status apply_param_rules(cj2k_params* p, const Log& log);

}  // namespace cj2k
