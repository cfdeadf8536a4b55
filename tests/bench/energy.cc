// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "bench/energy.h"

#include <dlfcn.h>

namespace cj2k::bench {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& uuid) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    missing_ = "no libnvidia-ml.so.1";
    return;
  }
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, void**) = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  if (!find(library_, "nvmlInit_v2", &init) || !find(library_, "nvmlShutdown", &shutdown_) ||
      !find(library_, "nvmlDeviceGetHandleByUUID", &by_uuid) ||
      !find(library_, "nvmlSystemGetDriverVersion", &version) ||
      !find(library_, "nvmlDeviceGetTotalEnergyConsumption", &read_)) {
    missing_ = "NVML is too old";
    read_ = nullptr;
    shutdown_ = nullptr;
    return;
  }
  if (const int error = init(); error != 0) {
    missing_ = "nvmlInit failed with " + std::to_string(error);
    shutdown_ = nullptr;
    return;
  }
  char text[81] = "";
  if (version(text, sizeof text) == 0) driver_version_ = text;
  unsigned long long unused = 0;
  if (const int error = by_uuid(uuid.c_str(), &device_); error != 0) {
    device_ = nullptr;
    missing_ = "NVML does not know " + uuid + " (" + std::to_string(error) + ")";
  } else if (const int refused = read_(device_, &unused); refused != 0) {
    device_ = nullptr;
    missing_ = "this GPU has no energy counter (" + std::to_string(refused) + ")";
  }
}

EnergyMeter::~EnergyMeter() {
  if (shutdown_ != nullptr) shutdown_();
  if (library_ != nullptr) dlclose(library_);
}

std::optional<double> EnergyMeter::joules() const {
  unsigned long long millijoules = 0;
  if (device_ == nullptr || read_(device_, &millijoules) != 0) return std::nullopt;
  return static_cast<double>(millijoules) / 1000;
}

}  // namespace cj2k::bench
