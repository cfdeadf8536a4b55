// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "base/status.h"

namespace cj2k {

/// Most bytes of a message, with its final zero.
inline constexpr size_t kMaxMessageBytes = 1024;

/// The text of the last Log::fail of the calling thread; "" after clear_error_text. It belongs to
/// the Status that a function returns to its caller.
const char* error_text();
void set_error_text(const char* text);
inline void clear_error_text() { set_error_text(""); }

/// The caller's log function. A message is formatted where the event happens, with its values.
class Log {
 public:
  Log() = default;
  Log(cj2k_log_fn fn, void* opaque) : fn_(fn), opaque_(opaque) {}

  /// Logs an error and returns `status`:
  ///   return log.fail(Status::kInvalid, "layers %d not in [1, 65535]", n);
  [[gnu::format(printf, 3, 4)]] Status fail(Status status, const char* format, ...) const;
  [[gnu::format(printf, 3, 4)]] void print(cj2k_log_level level, const char* format, ...) const;

 private:
  cj2k_log_fn fn_ = nullptr;
  void* opaque_ = nullptr;
};

}  // namespace cj2k
