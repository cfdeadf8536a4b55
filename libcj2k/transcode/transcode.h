// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From one block coder to the other, without a wavelet: packets are read, each code-block is decoded to
// its quantised coefficients and coded again, and packets are written. What headers say of picture,
// tiles, wavelet, quantisation and packets stays, byte for byte. With a cap the code-blocks end
// earlier, all at one slope of squared error over bytes, which is found from the coefficients.
//
//   codestream.h     headers in, headers out
//   tile_layout.h    geometry of a tile, order of its packets
//   packets/packet_blocks.h   packets in
//   block_recoder.h  one code-block
//   tile_writer.h    packets out
//
// Memory: the input, the output, and the code-blocks of one tile as bytes; with a cap those of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"

namespace cj2k {

struct TranscodeOptions {
  cj2k_coder coder;          ///< AUTO: the one that the input does not have; with max_bytes EBCOT
  bool keeps_layers = true;  ///< false: all become one
  int threads = 1;
  uint64_t max_bytes = 0;  ///< 0, or of the output, whose code-blocks are then cut
  uint64_t most_blocks = uint64_t{1} << 23;  ///< code-blocks in a tile
};

/// Transcodes a codestream, or a file with JP2 boxes around one. Deterministic: yes, with any number of
/// threads. Throws std::bad_alloc.
/// @return kOk
///         kInvalid: the input is damaged, or no JPEG 2000
///         kNotSupported: Part 2, HT with a region of interest, ...
Status transcode(std::span<const uint8_t> input, const TranscodeOptions& options, const Log& log,
                 std::vector<uint8_t>* output);

}  // namespace cj2k
