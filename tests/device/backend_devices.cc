// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Devices as no single machine has them, on the shim: none, old, small, several. Which one the CUDA
// backend takes, what it logs, and how much memory it takes.
#include "backend_check.h"

namespace cj2k::simt::test {
namespace {

constexpr const char* kUuid0 = "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf";
constexpr const char* kUuid1 = "GPU-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf";

struct Refusal {
  shim::Options options;
  cj2k_status status;
  std::string part;  ///< of the log line
};
std::vector<Refusal> refusals() {
  shim::Options no_driver, no_device, old_device, small_device;
  no_driver.has_driver = false;
  no_device.num_devices = 0;
  old_device.compute_major = 7;
  old_device.compute_minor = 0;
  small_device.device_bytes = 100000;
  return {
      {no_driver, CJ2K_DEVICE, "no CUDA driver"},
      {no_device, CJ2K_DEVICE, "no CUDA-capable device"},
      {old_device, CJ2K_NOT_SUPPORTED,
       "CUDA device 0 (shim 0) has compute capability 7.0; 7.5 or later is needed"},
      {small_device, CJ2K_NO_MEMORY, "CUDA device 0 (shim 0), which has 0.1 MB free of 0.1 MB"}};
}

}  // namespace

TEST_CASE("backend: device=auto takes the CPU where there is nothing better, and says why once") {
  const cj2k_params p = tiny_params({{"device", "auto"}});
  const std::vector<Picture> pictures = pictures_of(p, 2);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  for (const Refusal& refusal : refusals()) {
    CAPTURE(refusal.part);
    start_machine(refusal.options);
    {
      const HostFrames frames(pictures);
      Session session(p);
      CAPTURE(session.log.text());
      check_sequence(session, frames, expected);
      const cj2k_info info = session.info();
      CHECK(info.backend == std::string("cpu"));
      CHECK(info.device_name == std::string());
      CHECK(info.device_bytes == 0);
      CHECK(info.pinned_bytes == 0);
      CHECK(info.tier1 == std::string());
      CHECK(session.log.of(CJ2K_LOG_ERROR).empty());
      CHECK(session.log.of(CJ2K_LOG_WARNING).empty());
      CHECK(session.log.count(CJ2K_LOG_INFO, "device auto takes the CPU: ") == 1);
      CHECK(session.log.count(CJ2K_LOG_INFO, refusal.part) == 1);
    }
    CHECK(left_behind() == "");
  }
  // With a usable device, auto takes it, for each block coder.
  start_machine();
  {
    cj2k_params ht = p;
    ht.coder = CJ2K_CODER_HT;
    const HostFrames frames(pictures);
    Session session(ht);
    check_sequence(session, frames, on_cpu(ht, pictures));
    CHECK(session.info().backend == std::string("cuda"));
    CHECK(session.info().tier1 == std::string());
  }
  {
    const HostFrames frames(pictures);
    Session session(p);
    check_sequence(session, frames, expected);
    CHECK(session.info().backend == std::string("cuda"));
    CHECK(session.info().device_name == std::string("shim 0"));
    CHECK(session.log.count(CJ2K_LOG_INFO, "takes the CPU") == 0);
    CHECK(shim::num_launches(0) > 0);
  }
  CHECK(left_behind() == "");
}

TEST_CASE("backend: device=cuda never falls back, and says what is missing") {
  const cj2k_params p = tiny_params({{"device", "cuda:0"}});
  for (const Refusal& refusal : refusals()) {
    CAPTURE(refusal.part);
    start_machine(refusal.options);
    {
      const Session session(p);
      CAPTURE(session.log.text());
      CHECK(session.opened == refusal.status);
      CHECK(session.log.of(CJ2K_LOG_ERROR).size() == 1);
      CHECK(session.log.count(CJ2K_LOG_ERROR, refusal.part) == 1);
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: the chosen gop halves until it fits the device, then there is a refusal") {
  cj2k_params p = tiny_params({{"tier1", "fused"}});
  const int most = planned(p).gop;
  REQUIRE(most == 8);
  for (int gop = most; gop >= 1; gop /= 2) {
    cj2k::test::set(p, "gop", std::to_string(gop));
    CHECK(planned(p).async_depth == 8 * gop);
    cj2k::test::set(p, "async_depth", std::to_string(2 * gop));
    const cj2k_info plan = planned(p);
    cj2k::test::set(p, "gop", "0");
    cj2k::test::set(p, "async_depth", "0");
    CAPTURE(gop);
    shim::Options options;
    options.device_bytes = static_cast<size_t>(plan.device_bytes);
    start_machine(options);
    {
      const Session session(p);
      CAPTURE(session.log.text());
      REQUIRE(session.opened == CJ2K_OK);
      CHECK(session.info().gop == gop);
      CHECK(session.info().async_depth == 2 * gop);
      CHECK(session.info().device_bytes == plan.device_bytes);
      CHECK(shim::device_bytes_in_use() == options.device_bytes);
    }
    CHECK(left_behind() == "");
    // One byte less, with the gop given: open is refused, and the error names the figures.
    --options.device_bytes;
    start_machine(options);
    {
      if (gop > 1) cj2k::test::set(p, "gop", std::to_string(gop));
      const Session session(p);
      CAPTURE(session.log.text());
      CHECK(session.opened == CJ2K_NO_MEMORY);
      const std::string gops = "2 GOPs of " + std::to_string(gop) + " frame";
      CHECK(session.log.count(CJ2K_LOG_ERROR, gops) == 1);
      CHECK(session.log.count(CJ2K_LOG_ERROR, " MB free of ") == 1);
      CHECK(session.log.of(CJ2K_LOG_ERROR).size() == 1);
      cj2k::test::set(p, "gop", "0");
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: more than two GOPs in flight take at most half of the free memory") {
  cj2k_params p = tiny_params({{"tier1", "fused"}});
  const int gop = planned(p).gop;
  for (const int gops : {8, 5, 3}) {
    CAPTURE(gops);
    cj2k::test::set(p, "async_depth", std::to_string(gops * gop));
    const int64_t bytes = planned(p).device_bytes;
    cj2k::test::set(p, "async_depth", "0");
    for (const bool fits : {true, false}) {
      shim::Options options;
      options.device_bytes = static_cast<size_t>(2 * bytes - (fits ? 0 : 2));
      start_machine(options);
      {
        const Session session(p);
        CAPTURE(session.log.text());
        REQUIRE(session.opened == CJ2K_OK);
        CHECK(session.info().gop == gop);
        CHECK(session.info().async_depth == (fits ? gops : gops - 1) * gop);
      }
      CHECK(left_behind() == "");
    }
  }
}

TEST_CASE("backend: cj2k_params_info knows what an encoder will take, without a device") {
  const Settings kCases[] = {
      {{"gop", "0"}},
      {{"gop", "1"}, {"tier1", "classic"}},
      {{"gop", "3"}, {"async_depth", "5"}, {"tier1", "cibo"}},
      {{"gop", "2"}, {"lossless", "1"}, {"tier1", "fused"}},
      {{"cblk_style", "pterm+termall"}, {"target_bytes", "900"}, {"gop", "2"}},
      {{"device", "cuda:0,1"}},
      {{"device", "cuda:0,1"}, {"gop", "2"}, {"async_depth", "6"}},
      {{"stop", "pst"}, {"target_bytes", "900"}},
      {{"device", "cpu"}},
  };
  for (const Settings& settings : kCases) {
    const cj2k_params p = tiny_params(settings);
    CAPTURE(cj2k::test::describe(p));
    CAPTURE(p.device);
    shim::Options options;
    options.num_devices = 2;
    start_machine(options);
    const cj2k_info plan = planned(p);
    CHECK(shim::num_calls() == 0);
    CHECK(plan.device_name == std::string());
    {
      const Session session(p);
      REQUIRE(session.opened == CJ2K_OK);
      const cj2k_info info = session.info();
      CHECK(info.backend == std::string(plan.backend));
      CHECK(info.tier1 == std::string(plan.tier1));
      if (p.tier1 == CJ2K_TIER1_AUTO && info.backend == std::string("cuda"))
        CHECK(info.tier1 == std::string("classic"));
      CHECK(info.gop == plan.gop);
      CHECK(info.async_depth == plan.async_depth);
      CHECK(info.device_bytes == plan.device_bytes);
      CHECK(info.pinned_bytes == plan.pinned_bytes);
      CHECK(info.host_bytes == plan.host_bytes);
      CHECK(info.header_bytes == plan.header_bytes);
      // The shim's own counts must agree.
      const bool two = p.device == std::string("cuda:0,1");
      // What stages frames from host memory comes with the first of them (backend_memory.cc).
      CHECK(shim::pinned_bytes_in_use() <= static_cast<size_t>(info.pinned_bytes));
      if (!two) CHECK(shim::device_bytes_in_use() == static_cast<size_t>(info.device_bytes));
      if (two) CHECK(shim::device_bytes_in_use() <= 2 * static_cast<size_t>(info.device_bytes));
    }
    CHECK(left_behind() == "");
  }
}

TEST_CASE("backend: several devices share the work, packets stay in order") {
  for (const std::string& device :
       {std::string("cuda:0,1"), std::string("cuda:1,0"), "cuda:" + std::string(kUuid1) + ",0"}) {
    for (const char* gop : {"1", "2"}) {
      CAPTURE(device);
      CAPTURE(gop);
      const cj2k_params p =
          tiny_params({{"device", device}, {"gop", gop}, {"target_bytes", "700"}});
      const std::vector<Picture> pictures = pictures_of(p, 5);
      const std::vector<Encoded> expected = on_cpu(p, pictures);
      shim::Options options;
      options.num_devices = 2;
      start_machine(options);
      {
        const HostFrames frames(pictures);
        Session session(p);
        CAPTURE(session.log.text());
        check_sequence(session, frames, expected);
        CHECK(session.info().device_name ==
              std::string(device.substr(0, 6) == "cuda:0" ? "shim 0, shim 1" : "shim 1, shim 0"));
        CHECK(shim::num_launches(0) > 0);
        CHECK(shim::num_launches(1) > 0);
        for (size_t i = 0; i < frames.size(); ++i) CHECK(frames.released(i) == 1);
      }
      CHECK(left_behind() == "");
    }
  }
}

TEST_CASE("backend: a device by its number or UUID; unknown ones are refused by name") {
  const struct {
    std::string device;
    cj2k_status status;
    std::string part;  ///< of the device's name, or of the error
  } kCases[] = {
      {"cuda:1", CJ2K_OK, "shim 1"},
      {std::string("cuda:") + kUuid1, CJ2K_OK, "shim 1"},
      {"cuda:gpu-A0A1A2A3-a4a5-a6a7-a8a9-aaabacadaeaf", CJ2K_OK, "shim 0"},
      {"cuda:2", CJ2K_INVALID, "CUDA device 2 not in [0, 1]"},
      {"cuda:0,7", CJ2K_INVALID, "CUDA device 7 not in [0, 1]"},
      {"cuda:GPU-00000000-0000-0000-0000-000000000000", CJ2K_INVALID,
       "no CUDA device GPU-00000000-0000-0000-0000-000000000000 among the 2 present"},
      {std::string("cuda:0,") + kUuid0, CJ2K_INVALID, "names CUDA device 0 (shim 0) twice"},
  };
  for (const auto& one : kCases) {
    CAPTURE(one.device);
    shim::Options options;
    options.num_devices = 2;
    start_machine(options);
    {
      const Session session(tiny_params({{"device", one.device}}));
      CAPTURE(session.log.text());
      CHECK(session.opened == one.status);
      if (one.status == CJ2K_OK) {
        CHECK(session.info().device_name == one.part);
      } else {
        CHECK(session.log.of(CJ2K_LOG_ERROR).size() == 1);
        CHECK(session.log.count(CJ2K_LOG_ERROR, one.part) == 1);
      }
    }
    CHECK(left_behind() == "");
  }
}

/// All devices that cj2k_device_describe lists.
std::vector<cj2k_device_info> listed() {
  std::vector<cj2k_device_info> all;
  cj2k_device_info info = {};
  info.struct_size = sizeof info;
  cj2k_status status;
  while ((status = cj2k_device_describe(static_cast<int>(all.size()), &info)) == CJ2K_OK)
    all.push_back(info);
  CHECK(status == CJ2K_EOF);
  return all;
}

TEST_CASE("backend: the list of devices: all there are, usable or not, and no context made") {
  shim::Options options;
  options.num_devices = 3;
  start_machine(options);
  const uint64_t contexts = shim::num_primary_contexts_made();
  const std::vector<cj2k_device_info> devices = listed();
  REQUIRE(devices.size() == 3);
  for (size_t i = 0; i < devices.size(); ++i) {
    const cj2k_device_info& device = devices[i];
    CHECK(device.struct_size == sizeof device);
    CHECK(device.index == static_cast<int32_t>(i));
    CHECK(device.name == "shim " + std::to_string(i));
    CHECK(device.memory_bytes == static_cast<int64_t>(options.device_bytes));
    CHECK(device.compute_major == 9);
    CHECK(device.compute_minor == 0);
    CHECK(device.usable == 1);
    CHECK(std::string(device.reason).empty());
    // Both its number and its UUID select it.
    for (const std::string& name : {std::to_string(device.index), std::string(device.uuid)}) {
      const Session session(tiny_params({{"device", "cuda:" + name}}));
      REQUIRE(session.opened == CJ2K_OK);
      CHECK(session.info().device_name == std::string(device.name));
    }
  }
  CHECK(std::string(devices[1].uuid) == kUuid1);
  CHECK(shim::num_primary_contexts_made() - contexts == 6);  // the sessions' contexts

  options.num_devices = 2;
  options.compute_major = 7;
  options.compute_minor = 0;
  start_machine(options);
  const std::vector<cj2k_device_info> old_devices = listed();
  REQUIRE(old_devices.size() == 2);
  CHECK(old_devices[1].usable == 0);
  CHECK(std::string(old_devices[1].reason) ==
        "CUDA device 1 (shim 1) has compute capability 7.0; 7.5 or later is needed");

  // If the driver does not answer, the device is listed as not usable.
  start_machine({});
  cj2k_device_info info = {};
  info.struct_size = sizeof info;
  for (uint64_t call = 1; shim::faulty_call() != "cuDeviceGetName"; ++call) {
    REQUIRE(call < 10);
    shim::inject(shim::Fault::kRefused, call);
    (void)cj2k_device_describe(0, &info);
  }
  CHECK(info.usable == 0);
  CHECK(std::string(info.reason).find("reading the device properties failed") != std::string::npos);

  shim::Options none;
  none.has_driver = false;
  start_machine(none);
  CHECK(listed().empty());
  none.has_driver = true;
  none.num_devices = 0;
  start_machine(none);
  CHECK(listed().empty());
  CHECK(left_behind() == "");
}

}  // namespace cj2k::simt::test
