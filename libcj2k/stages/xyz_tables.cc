// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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

constexpr int32_t kMantissaBits = 23, kBias = 127;

/// Polynomial of a mantissa that differs from its power by at most a few millionths. It and the power
/// have the same quotient of the values at 2 and 1, so that a curve has no step between exponents.
std::array<double, XyzCurve::kTerms> fit_power(double power) {
  // The error relative to the power is the same, with alternating signs, at n places: where the
  // Chebyshev polynomial of degree n - 1 is 1 or -1, both ends included. Unknown: terms and error.
  constexpr size_t n = XyzCurve::kTerms + 1;
  constexpr double kPi = 3.14159265358979323846;
  std::array<std::array<double, n + 1>, n> rows{};  // n equations: coefficients, right-hand side
  for (size_t i = 0; i < n; ++i) {
    const double x = 1.5 - 0.5 * std::cos(static_cast<double>(i) * kPi / (n - 1));
    const double y = std::pow(x, power);
    for (size_t k = 0; k + 1 < n; ++k) rows[i][k] = std::pow(x, static_cast<double>(k));
    rows[i][n - 1] = i % 2 == 0 ? y : -y;
    rows[i][n] = y;
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
  std::array<double, XyzCurve::kTerms> terms{};
  for (size_t k = 0; k < terms.size(); ++k) terms[k] = rows[k][n] / rows[k][k];
  return terms;
}

/// factor * x^power for floats with a biased exponent / 8 from first_group to last_group, at most seven
/// groups; 0 for smaller floats.
XyzCurve make_curve(double power, double factor, int first_group, int last_group) {
  XyzCurve curve{};
  constexpr auto kScales = static_cast<int>(XyzCurve::kScales);
  for (int i = 0; i < kScales; ++i) curve.fine[i] = static_cast<float>(std::exp2(i * power));
  for (int group = first_group; group <= last_group; ++group) {
    const double begin = std::exp2(kScales * group - kBias);
    curve.coarse[group % kScales] = static_cast<float>(factor * std::pow(begin, power));
  }
  const auto terms = fit_power(power);
  for (size_t k = 0; k < terms.size(); ++k) curve.terms[k] = static_cast<float>(terms[k]);
  curve.least = static_cast<uint32_t>(kScales * first_group - 1) << kMantissaBits;
  return curve;
}

/// The two factors of a curve's value.
struct CurveValue {
  float scale, polynomial;
};
CurveValue factors_at(const XyzCurve& curve, float x) {
  const uint32_t bits = std::max(bits_of(x), curve.least);
  const uint32_t exponent = bits >> kMantissaBits;
  const float mantissa = float_of((bits & XyzTables::kMantissaMask) | bits_of(1.0f));
  constexpr uint32_t n = XyzCurve::kScales;
  float polynomial = curve.terms[XyzCurve::kTerms - 1];
  for (size_t k = XyzCurve::kTerms - 1; k-- > 0;)
    polynomial = std::fma(polynomial, mantissa, curve.terms[k]);
  return {curve.fine[exponent % n] * curve.coarse[exponent / n % n], polynomial};
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

float xyz_curve_at(const XyzCurve& curve, float x) {
  const CurveValue value = factors_at(curve, x);
  return value.scale * value.polynomial;
}

int32_t xyz_rounded_curve_at(const XyzCurve& curve, float x) {
  const CurveValue value = factors_at(curve, x);
  // The sum with 1.5 * 2^23 has no bits behind the point.
  constexpr float kRound = 12582912.0f;
  return static_cast<int32_t>(std::fma(value.scale, value.polynomial, kRound) - kRound);
}

XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits) {
  XyzTables tables{};
  tables.matrix = make_matrix(space_of(xyz));
  const int32_t count = 1 << source_bits;
  constexpr int kGroupOf1 = kBias / 8, kGroupOf65535 = (kBias + 15) / 8;
  tables.linear_curve = make_curve(gamma, std::pow(count - 1, -gamma), kGroupOf1, kGroupOf65535);
  tables.linear.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i)
    tables.linear.push_back(xyz_curve_at(tables.linear_curve, static_cast<float>(i)));
  // What stands for all floats with the same bits of the mask: the middle one of a mantissa of 1.5.
  constexpr double kMiddle = 1 + (0x7FFFFF - XyzTables::kMantissaMask) / 2 * 0x1p-23 / 1.5;
  // From 2^-55 on, which is a code of 0.002, to below 1.
  constexpr int kFirstGroup = (kBias - 55) / 8;
  tables.code_curve =
      make_curve(1 / kGamma, kMaxCode * std::pow(kMiddle, 1 / kGamma), kFirstGroup, kGroupOf1);
  tables.codes = make_codes(tables.code_curve);
  return tables;
}

}  // namespace cj2k
