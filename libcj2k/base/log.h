// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "base/status.h"

// How the format of our own functions is checked. For GCC on Windows, `printf` is that of Microsoft's library, and ours is C's.
#if defined(__MINGW32__)
#define CJ2K_PRINTF gnu_printf
#else
#define CJ2K_PRINTF printf
#endif

namespace cj2k {

/// Most bytes of a message, with its final zero.
inline constexpr size_t kMaxMessageBytes = 1024;

/// What an error is about, for programs: a parameter, its value and the range that it must have.
struct ErrorSubject {
  char param[32] = "";       ///< "": no single parameter
  double value = 0;          ///< 0 where the parameter is no number
  double min = 0, max = -1;  ///< min > max: there is no range
};

/// The text of the last Log::fail of the calling thread; "" after clear_error_text. It belongs to
/// the Status that a function returns to its caller.
const char* error_text();
void set_error_text(const char* text);
inline void clear_error_text() { set_error_text(""); }
/// The subject of the last Log::fail; set_error_text clears it.
const ErrorSubject& error_subject();

/// The caller's log function. A message is formatted where the event happens, with its values.
class Log {
 public:
  Log() = default;
  Log(cj2k_log_fn fn, void* opaque) : fn_(fn), opaque_(opaque) {}

  /// Logs an error and returns `status`:
  ///   return log.fail(Status::kInvalid, "layers %d not in [1, 65535]", n);
  ///   return log.about("layers", n, 1, 65535).fail(...) says the same to programs
  [[gnu::format(CJ2K_PRINTF, 3, 4)]] Status fail(Status status, const char* format, ...) const;
  /// @param param  its name; what stands before a blank ("frame: levels") and from a '[' on is left
  ///   out
  Log about(const char* param, double value = 0, double min = 0, double max = -1) const;
  /// Passes on errors alone, where the rest has been said. Holds a pointer to this log.
  Log errors_only() const;
  [[gnu::format(CJ2K_PRINTF, 3, 4)]] void print(cj2k_log_level level, const char* format,
                                                ...) const;

 private:
  cj2k_log_fn fn_ = nullptr;
  void* opaque_ = nullptr;
  ErrorSubject subject_;
};

}  // namespace cj2k
