// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/jp2_boxes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace cj2k {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr std::string_view kTypes[] = {"uuid", "xml ", "uinf"};

}  // namespace

Status check_jp2_boxes(const void* data, size_t bytes, const Log& log) {
  if (data == nullptr || bytes < kHeaderBytes || bytes > kMaxJp2BoxesBytes) {
    return log.fail(Status::kInvalid, "jp2_boxes %s, jp2_boxes_bytes %zu not in [%zu, %zu]",
                    data == nullptr ? "NULL" : "given", bytes, kHeaderBytes, kMaxJp2BoxesBytes);
  }
  const auto* const begin = static_cast<const uint8_t*>(data);
  for (size_t at = 0; at < bytes;) {
    const size_t left = bytes - at;
    size_t length = 0;
    for (size_t i = 0; i < 4 && i < left; ++i) length = length << 8 | begin[at + i];
    if (left < kHeaderBytes || length < kHeaderBytes || length > left) {
      return log.fail(Status::kInvalid,
                      "jp2_boxes: the box at byte %zu has length %zu, not in [%zu, %zu]", at,
                      length, kHeaderBytes, left);
    }
    std::string type(begin + at + 4, begin + at + kHeaderBytes);
    if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
      std::replace_if(
          type.begin(), type.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
      return log.fail(Status::kInvalid,
                      "jp2_boxes: the box at byte %zu is \"%s\", not uuid, xml or uinf", at,
                      type.c_str());
    }
    at += length;
  }
  return Status::kOk;
}

}  // namespace cj2k
