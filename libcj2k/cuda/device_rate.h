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

/// Part of the EBCOT block coder. All calls but `take` are enqueued in work.stream.
class DeviceRate {
 public:
  explicit DeviceRate(const DeviceCoderSetup& setup);

  /// Whether the frames of a call can be allocated on the device.
  bool allocates(std::span<const BlockRequest> requests) const;
  /// Before the first hulls of a call: no block has points.
  Status begin(CudaGopWork& work, std::span<const BlockRequest> requests);
  /// Allocates the frames, from hulls by number.
  /// @param again  only the frames of which blocks went on
  Status allocate(CudaGopWork& work, std::span<const BlockRequest> requests,
                  const Tier1Output& output, bool again);
  /// Marks the blocks that resume, after `allocate`, and lowers the thresholds (resume.h). From the
  /// second time on nothing is coded after it: it says only which frames are not final.
  Status mark_resumed(CudaGopWork& work, std::span<const BlockRequest> requests,
                      const Tier1Buffers& buffers, const Tier1Output& output, bool is_last);
  /// Room for the tile-parts, in units of 16, before their size is known.
  uint32_t room_of(CudaGopWork& work, std::span<const BlockRequest> requests) const;
  /// Writes the tile-parts and downloads everything that `take` needs.
  /// @param resumes  mark_resumed was called
  Status bring(CudaGopWork& work, std::span<const BlockRequest> requests,
               const Tier1Buffers& buffers, const Tier1Output& output, bool resumes, uint32_t room);
  /// After a wait: gives back the host memory that the tile-parts do not take.
  /// @return the room that they need, if they had too little and can have it: `bring` is to be called
  ///         again; else 0
  uint32_t more_room(CudaGopWork& work) const;
  /// After a wait: sets BlockOutcome::result of the frames that are final, and the thresholds of all.
  /// @return whether all are final
  bool take(CudaGopWork& work, std::span<BlockRequest> requests, bool resumes);

 private:
  RatePlan rate_plan() const;
  FrameResult result_of(const CudaGopWork& work, const BlockRequest& request,
                        const RateOutcome& outcome) const;
  uint64_t most_units(const CudaGopWork& work) const;
  uint64_t taken_bytes() const { return std::max<uint64_t>(room_, 1) * kUnit; }

  static constexpr uint64_t kUnit = 16;

  const DeviceCoderSetup s_;
  const EbcotMemory& m_ = s_.memory.ebcot;
  const EbcotMemory& p_ = s_.pinned.ebcot;
  std::vector<FrameResult> results_;  ///< [gop]
  uint32_t num_frames_ = 0;           ///< of the call in progress: up to the last requested one
  uint32_t room_ = 0;                 ///< for the tile-parts, in units of 16
  uint8_t* bytes_ = nullptr;          ///< the tile-parts on the host
  uint64_t units_per_frame_;          ///< of tile-parts, in the call before; at first raw frames
};

}  // namespace cj2k::cuda
