// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include <cinttypes>
#include <cstdio>

#include "codestream.h"

namespace cj2k_check {

void Report::add(Severity severity, const char* rule, const std::string& clause, uint64_t offset,
                 const std::string& found, const std::string& allowed) {
  ++(severity == Severity::kError ? errors_ : warnings_);
  if (++counts_[rule] > kMostPerRule) return;
  findings_.push_back({severity, rule, clause, found, allowed, frame_, base_ + offset});
}

std::string hex(uint64_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%0*" PRIX64, digits, value);
  return text;
}

std::string marker_name(uint16_t code) {
  const char* name = nullptr;
  for (const MarkerRow& row : kMarkers) {
    if (row.code == code) name = row.name;
  }
  return name != nullptr ? std::string(name) + " (" + hex(code) + ")" : hex(code);
}

}  // namespace cj2k_check
