// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: how a run ends.
#ifndef CJ2K_TOOLS_FAILURE_H_
#define CJ2K_TOOLS_FAILURE_H_

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace cj2k_tool {

/// Exit statuses. A run that a signal stops ends with 128 + its number.
enum Exit { kDone = 0, kFailed = 1, kUsage = 2 };

/// What ends a run: one line for the user, and the exit status.
struct Failure : std::runtime_error {
  explicit Failure(const std::string& message, int exit_status = kFailed)
      : std::runtime_error(message), status(exit_status) {}
  int status;
};

/// A wrong command line.
struct UsageError : Failure {
  explicit UsageError(const std::string& message) : Failure(message, kUsage) {}
};

/// What an exception says, in the user's words.
inline const char* reason_of(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what();
}

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_FAILURE_H_
