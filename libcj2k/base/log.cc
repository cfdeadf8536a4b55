// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <cstdarg>
#include <cstdio>

namespace cj2k {
namespace {

constexpr int kMaxMessageBytes = 1024;

void emit(cj2k_log_fn fn, void* opaque, cj2k_log_level level, const char* format, va_list args) {
  if (fn == nullptr) return;
  char message[kMaxMessageBytes];
  std::vsnprintf(message, sizeof message, format, args);
  fn(opaque, level, message);
}

}  // namespace

Status Log::fail(Status status, const char* format, ...) const {
  va_list args;
  va_start(args, format);
  emit(fn_, opaque_, CJ2K_LOG_ERROR, format, args);
  va_end(args);
  return status;
}

void Log::print(cj2k_log_level level, const char* format, ...) const {
  va_list args;
  va_start(args, format);
  emit(fn_, opaque_, level, format, args);
  va_end(args);
}

}  // namespace cj2k
