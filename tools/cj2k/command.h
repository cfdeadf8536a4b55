// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The command line of `cj2k info`, `cj2k transcode` and `cj2k verify`.
#ifndef CJ2K_TOOLS_COMMAND_H_
#define CJ2K_TOOLS_COMMAND_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cj2k_tool {

struct CommandLine {
  std::vector<std::string> names;  ///< of files
  bool help = false;
};

/// Reads what follows the command. "--" ends the options, and "-" is a name. Throws UsageError.
/// @param options  "--name" of a flag, "--name=" where a value follows it, as "--name value" too
/// @param set      called with "--name" and the value; "" for a flag
CommandLine parse_command(
    const std::string& command, int argc, char** argv, const std::vector<std::string_view>& options,
    const std::function<void(const std::string& name, const std::string& value)>& set);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_COMMAND_H_
