// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What plans with RDOQ need of the EBCOT block coder beside tier-1: the steps of each frame, RDOQ of its
// blocks, the coupling of colours, and votes on steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "coders/ebcot/colour_errors.h"
#include "cuda/block_coder.h"
#include "kernels/ebcot/rdoq.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k::cuda {

/// Part of the EBCOT block coder of a GOP; plans without RDOQ have none. Work is enqueued in work.stream.
class DeviceRdoq {
 public:
  explicit DeviceRdoq(const DeviceCoderSetup& setup);

  /// The frames of a new GOP are quantised, with the step set 0.
  Status begin(CudaGopWork& work, const Samples& samples);

  /// What some orders code. With RDOQ, blocks of Cb and Cr before those of Y at their places: some may
  /// be coded that no order lists, since a place is coded as a whole.
  struct Lists {
    Tier1List first, luma;  ///< `luma` follows `first` in memory; empty unless colours are coupled
    const uint32_t* numbers;  ///< of both, on the host
    bool has_rdoq;            ///< of any frame
    bool has_votes;
  };
  /// Lists the blocks of orders, and quantises the frames that begin again without RDOQ.
  Status prepare(CudaGopWork& work, std::span<const BlockRequest> orders,
                 const Tier1Buffers& buffers, Lists* lists);
  /// Quantises the blocks of a list with RDOQ, where their frames have it.
  Status quantise(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1List& list,
                  bool is_shifted);
  /// Makes what Y is quantised from. @param output  the hulls of `list`
  Status shift_luma(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1List& list,
                    const Tier1Output& output);
  /// Brings votes on steps; take_votes has them after the next wait.
  Status bring_votes(CudaGopWork& work, const Tier1Buffers& buffers, const Lists& lists);
  void take_votes(CudaGopWork& work, std::span<const BlockRequest> orders, const Lists& lists);
  /// Sets CodedBlock::samples of the frames that have RDOQ, if keeps_coefficients. Waits.
  Status bring_samples(CudaGopWork& work, std::span<const BlockRequest> orders);

  /// The step set of a frame.
  uint32_t step_set(uint32_t frame) const { return step_sets_[frame]; }

 private:
  Status set_steps(CudaGopWork& work, uint32_t frame, uint32_t step_set);
  Status quantise_frame(CudaGopWork& work, uint32_t frame, const Tier1Buffers& buffers);
  void divide(const BlockRequest& order);
  RdoqFrame rdoq_frame(const BlockRequest& order) const;
  RdoqParams params(const CudaGopWork& work, bool is_shifted) const;
  void make_samples(CudaGopWork& work, const BlockRequest& order);

  const DeviceCoderSetup s_;
  const EbcotMemory& m_ = s_.memory.ebcot;
  const EbcotMemory& p_ = s_.pinned.ebcot;
  const ColourOrder colours_;
  Samples samples_{};
  std::vector<uint32_t> step_sets_;                  ///< [frame]
  std::vector<std::vector<uint32_t>> first_, luma_;  ///< [frame] blocks of the last order
  HostBuffer words_, magnitudes_, changed_samples_;  ///< of a frame, a frame, the GOP
};

}  // namespace cj2k::cuda
