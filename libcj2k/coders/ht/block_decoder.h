// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Decoding of one HT code-block (T.814), to prove what was written (run/frame_proof.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace cj2k {

/// Working memory of one thread, about 50 KB.
class HtDecoder {
 public:
  struct Block {
    int width, height;  ///< 1 .. 1024, product at most 4096
    int plane;          ///< of the cleanup pass, 0 .. 30
    int passes;         ///< 1 .. 3: cleanup, SigProp, MagRef; 1 if plane is 0
    bool is_causal;     ///< VSC
  };

  HtDecoder();
  ~HtDecoder();

  /// Deterministic: yes. Allocates: no.
  /// @param refinement  the segment of SigProp and MagRef
  /// @param samples     [height][width] result: the bits that the passes make known, bit 31 = sign
  /// @return false: the bytes are not those of such a block
  bool decode(const Block& block, std::span<const uint8_t> cleanup,
              std::span<const uint8_t> refinement, uint32_t* samples);
  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cj2k
