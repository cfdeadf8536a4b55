// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One code-block from the bytes of one block coder to those of the other.
//
// A decoder knows of each sample its sign and its magnitude down to some plane. Where a block ends with a
// cleanup pass of plane p, of either coder, this is p for all samples. Where it ends with the
// significance or refinement pass of plane p, it is p for the samples of these passes and p + 1 for the
// others. SigProp and MagRef of T.814 have the same samples as these two passes of T.800, so each end
// of a block in one coder is an end in the other, with the same planes known of each sample.
#pragma once

#include <cstdint>
#include <memory>

#include "coders/ebcot/tier1.h"
#include "coders/ht/ht_block.h"
#include "core/hull.h"
#include "packets/packet_blocks.h"

namespace cj2k::transcoding {

/// What the packets of the layers up to one hold of a block.
struct LayerEnd {
  uint16_t layer;
  uint8_t passes;  ///< more than those of the layer end before
  uint32_t bytes;
};

/// A block as packets will have it.
struct RecodedBlock {
  std::unique_ptr<uint8_t[]> bytes;
  uint32_t first_bytes = 0;  ///< of the first codeword segment
  uint32_t rest_bytes = 0;   ///< of the second one: SigProp and MagRef
  uint8_t passes = 0;        ///< 0: no sample is known to be other than 0; no packet has the block
  uint8_t zero_bit_planes = 0;
  /// [num_cuts] where the block may end, if that was asked for. The last one is the whole block.
  std::unique_ptr<HullPoint[]> cuts;
  uint8_t num_cuts = 0;
  /// [num_ends] the layers with passes of the block, if it has passes; the last one has the whole block
  std::unique_ptr<LayerEnd[]> ends;
  uint8_t num_ends = 0;

  uint32_t num_bytes() const { return first_bytes + rest_bytes; }
  /// Ends the block after `count` of its cuts.
  void end_at(int count) {
    passes = count == 0 ? 0 : static_cast<uint8_t>(cuts[count - 1].passes);
    first_bytes = count == 0 ? 0 : cuts[count - 1].length_bytes;
  }
};

/// One code-block at a time. What needs a block coder of T.800 is coded outside, so that many blocks can be
/// coded at once, each with a recoder of its own (about 120 KB).
class BlockRecoder {
 public:
  /// Working memory that the recoders of one thread share, about 200 KB.
  struct Shared {
    ReadBlockDecoder decoder;
    uint32_t decoded[kMaxBlockSamples];
    uint8_t cleanup[kMaxHtCleanupBytes];
    uint8_t sig_prop[kMaxHtRefinementBytes], both[kMaxHtRefinementBytes];
  };
  /// `shared` must outlive it. Throws std::bad_alloc.
  explicit BlockRecoder(Shared& shared);
  struct Band {
    int most_planes;     ///< M_b and the shift of a region of interest
    bool is_reversible;  ///< the 5/3
    double weight;       ///< squared error of the picture per squared unit; 0: no cuts
    bool has_layers;     ///< those of the input; false: one
  };
  /// Decodes a block, and codes it to HT. To T.800 the caller codes task(), if has_task(), and calls end().
  /// packets and block must live until then. Throws std::bad_alloc.
  /// @return null; or why not
  const char* begin(const PacketBlocks& packets, const ReadBlock& block,
                    ReadBlockDecoder::Shape shape, const Band& band, bool to_ht, RecodedBlock& out);
  bool has_task() const { return has_task_; }
  Tier1Task task() { return {block_, &coded_, nullptr}; }
  void end(RecodedBlock& out);

 private:
  /// What is known of the samples of a block.
  struct Known {
    int lowest;  ///< plane
    int more;  ///< passes of this plane after a cleanup pass of the plane above; 0: the plane is whole
  };
  static Known known_of(int passes, const ReadBlockDecoder::Shape& shape);
  /// Passes of T.800 that make this known of the block, of which `whole` is known.
  int num_passes(const Known& known, const Known& whole) const;
  const char* code_ht(const Known& known, int most_planes, RecodedBlock& out);
  void keep(const uint8_t* first, uint32_t first_bytes, const uint8_t* rest, uint32_t rest_bytes,
            RecodedBlock& out) const;
  static uint32_t prefix_of(const RecodedBlock& block, uint32_t least);
  void end_layers(const PacketBlocks& packets, const ReadBlock& block, const Known& whole,
                  bool has_layers, bool to_ht, RecodedBlock& out) const;

  Shared& shared_;
  ReadBlockDecoder::Shape shape_{};
  Band band_{};
  Known known_{};
  const PacketBlocks* packets_ = nullptr;  ///< of the block
  const ReadBlock* read_ = nullptr;
  std::unique_ptr<uint32_t[]> samples_;  ///< decoded, without the planes that are not known
  ptrdiff_t stride_ = 0;
  int bit_planes_ = 0;  ///< of samples_, without the plane of middles
  bool has_middles_ = false, has_task_ = false;
  Tier1Block block_{};
  std::unique_ptr<uint8_t[]> bytes_;  ///< of a block of T.800, after one more byte
  CodingPass passes_[kMaxPasses];
  PassTail tails_[kMaxPasses];
  Tier1Output coded_{};
};

}  // namespace cj2k::transcoding
