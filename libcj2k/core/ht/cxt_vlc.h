// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The variable-length codes of the HT cleanup pass, as an encoder needs them: CxtVLC by context and
// quad (T.814 Annex C), U-VLC by value, and the adaptive run-length code of the MEL coder.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/hd.h"
#include "core/ht/cxt_vlc_rows.h"

namespace cj2k {

/// A codeword, with what it says of a quad.
struct CxtVlcWord {
  uint8_t codeword;  ///< its first bit is the lowest
  uint8_t length;    ///< bits; 0: no such quad
  uint8_t known;     ///< e_k: samples of which the codeword says whether their exponent is U
};
/// Index of a quad: context c_q, significant samples, and samples whose exponent is U if u > 0.
CJ2K_HD constexpr uint32_t cxt_vlc_index(uint32_t c_q, uint32_t rho, uint32_t eps) {
  return c_q << 8 | rho << 4 | eps;
}
using CxtVlcTable = std::array<CxtVlcWord, 2048>;

namespace internal {
/// Where several rows describe a quad, the one that says most of it is taken, since each sample in
/// e_k saves a bit; among equals, the last one.
constexpr CxtVlcTable make_cxt_vlc(std::span<const CxtVlcRow> rows) {
  CxtVlcTable table{};
  for (const CxtVlcRow& row : rows) {
    for (uint32_t eps = 0; eps < 16; ++eps) {
      if ((eps & ~uint32_t{row.rho}) != 0 || (eps != 0) != (row.u_off != 0)) continue;
      if ((eps & row.e_k) != row.e_1) continue;
      CxtVlcWord& word = table[cxt_vlc_index(row.c_q, row.rho, eps)];
      if (word.length > 0 && std::popcount(row.e_k) < std::popcount(word.known)) continue;
      word = {row.codeword, row.length, row.e_k};
    }
  }
  return table;
}
}  // namespace internal

inline constexpr CxtVlcTable kCxtVlcFirst = internal::make_cxt_vlc(kCxtVlcFirstRows);
inline constexpr CxtVlcTable kCxtVlcOther = internal::make_cxt_vlc(kCxtVlcOtherRows);

/// The three parts of a U-VLC codeword, each with its first bit lowest.
struct UVlcWord {
  uint8_t prefix, prefix_bits;
  uint8_t suffix, suffix_bits;
  uint8_t extension, extension_bits;
};
/// Samples have at most 31 bits, so U is at most 32.
inline constexpr uint32_t kMaxHtExponent = 32;
CJ2K_HD constexpr UVlcWord uvlc_word(uint32_t u) {
  if (u == 0) return {};
  if (u == 1) return {1, 1, 0, 0, 0, 0};
  if (u == 2) return {2, 2, 0, 0, 0, 0};
  if (u <= 4) return {4, 3, static_cast<uint8_t>(u - 3), 1, 0, 0};
  if (u <= 32) return {0, 3, static_cast<uint8_t>(u - 5), 5, 0, 0};
  return {0, 3, static_cast<uint8_t>(28 + (u - 33) % 4), 5, static_cast<uint8_t>((u - 33) / 4), 4};
}

/// Runs of the MEL coder in state k: 2^kMelExponents[k] events.
inline constexpr uint8_t kMelExponents[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
inline constexpr uint32_t kMelStates = sizeof kMelExponents;

}  // namespace cj2k
