// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the library says without an encoder: devices, status codes, version.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "cj2k.h"

namespace cj2k::test {
namespace {

TEST_CASE("device_describe: devices one by one, with or without any") {
  cj2k_device_info info = {};
  info.struct_size = sizeof info;
  CHECK(cj2k_device_describe(-1, &info) == CJ2K_INVALID);
  CHECK(std::string(cj2k_encoder_last_error(nullptr)) == "device -1 is negative");
  CHECK(cj2k_device_describe(0, nullptr) == CJ2K_INVALID);
  int count = 0;
  while (cj2k_device_describe(count, &info) == CJ2K_OK) {
    CHECK(info.index == count++);
    CHECK((info.reason[0] == '\0') == (info.usable == 1));
  }
  CHECK(cj2k_device_describe(count, &info) == CJ2K_EOF);
  CHECK(cj2k_device_describe(1000000, &info) == CJ2K_EOF);
  if (count > 0) {
    info.struct_size = 0;
    CHECK(cj2k_device_describe(0, &info) == CJ2K_INVALID);
  }
}

TEST_CASE("text of status codes and version") {
  std::set<std::string> texts;
  for (int status = CJ2K_READ; status <= CJ2K_EOF; ++status) {
    const char* text = cj2k_status_string(static_cast<cj2k_status>(status));
    REQUIRE(text != nullptr);
    CHECK(texts.insert(text).second);
  }
  CHECK(cj2k_status_string(static_cast<cj2k_status>(99)) != nullptr);
  CHECK(std::string(cj2k_version()) == CJ2K_VERSION_STRING);
  CHECK(cj2k_version_number() == CJ2K_VERSION);
  CHECK(CJ2K_VERSION == CJ2K_VERSION_MAJOR * 65536 + CJ2K_VERSION_MINOR * 256 + CJ2K_VERSION_PATCH);
  CHECK(std::string(CJ2K_VERSION_STRING) == std::to_string(CJ2K_VERSION_MAJOR) + "." +
                                                std::to_string(CJ2K_VERSION_MINOR) + "." +
                                                std::to_string(CJ2K_VERSION_PATCH));
}

}  // namespace
}  // namespace cj2k::test
