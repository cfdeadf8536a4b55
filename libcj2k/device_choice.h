// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Where to run, as the text of the parameter `device` says it: "auto", "cpu", "cuda", or "cuda:"
// and devices separated by ','.
#pragma once

#include "base/log.h"
#include "base/status.h"

namespace cj2k {

inline constexpr int kMaxDevices = 8;
inline constexpr int kMaxDeviceOrdinal = 255;

struct DeviceList {
  enum Kind { kAuto, kCpu, kCuda };
  struct Device {
    int ordinal;    ///< -1 where `uuid` names the device
    char uuid[48];  ///< "GPU-" and 36 characters, hexadecimal digits in lower case; "" = by ordinal
  };
  Kind kind = kAuto;
  int count = 0;  ///< of kCuda; 0 with the others
  Device devices[kMaxDevices] = {};
};

/// Case is ignored. Says nothing about whether such a device is there; one device named twice by
/// the same name is refused, by number and by UUID only the driver can tell.
/// @return kOk | kInvalid, with a line that names the value and what is allowed
Status parse_devices(const char* text, const Log& log, DeviceList* list);

}  // namespace cj2k
