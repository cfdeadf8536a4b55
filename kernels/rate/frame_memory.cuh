// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scratch memory of rate control: what the thread block of a frame keeps of blocks, precincts and
// points.
#pragma once

#include "kernels/rate/allocate.h"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::rate {

inline constexpr int kRateThreads = 1024;

struct alignas(16) BlockRecord {
  uint32_t first_hull;
  uint32_t limit;   ///< most points that quality and component caps allow
  uint32_t points;  ///< chosen
  uint32_t reserved;
};

/// Contribution (packets/contribution.h).
struct alignas(16) BlockCode {
  uint64_t code;
  uint32_t bytes;
  uint8_t bits;  ///< 0: the block is not in the packet
  uint8_t zero_planes;
  uint16_t reserved;
};

/// PrecinctState and PrecinctBytes of the host.
struct alignas(16) PrecinctRecord {
  uint64_t body;    ///< at the last measurement
  uint32_t header;  ///< at the last measurement
  uint32_t is_changed;
  int32_t header_bits, measured_bits;
  uint32_t component;
  uint32_t placed_bits;  ///< of a header that is being measured by place and stuff
};

/// A node of a tag tree above the leaves.
struct alignas(8) TreeNode {
  uint32_t first;  ///< the first block of the band below the node that is in; kNone: no block is
  uint32_t zero_planes;
};
inline constexpr uint32_t kNone = 0xFFFFFFFF;

/// A hull point that may be taken.
struct alignas(16) Candidate {
  uint32_t block;
  uint32_t bytes;  ///< of the hull segment that ends at the point
  uint16_t slope;
  uint8_t points;      ///< points of its block when it is taken
  int8_t header_bits;  ///< an estimate of what it adds to the packet header
  uint32_t reserved;
};

/// The arrays of a frame, as offsets in bytes.
struct ScratchLayout {
  uint64_t blocks, codes, precincts, list, nodes, words, candidates, sorted, candidate_bits;
  uint64_t bytes;  ///< of a frame

  explicit ScratchLayout(const RatePlan& plan)
      : bytes(uint64_t{plan.num_components} * kAboveAllSlopes * sizeof(uint64_t)) {
    blocks = take(plan.num_blocks, sizeof(BlockRecord));
    codes = take(plan.num_blocks, sizeof(BlockCode));
    precincts = take(plan.num_precincts, sizeof(PrecinctRecord));
    list = take(plan.num_precincts, sizeof(uint32_t));
    nodes = take(plan.num_nodes, sizeof(TreeNode));
    words = take(plan.num_words, sizeof(uint32_t));
    candidates = take(plan.max_candidates, sizeof(Candidate));
    sorted = take(plan.max_candidates, sizeof(Candidate));
    candidate_bits = take(plan.max_candidates + uint64_t{1}, sizeof(uint64_t));
  }

 private:
  uint64_t take(uint64_t count, uint64_t size) {
    const uint64_t at = bytes;
    bytes += (count * size + 255) / 256 * 256;
    return at;
  }
};

struct AllocateParams {
  RatePlan plan;
  FrameRates rates;
  RateInput input;
  RateOutput output;
  uint8_t* scratch;
  ScratchLayout layout;
  bool again;
};

/// Scratch memory of one frame.
class FrameMemory {
 public:
  CJ2K_KERNEL_FN FrameMemory(const ScratchLayout& layout, uint8_t* scratch, uint32_t frame)
      : layout_(layout), base_(scratch + frame * layout.bytes) {}
  /// [component][slope] bytes at the slope and above, between AllocateSmem::lowest and end; else 0
  CJ2K_KERNEL_FN uint64_t* histogram() const { return at<uint64_t>(0); }
  CJ2K_KERNEL_FN BlockRecord* blocks() const { return at<BlockRecord>(layout_.blocks); }
  CJ2K_KERNEL_FN BlockCode* codes() const { return at<BlockCode>(layout_.codes); }
  CJ2K_KERNEL_FN PrecinctRecord* precincts() const { return at<PrecinctRecord>(layout_.precincts); }
  CJ2K_KERNEL_FN uint32_t* list() const { return at<uint32_t>(layout_.list); }
  CJ2K_KERNEL_FN TreeNode* nodes() const { return at<TreeNode>(layout_.nodes); }
  CJ2K_KERNEL_FN uint32_t* words() const { return at<uint32_t>(layout_.words); }
  CJ2K_KERNEL_FN Candidate* candidates() const { return at<Candidate>(layout_.candidates); }
  CJ2K_KERNEL_FN Candidate* sorted() const { return at<Candidate>(layout_.sorted); }
  CJ2K_KERNEL_FN uint64_t* candidate_bits() const { return at<uint64_t>(layout_.candidate_bits); }

 private:
  template <typename V>
  CJ2K_KERNEL_FN V* at(uint64_t offset) const {
    return reinterpret_cast<V*>(base_ + offset);
  }
  const ScratchLayout& layout_;
  uint8_t* const base_;
};

/// Bytes of the components at their last measurement.
struct MeasuredBytes {
  uint64_t body[CJ2K_MAX_COMPONENTS];
  uint32_t header[CJ2K_MAX_COMPONENTS];
};

/// For CandidateOrder.
struct OrderSmem {
  static constexpr uint32_t kDigits = 256;
  uint32_t next[kDigits];  ///< place of the next point of a digit
  uint32_t places[kRateThreads / 32][kDigits];
};

struct AllocateSmem {
  simt::BlockScratch<uint64_t, kRateThreads> wide;
  simt::BlockScratch<uint32_t, kRateThreads> narrow;
  OrderSmem order;
  MeasuredBytes measured;
  // The single point that is tried.
  Candidate trial;
  BlockCode trial_code;
  PrecinctRecord trial_precinct;
  uint32_t lowest, end;                     ///< slopes in the histogram
  uint32_t num_listed;                      ///< precincts that have changed
  uint32_t flags;                           ///< RateOutcome::flags
  uint32_t long_block;                      ///< RateOutcome::long_block
  uint16_t exhausted[CJ2K_MAX_COMPONENTS];  ///< RateOutcome::exhausted
};

}  // namespace cj2k::cuda::rate
