// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parameter table (include/cj2k_params.def) at work: defaults, text to value, ranges, and the
// rules between parameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// The oldest header that can be meant ends behind the description of the picture.
inline constexpr size_t kMinParamsBytes = offsetof(cj2k_params, lossless);
/// And the oldest header's row of the table.
inline constexpr size_t kMinParamInfoBytes = offsetof(cj2k_param_info, min);

/// The most that target_bytes and the caps can be, and the range of quality, as in cj2k_params.def.
inline constexpr int64_t kMaxBytes = int64_t{1} << 40;
inline constexpr double kMinQuality = 1.0 / 256, kMaxQuality = 256;

void set_default_params(cj2k_params* p);

/// `p` is a caller's, of any header (caller_struct.h).
/// @return kOk | kInvalid: unknown key, text that is no number or name, a number out of range. `p`
/// is unchanged then.
Status set_param(cj2k_params* p, const char* key, const char* value, const Log& log);

/// The value as text that set_param takes. Every value fits into CJ2K_MAX_PARAM_TEXT bytes.
/// @return kOk | kInvalid: unknown key, fields that no text stands for, or `bytes` too small
Status get_param(const cj2k_params& p, const char* key, char* text, size_t bytes, const Log& log);

/// @return kOk | kEof | kInvalid (index < 0)
Status describe_param(int index, const Log& log, cj2k_param_info* info);

/// Checks every field against its range and against the others, and replaces each "chosen" and AUTO
/// by its value; but `gop` and `async_depth` only where device is cpu: else choose_depth does, once
/// the backend is known. NaN fails every range. The rules: T.800 A.5.1 (sizes, offsets, tiles),
/// A.6.1 (blocks, precincts), G.2 (colour transform), and lossless = 1 against caps and quality.
/// Every message names parameter, value and range.
/// @param p  a caller's, of any header (caller_struct.h)
/// @return kOk | kInvalid | kNotSupported
Status resolve_params(const cj2k_params& p, const Log& log, cj2k_params* resolved);

/// Whether padding to min_frame_bytes fits under the caps of a frame.
/// @param where  what the message begins with
Status check_min_frame_bytes(const char* where, const cj2k_params& p, const Log& log);

/// Chooses `gop` and `async_depth` where they are 0, and rounds async_depth up to whole GOPs (it
/// can then exceed its range).
/// @param p       threads resolved
/// @param blocks  code-blocks of a frame; for cuda
void choose_depth(cj2k_params* p, bool cuda, int64_t blocks);

}  // namespace cj2k
