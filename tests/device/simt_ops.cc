// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Each operation of the thread context against plain C++, on the shim and on a GPU.
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "device/sample_kernels.h"
#include "device/support.h"

using namespace cj2k;
using namespace cj2k::simt;
using namespace cj2k::simt::test;
namespace samples = cj2k::cuda::samples;

namespace {

uint32_t reverse_bits(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}

/// The results that WarpCalls must give by definition: [results][threads].
template <typename V>
std::vector<V> expected_warp_calls(const std::vector<V>& in) {
  using U = std::make_unsigned_t<V>;
  constexpr uint32_t kThreads = samples::kWarpCallsThreads;
  std::vector<V> out(samples::kWarpCallsResults * kThreads);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    const uint32_t lane = thread % 32;
    const V* w = in.data() + thread / 32 * 32;
    const V v = w[lane];
    uint32_t k = 0;
    const auto put = [&](V x) { out[k++ * kThreads + thread] = x; };
    const auto fold = [&](uint32_t begin, uint32_t end, V start, auto op) {
      V sum = start;
      for (uint32_t i = begin; i < end; ++i) sum = op(sum, w[i]);
      return sum;
    };
    const auto add = [](V a, V b) { return static_cast<V>(static_cast<U>(a) + static_cast<U>(b)); };
    const auto bit_or = [](V a, V b) { return static_cast<V>(a | b); };
    const auto highest = [](V a, V b) { return std::max(a, b); };
    const auto lowest = [](V a, V b) { return std::min(a, b); };
    const V min = std::numeric_limits<V>::min(), max = std::numeric_limits<V>::max();
    put(w[5]);
    put(w[(lane * 7 + 3) & 31]);
    put(lane >= 3 ? w[lane - 3] : v);
    put(lane + 4 < 32 ? w[lane + 4] : v);
    put(w[lane ^ 9]);
    put(fold(0, 32, 0, add));
    put(fold(0, 32, 0, bit_or));
    put(fold(0, 32, 0, [](V a, V b) { return static_cast<V>(a ^ b); }));
    put(fold(0, 32, static_cast<V>(~V{0}), [](V a, V b) { return static_cast<V>(a & b); }));
    put(fold(0, 32, min, highest));
    put(fold(0, 32, max, lowest));
    put(fold(0, lane + 1, 0, add));
    put(fold(0, lane + 1, 0, bit_or));
    put(fold(0, lane + 1, min, highest));
    put(fold(0, lane, 0, add));
    put(fold(0, lane, 0, bit_or));
    put(fold(0, lane, min, highest));
    put(fold(0, lane, max, lowest));
    uint32_t odd = 0, second = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      odd |= static_cast<uint32_t>(w[i] & 1) << i;
      second |= static_cast<uint32_t>(w[i] >> 1 & 1) << i;
    }
    put(static_cast<V>(odd));
    put(std::find(w, w + 32, static_cast<V>(12345)) != w + 32);
    put(std::find(w, w + 32, static_cast<V>(12345)) == w + 32);
    put(lane < 20 ? w[19 - lane] : static_cast<V>(second & 0xFFF00000u));
    put(static_cast<V>(std::popcount(static_cast<U>(v))));
    put(static_cast<V>(std::countl_zero(static_cast<U>(v))));
    put(static_cast<V>(std::countr_zero(static_cast<U>(v))));
    const auto low = static_cast<uint32_t>(v), high = reverse_bits(low);
    const uint64_t both = uint64_t{high} << 32 | low;
    put(static_cast<V>(static_cast<uint32_t>(uint64_t{low} * high >> 32)));
    put(static_cast<V>(static_cast<uint32_t>(both << (low & 31) >> 32) ^
                       static_cast<uint32_t>(both >> (low & 31))));
    put(static_cast<V>(static_cast<uint32_t>((both >> 40 & 0xFF) | (both >> 8 & 0xFF) << 8 |
                                             (both >> 56) << 16 | (both >> 24 & 0xFF) << 24)));
  }
  return out;
}

template <typename V>
void check_warp_calls() {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    auto in = random_values<V>(samples::kWarpCallsThreads, seed);
    in[0] = 0;
    in[40] = 12345;
    in[70] = std::numeric_limits<V>::min();
    in[71] = std::numeric_limits<V>::max();
    const DeviceBuffer device_in = gpu.upload(in);
    const DeviceBuffer device_out = gpu.make<V>(in.size() * samples::kWarpCallsResults);
    REQUIRE(samples::warp_calls(gpu.stream, device_in.as<V>(), device_out.as<V>()) == Status::kOk);
    const auto out = gpu.download<V>(device_out, in.size() * samples::kWarpCallsResults);
    const auto expected = expected_warp_calls(in);
    for (size_t i = 0; i < out.size(); ++i) {
      CAPTURE(i / in.size());
      CAPTURE(i % in.size());
      REQUIRE(out[i] == expected[i]);
    }
  }
}

template <typename V>
void check_atomics() {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    constexpr uint32_t kBlocks = 7;
    const auto in = random_values<V>(kBlocks * samples::kAtomicsThreads, seed);
    const DeviceBuffer device_in = gpu.upload(in);
    const DeviceBuffer device_out =
        gpu.upload(std::vector<V>{0, 0, static_cast<V>(~V{0}), 0, static_cast<V>(~V{0}), 0});
    REQUIRE(samples::atomics(gpu.stream, device_in.as<V>(), device_out.as<V>(), kBlocks) ==
            Status::kOk);
    const auto out = gpu.download<V>(device_out, 6);
    CHECK(out[0] == std::accumulate(in.begin(), in.end(), V{0}));
    CHECK(out[1] == std::accumulate(in.begin(), in.end(), V{0}, [](V a, V b) { return a | b; }));
    CHECK(out[2] == std::accumulate(in.begin(), in.end(), static_cast<V>(~V{0}),
                                    [](V a, V b) { return a & b; }));
    CHECK(out[3] == *std::max_element(in.begin(), in.end()));
    CHECK(out[4] == *std::min_element(in.begin(), in.end()));
    CHECK(out[5] == in.size());
  }
}

}  // namespace

TEST_CASE("16-byte accesses, a launch with a part of a block") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    const auto in = random_values<uint32_t>(4 * 1001, seed);
    const DeviceBuffer device_in = gpu.upload(in);
    const DeviceBuffer device_out = gpu.make<uint32_t>(in.size());
    REQUIRE(samples::halve(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(),
                           static_cast<uint32_t>(in.size())) == Status::kOk);
    const auto out = gpu.download<uint32_t>(device_out, in.size());
    for (size_t i = 0; i < in.size(); ++i) REQUIRE(out[i] == in[i] / 2);
  }
}

TEST_CASE("an empty grid launches nothing") {
  Gpu gpu;
  CHECK(samples::halve(gpu.stream, nullptr, nullptr, 0) == Status::kOk);
  CHECK(gpu.stream.synchronize() == Status::kOk);
}

TEST_CASE("warp operations, unsigned") { check_warp_calls<uint32_t>(); }
TEST_CASE("warp operations, signed") { check_warp_calls<int32_t>(); }
TEST_CASE("warp operations, 64 bit") { check_warp_calls<uint64_t>(); }
TEST_CASE("atomics, 32 bit") { check_atomics<uint32_t>(); }
TEST_CASE("atomics, 64 bit") { check_atomics<uint64_t>(); }

TEST_CASE("block scan and reduction") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    constexpr uint32_t kBlocks = 5, kCount = kBlocks * samples::kBlockScanThreads;
    const auto in = random_values<uint32_t>(kCount, seed);
    const DeviceBuffer device_in = gpu.upload(in);
    const DeviceBuffer before = gpu.make<uint32_t>(kCount), totals = gpu.make<uint32_t>(kBlocks),
                       bits = gpu.make<uint32_t>(kBlocks);
    REQUIRE(samples::block_scan(gpu.stream, device_in.as<uint32_t>(), before.as<uint32_t>(),
                                totals.as<uint32_t>(), bits.as<uint32_t>(),
                                kBlocks) == Status::kOk);
    const auto got = gpu.download<uint32_t>(before, kCount),
               got_totals = gpu.download<uint32_t>(totals, kBlocks),
               got_bits = gpu.download<uint32_t>(bits, kBlocks);
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const auto begin = in.begin() + block * samples::kBlockScanThreads,
                 end = begin + samples::kBlockScanThreads;
      uint32_t sum = 0, union_of_bits = 0;
      for (auto i = begin; i != end; ++i) {
        REQUIRE(got[static_cast<size_t>(i - in.begin())] == sum);
        sum += *i;
        if (*i % 61 == 0) union_of_bits |= *i;
      }
      CHECK(got_totals[block] == sum);
      CHECK(got_bits[block] == union_of_bits);
    }
  }
}

TEST_CASE("named barriers: a producer warp and three consumers") {
  for (const uint64_t seed : kSeeds) {
    for (const uint32_t rounds : {1u, 2u, 9u}) {
      Gpu gpu(seed);
      const auto in = random_values<uint32_t>(rounds * 32, seed);
      const DeviceBuffer device_in = gpu.upload(in),
                         device_out = gpu.make<uint32_t>(samples::kHandoverThreads);
      REQUIRE(samples::handover(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(),
                                rounds) == Status::kOk);
      const auto out = gpu.download<uint32_t>(device_out, samples::kHandoverThreads);
      for (uint32_t thread = 0; thread < out.size(); ++thread) {
        uint32_t sum = 0;
        for (uint32_t round = 0; round < rounds; ++round) sum += in[round * 32 + thread % 32];
        REQUIRE(out[thread] == sum * (thread / 32));
      }
    }
  }
}

TEST_CASE("release and acquire through shared memory") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    const auto in = random_values<uint32_t>(32, seed);
    const DeviceBuffer device_in = gpu.upload(in), device_out = gpu.make<uint32_t>(32);
    for (const auto wait : {samples::FlagWait::kEachLane, samples::FlagWait::kOneLane}) {
      REQUIRE(gpu.stream.fill_u32(device_out.as<uint32_t>(), 0, 32) == Status::kOk);
      REQUIRE(samples::flag_handover(gpu.stream, device_in.as<uint32_t>(),
                                     device_out.as<uint32_t>(), wait) == Status::kOk);
      CHECK(gpu.download<uint32_t>(device_out, 32) == in);
    }
  }
}

TEST_CASE("64 KB of shared memory") {
  Gpu gpu;
  const auto in = random_values<uint32_t>(16384, 5);
  const DeviceBuffer device_in = gpu.upload(in), device_out = gpu.make<uint32_t>(in.size());
  REQUIRE(samples::large_smem(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(),
                              16384) == Status::kOk);
  auto out = gpu.download<uint32_t>(device_out, in.size());
  std::reverse(out.begin(), out.end());
  CHECK(out == in);
}

TEST_CASE("the corrected forms of the kernels with planted bugs") {
  for (const uint64_t seed : kSeeds) {
    Gpu gpu(seed);
    constexpr uint32_t kBlocks = 3, kCount = kBlocks * samples::kReverseThreads;
    const auto in = random_values<uint32_t>(kCount, seed);
    const DeviceBuffer device_in = gpu.upload(in), device_out = gpu.make<uint32_t>(kCount);
    auto expected = in;
    for (uint32_t block = 0; block < kBlocks; ++block) {
      std::reverse(expected.begin() + block * samples::kReverseThreads,
                   expected.begin() + (block + 1) * samples::kReverseThreads);
    }
    for (const bool checked : {false, true}) {
      REQUIRE(samples::reverse(gpu.stream, device_in.as<uint32_t>(), device_out.as<uint32_t>(),
                               kBlocks, true, checked) == Status::kOk);
      CHECK(gpu.download<uint32_t>(device_out, kCount) == expected);
    }
    REQUIRE(samples::warp_neighbour(gpu.stream, device_out.as<uint32_t>(),
                                    samples::Between::kSyncWarp) == Status::kOk);
    const auto neighbours = gpu.download<uint32_t>(device_out, 64);
    for (uint32_t i = 0; i < 64; ++i) REQUIRE(neighbours[i] == (i ^ 1) * 3);
    REQUIRE(samples::iota(gpu.stream, device_out.as<uint32_t>(), kCount - 5, true) == Status::kOk);
    const auto numbers = gpu.download<uint32_t>(device_out, kCount - 5);
    for (uint32_t i = 0; i < numbers.size(); ++i) REQUIRE(numbers[i] == i);
    const DeviceBuffer counts = gpu.make<uint32_t>(16);
    REQUIRE(gpu.stream.fill_u32(counts.as<uint32_t>(), 0, 16) == Status::kOk);
    REQUIRE(samples::histogram(gpu.stream, device_in.as<uint32_t>(), counts.as<uint32_t>(),
                               kBlocks * 2, true) == Status::kOk);
    const auto got = gpu.download<uint32_t>(counts, 16);
    for (uint32_t value = 0; value < 16; ++value) {
      CHECK(got[value] ==
            std::count_if(in.begin(), in.end(), [&](uint32_t v) { return (v & 15) == value; }));
    }
  }
}
