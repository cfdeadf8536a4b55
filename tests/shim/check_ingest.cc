// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Ingest and colour on the device against stages/ingest.h and stages/colour.h.
#include "shim/kernel_check.h"
#include "stages/colour.h"
#include "stages/ingest.h"

using namespace cj2k;
using namespace cj2k::simt::test;

namespace {

struct Layout {
  int32_t word_bytes, step_bytes, shift, depth;
  bool is_signed;
  int32_t misalignment; ///< of the lowest word
  bool bottom_up;
  int32_t row_gap;
};

constexpr Layout kLayouts[] = {
    {1, 1, 0, 8, false, 0, false, 0},  {1, 1, 0, 8, true, 1, false, 3},
    {1, 1, 3, 5, false, 0, true, 4},   {1, 3, 0, 8, false, 2, false, 1},
    {1, 4, 0, 7, true, 3, true, 0},    {1, -1, 0, 8, false, 0, false, 5},
    {2, 2, 0, 10, false, 0, false, 0}, {2, 2, 6, 10, false, 0, false, 8},
    {2, 2, 0, 16, true, 0, true, 16},  {2, 2, 0, 12, false, 1, false, 0},
    {2, 2, 4, 12, true, 2, false, 7},  {2, 6, 0, 16, false, 0, false, 2},
    {2, 8, 4, 12, false, 3, true, 1},  {2, -2, 0, 9, false, 0, false, 0},
    {2, 3, 0, 16, false, 0, false, 0}, {2, 2, 10, 12, true, 0, false, 0},
    {4, 4, 0, 16, false, 0, false, 0}, {4, 4, 20, 10, false, 0, true, 12},
    {4, 4, 16, 16, true, 3, false, 1}, {4, 16, 10, 10, false, 4, false, 0},
    {4, 5, 0, 1, false, 0, false, 0},  {4, -4, 31, 1, true, 0, false, 0},
    {1, 1, 0, 1, true, 0, false, 0},   {2, 0, 0, 16, false, 0, false, 0},
};

/// The bytes of one component, no more than its words span.
struct Source {
  std::vector<uint8_t> bytes;
  int64_t first = 0; ///< of sample (0, 0)
  cj2k_component_view view{};

  Source(const Layout &layout, int32_t width, int32_t height, uint64_t seed) {
    const int64_t across = int64_t{layout.step_bytes} * (width - 1);
    int64_t stride = std::abs(int64_t{layout.step_bytes}) * (width - 1) +
                     layout.word_bytes + layout.row_gap;
    if (layout.bottom_up)
      stride = -stride;
    const int64_t down = stride * (height - 1);
    first = layout.misalignment - std::min<int64_t>(across, 0) -
            std::min<int64_t>(down, 0);
    bytes = random_values<uint8_t>(
        static_cast<size_t>(layout.misalignment + std::abs(across) +
                            std::abs(down) + layout.word_bytes),
        seed);
    if (seed % 3 == 1)
      std::fill(bytes.begin(), bytes.end(), seed % 2 != 0 ? 0xFF : 0x00);
    view = {nullptr, static_cast<ptrdiff_t>(stride), layout.step_bytes,
            layout.word_bytes, layout.shift};
  }
};

/// The picture by the reference, in all of the samples' memory.
void expect_frame(const Plan &plan, const cuda::FrameLayout &layout,
                  const std::vector<const Source *> &sources, uint32_t *out) {
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const cuda::FrameLayout::Component &to = layout.components[c];
    for (int32_t y = 0; y < to.height; ++y) {
      const Source &s = *sources[c];
      uint32_t *row =
          out + to.plane[0] + size_t{to.stride} * static_cast<size_t>(y);
      std::fill(row, row + (to.width + 3) / 4 * 4, 0u);
      ref::ingest_row({s.bytes.data() + s.first + y * s.view.stride_bytes,
                       s.view.step_bytes, s.view.word_bytes, s.view.shift,
                       plan.components[c].depth, plan.components[c].is_signed},
                      reinterpret_cast<int32_t *>(row), to.width);
    }
  }
  const auto row = [&](size_t c, int32_t y) {
    const cuda::FrameLayout::Component &to = layout.components[c];
    return reinterpret_cast<int32_t *>(
        out + to.plane[0] + size_t{to.stride} * static_cast<size_t>(y));
  };
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const cuda::FrameLayout::Component &to = layout.components[c];
    for (int32_t y = 0; y < to.height; ++y) {
      if (plan.use_mct && c < 3) {
        if (c > 0)
          continue;
        (plan.reversible ? ref::rct_row : ref::ict_row)(row(0, y), row(1, y),
                                                        row(2, y), to.width);
      } else if (!plan.reversible) {
        ref::to_float_row(row(c, y), to.width);
      }
    }
  }
}

/// What ingest looks at.
Plan small_plan(bool reversible, bool use_mct) {
  Plan plan{};
  plan.reversible = reversible;
  plan.use_mct = use_mct;
  return plan;
}

void add_component(Plan &plan, const Layout &layout, int32_t width,
                   int32_t height) {
  const auto index = static_cast<int32_t>(plan.components.size());
  plan.components.push_back(
      {index, layout.depth, layout.is_signed, 1, 1, Rect{0, 0, width, height}});
}

/// @param sources  [frame][component]
void check_frames(Gpu &gpu, const Plan &plan,
                  const std::vector<std::vector<Source>> &sources) {
  const cuda::FrameLayout layout = cuda::make_frame_layout(plan);
  const size_t total =
      static_cast<size_t>(layout.frame_samples) * sources.size();
  std::vector<uint32_t> expected(total, kPoison);
  std::vector<simt::DeviceBuffer> memory;
  std::vector<cuda::FrameViews> frames;
  for (size_t f = 0; f < sources.size(); ++f) {
    std::vector<const Source *> pointers;
    cuda::FrameViews views{};
    for (size_t c = 0; c < sources[f].size(); ++c) {
      const Source &s = sources[f][c];
      memory.push_back(gpu.upload(s.bytes));
      views[c] = s.view;
      views[c].data = memory.back().as<uint8_t>() + s.first;
      pointers.push_back(&s);
    }
    frames.push_back(views);
    expect_frame(plan, layout, pointers,
                 expected.data() + f * layout.frame_samples);
  }
  const simt::DeviceBuffer samples =
      gpu.upload(std::vector<uint32_t>(total, kPoison));
  REQUIRE(cuda::ingest(gpu.stream, plan, layout, frames,
                       {samples.as<void>(), layout.frame_samples,
                        static_cast<uint32_t>(frames.size())}) == Status::kOk);
  const std::vector<uint32_t> actual = gpu.download<uint32_t>(samples, total);
  REQUIRE(first_difference(actual, expected) == -1);
}

TEST_CASE("ingest kernel: every layout, without colour transform") {
  for_each_seed("ingest", [](Gpu &gpu, uint64_t seed) {
    for (size_t l = 0; l < std::size(kLayouts); ++l) {
      for (const int32_t width : {1, 2, 3, 4, 5, 31, 64, 517}) {
        const int32_t height =
            width == 517 ? 2 : 1 + static_cast<int32_t>((l + seed) % 4);
        for (const bool reversible : {true, false}) {
          INFO("layout ", l, " ", width, "x", height);
          // Two components of different size in two frames.
          Plan plan = small_plan(reversible, false);
          const Layout &other = kLayouts[(l + 7) % std::size(kLayouts)];
          add_component(plan, kLayouts[l], width, height);
          add_component(plan, other, (width + 1) / 2, height + 1);
          std::vector<std::vector<Source>> sources;
          for (uint64_t f = 0; f < 2; ++f) {
            sources.push_back(
                {Source(kLayouts[l], width, height, 2 * l + f),
                 Source(other, (width + 1) / 2, height + 1, 100 + l + f)});
          }
          check_frames(gpu, plan, sources);
        }
      }
    }
  });
}

TEST_CASE("ingest kernel: RCT and ICT, and a fourth component beside them") {
  for_each_seed("colour", [](Gpu &gpu, uint64_t seed) {
    for (size_t l = 0; l < std::size(kLayouts); ++l) {
      for (const int32_t width : {1, 3, 4, 18, 129}) {
        for (const bool reversible : {true, false}) {
          INFO("layout ", l, " width ", width);
          const int32_t height = 2;
          Plan plan = small_plan(reversible, true);
          for (int c = 0; c < 3; ++c)
            add_component(plan, kLayouts[l], width, height);
          add_component(plan, kLayouts[(l + 5) % std::size(kLayouts)], 7, 3);
          std::vector<std::vector<Source>> sources(1);
          for (uint64_t c = 0; c < 3; ++c) {
            sources[0].emplace_back(kLayouts[l], width, height, seed + l + c);
          }
          sources[0].emplace_back(kLayouts[(l + 5) % std::size(kLayouts)], 7, 3,
                                  5 + l);
          check_frames(gpu, plan, sources);
        }
      }
    }
  });
}

TEST_CASE("ingest kernel: packed pixels, more frames than one launch takes") {
  for_each_seed("packed", [](Gpu &gpu, uint64_t seed) {
    constexpr int32_t kWidth = 37, kHeight = 5;
    constexpr size_t kFrames = 35;
    for (const int32_t word : {1, 2}) {
      const int32_t step = 3 * word;
      Plan plan = small_plan(word == 1, true);
      const Layout layout{word, step, 0, 8 * word, false, 0, false, 0};
      for (int c = 0; c < 3; ++c)
        add_component(plan, layout, kWidth, kHeight);
      const cuda::FrameLayout to = cuda::make_frame_layout(plan);
      std::vector<uint32_t> expected(
          static_cast<size_t>(to.frame_samples) * kFrames, kPoison);
      std::vector<simt::DeviceBuffer> memory;
      std::vector<cuda::FrameViews> frames(kFrames);
      for (size_t f = 0; f < kFrames; ++f) {
        Source pixels({word, word, 0, 8 * word, false, 0, false, 0}, 3 * kWidth,
                      kHeight, seed * 3 + 3 * f + 2);
        memory.push_back(gpu.upload(pixels.bytes));
        std::vector<Source> parts(3, pixels);
        std::vector<const Source *> pointers;
        for (size_t c = 0; c < 3; ++c) {
          parts[c].first += static_cast<int64_t>(c) * word;
          parts[c].view.step_bytes = step;
          frames[f][c] = parts[c].view;
          frames[f][c].data = memory.back().as<uint8_t>() + parts[c].first;
          pointers.push_back(&parts[c]);
        }
        expect_frame(plan, to, pointers,
                     expected.data() + f * to.frame_samples);
      }
      const simt::DeviceBuffer samples =
          gpu.upload(std::vector<uint32_t>(expected.size(), kPoison));
      REQUIRE(cuda::ingest(gpu.stream, plan, to, frames,
                           {samples.as<void>(), to.frame_samples, kFrames}) ==
              Status::kOk);
      REQUIRE(first_difference(gpu.download<uint32_t>(samples, expected.size()),
                               expected) == -1);
    }
  });
}

} // namespace
