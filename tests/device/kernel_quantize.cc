// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Quantisation to bit-planes on the device against pixels/quantize.h, and whole frames through all
// pixel kernels.
#include <bit>
#include <cmath>
#include <span>

#include "cuda/pixel_jobs.h"
#include "device/kernel_check.h"
#include "pixels/colour.h"
#include "pixels/dwt.h"
#include "pixels/ingest.h"
#include "pixels/quantize.h"

using namespace cj2k;
using namespace cj2k::simt::test;

namespace {

/// Writes the block's planes in the layout of kernels/ebcot/quantize.h. Words that a block does not
/// write stay as they are.
void expect_planes(const cuda::QuantizeJob &job, bool reversible, const uint32_t *samples,
                   uint64_t *words, uint32_t *magnitudes) {
  const size_t width = job.width, height = job.height;
  std::vector<uint32_t> block(width * height);
  const uint32_t *source = samples + job.source;
  const auto stride = static_cast<ptrdiff_t>(width);
  if (reversible) {
    *magnitudes = ref::quantize_53(reinterpret_cast<const int32_t *>(source), job.stride, job.width,
                                   job.height, block.data(), stride);
  } else {
    *magnitudes = ref::quantize_97(
        reinterpret_cast<const float *>(source), job.stride, job.width, job.height,
        {job.inverse_step, 0, (1u << job.max_bit_planes) - 1}, block.data(), stride);
  }
  if (*magnitudes == 0) return;
  const int planes = std::bit_width(*magnitudes);
  const size_t words_wide = (width + 15) / 16, plane_words = words_wide * ((height + 3) / 4);
  for (int slot = 0; slot <= planes; ++slot) {
    const int bit = slot == 0 ? 31 : planes - slot;
    uint64_t *plane = words + job.first_word + static_cast<size_t>(slot) * plane_words;
    std::fill(plane, plane + plane_words, uint64_t{0});
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        plane[y / 4 * words_wide + x / 16] |= uint64_t{block[y * width + x] >> bit & 1}
                                              << (4 * (x % 16) + y % 4);
      }
    }
  }
}

void check_planes(Gpu &gpu, bool reversible, const std::vector<cuda::QuantizeJob> &jobs,
                  uint64_t frame_words, const simt::DeviceBuffer &samples,
                  const std::vector<uint32_t> &host_samples, uint32_t num_frames) {
  const auto num_jobs = static_cast<uint32_t>(jobs.size());
  const uint64_t frame_samples = host_samples.size() / num_frames;
  constexpr uint64_t kPoison64 = uint64_t{kPoison} << 32 | kPoison;
  std::vector<uint64_t> expected(static_cast<size_t>(frame_words) * num_frames, kPoison64);
  std::vector<uint32_t> expected_magnitudes(size_t{num_jobs} * num_frames, kPoison);
  for (uint32_t f = 0; f < num_frames; ++f) {
    for (uint32_t i = 0; i < num_jobs; ++i) {
      expect_planes(jobs[i], reversible, host_samples.data() + f * frame_samples,
                    expected.data() + f * frame_words,
                    &expected_magnitudes[size_t{f} * num_jobs + i]);
    }
  }
  const simt::DeviceBuffer device_jobs = gpu.upload(jobs);
  const simt::DeviceBuffer words = gpu.upload(std::vector<uint64_t>(expected.size(), kPoison64));
  const simt::DeviceBuffer magnitudes = gpu.make<uint32_t>(expected_magnitudes.size());
  REQUIRE((reversible ? cuda::quantize53 : cuda::quantize97)(
              gpu.stream, device_jobs.as<cuda::QuantizeJob>(), num_jobs,
              {samples.as<void>(), frame_samples, num_frames},
              {words.as<uint64_t>(), frame_words, magnitudes.as<uint32_t>()}) == Status::kOk);
  REQUIRE(first_difference(gpu.download<uint32_t>(magnitudes, expected_magnitudes.size()),
                           expected_magnitudes) == -1);
  REQUIRE(first_difference(gpu.download<uint64_t>(words, expected.size()), expected) == -1);
}

struct Size {
  uint16_t width, height;
};
constexpr Size kSizes[] = {
    {1, 1},    {2, 3},    {3, 4},    {4, 4},    {4, 5},    {5, 7},    {7, 1},    {15, 9},
    {16, 16},  {17, 4},   {31, 2},   {32, 32},  {33, 33},  {48, 13},  {63, 64},  {64, 64},
    {64, 61},  {65, 6},   {1, 64},   {128, 32}, {100, 30}, {256, 16}, {1024, 4}, {1024, 1},
    {1023, 3}, {4, 1024}, {3, 1021}, {1, 1024}, {100, 28}, {33, 57},  {9, 250},  {2, 1010}};

/// Blocks of all sizes side by side, each with its own alignment and number of planes.
template <typename T, typename Value>
void check_sizes(Gpu &gpu, bool reversible, uint32_t salt, Value value) {
  constexpr uint32_t kFrames = 2;
  std::vector<cuda::QuantizeJob> jobs;
  uint64_t frame_samples = 0, frame_words = 0;
  for (uint32_t i = 0; i < std::size(kSizes); ++i) {
    const Size size = kSizes[i];
    cuda::QuantizeJob job{};
    const uint32_t skew = (i + salt) % 3 == 0 ? 1 + i % 3 : 0;
    job.source = (frame_samples + 3) / 4 * 4 + skew;
    job.stride = (size.width + 3u) / 4 * 4 + (i % 5 == 4 ? 1 : 0);
    job.width = size.width;
    job.height = size.height;
    // An odd number of words, and more than two rounds of all warps with four units at once.
    const uint32_t most = size.height == 1010 ? 7 : 31;
    job.max_bit_planes = static_cast<uint8_t>((i * 7 + salt) % most + 1);
    job.inverse_step = std::ldexp(0.7f, static_cast<int>(i % 9) - 4);
    job.words_wide = static_cast<uint8_t>((size.width + 15) / 16);
    job.plane_words = static_cast<uint16_t>(job.words_wide * ((size.height + 3) / 4));
    job.first_word = (frame_words + 1) / 2 * 2;
    frame_samples = job.source + uint64_t{job.stride} * (size.height - 1u) + size.width;
    frame_words = job.first_word + uint64_t{job.plane_words} * (job.max_bit_planes + 1u);
    jobs.push_back(job);
  }
  frame_samples = (frame_samples + 31) / 32 * 32;
  frame_words = (frame_words + 1) / 2 * 2;
  std::mt19937_64 random(salt);
  std::vector<uint32_t> samples(static_cast<size_t>(frame_samples) * kFrames);
  for (uint32_t f = 0; f < kFrames; ++f) {
    for (uint32_t &s : std::span(samples).subspan(f * frame_samples, frame_samples)) {
      s = static_cast<uint32_t>(random());  // gaps hold any value, also NaN
    }
    for (const cuda::QuantizeJob &job : jobs) {
      for (uint32_t y = 0; y < job.height; ++y) {
        for (uint32_t x = 0; x < job.width; ++x) {
          const T v = value(random, job, y * job.width + x);
          std::memcpy(&samples[f * frame_samples + job.source + uint64_t{y} * job.stride + x], &v,
                      sizeof v);
        }
      }
    }
  }
  check_planes(gpu, reversible, jobs, frame_words, gpu.upload(samples), samples, kFrames);
}

TEST_CASE("quantize kernel 5/3: every block size") {
  for_each_seed("quantize 5/3", [](Gpu &gpu, uint64_t seed) {
    const auto salt = static_cast<uint32_t>(seed % 1000);
    check_sizes<int32_t>(gpu, true, salt, [](auto &random, const auto &job, uint32_t) {
      const auto m =
          static_cast<int32_t>(random() >> random() % 32 & ((1u << job.max_bit_planes) - 1));
      return (random() & 1) != 0 ? -m : m;
    });
    check_sizes<int32_t>(gpu, true, salt + 1, [](auto &, const auto &job, uint32_t i) {
      const auto m = static_cast<int32_t>((1u << job.max_bit_planes) - 1);
      return i % 3 == 0 ? 0 : i % 3 == 1 ? m : -m;
    });
    check_sizes<int32_t>(gpu, true, salt + 2, [](auto &, const auto &job, uint32_t i) {
      return job.width % 2 == 0 && i + 1 == uint32_t{job.width} * job.height ? -1 : 0;
    });
  });
}

TEST_CASE("quantize kernel 9/7: every block size") {
  for_each_seed("quantize 9/7", [](Gpu &gpu, uint64_t seed) {
    const auto salt = static_cast<uint32_t>(seed % 1000);
    check_sizes<float>(gpu, false, salt, [](auto &random, const auto &job, uint32_t) {
      // Values on both sides of each power of two and of the clamp, the smallest values, and signed
      // zeros.
      const int bit = static_cast<int>(random() % (job.max_bit_planes + 3u)) - 2;
      float v = std::ldexp(1.0f, bit) / job.inverse_step;
      const uint64_t kind = random() % 8;
      if (kind < 3) v = std::nextafter(v, kind == 0 ? 0.0f : 1e38f);
      if (kind == 3) v = static_cast<float>((1u << job.max_bit_planes) - 1) / job.inverse_step;
      if (kind == 4) v *= static_cast<float>(random() % 4096) / 4096.0f;
      if (kind == 5) v = random() % 4 == 0 ? 1e30f : 0.0f;
      if (kind == 6) v = 1.4e-45f;
      return (random() & 1) != 0 ? -v : v;
    });
    check_sizes<float>(gpu, false, salt + 1, [](auto &, const auto &job, uint32_t i) {
      return job.height % 2 == 0 && i == 0 ? -1e38f : -0.0f;
    });
  });
}

// ---- Whole frames ----

/// Ingest, transform, and the distribution of the subbands over the two planes, with the
/// references.
template <typename T>
void expect_coefficients(const Plan &plan, const cuda::FrameLayout &layout,
                         const cuda::FrameViews &views, uint32_t *out) {
  std::vector<std::vector<int32_t>> planes;
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const auto &to = layout.components[c];
    planes.emplace_back(static_cast<size_t>(to.width) * static_cast<size_t>(to.height));
    for (int32_t y = 0; y < to.height; ++y) {
      const cj2k_component_view &v = views[c];
      ref::ingest_row(
          {static_cast<const uint8_t *>(v.data) + y * v.stride_bytes, v.step_bytes, v.word_bytes,
           v.shift, plan.components[c].depth, plan.components[c].is_signed},
          planes[c].data() + static_cast<size_t>(to.width) * static_cast<size_t>(y), to.width);
    }
  }
  const auto row = [&](size_t c, int32_t y) {
    return planes[c].data() +
           static_cast<size_t>(layout.components[c].width) * static_cast<size_t>(y);
  };
  for (size_t c = 0; c < planes.size(); ++c) {
    for (int32_t y = 0; y < layout.components[c].height; ++y) {
      const int32_t width = layout.components[c].width;
      if (plan.use_mct && c < 3) {
        if (c > 0) continue;
        (plan.reversible ? ref::rct_row : ref::ict_row)(row(0, y), row(1, y), row(2, y), width);
      } else if (!plan.reversible) {
        ref::to_float_row(row(c, y), width);
      }
    }
  }
  for (const TileComponent &tc : plan.tile_components) {
    const auto &to = layout.components[tc.component];
    for (int32_t r = plan.params.levels; r > 0; --r) {
      const Rect &rect = plan.resolutions[tc.first_resolution + static_cast<uint32_t>(r)].rect;
      if (rect.empty()) continue;
      std::vector<T> scratch(dwt_scratch_samples(rect.width(), rect.height()));
      const Plane<T> plane{reinterpret_cast<T *>(row(tc.component, tc.plane_y)) + tc.plane_x,
                           rect.width(), rect.height(), ptrdiff_t{to.width}};
      if constexpr (std::is_same_v<T, float>) {
        ref::dwt97_vertical(plane, rect.y0 & 1, 0, rect.width(), scratch.data());
        ref::dwt97_horizontal(plane, rect.x0 & 1, 0, rect.height(), scratch.data());
      } else {
        ref::dwt53_vertical(plane, rect.y0 & 1, 0, rect.width(), scratch.data());
        ref::dwt53_horizontal(plane, rect.x0 & 1, 0, rect.height(), scratch.data());
      }
    }
  }
  for (const Subband &band : plan.subbands) {
    const TileComponent &tc =
        plan.tile_components[plan.resolutions[band.resolution].tile_component];
    const int plane = band.level & 1;
    for (int32_t y = 0; y < band.rect.height(); ++y) {
      std::memcpy(out + cuda::tile_component_offset(plan, layout, tc, plane) +
                      static_cast<size_t>(band.plane_y - tc.plane_y + y) *
                          layout.components[band.component].stride[plane] +
                      (band.plane_x - tc.plane_x),
                  row(band.component, band.plane_y + y) + band.plane_x,
                  static_cast<size_t>(std::max(band.rect.width(), 0)) * sizeof(T));
    }
  }
}

template <typename T>
void check_whole(Gpu &gpu, const cj2k_params &params) {
  const Plan plan = checked_plan(params);
  REQUIRE(plan.reversible == std::is_same_v<T, int32_t>);
  const cuda::FrameLayout layout = cuda::make_frame_layout(plan);
  constexpr uint32_t kFrames = 2;
  const size_t total = static_cast<size_t>(layout.frame_samples) * kFrames;
  std::vector<cuda::FrameViews> device_views(kFrames), views(kFrames);
  std::vector<std::vector<uint16_t>> pictures;
  std::vector<simt::DeviceBuffer> memory;
  pictures.reserve(kFrames * plan.components.size());
  for (uint32_t f = 0; f < kFrames; ++f) {
    for (size_t c = 0; c < plan.components.size(); ++c) {
      const Rect &rect = plan.components[c].rect;
      pictures.push_back(random_values<uint16_t>(
          static_cast<size_t>(rect.width()) * static_cast<size_t>(rect.height()), f * 8 + c));
      memory.push_back(gpu.upload(pictures.back()));
      views[f][c] = {pictures.back().data(), rect.width() * ptrdiff_t{2}, 2, 2, 0};
      device_views[f][c] = views[f][c];
      device_views[f][c].data = memory.back().template as<void>();
    }
  }
  const simt::DeviceBuffer samples = gpu.upload(std::vector<uint32_t>(total, kPoison));
  const cuda::Samples all{samples.as<void>(), layout.frame_samples, kFrames};
  for (int level = 0; level <= plan.params.levels; ++level) {
    const cuda::DwtLevel l =
        level > 0 ? cuda::make_dwt_level(plan, layout, level) : cuda::DwtLevel{};
    const simt::DeviceBuffer jobs = gpu.upload(l.jobs), parts = gpu.upload(l.parts);
    const cuda::DwtLists lists{jobs.as<cuda::DwtJob>(), parts.as<cuda::DwtPart>(),
                               static_cast<uint32_t>(l.parts.size()), l.num_colour_parts};
    if (level > 1) {
      REQUIRE((plan.reversible ? cuda::dwt53 : cuda::dwt97)(gpu.stream, lists, all) == Status::kOk);
    }
    for (uint32_t f = 0; f < kFrames; ++f) {
      void *const frame = samples.as<uint32_t>() + f * layout.frame_samples;
      if (level == 0 && plan.params.levels == 0) {
        REQUIRE(cuda::ingest(gpu.stream, cuda::make_pixel_format(plan), layout, device_views[f],
                             frame) == Status::kOk);
      } else if (level == 1) {
        REQUIRE(cuda::dwt_first_level(gpu.stream, cuda::make_pixel_format(plan), lists,
                                      device_views[f], frame) == Status::kOk);
      }
    }
    REQUIRE(gpu.stream.synchronize() == Status::kOk);  // the lists are freed next
  }
  std::vector<uint32_t> actual = gpu.download<uint32_t>(samples, total);
  for (uint32_t f = 0; f < kFrames; ++f) {
    std::vector<uint32_t> expected(
        actual.begin() + static_cast<ptrdiff_t>(f * layout.frame_samples),
        actual.begin() + static_cast<ptrdiff_t>((f + 1) * layout.frame_samples));
    const std::vector<uint32_t> before = expected;
    expect_coefficients<T>(plan, layout, views[f], expected.data());
    REQUIRE(first_difference(before, expected) == -1);
  }
  uint64_t frame_words = 0;
  const std::vector<cuda::QuantizeJob> jobs = cuda::make_quantize_jobs(plan, layout, &frame_words);
  check_planes(gpu, plan.reversible, jobs, frame_words, samples, actual, kFrames);
}

cj2k_params small_params(int32_t width, int32_t height, const char *const *pairs) {
  cj2k_params params;
  set_default_params(&params);
  params.width = width;
  params.height = height;
  LogLines lines;
  for (; pairs[0] != nullptr; pairs += 2) {
    INFO(std::string(pairs[0]), "=", std::string(pairs[1]));
    REQUIRE(set_param(&params, pairs[0], pairs[1], lines.log()) == Status::kOk);
  }
  return params;
}

TEST_CASE("pixel kernels: whole frames") {
  for_each_seed("ingest, all levels, quantisation", [](Gpu &gpu, uint64_t) {
    const auto run = [&](int32_t width, int32_t height, std::vector<const char *> pairs) {
      pairs.push_back(nullptr);
      INFO(width, "x", height);
      const cj2k_params params = small_params(width, height, pairs.data());
      if (params.lossless != 0) {
        check_whole<int32_t>(gpu, params);
      } else {
        check_whole<float>(gpu, params);
      }
    };
    run(141, 97, {"lossless", "1", "levels", "5"});
    run(141, 97, {"quality", "2", "levels", "5"});
    run(75, 130, {"lossless", "1", "levels", "3", "tile", "33x57", "image_offset", "4x2"});
    run(75, 130, {"lossless", "1", "levels", "3", "tile", "33x57", "image_offset", "3x5"});
    run(75, 130, {"quality", "1", "levels", "4", "tile", "33x57", "image_offset", "7x1"});
    run(66, 50, {"lossless", "1", "levels", "2", "mct", "off", "dx", "1,2,2", "dy", "1,2,2"});
    run(5, 3, {"lossless", "1", "levels", "6"});
    run(1, 40, {"quality", "2", "levels", "2"});
    run(40, 17, {"lossless", "1", "levels", "0"});
    run(270, 140, {"quality", "0.25", "levels", "1", "cblk", "64x64"});
    run(40, 17, {"quality", "2", "levels", "0", "tile", "24x9", "image_offset", "5x2"});
  });
}

}  // namespace
