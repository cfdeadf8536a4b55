// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Which form of tier-1, and how many GOPs of how many frames go to which device: what a plan takes
// of a device's memory, and what of it fits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "cuda/tier1_coder.h"
#include "kernels/simt/device.h"
#include "plan.h"

namespace cj2k::cuda {

Tier1Form tier1_form(const Plan& plan);
const char* form_name(Tier1Form form);

/// GOPs that a device takes when `num_gops` go round.
int gops_of_device(int num_gops, size_t device, size_t num_devices);

/// What one device's memory must hold. Throws std::bad_alloc.
uint64_t device_bytes(const Plan& plan, int num_gops);

/// gop and async_depth where they are to be chosen, so that all of it fits into the device with the
/// least free memory.
/// @return kOk | kNoMemory: what it takes and what there is | kNotSupported | kDevice
Status choose_gops(Plan* plan, std::span<const std::unique_ptr<simt::Context>> contexts,
                   const Log& log);

}  // namespace cj2k::cuda
