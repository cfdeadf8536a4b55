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
#include "core/segments.h"
#include "core/stop.h"
#include "cpu_pixels.h"
#include "stages/hull.h"
#include "stages/quantize.h"
#include "stages/tier1.h"

namespace cj2k {
namespace {

constexpr size_t kBlockGrain = 4;
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

/// What one thread needs to code any block.
struct BlockWorker {
  BlockWorker()
      : samples(static_cast<size_t>(kTier1Columns * kMaxBlockSide + kMaxBlockSamples) *
                sizeof(uint32_t)),
        bytes(kMaxBlockBytes + kCacheLineBytes) {
    output = {bytes.as<uint8_t>() + kCacheLineBytes, passes, tails, 0, 0};
  }
  HostBuffer samples;
  HostBuffer bytes;
  Tier1Scratch scratch;
  CodingPass passes[kMaxPasses];
  PassTail tails[kMaxPasses];
  HullPoint hull[kMaxPasses];
  SavedCoder saved;
  Tier1Output output;
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
  /// The bytes of all points are in host memory already.
  Status fetch(GopWork&, std::span<const FetchRequest>, cj2k_stats*) override {
    return Status::kOk;
  }

 private:
  void prefetch(const CodeBlock& block, const CpuFrameWork& work) const;
  uint32_t quantize(const CodeBlock& block, CpuFrameWork& work, BlockWorker& worker,
                    ptrdiff_t stride);
  void code_block(uint32_t index, uint16_t threshold, uint32_t last_plane, CpuFrameWork& work,
                  BlockWorker& worker, Arena& arena);
  void keep(const Tier1Output& out, const Tier1Stop& stop, double weight, CodedBlock& coded,
            ChunkPool& pool, BlockWorker& worker, Arena& arena);

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

/// The coefficients of the block that comes next, to the second-level cache: rows of a block lie
/// too far apart for the processor to foresee.
void CpuBackend::prefetch(const CodeBlock& block, const CpuFrameWork& work) const {
  constexpr int kLine = kCacheLineBytes / sizeof(int32_t);
  const auto plane =
      work.planes().plane<int32_t>(block.component, plan_.subbands[block.subband].level);
  const int32_t* row = plane.row(block.plane_y) + block.plane_x;
  for (int y = 0; y < block.height; ++y, row += plane.stride_samples) {
    for (int x = 0; x < block.width; x += kLine) __builtin_prefetch(row + x, 0, 2);
  }
}

uint32_t CpuBackend::quantize(const CodeBlock& block, CpuFrameWork& work, BlockWorker& worker,
                              ptrdiff_t stride) {
  const Subband& band = plan_.subbands[block.subband];
  uint32_t* samples = worker.samples.as<uint32_t>();
  if (plan_.reversible) {
    const auto plane = work.planes().plane<int32_t>(block.component, band.level);
    return simd::quantize_53(plane.row(block.plane_y) + block.plane_x, plane.stride_samples,
                             block.width, block.height, samples, stride);
  }
  const auto plane = work.planes().plane<float>(block.component, band.level);
  return simd::quantize_97(plane.row(block.plane_y) + block.plane_x, plane.stride_samples,
                           block.width, block.height, band.inverse_step,
                           (uint32_t{1} << band.max_bit_planes) - 1, samples, stride);
}

/// Quantises and codes one block, or goes on with it. The samples are quantised again then: cheaper
/// than keeping them.
void CpuBackend::code_block(uint32_t index, uint16_t threshold, uint32_t last_plane,
                            CpuFrameWork& work, BlockWorker& worker, Arena& arena) {
  CodedBlock& coded = work.coded()[index];
  const CodeBlock& block = plan_.blocks[index];
  const double weight = plan_.subbands[block.subband].distortion_weight;
  const uint32_t style = static_cast<uint32_t>(plan_.params.cblk_style);
  // With PTERM each pass has its own ending, and those are not kept.
  const bool may_stop = (style & CJ2K_STYLE_PTERM) == 0;
  Tier1Stop stop{may_stop ? threshold : uint16_t{0},
                 may_stop ? static_cast<int>(last_plane) : 0,
                 weight,
                 nullptr,
                 &worker.saved,
                 false};
  Tier1Output& out = worker.output;
  if (coded.saved != nullptr) {
    stop.resume = coded.saved;
    std::memcpy(out.bytes, coded.data, coded.saved->bytes_written);
    std::memcpy(out.passes, coded.passes, coded.num_passes * sizeof(CodingPass));
    out.num_passes = coded.num_passes;
  }
  const ptrdiff_t stride = (block.width + kTier1Columns - 1) / kTier1Columns * kTier1Columns;
  const int bit_planes = std::bit_width(quantize(block, work, worker, stride));
  const int planes_left = coded.is_coded ? coded.planes_left : bit_planes;
  const auto left_error = [&](int planes) {
    const uint64_t sum = simd::left_distortion(worker.samples.as<uint32_t>(), stride, block.width,
                                               block.height, planes, plan_.reversible);
    return weight * LeftPlanes(planes, plan_.reversible).error(sum);
  };
  const bool is_out_of_reach = coded.num_passes == 0 && planes_left > 0 &&
                               best_slope_left(weight, planes_left) < stop.threshold;
  if (planes_left <= stop.last_plane || is_out_of_reach) {
    if (!coded.is_coded && bit_planes > 0) coded.total_distortion = left_error(bit_planes);
    coded.num_bit_planes = static_cast<uint8_t>(bit_planes);
    coded.planes_left = static_cast<uint8_t>(planes_left);
    coded.is_coded = true;
    return;
  }
  simd::encode_block({worker.samples.as<uint32_t>(), stride, block.width, block.height,
                      block.orientation, style, plan_.reversible, bit_planes},
                     worker.scratch, out, &stop);
  const int resumed =
      stop.resume != nullptr ? out.num_passes - coded.num_passes + coded.num_passes_resumed : 0;
  coded = CodedBlock{};
  coded.num_passes_resumed = static_cast<uint8_t>(resumed);
  coded.num_bytes = static_cast<uint32_t>(out.num_bytes);
  coded.num_bit_planes = static_cast<uint8_t>(bit_planes);
  coded.is_coded = true;
  keep(out, stop, weight, coded, work.pool(), worker, arena);
  if (coded.planes_left > 0) coded.total_distortion += left_error(coded.planes_left);
}

/// Copies what the rate and packets stages need of a block, and what it takes to go on with it.
void CpuBackend::keep(const Tier1Output& out, const Tier1Stop& stop, double weight,
                      CodedBlock& coded, ChunkPool& pool, BlockWorker& worker, Arena& arena) {
  const auto num_passes = static_cast<size_t>(out.num_passes);
  coded.num_passes = static_cast<uint8_t>(num_passes);
  const int points = build_hull(out.passes, out.num_passes, weight, plan_.params.lossless != 0,
                                worker.hull, &coded.total_distortion);
  coded.num_hull = static_cast<uint8_t>(points);
  size_t bytes = points > 0 ? worker.hull[points - 1].length_bytes : 0;
  if (stop.paused) {
    coded.planes_left = static_cast<uint8_t>(coded.num_bit_planes - (out.num_passes + 2) / 3);
    bytes = std::max<size_t>(bytes, worker.saved.bytes_written);
    uint8_t* saved = arena.take<uint8_t>(pool, saved_bytes(out.num_passes));
    std::memcpy(saved, &worker.saved, saved_bytes(out.num_passes));
    coded.saved = reinterpret_cast<const SavedCoder*>(saved);
    CodingPass* passes = arena.take<CodingPass>(pool, num_passes);
    std::memcpy(passes, out.passes, num_passes * sizeof(CodingPass));
    coded.passes = passes;
  }
  if (points == 0 && bytes == 0) return;
  HullPoint* hull = arena.take<HullPoint>(pool, static_cast<size_t>(points));
  std::memcpy(hull, worker.hull, static_cast<size_t>(points) * sizeof(HullPoint));
  coded.hull = hull;
  coded.data = arena.take<uint8_t>(pool, bytes + sizeof(PassTail));
  std::memcpy(coded.data, out.bytes, bytes);
  const uint32_t style = static_cast<uint32_t>(plan_.params.cblk_style);
  if (style & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL)) {
    uint32_t* lengths = arena.take<uint32_t>(pool, num_passes);
    for (size_t i = 0; i < num_passes; ++i) lengths[i] = out.passes[i].length_bytes;
    coded.pass_lengths = lengths;
  }
  if (style & CJ2K_STYLE_PTERM) {
    PassTail* tails = arena.take<PassTail>(pool, static_cast<size_t>(points));
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

Status CpuBackend::code_blocks(GopWork& gop, std::span<const BlockRequest> requests,
                               uint32_t last_plane, cj2k_stats* stats) {
  for (const BlockRequest& request : requests) {
    const auto start = std::chrono::steady_clock::now();
    CpuFrameWork& work = static_cast<CpuGopWork&>(gop).frame(request.frame);
    parallel_for(request.blocks.size(), kBlockGrain, [&](size_t begin, size_t end) {
      const size_t worker = worker_index();
      for (size_t i = begin; i < end; ++i) {
        const uint32_t b = request.blocks[i];
        if (i + 1 < end) prefetch(plan_.blocks[request.blocks[i + 1]], work);
        code_block(b, request.thresholds[plan_.blocks[b].component], last_plane, work,
                   *block_workers_[worker], work.arena(worker));
      }
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
