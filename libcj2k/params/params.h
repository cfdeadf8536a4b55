// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the library does with the parameter table (include/cj2k_params.def): defaults, conversion
// from and to text, and the checks of ranges and of the rules between parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// The smallest struct_size of cj2k_params: it contains the fields that describe the picture.
inline constexpr size_t kMinParamsBytes = offsetof(cj2k_params, lossless);
/// The smallest struct_size of cj2k_param_info: it contains `name` and `type`.
inline constexpr size_t kMinParamInfoBytes = offsetof(cj2k_param_info, min);

/// The largest value of target_bytes and of the caps, and the range of quality, as in
/// cj2k_params.def.
inline constexpr int64_t kMaxBytes = int64_t{1} << 40;
inline constexpr double kMinQuality = 1.0 / 256, kMaxQuality = 256;

/// The name that cj2k_params.def gives to a value of a parameter; nullptr: it has none.
const char* value_name(std::string_view param, int64_t value);

void set_default_params(cj2k_params* p);

/// Sets one parameter from text.
/// @param p  a caller's struct from any header (caller_struct.h)
/// @return kOk | kInvalid: the key is unknown, the text is not a valid number or name, or a number
///   is out of range; `p` is unchanged then
Status set_param(cj2k_params* p, const char* key, const char* value, const Log& log);

/// Writes the value as text that set_param takes. Every value fits into CJ2K_MAX_PARAM_TEXT bytes.
/// @return kOk | kInvalid: the key is unknown, no text stands for the fields, or `bytes` is too
///   small
Status get_param(const cj2k_params& p, const char* key, char* text, size_t bytes, const Log& log);

/// Describes row `index` of the parameter table.
/// @return kOk | kEof: after the last row | kInvalid: index < 0
Status describe_param(int index, const Log& log, cj2k_param_info* info);

/// Checks every field against its range and against the other fields, and replaces each "chosen"
/// and AUTO by its value. It replaces `gop` and `async_depth` only if device is cpu; otherwise
/// choose_depth replaces them once the backend is known. NaN fails every range. The rules: T.800
/// A.5.1 (sizes, offsets, tiles), A.6.1 (blocks, precincts) and G.2 (colour transform), and
/// lossless = 1 excludes caps and quality. Every message names the parameter, its value and its
/// range.
/// @param p  a caller's struct from any header (caller_struct.h)
/// @return kOk | kInvalid | kNotSupported
Status resolve_params(const cj2k_params& p, const Log& log, cj2k_params* resolved);

/// The least of target_bytes and max_frame_bytes that is set; 0: none.
int64_t byte_cap(const cj2k_params& p);

/// Threads = 0: the cores that this process may use, 1 .. 1024.
int32_t usable_cores();

/// Warns if `stop` needs a cap and there is none: what PST, PSB and BPI stop at is missing then.
/// @param p  resolved
void warn_of_stop(const cj2k_params& p, const Log& log);

/// Checks that padding to min_frame_bytes fits under the caps of a frame.
/// @param where  the beginning of the message
Status check_min_frame_bytes(const char* where, const cj2k_params& p, const Log& log);

/// GOPs in flight on a CUDA device with async_depth 0, and down to kFewestCudaGops where the device
/// has less memory (cuda/gop_choice.h). One is uploaded and others wait for a decision or a copy, while
/// the rest fill the device.
constexpr int32_t cuda_gops(int32_t gop) { return gop <= 8 ? 8 : 4; }
inline constexpr int32_t kFewestCudaGops = 2;

/// Chooses `gop` and `async_depth` where they are 0, and rounds async_depth up to whole GOPs (it
/// can then exceed its range).
/// @param p       its `threads` must be resolved
/// @param blocks  number of code-blocks of a frame; used only with cuda
void choose_depth(cj2k_params* p, bool cuda, int64_t blocks);

}  // namespace cj2k
