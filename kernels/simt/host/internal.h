// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Declarations that the parts of the shim share.
#pragma once

#include <functional>
#include <vector>

#include "kernels/simt/host/shim.h"

namespace cj2k::simt::shim {

struct HostKernel;

/// Passes a violation to the violation handler.
[[gnu::format(printf, 2, 3)]] void report(Bug bug, const char* format, ...);

/// The random numbers of the shim: all its random decisions use this generator.
class Random {
 public:
  explicit Random(uint64_t seed = 1) { this->seed(seed); }
  void seed(uint64_t seed) { state_ = seed * 0x9E3779B97F4A7C15u | 1; }
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ >> 32);
  }
  /// A number in [0, bound).
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(uint64_t{next()} * bound >> 32); }

 private:
  uint64_t state_ = 1;
};

/// Runs one launch to its end.
/// @return false: a violation ended it
bool run_launch(const HostKernel& kernel, Dim3 grid, const void* params, int owner,
                bool check_races, Random& random);
Stats& engine_stats();

}  // namespace cj2k::simt::shim
