// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which instruction set the run-time dispatch picks for each SIMD stage: the HWY_* bit of
// hwy/detect_targets.h, to be named by hwy::TargetName. One function per translation unit, answered
// by the code that would run.
#pragma once

#include <cstdint>

namespace cj2k::simd {

int64_t ingest_target();
int64_t colour_target();
int64_t dwt_target();
int64_t quantize_target();
int64_t tier1_target();

}  // namespace cj2k::simd
