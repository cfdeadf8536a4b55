// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cj2k::test {

/// A new folder below the system's temporary folder. The destructor removes it with its content.
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
  int exit_code = -1;  ///< 127: the program cannot be started; 128 + n: signal n ended it
  std::string output;  ///< stdout and stderr together
};

/// Runs a program that PATH finds, without a shell and without input.
ProcessResult run_process(const std::vector<std::string>& command);

/// Whether PATH finds the program.
bool have_program(const std::string& name);

}  // namespace cj2k::test
