// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the checks of the stages: choice of the instruction set, memory that shows stray
// accesses, extreme inputs from a seed, timing.
//
// A check runs the reference and each implementation on equal copies of the same memory, and
// compares all of it, guards and gaps included. Test cases whose names begin with "bench" are
// skipped unless asked for:
//   test_simd --no-skip --test-case='bench*'
#pragma once

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/pages.h"

namespace cj2k::check {

/// The instruction sets that this machine supports and the library was built for.
inline std::vector<int64_t> targets() { return hwy::SupportedAndGeneratedTargets(); }

/// Makes every run-time dispatch of the process choose `target`, until the end of the scope.
class ForceTarget {
 public:
  explicit ForceTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ~ForceTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
  ForceTarget(const ForceTarget&) = delete;
  ForceTarget& operator=(const ForceTarget&) = delete;
};

/// Runs `fn` once per instruction set. `stage_target` returns the instruction set that the stage
/// under test dispatches to (pixels/target.h).
template <typename StageTarget, typename Fn>
void for_each_target(StageTarget stage_target, Fn fn) {
  const std::vector<int64_t> all = targets();
  REQUIRE(!all.empty());
  for (const int64_t target : all) {
    const ForceTarget force(target);
    REQUIRE(stage_target() == target);
    INFO("target ", std::string(hwy::TargetName(target)));
    fn(hwy::TargetName(target));
  }
}

/// `count` elements between canaries; the first is `shift` elements behind a 64-byte boundary.
template <typename T>
class Guarded {
 public:
  static constexpr size_t kGuard = 64;

  Guarded(size_t count, size_t shift)
      : bytes_((count + shift + 2 * kGuard) * sizeof(T) + 64, 0xA5) {
    const size_t misalignment = reinterpret_cast<uintptr_t>(bytes_.data()) % 64;
    begin_ = (64 - misalignment) % 64;
    offset_ = begin_ + (kGuard + shift) * sizeof(T);
    count_ = count;
  }

  T* data() { return reinterpret_cast<T*>(bytes_.data() + offset_); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.data() + offset_); }
  size_t count() const { return count_; }

  bool guards_intact() const {
    const auto is_canary = [](uint8_t b) { return b == 0xA5; };
    return std::all_of(bytes_.begin(), bytes_.begin() + offset_, is_canary) &&
           std::all_of(bytes_.begin() + offset_ + count_ * sizeof(T), bytes_.end(), is_canary);
  }
  /// Compares the elements only: two buffers can have different alignments in memory.
  bool same_as(const Guarded& other) const {
    return count_ == other.count_ && std::memcmp(data(), other.data(), count_ * sizeof(T)) == 0;
  }
  void copy_from(const Guarded& other) { std::memcpy(data(), other.data(), count_ * sizeof(T)); }

 private:
  std::vector<uint8_t> bytes_;
  size_t begin_ = 0, offset_ = 0, count_ = 0;
};

/// `bytes` of memory next to an unmapped page, before it or after it. An access beyond that edge
/// faults.
class FencedBytes {
 public:
  enum class Fence { kBehind, kBefore };

  FencedBytes(size_t bytes, Fence fence) {
    const size_t page = test::page_bytes();
    mapped_ = (bytes + page - 1) / page * page;
    first_ = test::map_fenced_pages(mapped_);
    REQUIRE(first_ != nullptr);
    data_ = fence == Fence::kBehind ? first_ + mapped_ - bytes : first_;
  }
  ~FencedBytes() { test::unmap_fenced_pages(first_, mapped_); }
  FencedBytes(const FencedBytes&) = delete;
  FencedBytes& operator=(const FencedBytes&) = delete;

  uint8_t* data() { return data_; }

 private:
  uint8_t* first_;
  size_t mapped_;
  uint8_t* data_;
};

/// Inputs that stress one thing each: the ends of the range, the highest frequency, the extension
/// at borders. kRandom is for everything else.
enum class Pattern { kMin, kMax, kAlternating, kChecker, kImpulse, kRandom };
inline constexpr Pattern kPatterns[] = {Pattern::kMin,     Pattern::kMax,     Pattern::kAlternating,
                                        Pattern::kChecker, Pattern::kImpulse, Pattern::kRandom};

/// Fills [height][stride], gaps included, with integers in [min, max].
template <typename T>
void fill(T* data, size_t width, size_t height, size_t stride, Pattern pattern, int32_t min,
          int32_t max, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int32_t> any(min, max);
  const size_t impulse = random() % std::max<size_t>(width * height, 1);
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < stride; ++x) {
      int32_t v = 0;
      switch (pattern) {
        case Pattern::kMin:
          v = min;
          break;
        case Pattern::kMax:
          v = max;
          break;
        case Pattern::kAlternating:
          v = (x & 1) != 0 ? min : max;
          break;
        case Pattern::kChecker:
          v = ((x ^ y) & 1) != 0 ? min : max;
          break;
        case Pattern::kImpulse:
          v = y * width + x == impulse ? max : 0;
          break;
        case Pattern::kRandom:
          v = any(random);
          break;
      }
      data[y * stride + x] = static_cast<T>(v);
    }
  }
}

/// All lengths from 1 to 40, and lengths around multiples of every vector width.
inline std::vector<int32_t> odd_lengths() {
  std::vector<int32_t> lengths;
  for (int32_t n = 1; n <= 40; ++n) lengths.push_back(n);
  for (const int32_t n : {63, 64, 65, 66, 127, 128, 129, 130, 255, 256, 257, 258, 259, 260}) {
    lengths.push_back(n);
  }
  return lengths;
}

/// Prints the time of the best of several runs. `bytes` is what one run reads and writes by design.
template <typename Fn>
void bench(const char* what, const char* implementation, double samples, double bytes, Fn fn) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  const auto begin = Clock::now();
  for (int run = 0; run < 3 || (run < 50 && Clock::now() - begin < std::chrono::milliseconds(400));
       ++run) {
    const auto start = Clock::now();
    fn();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::printf("%-36s %-8s %8.2f ms %7.3f ns/sample %7.2f GB/s\n", what, implementation, best * 1e3,
              best * 1e9 / samples, bytes / best * 1e-9);
}

}  // namespace cj2k::check
