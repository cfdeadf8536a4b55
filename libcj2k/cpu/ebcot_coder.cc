// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// EBCOT as the block coder of the CPU backend: quantisation, tier-1 of blocks in lanes or of two blocks
// at a time, hulls.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstring>

#include "base/buffer.h"
#include "base/parallel.h"
#include "coders/coded_before.h"
#include "coders/ebcot/colour_errors.h"
#include "coders/ebcot/mq_lanes.h"
#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/tier1.h"
#include "coders/hull.h"
#include "core/distortion.h"
#include "core/ebcot/segments.h"
#include "core/stop.h"
#include "cpu/block_coder.h"
#include "depth/early_stop.h"
#include "pixels/block_samples.h"
#include "pixels/quantize.h"
#include "plan/plan_quant.h"

namespace cj2k {
namespace {

constexpr int kTier1Columns = 16;  ///< tier-1 reads rows in units of this many samples
constexpr int tier1_stride(int width) {
  return (width + kTier1Columns - 1) / kTier1Columns * kTier1Columns;
}

/// CodedBlock::coder_state: what is needed to resume a block, with the bytes that `saved`
/// describes. Null where states are not kept: the block is then coded from the start again.
struct PausedBlock {
  const SavedCoder* saved;
  const CodingPass* passes;  ///< [CodedBlock::num_passes]
};
const PausedBlock* paused(const CodedBlock& block) {
  return static_cast<const PausedBlock*>(block.coder_state);
}

/// Triples of blocks (ColourOrder) that one thread codes together, in pairs: six of Cb and Cr and three
/// of Y fill both lanes evenly. In lanes: as many as there are lanes.
constexpr size_t kTriples = 6;

/// What blocks of component 0 are shifted by; then the shifted coefficients.
struct ColourShifts {
  /// @param most  triples
  explicit ColourShifts(size_t most)
      : chroma(2 * most), luma(most), values(most * kMaxBlockSamples * sizeof(float)) {}
  std::vector<uint32_t> chroma, luma;  ///< their blocks
  size_t count = 0;
  HostBuffer values;

  float* at(size_t triple) const { return values.as<float>() + triple * kMaxBlockSamples; }
  /// @return null: none for this block
  float* of(uint32_t block) const {
    for (size_t i = 0; i < count; ++i) {
      if (luma[i] == block) return at(i);
    }
    return nullptr;
  }
};

/// A block that is being coded, and its results.
struct BlockLane {
  /// @param num_samples, most_planes  of any block
  BlockLane(size_t num_samples, int most_planes)
      : samples(num_samples * sizeof(uint32_t)),
        bytes(max_block_bytes(num_samples, most_planes) + kCacheLineBytes) {
    output = {bytes.as<uint8_t>() + kCacheLineBytes, passes, tails, 0, 0};
  }
  uint32_t index;
  int bit_planes;
  ptrdiff_t stride;
  const float* coefficients;  ///< what is quantised; null: there are integers only
  ptrdiff_t coefficient_stride;
  Tier1Stop stop;
  HostBuffer samples;
  HostBuffer bytes;
  CodingPass passes[kMaxPasses];
  PassTail tails[kMaxPasses];
  SavedCoder saved;
  Tier1Output output;
  RdoqResult rdoq;
  int changes;  ///< of RDOQ; 0: `rdoq` does not count
  StepVote vote;
};

/// With few guard bits, the 5/3 wavelet and the colour transform can make more planes than M_b: the guard
/// bit that is missing, two by the wavelet, one by the colours. The memory must hold these, too.
constexpr int kPlanesAbove = 4;

/// What the blocks of a plan need.
struct BlockBounds {
  explicit BlockBounds(const Plan& plan) {
    for (const CodeBlock& block : plan.blocks) {
      const auto stride = static_cast<size_t>(tier1_stride(block.width));
      samples = std::max(samples, stride * static_cast<size_t>(block.height));
      planes = std::max(planes, static_cast<int>(block.max_bit_planes));
    }
    planes = std::min(planes + kPlanesAbove, kMaxBitPlanes);
  }
  size_t samples = 0;
  int planes = 0;
};

/// Blocks for each worker from which on lanes are faster than pairs.
constexpr size_t kManyBlocks = 24;

/// The working memory of one thread.
struct BlockWorker {
  /// @param in_lanes  blocks may be coded in lanes
  BlockWorker(const Plan& plan, const BlockBounds& bounds, bool in_lanes) {
    const int num_lanes = in_lanes ? std::max(simd::mq_lanes(), kTier1Lanes) : kTier1Lanes;
    for (int i = 0; i < num_lanes; ++i)
      lanes.push_back(std::make_unique<BlockLane>(bounds.samples, bounds.planes));
    if (in_lanes) tier1_lanes = std::make_unique<Tier1Lanes>(bounds.samples, bounds.planes);
    if (plan.has_rdoq) rdoq = std::make_unique<RdoqScratch>();
    if (couples_colours(plan))
      colours = std::make_unique<ColourShifts>(in_lanes ? lanes.size() : kTriples);
  }
  std::vector<std::unique_ptr<BlockLane>> lanes;
  Tier1Scratch scratch[kTier1Lanes];
  std::unique_ptr<Tier1Lanes> tier1_lanes;  ///< null: blocks are coded in pairs
  HullPoint hull[kMaxPasses];
  std::unique_ptr<RdoqScratch> rdoq;      ///< null without RDOQ
  std::unique_ptr<ColourShifts> colours;  ///< null without couples_colours
};

/// Passes of a coded block whose slopes reach `slope`.
int passes_at(const CodedBlock& coded, uint16_t slope) {
  int points = coded.num_hull;
  while (points > 0 && coded.hull[points - 1].slope < slope) --points;
  return points == 0 ? 0 : coded.hull[points - 1].passes;
}

/// A list of blocks from which several workers take one after the other.
class SharedBlocks {
 public:
  explicit SharedBlocks(std::span<const uint32_t> blocks) : blocks_(blocks) {}
  /// @param following  the next one in the list, or the same one
  /// @return false: there are no more
  bool take(uint32_t* block, uint32_t* following) {
    const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= blocks_.size()) return false;
    *block = blocks_[i];
    *following = blocks_[i + 1 < blocks_.size() ? i + 1 : i];
    return true;
  }
  size_t size() const { return blocks_.size(); }

 private:
  const std::span<const uint32_t> blocks_;
  std::atomic<size_t> next_ = 0;
};

/// Codes a list of blocks on one thread: quantises them, and keeps the results of tier-1.
class BlockRun final : public Tier1Queue {
 public:
  /// @param keeps_state  of blocks that pause
  BlockRun(const Plan& plan, bool keeps_state, const CoefficientPlanes& planes,
           const BlockOrder& limits, size_t worker_index, BlockWorker& worker, CpuBlocks& out)
      : plan_(plan),
        keeps_state_(keeps_state),
        planes_(planes),
        limits_(limits),
        worker_index_(worker_index),
        worker_(worker),
        out_(out) {}

  void code(std::span<const uint32_t> blocks) {
    SharedBlocks own(blocks);
    if (worker_.tier1_lanes != nullptr && blocks.size() >= kManyBlocks) {
      code_in_lanes(own, 1);
      return;
    }
    blocks_ = &own;
    most_lanes_ = kTier1Lanes;
    simd::encode_blocks(*this, worker_.scratch);
  }
  /// @param num_workers  that share the list
  void code_in_lanes(SharedBlocks& blocks, size_t num_workers) {
    blocks_ = &blocks;
    most_lanes_ = (blocks.size() + num_workers - 1) / num_workers;
    simd::encode_in_lanes(*this, worker_.scratch[0], *worker_.tier1_lanes);
  }
  void code_triples(std::span<const uint32_t> blocks);
  bool next(int lane, Tier1Task* task) override;
  void done(int lane) override;

 private:
  bool begin(BlockLane& lane);
  void quantise(BlockLane& lane);
  void note_error(BlockLane& lane, const CodedBlock& coded);
  double left_error(const BlockLane& lane, int planes) const;
  void keep(const BlockLane& lane, CodedBlock& coded);
  void keep_state(const BlockLane& lane, CodedBlock& coded);
  void keep_segments(const Tier1Output& out, CodedBlock& coded);
  void keep_tails(const Tier1Output& out, CodedBlock& coded);
  void keep_samples(const BlockLane& lane, CodedBlock& coded);
  void optimise(BlockLane& lane);
  double weight(const CodeBlock& block) const {
    return distortion_weight(plan_, block, limits_.step_set);
  }
  uint8_t zero_planes(const CodeBlock& block, const BlockLane& lane) const {
    const int most_planes = subband_of(plan_, block, limits_.step_set).max_bit_planes;
    return static_cast<uint8_t>(most_planes + block.planes_above - lane.bit_planes);
  }
  uint32_t style() const { return static_cast<uint32_t>(plan_.params.cblk_style); }

  const Plan& plan_;
  const bool keeps_state_;
  const CoefficientPlanes& planes_;
  const BlockOrder& limits_;
  const size_t worker_index_;
  BlockWorker& worker_;
  CpuBlocks& out_;
  SharedBlocks* blocks_ = nullptr;
  size_t most_lanes_ = 0;  ///< so that one worker does not take all blocks
};

bool BlockRun::next(int number, Tier1Task* task) {
  if (static_cast<size_t>(number) >= most_lanes_) return false;
  BlockLane& lane = *worker_.lanes[static_cast<size_t>(number)];
  uint32_t following;
  while (blocks_->take(&lane.index, &following)) {
    if (following != lane.index) prefetch_block(planes_, plan_.blocks[following]);
    if (!begin(lane)) continue;
    const CodeBlock& block = plan_.blocks[lane.index];
    *task = {{lane.samples.as<uint32_t>(), lane.stride, block.width, block.height,
              block.orientation, style(), plan_.reversible, lane.bit_planes},
             &lane.output,
             &lane.stop};
    return true;
  }
  return false;
}

/// Prepares a block for tier-1. A block that resumes is quantised again, which is cheaper than
/// keeping its samples.
/// @return false: the block has nothing to code in this call
bool BlockRun::begin(BlockLane& lane) {
  CodedBlock& coded = out_[lane.index];
  const CodeBlock& block = plan_.blocks[lane.index];
  if (limits_.anew) coded = CodedBlock{};
  const PausedBlock* before = paused(coded);
  // With PTERM blocks do not pause: each pass has its own ending, and a paused block does not keep
  // them.
  const bool may_pause = (style() & CJ2K_STYLE_PTERM) == 0;
  lane.stop = {may_pause ? pause_threshold(limits_.thresholds[block.component], block.orientation)
                         : uint16_t{0},
               may_pause ? static_cast<int>(limits_.last_plane) : 0,
               weight(block),
               before != nullptr ? before->saved : nullptr,
               &lane.saved,
               false,
               num_planes_coded(coded.num_passes)};
  if (before != nullptr) {
    std::memcpy(lane.output.bytes, coded.data, before->saved->bytes_written);
    std::memcpy(lane.output.passes, before->passes, coded.num_passes * sizeof(CodingPass));
    lane.output.num_passes = coded.num_passes;
  }
  lane.stride = tier1_stride(block.width);
  quantise(lane);
  lane.changes = 0;
  lane.vote = StepVote::kNone;
  if (limits_.votes && block.orientation != kLL)
    lane.vote = step_vote(block, lane.samples.as<uint32_t>(), lane.stride, lane.bit_planes);
  if (limits_.rdoq[block.component] != 0) optimise(lane);
  const int planes_left = coded.is_coded ? coded.planes_left : lane.bit_planes;
  const BlockStart start = block_start(planes_left, coded.num_passes, lane.stop.last_plane, [&] {
    return is_out_of_reach(lane.stop.weight, planes_left, lane.stop.threshold);
  });
  if (start == BlockStart::kCodes) return true;
  if (!coded.is_coded && planes_left > 0) coded.total_distortion = left_error(lane, planes_left);
  coded.zero_bit_planes = zero_planes(block, lane);
  coded.num_passes_left = static_cast<uint8_t>(num_passes_of(lane.bit_planes) - coded.num_passes);
  coded.planes_left = static_cast<uint8_t>(planes_left);
  coded.is_coded = true;
  coded.step_vote = lane.vote;
  note_error(lane, coded);
  return false;
}

/// Quantises the block's coefficients, shifted by what is known of other components' errors.
void BlockRun::quantise(BlockLane& lane) {
  const CodeBlock& block = plan_.blocks[lane.index];
  float* shifted = worker_.colours != nullptr ? worker_.colours->of(lane.index) : nullptr;
  lane.coefficients = nullptr;
  if (!plan_.reversible && !planes_.is_narrow(block)) {
    const Plane<float> plane = planes_.block<float>(block);
    lane.coefficients = plane.data;
    lane.coefficient_stride = plane.stride_samples;
  }
  uint32_t all;
  if (shifted == nullptr) {
    all = quantize_block(plan_, planes_, block, limits_.step_set, lane.samples.as<uint32_t>(),
                         lane.stride);
  } else {
    for (int y = 0; y < block.height; ++y) {
      for (int x = 0; x < block.width; ++x)
        shifted[y * block.width + x] += lane.coefficients[y * lane.coefficient_stride + x];
    }
    lane.coefficients = shifted;
    lane.coefficient_stride = block.width;
    const Subband& band = subband_of(plan_, block, limits_.step_set);
    all = simd::quantize_97(shifted, block.width, block.width, block.height, quantizer_of(band),
                            lane.samples.as<uint32_t>(), lane.stride);
  }
  lane.bit_planes = std::bit_width(all);
  assert(lane.bit_planes <= kMaxBitPlanes &&
         lane.bit_planes <=
             subband_of(plan_, block, limits_.step_set).max_bit_planes + kPlanesAbove);
}

/// Adds the error of a block of Cb or Cr to what Y is shifted by.
void BlockRun::note_error(BlockLane& lane, const CodedBlock& coded) {
  const CodeBlock& block = plan_.blocks[lane.index];
  if (worker_.colours == nullptr || (block.component != 1 && block.component != 2)) return;
  float* shift = worker_.colours->of(luma_block(plan_, lane.index));
  if (shift == nullptr) return;
  const int passes = passes_at(coded, limits_.rdoq[block.component]);
  const ChromaBlock b{lane.samples.as<uint32_t>(),
                      lane.stride,
                      block.width,
                      block.height,
                      lane.coefficients,
                      lane.coefficient_stride,
                      subband_of(plan_, block, limits_.step_set).step,
                      plane_cut(lane.bit_planes, passes),
                      colour_factor(plan_, lane.index)};
  simd::add_colour_error(b, shift);
}

/// Codes a list of whole triples with RDOQ: Cb and Cr of some, then Y of these.
void BlockRun::code_triples(std::span<const uint32_t> blocks) {
  ColourShifts& colours = *worker_.colours;
  while (!blocks.empty()) {
    const auto some = blocks.first(std::min(blocks.size(), 3 * colours.luma.size()));
    blocks = blocks.subspan(some.size());
    colours.count = some.size() / 3;
    for (size_t i = 0; i < colours.count; ++i) {
      colours.chroma[2 * i] = some[3 * i];
      colours.chroma[2 * i + 1] = some[3 * i + 1];
      colours.luma[i] = some[3 * i + 2];
      const CodeBlock& block = plan_.blocks[colours.luma[i]];
      std::fill_n(colours.at(i), block.width * block.height, 0.0f);
    }
    code(std::span(colours.chroma).first(2 * colours.count));
    code(std::span(colours.luma).first(colours.count));
  }
  colours.count = 0;
}

/// RDOQ of a block that can reach the slope. Every second block then pauses where it will be cut; the
/// others go on, so that rate control has more to take if RDOQ leaves fewer bytes than was predicted.
void BlockRun::optimise(BlockLane& lane) {
  const CodeBlock& block = plan_.blocks[lane.index];
  const uint16_t slope = limits_.rdoq[block.component];
  if (lane.bit_planes == 0 || best_slope_left(weight(block), lane.bit_planes) < slope) return;
  const double lambda = rdoq_lambda(slope, weight(block));
  PassKind kind;
  const int plane = rdoq_plane(lambda, plan_.reversible, &kind);
  if (plane >= lane.bit_planes) return;
  if (lane.stop.threshold != 0 && lane.index % 2 != 0)
    lane.stop.last_plane = lowest_rdoq_plane(slope, weight(block), plan_.reversible);
  // One pass hardly ever pays: of 3,500 such blocks of a frame, RDOQ changed 150.
  if (plane == lane.bit_planes - 1) return;
  const Subband& band = subband_of(plan_, block, limits_.step_set);
  RdoqBlock b{lane.samples.as<uint32_t>(),
              lane.stride,
              block.width,
              block.height,
              block.orientation,
              style(),
              nullptr,
              0,
              1,
              lane.bit_planes,
              plane,
              kind,
              lambda,
              overlaps_of(plan_.reversible, band.level, band.orientation),
              plan_.params.effort == 3 ? 2 : 1};
  if (!plan_.reversible) {
    b.coefficients = lane.coefficients;
    b.coefficient_stride = lane.coefficient_stride;
    b.inverse_step = band.inverse_step;
  }
  simd::rdoq_block(b, *worker_.rdoq, &lane.rdoq);
  lane.changes = lane.rdoq.changes;
  lane.bit_planes = lane.rdoq.bit_planes;
}

/// Squared error of the picture if the block is decoded without its lowest `planes` planes.
double BlockRun::left_error(const BlockLane& lane, int planes) const {
  const CodeBlock& block = plan_.blocks[lane.index];
  const uint64_t sum = simd::left_distortion(lane.samples.as<uint32_t>(), lane.stride, block.width,
                                             block.height, planes, plan_.reversible);
  return weight(block) * LeftPlanes(planes, plan_.reversible).error(sum);
}

void BlockRun::done(int number) {
  BlockLane& lane = *worker_.lanes[static_cast<size_t>(number)];
  CodedBlock& coded = out_[lane.index];
  const int resumed = coded.num_passes > 0
                          ? lane.output.num_passes - coded.num_passes + coded.num_passes_resumed
                          : 0;
  coded = CodedBlock{};
  coded.is_coded = true;
  coded.step_vote = lane.vote;
  coded.num_passes = static_cast<uint8_t>(lane.output.num_passes);
  coded.num_passes_resumed = static_cast<uint8_t>(resumed);
  coded.num_passes_left =
      static_cast<uint8_t>(num_passes_of(lane.bit_planes) - lane.output.num_passes);
  coded.num_bytes = static_cast<uint32_t>(lane.output.num_bytes);
  coded.zero_bit_planes = zero_planes(plan_.blocks[lane.index], lane);
  keep(lane, coded);
  if (coded.planes_left > 0) coded.total_distortion += left_error(lane, coded.planes_left);
  note_error(lane, coded);
}

/// Copies what the rate and packets stages need of a block, and what is needed to resume it.
void BlockRun::keep(const BlockLane& lane, CodedBlock& coded) {
  const Tier1Output& out = lane.output;
  if (lane.changes > 0) {
    for (int i = 0; i < out.num_passes; ++i) out.passes[i].distortion += lane.rdoq.removed[i];
  }
  const int points = build_hull(out.passes, out.num_passes, weight(plan_.blocks[lane.index]),
                                plan_.params.lossless != 0, worker_.hull, &coded.total_distortion);
  if (lane.changes > 0)
    coded.total_distortion += weight(plan_.blocks[lane.index]) * lane.rdoq.total;
  coded.num_hull = static_cast<uint8_t>(points);
  size_t bytes = points > 0 ? worker_.hull[points - 1].length_bytes : 0;
  if (lane.stop.paused) {
    if (lane.stop.last_plane > 0) {
      coded.last_slope = last_hull_slope([&out](int i) { return out.passes[i]; }, out.num_passes,
                                         lane.stop.weight);
    }
    coded.planes_left = static_cast<uint8_t>(lane.bit_planes - num_planes_coded(out.num_passes));
    if (keeps_state_) {
      bytes = std::max<size_t>(bytes, lane.saved.bytes_written);
      keep_state(lane, coded);
    }
  }
  if (points == 0 && bytes == 0) return;
  HullPoint* hull = out_.take<HullPoint>(worker_index_, static_cast<size_t>(points));
  std::memcpy(hull, worker_.hull, static_cast<size_t>(points) * sizeof(HullPoint));
  coded.hull = hull;
  coded.data = out_.take<uint8_t>(worker_index_, bytes + sizeof(PassTail));
  std::memcpy(coded.data, out.bytes, bytes);
  if (has_segments(style())) keep_segments(out, coded);
  if (style() & CJ2K_STYLE_PTERM) keep_tails(out, coded);
  if (keeps_coefficients(plan_) && limits_.rdoq[0] != 0) keep_samples(lane, coded);
}

void BlockRun::keep_state(const BlockLane& lane, CodedBlock& coded) {
  const auto num_passes = static_cast<size_t>(lane.output.num_passes);
  uint8_t* saved = out_.take<uint8_t>(worker_index_, saved_bytes(lane.output.num_passes));
  std::memcpy(saved, &lane.saved, saved_bytes(lane.output.num_passes));
  CodingPass* passes = out_.take<CodingPass>(worker_index_, num_passes);
  std::memcpy(passes, lane.output.passes, num_passes * sizeof(CodingPass));
  PausedBlock* state = out_.take<PausedBlock>(worker_index_, 1);
  *state = {reinterpret_cast<const SavedCoder*>(saved), passes};
  coded.coder_state = state;
}

void BlockRun::keep_segments(const Tier1Output& out, CodedBlock& coded) {
  const int count = num_terminated(style(), out.num_passes);
  SegmentEnd* segments = out_.take<SegmentEnd>(worker_index_, static_cast<size_t>(count));
  coded.segments = segments;
  coded.num_segments = static_cast<uint8_t>(count);
  for (int pass = 0; pass < out.num_passes; ++pass) {
    if (!pass_terminates(style(), pass)) continue;
    *segments++ = {out.passes[pass].length_bytes, static_cast<uint32_t>(pass + 1)};
  }
}

void BlockRun::keep_tails(const Tier1Output& out, CodedBlock& coded) {
  PassTail* tails = out_.take<PassTail>(worker_index_, coded.num_hull);
  coded.tails = tails;
  for (int i = 0; i < coded.num_hull; ++i) {
    const int pass = coded.hull[i].passes - 1;
    const bool is_open = pass + 1 < out.num_passes && !pass_terminates(style(), pass);
    tails[i] = is_open ? out.tails[pass] : PassTail{};
  }
}

void BlockRun::keep_samples(const BlockLane& lane, CodedBlock& coded) {
  const CodeBlock& block = plan_.blocks[lane.index];
  const size_t count = static_cast<size_t>(block.width) * block.height;
  uint32_t* samples = out_.take<uint32_t>(worker_index_, count);
  const uint32_t* from = lane.samples.as<uint32_t>();
  for (int y = 0; y < block.height; ++y)
    std::copy_n(from + y * lane.stride, block.width, samples + y * block.width);
  coded.samples = samples;
}

class CpuEbcot final : public CpuBlockCoder {
 public:
  CpuEbcot(const Plan& plan, size_t workers, bool keeps_state)
      : plan_(plan), keeps_state_(keeps_state), colours_(colour_order(plan)) {
    const BlockBounds bounds(plan);
    const bool in_lanes = simd::mq_lanes() > 0 && plan.blocks.size() >= kManyBlocks * workers;
    for (size_t i = 0; i < workers; ++i)
      workers_.push_back(std::make_unique<BlockWorker>(plan, bounds, in_lanes));
  }
  void code(const CoefficientPlanes& planes, const BlockOrder& order, CpuBlocks& out) override;

 private:
  const Plan& plan_;
  const bool keeps_state_;
  const ColourOrder colours_;
  std::vector<std::unique_ptr<BlockWorker>> workers_;
};

/// RDOQ codes whole triples first, three blocks at one place; what is left is coded in lanes from one
/// list, or in parts of pairs.
void CpuEbcot::code(const CoefficientPlanes& planes, const BlockOrder& order, CpuBlocks& out) {
  const auto run_of_worker = [&] {
    const size_t worker = worker_index();
    return BlockRun(plan_, keeps_state_, planes, order, worker, *workers_[worker], out);
  };
  std::span<const uint32_t> blocks = order.blocks;
  ColourOrder some;
  if (order.rdoq[0] != 0 && !colours_.triples.empty()) {
    const bool are_all = blocks.size() == plan_.blocks.size();
    if (!are_all) some = colours_.some(blocks);
    const ColourOrder& colours = are_all ? colours_ : some;
    const std::span<const uint32_t> triples(colours.triples);
    const size_t count = triples.size() / 3;
    const size_t most = std::max(kMaxBlockGrain, workers_[0]->colours->luma.size());
    parallel_for(count, block_grain(count, most), [&](size_t begin, size_t end) {
      run_of_worker().code_triples(triples.subspan(3 * begin, 3 * (end - begin)));
    });
    blocks = colours.rest;
  }
  if (workers_[0]->tier1_lanes != nullptr && blocks.size() >= kManyBlocks * workers_.size()) {
    SharedBlocks shared(blocks);
    parallel_for(num_workers(), 1,
                 [&](size_t, size_t) { run_of_worker().code_in_lanes(shared, workers_.size()); });
    return;
  }
  parallel_for(blocks.size(), block_grain(blocks.size()), [&](size_t begin, size_t end) {
    run_of_worker().code(blocks.subspan(begin, end - begin));
  });
}

}  // namespace

std::unique_ptr<CpuBlockCoder> make_cpu_ebcot(const Plan& plan, size_t workers, bool keeps_state) {
  return std::make_unique<CpuEbcot>(plan, workers, keeps_state);
}

}  // namespace cj2k
