// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The arithmetic of RDOQ for a cleanup pass (coders/ht/ht_rdoq.h has the model), and the order of its
// changes. Both backends have them from here, but for R of a quad: the device takes one quad at a time, as
// it is here, and coders/ht/ht_rdoq_simd.cc a vector of quads.
//
// Order. A change of a quad alters the bits of four quads: its own, the one at its right, and two below. To
// know these bits takes quads that are up to two columns and one row away. So quads four columns or two rows
// apart do not see each other: eight groups of such quads come one after the other, and in a group all quads
// may change at once. Three columns would do, but vectors part four with fewer instructions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/hd.h"
#include "core/ht/cxt_vlc.h"
#include "core/ht/plane_choice.h"
#include "core/slope.h"

namespace cj2k {

/// Most cleanup planes of a block that RDOQ codes once more.
inline constexpr int kMostHtRdoqPlanes = 2;

/// Whether RDOQ changes the samples of a cleanup pass: of the two planes beside S
/// (core/ht/plane_choice.h), where lambda is ln 2 / 6 of S^2. Others gain nothing.
/// @param lambda  squared units of the quantised coefficient per bit
/// @param both    else of plane floor(log2 S) alone, which gains most where the steps suit the slope
CJ2K_HD constexpr bool is_ht_rdoq_plane(double lambda, int plane, bool both) {
  constexpr double kWhole = 0.1155245;  // S = 2^p
  const double whole = kWhole * static_cast<double>(uint64_t{1} << 2 * plane);
  return both ? lambda >= whole / 2 && lambda < 8 * whole : lambda >= whole && lambda < 4 * whole;
}

/// The planes of a block that RDOQ codes once more: `first` and those below it.
struct HtRdoqPlanes {
  int first, count;
};
CJ2K_HD constexpr HtRdoqPlanes ht_rdoq_planes(double lambda, const HtPlanes& planes, bool both) {
  HtRdoqPlanes of{0, 0};
  if (lambda == 0) return of;
  for (int plane = planes.lowest; plane < planes.end; ++plane) {
    if (is_ht_rdoq_plane(lambda, plane, both)) of = {plane, of.count + 1};
  }
  return of;
}

namespace ht_rdoq_model {

/// Quads of a group: first_column, first_column + kColumns, and so on; rows likewise.
inline constexpr int kGroups = 8, kColumns = 4, kRows = 2;
CJ2K_HD constexpr int first_column(int group) { return group % kColumns; }
CJ2K_HD constexpr int first_row(int group) { return group / kColumns; }

inline constexpr int kFraction = 10;  ///< fractional bits of values, in units of 2^p
inline constexpr int kBitCost = 256;  ///< R of one bit
/// Hardly a change saves more bits, so dearer ones are not tried.
inline constexpr int64_t kMostSaved = 16 * kBitCost;
/// The other quads seldom save more.
inline constexpr int64_t kNearSaved = 2 * kBitCost;
/// Magnitudes above stay as they are.
inline constexpr uint32_t kMostMagnitude = 1 << 12;

/// Coefficients count as no further above their magnitude than four units of 2^p. So D of a change has 24
/// bits.
inline constexpr uint32_t kMostExcess = 4 << kFraction;

/// D for each unit of R at plane p. A lambda above 4^p counts as that: is_ht_rdoq_plane has none.
CJ2K_HD constexpr int64_t lambda_units(double lambda, int plane) {
  constexpr int64_t kMost = (int64_t{1} << 2 * kFraction) / kBitCost;
  const auto exponent = static_cast<uint64_t>(1023 + 2 * (kFraction - plane));
  const double units = lambda * std::bit_cast<double>(exponent << 52) / kBitCost + 0.5;
  return units < kMost ? static_cast<int64_t>(units) : kMost;
}
/// What a magnitude adds to D in place of another one.
/// @param half   from a magnitude to what a decoder shows
/// @param value  |coefficient| in 2^p / 2^kFraction
CJ2K_HD_INLINE constexpr int64_t added_error(uint32_t from, uint32_t to, int32_t half,
                                             uint32_t value) {
  const int64_t before = from == 0 ? 0 : (int64_t{from} << kFraction) + half;
  const int64_t after = to == 0 ? 0 : (int64_t{to} << kFraction) + half;
  const uint32_t most = (from << kFraction) + kMostExcess;
  return (after - before) * (after + before - 2 * int64_t{value < most ? value : most});
}
/// From a magnitude to what a decoder shows; 0 where samples of the 5/3 are exact.
CJ2K_HD constexpr int32_t shown_half(bool reversible, int plane) {
  return reversible && plane == 0 ? 0 : 1 << (kFraction - 1);
}
/// A magnitude that changes.
CJ2K_HD_INLINE constexpr uint32_t changed_magnitude(uint32_t magnitude) {
  return magnitude == 0 ? 1 : magnitude - 1;
}
/// A sample whose magnitude at plane p changes. The bits below p are all 1 if it went down, and 0 if it
/// went up; so SigProp and MagRef move it back. The sign stays.
/// @param sign  bit 31, of a coefficient whose sample is 0 and has none
CJ2K_HD constexpr uint32_t changed_sample(uint32_t sample, uint32_t sign, int plane) {
  const uint32_t above = (sample & 0x7FFFFFFFu) >> plane;
  const uint32_t magnitude = above == 0 ? 1u << plane : (above << plane) - 1;
  return magnitude == 0 ? 0 : magnitude | (sample & 0x80000000u) | sign;
}

/// Four bytes below 128, those of the samples of a quad in the order of coding: lowest byte first.
using QuadBytes = uint32_t;
inline constexpr uint32_t kEachByte = 0x01010101;
/// Bit k: the lowest bit of byte k.
CJ2K_HD_INLINE constexpr uint32_t low_bits(QuadBytes bytes) {
  return (bytes & kEachByte) * 0x01020408 >> 24 & 15;
}
/// Bit k: byte k is not 0.
CJ2K_HD_INLINE constexpr uint32_t nonzero_bytes(QuadBytes bytes) {
  return low_bits((bytes + 0x7F * kEachByte) >> 7);
}
CJ2K_HD_INLINE constexpr uint32_t byte_of(QuadBytes bytes, int k) { return bytes >> 8 * k & 0xFF; }
CJ2K_HD_INLINE constexpr uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
CJ2K_HD_INLINE constexpr uint32_t largest_byte(QuadBytes bytes) {
  return larger(larger(byte_of(bytes, 0), byte_of(bytes, 1)),
                larger(byte_of(bytes, 2), byte_of(bytes, 3)));
}
CJ2K_HD_INLINE constexpr int popcount4(uint32_t bits) {
  return static_cast<int>(0x4332322132212110u >> 4 * bits & 7);
}

/// What the codewords of a quad depend on beside its own samples.
struct Around {
  uint32_t context;  ///< c_q
  uint32_t kappa;    ///< if several samples are significant, else 1
};
/// Of a quad in the first row. @param left  the significant samples of the quad at its left
CJ2K_HD constexpr Around around_in_first_row(uint32_t left) {
  return {((left & 3) != 0 ? 1u : 0u) | (left >> 2) << 1, 1};
}
/// Of a quad in another row.
/// @param a, b, c, d  exponents above: left of the quad, its columns, right of it
CJ2K_HD_INLINE constexpr Around around_below(uint32_t left, uint32_t a, uint32_t b, uint32_t c,
                                             uint32_t d) {
  return {((a | b) != 0 ? 1u : 0u) | (left > 3 ? 2u : 0u) | ((c | d) != 0 ? 4u : 0u),
          larger(larger(larger(a, b), larger(c, d)), 2) - 1};
}

/// The codewords of a quad with these exponents.
struct QuadWords {
  uint32_t rho;
  uint32_t index;  ///< cxt_vlc_index
  uint32_t u;
  uint32_t bound;  ///< U
  /// Bits but for those of the CxtVLC codeword and of U-VLC; the codeword saves one bit of each sample that
  /// it knows.
  CJ2K_HD_INLINE constexpr int value_bits() const {
    return popcount4(rho) * static_cast<int>(bound);
  }
};
CJ2K_HD_INLINE constexpr QuadWords quad_words(const Around& around, QuadBytes exponents) {
  const uint32_t rho = nonzero_bytes(exponents), largest = largest_byte(exponents);
  const uint32_t kappa = (rho & (rho - 1)) != 0 ? around.kappa : 1;
  const uint32_t bound = larger(largest, kappa), u = bound - kappa;
  const uint32_t eps = (nonzero_bytes(exponents ^ (largest * kEachByte)) ^ 15) & (u > 0 ? 15 : 0);
  return {rho, cxt_vlc_index(around.context, rho, eps), u, bound};
}
/// R of a MEL event. @param events  [2] of each kind in the block
CJ2K_HD constexpr int32_t mel_cost(const uint32_t* events, int kind) {
  // Half an event of each kind more, so that no cost is infinite.
  return log_slope(2 * (events[0] + events[1]) + 2, 2 * events[kind] + 1) - kSlopeUnit;
}
/// Bits of the U-VLC codeword of u, 0 .. kMaxHtExponent.
CJ2K_HD constexpr int u_bits(uint32_t u) {
  const UVlcWord word = uvlc_word(u);
  return word.prefix_bits + word.suffix_bits + word.extension_bits;
}

}  // namespace ht_rdoq_model

}  // namespace cj2k
