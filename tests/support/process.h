// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cj2k::test {

/// A folder of its own under the system's temporary folder, removed with all it holds.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct ProcessResult {
  int exit_code = -1;  ///< 127: cannot be started; 128 + n: ended by signal n
  std::string output;  ///< stdout and stderr together
};

/// Runs a program found in PATH, without a shell and without input.
ProcessResult run_process(const std::vector<std::string>& command);

/// Whether PATH holds the program.
bool have_program(const std::string& name);

}  // namespace cj2k::test
