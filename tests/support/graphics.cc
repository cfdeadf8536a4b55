// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/graphics.h"

#include <algorithm>
#include <cmath>

namespace cj2k::test {
namespace {

/// The share of each sample that ink covers, 0 to 1.
class Coverage {
 public:
  Coverage(int32_t width, int32_t height)
      : width_(width), height_(height), of_(static_cast<size_t>(width) * height) {}

  double at(int32_t x, int32_t y) const { return of_[static_cast<size_t>(y) * width_ + x]; }

  /// A line with round ends and an edge that is one sample wide.
  void stroke(double x0, double y0, double x1, double y1, double thickness) {
    const double reach = thickness / 2 + 1;
    const auto low = [](double a, double b) { return static_cast<int32_t>(std::min(a, b)); };
    const int32_t top = std::max(0, low(y0 - reach, y1 - reach));
    const int32_t bottom = std::min(height_ - 1, -low(-y0 - reach, -y1 - reach));
    const int32_t left = std::max(0, low(x0 - reach, x1 - reach));
    const int32_t right = std::min(width_ - 1, -low(-x0 - reach, -x1 - reach));
    const double dx = x1 - x0, dy = y1 - y0, length2 = std::max(dx * dx + dy * dy, 1e-9);
    for (int32_t y = top; y <= bottom; ++y) {
      for (int32_t x = left; x <= right; ++x) {
        const double t = std::clamp(((x - x0) * dx + (y - y0) * dy) / length2, 0.0, 1.0);
        const double distance = std::hypot(x - x0 - t * dx, y - y0 - t * dy);
        double& covered = of_[static_cast<size_t>(y) * width_ + x];
        covered = std::max(covered, std::clamp(thickness / 2 + 0.5 - distance, 0.0, 1.0));
      }
    }
  }

  /// Rows of letters inside a rectangle, three strokes per letter.
  void text(double left, double top, double right, double bottom, double size, Random& random) {
    const auto unit = [&random] { return random.range(0, 1000) / 1000.0; };
    const double advance = 0.75 * size, thickness = std::max(1.0, 0.12 * size);
    for (double y = top; y + size <= bottom; y += 1.6 * size) {
      for (double x = left; x + 0.5 * size <= right; x += advance) {
        if (random.chance(15)) continue;  // a space between words
        for (int line = 0; line < 3; ++line) {
          stroke(x + 0.5 * size * unit(), y + size * unit(), x + 0.5 * size * unit(),
                 y + size * unit(), thickness);
        }
      }
    }
  }

 private:
  int32_t width_, height_;
  std::vector<double> of_;
};

void paint(Picture& picture, const Coverage& coverage, const std::vector<int32_t>& ink) {
  for (size_t c = 0; c < picture.components.size(); ++c) {
    ComponentPlane& plane = picture.components[c];
    for (int32_t y = 0; y < plane.height; ++y) {
      for (int32_t x = 0; x < plane.width; ++x) {
        int32_t& sample = plane.samples[static_cast<size_t>(y) * plane.width + x];
        sample += static_cast<int32_t>(std::lround((ink[c] - sample) * coverage.at(x, y)));
      }
    }
  }
}

}  // namespace

Picture flat_picture(const cj2k_params& params, const std::vector<int32_t>& values) {
  Picture picture = picture_shape(params);
  for (size_t c = 0; c < picture.components.size(); ++c) {
    ComponentPlane& plane = picture.components[c];
    plane.samples.assign(static_cast<size_t>(plane.width) * plane.height, values[c]);
  }
  return picture;
}

Picture title_card(const cj2k_params& params, const std::vector<int32_t>& ground,
                   const std::vector<int32_t>& ink, uint64_t seed) {
  Random random(seed);
  Picture picture = flat_picture(params, ground);
  Coverage coverage(params.width, params.height);
  coverage.text(params.width / 8.0, params.height / 8.0, params.width * 7 / 8.0,
                params.height * 7 / 8.0, std::max(12.0, params.height / 12.0), random);
  paint(picture, coverage, ink);
  return picture;
}

Picture ramp(const cj2k_params& params, double from, double to) {
  Picture picture = picture_shape(params);
  for (ComponentPlane& plane : picture.components) {
    plane.samples.clear();
    for (int32_t y = 0; y < plane.height; ++y) {
      for (int32_t x = 0; x < plane.width; ++x) {
        plane.samples.push_back(static_cast<int32_t>(
            std::lround(from + (to - from) * x / std::max(1, plane.width - 1))));
      }
    }
  }
  return picture;
}

Picture screen(const cj2k_params& params, uint64_t seed) {
  Random random(seed);
  const auto colour = [&] {
    std::vector<int32_t> values;
    for (int c = 0; c < params.num_components; ++c)
      values.push_back(random.range(0, (1 << params.depth[c]) - 1));
    return values;
  };
  Picture picture = flat_picture(params, colour());
  for (int window = 0; window < 6; ++window) {
    const int32_t left = random.range(0, params.width * 3 / 4);
    const int32_t top = random.range(0, params.height * 3 / 4);
    const int32_t right = std::min(params.width, left + random.range(20, params.width / 2 + 20));
    const int32_t bottom = std::min(params.height, top + random.range(20, params.height / 2 + 20));
    const std::vector<int32_t> ground = colour(), line = colour();
    for (size_t c = 0; c < picture.components.size(); ++c) {
      ComponentPlane& plane = picture.components[c];
      for (int32_t y = top; y < bottom; ++y) {
        for (int32_t x = left; x < right; ++x) {
          const bool edge = y == top || y + 1 == bottom || x == left || x + 1 == right;
          plane.samples[static_cast<size_t>(y) * plane.width + x] = edge ? line[c] : ground[c];
        }
      }
    }
    Coverage coverage(params.width, params.height);
    coverage.text(left + 6, top + 6, right - 6, bottom - 6, 12, random);
    paint(picture, coverage, line);
  }
  return picture;
}

}  // namespace cj2k::test
