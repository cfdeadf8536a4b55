// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The stages on the CPU: bands of rows (cpu_pixels.h) and code-blocks as tasks of the encoder's
// arena.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <vector>

#include "backend.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/parallel.h"
#include "core/distortion.h"
#include "core/ebcot/segments.h"
#include "core/stop.h"
#include "cpu/cpu_pixels.h"
#include "stages/hull.h"
#include "stages/quantize.h"
#include "stages/ebcot/tier1.h"

namespace cj2k {
namespace {

/// Blocks are coded in pairs until one of a part is left over.
constexpr size_t kMaxBlockGrain = 16;
constexpr size_t kPartsPerWorker = 8;
constexpr int kTier1Columns = 16;  ///< tier-1 reads rows in whole words of this many samples

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Planned bytes for coded blocks: every sample at its depth and two planes of growth, and the
/// hulls.
size_t planned_block_bytes(const Plan& plan) {
  size_t bits = 0;
  for (const Component& c : plan.components) {
    bits += static_cast<size_t>(c.rect.width()) * static_cast<size_t>(c.rect.height()) *
            static_cast<size_t>(c.depth + 2);
  }
  return bits / 8 + plan.blocks.size() * 40 * sizeof(HullPoint) / 2;
}

class CpuFrameWork {
 public:
  CpuFrameWork(const Plan& plan, size_t workers)
      // A chunk begun and not filled, per worker.
      : pool_(planned_block_bytes(plan) + workers * ChunkPool::kChunkBytes),
        planes_(plan),
        arenas_(workers),
        blocks_(plan.blocks.size()) {}

  const CodedBlock* blocks() const { return blocks_.data(); }
  const CpuPlanes& planes() const { return planes_; }
  std::vector<CodedBlock>& coded() { return blocks_; }
  ChunkPool& pool() { return pool_; }
  Arena& arena(size_t worker) { return arenas_[worker]; }
  void reset() {
    pool_.reset();
    for (Arena& a : arenas_) a.reset();
    std::fill(blocks_.begin(), blocks_.end(), CodedBlock{});
  }

 private:
  ChunkPool pool_;
  CpuPlanes planes_;
  std::vector<Arena> arenas_;
  std::vector<CodedBlock> blocks_;
};

class CpuGopWork final : public GopWork {
 public:
  CpuGopWork(const Plan& plan, size_t workers) {
    for (int i = 0; i < plan.params.gop; ++i)
      frames_.push_back(std::make_unique<CpuFrameWork>(plan, workers));
  }
  const CodedBlock* blocks(uint32_t frame) const override { return frames_[frame]->blocks(); }
  CpuFrameWork& frame(uint32_t number) { return *frames_[number]; }

 private:
  std::vector<std::unique_ptr<CpuFrameWork>> frames_;
};

/// A block that is being coded, and what came of it.
struct BlockLane {
  BlockLane()
      : samples(static_cast<size_t>(kTier1Columns * kMaxBlockSide + kMaxBlockSamples) *
                sizeof(uint32_t)),
        bytes(kMaxBlockBytes + kCacheLineBytes) {
    output = {bytes.as<uint8_t>() + kCacheLineBytes, passes, tails, 0, 0};
  }
  uint32_t index;
  int bit_planes;
  ptrdiff_t stride;
  Tier1Stop stop;
  HostBuffer samples;
  HostBuffer bytes;
  CodingPass passes[kMaxPasses];
  PassTail tails[kMaxPasses];
  SavedCoder saved;
  Tier1Output output;
};

/// What one thread needs to code blocks.
struct BlockWorker {
  BlockLane lanes[kTier1Lanes];
  Tier1Scratch scratch[kTier1Lanes];
  HullPoint hull[kMaxPasses];
};

/// Part of a request, on one thread: quantises the blocks, and keeps what tier-1 makes of them.
class BlockRun final : public Tier1Queue {
 public:
  BlockRun(const Plan& plan, const BlockRequest& request, uint32_t last_plane, CpuFrameWork& work,
           BlockWorker& worker, Arena& arena)
      : plan_(plan),
        request_(request),
        last_plane_(last_plane),
        work_(work),
        worker_(worker),
        arena_(arena) {}

  /// Blocks [begin, end) of the request.
  void code(size_t begin, size_t end) {
    next_ = begin;
    end_ = end;
    simd::encode_blocks(*this, worker_.scratch);
  }
  bool next(int lane, Tier1Task* task) override;
  void done(int lane) override;

 private:
  void prefetch(const CodeBlock& block) const;
  bool begin(BlockLane& lane);
  uint32_t quantize(const CodeBlock& block, const BlockLane& lane) const;
  double left_error(const BlockLane& lane, int planes) const;
  void keep(const BlockLane& lane, CodedBlock& coded);
  double weight(const CodeBlock& block) const {
    return plan_.subbands[block.subband].distortion_weight;
  }

  const Plan& plan_;
  const BlockRequest& request_;
  const uint32_t last_plane_;
  CpuFrameWork& work_;
  BlockWorker& worker_;
  Arena& arena_;
  size_t next_ = 0, end_ = 0;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Plan& plan) : plan_(plan), workers_(num_workers()), pixels_(plan, workers_) {
    for (size_t i = 0; i < num_workers(); ++i)
      block_workers_.push_back(std::make_unique<BlockWorker>());
  }

  const char* name() const override { return "cpu"; }
  Status make_gop_work(std::unique_ptr<GopWork>* work) override {
    *work = std::make_unique<CpuGopWork>(plan_, workers_);
    return Status::kOk;
  }
  int64_t gop_work_bytes() const override { return cpu_gop_bytes(plan_); }

  Status ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number, cj2k_stats& stats) override;
  Status transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) override;
  Status code_blocks(GopWork& gop, std::span<const BlockRequest> requests, uint32_t last_plane,
                     cj2k_stats* stats) override;
  Status coefficients(GopWork& gop, uint32_t frame, CoefficientPlanes* planes) override {
    *planes = static_cast<CpuGopWork&>(gop).frame(frame).planes();
    return Status::kOk;
  }
  /// The bytes of all points are in host memory already.
  Status fetch(GopWork&, std::span<const FetchRequest>, cj2k_stats*) override {
    return Status::kOk;
  }

 private:
  const Plan& plan_;
  size_t workers_;
  CpuPixels pixels_;
  std::vector<std::unique_ptr<BlockWorker>> block_workers_;
};

Status CpuBackend::ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number,
                          cj2k_stats& stats) {
  const auto start = std::chrono::steady_clock::now();
  pixels_.read(frame, static_cast<CpuGopWork&>(gop).frame(number).planes());
  stats.stage_ms[0] = ms_since(start);
  return Status::kOk;
}

bool BlockRun::next(int number, Tier1Task* task) {
  BlockLane& lane = worker_.lanes[number];
  while (next_ < end_) {
    lane.index = request_.blocks[next_++];
    if (next_ < end_) prefetch(plan_.blocks[request_.blocks[next_]]);
    if (!begin(lane)) continue;
    const CodeBlock& block = plan_.blocks[lane.index];
    *task = {
        {lane.samples.as<uint32_t>(), lane.stride, block.width, block.height, block.orientation,
         static_cast<uint32_t>(plan_.params.cblk_style), plan_.reversible, lane.bit_planes},
        &lane.output,
        &lane.stop};
    return true;
  }
  return false;
}

/// The coefficients of the block that comes next, to the second-level cache: rows of a block lie
/// too far apart for the processor to foresee.
void BlockRun::prefetch(const CodeBlock& block) const {
  constexpr int kLine = kCacheLineBytes / sizeof(int32_t);
  const auto plane = work_.planes().block<int32_t>(block);
  const int32_t* row = plane.data;
  for (int y = 0; y < block.height; ++y, row += plane.stride_samples) {
    for (int x = 0; x < block.width; x += kLine) __builtin_prefetch(row + x, 0, 2);
  }
}

/// Quantises a block, also one that goes on: cheaper than to keep the samples.
/// @return false: it has nothing to code
bool BlockRun::begin(BlockLane& lane) {
  CodedBlock& coded = work_.coded()[lane.index];
  const CodeBlock& block = plan_.blocks[lane.index];
  // With PTERM each pass has its own ending, and those are not kept.
  const bool may_stop = (plan_.params.cblk_style & CJ2K_STYLE_PTERM) == 0;
  lane.stop = {may_stop ? request_.thresholds[block.component] : uint16_t{0},
               may_stop ? static_cast<int>(last_plane_) : 0,
               weight(block),
               coded.saved,
               &lane.saved,
               false};
  if (coded.saved != nullptr) {
    std::memcpy(lane.output.bytes, coded.data, coded.saved->bytes_written);
    std::memcpy(lane.output.passes, coded.passes, coded.num_passes * sizeof(CodingPass));
    lane.output.num_passes = coded.num_passes;
  }
  lane.stride = (block.width + kTier1Columns - 1) / kTier1Columns * kTier1Columns;
  lane.bit_planes = std::bit_width(quantize(block, lane));
  const int planes_left = coded.is_coded ? coded.planes_left : lane.bit_planes;
  const bool is_out_of_reach = coded.num_passes == 0 && planes_left > 0 &&
                               best_slope_left(weight(block), planes_left) < lane.stop.threshold;
  if (planes_left > lane.stop.last_plane && !is_out_of_reach) return true;
  if (!coded.is_coded && planes_left > 0) coded.total_distortion = left_error(lane, planes_left);
  coded.num_bit_planes = static_cast<uint8_t>(lane.bit_planes);
  coded.planes_left = static_cast<uint8_t>(planes_left);
  coded.is_coded = true;
  return false;
}

/// @return bitwise OR of the magnitudes
uint32_t BlockRun::quantize(const CodeBlock& block, const BlockLane& lane) const {
  const Subband& band = plan_.subbands[block.subband];
  uint32_t* samples = lane.samples.as<uint32_t>();
  if (plan_.reversible) {
    const auto plane = work_.planes().block<int32_t>(block);
    return simd::quantize_53(plane.data, plane.stride_samples, block.width, block.height, samples,
                             lane.stride);
  }
  const auto plane = work_.planes().block<float>(block);
  return simd::quantize_97(plane.data, plane.stride_samples, block.width, block.height,
                           band.inverse_step, (uint32_t{1} << band.max_bit_planes) - 1, samples,
                           lane.stride);
}

/// Squared error of the picture without the block's lowest planes.
double BlockRun::left_error(const BlockLane& lane, int planes) const {
  const CodeBlock& block = plan_.blocks[lane.index];
  const uint64_t sum = simd::left_distortion(lane.samples.as<uint32_t>(), lane.stride, block.width,
                                             block.height, planes, plan_.reversible);
  return weight(block) * LeftPlanes(planes, plan_.reversible).error(sum);
}

void BlockRun::done(int number) {
  const BlockLane& lane = worker_.lanes[number];
  CodedBlock& coded = work_.coded()[lane.index];
  const int resumed = lane.stop.resume != nullptr
                          ? lane.output.num_passes - coded.num_passes + coded.num_passes_resumed
                          : 0;
  coded = CodedBlock{};
  coded.num_passes_resumed = static_cast<uint8_t>(resumed);
  coded.num_bytes = static_cast<uint32_t>(lane.output.num_bytes);
  coded.num_bit_planes = static_cast<uint8_t>(lane.bit_planes);
  coded.is_coded = true;
  keep(lane, coded);
  if (coded.planes_left > 0) coded.total_distortion += left_error(lane, coded.planes_left);
}

/// Copies what the rate and packets stages need of a block, and what it takes to go on with it.
void BlockRun::keep(const BlockLane& lane, CodedBlock& coded) {
  const Tier1Output& out = lane.output;
  ChunkPool& pool = work_.pool();
  const auto num_passes = static_cast<size_t>(out.num_passes);
  coded.num_passes = static_cast<uint8_t>(num_passes);
  const int points = build_hull(out.passes, out.num_passes, weight(plan_.blocks[lane.index]),
                                plan_.params.lossless != 0, worker_.hull, &coded.total_distortion);
  coded.num_hull = static_cast<uint8_t>(points);
  size_t bytes = points > 0 ? worker_.hull[points - 1].length_bytes : 0;
  if (lane.stop.paused) {
    coded.planes_left = static_cast<uint8_t>(coded.num_bit_planes - (out.num_passes + 2) / 3);
    bytes = std::max<size_t>(bytes, lane.saved.bytes_written);
    uint8_t* saved = arena_.take<uint8_t>(pool, saved_bytes(out.num_passes));
    std::memcpy(saved, &lane.saved, saved_bytes(out.num_passes));
    coded.saved = reinterpret_cast<const SavedCoder*>(saved);
    CodingPass* passes = arena_.take<CodingPass>(pool, num_passes);
    std::memcpy(passes, out.passes, num_passes * sizeof(CodingPass));
    coded.passes = passes;
  }
  if (points == 0 && bytes == 0) return;
  HullPoint* hull = arena_.take<HullPoint>(pool, static_cast<size_t>(points));
  std::memcpy(hull, worker_.hull, static_cast<size_t>(points) * sizeof(HullPoint));
  coded.hull = hull;
  coded.data = arena_.take<uint8_t>(pool, bytes + sizeof(PassTail));
  std::memcpy(coded.data, out.bytes, bytes);
  const uint32_t style = static_cast<uint32_t>(plan_.params.cblk_style);
  if (style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL)) {
    uint32_t* lengths = arena_.take<uint32_t>(pool, num_passes);
    for (size_t i = 0; i < num_passes; ++i) lengths[i] = out.passes[i].length_bytes;
    coded.pass_lengths = lengths;
  }
  if (style & CJ2K_STYLE_PTERM) {
    PassTail* tails = arena_.take<PassTail>(pool, static_cast<size_t>(points));
    for (int i = 0; i < points; ++i) {
      const int pass = hull[i].passes - 1;
      const bool open = pass + 1 < out.num_passes && !pass_terminates(style, pass);
      tails[i] = open ? out.tails[pass] : PassTail{};
    }
    coded.tails = tails;
  }
}

Status CpuBackend::transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) {
  for (const uint32_t f : frames) {
    const auto start = std::chrono::steady_clock::now();
    CpuFrameWork& work = static_cast<CpuGopWork&>(gop).frame(f);
    work.reset();
    pixels_.transform(work.planes());
    stats[f].stage_ms[1] += ms_since(start);
  }
  return Status::kOk;
}

/// Blocks of one part of a loop.
size_t block_grain(size_t blocks) {
  return std::clamp(blocks / (kPartsPerWorker * num_workers()), size_t{2}, kMaxBlockGrain);
}

Status CpuBackend::code_blocks(GopWork& gop, std::span<const BlockRequest> requests,
                               uint32_t last_plane, cj2k_stats* stats) {
  for (const BlockRequest& request : requests) {
    const auto start = std::chrono::steady_clock::now();
    CpuFrameWork& work = static_cast<CpuGopWork&>(gop).frame(request.frame);
    parallel_for(
        request.blocks.size(), block_grain(request.blocks.size()), [&](size_t begin, size_t end) {
          const size_t worker = worker_index();
          BlockRun(plan_, request, last_plane, work, *block_workers_[worker], work.arena(worker))
              .code(begin, end);
        });
    stats[request.frame].stage_ms[2] += ms_since(start);
  }
  return Status::kOk;
}

}  // namespace

int64_t cpu_gop_bytes(const Plan& plan) {
  const size_t bytes =
      planned_block_bytes(plan) + plan.blocks.size() * sizeof(CodedBlock) + CpuPlanes::bytes(plan);
  return static_cast<int64_t>(bytes) * plan.params.gop;
}

std::unique_ptr<Backend> make_cpu_backend(const Plan& plan) {
  return std::make_unique<CpuBackend>(plan);
}

}  // namespace cj2k
