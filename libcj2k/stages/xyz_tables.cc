// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cmath>
#include <limits>

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

/// The bits of the smallest float that has at least this code.
uint32_t first_bits(int32_t code) {
  const double threshold = std::pow((code - 0.5) / kMaxCode, kGamma);
  float value = static_cast<float>(threshold);
  if (double{value} < threshold) value = std::nextafter(value, 1.0f);
  return bits_of(value);
}

std::vector<uint32_t> make_codes() {
  std::vector<uint32_t> entries;
  entries.reserve(XyzCodes::kNumEntries);
  int32_t code = 0;
  uint32_t next = first_bits(1);
  for (uint32_t begin = XyzCodes::kFirst; begin < XyzCodes::kLast;) {
    const uint32_t size =
        1u << (begin < XyzCodes::kFine ? XyzCodes::kCoarseShift : XyzCodes::kFineShift);
    const auto advance = [&] { next = ++code < kMaxCode ? first_bits(code + 1) : ~0u; };
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

XyzTables make_xyz_tables(cj2k_xyz xyz, double gamma, int32_t source_bits) {
  XyzTables tables{};
  tables.matrix = make_matrix(space_of(xyz));
  const auto count = size_t{1} << source_bits;
  tables.linear.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(i) / static_cast<double>(count - 1);
    tables.linear.push_back(static_cast<float>(std::pow(value, gamma)));
  }
  tables.codes = make_codes();
  return tables;
}

}  // namespace cj2k
