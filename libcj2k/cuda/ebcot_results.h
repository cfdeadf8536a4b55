// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How blocks that EBCOT has coded on the device come to the host: results, hulls, and the bytes that are
// probably chosen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/block_coder.h"
#include "cuda/block_lists.h"
#include "cuda/device_rdoq.h"
#include "cuda/entry_guess.h"

namespace cj2k::cuda {

/// A list of blocks in device memory, and the same numbers on the host.
struct ListedBlocks {
  Tier1List list;
  const uint32_t* numbers;
};

/// Which bytes come with the results: of the points that reach these thresholds, or of all points.
struct BytesWanted {
  bool any;
  const uint16_t* thresholds;  ///< on the device; null: of all points
};

/// Part of the EBCOT block coder of a GOP: writes CudaGopWork::block. Work is enqueued in work.stream.
class EbcotResults {
 public:
  /// @param rdoq  of plans with RDOQ, else null; must outlive it
  EbcotResults(const DeviceCoderSetup& setup, const DeviceRdoq* rdoq);

  /// A new GOP: no block has been coded.
  void begin();
  /// Before a call: forgets the blocks of the GOP before, where the call does not write all of them.
  void begin_call(CudaGopWork& work, std::span<const BlockRequest> requests);
  /// Forgets the blocks of a frame, if they are those of the GOP before.
  void forget(CudaGopWork& work, uint32_t frame);
  /// The blocks of a frame are coded anew.
  void begin_frame(uint32_t frame) { begins_[frame] = 1; }
  /// Blocks of the frames have been coded.
  void end(std::span<const BlockRequest> requests) {
    for (const BlockRequest& request : requests) begins_[request.frame] = 0;
  }

  /// Downloads the results, the hulls and the bytes that are wanted, waits (twice, if there is more than
  /// was guessed), and fills the CodedBlocks.
  /// @param from  of tier1_hull, in the order of the list
  Status bring(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1Output& from,
               const ListedBlocks& listed, const BytesWanted& wanted);

  /// Bytes of a block at CodedBlock::data.
  uint32_t here_bytes(uint32_t number) const { return here_bytes_[number]; }

 private:
  /// Packed bytes in host memory.
  struct Packed {
    const PackedBytes* blocks;  ///< null: there are none
    uint8_t* bytes;
  };
  Status pack(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1Output& from,
              const Tier1List& list, const BytesWanted& wanted, Packed* packed);
  Status bring_hulls(CudaGopWork& work, const Tier1Output& from, uint32_t num_blocks,
                     ListOutput* result);
  Status download_hulls(CudaGopWork& work, const Tier1Output& from, const uint32_t* counts,
                        ListOutput* result) const;
  Status fill(CudaGopWork& work, const ListedBlocks& listed, const ListOutput& output,
              const Packed& packed);
  uint64_t hull_bytes(uint64_t points, uint64_t segments) const;
  const Tier1Job& job_of(uint32_t number) const;
  uint32_t style() const { return static_cast<uint32_t>(s_.plan.params.cblk_style); }

  const DeviceCoderSetup s_;
  const EbcotMemory& m_ = s_.memory.ebcot;
  const EbcotMemory& p_ = s_.pinned.ebcot;
  const DeviceRdoq* const rdoq_;
  std::vector<uint8_t> begins_;       ///< [frame] 1: no block of it has been coded in this GOP
  std::vector<uint32_t> here_bytes_;  ///< of each block of the GOP

  // For all blocks of frames, and for blocks that resume.
  struct Guesses {
    EntryGuess points{kFirstGuess}, segments{kFirstGuess};
    EntryGuess bytes{kFirstByteGuess};  ///< in units of 16
  } guesses_[2];
  bool resumes_ = false;  ///< the call in progress is for blocks that resume
  static constexpr uint32_t kFirstGuess = 6, kFirstByteGuess = 64;
};

}  // namespace cj2k::cuda
