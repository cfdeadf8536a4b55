// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Films of small random frames, from curves to packets: by one budget, and by a mean and a reservoir.
#pragma once

#include <cstdint>

namespace cj2k::test {

/// What the packets of films left unused.
struct FilmUse {
  int64_t frames = 0;
  int64_t most_left = 0;      ///< of a frame's target
  int64_t left = 0, all = 0;  ///< of all targets
};

/// Encodes films by one budget and by lookahead, in turn, until `frames` frames have been coded. REQUIREs
/// that no packet is above its target or its caps, none below its floor, no total above its budget, and
/// that at no frame the mean or the reservoir is exceeded.
FilmUse soak_films(const char* coder, int64_t frames, uint64_t seed);

}  // namespace cj2k::test
