// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "pixels/xyz.h"

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

constexpr int32_t kMantissaBits = 23, kBias = 127;

/// Terms of a quadratic in x - begin that is near f from begin to end: the error relative to `weight`
/// is the same, with alternating signs, at four places: where the Chebyshev polynomial of degree 3 is
/// 1 or -1, both ends included.
template <typename F, typename W>
std::array<double, 3> fit_quadratic(double begin, double end, const F& f, const W& weight) {
  constexpr size_t n = 4;  // unknown: terms and error
  constexpr double kPlaces[n] = {0, 0.25, 0.75, 1};
  std::array<std::array<double, n + 1>, n> rows{};  // n equations: coefficients, right-hand side
  for (size_t i = 0; i < n; ++i) {
    const double u = (end - begin) * kPlaces[i];
    const double w = weight(begin + u);
    rows[i] = {1, u, u * u, i % 2 == 0 ? w : -w, f(begin + u)};
  }
  for (size_t c = 0; c < n; ++c) {  // Gauss and Jordan, with the largest pivot of the column
    const auto pivot = std::max_element(
        rows.begin() + static_cast<ptrdiff_t>(c), rows.end(),
        [&](const auto& a, const auto& b) { return std::abs(a[c]) < std::abs(b[c]); });
    std::swap(rows[c], *pivot);
    for (size_t r = 0; r < n; ++r) {
      const double factor = rows[r][c] / rows[c][c];
      if (r == c) continue;
      for (size_t k = c; k <= n; ++k) rows[r][k] -= factor * rows[c][k];
    }
  }
  std::array<double, 3> terms{};
  for (size_t k = 0; k < terms.size(); ++k) terms[k] = rows[k][n] / rows[k][k];
  return terms;
}

uint32_t segment_of(const XyzLight& light, float y) {
  return (bits_of(y) >> light.shift) % XyzLight::kSegments;
}

float light_at(const XyzLight& light, float y) {
  const uint32_t s = segment_of(light, y);
  return xyz_fma(y, xyz_fma(y, light.terms[2][s], light.terms[1][s]), light.terms[0][s]);
}

/// Rounds the terms of the segment from begin on: those of lower powers make good what is lost, in
/// the middle.
void set_terms(XyzLight& light, double begin, double middle, const std::array<double, 3>& terms) {
  const uint32_t s = segment_of(light, static_cast<float>(begin));
  const auto square = static_cast<float>(terms[2]);
  const double square_lost = terms[2] - double{square};
  const double slope = terms[1] - 2 * terms[2] * begin + 2 * middle * square_lost;
  light.terms[2][s] = square;
  light.terms[1][s] = static_cast<float>(slope);
  light.terms[0][s] = static_cast<float>(terms[0] - terms[1] * begin + terms[2] * begin * begin -
                                         middle * middle * square_lost +
                                         middle * (slope - double{light.terms[1][s]}));
}

/// The terms of black's segment, where light is exactly 0 at black: with u = y - black,
/// linear * u + square * u^2. They have so few bits that all sums and products at black are exact.
/// @param step  a power of 2: black is less than 64 of it
void set_black(XyzLight& light, double black, double step, double linear, double square) {
  const auto rounded = [](double x, double unit) { return std::nearbyint(x / unit) * unit; };
  const double unit = std::exp2(std::ilogb(2 * black * square + linear) - 16);
  square = rounded(square, unit / step);
  const double slope = rounded(linear, unit) - 2 * black * square;
  const uint32_t s = segment_of(light, static_cast<float>(black));
  light.terms[2][s] = static_cast<float>(square);
  light.terms[1][s] = static_cast<float>(slope);
  light.terms[0][s] = static_cast<float>(-black * (slope + square * black));
}

/// Where y begins and how octaves are cut, in 4095ths of the range of samples. The octaves below 4096
/// fill all segments. The one that begins at 4096 is in the place of the one before black's.
struct LightRange {
  double gamma;  ///< up to this one
  int parts_log2;
  double begin, black, step;  ///< of black's segment; black; see set_black
};
// Long octaves are exact near black, which a gamma near 1 needs; short ones are exact near white. The
// curve of one sample is at most 0.16, 0.5 and 0.5 codes off, and 0.13 with gammas from 2 to 2.6.
constexpr LightRange kLightRanges[] = {
    {2, 1, 6 / 64.0, 7 / 64.0, 1 / 64.0}, {3.4, 2, 20, 23, 1}, {4, 3, 288, 304, 16}};

XyzLight make_light(double gamma, int32_t source_bits) {
  const double unit = std::exp2(source_bits - 12), max = std::exp2(source_bits) - 1;
  const LightRange* range = kLightRanges;
  while (gamma > range->gamma) ++range;
  const double black = unit * range->black, white = black + max;
  XyzLight light{};
  light.shift = kMantissaBits - range->parts_log2;
  light.offset = static_cast<float>(std::exp2(source_bits - 1) + black);
  const auto linear = [&](double y) { return std::pow((y - black) / max, gamma); };
  // What moves a code by the same amount, from about code 1 on.
  const auto weight = [&](double y) {
    return std::pow(std::max(linear(y), 0x1p-31), 1 - 1 / kGamma);
  };
  for (double begin = unit * range->begin; begin <= white;) {
    const double end = begin + std::exp2(std::ilogb(begin) - range->parts_log2);
    const double from = std::max(begin, black), to = std::min(end, white), width = to - from;
    const std::array<double, 3> terms = fit_quadratic(from, to, linear, weight);
    if (from > black) {
      set_terms(light, from, from + width / 2, terms);
    } else {
      const double top = linear(to), part = std::clamp(terms[1] * width, 0.0, top);  // rises
      set_black(light, black, unit * range->step, part / width, (top - part) / (width * width));
    }
    begin = end;
  }
  return light;
}

uint32_t curve_segment(uint32_t bits) {
  return (bits >> XyzCurve::kSegmentShift) % XyzCurve::kSegments;
}

/// The two factors of a curve's value.
struct CurveValue {
  float scale, line;
};
CurveValue factors_at(const XyzCurve& curve, float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t s = curve_segment(bits);
  const float mantissa = float_of((bits & 0x7FFFFF) | bits_of(1.0f));
  return {curve.scale[(bits >> kMantissaBits) % std::size(curve.scale)],
          xyz_fma(mantissa, curve.slope[s], curve.start[s])};
}

/// Lines near m^power for m from 1 to 2. They meet at the ends of segments, so far above the power as they
/// are below it in between.
void set_lines(XyzCurve& curve, double power) {
  constexpr double kStep = 1.0 / XyzCurve::kSegments;
  const auto knot = [&](double m) {
    const double second_derivative = power * (1 - power) * std::pow(m, power - 2);
    return std::pow(m, power) + kStep * kStep / 16 * second_derivative;
  };
  float last = 0;  // at the end of the segment before
  for (uint32_t s = 0; s < XyzCurve::kSegments; ++s) {
    const double begin = 1 + s * kStep;
    const float slope = static_cast<float>((knot(begin + kStep) - knot(begin)) / kStep);
    const auto first_at = [&](float start) {
      return xyz_fma(static_cast<float>(begin), slope, start);
    };
    auto start = static_cast<float>(knot(begin) - begin * double{slope});
    while (first_at(start) < last) start = std::nextafter(start, 1.0f);
    curve.start[s] = start;
    curve.slope[s] = slope;
    last = xyz_fma(std::nextafter(static_cast<float>(begin + kStep), 1.0f), slope, start);
  }
}

XyzCurve make_curve() {
  constexpr double kPower = 1 / kGamma;
  XyzCurve curve{};
  set_lines(curve, kPower);
  constexpr auto kScales = static_cast<int>(XyzCurve::kScales);
  for (int i = 0; i < kScales; ++i) curve.fine[i] = static_cast<float>(std::exp2(i * kPower));
  // The exponents from -31 to -1 are in four groups; -32 alone is in the one below.
  constexpr int kLowest = kBias - 32, kFirstGroup = kLowest / kScales;
  static_assert(kLowest % kScales == kScales - 1 && (kBias - 1) / kScales == kFirstGroup + 4);
  for (int group = kFirstGroup + 1; group <= kFirstGroup + 4; ++group) {
    const double begin = std::exp2(kScales * group - kBias);
    curve.coarse[group % kScales] = static_cast<float>(kMaxCode * std::pow(begin, kPower));
  }
  // From 2^-32 to 2^-31: 0 for black, 1 for light whose code is at least 0.5.
  const double half = std::pow(0.5 / kMaxCode, kGamma) * 0x1p32 + kXyzBlack * 0x1p32;
  curve.coarse[kFirstGroup % kScales] =
      static_cast<float>(0.5 / std::pow(half, kPower) / double{curve.fine[kScales - 1]});
  for (int e = kLowest; e < kBias; ++e) {
    curve.scale[static_cast<size_t>(e) % std::size(curve.scale)] =
        curve.fine[e % kScales] * curve.coarse[e / kScales % kScales];
  }
  return curve;
}

/// The bits of the smallest float that has at least this code.
uint32_t first_bits(const XyzCurve& curve, int32_t code) {
  uint32_t low = XyzCodes::kFirst, high = XyzCodes::kLast + 1;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (xyz_rounded_curve_at(curve, float_of(middle)) >= code) {
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

float xyz_light_at(const XyzLight& light, int32_t sample) {
  return light_at(light, static_cast<float>(sample) + light.offset);
}

float xyz_curve_at(const XyzCurve& curve, float x) {
  const CurveValue value = factors_at(curve, x);
  return value.scale * value.line;
}

int32_t xyz_rounded_curve_at(const XyzCurve& curve, float x) {
  const CurveValue value = factors_at(curve, x);
  // The sum with 1.5 * 2^23 has no bits behind the point.
  constexpr float kRound = 12582912.0f;
  return static_cast<int32_t>(xyz_fma(value.scale, value.line, kRound) - kRound);
}

XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits) {
  XyzTables tables{};
  tables.matrix = make_matrix(space_of(xyz));
  tables.light = make_light(gamma, source_bits);
  const int32_t half = 1 << (source_bits - 1);
  tables.linear.reserve(2 * static_cast<size_t>(half));
  for (int32_t i = -half; i < half; ++i) tables.linear.push_back(xyz_light_at(tables.light, i));
  tables.curve = make_curve();
  tables.codes = make_codes(tables.curve);
  return tables;
}

}  // namespace cj2k
