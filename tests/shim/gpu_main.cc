// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <vector>

#include "simt/device.h"

namespace {
constexpr int kSkipped = 77;
}

int main(int argc, char** argv) {
  const cj2k::Log log([](void*, cj2k_log_level, const char* text) { std::printf("%s\n", text); },
                      nullptr);
  std::vector<cj2k::simt::DeviceInfo> devices;
  if (cj2k::simt::list_devices(log, &devices) != cj2k::Status::kOk) return kSkipped;
  for (const auto& device : devices) {
    std::printf("device %d: %s, %s, compute capability %d.%d, %zu bytes\n", device.ordinal,
                device.name.c_str(), device.uuid.c_str(), device.compute_major,
                device.compute_minor, device.total_bytes);
  }
  return doctest::Context(argc, argv).run();
}
