// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "base/status.h"

namespace cj2k {

/// The longest line, with its final zero.
inline constexpr size_t kMaxMessageBytes = 1024;

/// The text of the calling thread's last Log::fail, "" after a clear: what a Status that is handed
/// up stands for.
const char* error_text();
void set_error_text(const char* text);
inline void clear_error_text() { set_error_text(""); }

/// The caller's log function. Text is formatted once, where the event happens, with its values.
class Log {
 public:
  Log() = default;
  Log(cj2k_log_fn fn, void* opaque) : fn_(fn), opaque_(opaque) {}

  /// Logs an error and hands `status` back: `return log.fail(Status::kInvalid, "layers %d not in
  /// [1, 65535]", n);`
  [[gnu::format(printf, 3, 4)]] Status fail(Status status, const char* format, ...) const;
  [[gnu::format(printf, 3, 4)]] void print(cj2k_log_level level, const char* format, ...) const;

 private:
  cj2k_log_fn fn_ = nullptr;
  void* opaque_ = nullptr;
};

}  // namespace cj2k
