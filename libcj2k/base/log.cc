// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <cstdarg>
#include <cstdio>

namespace cj2k {
namespace {

constinit thread_local char t_error[kMaxMessageBytes] = "";

}  // namespace

const char* error_text() { return t_error; }

void set_error_text(const char* text) { std::snprintf(t_error, sizeof t_error, "%s", text); }

Status Log::fail(Status status, const char* format, ...) const {
  char message[kMaxMessageBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  set_error_text(message);
  if (fn_ != nullptr) fn_(opaque_, CJ2K_LOG_ERROR, message);
  return status;
}

void Log::print(cj2k_log_level level, const char* format, ...) const {
  if (fn_ == nullptr) return;
  char message[kMaxMessageBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  fn_(opaque_, level, message);
}

}  // namespace cj2k
