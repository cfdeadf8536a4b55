// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/step_choice.h"

#include <utility>

namespace cj2k {

bool StepChoice::begin() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(begun_, true);
}

void StepChoice::publish(uint32_t step_set) {
  {
    const std::lock_guard lock(mutex_);
    if (!step_set_) step_set_ = step_set;
  }
  published_.notify_all();
}

uint32_t StepChoice::wait() {
  std::unique_lock lock(mutex_);
  published_.wait(lock, [this] { return step_set_.has_value(); });
  return *step_set_;
}

void StepChoice::restart() {
  const std::lock_guard lock(mutex_);
  begun_ = false;
  step_set_.reset();
}

}  // namespace cj2k
