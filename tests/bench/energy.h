// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The energy counter of a GPU board, through NVML (found at run time).
#pragma once

#include <optional>
#include <string>

namespace cj2k::bench {

class EnergyMeter {
 public:
  /// @param uuid  "GPU-...". Without NVML or without a counter the meter reads nothing.
  explicit EnergyMeter(const std::string& uuid);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// The energy of the whole board in joules since the driver was loaded. The counter changes every
  /// few tens of milliseconds.
  std::optional<double> joules() const;
  const std::string& driver_version() const { return driver_version_; }
  /// The reason why joules() returns nothing; "" if it returns a value.
  const std::string& missing() const { return missing_; }

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
  int (*read_)(void* device, unsigned long long* millijoules) = nullptr;
  int (*shutdown_)() = nullptr;
  std::string driver_version_, missing_;
};

}  // namespace cj2k::bench
