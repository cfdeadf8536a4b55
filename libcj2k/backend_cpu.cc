// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages and tier-1 on the CPU: rows, column strips and code-blocks as tasks of the
// encoder's arena.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <vector>

#include "backend.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/parallel.h"
#include "base/view.h"
#include "core/distortion.h"
#include "core/segments.h"
#include "stages/colour.h"
#include "stages/dwt.h"
#include "stages/hull.h"
#include "stages/ingest.h"
#include "stages/quantize.h"
#include "stages/tier1.h"

namespace cj2k {
namespace {

constexpr size_t kRowGrain = 16;
constexpr size_t kColumnGrain = 256;
constexpr size_t kBlockGrain = 2;
constexpr int kTier1Columns = 16;  ///< tier-1 reads rows in whole words of this many samples

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Samples from row to row: whole cache lines, and not a multiple of 4 KiB, which would put a
/// column into one cache set.
ptrdiff_t plane_stride(int32_t width) {
  constexpr ptrdiff_t kLine = 16, kPage = 1024;
  ptrdiff_t stride = (width + kLine - 1) / kLine * kLine;
  if (stride % kPage == 0) stride += kLine;
  return stride;
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
        arenas_(workers),
        blocks_(plan.blocks.size()) {
    for (const Component& c : plan.components) {
      const ptrdiff_t stride = plane_stride(c.rect.width());
      memory_.emplace_back(static_cast<size_t>(stride) * static_cast<size_t>(c.rect.height()) *
                           sizeof(int32_t));
      planes_.push_back({memory_.back().as<int32_t>(), c.rect.width(), c.rect.height(), stride});
    }
  }

  const CodedBlock* blocks() const { return blocks_.data(); }
  /// Integers with 5/3; with 9/7 the same memory holds floats from the colour transform on.
  Plane<int32_t> plane(uint32_t component) const { return planes_[component]; }
  Plane<float> float_plane(uint32_t component) const {
    const Plane<int32_t>& p = planes_[component];
    return {reinterpret_cast<float*>(p.data), p.width, p.height, p.stride_samples};
  }
  std::vector<CodedBlock>& coded() { return blocks_; }
  ChunkPool& pool() { return pool_; }
  Arena& arena(size_t worker) { return arenas_[worker]; }
  void reset() {
    pool_.reset();
    for (Arena& a : arenas_) a.reset();
    std::fill(blocks_.begin(), blocks_.end(), CodedBlock{});
  }

 private:
  std::vector<HostBuffer> memory_;
  std::vector<Plane<int32_t>> planes_;
  ChunkPool pool_;
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
  CpuBackend(const Plan& plan) : plan_(plan), workers_(num_workers()) {
    for (size_t i = 0; i < num_workers(); ++i)
      block_workers_.push_back(std::make_unique<BlockWorker>());
    size_t scratch = 0;
    for (const TileComponent& tc : plan.tile_components) {
      scratch = std::max(scratch, dwt_scratch_samples(tc.rect.width(), tc.rect.height()));
    }
    for (size_t i = 0; i < num_workers(); ++i) dwt_scratch_.emplace_back(scratch * sizeof(float));
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
  void ingest_component(const cj2k_frame& frame, uint32_t component, CpuFrameWork& work);
  void ingest_mct(const cj2k_frame& frame, CpuFrameWork& work);
  void transform(const TileComponent& tc, CpuFrameWork& work);
  uint32_t quantize(const CodeBlock& block, CpuFrameWork& work, BlockWorker& worker,
                    ptrdiff_t stride);
  void code_block(uint32_t index, uint16_t threshold, uint32_t last_plane, CpuFrameWork& work,
                  BlockWorker& worker, Arena& arena);
  void keep(const Tier1Output& out, const Tier1Stop& stop, double weight, CodedBlock& coded,
            ChunkPool& pool, BlockWorker& worker, Arena& arena);

  SampleRow sample_row(const cj2k_frame& frame, uint32_t c, size_t y) const {
    const cj2k_component_view& v = frame.components[c];
    const Component& component = plan_.components[c];
    return {static_cast<const uint8_t*>(v.data) + static_cast<ptrdiff_t>(y) * v.stride_bytes,
            v.step_bytes,
            v.word_bytes,
            v.shift,
            component.depth,
            component.is_signed};
  }

  const Plan& plan_;
  size_t workers_;
  std::vector<std::unique_ptr<BlockWorker>> block_workers_;
  std::vector<HostBuffer> dwt_scratch_;
};

void CpuBackend::ingest_mct(const cj2k_frame& frame, CpuFrameWork& work) {
  const Plane<int32_t> planes[3] = {work.plane(0), work.plane(1), work.plane(2)};
  parallel_for(static_cast<size_t>(planes[0].height), kRowGrain, [&](size_t begin, size_t end) {
    for (size_t y = begin; y < end; ++y) {
      int32_t* rows[3];
      for (uint32_t c = 0; c < 3; ++c) {
        rows[c] = planes[c].row(static_cast<ptrdiff_t>(y));
        simd::ingest_row(sample_row(frame, c, y), rows[c], planes[c].width);
      }
      if (plan_.reversible) {
        simd::rct_row(rows[0], rows[1], rows[2], planes[0].width);
      } else {
        simd::ict_row(rows[0], rows[1], rows[2], planes[0].width);
      }
    }
  });
}

void CpuBackend::ingest_component(const cj2k_frame& frame, uint32_t component, CpuFrameWork& work) {
  const Plane<int32_t> plane = work.plane(component);
  parallel_for(static_cast<size_t>(plane.height), kRowGrain, [&](size_t begin, size_t end) {
    for (size_t y = begin; y < end; ++y) {
      int32_t* row = plane.row(static_cast<ptrdiff_t>(y));
      simd::ingest_row(sample_row(frame, component, y), row, plane.width);
      if (!plan_.reversible) simd::to_float_row(row, plane.width);
    }
  });
}

Status CpuBackend::ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number,
                          cj2k_stats& stats) {
  const auto start = std::chrono::steady_clock::now();
  CpuFrameWork& work = static_cast<CpuGopWork&>(gop).frame(number);
  uint32_t c = 0;
  if (plan_.use_mct) {
    ingest_mct(frame, work);
    c = 3;
  }
  for (; c < plan_.components.size(); ++c) ingest_component(frame, c, work);
  stats.stage_ms[0] = ms_since(start);
  return Status::kOk;
}

void CpuBackend::transform(const TileComponent& tc, CpuFrameWork& work) {
  for (uint32_t r = static_cast<uint32_t>(plan_.params.levels); r > 0; --r) {
    const Rect rect = plan_.resolutions[tc.first_resolution + r].rect;
    if (rect.empty()) continue;
    const auto columns = static_cast<size_t>(rect.width()),
               rows = static_cast<size_t>(rect.height());
    const auto run = [&](auto plane, auto vertical, auto horizontal) {
      using Sample = std::remove_pointer_t<decltype(plane.data)>;
      plane = plane.sub(tc.plane_x, tc.plane_y, rect.width(), rect.height());
      parallel_for(columns, kColumnGrain, [&](size_t begin, size_t end) {
        vertical(plane, rect.y0 & 1, static_cast<int32_t>(begin), static_cast<int32_t>(end),
                 dwt_scratch_[worker_index()].as<Sample>());
      });
      parallel_for(rows, kRowGrain, [&](size_t begin, size_t end) {
        horizontal(plane, rect.x0 & 1, static_cast<int32_t>(begin), static_cast<int32_t>(end),
                   dwt_scratch_[worker_index()].as<Sample>());
      });
    };
    if (plan_.reversible) {
      run(work.plane(tc.component), simd::dwt53_vertical, simd::dwt53_horizontal);
    } else {
      run(work.float_plane(tc.component), simd::dwt97_vertical, simd::dwt97_horizontal);
    }
  }
}

uint32_t CpuBackend::quantize(const CodeBlock& block, CpuFrameWork& work, BlockWorker& worker,
                              ptrdiff_t stride) {
  const Subband& band = plan_.subbands[block.subband];
  uint32_t* samples = worker.samples.as<uint32_t>();
  if (plan_.reversible) {
    const Plane<int32_t> plane = work.plane(block.component);
    return simd::quantize_53(plane.row(block.plane_y) + block.plane_x, plane.stride_samples,
                             block.width, block.height, samples, stride);
  }
  const Plane<float> plane = work.float_plane(block.component);
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
    const uint64_t sum = left_distortion(worker.samples.as<uint32_t>(), stride, block.width,
                                         block.height, planes, plan_.reversible);
    return weight * LeftPlanes(planes, plan_.reversible).error(sum);
  };
  if (planes_left <= stop.last_plane) {
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
    for (const TileComponent& tc : plan_.tile_components) transform(tc, work);
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
  size_t bytes = planned_block_bytes(plan) + plan.blocks.size() * sizeof(CodedBlock);
  for (const Component& c : plan.components) {
    bytes += static_cast<size_t>(plane_stride(c.rect.width())) *
             static_cast<size_t>(c.rect.height()) * sizeof(int32_t);
  }
  return static_cast<int64_t>(bytes) * plan.params.gop;
}

std::unique_ptr<Backend> make_cpu_backend(const Plan& plan) {
  return std::make_unique<CpuBackend>(plan);
}

}  // namespace cj2k
