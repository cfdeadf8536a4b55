// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cj2k::test {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A triangle wave of integers, so that pictures do not depend on the mathematics library.
int64_t triangle(int64_t x, int64_t period, int64_t height) {
  const int64_t phase = x % period;
  return (phase < period - phase ? phase : period - phase) * 2 * height / period;
}

void fill_edges(ComponentPlane& plane, Random& random) {
  for (int i = 0; i < 24; ++i) {
    const int32_t x0 = random.range(0, plane.width - 1), x1 = random.range(x0, plane.width - 1);
    const int32_t y0 = random.range(0, plane.height - 1), y1 = random.range(y0, plane.height - 1);
    const int32_t value = random.chance(50) ? plane.min_value() : plane.max_value();
    for (int32_t y = y0; y <= y1; ++y) {
      std::fill_n(plane.samples.begin() + static_cast<int64_t>(y) * plane.width + x0, x1 - x0 + 1,
                  value);
    }
  }
}

void fill(ComponentPlane& plane, Content content, int component, int32_t dx, int32_t dy,
          uint64_t seed) {
  Random random(seed + 977 * static_cast<uint64_t>(component));
  const int64_t low = plane.min_value(), span = static_cast<int64_t>(plane.max_value()) - low;
  if (content == Content::kFlat) {
    std::fill(plane.samples.begin(), plane.samples.end(),
              random.range(plane.min_value(), plane.max_value()));
    return;
  }
  if (content == Content::kEdges) {
    std::fill(plane.samples.begin(), plane.samples.end(), static_cast<int32_t>(low + span / 2));
    fill_edges(plane, random);
    return;
  }
  Random shared(seed);  // the same structure in all components
  const int64_t period_x = shared.range(20, 90), period_y = shared.range(20, 90),
                slant = shared.range(1, 7);
  const int64_t grain = std::max<int64_t>(1, span / 64);
  for (int32_t y = 0; y < plane.height; ++y) {
    for (int32_t x = 0; x < plane.width; ++x) {
      const int64_t gx = static_cast<int64_t>(x) * dx, gy = static_cast<int64_t>(y) * dy;
      int64_t value = 0;
      switch (content) {
        case Content::kNoise:
          value = random.range(0, static_cast<int32_t>(span));
          break;
        case Content::kGradient:
          value = triangle(gx * 3 + gy * 2 + component * 50, 1021, span);
          break;
        default:
          value =
              (triangle(gx + gy / slant, period_x, span) + triangle(gy + gx / 3, period_y, span) +
               triangle(gx * gy / 64 + component * 20, 301, span)) /
              3;
          if ((gx / 37 + gy / 53) % 5 == 0) value = span - value;
          value += random.range(0, static_cast<int32_t>(2 * grain)) - grain;
      }
      plane.samples[static_cast<size_t>(y) * plane.width + x] =
          static_cast<int32_t>(low + std::clamp<int64_t>(value, 0, span));
    }
  }
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int32_t Random::range(int32_t low, int32_t high) {
  const uint64_t count = static_cast<uint64_t>(static_cast<int64_t>(high) - low) + 1;
  return static_cast<int32_t>(low + static_cast<int64_t>((next() >> 16) % count));
}

int64_t Picture::raw_bits() const {
  int64_t bits = 0;
  for (const ComponentPlane& c : components)
    bits += static_cast<int64_t>(c.width) * c.height * c.depth;
  return bits;
}

const char* content_name(Content content) {
  switch (content) {
    case Content::kFlat:
      return "flat";
    case Content::kGradient:
      return "gradient";
    case Content::kNoise:
      return "noise";
    case Content::kEdges:
      return "edges";
    case Content::kTexture:
      return "texture";
  }
  return "?";
}

Picture picture_shape(const cj2k_params& p) {
  Picture picture;
  picture.width = p.width;
  picture.height = p.height;
  for (int c = 0; c < p.num_components; ++c) {
    ComponentPlane plane;
    const int64_t right = static_cast<int64_t>(p.image_offset_x) + p.width;
    const int64_t bottom = static_cast<int64_t>(p.image_offset_y) + p.height;
    plane.width =
        static_cast<int32_t>(ceil_div(right, p.dx[c]) - ceil_div(p.image_offset_x, p.dx[c]));
    plane.height =
        static_cast<int32_t>(ceil_div(bottom, p.dy[c]) - ceil_div(p.image_offset_y, p.dy[c]));
    plane.depth = p.depth[c];
    plane.is_signed = p.is_signed[c] != 0;
    plane.samples.resize(static_cast<size_t>(plane.width) * static_cast<size_t>(plane.height));
    picture.components.push_back(std::move(plane));
  }
  return picture;
}

Picture make_picture(const cj2k_params& params, Content content, uint64_t seed) {
  Picture picture = picture_shape(params);
  for (int c = 0; c < params.num_components; ++c) {
    fill(picture.components[static_cast<size_t>(c)], content, c, params.dx[c], params.dy[c], seed);
  }
  return picture;
}

int32_t max_difference(const Picture& a, const Picture& b) {
  if (a.components.size() != b.components.size()) return -1;
  int32_t worst = 0;
  for (size_t c = 0; c < a.components.size(); ++c) {
    const ComponentPlane &p = a.components[c], &q = b.components[c];
    if (p.width != q.width || p.height != q.height) return -1;
    for (size_t i = 0; i < p.samples.size(); ++i)
      worst = std::max(worst, std::abs(p.samples[i] - q.samples[i]));
  }
  return worst;
}

double mean_squared_error(const ComponentPlane& a, const ComponentPlane& b) {
  double sum = 0;
  for (size_t i = 0; i < a.samples.size(); ++i) {
    const double d = static_cast<double>(a.samples[i]) - b.samples[i];
    sum += d * d;
  }
  return sum / static_cast<double>(a.samples.size());
}

double psnr(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t c = 0; c < a.components.size(); ++c) {
    const double peak = static_cast<double>((1 << a.components[c].depth) - 1);
    sum += mean_squared_error(a.components[c], b.components[c]) / (peak * peak);
  }
  return sum == 0 ? 999.0 : -10.0 * std::log10(sum / static_cast<double>(a.components.size()));
}

std::string first_difference(const Picture& a, const Picture& b) {
  if (a.components.size() != b.components.size()) {
    return std::to_string(a.components.size()) + " components against " +
           std::to_string(b.components.size());
  }
  for (size_t c = 0; c < a.components.size(); ++c) {
    const ComponentPlane &p = a.components[c], &q = b.components[c];
    if (p.width != q.width || p.height != q.height) {
      return "component " + std::to_string(c) + ": " + std::to_string(p.width) + "x" +
             std::to_string(p.height) + " against " + std::to_string(q.width) + "x" +
             std::to_string(q.height);
    }
    for (size_t i = 0; i < p.samples.size(); ++i) {
      if (p.samples[i] == q.samples[i]) continue;
      const size_t width = static_cast<size_t>(p.width);
      return "component " + std::to_string(c) + " at (" + std::to_string(i % width) + ", " +
             std::to_string(i / width) + "): " + std::to_string(p.samples[i]) + " against " +
             std::to_string(q.samples[i]);
    }
  }
  return "none";
}

uint64_t hash_bytes(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3u;
  return hash;
}

}  // namespace cj2k::test
