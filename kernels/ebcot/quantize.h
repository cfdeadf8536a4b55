// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From coefficients to the input of EBCOT: the signs and bit-planes of every code-block.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// One code-block. Its bit-planes are 64-bit words in scan order. A word holds 16 columns of one
/// stripe of 4 rows: bit = 4 * column + row, index = stripe * words_wide + word. Bits outside the
/// block are 0. From first_word on:
///
///   | sign | plane b - 1 | ... | plane 0 | not written ...      b = bit-planes of the block
///   0      plane_words   2 * plane_words            (max_bit_planes + 1) * plane_words
struct alignas(16) QuantizeJob {
  uint64_t source;         ///< offset of the first coefficient in the frame's samples
  uint64_t first_word;     ///< offset in the frame's words; even
  uint32_t stride;         ///< in samples
  uint16_t width, height;  ///< in samples
  float inverse_step;      ///< 1 / quantiser step; not used with 5/3
  uint8_t max_bit_planes;
  uint8_t words_wide;    ///< ceil(width / 16)
  uint16_t plane_words;  ///< words_wide * ceil(height / 4)
};
struct BitPlanes {
  uint64_t* words;  ///< frame f at f * frame_words; 16-byte aligned
  uint64_t frame_words;
  /// [frame][num_jobs] bitwise OR of the magnitudes of a block. Its bit width is the number of
  /// bit-planes. For a block with 0, no words are written.
  uint32_t* magnitudes;
};
/// Turns the coefficients of all frames into sign and magnitude (pixels/quantize.h), and those into
/// bit-planes.
/// @param jobs  [num_jobs] in device memory
Status quantize53(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                  const Samples& samples, const BitPlanes& planes);
Status quantize97(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                  const Samples& samples, const BitPlanes& planes);

}  // namespace cj2k::cuda
