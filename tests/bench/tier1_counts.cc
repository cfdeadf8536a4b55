// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "bench/tier1_counts.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "backend.h"
#include "cj2k.h"
#include "coders/ebcot/tier1.h"
#include "pixels/block_samples.h"
#include "support/encode.h"

// For the instruction set that this file is compiled for.
#include <hwy/highway.h>

#include "coders/ebcot/tier1_model-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

uint16_t count_bits(const Layout& layout, const uint64_t* words) {
  int bits = 0;
  for (int i = layout.begin; i < layout.end; ++i) bits += __builtin_popcountll(words[i]);
  return static_cast<uint16_t>(bits);
}

/// @return the decisions of each pass
std::vector<uint16_t> count_passes(const Tier1Block& block, Tier1Scratch::Impl& z) {
  std::vector<uint16_t> passes;
  if (block.bit_planes == 0) return passes;
  Layout layout;
  layout.words_wide = (block.width + 15) / 16;
  layout.pitch = layout.words_wide + 1;
  layout.stripes = (block.height + 3) / 4;
  layout.begin = 1 + layout.pitch;
  layout.end = layout.begin + layout.stripes * layout.pitch;
  load_planes(block, layout, z);
  for (int plane = block.bit_planes - 1; plane >= 0; --plane) {
    if (plane < block.bit_planes - 1) {
      grow_significance(layout, false, z.planes[plane], z);
      passes.push_back(
          static_cast<uint16_t>(count_bits(layout, z.members) + count_bits(layout, z.n)));
      passes.push_back(count_bits(layout, z.s));
    }
    model_cleanup(layout, block.orientation, false, z.planes[plane], z);
    passes.push_back(static_cast<uint16_t>(count_bits(layout, z.zc_mask) +
                                           count_bits(layout, z.sc_mask) +
                                           3 * count_bits(layout, z.run_break)));
    for (int i = layout.begin; i < layout.end; ++i) z.s[i] = z.a[i] = z.e[i];
  }
  return passes;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

namespace cj2k {

// The linker gives the encoder __wrap_ in place of make_cpu_backend, and __real_ is that function.
// NOLINTBEGIN: the names are those of the linker's option --wrap
std::unique_ptr<Backend> real_cpu_backend(const Plan&) __asm__(
    "__real__ZN4cj2k16make_cpu_backendERKNS_4PlanE");
std::unique_ptr<Backend> counting_cpu_backend(const Plan&) __asm__(
    "__wrap__ZN4cj2k16make_cpu_backendERKNS_4PlanE");
// NOLINTEND

namespace {

std::vector<bench::FrameCounts>* g_counts;

/// The CPU backend. Counts the decisions of a frame when its blocks are final.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(const Plan& plan) : plan_(plan), cpu_(real_cpu_backend(plan)) {}

  const char* name() const override { return cpu_->name(); }
  Status make_gop_work(std::unique_ptr<GopWork>* work) override {
    return cpu_->make_gop_work(work);
  }
  int64_t gop_work_bytes() const override { return cpu_->gop_work_bytes(); }
  Status ingest(const cj2k_frame& frame, GopWork& work, uint32_t number,
                cj2k_stats& stats) override {
    return cpu_->ingest(frame, work, number, stats);
  }
  Status transform(GopWork& work, std::span<const uint32_t> frames, cj2k_stats* stats) override {
    return cpu_->transform(work, frames, stats);
  }
  Status code_blocks(GopWork& work, std::span<BlockRequest> requests, const BlockSample& sample,
                     cj2k_stats* stats) override {
    CJ2K_TRY(cpu_->code_blocks(work, requests, sample, stats));
    for (const BlockRequest& request : requests) {
      if (request.rule == StopRule::kPredicted) {
        thresholds_[request.frame] = request.thresholds;
        sample_ = sample.blocks;
      }
    }
    return Status::kOk;
  }
  Status coefficients(GopWork& work, uint32_t frame, CoefficientPlanes* planes) override {
    return cpu_->coefficients(work, frame, planes);
  }
  Status fetch(GopWork& work, std::span<const FetchRequest> requests, cj2k_stats* stats) override {
    for (const FetchRequest& request : requests) {
      CJ2K_TRY(count(work, request.frame));
    }
    return cpu_->fetch(work, requests, stats);
  }

 private:
  Status count(GopWork& work, uint32_t frame) {
    CoefficientPlanes planes(plan_);
    CJ2K_TRY(cpu_->coefficients(work, frame, &planes));
    const CodedBlock* const coded = work.blocks(frame);
    Tier1Scratch scratch;
    std::vector<uint32_t> samples(kMaxBlockSamples + 16 * kMaxBlockSide);
    bench::FrameCounts counts(plan_.blocks.size());
    std::vector<uint8_t> bytes(kMaxBlockBytes + 1);
    std::vector<CodingPass> passes(kMaxPasses);
    std::vector<PassTail> tails(kMaxPasses);
    Tier1Output out{bytes.data() + 1, passes.data(), tails.data(), 0, 0};
    for (size_t i = 0; i < counts.size(); ++i) {
      const CodeBlock& block = plan_.blocks[i];
      const ptrdiff_t stride = (block.width + 15) / 16 * 16;
      const uint32_t all = quantize_block(plan_, planes, block, 0, samples.data(), stride);
      const Tier1Block source{
          samples.data(),    stride, block.width,      block.height,
          block.orientation, 0,      plan_.reversible, static_cast<int>(std::bit_width(all))};
      out.num_passes = 0;
      if (source.bit_planes > 0) simd::encode_block(source, scratch, out);
      counts[i] = {HWY_NAMESPACE::count_passes(source, scratch.impl()),
                   {out.passes, out.passes + out.num_passes},
                   static_cast<uint16_t>(coded[i].num_passes - coded[i].num_passes_resumed),
                   std::binary_search(sample_.begin(), sample_.end(), static_cast<uint32_t>(i)),
                   thresholds_[frame][block.component],
                   distortion_weight(plan_, block)};
    }
    g_counts->push_back(std::move(counts));
    return Status::kOk;
  }

  const Plan& plan_;
  const std::unique_ptr<Backend> cpu_;
  std::vector<uint32_t> sample_;                    ///< rising
  std::map<uint32_t, SlopeThresholds> thresholds_;  ///< of each frame of the GOP
};

}  // namespace

std::unique_ptr<Backend> counting_cpu_backend(const Plan& plan) {
  return std::make_unique<CountingBackend>(plan);
}

namespace bench {

std::vector<FrameCounts> count_decisions(
    const std::vector<test::Picture>& pictures,
    const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<FrameCounts> counts;
  g_counts = &counts;
  const test::Picture& first = pictures.at(0);
  cj2k_params params =
      test::make_params(first.width, first.height, static_cast<int32_t>(first.components.size()),
                        first.components[0].depth);
  for (const auto& [key, value] : settings) test::set(params, key.c_str(), value);
  for (const test::Encoded& frame : test::encode_sequence(params, pictures)) {
    if (frame.status != CJ2K_OK) {
      std::fprintf(stderr, "cannot encode: %s\n", frame.log.c_str());
      std::exit(1);
    }
  }
  g_counts = nullptr;
  return counts;
}

}  // namespace bench
}  // namespace cj2k
