// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the checks of the kernels: all bytes of a device buffer must equal the reference's,
// also those that a kernel must not write.
#pragma once

#include <algorithm>
#include <cstring>

#include "device/support.h"
#include "kernels/pixels/pixels.h"
#include "params/params.h"
#include "plan/plan.h"
#include "support/check.h"

namespace cj2k::simt::test {

/// Three sets of data, one with AddressSanitizer. In the shim, a seed also sets the order of
/// threads, warps and blocks.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr uint64_t kCheckSeeds[] = {0xC0FFEE};
#else
inline constexpr uint64_t kCheckSeeds[] = {1, 2, 0xC0FFEE};
#endif

/// The name of what runs the kernels. Fails if it is not what the test was built for.
inline std::string implementation(const Gpu &gpu) {
  const std::string &name = gpu.context->info().name;
#if defined(CJ2K_SIMT_SHIM)
  REQUIRE(name.substr(0, 4) == "shim");
  return "shim";
#else
  REQUIRE(name.substr(0, 4) != "shim");
  return name;
#endif
}

/// Runs `check(gpu, seed)` with every seed, each time on a new device. Prints the implementation
/// and, in the shim, the number of launches.
template <typename Check>
void for_each_seed(const char *what, Check check) {
  for (const uint64_t seed : kCheckSeeds) {
    Gpu gpu(seed);
    INFO(std::string(what), " on ", implementation(gpu), ", seed ", seed);
    check(gpu, seed);
#if defined(CJ2K_SIMT_SHIM)
    REQUIRE(shim::stats().launches > 0);
    if (seed == kCheckSeeds[0]) {
      MESSAGE(std::string(what), ": implementation ", implementation(gpu), ", ",
              shim::stats().launches, " launches, ", shim::stats().blocks, " blocks");
    }
    shim::check_canaries();
#else
    MESSAGE(std::string(what), ": implementation ", implementation(gpu));
#endif
  }
}

/// The index of the first difference between two buffers; -1: they are equal.
template <typename V>
int64_t first_difference(const std::vector<V> &a, const std::vector<V> &b) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(V)) != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

inline constexpr uint32_t kPoison = 0xA5A5A5A5u;

inline Plan checked_plan(const cj2k_params &params) {
  cj2k_params resolved;
  Plan plan;
  LogLines lines;
  REQUIRE(resolve_params(params, lines.log(), &resolved) == Status::kOk);
  REQUIRE(make_plan(resolved, lines.log(), &plan) == Status::kOk);
  return plan;
}

}  // namespace cj2k::simt::test
