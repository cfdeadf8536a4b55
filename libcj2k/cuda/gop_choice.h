// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Chooses the form of tier-1, the number of frames in a GOP and the number of GOPs for each device,
// from the memory that a plan takes and the memory that the devices have.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "cuda/tier1_coder.h"
#include "kernels/simt/device.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// The form that the parameters ask for; classic by default.
Tier1Form tier1_form(const Plan& plan);
/// @return "classic", "cibo" or "fused"
const char* form_name(Tier1Form form);

/// Number of GOPs in flight on a device, when `num_gops` are dealt to the devices in turn.
/// @param device  index in the list of devices
int gops_of_device(int num_gops, size_t device, size_t num_devices);

/// Device memory in bytes that `num_gops` GOPs take on one device. Throws std::bad_alloc.
uint64_t device_bytes(const Plan& plan, int num_gops);

/// Chooses gop and async_depth where the parameters leave them open, so that the plan fits into the
/// device with the least free memory. More than kFewestCudaGops take at most half of that memory,
/// and gop halves only where kFewestCudaGops do not fit.
/// @return kOk | kNoMemory (the log line says what is needed and what is free) | kNotSupported |
///         kDevice
Status choose_gops(Plan* plan, std::span<const std::unique_ptr<simt::Context>> contexts,
                   const Log& log);

}  // namespace cj2k::cuda
