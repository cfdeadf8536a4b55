// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace cj2k {
namespace {

constinit thread_local char t_error[kMaxMessageBytes] = "";

/// @return the bytes of the character of UTF-8 at `text`, which ends in a zero; 0 if there is none
size_t utf8_bytes(const char* text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t count = byte(0) < 0x80   ? 1
                       : byte(0) < 0xC2 ? 0
                       : byte(0) < 0xE0 ? 2
                       : byte(0) < 0xF0 ? 3
                       : byte(0) < 0xF5 ? 4
                                        : 0;
  for (size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool is_too_long =
      (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool is_no_character =  // half of a UTF-16 pair; above U+10FFFF
      (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return is_too_long || is_no_character ? 0 : count;
}

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

void set_error_text(const char* text) { std::snprintf(t_error, sizeof t_error, "%s", text); }

Status Log::fail(Status status, const char* format, ...) const {
  char message[kMaxMessageBytes];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  make_line(message);
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
  make_line(message);
  fn_(opaque_, level, message);
}

}  // namespace cj2k
