// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Rate control and packets of a GOP on the device, and what comes back of its frames: no hull points,
// but their tile-parts and the error that is left of each block.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cuda/block_coder.h"
#include "kernels/rate/allocate.h"
#include "rate/frame_result.h"

namespace cj2k::cuda {

/// A bit for each frame of the requests.
uint64_t frames_of(std::span<const BlockRequest> requests);

/// What a block coder leaves for rate control, in device memory.
struct DeviceBlocks {
  RateInput blocks;
  uint64_t hull_room;  ///< entries of RateInput::hull
  uint32_t* totals;    ///< [kTotals] Tier1Output::totals
  const uint8_t* bytes;
  uint64_t frame_bytes;          ///< of `bytes`
  const uint8_t* paused_passes;  ///< PacketInput::paused_passes
  uint8_t* tile_parts;           ///< written
  uint64_t tile_part_room;       ///< in bytes
};

/// Part of a block coder. Work is enqueued in work.stream.
class DeviceRate {
 public:
  /// @param totals  [kTotals] in page-locked memory
  DeviceRate(const DeviceCoderSetup& setup, const Span<uint32_t>& totals);

  /// Whether the frames of a call can be allocated on the device.
  bool allocates(std::span<const BlockRequest> requests) const;
  /// Allocates the frames, from hulls by number.
  /// @param again  only the frames of which blocks went on
  Status allocate(CudaGopWork& work, std::span<const BlockRequest> requests,
                  const DeviceBlocks& from, bool again);
  /// Writes the tile-parts, downloads everything that `take` needs, records work.end and waits for it;
  /// a second time if the tile-parts take more room than was guessed.
  Status bring_and_wait(CudaGopWork& work, std::span<const BlockRequest> requests,
                        const DeviceBlocks& from);
  /// After the wait.
  const RateOutcome& outcome(const CudaGopWork& work, uint32_t frame) const {
    return p_.outcomes.in(work.pinned)[frame];
  }
  /// After the wait: sets BlockOutcome::result of the frames that are final.
  /// @return whether all are final
  bool take(CudaGopWork& work, std::span<BlockRequest> requests, const DeviceBlocks& from);
  /// In device memory.
  RateOutcome* outcomes(const CudaGopWork& work) const { return m_.outcomes.in(work.device); }
  /// Frames of the call in progress, up to the last one that is requested.
  static uint32_t num_frames(std::span<const BlockRequest> requests) {
    return requests.back().frame + 1;
  }

 private:
  RatePlan rate_plan() const;
  uint32_t room_of(CudaGopWork& work, std::span<const BlockRequest> requests,
                   const DeviceBlocks& from) const;
  Status bring(CudaGopWork& work, std::span<const BlockRequest> requests, const DeviceBlocks& from,
               uint32_t room);
  uint32_t more_room(CudaGopWork& work, const DeviceBlocks& from) const;
  FrameResult result_of(const CudaGopWork& work, const BlockRequest& request,
                        const RateOutcome& outcome) const;
  uint64_t most_units(const CudaGopWork& work, const DeviceBlocks& from) const;
  uint64_t taken_bytes() const { return std::max<uint64_t>(room_, 1) * kUnit; }

  static constexpr uint64_t kUnit = 16;

  const DeviceCoderSetup s_;
  const RateMemory& m_ = s_.memory.rate;
  const RateMemory& p_ = s_.pinned.rate;
  const Span<uint32_t> totals_;
  std::vector<FrameResult> results_;  ///< [gop]
  uint32_t room_ = 0;                 ///< for the tile-parts, in units of 16
  uint8_t* bytes_ = nullptr;          ///< the tile-parts on the host
  uint64_t units_per_frame_;          ///< of tile-parts, in the call before; at first raw frames
};

}  // namespace cj2k::cuda
