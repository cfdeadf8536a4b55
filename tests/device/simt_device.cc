// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Devices, copies, streams, events and errors, through the same device.cc that runs on NVIDIA's
// driver.
#include <algorithm>
#include <numeric>

#include "device/sample_kernels.h"
#include "device/support.h"

using namespace cj2k;
using namespace cj2k::simt;
using namespace cj2k::simt::test;
using shim::Fault;
namespace samples = cj2k::cuda::samples;

namespace {
DeviceChoice device(int ordinal) { return {ordinal, {}, nullptr}; }
}  // namespace

TEST_CASE("no driver, no device, too old a device, unknown device") {
  LogLines lines;
  std::unique_ptr<Context> context;
  std::vector<DeviceInfo> devices;
  shim::reset({.has_driver = false});
  CHECK(Context::open({}, lines.log(), &context) == Status::kDevice);
  CHECK(lines.lines.back().find("no CUDA driver") != std::string::npos);
  CHECK(list_devices(lines.log(), &devices) == Status::kDevice);
  shim::reset({.num_devices = 0});
  CHECK(Context::open({}, lines.log(), &context) == Status::kDevice);
  CHECK(lines.lines.back().find("no CUDA-capable device") != std::string::npos);
  shim::reset({.compute_major = 7, .compute_minor = 0});
  CHECK(Context::open({}, lines.log(), &context) == Status::kNotSupported);
  CHECK(lines.lines.back().find("compute capability 7.0; 7.5 or later is needed") !=
        std::string::npos);
  shim::reset({.num_devices = 2});
  CHECK(Context::open(device(2), lines.log(), &context) == Status::kInvalid);
  CHECK(lines.lines.back().find("2 not in [0, 1]") != std::string::npos);
  CHECK(Context::open({0, "GPU-00", nullptr}, lines.log(), &context) == Status::kInvalid);
  CHECK(lines.lines.size() == 6);  // one line each
  CHECK(context == nullptr);
}

TEST_CASE("choice by ordinal, UUID and an application's context") {
  shim::reset({.num_devices = 2});
  LogLines lines;
  std::vector<DeviceInfo> devices;
  REQUIRE(list_devices(lines.log(), &devices) == Status::kOk);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].uuid == "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
  std::unique_ptr<Context> second, by_uuid;
  REQUIRE(Context::open(device(1), lines.log(), &second) == Status::kOk);
  CHECK(second->info().uuid == devices[1].uuid);
  std::string upper = devices[1].uuid.substr(4);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  REQUIRE(Context::open({0, upper, nullptr}, lines.log(), &by_uuid) == Status::kOk);
  CHECK(by_uuid->info().ordinal == 1);
  size_t free_bytes = 0, total_bytes = 0;
  CHECK(by_uuid->memory(&free_bytes, &total_bytes) == Status::kOk);
  CHECK(total_bytes == devices[1].total_bytes);

  // An application owns a context and a stream. The library uses them and leaves them open.
  Stream app_stream;
  REQUIRE(app_stream.create(*second) == Status::kOk);
  std::unique_ptr<Context> ours;
  REQUIRE(Context::open({0, {}, second->cu_context()}, lines.log(), &ours) == Status::kOk);
  CHECK(ours->info().ordinal == 1);
  {
    Stream adopted;
    REQUIRE(adopted.adopt(*ours, app_stream.cu_stream()) == Status::kOk);
    DeviceBuffer out;
    REQUIRE(out.allocate(*ours, 64 * 4) == Status::kOk);
    REQUIRE(samples::iota(adopted, out.as<uint32_t>(), 64, true) == Status::kOk);
    std::vector<uint32_t> numbers(64);
    REQUIRE(adopted.download(numbers.data(), out.as<uint32_t>(), 256) == Status::kOk);
    REQUIRE(app_stream.synchronize() == Status::kOk);
    CHECK(numbers[63] == 63);
  }
  ours.reset();
  CHECK(app_stream.synchronize() == Status::kOk);
}

TEST_CASE("a context that somebody holds is not made again") {
  const uint64_t ours = num_primary_contexts_made(), drivers = shim::num_primary_contexts_made();
  shim::reset({.num_devices = 2});
  LogLines lines;
  const auto open_thrice = [&](int ordinal) {
    for (int i = 0; i < 3; ++i) {
      std::unique_ptr<Context> context;
      REQUIRE(Context::open(device(ordinal), lines.log(), &context) == Status::kOk);
    }
  };
  open_thrice(0);
  CHECK(num_primary_contexts_made() - ours == 3);
  CHECK(shim::num_primary_contexts_made() - drivers == 3);
  {
    std::unique_ptr<Context> held;
    REQUIRE(Context::open(device(0), lines.log(), &held) == Status::kOk);
    open_thrice(0);
    CHECK(num_primary_contexts_made() - ours == 4);
    open_thrice(1);
    CHECK(num_primary_contexts_made() - ours == 7);
    CHECK(shim::num_primary_contexts_made() - drivers == 7);
    // A failed open and an application's context do not count as primary contexts.
    std::unique_ptr<Context> context;
    for (uint64_t call = 1; shim::faulty_call() != "cuDevicePrimaryCtxRetain"; ++call) {
      shim::inject(Fault::kOutOfMemory, call);
      REQUIRE(Context::open(device(1), lines.log(), &context) != Status::kOk);
    }
    REQUIRE(Context::open({0, {}, shim::application_context(1)}, lines.log(), &context) ==
            Status::kOk);
    CHECK(num_primary_contexts_made() - ours == 7);
  }
  open_thrice(0);
  CHECK(num_primary_contexts_made() - ours == 10);
  CHECK(shim::num_primary_contexts_made() - drivers == 10);
}

TEST_CASE("copies, uploads of rows, pinned memory, fills") {
  Gpu gpu;
  PinnedBuffer pinned;
  REQUIRE(pinned.allocate(*gpu.context, 1000) == Status::kOk);
  std::iota(pinned.as<uint8_t>(), pinned.as<uint8_t>() + 1000, uint8_t{0});
  const DeviceBuffer a = gpu.make<uint8_t>(1000), b = gpu.make<uint8_t>(1000);
  REQUIRE(gpu.stream.upload(a.as<uint8_t>(), pinned.as<uint8_t>(), 1000) == Status::kOk);
  REQUIRE(gpu.stream.copy(b.as<uint8_t>(10), a.as<uint8_t>(), 500) == Status::kOk);
  REQUIRE(gpu.stream.fill(b.as<uint8_t>(), 7, 10) == Status::kOk);
  const auto bytes = gpu.download<uint8_t>(b, 1000);
  for (size_t i = 0; i < 1000; ++i) {
    REQUIRE(bytes[i] == (i < 10 ? 7 : i < 510 ? static_cast<uint8_t>(i - 10) : 0xCB));
  }
  // 6 rows of 20 bytes, from rows of 40 to rows of 32.
  REQUIRE(gpu.stream.fill(b.as<uint8_t>(), 0, 1000) == Status::kOk);
  REQUIRE(gpu.stream.upload_rows({b.as<uint8_t>(4), 32, pinned.as<uint8_t>(), 40, 20, 6}) ==
          Status::kOk);
  const auto rows = gpu.download<uint8_t>(b, 4 + 6 * 32);
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = (i - 4) / 32, at = (i - 4) % 32;
    REQUIRE(rows[i] == (i >= 4 && at < 20 ? static_cast<uint8_t>(row * 40 + at) : 0));
  }
}

TEST_CASE("out of memory says the figures and leaves the context usable") {
  Gpu gpu;
  DeviceBuffer buffer;
  CHECK(buffer.allocate(*gpu.context, size_t{5} << 30) == Status::kNoMemory);
  REQUIRE(gpu.lines.lines.size() == 1);
  CHECK(gpu.lines.lines[0].find(
            "cannot allocate 5368709120 bytes on CUDA device 0 (shim 0): 4294967296 of") == 0);
  CHECK(!gpu.context->poisoned());
  CHECK(buffer.allocate(*gpu.context, 100) == Status::kOk);
}

TEST_CASE("streams run ahead of each other, events order them") {
  bool early = false, late = false;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Gpu gpu(seed);
    Stream other;
    REQUIRE(other.create(*gpu.context, Priority::kHigh) == Status::kOk);
    const DeviceBuffer buffer = gpu.make<uint32_t>(1);
    REQUIRE(gpu.stream.fill_u32(buffer.as<uint32_t>(), 0, 1) == Status::kOk);
    REQUIRE(gpu.stream.synchronize() == Status::kOk);
    // Without an event both orders happen.
    uint32_t seen = 99;
    REQUIRE(gpu.stream.fill_u32(buffer.as<uint32_t>(), 1, 1) == Status::kOk);
    REQUIRE(other.download(&seen, buffer.as<uint32_t>(), 4) == Status::kOk);
    REQUIRE(gpu.stream.synchronize() == Status::kOk);
    REQUIRE(other.synchronize() == Status::kOk);
    (seen == 0 ? early : late) = true;
    // With events there is only one order.
    for (uint32_t round = 2; round < 20; ++round) {
      Event written, read;
      REQUIRE(written.create(*gpu.context) == Status::kOk);
      REQUIRE(read.create(*gpu.context) == Status::kOk);
      REQUIRE(gpu.stream.fill_u32(buffer.as<uint32_t>(), round, 1) == Status::kOk);
      REQUIRE(gpu.stream.record(written) == Status::kOk);
      REQUIRE(other.wait(written) == Status::kOk);
      REQUIRE(other.download(&seen, buffer.as<uint32_t>(), 4) == Status::kOk);
      REQUIRE(other.record(read) == Status::kOk);
      REQUIRE(gpu.stream.wait(read) == Status::kOk);
      REQUIRE(gpu.stream.fill_u32(buffer.as<uint32_t>(), 0, 1) == Status::kOk);
      REQUIRE(read.synchronize() == Status::kOk);
      REQUIRE(seen == round);
    }
  }
  CHECK(early);
  CHECK(late);
}

TEST_CASE("a wait is for the record before it, wherever the event is recorded after it") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Gpu gpu(seed);
    Stream idle, reader;
    REQUIRE(idle.create(*gpu.context) == Status::kOk);
    REQUIRE(reader.create(*gpu.context) == Status::kOk);
    const DeviceBuffer buffer = gpu.make<uint32_t>(1);
    Event event;
    REQUIRE(event.create(*gpu.context) == Status::kOk);
    REQUIRE(gpu.stream.fill_u32(buffer.as<uint32_t>(), 1, 1) == Status::kOk);
    REQUIRE(gpu.stream.record(event) == Status::kOk);
    REQUIRE(reader.wait(event) == Status::kOk);
    REQUIRE(idle.record(event) == Status::kOk);
    uint32_t seen = 99;
    REQUIRE(reader.download(&seen, buffer.as<uint32_t>(), 4) == Status::kOk);
    REQUIRE(reader.synchronize() == Status::kOk);
    REQUIRE(idle.synchronize() == Status::kOk);
    REQUIRE(seen == 1);
  }
}

TEST_CASE("work that was enqueued is not done yet: changing its host memory shows") {
  bool shown = false;
  for (uint64_t seed = 1; seed <= 8 && !shown; ++seed) {
    Gpu gpu(seed);
    const DeviceBuffer buffer = gpu.make<uint32_t>(1);
    uint32_t value = 1;
    REQUIRE(gpu.stream.upload(buffer.as<uint32_t>(), &value, 4) == Status::kOk);
    value = 2;
    shown = gpu.download<uint32_t>(buffer, 1)[0] == 2;
  }
  CHECK(shown);
}

TEST_CASE("elapsed time") {
  Gpu gpu;
  Event start, end;
  REQUIRE(start.create(*gpu.context, true) == Status::kOk);
  REQUIRE(end.create(*gpu.context, true) == Status::kOk);
  const DeviceBuffer out = gpu.make<uint32_t>(samples::kSpinThreads);
  REQUIRE(gpu.stream.record(start) == Status::kOk);
  REQUIRE(samples::spin(gpu.stream, out.as<uint32_t>(), 1, 100, 0) == Status::kOk);
  REQUIRE(gpu.stream.record(end) == Status::kOk);
  REQUIRE(end.synchronize() == Status::kOk);
  float ms = -1;
  CHECK(end.elapsed_ms(start, &ms) == Status::kOk);
  CHECK(ms > 0);
}

TEST_CASE("kernels load ahead of their first launch") {
  Gpu gpu;
  REQUIRE(gpu.context->load_kernels([](const KernelInfo&) { return true; }) == Status::kOk);
  const uint64_t calls = shim::num_calls();
  const DeviceBuffer out = gpu.make<uint32_t>(64);
  REQUIRE(samples::iota(gpu.stream, out.as<uint32_t>(), 64, true) == Status::kOk);
  CHECK(shim::num_calls() == calls + 6);  // push, allocate, pop; push, launch, pop
}

namespace {

/// A small job with every kind of call. @return kOk and the right numbers, or the first failure
Status job(const Log& log, std::vector<uint32_t>* numbers) {
  std::unique_ptr<Context> context;
  CJ2K_TRY(Context::open({}, log, &context));
  Stream stream, other;
  Event event;
  DeviceBuffer buffer;
  PinnedBuffer pinned;
  CJ2K_TRY(stream.create(*context));
  CJ2K_TRY(other.create(*context));
  CJ2K_TRY(event.create(*context));
  CJ2K_TRY(buffer.allocate(*context, 400));
  CJ2K_TRY(pinned.allocate(*context, 400));
  CJ2K_TRY(context->load_kernels([](const KernelInfo&) { return true; }));
  CJ2K_TRY(stream.fill(buffer.as<uint8_t>(), 0, 400));
  CJ2K_TRY(samples::iota(stream, buffer.as<uint32_t>(), 100, true));
  CJ2K_TRY(stream.record(event));
  CJ2K_TRY(other.wait(event));
  CJ2K_TRY(other.download(pinned.as<uint8_t>(), buffer.as<uint8_t>(), 400));
  CJ2K_TRY(other.synchronize());
  numbers->assign(pinned.as<uint32_t>(), pinned.as<uint32_t>() + 100);
  return Status::kOk;
}

}  // namespace

TEST_CASE("an error at any call: a status and a line, never a crash, nothing left behind") {
  shim::reset();
  std::vector<uint32_t> numbers;
  LogLines lines;
  REQUIRE(job(lines.log(), &numbers) == Status::kOk);
  REQUIRE(numbers[99] == 99);
  REQUIRE(lines.lines.empty());
  const uint64_t num_calls = shim::num_calls();
  for (const Fault fault : {Fault::kOutOfMemory, Fault::kRefused, Fault::kLaunchFailed,
                            Fault::kDeviceLost, Fault::kAsyncFailure}) {
    for (uint64_t nth = 1; nth <= num_calls; ++nth) {
      shim::reset({.seed = nth});
      LogLines fault_lines;
      numbers.clear();
      shim::inject(fault, nth);
      const Status status = job(fault_lines.log(), &numbers);
      CAPTURE(static_cast<int>(fault));
      CAPTURE(nth);
      CAPTURE(shim::faulty_call());
      REQUIRE(shim::fault_hit());
      if (status == Status::kOk) {
        // The fault was met in a call whose status nobody reads: a release, or pop.
        CHECK(numbers.back() == 99);
        CHECK(fault_lines.lines.size() <= 1);
      } else {
        CHECK((status == Status::kDevice ||
               (status == Status::kNoMemory && fault == Fault::kOutOfMemory)));
        CHECK(fault_lines.lines.size() == 1);
      }
    }
  }
  shim::reset();  // reports leaks
}

TEST_CASE("a sticky error poisons the context and no other") {
  shim::reset({.num_devices = 2});
  LogLines lines;
  std::unique_ptr<Context> first, second;
  REQUIRE(Context::open(device(0), lines.log(), &first) == Status::kOk);
  REQUIRE(Context::open(device(1), lines.log(), &second) == Status::kOk);
  Stream stream, other;
  REQUIRE(stream.create(*first) == Status::kOk);
  REQUIRE(other.create(*second) == Status::kOk);
  shim::inject(Fault::kLaunchFailed, 2);
  CHECK(stream.synchronize() == Status::kDevice);
  CHECK(first->poisoned());
  CHECK(stream.synchronize() == Status::kDevice);
  DeviceBuffer buffer;
  CHECK(buffer.allocate(*first, 10) == Status::kDevice);
  CHECK(lines.lines.size() == 1);
  CHECK(lines.lines[0].find("cannot be used any more") != std::string::npos);
  CHECK(buffer.allocate(*second, 10) == Status::kOk);
  CHECK(other.synchronize() == Status::kOk);
}

TEST_CASE("a kernel cannot reach another device's memory") {
  shim::reset({.num_devices = 2});
  LogLines lines;
  std::unique_ptr<Context> first, second;
  REQUIRE(Context::open(device(0), lines.log(), &first) == Status::kOk);
  REQUIRE(Context::open(device(1), lines.log(), &second) == Status::kOk);
  Stream stream;
  REQUIRE(stream.create(*first) == Status::kOk);
  DeviceBuffer buffer;
  REQUIRE(buffer.allocate(*second, 256) == Status::kOk);
  const shim::Recorder recorder;
  REQUIRE(samples::iota(stream, buffer.as<uint32_t>(), 64, true) == Status::kOk);
  CHECK(stream.synchronize() == Status::kDevice);
  CHECK(recorder.caught(shim::Bug::kOutOfBounds));
}
