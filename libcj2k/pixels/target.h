// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The instruction set that the run-time dispatch picks for each SIMD stage, as the HWY_* bit of
// hwy/detect_targets.h; hwy::TargetName gives its name. There is one function per translation unit,
// and the code that would run answers it.
#pragma once

#include <cstdint>

namespace cj2k::simd {

int64_t ingest_target();
int64_t xyz_target();
int64_t colour_target();
int64_t dwt_target();
int64_t quantize_target();
int64_t tier1_target();
int64_t mq_lanes_target();
int64_t rdoq_target();
int64_t coded_before_target();
int64_t ht_block_target();
int64_t ht_cleanup_target();
int64_t ht_rdoq_target();
int64_t ht_decoder_target();
int64_t colour_errors_target();
int64_t magnitudes_target();

}  // namespace cj2k::simd
