// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One level of the wavelet transform, from plane to plane, on the device against pixels/dwt.h.
// kernel_ingest.cc tests level 1, kernel_quantize.cc all levels of whole frames.
#include "cuda/pixel_jobs.h"
#include "device/kernel_check.h"
#include "kernels/pixels/dwt_tiling.h"
#include "pixels/dwt.h"

using namespace cj2k;
using namespace cj2k::simt::test;
using check::Pattern;

namespace {

struct Case {
  int32_t width, height;
  int parity_x, parity_y;
  Pattern pattern;
};

/// The cases as jobs, one after another in memory, two thirds of them aligned.
/// @return samples of a frame
uint64_t make_jobs(const std::vector<Case> &cases, uint64_t seed, cuda::DwtLevel *level) {
  uint64_t next = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case &c = cases[i];
    const bool is_aligned = (i + seed) % 3 != 0;
    cuda::DwtJob job{};
    job.width = c.width;
    job.height = c.height;
    job.parity_x = static_cast<uint8_t>(c.parity_x);
    job.parity_y = static_cast<uint8_t>(c.parity_y);
    job.source_stride = static_cast<uint32_t>(is_aligned ? (c.width + 7) / 4 * 4 : c.width + 1);
    job.target_stride = job.source_stride + (is_aligned ? 4 * (i % 2) : i % 3);
    constexpr uint8_t kPairs[] = {32, 8, 3, 1};
    job.segment_pairs = kPairs[(i + seed) % 4];
    const auto height = static_cast<uint64_t>(c.height);
    job.source = (next + 3) / 4 * 4 + (is_aligned ? 0 : 1 + i % 3);
    job.target = (job.source + job.source_stride * height + 3) / 4 * 4 + (is_aligned ? 0 : i % 4);
    next = job.target + job.target_stride * height;
    cuda::append_dwt_parts(job, static_cast<uint32_t>(i), 1, &level->parts);
    level->jobs.push_back(job);
  }
  return (next + 31) / 32 * 32;
}

/// Reports which job a sample of a frame belongs to.
void report(const cuda::DwtLevel &level, uint64_t offset) {
  for (size_t i = 0; i < level.jobs.size(); ++i) {
    const cuda::DwtJob &job = level.jobs[i];
    if (offset < job.source ||
        offset >= job.target + uint64_t{job.target_stride} * static_cast<uint64_t>(job.height))
      continue;
    MESSAGE("case ", i, ": ", job.width, "x", job.height, " parity ", int{job.parity_x}, " ",
            int{job.parity_y}, " pairs ", int{job.segment_pairs}, " at row ",
            (offset - job.target) / job.target_stride, " column ",
            (offset - job.target) % job.target_stride);
  }
}

/// Runs all cases as jobs of one launch, in two frames. Compares every sample of the memory.
template <typename T>
void check_cases(Gpu &gpu, const std::vector<Case> &cases, int32_t limit, uint64_t seed) {
  constexpr uint32_t kFrames = 2;
  cuda::DwtLevel level;
  const uint64_t frame_samples = make_jobs(cases, seed, &level);
  std::vector<T> samples(static_cast<size_t>(frame_samples) * kFrames);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<T>(i % 1000) - 500;
  std::vector<T> expected;
  for (uint32_t f = 0; f < kFrames; ++f) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const cuda::DwtJob &job = level.jobs[i];
      check::fill(samples.data() + f * frame_samples + job.source, static_cast<size_t>(job.width),
                  static_cast<size_t>(job.height), job.source_stride, cases[i].pattern, -limit,
                  limit, i + f);
    }
  }
  expected = samples;
  for (uint32_t f = 0; f < kFrames; ++f) {
    for (const cuda::DwtJob &job : level.jobs) {
      const auto width = static_cast<size_t>(job.width);
      T *target = expected.data() + f * frame_samples + job.target;
      for (int32_t y = 0; y < job.height; ++y) {
        const auto row = static_cast<size_t>(y);
        std::copy_n(samples.data() + f * frame_samples + job.source + job.source_stride * row,
                    width, target + job.target_stride * row);
      }
      std::vector<T> scratch(dwt_scratch_samples(job.width, job.height));
      const Plane<T> plane{target, job.width, job.height,
                           static_cast<ptrdiff_t>(job.target_stride)};
      if constexpr (std::is_same_v<T, float>) {
        ref::dwt97_vertical(plane, job.parity_y, 0, job.width, scratch.data());
        ref::dwt97_horizontal(plane, job.parity_x, 0, job.height, scratch.data());
      } else {
        ref::dwt53_vertical(plane, job.parity_y, 0, job.width, scratch.data());
        ref::dwt53_horizontal(plane, job.parity_x, 0, job.height, scratch.data());
      }
    }
  }
  const simt::DeviceBuffer memory = gpu.upload(samples);
  const simt::DeviceBuffer jobs = gpu.upload(level.jobs), parts = gpu.upload(level.parts);
  const cuda::DwtLists lists{jobs.as<cuda::DwtJob>(), parts.as<cuda::DwtPart>(),
                             static_cast<uint32_t>(level.parts.size()), 0};
  REQUIRE((std::is_same_v<T, float> ? cuda::dwt97 : cuda::dwt53)(
              gpu.stream, lists, {memory.as<void>(), frame_samples, kFrames}) == Status::kOk);
  const std::vector<T> actual = gpu.download<T>(memory, samples.size());
  const int64_t at = first_difference(actual, expected);
  if (at >= 0) report(level, static_cast<uint64_t>(at) % frame_samples);
  REQUIRE(at == -1);
}

std::vector<Case> cases_of(std::initializer_list<int32_t> widths,
                           std::initializer_list<int32_t> heights, uint64_t seed) {
  std::vector<Case> cases;
  for (const int32_t width : widths) {
    for (const int32_t height : heights) {
      for (int parities = 0; parities < 4; ++parities) {
        cases.push_back({width, height, parities & 1, parities >> 1,
                         check::kPatterns[(cases.size() + seed) % std::size(check::kPatterns)]});
      }
    }
  }
  return cases;
}

template <typename T>
void check_sizes(const char *what, int32_t limit) {
  for_each_seed(what, [&](Gpu &gpu, uint64_t seed) {
    const auto add = [&](std::initializer_list<int32_t> widths,
                         std::initializer_list<int32_t> heights) {
      for (uint64_t pattern = 0; pattern < 2; ++pattern) {
        check_cases<T>(gpu, cases_of(widths, heights, seed + 3 * pattern), limit, seed + pattern);
      }
    };
    add({1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17});
    add({115, 116, 117, 119, 120, 121, 123, 124, 125, 128, 241, 300}, {1, 2, 3, 12});
    add({1, 2, 5, 33, 130}, {63, 64, 65, 66, 129});
  });
}

TEST_CASE("dwt kernel 5/3: one level, every size and parity") {
  check_sizes<int32_t>("dwt 5/3", (1 << 28) - 1);
}

TEST_CASE("dwt kernel 9/7: one level, every size and parity") {
  check_sizes<float>("dwt 9/7", (1 << 19) - 1);
}

}  // namespace
