// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// X'Y'Z' against the formulas of SMPTE ST 428-1 in double precision, with matrices from the
// literature.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "pixels/xyz.h"
#include "support/encode.h"

namespace cj2k {
namespace {

struct Reference {
  cj2k_xyz xyz;
  double gamma;
  double matrix[9];
};
// To six places as published (BT.709 and BT.2020: ITU-R BT.2380, P3: SMPTE EG 432-1 and RP 431-2);
// checked against the library's to that precision. The code values below use the library's.
const Reference kReferences[] = {
    {CJ2K_XYZ_REC709,
     2.4,
     {0.412391, 0.357584, 0.180481, 0.212639, 0.715169, 0.072192, 0.019331, 0.119195, 0.950532}},
    {CJ2K_XYZ_P3D65,
     2.6,
     {0.486571, 0.265668, 0.198217, 0.228975, 0.691739, 0.079287, 0, 0.045113, 1.043944}},
    {CJ2K_XYZ_P3DCI,
     2.6,
     {0.445170, 0.277134, 0.172283, 0.209492, 0.721595, 0.068913, 0, 0.047061, 0.907355}},
    {CJ2K_XYZ_REC2020,
     2.4,
     {0.636958, 0.144617, 0.168881, 0.262700, 0.677998, 0.059302, 0, 0.028073, 1.060985}},
};

/// X', Y' or Z' of linear light, as real numbers.
double exact_code(const double* matrix, const double* linear) {
  const double value = matrix[0] * linear[0] + matrix[1] * linear[1] + matrix[2] * linear[2];
  return 4095 * std::pow(value * 48 / 52.37, 1 / 2.6);
}

/// Compares pixels; counts code values that are not the nearest.
class Comparison {
 public:
  Comparison(cj2k_xyz xyz, double gamma, int32_t bits)
      : bits_(bits), tables_(make_xyz_tables(xyz, gamma, bits)) {
    for (int i = 0; i < 9; ++i) matrix_[i] = double{tables_.matrix.m[i]} * 52.37 / 48;
    linear_.resize(size_t{1} << bits);
    for (size_t i = 0; i < linear_.size(); ++i) {
      linear_[i] =
          std::pow(static_cast<double>(i) / static_cast<double>(linear_.size() - 1), gamma);
    }
  }
  void add(int32_t r, int32_t g, int32_t b) {
    const int32_t half = 1 << (bits_ - 1);
    int32_t x = r - half, y = g - half, z = b - half;
    ref::xyz_row(tables_, &x, &y, &z, 1);
    const double linear[] = {linear_[static_cast<size_t>(r)], linear_[static_cast<size_t>(g)],
                             linear_[static_cast<size_t>(b)]};
    int row = 0;
    for (const int32_t code : {x, y, z}) {
      const double exact = exact_code(matrix_ + 3 * row++, linear);
      const int off = std::abs(code + 2048 - static_cast<int>(std::floor(exact + 0.5)));
      worst = std::max(worst, off);
      not_nearest += off != 0;
      ++count;
    }
  }
  int worst = 0;
  int64_t not_nearest = 0, count = 0;

 private:
  int32_t bits_;
  XyzTables tables_;
  double matrix_[9];
  std::vector<double> linear_;
};

TEST_CASE("xyz: the matrices are those of the standards") {
  for (const Reference& reference : kReferences) {
    const XyzTables tables = make_xyz_tables(reference.xyz, reference.gamma, 8);
    for (int i = 0; i < 9; ++i) {
      INFO("xyz ", static_cast<int>(reference.xyz), " entry ", i);
      CHECK(std::abs(tables.matrix.m[i] * 52.37 / 48 - reference.matrix[i]) < 1.5e-6);
      CHECK(tables.matrix.m[i] >= 0);
    }
  }
}

TEST_CASE("xyz: at most one code value from the formulas, and mostly the nearest") {
  for (const Reference& reference : kReferences) {
    for (const int32_t bits : {8, 9, 10, 12, 14, 16}) {
      INFO("xyz ", static_cast<int>(reference.xyz), " bits ", bits);
      Comparison compare(reference.xyz, reference.gamma, bits);
      const int32_t top = (1 << bits) - 1;
      for (int32_t v = 0; v <= top; ++v) compare.add(v, v, v);
      const int32_t step = std::max(1, top / 15);
      for (int32_t r = 0; r <= top; r += step) {
        for (int32_t g = 0; g <= top; g += step) {
          for (int32_t b = 0; b <= top; b += step) compare.add(r, g, b);
        }
      }
      test::Random random(static_cast<uint64_t>(bits));
      for (int i = 0; i < 20000; ++i) {
        const int32_t most = std::max(1, top >> random.range(0, bits - 1));  // also near black
        compare.add(random.range(0, most), random.range(0, most), random.range(0, most));
      }
      CHECK(compare.worst <= 1);
      CHECK(compare.not_nearest * 25 < compare.count);
    }
  }
}

// All values of each component alone, and of gray: they are on both sides of each border of segments.
TEST_CASE("xyz: at most one code value from the formulas at every sample, whatever the gamma") {
  for (const int32_t bits : {8, 9, 10, 11, 12, 13, 14, 15, 16}) {
    for (const double gamma : {1.0, 1.3, 1.9, 2.0, 2.2, 2.4, 2.6, 3.4, 3.5, 4.0}) {
      const auto xyz = static_cast<cj2k_xyz>(1 + bits % 4);
      INFO("xyz ", static_cast<int>(xyz), " bits ", bits, " gamma ", gamma);
      Comparison compare(xyz, gamma, bits);
      for (int32_t v = 0; v < 1 << bits; ++v) {
        compare.add(v, v, v);
        compare.add(v, 0, 0);
        compare.add(0, v, 0);
        compare.add(0, 0, v);
      }
      CHECK(compare.worst <= 1);
      CHECK(compare.not_nearest * 11 < compare.count);
    }
  }
}

TEST_CASE("xyz: black, white and what lies beyond") {
  for (const Reference& reference : kReferences) {
    const XyzTables tables = make_xyz_tables(reference.xyz, reference.gamma, 10);
    int32_t x = -512, y = -512, z = -512;
    ref::xyz_row(tables, &x, &y, &z, 1);
    CHECK(x == -2048);
    CHECK(y == -2048);
    CHECK(z == -2048);
    x = y = z = 511;
    ref::xyz_row(tables, &x, &y, &z, 1);
    CHECK(y + 2048 == 3960);  // 4095 * (48 / 52.37)^(1/2.6)
  }
  const float beyond[] = {-1.0f, -0.0f, 0.0f, 1e-30f, 1.0f, 2.0f};
  const int32_t expected[] = {0, 0, 0, 0, 4095, 4095};
  const std::vector<uint32_t> codes = make_xyz_tables(CJ2K_XYZ_REC709, 2.4, 8).codes;
  REQUIRE(codes.size() == XyzCodes::kNumEntries);
  for (size_t i = 0; i < std::size(beyond); ++i) {
    const uint32_t bits = xyz_bits(beyond[i]);
    CHECK(xyz_code(bits, codes[xyz_entry(bits)]) == expected[i]);
  }
}

TEST_CASE("xyz: linear light is within [0, 1) and half a code of the formula, whatever the gamma") {
  for (const int32_t bits : {8, 9, 10, 11, 12, 13, 14, 15, 16}) {
    for (const double gamma : {1.0, 1.5, 2.2, 2.4, 2.6, 2.8, 4.0}) {
      const XyzTables tables = make_xyz_tables(CJ2K_XYZ_P3DCI, gamma, bits);
      INFO("bits ", bits, " gamma ", gamma);
      REQUIRE(tables.linear.size() == size_t{1} << bits);
      CHECK(tables.linear.front() == 0);
      CHECK(std::abs(tables.linear.back() - 1) < 1e-4);
      double worst = 0;  // as a code value of the sample alone
      for (size_t i = 0; i < tables.linear.size(); ++i) {
        const double exact =
            std::pow(static_cast<double>(i) / static_cast<double>(tables.linear.size() - 1), gamma);
        worst = std::max(worst, std::abs(4095 * (std::pow(double{tables.linear[i]}, 1 / 2.6) -
                                                 std::pow(exact, 1 / 2.6))));
      }
      CHECK(worst < (gamma >= 2 && gamma <= 2.6 ? 0.14 : 0.5));
    }
    for (int gamma = 100; gamma <= 400; gamma += 5) {
      const std::vector<float> linear = make_xyz_tables(CJ2K_XYZ_P3DCI, gamma / 100.0, bits).linear;
      INFO("bits ", bits, " gamma ", gamma / 100.0);
      CHECK(*std::min_element(linear.begin(), linear.end()) == 0);
    }
  }
  for (const Reference& reference : kReferences) {
    const XyzMatrix matrix = make_xyz_tables(reference.xyz, reference.gamma, 8).matrix;
    for (int row = 0; row < 3; ++row) CHECK(xyz_linear(matrix, row, 1.001f, 1.001f, 1.001f) < 1);
  }
}

// Vectors round the curve, all else looks the steps up. Within a segment each operation of the curve
// rises with the light. So what holds at the ends of an entry and on both sides of its step holds in
// between.
TEST_CASE("xyz: the table of codes and the rounded curve agree on every float") {
  constexpr uint32_t kSegment = 1u << XyzCurve::kSegmentShift;
  static_assert(kSegment % (1u << XyzCodes::kCoarseShift) == 0);
  static_assert(kSegment % (1u << XyzCodes::kFineShift) == 0);
  const XyzTables tables = make_xyz_tables(CJ2K_XYZ_REC709, 2.4, 8);
  REQUIRE(*std::min_element(tables.curve.slope, std::end(tables.curve.slope)) > 0);
  REQUIRE(*std::min_element(tables.curve.scale, std::end(tables.curve.scale)) > 0);
  const auto rounded = [&](uint32_t bits) {
    float light;
    std::memcpy(&light, &bits, sizeof light);
    return xyz_rounded_curve_at(tables.curve, light);
  };
  int64_t wrong = 0;
  int32_t last = 0;  // code of the float before
  for (uint32_t begin = XyzCodes::kFirst; begin <= XyzCodes::kLast;) {
    const uint32_t size =
        1u << (begin < XyzCodes::kFine ? XyzCodes::kCoarseShift : XyzCodes::kFineShift);
    const uint32_t entry = tables.codes[xyz_entry(begin)];
    const auto code = static_cast<int32_t>(entry % (1u << XyzCodes::kCodeBits));
    const uint32_t step = std::min(entry >> XyzCodes::kCodeBits, size);
    wrong += code < last || code > last + 1;
    if (step > 0) wrong += rounded(begin) != code || rounded(begin + step - 1) != code;
    last = step < size ? code + 1 : code;
    if (step < size) wrong += rounded(begin + step) != last || rounded(begin + size - 1) != last;
    for (const uint32_t bits : {begin, begin + step - 1, begin + step, begin + size - 1}) {
      if (bits < begin || bits >= begin + size) continue;
      wrong += xyz_code(bits, tables.codes[xyz_entry(bits)]) != rounded(bits);
    }
    begin += size;
  }
  CHECK(wrong == 0);
  CHECK(last == 4095);
}

TEST_CASE("xyz: the curve of codes is near the formula") {
  const XyzTables tables = make_xyz_tables(CJ2K_XYZ_REC709, 2.4, 8);
  for (size_t e = 127 - 32; e < 127; ++e) {
    const XyzCurve& curve = tables.curve;
    CHECK(curve.scale[e % 32] == curve.fine[e % 8] * curve.coarse[e / 8 % 8]);
  }
  double worst = 0, worst_dark = 0;
  for (uint32_t bits = XyzCodes::kFirst; bits <= XyzCodes::kLast; bits += 97) {
    float sum;
    std::memcpy(&sum, &bits, sizeof sum);
    const double exact = 4095 * std::pow(std::max(0.0, double{sum} - kXyzBlack), 1 / 2.6);
    double& worst_here = exact < 16 ? worst_dark : worst;
    worst_here = std::max(worst_here, std::abs(xyz_curve_at(tables.curve, sum) - exact));
  }
  CHECK(worst < 0.05);
  CHECK(worst_dark < 0.5);
}

#if !defined(__MINGW32__)  // its fmaf rounds twice
TEST_CASE("xyz: the fused multiply-add is that of the processor") {
  test::Random random(1);
  // Few bits make sums half way between floats; exponents far apart leave little of one part.
  const auto value = [&](int bits, int exponent) {
    const int mantissa = random.range(-(1 << bits), 1 << bits);
    return std::ldexp(static_cast<float>(mantissa), random.range(-exponent, exponent));
  };
  int64_t wrong = 0, twice = 0;
  for (int i = 0; i < 2000000; ++i) {
    const int bits = random.range(1, 24);
    const float a = value(bits, 4), b = value(random.range(1, 24), 4), c = value(bits, 40);
    const float expected = std::fma(a, b, c);
    wrong += xyz_fma(a, b, c) != expected;
    twice += static_cast<float>(double{a} * b + c) != expected;  // rounded twice
  }
  CHECK(wrong == 0);
  CHECK(twice > 0);
}
#endif

TEST_CASE("xyz: the codestream is that of ready-made X'Y'Z'") {
  using namespace test;
  for (const char* wavelet : {"9/7", "5/3"}) {
    for (const char* more : {"mct on", "mct off", "levels 0", "tile 17x40"}) {
      INFO(std::string(wavelet), " ", std::string(more));
      const std::string setting(more);
      const size_t space = setting.find(' ');
      cj2k_params coded = make_params(70, 41, 3, 12);
      set(coded, "wavelet", wavelet);
      set(coded, setting.substr(0, space).c_str(), setting.substr(space + 1));
      cj2k_params source = make_params(70, 41, 3, 10);
      const Picture rgb = make_picture(source, Content::kTexture, 3);
      Picture xyz = picture_shape(coded);
      const XyzTables tables = make_xyz_tables(CJ2K_XYZ_P3D65, 2.6, 10);
      for (size_t i = 0; i < rgb.components[0].samples.size(); ++i) {
        int32_t pixel[3];
        for (size_t c = 0; c < 3; ++c) pixel[c] = rgb.components[c].samples[i] - 512;
        cj2k::ref::xyz_row(tables, pixel, pixel + 1, pixel + 2, 1);
        for (size_t c = 0; c < 3; ++c) xyz.components[c].samples[i] = pixel[c] + 2048;
      }
      const std::vector<uint8_t> expected = encode(coded, xyz).bytes;
      set(coded, "xyz", "p3d65");
      set(coded, "source_depth", "10");
      for (const FrameLayout& layout : {FrameLayout{}, FrameLayout{2, 6, true, true, 10}})
        CHECK(encode(coded, rgb, layout).bytes == expected);
    }
  }
}

}  // namespace
}  // namespace cj2k
