// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Part 15 (T.814, HTJ2K): what CAP and CPF claim, and the cleanup pass of an HT code-block.
#pragma once

#include <optional>

#include "codestream.h"

namespace cj2k_check {

/// Ccap15 of the CAP marker segment, if Pcap has Part 15.
struct Ccap15 {
  uint16_t bits;
  uint32_t blocks() const { return bits >> 14; }  ///< 0 HTONLY, 1 HTDECLARED, 3 MIXED
  bool many_sets() const { return (bits & 0x2000) != 0; }
  bool regions() const { return (bits & 0x1000) != 0; }
  bool heterogeneous() const { return (bits & 0x0800) != 0; }
  bool irreversible() const { return (bits & 0x20) != 0; }
  /// Magnitudes in cleanup passes are below 2^B.
  uint32_t magnitude_bits() const {
    const uint32_t p = bits & 0x1F;
    return p < 20 ? p + 8 : p < 31 ? 4 * (p - 19) + 27 : 74;
  }
};
std::optional<Ccap15> ccap15_of(const Codestream& codestream);

/// Whether COD and CAP, CAP and the headers, CPF and Rsiz agree.
void check_capabilities(const Codestream& codestream, Report& report);

inline constexpr uint32_t kLeastCleanupBytes = 2, kMostCleanupBytes = 65534,
                          kMostRefinementBytes = 2046, kMostTailBytes = 4079;

/// The bytes of MEL and VLC as the end of a cleanup segment of at least 2 bytes says (Scup).
inline uint32_t cleanup_tail_bytes(Bytes cleanup) {
  return cleanup[cleanup.size() - 1] * 16u + (cleanup[cleanup.size() - 2] & 15u);
}

/// The bits of the largest magnitude in a cleanup pass; none where the bytes are no such pass.
/// cleanup_tail_bytes is within its bounds.
std::optional<uint32_t> cleanup_magnitude_bits(Bytes cleanup, uint32_t width, uint32_t height);

}  // namespace cj2k_check
