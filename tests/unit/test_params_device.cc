// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parameter `device`: the devices that it names, and the error line if it names none.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "params/device_choice.h"
#include "params/params.h"

namespace {

using cj2k::DeviceList;
using cj2k::Log;
using cj2k::Status;

const std::string kUuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
const std::string kUuidUpper = "gpu-01234567-89AB-CDEF-0123-456789ABCDEF";
const std::string kOtherUuid = "GPU-01234567-89ab-cdef-0123-456789abcdee";

struct Messages {
  std::vector<std::string> lines;
  Log log{[](void* opaque, cj2k_log_level, const char* message) {
            static_cast<Messages*>(opaque)->lines.push_back(message);
          },
          this};
};

DeviceList parsed(const std::string& text) {
  Messages m;
  DeviceList list;
  const Status status = cj2k::parse_devices(text.c_str(), m.log, &list);
  INFO(text);
  CHECK(status == Status::kOk);
  CHECK(m.lines.empty());
  return list;
}

/// The one line that reports the failure.
std::string error(const std::string& text) {
  Messages m;
  DeviceList list;
  const Status status = cj2k::parse_devices(text.c_str(), m.log, &list);
  INFO(text);
  CHECK(status == Status::kInvalid);
  REQUIRE(m.lines.size() == 1);
  return m.lines[0];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("device: auto and cpu name no device") {
  for (const char* text : {"auto", "Auto", "AUTO"}) {
    CHECK(parsed(text).kind == DeviceList::kAuto);
    CHECK(parsed(text).count == 0);
  }
  CHECK(parsed("cpu").kind == DeviceList::kCpu);
  CHECK(parsed("CPU").count == 0);
}

TEST_CASE("device: one and several devices, by number and by UUID") {
  const DeviceList first = parsed("cuda");
  CHECK(first.kind == DeviceList::kCuda);
  REQUIRE(first.count == 1);
  CHECK(first.devices[0].ordinal == 0);
  CHECK(std::string(first.devices[0].uuid) == "");

  CHECK(parsed("cuda:0").devices[0].ordinal == 0);
  CHECK(parsed("CUDA:255").devices[0].ordinal == 255);

  const DeviceList mixed = parsed("cuda:3," + kUuidUpper + ",1");
  REQUIRE(mixed.count == 3);
  CHECK(mixed.devices[0].ordinal == 3);
  CHECK(mixed.devices[1].ordinal == -1);
  CHECK(std::string(mixed.devices[1].uuid) == kUuid);
  CHECK(mixed.devices[2].ordinal == 1);
  CHECK(std::string(mixed.devices[2].uuid) == "");

  const DeviceList eight = parsed("cuda:7,6,5,4,3,2,1,0");
  REQUIRE(eight.count == 8);
  for (int i = 0; i < 8; ++i) CHECK(eight.devices[i].ordinal == 7 - i);
  CHECK(parsed("cuda:" + kUuid + "," + kOtherUuid).count == 2);
}

TEST_CASE("device: what is refused, and why") {
  for (const char* text :
       {"", "x", "aut", "autox", "cpu:0", "cuda0", "cudax", "gpu", "0", " cuda"}) {
    // The nearest name may follow (test_nearest.cc).
    CHECK(error(text).find("device \"" + std::string(text) +
                           "\" is none of auto, cpu, cuda, cuda:N, cuda:N,M,..., "
                           "cuda:GPU-uuid") == 0);
  }
  CHECK(error("cuda:256") ==
        "device \"cuda:256\": \"256\" is neither a number in [0, 255] nor "
        "\"GPU-hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh\" with hexadecimal digits h");
  const std::string short_uuid = kUuid.substr(0, kUuid.size() - 1);
  const std::vector<std::string> names = {"",
                                          "-1",
                                          "+1",
                                          "1x",
                                          "1.0",
                                          "99999999999999999999",
                                          " 1",
                                          "cuda:1",
                                          "GPU-",
                                          kUuid.substr(4),
                                          kUuid + "0",
                                          short_uuid,
                                          short_uuid + "g",
                                          "MIG" + kUuid.substr(3)};
  for (const std::string& name : names) {
    CHECK(contains(error("cuda:" + name), "\"" + name + "\" is neither a number in [0, 255]"));
    CHECK(contains(error("cuda:0," + name), "\"" + name + "\" is neither a number in [0, 255]"));
  }
  CHECK(contains(error("cuda:0,"), "\"\" is neither"));
  CHECK(contains(error("cuda:,0"), "\"\" is neither"));
  CHECK(error("cuda:0,1,0") == "device \"cuda:0,1,0\" names 0 twice");
  CHECK(contains(error("cuda:1,01"), "names 01 twice"));
  CHECK(contains(error("cuda:" + kUuid + "," + kUuidUpper), "names " + kUuidUpper + " twice"));
  CHECK(error("cuda:0,1,2,3,4,5,6,7,8") ==
        "device \"cuda:0,1,2,3,4,5,6,7,8\" names more than 8 devices");
}

TEST_CASE("device: as a parameter") {
  cj2k_params p;
  cj2k::set_default_params(&p);
  p.width = p.height = 16;
  CHECK(std::string(p.device) == "auto");
  CHECK(p.cuda_context == nullptr);
  CHECK(p.cuda_stream == nullptr);
  Messages m;
  REQUIRE(cj2k::set_param(&p, "device", "cuda:1,0", m.log) == Status::kOk);
  CHECK(std::string(p.device) == "cuda:1,0");
  cj2k_params resolved;
  REQUIRE(cj2k::resolve_params(p, m.log, &resolved) == Status::kOk);
  CHECK(std::string(resolved.device) == "cuda:1,0");
  CHECK(m.lines.empty());

  // The call that sets it refuses it, gives the reason, and changes nothing.
  CHECK(cj2k::set_param(&p, "device", "cuda:1,1", m.log) == Status::kInvalid);
  REQUIRE(m.lines.size() == 1);
  CHECK(m.lines[0] == "device \"cuda:1,1\" names 1 twice");
  CHECK(std::string(p.device) == "cuda:1,0");
  CHECK(cj2k::set_param(&p, "device", std::string(128, 'x').c_str(), m.log) == Status::kInvalid);
  CHECK(contains(m.lines.back(), "127"));
  CHECK(std::string(p.device) == "cuda:1,0");

  // A context belongs to one device.
  p.cuda_context = &p;
  CHECK(cj2k::resolve_params(p, m.log, &resolved) == Status::kInvalid);
  CHECK(contains(m.lines.back(), "cuda_context with device \"cuda:1,0\""));
  REQUIRE(cj2k::set_param(&p, "device", "cuda:1", m.log) == Status::kOk);
  CHECK(cj2k::resolve_params(p, m.log, &resolved) == Status::kOk);

  // The same if the field was written directly.
  std::strcpy(p.device, "cuda:9999");
  CHECK(cj2k::resolve_params(p, m.log, &resolved) == Status::kInvalid);
  CHECK(contains(m.lines.back(), "\"9999\" is neither"));
  std::memset(p.device, '0', sizeof p.device);
  CHECK(cj2k::resolve_params(p, m.log, &resolved) == Status::kInvalid);
  CHECK(m.lines.back() == "device has no terminating zero in 128 bytes");
}

}  // namespace
