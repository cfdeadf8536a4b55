// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tests on the GPU of this machine. The program holds a primary context from the first test to
// the last. The tests open and close hundreds of contexts: this is cheap while somebody holds the
// primary context, and takes a fraction of a second each otherwise.
#include <cstdio>
#include <memory>
#include <vector>

#include "kernels/simt/device.h"
#include "support/run_tests.h"

namespace {

constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  using namespace cj2k::simt;
  const cj2k::Log log([](void*, cj2k_log_level, const char* text) { std::printf("%s\n", text); },
                      nullptr);
  std::vector<DeviceInfo> devices;
  if (list_devices(log, &devices) != cj2k::Status::kOk) return kSkipped;
  for (const DeviceInfo& device : devices) {
    std::printf("device %d: %s, %s, compute capability %d.%d, %d multiprocessors, %zu bytes\n",
                device.ordinal, device.name.c_str(), device.uuid.c_str(), device.compute_major,
                device.compute_minor, device.num_multiprocessors, device.total_bytes);
  }
  std::unique_ptr<Context> held;
  if (Context::open({}, log, &held) != cj2k::Status::kOk) return 1;
  int status = cj2k::test::run_tests(argc, argv);
  const auto made = num_primary_contexts_made();
  std::printf("primary contexts made: %llu\n", static_cast<unsigned long long>(made));
  if (made != 1) {
    std::printf("FAILED: one primary context should have served all tests\n");
    status = 1;
  }
  return status;
}
