// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Decoding of one EBCOT code-block (T.800 Annexes C and D), to prove what was written
// (run/frame_proof.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/orientation.h"

namespace cj2k {

/// The bytes of one codeword segment, and the passes that it holds.
struct CodedSegment {
  std::span<const uint8_t> bytes;
  int passes;
};

/// Working memory of one thread, about 30 KB.
class EbcotDecoder {
 public:
  struct Block {
    int width, height;  ///< 1 .. 1024, product at most 4096
    Orientation orientation;
    uint32_t style;  ///< CJ2K_STYLE_*
    int bit_planes;  ///< 1 .. 31: M_b less the zero bit-planes of the packet header
  };

  EbcotDecoder();
  ~EbcotDecoder();

  /// Decodes the passes of the segments, in order. Bytes that a segment lacks are ones (D.4.1).
  /// Deterministic: yes. Allocates: no.
  /// @param segments  their passes are at most num_passes_of(bit_planes) together
  /// @param samples   [height][width] result: the bits that the passes make known, bit 31 = sign
  /// @return false: a segmentation symbol is wrong (SEGSYM, D.5)
  bool decode(const Block& block, std::span<const CodedSegment> segments, uint32_t* samples);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cj2k
