// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The tables that rate control on the device needs of a plan (kernels/rate/allocate.h).
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/carver.h"
#include "kernels/rate/allocate.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// Whether allocate_rate can allocate the frames of a plan: one layer, no PLT, no RDOQ. EBCOT with
/// codewords of one segment (no BYPASS, TERMALL or PTERM) and one set of quantiser steps. HT frames
/// that are not small (is_small_ht), because those are coded twice.
bool device_allocates(const Plan& plan);

/// The tables, on the host. Throws std::bad_alloc.
struct RateTables {
  /// @param max_points  bound on the hull points of a frame: Tier1Layout::frame_passes,
  ///                    HtLayout::frame_points
  RateTables(const Plan& plan, uint32_t max_points);

  /// Size of the tables in device memory: the image of `store`.
  uint64_t bytes() const;
  /// Copies the tables to `image`, for the upload.
  void store(uint8_t* image) const;
  /// @param tables  the image in device memory, 16-byte aligned
  /// @param jobs    [plan.blocks] in device memory; null with HT
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

/// Counters of a call on the device and in page-locked memory: hull points, segments, 16-byte units
/// of packed bytes.
inline constexpr uint32_t kTotals = 3;

/// What rate control of a GOP has in memory, on the device, and where marked P in page-locked memory:
///
///   | scratch | chosen | outcomes P | left P | part_places | packet_places | block_places |
struct RateMemory {
  RateMemory() = default;
  /// @param frames  of a GOP
  RateMemory(const RatePlan& plan, uint64_t frames, bool on_device, Carver& carver);

  Span<uint8_t> scratch;
  Span<ChosenBlock> chosen;
  Span<RateOutcome> outcomes;
  Span<double> left;
  Span<uint32_t> part_places, packet_places, block_places;
};

}  // namespace cj2k::cuda
