// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The CPU backend: bands of rows (cpu/cpu_pixels.h) and code-blocks (cpu/block_coder.h) are tasks
// of the encoder's threads.
#include <algorithm>
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

namespace cj2k {
namespace {

/// Blocks in one part of the analysis.
constexpr size_t kMeasureGrain = 16;

struct CpuFrameWork {
  CpuFrameWork(const Plan& plan, size_t workers)
      : planes(plan), blocks(plan, workers), rules(plan) {
    if (plan.params.curves == CJ2K_CURVES_ONLY) analysis.emplace(plan);
  }
  CpuPlanes planes;
  CpuBlocks blocks;
  CpuStopRules rules;
  std::optional<FrameAnalysis> analysis;  ///< with curves = only
};

class CpuGopWork final : public GopWork {
 public:
  CpuGopWork(const Plan& plan, size_t workers) {
    for (int i = 0; i < plan.params.gop; ++i)
      frames_.push_back(std::make_unique<CpuFrameWork>(plan, workers));
  }
  const CodedBlock* blocks(uint32_t frame) const override { return frames_[frame]->blocks.all(); }
  CpuFrameWork& frame(uint32_t number) { return *frames_[number]; }

 private:
  std::vector<std::unique_ptr<CpuFrameWork>> frames_;
};

CpuFrameWork& frame_of(GopWork& gop, uint32_t number) {
  return static_cast<CpuGopWork&>(gop).frame(number);
}

std::unique_ptr<CpuBlockCoder> make_block_coder(const Plan& plan, size_t workers) {
  switch (plan.params.coder) {
    case CJ2K_CODER_HT:
      return make_cpu_ht(plan, workers);
    case CJ2K_CODER_AUTO:  // resolved before
    case CJ2K_CODER_EBCOT:
      break;
  }
  return make_cpu_ebcot(plan, workers);
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const Plan& plan)
      : plan_(plan),
        workers_(num_workers()),
        pixels_(plan, workers_),
        coder_(make_block_coder(plan, workers_)) {}

  const char* name() const override { return "cpu"; }
  Status make_gop_work(std::unique_ptr<GopWork>* work) override {
    *work = std::make_unique<CpuGopWork>(plan_, workers_);
    return Status::kOk;
  }
  int64_t gop_work_bytes() const override { return cpu_gop_bytes(plan_); }

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
  const Plan& plan_;
  size_t workers_;
  CpuPixels pixels_;
  std::unique_ptr<CpuBlockCoder> coder_;
};

Status CpuBackend::ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number,
                          cj2k_stats& stats) {
  const auto start = Clock::now();
  pixels_.read(frame, frame_of(gop, number).planes);
  stats.stage_ms[CJ2K_STAGE_INGEST] = ms_since(start);
  return Status::kOk;
}

Status CpuBackend::transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) {
  for (const uint32_t f : frames) {
    const auto start = Clock::now();
    CpuFrameWork& work = frame_of(gop, f);
    work.blocks.reset();
    pixels_.transform(work.planes);
    stats[f].stage_ms[CJ2K_STAGE_TRANSFORM] += ms_since(start);
  }
  return Status::kOk;
}

Status CpuBackend::code_blocks(GopWork& gop, std::span<BlockRequest> requests,
                               const BlockSample& sample, cj2k_stats* stats) {
  for (BlockRequest& request : requests) {
    const auto start = Clock::now();
    CpuFrameWork& work = frame_of(gop, request.frame);
    const auto code = [&](const BlockOrder& order) {
      coder_->code(work.planes, order, work.blocks);
    };
    work.rules.run(request, sample, work.blocks.all(), std::ref(code));
    stats[request.frame].stage_ms[CJ2K_STAGE_BLOCKS] += ms_since(start);
  }
  return Status::kOk;
}

Status CpuBackend::analyse(GopWork& gop, uint32_t frame, const RateLimits& limits,
                           cj2k_curve* curve) {
  CpuFrameWork& work = frame_of(gop, frame);
  FrameAnalysis& analysis = *work.analysis;
  parallel_for(plan_.blocks.size(), kMeasureGrain,
               [&](size_t begin, size_t end) { analysis.measure(work.planes, begin, end); });
  analysis.begin(limits);
  do {
    coder_->code(work.planes, analysis.order(), work.blocks);
  } while (analysis.goes_on(work.blocks.all()));
  *curve = analysis.curve();
  return Status::kOk;
}

}  // namespace

int64_t cpu_gop_bytes(const Plan& plan) {
  const auto frame = static_cast<int64_t>(CpuBlocks::bytes(plan) + CpuPlanes::bytes(plan)) +
                     CpuStopRules::bytes(plan);
  return frame * plan.params.gop;
}

std::unique_ptr<Backend> make_cpu_backend(const Plan& plan) {
  return std::make_unique<CpuBackend>(plan);
}

}  // namespace cj2k
