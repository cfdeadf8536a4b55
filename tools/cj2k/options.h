// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the command line. Three kinds of options: those of the tool (tool_options), those of the library, which come from
// cj2k_params_describe, and the flags of other encoders (flags.h).
#ifndef CJ2K_TOOLS_OPTIONS_H_
#define CJ2K_TOOLS_OPTIONS_H_

#include <cj2k.h>

#include <string>
#include <utility>
#include <vector>

#include "frames.h"

namespace cj2k_tool {

struct Options {
  FrameSelection frames;
  std::vector<std::pair<std::string, std::string>> params;  // for cj2k_params_set, in their order
  double bitrate = 0;                                       // bit/s; 0: none
  int64_t film_bytes = 0;                                   // of all frames; 0: none
  double film_rate = 0;                                     // bit/s of all frames; 0: none
  double film_power = 0;                                    // cj2k_film::power
  std::string trc, stat, film_log;
  int readers = 0;  // 0: one per core
  bool psnr = false, quiet = false, progress = false, verbose = false, skip_existing = false;
  bool help = false, version = false;

  /// The value that the last option sets, or nullptr.
  const std::string* param(const std::string& name) const;
};

/// An option of the tool. `set` throws UsageError.
struct ToolOption {
  const char* name;      // without the dashes
  const char* letter;    // a short form, without the dash; or ""
  const char* argument;  // what the help calls it; "" if it has none; "[N]" if it may be left out
  const char* group;
  const char* help;
  void (*set)(Options& options, const std::string& value);
};
const std::vector<ToolOption>& tool_options();

/// The parameters of the library that are options: all but those that the picture and the name of the output decide.
std::vector<cj2k_param_info> param_options();
/// The heading under which the help has the parameter; "" = that of the one before.
const char* group_of(const std::string& param);

/// Throws UsageError.
Options parse_options(int argc, const char* const* argv);

/// Sets the input or the output. Throws UsageError if it has been set: the last one alone would count.
void set_name(std::string& name, const std::string& option, const std::string& value);

/// Adds a parameter. Throws UsageError that begins with `option` if the library refuses the value.
void set_param(Options& options, const std::string& option, const std::string& param,
               const std::string& value);

/// What stands between the characters `at`.
std::vector<std::string> split(const std::string& text, char at);

/// "--first 7x": a whole number from `low` on, or UsageError.
int64_t parse_number(const std::string& name, const std::string& value, int64_t low, int64_t high);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_OPTIONS_H_
