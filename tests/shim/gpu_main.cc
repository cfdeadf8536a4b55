// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tests on the GPU of this machine. A primary context is held from the first test to the last:
// the tests open and close hundreds, which is cheap while somebody holds it, and takes a fraction
// of a second each while nobody does.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "kernels/simt/device.h"

namespace {

constexpr int kSkipped = 77;

unsigned g_test_cases = 0;

/// Counts what the filters leave over: a misspelt one must not look like success.
struct Counter final : doctest::IReporter {
  explicit Counter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    g_test_cases = stats.numTestCasesPassingFilters;
  }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("counter", 0, Counter);

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
  doctest::Context tests(argc, argv);
  int status = tests.run();
  if (g_test_cases == 0 && !tests.shouldExit()) {
    std::printf("FAILED: no test case has been chosen\n");
    status = 1;
  }
  const auto made = num_primary_contexts_made();
  std::printf("primary contexts made: %llu\n", static_cast<unsigned long long>(made));
  if (made != 1) {
    std::printf("FAILED: one primary context should have served all tests\n");
    status = 1;
  }
  return status;
}
