// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The HT block coder of the CPU backend. A block is coded at the cleanup planes that the slope
// threshold asks for, each with its refinement passes. All of these are points that rate control
// may take; the hull is built of them. A block resumes with lower planes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/buffer.h"
#include "core/distortion.h"
#include "core/ht/plane_choice.h"
#include "cpu/block_coder.h"
#include "cpu/block_samples.h"
#include "stages/ebcot/tier1.h"
#include "stages/ht/ht_block.h"
#include "stages/layer_cuts.h"

namespace cj2k {
namespace {

constexpr int kColumns = 16;          ///< rows of samples are a multiple of this long
constexpr int kMaxHtPoints = 3 * 31;  ///< of a block: three for each plane

/// A truncation point, on the hull or not.
struct HtPoint {
  PointCode code;
  uint32_t bytes;
  uint16_t passes;
  double distortion;  ///< squared error removed, weighted
};

/// CodedBlock::coder_state: all points of the planes coded so far.
struct HtState {
  const HtPoint* points;
  int count;
};

/// The working memory of one thread.
struct HtWorker {
  HtWorker()
      : samples(static_cast<size_t>(kColumns * kMaxBlockSide + kMaxBlockSamples) *
                sizeof(uint32_t)) {}
  HostBuffer samples;
  uint8_t cleanup[kMaxHtCleanupBytes];
  uint8_t sig_prop[kMaxHtRefinementBytes];
  uint8_t both[kMaxHtRefinementBytes];
  HtPoint points[kMaxHtPoints];
  HullPoint hull[kMaxHtPoints];
};

/// Codes blocks on one thread.
class HtRun {
 public:
  HtRun(const Plan& plan, const CoefficientPlanes& planes, const BlockLimits& limits,
        size_t worker_index, HtWorker& worker, CpuBlocks& out)
      : plan_(plan),
        planes_(planes),
        limits_(limits),
        worker_index_(worker_index),
        worker_(worker),
        out_(out) {}

  void code(uint32_t index);

 private:
  HtPlanes planes_to_code(const CodeBlock& block, const CodedBlock& coded, int bit_planes) const;
  double left_error(const CodeBlock& block, int planes) const;
  void code_plane(const CodeBlock& block, int plane, double total, CodedBlock& coded);
  void refine(int plane, const HtPoint& cleanup, CodedBlock& coded);
  void add_point(const HtPoint& point) { worker_.points[count_++] = point; }
  void build_hull(CodedBlock& coded);
  LayerCuts layer_cuts(const HtPoint& point) const;
  const uint8_t* keep(const uint8_t* bytes, uint32_t count);

  const Plan& plan_;
  const CoefficientPlanes& planes_;
  const BlockLimits& limits_;
  const size_t worker_index_;
  HtWorker& worker_;
  CpuBlocks& out_;
  HtSamples samples_{};
  double weight_ = 0;
  int count_ = 0;  ///< of worker_.points
};

/// @return the planes of this call, of which there may be none
HtPlanes HtRun::planes_to_code(const CodeBlock& block, const CodedBlock& coded,
                               int bit_planes) const {
  if (plan_.params.lossless) return {0, std::min(bit_planes, 1)};
  HtPlanes planes = ht_planes_at(weight_, limits_.thresholds[block.component], bit_planes);
  if (!coded.is_coded) return planes;
  // A block that resumes takes one more plane at least.
  planes.lowest = std::min(planes.lowest, coded.planes_left - 1);
  planes.end = coded.planes_left;
  return planes;
}

void HtRun::code(uint32_t index) {
  const CodeBlock& block = plan_.blocks[index];
  CodedBlock& coded = out_[index];
  if (limits_.anew) coded = CodedBlock{};
  const ptrdiff_t stride = (block.width + kColumns - 1) / kColumns * kColumns;
  uint32_t* samples = worker_.samples.as<uint32_t>();
  const int bit_planes =
      std::bit_width(quantize_block(plan_, planes_, block, limits_.step_set, samples, stride));
  samples_ = {samples, stride, block.width, block.height};
  weight_ = distortion_weight(plan_, block, limits_.step_set);
  const HtPlanes planes = planes_to_code(block, coded, bit_planes);
  const double total = bit_planes > 0 ? left_error(block, bit_planes) : 0;
  count_ = 0;
  if (coded.coder_state != nullptr) {
    const auto& state = *static_cast<const HtState*>(coded.coder_state);
    std::copy_n(state.points, state.count, worker_.points);
    count_ = state.count;
  }
  const bool resumes = coded.is_coded;
  const int passes_before = coded.num_passes;
  for (int plane = planes.end - 1; plane >= planes.lowest; --plane)
    code_plane(block, plane, total, coded);
  coded.is_coded = true;
  coded.total_distortion = total;
  coded.planes_left = static_cast<uint8_t>(std::min(planes.lowest, bit_planes));
  coded.num_passes_left = static_cast<uint8_t>(3 * coded.planes_left);
  if (resumes)
    coded.num_passes_resumed =
        static_cast<uint8_t>(coded.num_passes_resumed + coded.num_passes - passes_before);
  build_hull(coded);
}

/// Squared error of the picture if the block is decoded without its lowest `planes` planes.
double HtRun::left_error(const CodeBlock& block, int planes) const {
  if (planes > 0) {
    const uint64_t sum = simd::left_distortion(samples_.data, samples_.stride, block.width,
                                               block.height, planes, plan_.reversible);
    return weight_ * LeftPlanes(planes, plan_.reversible).error(sum);
  }
  if (plan_.reversible) return 0;
  // Samples of 0 stand for half a step.
  int zeros = 0;
  for (int y = 0; y < block.height; ++y) {
    const uint32_t* row = samples_.data + y * samples_.stride;
    zeros += static_cast<int>(std::count(row, row + block.width, 0u));
  }
  return weight_ * zeros / 4;
}

const uint8_t* HtRun::keep(const uint8_t* bytes, uint32_t count) {
  uint8_t* kept = out_.take<uint8_t>(worker_index_, count);
  std::memcpy(kept, bytes, count);
  return kept;
}

/// @param total  squared error of the block without any pass
void HtRun::code_plane(const CodeBlock& block, int plane, double total, CodedBlock& coded) {
  const uint32_t bytes = simd::ht_cleanup(samples_, plane, worker_.cleanup);
  const int most_planes = subband_of(plan_, block, limits_.step_set).max_bit_planes;
  const auto zero_planes = static_cast<uint8_t>(most_planes - 1 - plane);
  const HtPoint cleanup{{keep(worker_.cleanup, bytes), nullptr, bytes, zero_planes},
                        bytes,
                        1,
                        total - left_error(block, plane)};
  add_point(cleanup);
  coded.num_bytes += bytes;
  ++coded.num_passes;
  if (plane > 0) refine(plane, cleanup, coded);
}

void HtRun::refine(int plane, const HtPoint& cleanup, CodedBlock& coded) {
  const bool causal = (plan_.params.cblk_style & CJ2K_STYLE_VSC) != 0;
  const HtRefinement refinement = simd::ht_refinement(samples_, plane, causal, plan_.reversible,
                                                      worker_.sig_prop, worker_.both);
  const auto removed = [&](int64_t distortion) {
    const struct {
      int64_t distortion;
      int plane;
    } pass{distortion, plane - 1};
    return weighted(removed_by(pass), weight_);
  };
  HtPoint point = cleanup;
  point.passes = 2;
  point.distortion += removed(refinement.sig_prop_distortion);
  if (refinement.sig_prop_bytes > 0) {
    point.code.rest = keep(worker_.sig_prop, refinement.sig_prop_bytes);
    point.bytes = cleanup.bytes + refinement.sig_prop_bytes;
    add_point(point);
  }
  point.passes = 3;
  point.distortion += removed(refinement.mag_ref_distortion);
  point.code.rest = keep(worker_.both, refinement.both_bytes);
  point.bytes = cleanup.bytes + refinement.both_bytes;
  add_point(point);
  coded.num_bytes += refinement.both_bytes;
  coded.num_passes = static_cast<uint8_t>(coded.num_passes + 2);
}

/// Builds the hull of all points so far, and keeps them if the block may resume.
void HtRun::build_hull(CodedBlock& coded) {
  HtPoint* const points = worker_.points;
  if (count_ == 0) return;
  std::sort(points, points + count_, [](const HtPoint& a, const HtPoint& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    if (a.distortion != b.distortion) return a.distortion < b.distortion;
    return a.passes > b.passes;
  });
  // HullPoint::passes is the number of the point here, counted from 1.
  HullBuilder<HullArray> builder{{worker_.hull}};
  for (int i = 0; i < count_; ++i) builder.push_point(points[i].distortion, points[i].bytes, i + 1);
  const int size = builder.finish(weight_, false);
  auto* hull = out_.take<HullPoint>(worker_index_, static_cast<size_t>(size));
  auto* codes = out_.take<PointCode>(worker_index_, static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    const HtPoint& point = points[worker_.hull[i].passes - 1];
    hull[i] = worker_.hull[i];
    hull[i].passes = point.passes;
    codes[i] = point.code;
  }
  coded.hull = hull;
  coded.codes = codes;
  coded.num_hull = static_cast<uint8_t>(size);
  if (plan_.params.layers > 1) {
    auto* cuts = out_.take<LayerCuts>(worker_index_, static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) cuts[i] = layer_cuts(points[worker_.hull[i].passes - 1]);
    coded.cuts = cuts;
  }
  if (coded.planes_left == 0) return;
  auto* kept = out_.take<HtPoint>(worker_index_, static_cast<size_t>(count_));
  std::copy_n(points, count_, kept);
  auto* state = out_.take<HtState>(worker_index_, 1);
  *state = {kept, count_};
  coded.coder_state = state;
}

/// A layer may end after each pass of the point. Of the segment of both refinement passes, the bytes
/// of SigProp are the first ones.
LayerCuts HtRun::layer_cuts(const HtPoint& point) const {
  uint32_t bytes[3] = {point.code.first_bytes, point.bytes, point.bytes};
  double distortion[3] = {point.distortion, point.distortion, point.distortion};
  for (int i = 0; i < count_; ++i) {
    const HtPoint& other = worker_.points[i];
    if (other.code.zero_bit_planes != point.code.zero_bit_planes || other.passes >= point.passes)
      continue;
    distortion[other.passes - 1] = other.distortion;
    if (other.passes == 2) {
      const uint8_t last = point.code.rest[other.bytes - point.code.first_bytes - 1];
      bytes[1] = other.bytes + (last == 0xFF ? 1 : 0);
    }
  }
  if (bytes[1] == point.bytes) distortion[1] = point.distortion;
  return make_layer_cuts(point.passes, bytes, distortion);
}

class CpuHt final : public CpuBlockCoder {
 public:
  CpuHt(const Plan& plan, size_t workers) : plan_(plan) {
    for (size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<HtWorker>());
  }
  void code(const CoefficientPlanes& planes, std::span<const uint32_t> blocks,
            const BlockLimits& limits, size_t worker, CpuBlocks& out) override {
    HtRun run(plan_, planes, limits, worker, *workers_[worker], out);
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i + 1 < blocks.size()) prefetch_block(planes, plan_.blocks[blocks[i + 1]]);
      run.code(blocks[i]);
    }
  }

 private:
  const Plan& plan_;
  std::vector<std::unique_ptr<HtWorker>> workers_;
};

}  // namespace

std::unique_ptr<CpuBlockCoder> make_cpu_ht(const Plan& plan, size_t workers) {
  return std::make_unique<CpuHt>(plan, workers);
}

}  // namespace cj2k
