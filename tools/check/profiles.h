// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the profiles of T.800 A.10 allow, as a table, and the check of a codestream against a row.
#pragma once

#include <string>

#include "codestream.h"

namespace cj2k_check {

enum class Sampling { kAny, kNone, kPowersOfTwo, kHorizontalChroma, kChroma };
enum class Tiling { kAny, kOne, kOneOr128, kOneOr1024, kPowersFrom1024, kOneOrFour };
enum class Blocks { kAny, k32, k32Or64, kAtMost64, k32To128, k32To128x64 };
enum class Parts { kAny, kByComponent, kCinema4k, kFirstPartsFirst, kByResolution };
enum class PartFifteen { kNone, kImf, kDicom, kDicomLossless, kDicomRpcl };
enum class Order { kAny, kNone, kCinema4k, kFromZero };
enum class Rate { kNone, kCinema, kImf, kBroadcast };

inline constexpr int kAnyValue = -1;

/// A profile. `kAnyValue`, or 0 for sizes and numbers of things: not restricted.
struct Profile {
  const char* name;
  const char* clause;
  uint16_t rsiz, rsiz_mask;  ///< (Rsiz & mask) == rsiz
  uint32_t width, height;    ///< at most
  uint32_t min_components, max_components;
  uint32_t min_depth, max_depth;  ///< unsigned, if there is a limit
  Sampling sampling;
  bool zero_origin;
  Tiling tiling;
  uint32_t max_tile;  ///< kPowersFrom1024
  int transform;
  uint32_t min_levels, max_levels;
  Blocks blocks;
  uint8_t block_styles;    ///< that may be set
  bool precincts_128_256;  ///< 128 at the lowest resolution, 256 at the others
  bool lowest_128;  ///< LL has at most 128x128 samples; one precinct in resolutions of that size
  int progression, layers, mct, guard_bits, scod;
  Parts parts;
  bool tlm;
  Order poc;
  Rate rate;
  const uint16_t* forbidden;                 ///< markers, up to 0
  const uint16_t* known;                     ///< the only markers, up to 0; null: all
  bool cod_in_main_only;                     ///< COD, COC, QCD, QCC
  PartFifteen part_15 = PartFifteen::kNone;  ///< with HT code-blocks
};

/// The profile of that name, or null. The names end with a null name in `kProfiles`.
const Profile* find_profile(const std::string& name);
/// The profile that Rsiz names, or null. Part 15 alone names none.
const Profile* profile_of(uint16_t rsiz);
/// All names, separated by '|'.
std::string profile_names();

struct FrameRate {
  uint64_t numerator = 24, denominator = 1;
  /// floor(megabits * 10^6 / 8 / rate)
  uint64_t bytes(uint64_t megabits) const { return megabits * 125000 * denominator / numerator; }
  std::string text() const;
};

struct RateRule {
  FrameRate fps;
  uint64_t cinema_megabits = 250;
};

/// Checks one frame that has been parsed, with its packets.
void check_profile(const Profile& profile, const RateRule& rate, const Codestream& codestream,
                   Report& report);
/// The part of check_profile that concerns bytes: caps of frame and component, levels.
void check_profile_rate(const Profile& profile, const RateRule& rate, const Codestream& codestream,
                        Report& report);

}  // namespace cj2k_check
