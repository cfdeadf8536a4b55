// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Parameters that are lists of records: text to value and back, and their rules. For params.cc and
// params_rules.cc.
#pragma once

#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "params/params_table.h"
#include "params/params_text.h"

namespace cj2k {

inline constexpr char kProgressionsSyntax[] =
    "at most 32 entries \"RS,CS,LYE,RE,CE,order\" separated by '/', with numbers";

/// The text of `poc`, "RS,CS,LYE,RE,CE,order/..".
bool parse_progressions(const param_table::Row& row, std::string_view text, cj2k_params* p);
Status print_progressions(const cj2k_params& p, const Log& log, param_text::TextOut* out);

inline constexpr char kRegionsSyntax[] =
    "at most 16 rectangles \"x,y,w,h\" or \"x,y,w,h,shift\" separated by '/', with numbers";

/// The text of `roi`, "x,y,w,h,shift/..".
bool parse_regions(const param_table::Row& row, std::string_view text, cj2k_params* p);
Status print_regions(const cj2k_params& p, const Log& log, param_text::TextOut* out);

/// Checks that each rectangle of `roi` has samples of the picture.
/// @param p  width, height and image_offset have been checked
Status check_regions(const cj2k_params& p, const Log& log);

/// Checks `poc` against levels, num_components and layers: the range of each number (T.800 Table
/// A.32), and that its entries together hold every packet.
/// @param p  levels, num_components and layers are in their ranges
Status check_progressions(const cj2k_params& p, const Log& log);

}  // namespace cj2k
