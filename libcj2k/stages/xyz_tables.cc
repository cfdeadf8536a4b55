// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cmath>

#include "stages/xyz.h"

namespace cj2k {
namespace {

constexpr double kPeak = 48.0 / 52.37;  ///< ST 428-1: cd/m2 of white, by what code 4095 stands for
constexpr double kGamma = 2.6;
constexpr int32_t kMaxCode = 4095;

struct Chromaticity {
  double x, y;
};
struct Space {
  Chromaticity red, green, blue, white;
};

constexpr Chromaticity kD65{.3127, .3290};

Space space_of(cj2k_xyz xyz) {
  switch (xyz) {
    case CJ2K_XYZ_REC2020:
      return {{.708, .292}, {.170, .797}, {.131, .046}, kD65};
    case CJ2K_XYZ_P3D65:
      return {{.680, .320}, {.265, .690}, {.150, .060}, kD65};
    case CJ2K_XYZ_P3DCI:
      return {{.680, .320}, {.265, .690}, {.150, .060}, {.3140, .3510}};
    default:
      return {{.640, .330}, {.300, .600}, {.150, .060}, kD65};
  }
}

using Column = std::array<double, 3>;

/// X, Y, Z of a chromaticity with Y = 1.
Column tristimulus(const Chromaticity& c) { return {c.x / c.y, 1, (1 - c.x - c.y) / c.y}; }

double determinant(const Column& a, const Column& b, const Column& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
         c[0] * (a[1] * b[2] - a[2] * b[1]);
}

/// The columns are the primaries, each as strong as it takes to make white of their sum (RP 177).
XyzMatrix make_matrix(const Space& space) {
  const Column primaries[] = {tristimulus(space.red), tristimulus(space.green),
                              tristimulus(space.blue)};
  const Column white = tristimulus(space.white);
  const double whole = determinant(primaries[0], primaries[1], primaries[2]);
  XyzMatrix matrix{};
  for (size_t p = 0; p < 3; ++p) {
    Column columns[] = {primaries[0], primaries[1], primaries[2]};
    columns[p] = white;
    const double strength = determinant(columns[0], columns[1], columns[2]) / whole;  // Cramer
    for (size_t row = 0; row < 3; ++row) {
      const double share = primaries[p][row] * strength * kPeak;
      // The red of P3 has no Z, and 1 - x - y is not quite 0.
      matrix.m[3 * row + p] = std::abs(share) < 1e-9 ? 0.0f : static_cast<float>(share);
    }
  }
  return matrix;
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The segment of x in a curve with this shift and magic.
uint32_t segment_of(float x, int shift, float magic) {
  return bits_of(float_of(bits_of(x) >> shift) + magic) & (XyzCurve::kSegments - 1);
}

using Cubic = std::array<double, XyzCurve::kCoefficients>;

/// The cubic through four points of f between a and b: where a Chebyshev polynomial of x^0.7 has its
/// roots. The power makes the largest error of the widest segments, near 0, half as large.
template <typename Function>
Cubic interpolate(double a, double b, const Function& f) {
  constexpr size_t n = XyzCurve::kCoefficients;
  constexpr double kPi = 3.14159265358979323846, kPower = 0.7;
  Cubic x{}, y{};
  for (size_t i = 0; i < n; ++i) {
    const double root = std::cos(static_cast<double>(2 * i + 1) * kPi / (2 * n));
    const double low = std::pow(a, kPower), high = std::pow(b, kPower);
    x[i] = std::pow((low + high) / 2 - (high - low) / 2 * root, 1 / kPower);
    y[i] = f(x[i]);
  }
  for (size_t step = 1; step < n; ++step) {  // divided differences
    for (size_t i = n - 1; i >= step; --i) y[i] = (y[i] - y[i - 1]) / (x[i] - x[i - step]);
  }
  Cubic c{y[n - 1]};
  for (size_t i = n - 1; i-- > 0;) {  // c becomes c * (x - x[i]) + y[i]
    for (size_t k = n - 1; k > 0; --k) c[k] = c[k - 1] - c[k] * x[i];
    c[0] = y[i] - c[0] * x[i];
  }
  return c;
}

/// The largest float of a segment.
float last_of_segment(uint32_t segment, int shift, float magic, float largest) {
  uint32_t low = 0, high = bits_of(largest);  // low is in the segment or below it
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (segment_of(float_of(middle), shift, magic) <= segment) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return float_of(low);
}

/// f from 0 to `largest`. The first segment, which is nearly nothing, has f(0).
template <typename Function>
XyzCurve make_curve(int shift, float largest, const Function& f) {
  XyzCurve curve{};
  // The smallest power of two, and so the most segments, that leaves `largest` in the last one.
  const float root = float_of(bits_of(largest) >> shift);
  constexpr int kMantissaBits = 23, kSegmentBits = 5;
  curve.magic = std::ldexp(1.0f, std::ilogb(root) + kMantissaBits - kSegmentBits);
  while (bits_of(root + curve.magic) - bits_of(curve.magic) >= XyzCurve::kSegments)
    curve.magic *= 2;
  const uint32_t last = segment_of(largest, shift, curve.magic);
  curve.coefficients[0] = static_cast<float>(f(0.0));
  float begin = last_of_segment(0, shift, curve.magic, largest);
  for (uint32_t segment = 1; segment <= last; ++segment) {
    const float end = last_of_segment(segment, shift, curve.magic, largest);
    const Cubic cubic = interpolate(begin, end, f);
    for (uint32_t k = 0; k < XyzCurve::kCoefficients; ++k)
      curve.coefficients[k * XyzCurve::kSegments + segment] = static_cast<float>(cubic[k]);
    begin = end;
  }
  return curve;
}

/// The rounded curve at the float with these bits. To the nearest, as vectors are rounded.
int32_t code_at(const XyzCurve& curve, uint32_t bits) {
  const float light = float_of(bits & XyzTables::kLightMask);
  return static_cast<int32_t>(std::nearbyint(xyz_curve_at(curve, XyzTables::kCodeShift, light)));
}

/// The bits of the smallest float that has at least this code.
uint32_t first_bits(const XyzCurve& curve, int32_t code) {
  uint32_t low = XyzCodes::kFirst, high = XyzCodes::kLast + 1;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (code_at(curve, middle) >= code) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::vector<uint32_t> make_codes(const XyzCurve& curve) {
  std::vector<uint32_t> entries;
  entries.reserve(XyzCodes::kNumEntries);
  int32_t code = 0;
  uint32_t next = first_bits(curve, 1);
  for (uint32_t begin = XyzCodes::kFirst; begin < XyzCodes::kLast;) {
    const uint32_t size =
        1u << (begin < XyzCodes::kFine ? XyzCodes::kCoarseShift : XyzCodes::kFineShift);
    const auto advance = [&] { next = ++code < kMaxCode ? first_bits(curve, code + 1) : ~0u; };
    if (next <= begin) advance();
    const auto at_begin = static_cast<uint32_t>(code);
    uint32_t step = XyzCodes::kNoStep;
    if (next < begin + size) {
      step = next - begin;
      advance();
    }
    entries.push_back(at_begin | step << XyzCodes::kCodeBits);
    begin += size;
  }
  return entries;
}

}  // namespace

float xyz_curve_at(const XyzCurve& curve, int shift, float x) {
  const float* c = curve.coefficients + segment_of(x, shift, curve.magic);
  constexpr uint32_t n = XyzCurve::kSegments;
  return std::fma(std::fma(std::fma(c[3 * n], x, c[2 * n]), x, c[n]), x, c[0]);
}

XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits) {
  XyzTables tables{};
  tables.matrix = make_matrix(space_of(xyz));
  const int32_t count = 1 << source_bits;
  tables.linear_curve =
      make_curve(XyzTables::kLinearShift, static_cast<float>(count - 1),
                 [=](double sample) { return std::pow(sample / (count - 1), gamma); });
  tables.linear.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    tables.linear.push_back(
        xyz_curve_at(tables.linear_curve, XyzTables::kLinearShift, static_cast<float>(i)));
  }
  // What stands for all floats with the same bits of the mask: the middle one.
  constexpr double kMiddle = 1 + (~XyzTables::kLightMask / 2) * 0x1p-24;
  tables.code_curve = make_curve(XyzTables::kCodeShift, 1.0f, [](double light) {
    return kMaxCode * std::pow(light * kMiddle, 1 / kGamma);
  });
  tables.codes = make_codes(tables.code_curve);
  return tables;
}

}  // namespace cj2k
