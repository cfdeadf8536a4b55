// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Planted bugs. Each must be caught and named, with several seeds.
#include <algorithm>
#include <cstring>

#include "device/sample_kernels.h"
#include "device/support.h"

using namespace cj2k;
using namespace cj2k::simt;
using namespace cj2k::simt::test;
using shim::Bug;
namespace samples = cj2k::cuda::samples;

namespace {

/// Waits, then checks what was caught.
void check_caught(Gpu& gpu, const shim::Recorder& recorder, Bug bug, bool ends_launch,
                  const char* words) {
  const Status status = gpu.stream.synchronize();
  CAPTURE(recorder.text());
  CHECK(recorder.caught(bug));
  CHECK(recorder.text().find(words) != std::string::npos);
  CHECK(status == (ends_launch ? Status::kDevice : Status::kOk));
  CHECK(gpu.context->poisoned() == ends_launch);
}

}  // namespace

TEST_CASE("a missing barrier") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    const auto in = random_values<uint32_t>(samples::kReverseThreads, seed);
    const DeviceBuffer device_in = gpu.upload(in), device_out = gpu.make<uint32_t>(in.size());
    const shim::Recorder recorder;
    REQUIRE(samples::reverse(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(), 1,
                             false, true) == Status::kOk);
    check_caught(gpu, recorder, Bug::kSharedRace, false, "sample_kernels.cuh");
  }
}

TEST_CASE("a missing barrier, unchecked accesses: poison and order show it in the result") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    const auto in = random_values<uint32_t>(samples::kReverseThreads, seed);
    const DeviceBuffer device_in = gpu.upload(in), device_out = gpu.make<uint32_t>(in.size());
    REQUIRE(samples::reverse(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(), 1,
                             false, false) == Status::kOk);
    auto out = gpu.download<uint32_t>(device_out, in.size());
    std::reverse(out.begin(), out.end());
    CHECK(out != in);
  }
}

TEST_CASE("a missing sync_warp, also where a shuffle stands") {
  for (const uint64_t seed : kSeeds) {
    for (const auto between : {samples::Between::kNothing, samples::Between::kShuffle}) {
      Gpu gpu(seed);
      const DeviceBuffer out = gpu.make<uint32_t>(64);
      const shim::Recorder recorder;
      REQUIRE(samples::warp_neighbour(gpu.stream, out.as<uint32_t>(), between) == Status::kOk);
      check_caught(gpu, recorder, Bug::kSharedRace, false, "no barrier between");
    }
  }
}

TEST_CASE("a hand-over by a relaxed atomic, and one that another lane acquires") {
  for (const uint64_t seed : kSeeds) {
    for (const auto wait : {samples::FlagWait::kRelaxed, samples::FlagWait::kOneLaneNoSync}) {
      Gpu gpu(seed);
      const DeviceBuffer in = gpu.upload(random_values<uint32_t>(32, seed)),
                         out = gpu.make<uint32_t>(32);
      const shim::Recorder recorder;
      REQUIRE(samples::flag_handover(gpu.stream, in.as<uint32_t>(), out.as<uint32_t>(), wait) ==
              Status::kOk);
      check_caught(gpu, recorder, Bug::kSharedRace, false, "no barrier between");
    }
  }
}

TEST_CASE("a write out of bounds") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    const DeviceBuffer out = gpu.make<uint32_t>(1001);
    const shim::Recorder recorder;
    REQUIRE(samples::iota(gpu.stream, out.as<uint32_t>(), 1001, false) == Status::kOk);
    check_caught(gpu, recorder, Bug::kOutOfBounds, true, "of a buffer of 4004 bytes");
  }
}

TEST_CASE("use after free") {
  Gpu gpu;
  DeviceBuffer out = gpu.make<uint32_t>(64);
  auto* address = out.as<uint32_t>();
  out.reset();
  const shim::Recorder recorder;
  REQUIRE(samples::iota(gpu.stream, address, 64, true) == Status::kOk);
  check_caught(gpu, recorder, Bug::kOutOfBounds, true, "sample_iota");
}

TEST_CASE("a misaligned vector access") {
  Gpu gpu;
  const DeviceBuffer in = gpu.make<uint32_t>(64), out = gpu.make<uint32_t>(64);
  const shim::Recorder recorder;
  REQUIRE(samples::halve(gpu.stream, in.as<uint32_t>() + 1, out.as<uint32_t>(), 32) == Status::kOk);
  check_caught(gpu, recorder, Bug::kMisaligned, true, "alignment of 16");
}

TEST_CASE("gload_ro of what the launch writes") {
  Gpu gpu;
  const DeviceBuffer both = gpu.upload(random_values<uint32_t>(4096, 1));
  const shim::Recorder recorder;
  REQUIRE(samples::halve(gpu.stream, both.as<uint32_t>(), both.as<uint32_t>(), 4096) ==
          Status::kOk);
  check_caught(gpu, recorder, Bug::kReadOnlyWritten, false, "gload_ro");
}

TEST_CASE("a race between blocks") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    const DeviceBuffer in =
        gpu.upload(random_values<uint32_t>(4 * samples::kHistogramThreads, seed));
    const DeviceBuffer counts = gpu.make<uint32_t>(16);
    REQUIRE(gpu.stream.fill_u32(counts.as<uint32_t>(), 0, 16) == Status::kOk);
    const shim::Recorder recorder;
    REQUIRE(samples::histogram(gpu.stream, in.as<uint32_t>(), counts.as<uint32_t>(), 4, false) ==
            Status::kOk);
    check_caught(gpu, recorder, Bug::kGlobalRace, false, "was stored by block");
  }
}

TEST_CASE("divergence at barriers and in warps, deadlock") {
  struct Case {
    uint32_t how;
    Bug bug;
    const char* words;
  };
  for (const Case& c :
       {Case{0, Bug::kBarrierDivergence, "ended"}, Case{1, Bug::kBarrierDivergence, "ended"},
        Case{2, Bug::kBarrierDivergence, "wait at another barrier"},
        Case{3, Bug::kWarpDivergence, "ended"}, Case{4, Bug::kWarpDivergence, "wait at"},
        Case{5, Bug::kDeadlock, "wait at named barrier"}, Case{6, Bug::kDeadlock, "spins"}}) {
    for (const uint64_t seed : kSeeds) {
      if (c.how == 6 && seed != kSeeds[0]) continue;  // takes a second
      CAPTURE(c.how);
      Gpu gpu(seed);
      const DeviceBuffer out = gpu.make<uint32_t>(128);
      const shim::Recorder recorder;
      REQUIRE(samples::diverging(gpu.stream, out.as<uint32_t>(), c.how) == Status::kOk);
      check_caught(gpu, recorder, c.bug, true, c.words);
    }
  }
}

TEST_CASE("copies and fills out of bounds") {
  for (int what = 0; what < 5; ++what) {
    CAPTURE(what);
    Gpu gpu;
    const DeviceBuffer buffer = gpu.make<uint8_t>(100), other = gpu.make<uint8_t>(1000);
    std::vector<uint8_t> host(1000);
    const shim::Recorder recorder;
    Status status = Status::kOk;
    if (what == 0) status = gpu.stream.upload(buffer.as<uint8_t>(), host.data(), 101);
    if (what == 1) status = gpu.stream.download(host.data(), buffer.as<uint8_t>(1), 100);
    if (what == 2) status = gpu.stream.copy(buffer.as<uint8_t>(), other.as<uint8_t>(), 101);
    if (what == 3) status = gpu.stream.fill(buffer.as<uint8_t>(), 1, 101);
    if (what == 4)
      status = gpu.stream.upload_rows({buffer.as<uint8_t>(), 10, host.data(), 50, 10, 11});
    REQUIRE(status == Status::kOk);
    (void)gpu.stream.synchronize();
    CHECK(recorder.caught(Bug::kOutOfBounds));
  }
}

TEST_CASE("a canary behind pinned memory") {
  Gpu gpu;
  PinnedBuffer buffer;
  REQUIRE(buffer.allocate(*gpu.context, 100) == Status::kOk);
  shim::check_canaries();
  const shim::Recorder recorder;
  uint8_t* behind = buffer.as<uint8_t>(100);
  const uint8_t was = *behind;
  *behind = 1;
  shim::check_canaries();
  CHECK(recorder.caught(Bug::kCanary));
  *behind = was;
}

TEST_CASE("leaks are reported") {
  auto gpu = std::make_unique<Gpu>();
  static const DeviceBuffer* leaked = nullptr;
  leaked = new DeviceBuffer(gpu->make<uint8_t>(10));
  CHECK(leaked->bytes() == 10);
  gpu.reset();
  const shim::Recorder recorder;
  shim::reset();
  CHECK(recorder.caught(Bug::kLeak));
}

TEST_CASE("device memory is poisoned, and a fault to touch from the host") {
  Gpu gpu;
  const DeviceBuffer buffer = gpu.make<uint8_t>(1000);
  const auto bytes = gpu.download<uint8_t>(buffer, 1000);
  CHECK(std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0xCB; }));
}

TEST_CASE("seeds change the order of threads") {
  // The outcome of the race depends on the order of threads, so it differs between some seeds.
  std::vector<std::vector<uint32_t>> outcomes;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Gpu gpu(seed);
    const auto in = random_values<uint32_t>(samples::kReverseThreads, 9);
    const DeviceBuffer device_in = gpu.upload(in), device_out = gpu.make<uint32_t>(in.size());
    REQUIRE(samples::reverse(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(), 1,
                             false, false) == Status::kOk);
    auto out = gpu.download<uint32_t>(device_out, in.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] == in[in.size() - 1 - i];
    outcomes.push_back(out);
  }
  CHECK(std::count(outcomes.begin(), outcomes.end(), outcomes[0]) < 4);
}
