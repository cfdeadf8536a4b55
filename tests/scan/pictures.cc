// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "scan/pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "support/decoders.h"
#include "support/encode.h"
#include "support/graphics.h"
#include "support/image_io.h"
#include "support/media.h"
#include "support/process.h"

namespace cj2k::test {
namespace {

/// The value of a picture at (x, y) for component c, in [0, 1]; what lies outside is clipped.
using Painter = std::function<double(int32_t x, int32_t y, int32_t c)>;

Picture paint(const cj2k_params& p, const Painter& value) {
  Picture picture = picture_shape(p);
  for (size_t c = 0; c < picture.components.size(); ++c) {
    ComponentPlane& plane = picture.components[c];
    for (int32_t y = 0; y < plane.height; ++y) {
      for (int32_t x = 0; x < plane.width; ++x) {
        const double v = std::clamp(value(x, y, static_cast<int32_t>(c)), 0.0, 1.0);
        plane.samples[static_cast<size_t>(y) * static_cast<size_t>(plane.width) +
                      static_cast<size_t>(x)] = static_cast<int32_t>(v * plane.max_value() + 0.5);
      }
    }
  }
  return picture;
}

/// Uniform in [0, 1), by place, so that a picture does not depend on the order of its samples.
double noise_at(uint64_t seed, int32_t x, int32_t y, int32_t c) {
  Random random(seed * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(y) * 0x100000001B3u +
                static_cast<uint64_t>(x) * 0x1000193u + static_cast<uint64_t>(c) * 0x7FEB352Du);
  return static_cast<double>(random.next() >> 11) / 9007199254740992.0;
}

/// About Gaussian, with mean 0 and deviation 1.
double grain_at(uint64_t seed, int32_t x, int32_t y, int32_t c) {
  double sum = -2;
  for (uint64_t i = 0; i < 4; ++i) sum += noise_at(seed * 4 + i, x, y, c);
  return sum * 1.7320508;
}

/// Smooth noise in [0, 1): bilinear between values on a grid.
double smooth_at(uint64_t seed, double x, double y, double cell, int32_t c) {
  const double gx = x / cell, gy = y / cell;
  const int32_t ix = static_cast<int32_t>(std::floor(gx)),
                iy = static_cast<int32_t>(std::floor(gy));
  const double fx = gx - ix, fy = gy - iy;
  const auto at = [&](int32_t dx, int32_t dy) { return noise_at(seed, ix + dx, iy + dy, c); };
  return (at(0, 0) * (1 - fx) + at(1, 0) * fx) * (1 - fy) +
         (at(0, 1) * (1 - fx) + at(1, 1) * fx) * fy;
}

/// Octaves of smooth noise, regions with edges between them, and grain: like a frame of a film.
Picture film(const cj2k_params& p, uint64_t seed) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    double value = 0, height = 0.4;
    for (double cell = 128; cell >= 2; cell /= 2, height *= 0.6)
      value += height * (smooth_at(seed, x, y, cell, 0) - 0.5);
    const bool inside = smooth_at(seed + 1, x, y, 70, 0) > 0.55;
    const double tint = 0.15 * (smooth_at(seed + 2, x, y, 50, c) - 0.5);
    return 0.42 + value + tint + (inside ? 0.2 - 0.08 * c : 0) +
           0.008 * grain_at(seed + 3, x, y, c);
  });
}

/// Bars of 75 % with a row of small ones, black, white and a ramp below: like smptehdbars.
Picture bars(const cj2k_params& p, uint64_t) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    const int32_t bar = x * 7 / p.width;
    const auto shade = [c](int32_t code, double level) {
      return (code >> (c == 0 ? 1 : c == 1 ? 2 : 0) & 1) != 0 ? level : 0.0;
    };
    if (y < p.height * 7 / 12) return shade(7 - bar, 0.75);
    if (y < p.height * 8 / 12) return bar % 2 == 0 ? shade(bar + 1, 0.75) : 0.04;
    if (y < p.height * 9 / 12) return x * 1.0 / p.width;
    if (bar < 2) return 0.15;
    if (bar < 4) return 1.0;
    return bar == 5 ? 0.01 * (x * 28 / p.width % 4) : 0.0;
  });
}

/// Fields of colour, a grid, diagonal lines, ramps and blinking dots: like testsrc2.
Picture test_source(const cj2k_params& p, uint64_t seed) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    const int32_t size = std::max(8, p.height / 6);
    const int32_t field = static_cast<int32_t>(7 * noise_at(seed, x / size, y / size, 9)) + 1;
    if (x % size == 0 || y % size == 0) return 1.0;
    if ((x + y) % (2 * size) < 2) return c == 0 ? 1.0 : 0.2;
    if (y / size == 2) return (x * (c + 1) % p.width) * 1.0 / p.width;
    if (y / size == 4 && (x / 4 + y / 4) % 2 == 0) return c == 1 ? 0.9 : 0.1;
    return (field >> c & 1) != 0 ? 0.9 - 0.2 * y / p.height : 0.1;
  });
}

/// Stars of all magnitudes, spread over a few samples, on a ground that is nearly black.
Picture stars(const cj2k_params& p, uint64_t seed) {
  Random random(seed);
  struct Star {
    double x, y, light, width, colour[4];
  };
  std::vector<Star> all(static_cast<size_t>(p.width) * static_cast<size_t>(p.height) / 250);
  const auto unit = [&random] { return random.range(0, 100000) / 100000.0; };
  for (Star& s : all) {
    const double magnitude = unit();
    s = {unit() * p.width,
         unit() * p.height,
         0.02 + 0.98 * magnitude * magnitude * magnitude * magnitude * magnitude,
         0.6 + 1.2 * unit(),
         {}};
    for (double& colour : s.colour) colour = 0.6 + 0.4 * unit();
  }
  Picture picture = paint(
      p, [&](int32_t x, int32_t y, int32_t c) { return 0.02 + 0.006 * grain_at(seed, x, y, c); });
  for (const Star& s : all) {
    const int32_t reach = 2 + static_cast<int32_t>(4 * s.width);
    for (int32_t y = std::max(0, static_cast<int32_t>(s.y) - reach);
         y < std::min(p.height, static_cast<int32_t>(s.y) + reach); ++y) {
      for (int32_t x = std::max(0, static_cast<int32_t>(s.x) - reach);
           x < std::min(p.width, static_cast<int32_t>(s.x) + reach); ++x) {
        const double far = ((x - s.x) * (x - s.x) + (y - s.y) * (y - s.y)) / (s.width * s.width);
        for (size_t c = 0; c < picture.components.size(); ++c) {
          ComponentPlane& plane = picture.components[c];
          int32_t& sample = plane.samples[static_cast<size_t>(y) * static_cast<size_t>(p.width) +
                                          static_cast<size_t>(x)];
          const double light = s.light * s.colour[c] / ((1 + far) * (1 + far));
          sample =
              std::min(plane.max_value(), sample + static_cast<int32_t>(light * plane.max_value()));
        }
      }
    }
  }
  return picture;
}

/// A section of a body: ellipses in each other on black, noise that grows with the signal.
Picture medical(const cj2k_params& p, uint64_t seed) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    const double u = 2.0 * x / p.width - 1, v = 2.0 * y / p.height - 1;
    const auto inside = [u, v](double cx, double cy, double rx, double ry) {
      return (u - cx) * (u - cx) / (rx * rx) + (v - cy) * (v - cy) / (ry * ry) < 1;
    };
    if (!inside(0, 0, 0.85, 0.9)) return 0.003 * noise_at(seed, x, y, c);
    double value = inside(0, 0, 0.8, 0.84) ? 0.2 : 0.55;
    if (inside(-0.3, 0.1, 0.22, 0.4)) value = 0.08;
    if (inside(0.32, 0.05, 0.25, 0.35)) value = 0.3;
    if (inside(0.05, -0.5, 0.12, 0.1)) value = 0.45;
    value *= 0.7 + 0.6 * smooth_at(seed + 1, x, y, 24, 0);
    return value + 0.01 * (0.3 + value) * grain_at(seed + 2, x, y, c);
  });
}

Picture specks(const cj2k_params& p, uint64_t seed) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    const double chance = noise_at(seed, x, y, 0);
    return chance < 0.0008 ? 0.3 + 0.7 * noise_at(seed + 1, x, y, c) : 0.0;
  });
}

Picture noise_beside_flat(const cj2k_params& p, uint64_t seed) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    return x > p.width * 2 / 3 || y > p.height * 3 / 4 ? 0.5 : noise_at(seed, x, y, c);
  });
}

Picture two_ramps(const cj2k_params& p, uint64_t) {
  return paint(p, [&](int32_t x, int32_t y, int32_t c) {
    return y < p.height / 2 ? x * 1.0 / p.width : 0.4 + 0.03 * (x + y * (c + 1)) / p.width;
  });
}

/// A picture of 8 bits with other ones.
Picture scaled(Picture picture, int32_t depth) {
  for (ComponentPlane& plane : picture.components) {
    plane.depth = depth;
    for (int32_t& sample : plane.samples) sample = sample * plane.max_value() / 255;
  }
  return picture;
}

/// Pictures that no camera takes; nothing for other names.
Painter degenerate_painter(const std::string& name, const cj2k_params& p, uint64_t seed) {
  Random random(seed);
  const int32_t at_x = random.range(0, p.width - 1), at_y = random.range(0, p.height - 1);
  const int32_t side = random.pick<int32_t>({1, 1, 2, 3, 8});
  if (name == "checks")
    return [=](int32_t x, int32_t y, int32_t) { return (x / side + y / side) % 2; };
  if (name == "impulse")
    return [=](int32_t x, int32_t y, int32_t) { return x == at_x && y == at_y; };
  if (name == "extremes")
    return [=](int32_t x, int32_t y, int32_t c) { return noise_at(seed, x, y, c) < 0.5; };
  if (name == "line")
    return [=](int32_t x, int32_t y, int32_t c) { return c == 0 ? x == at_x : y == at_y; };
  if (name == "stairs")
    return [=](int32_t x, int32_t y, int32_t) { return (x / 8 + y / 8 * 3) % 16 / 15.0; };
  if (name == "grey") return [=](int32_t, int32_t, int32_t c) { return noise_at(seed, 0, 0, c); };
  return {};
}

/// As a decoder shows it after OpenJPEG's encoder has coded it at 1:12.
std::optional<Picture> coded_before(const cj2k_params& p, const Picture& picture) {
  if (!have_program("opj_compress")) {
    std::printf("SKIPPED: no opj_compress for the picture that was JPEG 2000 before\n");
    return std::nullopt;
  }
  const TempDir dir;
  const std::string in = (dir / "in.ppm").string(), out = (dir / "out.j2k").string();
  if (!write_pnm(in, picture)) return std::nullopt;
  const ProcessResult run = run_process(
      {"opj_compress", "-i", in, "-o", out, "-I", "-r", "12", "-b", "64,64", "-n", "6"});
  const auto bytes = read_file(out);
  if (!bytes) {
    std::printf("SKIPPED: opj_compress: %s\n", run.output.c_str());
    return std::nullopt;
  }
  return decode(Decoder::kOpenJpeg, *bytes, p).picture;
}

/// Where the crop of a photograph lies: its middle, as a share of the picture.
struct Crop {
  const char* file;
  double x, y;
};
const std::pair<const char*, Crop> kCrops[] = {
    {"kodim05", {"kodak/kodim05.png", 0.5, 0.5}},
    {"kodim20", {"kodak/kodim20.png", 0.4, 0.6}},
    {"hubble", {"edge/hubble_1000x872_8b.png", 0.5, 0.5}},
    {"mr", {"edge/mr_1024x1024_gray_12b.png", 0.5, 0.45}},
    {"dx", {"edge/dx_1420x1416_gray_16b.png", 0.4, 0.5}},
    {"weld", {"edge/weld_1024x684_16b.png", 0.5, 0.5}},
    {"apples", {"stills2k/apples_2048x1080_8b.png", 0.5, 0.5}},
    {"kodim01", {"kodak/kodim01.png", 0.5, 0.5}},
    {"kodim04", {"kodak/kodim04.png", 0.5, 0.4}},
    {"kodim08", {"kodak/kodim08.png", 0.5, 0.6}},
    {"kodim13", {"kodak/kodim13.png", 0.6, 0.6}},
    {"kodim21", {"kodak/kodim21.png", 0.4, 0.4}},
    {"kodim23", {"kodak/kodim23.png", 0.6, 0.4}},
    {"fox", {"edge/fox_1203x799_8b.png", 0.5, 0.5}},
    {"flower", {"edge/flower_small.rgba.depth12.pam", 0.5, 0.5}},
    {"parrots", {"film/kodak_pcd0023_parrots_3072x2048_8b.png", 0.6, 0.4}},
    {"castle", {"stills4k/art_patak_3840x2160_8b.png", 0.5, 0.6}},
    {"camera", {"stills4k/gopro_hero6_3840x2160_12b.png", 0.5, 0.5}},
    {"leaves", {"stills4k/leaves_4096x2160_8b.png", 0.5, 0.5}},
    {"rabbit", {"seq/bbb_cgi_1920x1080_60fps_60f.webm", 0.5, 0.5}},
    {"building", {"seq/building_hlg_1920x1080_10b_73f.mp4", 0.5, 0.5}},
    {"street", {"seq/film_street_3840x2160_24f_imf_j2k_pq_p3d65_12b.mxf", 0.5, 0.6}},
    {"master", {"imf/imf_htj2k_1920x1080_80f_12b.mxf", 0.5, 0.5}}};

Picture crop(const Picture& from, const Crop& where, int32_t width, int32_t height) {
  Picture to;
  to.width = std::min(width, from.width);
  to.height = std::min(height, from.height);
  const auto corner = [](double middle, int32_t all, int32_t part) {
    return std::clamp(static_cast<int32_t>(middle * all) - part / 2, 0, all - part);
  };
  const int32_t left = corner(where.x, from.width, to.width);
  const int32_t top = corner(where.y, from.height, to.height);
  for (const ComponentPlane& source : from.components) {
    ComponentPlane plane = source;
    plane.width = to.width;
    plane.height = to.height;
    plane.samples.clear();
    for (int32_t y = 0; y < to.height; ++y) {
      const auto row = source.samples.begin() + static_cast<int64_t>(top + y) * source.width + left;
      plane.samples.insert(plane.samples.end(), row, row + to.width);
    }
    to.components.push_back(std::move(plane));
  }
  return to;
}

std::optional<Picture> photograph(const ScanPicture& of, int32_t width, int32_t height) {
  for (const auto& [name, where] : kCrops) {
    if (of.name != name) continue;
    std::optional<Picture> whole = load_media(where.file, std::max(8, of.depth));
    if (!whole) return std::nullopt;
    if (of.is_grey) whole->components.resize(1);
    for (ComponentPlane& plane : whole->components) {
      for (int32_t& sample : plane.samples) sample >>= plane.depth - of.depth;
      plane.depth = of.depth;
    }
    return crop(*whole, where, width, height);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<ScanPicture>& scan_pictures() {
  static const std::vector<ScanPicture> pictures = {
      {"film", false, false, 8},    {"film12", false, false, 12}, {"bars", false, false, 8},
      {"testsrc", false, false, 8}, {"text", false, false, 8},    {"screen", false, false, 8},
      {"black", false, false, 8},   {"specks", false, false, 8},  {"stars", false, false, 8},
      {"ramps", false, false, 10},  {"noise", false, false, 8},   {"medical", false, true, 12},
      {"before", false, false, 8},  {"kodim05", true, false, 8},  {"kodim20", true, false, 8},
      {"hubble", true, false, 8},   {"mr", true, true, 12},       {"dx", true, true, 16},
      {"weld", true, false, 16},    {"apples", true, false, 8}};
  return pictures;
}

const std::vector<ScanPicture>& all_pictures() {
  static const std::vector<ScanPicture> pictures = [] {
    std::vector<ScanPicture> all = scan_pictures();
    for (const char* made : {"checks", "impulse", "extremes", "line", "stairs", "grey"})
      all.push_back({made, false, false, 8});
    for (size_t i = 7; i < std::size(kCrops); ++i) all.push_back({kCrops[i].first, true, false, 8});
    return all;
  }();
  return pictures;
}

std::optional<Picture> scan_picture(const ScanPicture& of, int32_t width, int32_t height,
                                    uint64_t seed) {
  if (of.is_photograph) return photograph(of, width, height);
  const cj2k_params p = make_params(width, height, of.is_grey ? 1 : 3, of.depth);
  const std::string& name = of.name;
  if (name == "bars") return bars(p, seed);
  if (name == "testsrc") return test_source(p, seed);
  if (name == "text" || name == "screen") {
    const cj2k_params eight = make_params(width, height, of.is_grey ? 1 : 3, 8);
    return name == "text" ? scaled(title_card(eight, {20, 24, 40}, {235, 230, 200}, seed), of.depth)
                          : scaled(screen(eight, seed), of.depth);
  }
  if (name == "black") return flat_picture(p, {0, 0, 0});
  if (name == "specks") return specks(p, seed);
  if (name == "stars") return stars(p, seed);
  if (name == "ramps") return two_ramps(p, seed);
  if (name == "noise") return noise_beside_flat(p, seed);
  if (name == "medical") return medical(p, seed);
  if (const Painter degenerate = degenerate_painter(name, p, seed)) return paint(p, degenerate);
  const Picture picture = film(p, seed);
  return name == "before" ? coded_before(p, picture) : picture;
}

}  // namespace cj2k::test
