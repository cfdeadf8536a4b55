// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The CPU backend: bands of rows (cpu/cpu_pixels.h) and code-blocks (cpu/block_coder.h) are tasks
// of the encoder's threads.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "cpu/block_coder.h"
#include "cpu/cpu_pixels.h"
#include "cpu/stop_rules.h"
#include "film/analysis.h"
#include "pixels/read_samples.h"

namespace cj2k {
namespace {

/// Rows in one part of a copy.
constexpr size_t kCopyGrain = 64;

/// Thrown where a group cannot be read.
struct ReadError {
  int number;  ///< what cj2k_frame::read returned
};

/// The samples of a frame that is read group by group. Where a frame in memory has no `release`, they
/// are copied, and the memory is kept for the next frame.
class FrameSource {
 public:
  /// Throws std::bad_alloc.
  void take(const Plan& plan, const cj2k_frame& frame);
  /// The samples of a group, valid until the next call. Throws ReadError, std::bad_alloc.
  const FrameSamples& load(const Plan& plan, const TileGroup& group);

 private:
  cj2k_frame frame_{};
  FrameSamples samples_;
  ReadSamples part_;  ///< with cj2k_frame::read
  HostBuffer copies_[CJ2K_MAX_COMPONENTS];
};

void FrameSource::take(const Plan& plan, const cj2k_frame& frame) {
  frame_ = frame;
  samples_ = FrameSamples(frame);
  if (frame.release != nullptr || frame.read != nullptr) return;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    const Rect& rect = plan.components[c].rect;
    const cj2k_component_view& from = frame.components[c];
    const auto word = static_cast<size_t>(from.word_bytes);
    const size_t row_bytes = word * static_cast<size_t>(rect.width());
    const size_t bytes = row_bytes * static_cast<size_t>(rect.height());
    if (copies_[c].bytes() < bytes) copies_[c] = HostBuffer(bytes);
    auto* const to = copies_[c].as<uint8_t>();
    parallel_for(static_cast<size_t>(rect.height()), kCopyGrain, [&](size_t begin, size_t end) {
      for (size_t y = begin; y < end; ++y) {
        const auto* in =
            static_cast<const uint8_t*>(from.data) + static_cast<ptrdiff_t>(y) * from.stride_bytes;
        uint8_t* out = to + y * row_bytes;
        if (from.step_bytes == from.word_bytes) {
          std::memcpy(out, in, row_bytes);
          continue;
        }
        for (int32_t x = 0; x < rect.width(); ++x, in += from.step_bytes, out += word)
          std::memcpy(out, in, word);
      }
    });
    samples_.views[c] = {to, static_cast<ptrdiff_t>(row_bytes), from.word_bytes, from.word_bytes,
                         from.shift};
  }
}

const FrameSamples& FrameSource::load(const Plan& plan, const TileGroup& group) {
  if (!needs_read(frame_)) return samples_;
  const size_t num_components = plan.components.size();
  Rect rects[CJ2K_MAX_COMPONENTS];
  for (size_t c = 0; c < num_components; ++c) {
    const TileComponent& first = plan.tile_components[group.begin * num_components + c];
    const TileComponent& last = plan.tile_components[(group.end - 1) * num_components + c];
    rects[c] = {first.rect.x0, first.rect.y0, last.rect.x1, last.rect.y1};
    samples_.corners[c] = {first.plane_x, first.plane_y};
  }
  if (const int error = part_.read(plan, frame_, rects, samples_.views)) throw ReadError{error};
  return samples_;
}

struct CpuFrameWork {
  CpuFrameWork(const Plan& plan, std::span<const TileGroup> groups, size_t workers)
      : planes(plan, groups, workers), blocks(plan, workers), rules(plan) {
    if (plan.params.curves == CJ2K_CURVES_ONLY) analysis.emplace(plan);
  }
  CpuPlanes planes;
  std::optional<size_t> group;  ///< whose coefficients are in `planes`; none: of a frame before
  FrameSource source;           ///< if there are several groups
  CpuBlocks blocks;
  CpuStopRules rules;
  std::optional<FrameAnalysis> analysis;  ///< with curves = only
};

class CpuGopWork final : public GopWork {
 public:
  CpuGopWork(const Plan& plan, std::span<const TileGroup> groups, size_t workers) {
    for (int i = 0; i < plan.params.gop; ++i)
      frames_.push_back(std::make_unique<CpuFrameWork>(plan, groups, workers));
  }
  const CodedBlock* blocks(uint32_t frame) const override { return frames_[frame]->blocks.all(); }
  CpuFrameWork& frame(uint32_t number) { return *frames_[number]; }

 private:
  std::vector<std::unique_ptr<CpuFrameWork>> frames_;
};

CpuFrameWork& frame_of(GopWork& gop, uint32_t number) {
  return static_cast<CpuGopWork&>(gop).frame(number);
}

/// @param keeps_state  whether paused blocks keep the state of their coder; without it, a block that
///                     resumes is coded from the start again, as its tile is transformed again
std::unique_ptr<CpuBlockCoder> make_block_coder(const Plan& plan, size_t workers,
                                                bool keeps_state) {
  switch (plan.params.coder) {
    case CJ2K_CODER_HT:
      return make_cpu_ht(plan, workers);
    case CJ2K_CODER_AUTO:  // resolved before
    case CJ2K_CODER_EBCOT:
      break;
  }
  return make_cpu_ebcot(plan, workers, keeps_state);
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const Plan& plan)
      : plan_(plan),
        workers_(num_workers()),
        groups_(tile_groups(plan, workers_)),
        pixels_(plan, groups_, workers_),
        coder_(make_block_coder(plan, workers_, groups_.size() == 1)) {}

  const char* name() const override { return "cpu"; }
  Status make_gop_work(std::unique_ptr<GopWork>* work) override {
    *work = std::make_unique<CpuGopWork>(plan_, groups_, workers_);
    return Status::kOk;
  }
  int64_t gop_work_bytes() const override { return cpu_gop_bytes(plan_, workers_); }
  bool reads_later(const cj2k_frame& frame) const override {
    return groups_.size() > 1 && frame.release != nullptr;
  }
  bool reads_until_coded() const override { return groups_.size() > 1; }

  Status ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number, cj2k_stats& stats) override;
  Status transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) override;
  Status code_blocks(GopWork& gop, std::span<BlockRequest> requests, const BlockSample& sample,
                     cj2k_stats* stats) override;
  Status analyse(GopWork& gop, uint32_t frame, const RateLimits& limits,
                 cj2k_curve* curve) override;
  Status coefficients(GopWork& gop, uint32_t frame, CoefficientPlanes* planes) override {
    *planes = frame_of(gop, frame).planes;
    return Status::kOk;
  }
  /// The bytes of all hull points are in host memory already.
  Status fetch(GopWork&, std::span<const FetchRequest>, cj2k_stats*) override {
    return Status::kOk;
  }

 private:
  void load(CpuFrameWork& work, size_t group, cj2k_stats& stats);
  void code(CpuFrameWork& work, const BlockOrder& order, cj2k_stats& stats);

  const Plan& plan_;
  size_t workers_;
  std::vector<TileGroup> groups_;
  CpuPixels pixels_;
  std::unique_ptr<CpuBlockCoder> coder_;
};

Status CpuBackend::ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number,
                          cj2k_stats& stats) {
  const auto start = Clock::now();
  CpuFrameWork& work = frame_of(gop, number);
  if (groups_.size() > 1) {
    work.source.take(plan_, frame);
  } else {
    pixels_.read(FrameSamples(frame), work.planes, 0);
  }
  stats.stage_ms[CJ2K_STAGE_INGEST] = ms_since(start);
  return Status::kOk;
}

Status CpuBackend::transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) {
  for (const uint32_t f : frames) {
    const auto start = Clock::now();
    CpuFrameWork& work = frame_of(gop, f);
    work.blocks.reset();
    work.group.reset();
    if (groups_.size() == 1) pixels_.transform(work.planes, 0);
    stats[f].stage_ms[CJ2K_STAGE_TRANSFORM] += ms_since(start);
  }
  return Status::kOk;
}

/// Makes the coefficients of a group of tiles, in place of those of another one.
void CpuBackend::load(CpuFrameWork& work, size_t group, cj2k_stats& stats) {
  if (work.group == group) return;
  const auto start = Clock::now();
  work.group.reset();
  const FrameSamples& samples = work.source.load(plan_, groups_[group]);
  work.group = group;
  work.planes.hold(groups_[group]);
  pixels_.read(samples, work.planes, group);
  const double read_ms = ms_since(start);
  pixels_.transform(work.planes, group);
  const double ms = ms_since(start);
  stats.stage_ms[CJ2K_STAGE_INGEST] += read_ms;
  stats.stage_ms[CJ2K_STAGE_TRANSFORM] += ms - read_ms;
  stats.stage_ms[CJ2K_STAGE_BLOCKS] -= ms;  // code_blocks adds the time of the call
}

/// Codes an order group by group. The blocks of a group are a range of the indices.
void CpuBackend::code(CpuFrameWork& work, const BlockOrder& order, cj2k_stats& stats) {
  if (groups_.size() == 1) return coder_->code(work.planes, order, work.blocks);
  auto begin = order.blocks.begin();
  for (size_t g = 0; g < groups_.size() && begin != order.blocks.end(); ++g) {
    const TileComponent& last = plan_.tile_components[groups_[g].end * plan_.components.size() - 1];
    const auto end =
        std::lower_bound(begin, order.blocks.end(), last.first_block + last.num_blocks);
    if (begin == end) continue;
    load(work, g, stats);
    BlockOrder part = order;
    part.blocks = {begin, end};
    coder_->code(work.planes, part, work.blocks);
    begin = end;
  }
}

Status CpuBackend::code_blocks(GopWork& gop, std::span<BlockRequest> requests,
                               const BlockSample& sample, cj2k_stats* stats) {
  for (BlockRequest& request : requests) {
    const auto start = Clock::now();
    CpuFrameWork& work = frame_of(gop, request.frame);
    const auto code = [&](const BlockOrder& order) {
      this->code(work, order, stats[request.frame]);
    };
    try {
      work.rules.run(request, sample, work.blocks.all(), std::ref(code));
    } catch (const ReadError& error) {
      request.outcome.read_error = error.number;
    }
    stats[request.frame].stage_ms[CJ2K_STAGE_BLOCKS] += ms_since(start);
  }
  return Status::kOk;
}

Status CpuBackend::analyse(GopWork& gop, uint32_t frame, const RateLimits& limits,
                           cj2k_curve* curve) {
  CpuFrameWork& work = frame_of(gop, frame);
  FrameAnalysis& analysis = *work.analysis;
  parallel_for(plan_.blocks.size(), FrameAnalysis::kGrain,
               [&](size_t begin, size_t end) { analysis.measure(work.planes, begin, end); });
  coder_->code(work.planes, analysis.order(), work.blocks);
  *curve = analysis.curve(work.blocks.all(), limits);
  return Status::kOk;
}

}  // namespace

int64_t cpu_gop_bytes(const Plan& plan, size_t workers) {
  const auto frame =
      static_cast<int64_t>(CpuBlocks::bytes(plan) +
                           CpuPlanes::bytes(plan, tile_groups(plan, workers), workers)) +
      CpuStopRules::bytes(plan);
  return frame * plan.params.gop;
}

std::unique_ptr<Backend> make_cpu_backend(const Plan& plan) {
  return std::make_unique<CpuBackend>(plan);
}

}  // namespace cj2k
