// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parameter `device`, which says where to run: "auto", "cpu", "cuda", or "cuda:" and a list of
// devices separated by ','.
#pragma once

#include "base/log.h"
#include "base/status.h"

namespace cj2k {

inline constexpr int kMaxDevices = 8;
inline constexpr int kMaxDeviceOrdinal = 255;

struct DeviceList {
  enum Kind { kAuto, kCpu, kCuda };
  struct Device {
    int ordinal;    ///< 0 .. kMaxDeviceOrdinal; -1: `uuid` names the device
    char uuid[48];  ///< "GPU-" and 36 characters, digits in lower case; "": `ordinal` names it
  };
  Kind kind = kAuto;
  int count = 0;  ///< devices named; 0 if kind is not kCuda
  Device devices[kMaxDevices] = {};
};

/// Parses the parameter. Case is ignored. It does not check whether the devices exist. A name that
/// appears twice is refused. Only the driver can tell if a number and a UUID name the same device.
/// @return kOk | kInvalid, with a log line that names the value and what is allowed
Status parse_devices(const char* text, const Log& log, DeviceList* list);

}  // namespace cj2k
