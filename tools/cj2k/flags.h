// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the flags of opj_compress and grk_compress. Those that mean the same here are taken, the others refused by name.
#ifndef CJ2K_TOOLS_FLAGS_H_
#define CJ2K_TOOLS_FLAGS_H_

#include <string>
#include <vector>

#include "options.h"

namespace cj2k_tool {

struct Flag {
  std::vector<const char*> names;  // without the dash
  const char* argument;            // "" if it has none
  const char* meaning;             // the options that it stands for; or why it is refused
  /// Throws UsageError. nullptr: refused.
  void (*set)(Options& options, const std::string& name, const std::string& value);
};
const std::vector<Flag>& all_flags();

/// nullptr if no flag has this name.
const Flag* find_flag(const std::string& name);

/// What depends on several flags: precincts, which those encoders halve from the last one on.
void resolve_flags(Options& options);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_FLAGS_H_
