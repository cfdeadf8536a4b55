// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The speed of the shim, which bounds what CI can run through it. The figures are printed with
// --success or -s. The only check is that work was done.
#include <ctime>

#include "device/sample_kernels.h"
#include "device/support.h"

using namespace cj2k;
using namespace cj2k::simt;
using namespace cj2k::simt::test;
namespace samples = cj2k::cuda::samples;

namespace {
/// CPU time of this process: the machine may run other programs.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
}  // namespace

TEST_CASE("speed of switches, barriers and accesses") {
  constexpr uint32_t kBlocks = 8, kRounds = 500;
  for (uint32_t what = 0; what < 3; ++what) {
    Gpu gpu;
    const DeviceBuffer out = gpu.make<uint32_t>(kBlocks * samples::kSpinThreads);
    const double start = cpu_seconds();
    REQUIRE(samples::spin(gpu.stream, out.as<uint32_t>(), kBlocks, kRounds, what) == Status::kOk);
    REQUIRE(gpu.stream.synchronize() == Status::kOk);
    const double seconds = cpu_seconds() - start;
    const double calls = double{kBlocks} * samples::kSpinThreads * kRounds;
    const std::string name = what == 0 ? "shuffles" : what == 1 ? "barriers" : "neither";
    MESSAGE(name, ": ", shim::stats().switches / seconds / 1e6, " M switches/s, ",
            seconds / calls * 1e9, " ns per thread and round");
    CHECK(shim::stats().threads == kBlocks * samples::kSpinThreads);
  }
  for (const bool check_races : {true, false}) {
    shim::reset({.seed = 1, .check_races = check_races});
    LogLines lines;
    std::unique_ptr<Context> context;
    REQUIRE(Context::open({}, lines.log(), &context) == Status::kOk);
    Stream stream;
    REQUIRE(stream.create(*context) == Status::kOk);
    constexpr uint32_t kCount = 1 << 20;
    DeviceBuffer in, out;
    REQUIRE(in.allocate(*context, kCount * 4) == Status::kOk);
    REQUIRE(out.allocate(*context, kCount * 4) == Status::kOk);
    REQUIRE(stream.synchronize() == Status::kOk);
    double seconds = 0;
    for (int i = 0; i < 2; ++i) {  // the second run has no page faults
      const double start = cpu_seconds();
      REQUIRE(samples::halve(stream, in.as<uint32_t>(), out.as<uint32_t>(), kCount) == Status::kOk);
      REQUIRE(stream.synchronize() == Status::kOk);
      seconds = cpu_seconds() - start;
    }
    MESSAGE("16-byte load, halve, store, races ",
            std::string(check_races ? "checked" : "not checked"), ": ",
            seconds / (kCount / 4) * 1e9, " ns per thread");
  }
}
