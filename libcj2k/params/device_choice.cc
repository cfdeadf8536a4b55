// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/device_choice.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "params/nearest.h"

namespace cj2k {
namespace {

constexpr std::string_view kUuidPrefix = "gpu-";
constexpr std::string_view kUuidForm = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_hex(char c) { return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'f'); }

bool same(std::string_view text, std::string_view name) {
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [](char a, char b) { return lower(a) == b; });
}

bool parse_uuid(std::string_view text, DeviceList::Device* device) {
  if (!same(text.substr(0, kUuidPrefix.size()), kUuidPrefix)) return false;
  const std::string_view digits = text.substr(kUuidPrefix.size());
  if (!std::equal(digits.begin(), digits.end(), kUuidForm.begin(), kUuidForm.end(),
                  [](char c, char form) { return form == '-' ? c == '-' : is_hex(c); })) {
    return false;
  }
  static_assert(sizeof device->uuid > kUuidPrefix.size() + kUuidForm.size());
  std::memcpy(device->uuid, "GPU-", kUuidPrefix.size());
  std::transform(digits.begin(), digits.end(), device->uuid + kUuidPrefix.size(), lower);
  device->ordinal = -1;
  return true;
}

bool parse_ordinal(std::string_view text, DeviceList::Device* device) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, device->ordinal);
  return error == std::errc() && stop == end && device->ordinal >= 0 &&
         device->ordinal <= kMaxDeviceOrdinal;
}

Status parse_cuda(const char* whole, std::string_view names, const Log& log, DeviceList* list) {
  list->kind = DeviceList::kCuda;
  for (;;) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    const int name_bytes = static_cast<int>(name.size());
    if (list->count == kMaxDevices) {
      return log.fail(Status::kInvalid, "device \"%.127s\" names more than %d devices", whole,
                      kMaxDevices);
    }
    DeviceList::Device device{};
    if (!parse_ordinal(name, &device) && !parse_uuid(name, &device)) {
      return log.fail(Status::kInvalid,
                      "device \"%.127s\": \"%.*s\" is neither a number in [0, %d] nor "
                      "\"GPU-%.*s\" with hexadecimal digits h",
                      whole, name_bytes, name.data(), kMaxDeviceOrdinal,
                      static_cast<int>(kUuidForm.size()), kUuidForm.data());
    }
    for (int i = 0; i < list->count; ++i) {
      const DeviceList::Device& other = list->devices[i];
      if (other.ordinal == device.ordinal && std::strcmp(other.uuid, device.uuid) == 0) {
        return log.fail(Status::kInvalid, "device \"%.127s\" names %.*s twice", whole, name_bytes,
                        name.data());
      }
    }
    list->devices[list->count++] = device;
    if (comma == std::string_view::npos) return Status::kOk;
    names.remove_prefix(comma + 1);
  }
}

}  // namespace

Status parse_devices(const char* text, const Log& log, DeviceList* list) {
  constexpr std::string_view kCuda = "cuda";
  const std::string_view view = text;
  *list = {};
  if (same(view, "auto")) return Status::kOk;
  if (same(view, "cpu")) {
    list->kind = DeviceList::kCpu;
    return Status::kOk;
  }
  if (same(view, kCuda)) return parse_cuda(text, "0", log, list);
  if (same(view.substr(0, kCuda.size() + 1), "cuda:")) {
    return parse_cuda(text, view.substr(kCuda.size() + 1), log, list);
  }
  NearestName nearest(same(view.substr(0, 3), "gpu") ? kCuda : view);
  for (const char* name : {"auto", "cpu", "cuda"}) nearest.offer(name);
  return log.fail(
      Status::kInvalid,
      "device \"%.127s\" is none of auto, cpu, cuda, cuda:N, cuda:N,M,..., cuda:GPU-uuid%s", text,
      DidYouMean(nearest.name()).text);
}

}  // namespace cj2k
