// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Device-wide primitives against plain C++; on the shim and on a GPU.
#include <algorithm>
#include <numeric>

#include "shim/support.h"
#include "simt/primitives.h"

using namespace cj2k;
using namespace cj2k::simt;
using namespace cj2k::simt::test;

namespace {

constexpr uint32_t kCounts[] = {0, 1, 31, 1000, 70001};

/// The two calls, with exactly the memory that the first asks for.
template <typename Call>
void run(Gpu& gpu, const Call& call) {
  Temp temp;
  REQUIRE(call(temp) == Status::kOk);
  REQUIRE(temp.bytes > 0);
  const DeviceBuffer memory = gpu.make<uint8_t>(temp.bytes);
  temp.data = memory.as<void>();
  REQUIRE(call(temp) == Status::kOk);
  REQUIRE(gpu.stream.synchronize() == Status::kOk);
}

template <typename V>
DeviceBuffer upload(Gpu& gpu, const std::vector<V>& values) {
  return values.empty() ? DeviceBuffer() : gpu.upload(values);
}
template <typename V>
std::vector<V> download(Gpu& gpu, const DeviceBuffer& buffer, size_t count) {
  return count == 0 ? std::vector<V>() : gpu.download<V>(buffer, count);
}

template <typename In, typename Out>
void check_scan(Gpu& gpu, uint32_t count) {
  const auto in = random_values<In>(count, count);
  const DeviceBuffer device_in = upload(gpu, in), out = gpu.make<Out>(count + 1);
  run(gpu, [&](Temp& temp) {
    return exclusive_scan(gpu.stream, temp, device_in.as<In>(), out.as<Out>(), count);
  });
  std::vector<Out> expected(count);
  std::exclusive_scan(in.begin(), in.end(), expected.begin(), Out{0});
  CHECK(download<Out>(gpu, out, count) == expected);
}

}  // namespace

TEST_CASE("compaction") {
  Gpu gpu(3);
  for (const uint32_t count : kCounts) {
    for (const uint8_t highest : {uint8_t{0}, uint8_t{1}, uint8_t{200}}) {
      CAPTURE(count);
      const auto flags = random_values<uint8_t>(count, count, highest);
      const auto values = random_values<uint32_t>(count, count + 1);
      std::vector<uint32_t> expected, expected_values;
      for (uint32_t i = 0; i < count; ++i) {
        if (flags[i] == 0) continue;
        expected.push_back(i);
        expected_values.push_back(values[i]);
      }
      const DeviceBuffer device_flags = upload(gpu, flags), device_values = upload(gpu, values),
                         indices = gpu.make<uint32_t>(count + 1), num = gpu.make<uint32_t>(1);
      run(gpu, [&](Temp& temp) {
        return compact_indices(gpu.stream, temp, device_flags.as<uint8_t>(), count,
                               indices.as<uint32_t>(), num.as<uint32_t>());
      });
      REQUIRE(gpu.download<uint32_t>(num, 1)[0] == expected.size());
      CHECK(download<uint32_t>(gpu, indices, expected.size()) == expected);
      run(gpu, [&](Temp& temp) {
        return compact(gpu.stream, temp, device_values.as<uint32_t>(), device_flags.as<uint8_t>(),
                       count, indices.as<uint32_t>(), num.as<uint32_t>());
      });
      REQUIRE(gpu.download<uint32_t>(num, 1)[0] == expected.size());
      CHECK(download<uint32_t>(gpu, indices, expected.size()) == expected_values);
    }
  }
}

TEST_CASE("scans") {
  Gpu gpu(4);
  for (const uint32_t count : kCounts) {
    CAPTURE(count);
    check_scan<uint32_t, uint32_t>(gpu, count);
    check_scan<uint32_t, uint64_t>(gpu, count);
    check_scan<uint64_t, uint64_t>(gpu, count);
  }
}

TEST_CASE("a scan in place") {
  Gpu gpu(4);
  const auto in = random_values<uint32_t>(5000, 1);
  const DeviceBuffer both = gpu.upload(in);
  run(gpu, [&](Temp& temp) {
    return exclusive_scan(gpu.stream, temp, both.as<uint32_t>(), both.as<uint32_t>(), 5000);
  });
  std::vector<uint32_t> expected(5000);
  std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0u);
  CHECK(gpu.download<uint32_t>(both, 5000) == expected);
}

TEST_CASE("reductions") {
  Gpu gpu(5);
  for (const uint32_t count : kCounts) {
    CAPTURE(count);
    const auto in = random_values<uint32_t>(count, count);
    const auto wide = random_values<uint64_t>(count, count);
    const DeviceBuffer device_in = upload(gpu, in), device_wide = upload(gpu, wide),
                       out = gpu.make<uint64_t>(1);
    run(gpu, [&](Temp& temp) {
      return reduce_add(gpu.stream, temp, device_in.as<uint32_t>(), out.as<uint64_t>(), count);
    });
    CHECK(gpu.download<uint64_t>(out, 1)[0] == std::accumulate(in.begin(), in.end(), uint64_t{0}));
    run(gpu, [&](Temp& temp) {
      return reduce_add(gpu.stream, temp, device_wide.as<uint64_t>(), out.as<uint64_t>(), count);
    });
    CHECK(gpu.download<uint64_t>(out, 1)[0] ==
          std::accumulate(wide.begin(), wide.end(), uint64_t{0}));
    run(gpu, [&](Temp& temp) {
      return reduce_max(gpu.stream, temp, device_in.as<uint32_t>(), out.as<uint32_t>(), count);
    });
    CHECK(gpu.download<uint32_t>(out, 1)[0] ==
          (count == 0 ? 0 : *std::max_element(in.begin(), in.end())));
  }
}

TEST_CASE("stable sort of pairs") {
  Gpu gpu(6);
  for (const uint32_t count : kCounts) {
    for (const int key_bits : {32, 10, 3}) {
      CAPTURE(count);
      CAPTURE(key_bits);
      const uint32_t mask = key_bits == 32 ? 0xFFFFFFFFu : (1u << key_bits) - 1;
      const auto keys = random_values<uint32_t>(count, count, key_bits == 10 ? 1023u : 0xFFFFFFFFu);
      std::vector<uint32_t> values(count);
      std::iota(values.begin(), values.end(), 0u);
      const DeviceBuffer device_keys = upload(gpu, keys), device_values = upload(gpu, values),
                         keys_out = gpu.make<uint32_t>(count + 1),
                         values_out = gpu.make<uint32_t>(count + 1);
      for (const bool descending : {false, true}) {
        const auto sort = descending ? sort_pairs_descending : sort_pairs;
        run(gpu, [&](Temp& temp) {
          return sort(gpu.stream, temp, device_keys.as<uint32_t>(), keys_out.as<uint32_t>(),
                      device_values.as<uint32_t>(), values_out.as<uint32_t>(), count, key_bits);
        });
        auto expected = values;
        std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
          return descending ? (keys[a] & mask) > (keys[b] & mask)
                            : (keys[a] & mask) < (keys[b] & mask);
        });
        CHECK(download<uint32_t>(gpu, values_out, count) == expected);
        for (uint32_t& index : expected) index = keys[index];
        CHECK(download<uint32_t>(gpu, keys_out, count) == expected);
      }
    }
  }
}
