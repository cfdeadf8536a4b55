// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Ingest and colour on the device, and the first level of the transform straight from the words of
// the frame, against pixels/ingest.h, pixels/colour.h and pixels/dwt.h.
#include "cuda/pixel_jobs.h"
#include "device/kernel_check.h"
#include "pixels/colour.h"
#include "pixels/dwt.h"
#include "pixels/ingest.h"
#include "pixels/xyz.h"

using namespace cj2k;
using namespace cj2k::simt::test;

namespace {

struct Layout {
  int32_t word_bytes, step_bytes, shift, depth;
  bool is_signed;
  int32_t misalignment;  ///< of the lowest word
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
    {4, 4, 0, 10, false, 1, false, 3},
};

/// The bytes of one component, exactly those that its words span.
struct Source {
  std::vector<uint8_t> bytes;
  int64_t first = 0;  ///< offset of sample (0, 0)
  cj2k_component_view view{};

  Source(const Layout &layout, int32_t width, int32_t height, uint64_t seed) {
    const int64_t across = int64_t{layout.step_bytes} * (width - 1);
    int64_t stride =
        std::abs(int64_t{layout.step_bytes}) * (width - 1) + layout.word_bytes + layout.row_gap;
    if (layout.bottom_up) stride = -stride;
    const int64_t down = stride * (height - 1);
    first = layout.misalignment - std::min<int64_t>(across, 0) - std::min<int64_t>(down, 0);
    bytes = random_values<uint8_t>(static_cast<size_t>(layout.misalignment + std::abs(across) +
                                                       std::abs(down) + layout.word_bytes),
                                   seed);
    if (seed % 3 == 1) std::fill(bytes.begin(), bytes.end(), seed % 2 != 0 ? 0xFF : 0x00);
    view = {nullptr, static_cast<ptrdiff_t>(stride), layout.step_bytes, layout.word_bytes,
            layout.shift};
  }
};

/// The components' samples from the reference, row by row.
std::vector<std::vector<int32_t>> expect_samples(const Plan &plan,
                                                 const std::vector<const Source *> &sources) {
  std::vector<std::vector<int32_t>> planes;
  const auto row = [&](size_t c, int32_t y) {
    return planes[c].data() +
           static_cast<size_t>(plan.components[c].rect.width()) * static_cast<size_t>(y);
  };
  for (size_t c = 0; c < plan.components.size(); ++c) {
    const Component &component = plan.components[c];
    const int32_t width = component.rect.width(), height = component.rect.height();
    const Source &s = *sources[c];
    planes.emplace_back(static_cast<size_t>(width) * static_cast<size_t>(height));
    for (int32_t y = 0; y < height; ++y) {
      ref::ingest_row({s.bytes.data() + s.first + y * s.view.stride_bytes, s.view.step_bytes,
                       s.view.word_bytes, s.view.shift, component.depth, component.is_signed},
                      row(c, y), width);
      if (plan.use_mct && c < 3) {
        if (c == 2) {
          (plan.reversible ? ref::rct_row : ref::ict_row)(row(0, y), row(1, y), row(2, y), width);
        }
      } else if (!plan.reversible) {
        ref::to_float_row(row(c, y), width);
      }
    }
  }
  return planes;
}

/// Uploads one frame and returns its views in device memory.
cuda::FrameViews upload_views(Gpu &gpu, const std::vector<const Source *> &sources,
                              std::vector<simt::DeviceBuffer> *memory) {
  cuda::FrameViews views{};
  for (size_t c = 0; c < sources.size(); ++c) {
    memory->push_back(gpu.upload(sources[c]->bytes));
    views[c] = sources[c]->view;
    views[c].data = memory->back().as<uint8_t>() + sources[c]->first;
  }
  return views;
}

/// A plan with only what ingest reads.
Plan small_plan(bool reversible, bool use_mct) {
  Plan plan{};
  plan.reversible = reversible;
  plan.use_mct = use_mct;
  return plan;
}

void add_component(Plan &plan, const Layout &layout, int32_t width, int32_t height) {
  const auto index = static_cast<int32_t>(plan.components.size());
  plan.components.push_back(
      {index, layout.depth, layout.is_signed, 1, 1, Rect{0, 0, width, height}});
}

std::vector<const Source *> pointers_to(const std::vector<Source> &sources) {
  std::vector<const Source *> pointers;
  for (const Source &s : sources) pointers.push_back(&s);
  return pointers;
}

/// Compares every sample of the memory.
void check_ingest(Gpu &gpu, const Plan &plan, const std::vector<Source> &sources) {
  const cuda::FrameLayout layout = cuda::make_frame_layout(plan);
  std::vector<uint32_t> expected(static_cast<size_t>(layout.frame_samples), kPoison);
  const auto planes = expect_samples(plan, pointers_to(sources));
  for (size_t c = 0; c < planes.size(); ++c) {
    const cuda::FrameLayout::Component &to = layout.components[c];
    const auto width = static_cast<size_t>(to.width);
    for (size_t y = 0; y < static_cast<size_t>(to.height); ++y) {
      std::memcpy(expected.data() + to.plane[0] + to.stride[0] * y, planes[c].data() + width * y,
                  width * sizeof(int32_t));
    }
  }
  std::vector<simt::DeviceBuffer> memory;
  const cuda::FrameViews views = upload_views(gpu, pointers_to(sources), &memory);
  const simt::DeviceBuffer samples = gpu.upload(std::vector<uint32_t>(expected.size(), kPoison));
  REQUIRE(cuda::ingest(gpu.stream, cuda::make_pixel_format(plan), layout, views,
                       samples.as<void>()) == Status::kOk);
  REQUIRE(first_difference(gpu.download<uint32_t>(samples, expected.size()), expected) == -1);
}

TEST_CASE("ingest kernel: every layout, without colour transform") {
  for_each_seed("ingest", [](Gpu &gpu, uint64_t seed) {
    for (size_t l = 0; l < std::size(kLayouts); ++l) {
      for (const int32_t width : {1, 2, 3, 4, 5, 31, 64, 517}) {
        const int32_t height = width == 517 ? 2 : 1 + static_cast<int32_t>((l + seed) % 4);
        for (const bool reversible : {true, false}) {
          INFO("layout ", l, " ", width, "x", height);
          // Two components of different size.
          Plan plan = small_plan(reversible, false);
          const Layout &other = kLayouts[(l + 7) % std::size(kLayouts)];
          add_component(plan, kLayouts[l], width, height);
          add_component(plan, other, (width + 1) / 2, height + 1);
          check_ingest(gpu, plan,
                       {Source(kLayouts[l], width, height, 2 * l),
                        Source(other, (width + 1) / 2, height + 1, 100 + l)});
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
          const Layout &other = kLayouts[(l + 5) % std::size(kLayouts)];
          Plan plan = small_plan(reversible, true);
          for (int c = 0; c < 3; ++c) add_component(plan, kLayouts[l], width, 2);
          add_component(plan, other, 7, 3);
          std::vector<Source> sources;
          for (uint64_t c = 0; c < 3; ++c)
            sources.emplace_back(kLayouts[l], width, 2, seed + l + c);
          sources.emplace_back(other, 7, 3, 5 + l);
          check_ingest(gpu, plan, sources);
        }
      }
    }
  });
}

// ---- Rounding ----

TEST_CASE("rounding kernel: every layout") {
  for_each_seed("rounding", [](Gpu &gpu, uint64_t seed) {
    for (size_t l = 0; l < std::size(kLayouts); ++l) {
      const Layout &layout = kLayouts[l];
      for (const int32_t width : {1, 3, 4, 5, 63, 517}) {
        const int32_t height = 1 + static_cast<int32_t>((l + seed) % 3);
        INFO("layout ", l, " ", width, "x", height);
        Plan plan = small_plan(true, false);
        plan.params.low_bits = CJ2K_LOW_BITS_ROUND;
        const Layout &other = kLayouts[(l + 3) % std::size(kLayouts)];
        add_component(plan, layout, width, height);
        add_component(plan, other, (width + 1) / 2, height);
        // The first component loses bits, the second has none to lose.
        Component &rounded = plan.components[0];
        rounded.low_bits = std::min(layout.depth - 1, 1 + static_cast<int32_t>((l + seed) % 7));
        rounded.depth -= rounded.low_bits;
        const std::vector<Source> sources = {Source(layout, width, height, 2 * l + seed % 2),
                                             Source(other, (width + 1) / 2, height, 100 + l)};
        std::vector<simt::DeviceBuffer> memory;
        const cuda::FrameViews views = upload_views(gpu, pointers_to(sources), &memory);
        const cuda::CodedWords words = cuda::make_coded_words(plan);
        if (words.bytes == 0) continue;  // depth 1
        const simt::DeviceBuffer out =
            gpu.upload(std::vector<uint8_t>(static_cast<size_t>(words.bytes), 0xA5));
        REQUIRE(cuda::round_words(gpu.stream, cuda::make_stored_format(plan),
                                  cuda::make_pixel_format(plan), words, views,
                                  out.as<uint8_t>()) == Status::kOk);
        const auto bytes = gpu.download<uint8_t>(out, static_cast<size_t>(words.bytes));
        for (size_t c = 0; c < 2; ++c) {
          const Component &component = plan.components[c];
          const cuda::CodedWords::Component &to = words.components[c];
          const Source &s = sources[c];
          std::vector<int32_t> expected(static_cast<size_t>(to.width)), actual(expected.size());
          for (int32_t y = 0; y < height; ++y) {
            ref::ingest_row(component_row(plan, component, s.view,
                                          s.bytes.data() + s.first + y * s.view.stride_bytes),
                            expected.data(), to.width);
            ref::ingest_row({bytes.data() + to.offset + to.row_bytes * static_cast<size_t>(y), 2, 2,
                             0, component.depth, component.is_signed},
                            actual.data(), to.width);
            REQUIRE(actual == expected);
          }
        }
      }
    }
  });
}

// ---- X'Y'Z' ----

TEST_CASE("X'Y'Z' kernel: every layout") {
  for_each_seed("xyz", [](Gpu &gpu, uint64_t seed) {
    for (size_t l = 0; l < std::size(kLayouts); ++l) {
      Layout layout = kLayouts[l];
      if (layout.is_signed || layout.depth < 8 ||
          layout.shift + layout.depth > 8 * layout.word_bytes)
        continue;
      const XyzTables tables =
          make_xyz_tables(static_cast<cj2k_xyz>(1 + (l + seed) % 4), 2.4, layout.depth);
      const simt::DeviceBuffer linear = gpu.upload(tables.linear), codes = gpu.upload(tables.codes);
      for (const int32_t width : {1, 3, 4, 63, 517}) {
        const int32_t height = 1 + static_cast<int32_t>((l + seed) % 3);
        INFO("layout ", l, " ", width, "x", height);
        Plan plan = small_plan(true, true);
        plan.params.xyz = CJ2K_XYZ_REC709;
        std::vector<Source> sources;
        for (uint64_t c = 0; c < 3; ++c) {
          add_component(plan, layout, width, height);
          plan.components.back().depth = 12;
          plan.components.back().low_bits = layout.depth - 12;
          sources.emplace_back(layout, width, height, 3 * (seed + l) + c);
        }
        std::vector<simt::DeviceBuffer> memory;
        const cuda::FrameViews views = upload_views(gpu, pointers_to(sources), &memory);
        const cuda::CodedWords words = cuda::make_coded_words(plan);
        const simt::DeviceBuffer out =
            gpu.upload(std::vector<uint8_t>(static_cast<size_t>(words.bytes), 0xA5));
        REQUIRE(cuda::xyz_words(gpu.stream, cuda::make_stored_format(plan),
                                {linear.as<float>(), codes.as<uint32_t>(), tables.matrix.m}, words,
                                views, out.as<uint8_t>()) == Status::kOk);
        const auto bytes = gpu.download<uint8_t>(out, static_cast<size_t>(words.bytes));
        const auto columns = static_cast<size_t>(width);
        for (int32_t y = 0; y < height; ++y) {
          std::vector<int32_t> expected[3], actual(columns);
          for (size_t c = 0; c < 3; ++c) {
            expected[c].resize(columns);
            const Source &s = sources[c];
            ref::ingest_row(component_row(plan, plan.components[c], s.view,
                                          s.bytes.data() + s.first + y * s.view.stride_bytes),
                            expected[c].data(), width);
          }
          ref::xyz_row(tables, expected[0].data(), expected[1].data(), expected[2].data(), width);
          for (size_t c = 0; c < 3; ++c) {
            const cuda::CodedWords::Component &to = words.components[c];
            ref::ingest_row({bytes.data() + to.offset + to.row_bytes * static_cast<size_t>(y), 2, 2,
                             0, 12, false},
                            actual.data(), width);
            REQUIRE(actual == expected[c]);
          }
        }
      }
    }
  });
}

// ---- The first level of the transform ----

template <typename T>
void expect_level(const Plan &plan, const cuda::FrameLayout &layout,
                  std::vector<std::vector<int32_t>> planes, uint32_t *out) {
  for (const TileComponent &tc : plan.tile_components) {
    if (tc.rect.empty()) continue;
    const int32_t width = tc.rect.width(), height = tc.rect.height();
    const cuda::FrameLayout::Component &component = layout.components[tc.component];
    const Plane<T> plane{reinterpret_cast<T *>(planes[tc.component].data()) +
                             int64_t{tc.plane_y} * component.width + tc.plane_x,
                         width, height, ptrdiff_t{component.width}};
    std::vector<T> scratch(dwt_scratch_samples(width, height));
    if constexpr (std::is_same_v<T, float>) {
      ref::dwt97_vertical(plane, tc.rect.y0 & 1, 0, width, scratch.data());
      ref::dwt97_horizontal(plane, tc.rect.x0 & 1, 0, height, scratch.data());
    } else {
      ref::dwt53_vertical(plane, tc.rect.y0 & 1, 0, width, scratch.data());
      ref::dwt53_horizontal(plane, tc.rect.x0 & 1, 0, height, scratch.data());
    }
    for (int32_t y = 0; y < height; ++y) {
      std::memcpy(out + component.plane[1] +
                      component.stride[1] * static_cast<size_t>(tc.plane_y + y) + tc.plane_x,
                  plane.row(y), static_cast<size_t>(width) * sizeof(T));
    }
  }
}

/// Compares every sample of the memory: plane 0 must stay untouched.
void check_level(Gpu &gpu, const Plan &plan, const std::vector<const Source *> &sources,
                 const cuda::FrameViews &views) {
  const cuda::FrameLayout layout = cuda::make_frame_layout(plan);
  std::vector<uint32_t> expected(static_cast<size_t>(layout.frame_samples), kPoison);
  if (plan.reversible) {
    expect_level<int32_t>(plan, layout, expect_samples(plan, sources), expected.data());
  } else {
    expect_level<float>(plan, layout, expect_samples(plan, sources), expected.data());
  }
  const cuda::DwtLevel level = cuda::make_dwt_level(plan, layout, 1);
  REQUIRE((level.num_colour_parts > 0) == plan.use_mct);
  const simt::DeviceBuffer samples = gpu.upload(std::vector<uint32_t>(expected.size(), kPoison));
  const simt::DeviceBuffer jobs = gpu.upload(level.jobs), parts = gpu.upload(level.parts);
  REQUIRE(cuda::dwt_first_level(gpu.stream, cuda::make_pixel_format(plan),
                                {jobs.as<cuda::DwtJob>(), parts.as<cuda::DwtPart>(),
                                 static_cast<uint32_t>(level.parts.size()), level.num_colour_parts},
                                views, samples.as<void>()) == Status::kOk);
  REQUIRE(first_difference(gpu.download<uint32_t>(samples, expected.size()), expected) == -1);
}

struct Shape {
  int32_t width, height;
  const char *tile;  ///< nullptr: one tile
};
constexpr Shape kShapes[] = {
    {1, 1, nullptr},    {1, 9, nullptr},    {9, 1, nullptr},   {2, 2, nullptr},   {3, 5, nullptr},
    {8, 4, nullptr},    {17, 130, nullptr}, {115, 3, nullptr}, {120, 6, nullptr}, {121, 2, nullptr},
    {124, 8, nullptr},  {241, 7, nullptr},  {260, 1, nullptr}, {64, 67, nullptr}, {37, 23, "16x8"},
    {140, 12, "129x5"}, {30, 30, "7x30"},
};

/// A plan of this shape. The coordinates of the first sample have the given parities.
Plan shaped_plan(const Shape &shape, bool reversible, int num_components, bool use_mct,
                 int parity_x, int parity_y) {
  cj2k_params params;
  set_default_params(&params);
  params.width = shape.width;
  params.height = shape.height;
  params.num_components = num_components;
  LogLines lines;
  const auto put = [&](const char *key, const std::string &value) {
    INFO(std::string(key), "=", value);
    REQUIRE(set_param(&params, key, value.c_str(), lines.log()) == Status::kOk);
  };
  put(reversible ? "lossless" : "quality", "1");
  put("levels", "2");
  put("mct", use_mct ? "on" : "off");
  put("image_offset", std::to_string(parity_x) + "x" + std::to_string(2 + parity_y));
  if (shape.tile != nullptr) put("tile", shape.tile);
  // Without a colour transform the second component has half the width and height.
  if (!use_mct && shape.tile == nullptr && shape.width > 3 && shape.height > 3) {
    put("dx", "1,2");
    put("dy", "1,2");
  }
  Plan plan = checked_plan(params);
  REQUIRE(plan.reversible == reversible);
  REQUIRE(plan.use_mct == use_mct);
  return plan;
}

/// Runs all layouts. With a colour transform the three components alternate between one common
/// layout and three different ones, and a fourth component has another layout.
void check_layouts(const char *what, bool reversible, bool use_mct) {
  for_each_seed(what, [&](Gpu &gpu, uint64_t seed) {
    const size_t num_layouts = std::size(kLayouts);
    size_t turn = static_cast<size_t>(seed % 1000);
    for (size_t l = 0; l < num_layouts; ++l) {
      for (int parities = 0; parities < 4; ++parities) {
        for (int again = 0; again < 2; ++again, ++turn) {
          const Shape &shape = kShapes[turn * 7 % std::size(kShapes)];
          const int num_components = !use_mct ? 2 : parities == 0 ? 4 : 3;
          INFO("layout ", l, ", ", shape.width, "x", shape.height, ", parities ", parities);
          Plan plan =
              shaped_plan(shape, reversible, num_components, use_mct, parities & 1, parities >> 1);
          std::vector<Source> sources;
          for (size_t c = 0; c < plan.components.size(); ++c) {
            const bool is_other = c == 3 || again == 1;
            const Layout &layout = kLayouts[(l + (is_other ? 5 * c : 0)) % num_layouts];
            Component &component = plan.components[c];
            component.depth = layout.depth;
            component.is_signed = layout.is_signed;
            sources.emplace_back(layout, component.rect.width(), component.rect.height(),
                                 seed + 5 * l + turn + c);
          }
          std::vector<simt::DeviceBuffer> memory;
          const std::vector<const Source *> pointers = pointers_to(sources);
          check_level(gpu, plan, pointers, upload_views(gpu, pointers, &memory));
        }
      }
    }
  });
}

TEST_CASE("dwt kernel 5/3 from words: every layout, size and parity") {
  check_layouts("dwt 5/3 from words", true, false);
}
TEST_CASE("dwt kernel 9/7 from words: every layout, size and parity") {
  check_layouts("dwt 9/7 from words", false, false);
}
TEST_CASE("dwt kernel 5/3 from words: RCT") { check_layouts("dwt 5/3 after RCT", true, true); }
TEST_CASE("dwt kernel 9/7 from words: ICT") { check_layouts("dwt 9/7 after ICT", false, true); }

TEST_CASE("dwt kernels from words: packed pixels") {
  for_each_seed("dwt of packed pixels", [](Gpu &gpu, uint64_t seed) {
    // The turns cover RGB and BGR; rows without a gap, with a gap, and with a gap at an odd
    // address; both transforms.
    for (const int32_t word : {1, 2, 4}) {
      for (int turn = 0; turn < 12; ++turn) {
        const bool is_bgr = (turn & 1) != 0, reversible = turn % 4 < 2;
        for (const Shape &shape : kShapes) {
          const int parity_x = static_cast<int>((shape.height + turn / 4 + seed) % 2);
          Plan plan = shaped_plan(shape, reversible, 3, true, parity_x, turn & 1);
          const int32_t depth = std::min(8 * word, 16);
          for (Component &c : plan.components) c.depth = depth;
          const int32_t width = shape.width, height = shape.height;
          // Either no gap between rows, or a gap that aligns every row, so that four pixels can be
          // read in three accesses.
          const int32_t gap = turn < 4 ? 0 : (4 - width % 4) % 4 * 3 * word;
          const int32_t odd = turn < 8 ? 0 : 1;
          const Source pixels({word, word, 0, depth, false, odd, false, gap}, 3 * width, height,
                              seed * 3 + 2);
          const simt::DeviceBuffer memory = gpu.upload(pixels.bytes);
          std::vector<Source> parts(3, pixels);
          cuda::FrameViews views{};
          for (int64_t c = 0; c < 3; ++c) {
            Source &part = parts[static_cast<size_t>(c)];
            part.first += (is_bgr ? 2 - c : c) * word;
            part.view.step_bytes = 3 * word;
            cj2k_component_view &view = views[static_cast<size_t>(c)];
            view = part.view;
            view.data = memory.as<uint8_t>() + part.first;
          }
          INFO(width, "x", height, ", words of ", word, " bytes, turn ", turn);
          check_level(gpu, plan, pointers_to(parts), views);
        }
      }
    }
  });
}

TEST_CASE("dwt kernels from words: packed pixels of four words") {
  for_each_seed("dwt of pixels of four words", [](Gpu &gpu, uint64_t seed) {
    // The turns cover RGBA, ARGB, BGRA and ABGR, rows at multiples of 16 bytes and others, and both
    // transforms. The bytes end with the last word that a component has.
    constexpr int kPlaces[4][3] = {{0, 1, 2}, {1, 2, 3}, {2, 1, 0}, {3, 2, 1}};
    for (const int32_t word : {1, 2, 4}) {
      for (int turn = 0; turn < 16; ++turn) {
        const int *places = kPlaces[turn % 4];
        const bool reversible = turn % 8 < 4;
        for (const Shape &shape : kShapes) {
          const int parity_x = static_cast<int>((shape.height + turn / 4 + seed) % 2);
          Plan plan = shaped_plan(shape, reversible, 3, true, parity_x, turn & 1);
          const int32_t shift = turn % 3, depth = std::min(8 * word, 16) - shift;
          const bool is_signed = turn % 5 < 2;
          for (Component &c : plan.components) c.depth = depth, c.is_signed = is_signed;
          const int32_t width = shape.width, height = shape.height;
          const int32_t odd = turn < 12 ? 0 : word;
          const int32_t gap = turn % 3 == 0 ? (4 - width % 4) % 4 * 4 * word : 0;
          const Source pixels({word, word, shift, depth, is_signed, odd, false, gap}, 4 * width,
                              height, seed * 5 + 1);
          std::vector<uint8_t> bytes = pixels.bytes;
          const int last = std::max(places[0], places[2]);
          bytes.erase(bytes.end() - (3 - last) * word, bytes.end());
          const simt::DeviceBuffer memory = gpu.upload(bytes);
          std::vector<Source> parts(3, pixels);
          cuda::FrameViews views{};
          for (size_t c = 0; c < 3; ++c) {
            Source &part = parts[c];
            part.first += places[c] * word;
            part.view.step_bytes = 4 * word;
            views[c] = part.view;
            views[c].data = memory.as<uint8_t>() + part.first;
          }
          INFO(width, "x", height, ", words of ", word, " bytes, turn ", turn);
          check_level(gpu, plan, pointers_to(parts), views);
        }
      }
    }
  });
}

}  // namespace
