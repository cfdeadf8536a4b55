// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace cj2k::cuda {

/// How many entries a call will have, from those of the last call of its kind, so that they can be
/// downloaded before their number is known.
class EntryGuess {
 public:
  explicit EntryGuess(uint32_t per_block) : per_256_blocks_(uint64_t{256} * per_block) {}
  uint32_t of(uint32_t num_blocks, uint32_t most) const {
    const uint64_t last = num_blocks * per_256_blocks_ / 256;
    return static_cast<uint32_t>(std::min<uint64_t>(last + last / 4 + 1, most));
  }
  void learn(uint32_t num_blocks, uint32_t entries) {
    if (num_blocks > 0) per_256_blocks_ = (uint64_t{256} * entries + num_blocks - 1) / num_blocks;
  }

 private:
  uint64_t per_256_blocks_;
};

}  // namespace cj2k::cuda
