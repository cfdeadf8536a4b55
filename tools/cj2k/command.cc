// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"

#include <algorithm>

#include "failure.h"

namespace cj2k_tool {

CommandLine parse_command(
    const std::string& command, int argc, char** argv, const std::vector<std::string_view>& options,
    const std::function<void(const std::string& name, const std::string& value)>& set) {
  CommandLine out;
  const auto has = [&options](const std::string& option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  bool only_names = false;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (only_names || argument == "-" || !argument.starts_with('-')) {
      out.names.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const bool attached = equals != std::string::npos;
    const std::string name = argument.substr(0, equals);
    if (argument == "--") {
      only_names = true;
    } else if (argument == "--help" || argument == "-h") {
      out.help = true;
    } else if (has(name) && !attached) {
      set(name, "");
    } else if (!has(name + '=')) {
      throw UsageError(command + ": unknown option " + argument + " (cj2k " + command + " --help)");
    } else if (attached) {
      set(name, argument.substr(equals + 1));
    } else if (++i < argc) {
      set(name, argv[i]);
    } else {
      throw UsageError(command + ": " + name + " needs a value");
    }
  }
  return out;
}

}  // namespace cj2k_tool
