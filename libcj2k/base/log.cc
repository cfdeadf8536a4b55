// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/utf8.h"

namespace cj2k {
namespace {

constinit thread_local char t_error[kMaxMessageBytes] = "";
constinit thread_local ErrorSubject t_subject;

/// Makes one line of UTF-8 of a message that quotes what a caller has given.
void make_line(char* text) {
  while (*text != '\0') {
    const size_t count = utf8_bytes(text);
    if (count == 0 || (count == 1 && (static_cast<uint8_t>(*text) < ' ' || *text == 0x7F)))
      *text = '?';
    text += count == 0 ? 1 : count;
  }
}

}  // namespace

const char* error_text() { return t_error; }

void set_error_text(const char* text) {
  std::snprintf(t_error, sizeof t_error, "%s", text);
  t_subject = {};
}

const ErrorSubject& error_subject() { return t_subject; }

Log Log::about(const char* param, double value, double min, double max) const {
  Log log = *this;
  log.subject_ = {{}, value, min, max};
  const char* const colon = std::strrchr(param, ' ');
  const char* const name = colon == nullptr ? param : colon + 1;
  std::snprintf(log.subject_.param, sizeof log.subject_.param, "%.*s",
                static_cast<int>(std::strcspn(name, "[")), name);
  return log;
}

Log Log::errors_only() const {
  return {[](void* to, cj2k_log_level level, const char* message) {
            if (level == CJ2K_LOG_ERROR) static_cast<Log*>(to)->print(level, "%s", message);
          },
          const_cast<Log*>(this)};
}

Status Log::fail(Status status, const char* format, ...) const {
  char message[kMaxMessageBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  make_line(message);
  set_error_text(message);
  t_subject = subject_;
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
  make_line(message);
  fn_(opaque_, level, message);
}

}  // namespace cj2k
