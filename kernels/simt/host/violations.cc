// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "kernels/simt/host/internal.h"

namespace cj2k::simt::shim {
namespace {

std::recursive_mutex g_handler_mutex;
ViolationHandler& handler() {
  static auto* h = new ViolationHandler;
  return *h;
}

}  // namespace

const char* bug_name(Bug bug) {
  switch (bug) {
    case Bug::kOutOfBounds:
      return "out of bounds";
    case Bug::kMisaligned:
      return "misaligned";
    case Bug::kReadOnlyWritten:
      return "read-only memory written";
    case Bug::kGlobalRace:
      return "race between blocks";
    case Bug::kSharedRace:
      return "race in shared memory";
    case Bug::kBarrierDivergence:
      return "barrier divergence";
    case Bug::kWarpDivergence:
      return "warp divergence";
    case Bug::kDeadlock:
      return "deadlock";
    case Bug::kCanary:
      return "canary";
    case Bug::kApiMisuse:
      return "misuse of the device API";
    case Bug::kLeak:
      return "leak";
  }
  return "?";
}

void report(Bug bug, const char* format, ...) {
  char text[1536];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const Violation violation = {bug, std::string(bug_name(bug)) + ": " + text};
  const std::lock_guard lock(g_handler_mutex);
  if (handler()) {
    handler()(violation);
    return;
  }
  std::fprintf(stderr, "shim: %s\n", violation.text.c_str());
  std::abort();
}

void set_violation_handler(ViolationHandler new_handler) {
  const std::lock_guard lock(g_handler_mutex);
  handler() = std::move(new_handler);
}

Recorder::Recorder() {
  const std::lock_guard lock(g_handler_mutex);
  outer_ = std::exchange(handler(),
                         [this](const Violation& violation) { violations_.push_back(violation); });
}

Recorder::~Recorder() {
  const std::lock_guard lock(g_handler_mutex);
  handler() = std::move(outer_);
}

bool Recorder::caught(Bug bug) const {
  for (const Violation& violation : violations_) {
    if (violation.bug == bug) return true;
  }
  return false;
}

std::string Recorder::text() const {
  std::string text;
  for (const Violation& violation : violations_) text += violation.text + "\n";
  return text;
}

}  // namespace cj2k::simt::shim
