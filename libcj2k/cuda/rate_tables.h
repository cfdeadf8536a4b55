// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables that rate control on the device needs of a plan (kernels/rate/allocate.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/rate/allocate.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// Whether allocate_rate can allocate the frames of a plan: EBCOT, one layer, with codewords of one
/// segment (no BYPASS, TERMALL or PTERM), no PLT, one set of quantiser steps, no RDOQ.
bool device_allocates(const Plan& plan);

/// The tables, on the host. Throws std::bad_alloc.
struct RateTables {
  /// @param max_points  bound on the hull points of a frame: Tier1Layout::frame_passes
  RateTables(const Plan& plan, uint32_t max_points);

  /// Size of the tables in device memory: the image of `store`.
  uint64_t bytes() const;
  /// Copies the tables to `image`, for the upload.
  void store(uint8_t* image) const;
  /// @param tables  the image in device memory, 16-byte aligned
  /// @param jobs    [plan.blocks] in device memory
  RatePlan on_device(const void* tables, const Tier1Job* jobs) const;

  std::vector<RatePrecinct> precincts;
  std::vector<RateBand> bands;
  std::vector<RateBlock> blocks;
  std::vector<RatePacket> packets;
  std::vector<RateTilePart> parts;
  RatePlan plan{};  ///< its numbers; the pointers are null

 private:
  void add_packets(const Plan& source);
};

}  // namespace cj2k::cuda
