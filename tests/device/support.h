// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The base of the tests of device code. With CJ2K_SIMT_SHIM they run on the shim, once for each
// seed; otherwise on the GPU of this machine, if there is one.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/simt/device.h"

#if defined(CJ2K_SIMT_SHIM)
#include "kernels/simt/host/shim.h"
#endif

namespace cj2k::simt::test {

/// Keeps the lines that a context logs.
struct LogLines {
  std::vector<std::string> lines;
  Log log() {
    return Log([](void* self, cj2k_log_level,
                  const char* text) { static_cast<LogLines*>(self)->lines.push_back(text); },
               this);
  }
};

/// One context and one stream on a device that was reset with `seed`.
struct Gpu {
  /// @param num_multiprocessors  for the shim; a GPU keeps its own. 0: the shim's default
  explicit Gpu(uint64_t seed = 1, int num_multiprocessors = 0) {
#if defined(CJ2K_SIMT_SHIM)
    shim::Options options;
    options.seed = seed;
    if (num_multiprocessors != 0) options.num_multiprocessors = num_multiprocessors;
    shim::reset(options);
#else
    (void)seed;
    (void)num_multiprocessors;
#endif
    REQUIRE(Context::open({}, lines.log(), &context) == Status::kOk);
    REQUIRE(stream.create(*context) == Status::kOk);
  }
  LogLines lines;
  std::unique_ptr<Context> context;
  Stream stream;

  template <typename V>
  DeviceBuffer upload(const std::vector<V>& values) {
    DeviceBuffer buffer;
    REQUIRE(buffer.allocate(*context, values.size() * sizeof(V)) == Status::kOk);
    REQUIRE(stream.upload(buffer.as<V>(), values.data(), values.size() * sizeof(V)) == Status::kOk);
    REQUIRE(stream.synchronize() == Status::kOk);
    return buffer;
  }
  template <typename V>
  DeviceBuffer make(size_t count) {
    DeviceBuffer buffer;
    REQUIRE(buffer.allocate(*context, count * sizeof(V)) == Status::kOk);
    return buffer;
  }
  template <typename V>
  std::vector<V> download(const DeviceBuffer& buffer, size_t count) {
    std::vector<V> values(count);
    REQUIRE(stream.download(values.data(), buffer.as<V>(), count * sizeof(V)) == Status::kOk);
    REQUIRE(stream.synchronize() == Status::kOk);
    return values;
  }
};

#if defined(CJ2K_SIMT_SHIM)
inline constexpr uint64_t kSeeds[] = {1, 2, 3, 0xC0FFEE};
#else
inline constexpr uint64_t kSeeds[] = {1};
#endif

template <typename V>
std::vector<V> random_values(size_t count, uint64_t seed, V highest = static_cast<V>(~V{0})) {
  std::mt19937_64 random(seed);
  std::vector<V> values(count);
  for (V& v : values)
    v = static_cast<V>(highest == static_cast<V>(~V{0})
                           ? random()
                           : random() % (static_cast<uint64_t>(highest) + 1));
  return values;
}

}  // namespace cj2k::simt::test
