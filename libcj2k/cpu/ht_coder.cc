// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The HT block coder of the CPU backend. A block is coded at the cleanup planes that the slope
// threshold asks for, each with its refinement passes. All of these are points that rate control
// may take; the hull is built of them. A block that lacks planes is coded anew with more of them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/buffer.h"
#include "base/parallel.h"
#include "coders/coded_before.h"
#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/tier1.h"
#include "coders/ht/ht_block.h"
#include "coders/ht/ht_points.h"
#include "coders/ht/ht_rdoq.h"
#include "core/stop.h"
#include "cpu/block_coder.h"
#include "pixels/block_samples.h"
#include "plan/plan_quant.h"

namespace cj2k {
namespace {

constexpr int kColumns = 16;  ///< rows of samples are a multiple of this long
constexpr int kMostPoints = kMaxHtPoints + kMaxHtRdoqPoints;

constexpr size_t kSampleBytes =
    static_cast<size_t>(kColumns * kMaxBlockSide + kMaxBlockSamples) * sizeof(uint32_t);

/// CodedBlock::coder_state with RDOQ: the planes that were coded without it. All rounds of a frame quantise
/// alike but for the steps, and the bytes of a round stay, so RDOQ codes only its own passes.
struct CodedPlanes {
  const HtPlane* planes = nullptr;
  int count = 0;
  uint32_t step_set = 0;
};

/// What RDOQ needs of a thread's memory.
struct RdoqWorker {
  HostBuffer samples{kSampleBytes};
  HtRdoqScratch scratch;
  uint8_t changes[kMostHtChangeBytes];
};

/// The working memory of one thread.
struct HtWorker {
  explicit HtWorker(bool has_rdoq) : samples(kSampleBytes) {
    if (has_rdoq) rdoq = std::make_unique<RdoqWorker>();
  }
  HostBuffer samples;
  std::unique_ptr<RdoqWorker> rdoq;
  uint8_t cleanup[kMaxHtCleanupBytes];
  uint8_t sig_prop[kMaxHtRefinementBytes];
  uint8_t both[kMaxHtRefinementBytes];
  HtPoint points[kMostPoints];
  HtPlane planes[kMaxBitPlanes];
  HullPoint hull[kMostPoints];
  PointCode codes[kMostPoints];
  LayerCuts cuts[kMostPoints];
};

/// Codes blocks on one thread.
class HtRun {
 public:
  HtRun(const Plan& plan, const CoefficientPlanes& planes, const BlockOrder& order,
        size_t worker_index, HtWorker& worker, CpuBlocks& out)
      : plan_(plan),
        planes_(planes),
        order_(order),
        worker_index_(worker_index),
        worker_(worker),
        out_(out),
        takes_all_(plan.params.lossless != 0 && plan.params.layers == 1 &&
                   plan.params.curves == CJ2K_CURVES_OFF) {}

  /// @param next  the block after it, or null
  void code(uint32_t index, const CodeBlock* next);

 private:
  double left_error(const CodeBlock& block, int planes) const;
  /// Squared error of the picture without the lowest `planes` planes. @param sum  of HtCounts
  double error_of(int planes, uint64_t sum) const {
    return ht_left_error(plan_.reversible, weight_, planes, sum);
  }
  void estimate_planes(const CodeBlock& block, const HtPlanes& planes, int bit_planes,
                       HtCounts counts, double total, CodedBlock& coded);
  HtCounts count(int plane, int bit_planes) {
    return simd::ht_count(samples_, plane, bit_planes, plan_.reversible, std::exchange(next_, {}));
  }
  void code_plane(const CodeBlock& block, int plane, int passes, double total, double left,
                  CodedBlock& coded);
  void code_samples(const HtSamples& samples, HtPlane& code);
  void add_plane(const HtPlane& code, const CodeBlock& block, double total, CodedBlock& coded);
  void keep_planes(CodedBlock& coded);
  void build_hull(CodedBlock& coded);
  const uint8_t* keep(const uint8_t* bytes, uint32_t count);

  const Plan& plan_;
  const CoefficientPlanes& planes_;
  const BlockOrder& order_;
  const size_t worker_index_;
  HtWorker& worker_;
  CpuBlocks& out_;
  const bool takes_all_;  ///< whatever the points remove, they are taken
  HtSamples samples_{};
  HtNextRows next_{};  ///< of the block after it, until they are prefetched
  double weight_ = 0;
  int count_ = 0;       ///< of worker_.points
  CodedPlanes before_;  ///< in an earlier round, with these steps
  int num_planes_ = 0;  ///< of worker_.planes: coded without RDOQ
};

/// Where the coefficients of a block are.
HtNextRows rows_of(const CoefficientPlanes& planes, const CodeBlock& block) {
  const auto rows = [&block](const auto& plane) {
    constexpr int kBytes = sizeof(*plane.data);
    return HtNextRows{reinterpret_cast<const uint8_t*>(plane.data), plane.stride_samples * kBytes,
                      block.height, block.width * kBytes};
  };
  return planes.is_narrow(block) ? rows(planes.block<int16_t>(block))
                                 : rows(planes.block<int32_t>(block));
}

void HtRun::code(uint32_t index, const CodeBlock* next) {
  const CodeBlock& block = plan_.blocks[index];
  CodedBlock& coded = out_[index];
  before_ = {};
  num_planes_ = 0;
  if (order_.rdoq[block.component] != 0 && coded.coder_state != nullptr)
    before_ = *static_cast<const CodedPlanes*>(coded.coder_state);
  if (before_.step_set != order_.step_set) before_ = {};
  if (order_.anew) coded = CodedBlock{};
  const ptrdiff_t stride = (block.width + kColumns - 1) / kColumns * kColumns;
  uint32_t* samples = worker_.samples.as<uint32_t>();
  const int bit_planes =
      std::bit_width(quantize_block(plan_, planes_, block, order_.step_set, samples, stride));
  samples_ = {samples, stride, block.width, block.height};
  next_ = next == nullptr ? HtNextRows{} : rows_of(planes_, *next);
  weight_ = distortion_weight(plan_, block, order_.step_set);
  const uint16_t threshold = pause_threshold(order_.thresholds[block.component], block.orientation);
  const SlopeRange slopes{threshold, std::max(threshold, order_.highest[block.component])};
  const HtRules rules = ht_rules(plan_);
  const HtPlanes planes = ht_planes_to_code(rules, weight_, slopes, bit_planes);
  const HtPoints points = ht_points_to_make(threshold, planes, order_.points);
  const int most_passes =
      most_ht_passes(rules, order_.is_trial, uint32_t{block.width} * block.height);
  HtCounts counts{};  // of plane `first` and those above
  const int first = std::max(planes.end - kHtNearPlanes, planes.lowest);
  double total = 0;
  if (bit_planes > 0 && points == HtPoints::kAll)
    total = takes_all_ ? 1 : left_error(block, bit_planes);
  if (bit_planes > 0 && points != HtPoints::kAll) {
    counts = count(first, bit_planes);
    total = error_of(bit_planes, counts.total);
  }
  count_ = 0;
  if (points == HtPoints::kNearSlope) {
    double left[kHtNearPlanes];
    for (int k = 0; k < planes.end - planes.lowest; ++k)
      left[k] = error_of(planes.lowest + k, counts.left[k]);
    const HtPasses passes =
        ht_passes_to_code(block, weight_, planes, order_.thresholds[block.component], total, left,
                          counts.significant, most_passes);
    for (int k = planes.end - planes.lowest - 1; k >= 0; --k) {
      if (passes.of[k] > 0)
        code_plane(block, planes.lowest + k, passes.of[k], total, left[k], coded);
    }
  } else if (points == HtPoints::kEstimate) {
    estimate_planes(block, planes, bit_planes, counts, total, coded);
  } else {
    for (int plane = planes.end - 1; plane >= planes.lowest; --plane)
      code_plane(block, plane, ht_passes(plane, planes.lowest, points, most_passes), total,
                 left_error(block, plane), coded);
  }
  next_.prefetch(0, next_.rows);
  end_ht_call(planes, bit_planes, total, coded);
  build_hull(coded);
  if (plan_.has_rdoq && num_planes_ > 0) keep_planes(coded);
}

/// Squared error of the picture if the block is decoded without its lowest `planes` planes.
double HtRun::left_error(const CodeBlock& block, int planes) const {
  uint64_t sum = 0;
  if (planes > 0) {
    sum = simd::left_distortion(samples_.data, samples_.stride, block.width, block.height, planes,
                                plan_.reversible);
  } else if (!plan_.reversible) {
    for (int y = 0; y < block.height; ++y) {
      const uint32_t* row = samples_.data + y * samples_.stride;
      sum += static_cast<uint64_t>(std::count(row, row + block.width, 0u));
    }
  }
  return ht_left_error(plan_.reversible, weight_, planes, sum);
}

const uint8_t* HtRun::keep(const uint8_t* bytes, uint32_t count) {
  uint8_t* kept = out_.take<uint8_t>(worker_index_, count);
  std::memcpy(kept, bytes, count);
  return kept;
}

/// Makes the points of HtPoints::kEstimate. @param counts  of the highest planes
void HtRun::estimate_planes(const CodeBlock& block, const HtPlanes& planes, int bit_planes,
                            HtCounts counts, double total, CodedBlock& coded) {
  HtPlane code{};
  code.passes = 1;
  uint32_t sixteenths = 0, above = 0;
  StepVoter voter;
  int first = std::max(planes.end - kHtNearPlanes, planes.lowest);  // the plane of counts.left[0]
  for (int plane = planes.end - 1; plane >= planes.lowest; --plane) {
    if (plane < first) {
      first = std::max(first - kHtNearPlanes, planes.lowest);
      counts = count(first, bit_planes);
    }
    HalfCounts halves{counts.significant[plane - first], 0, 0};
    if (plane >= kLowestHalves)
      halves = simd::count_halves(samples_.data, samples_.stride, block.width, block.height, plane);
    voter.add(plane, halves);
    sixteenths +=
        ht_plane_bits(halves.significant, above, static_cast<uint32_t>(block.width * block.height));
    above = halves.significant;
    code.plane = plane;
    code.cleanup_bytes = sixteenths / 128 + 1;
    code.left = error_of(plane, counts.left[plane - first]);
    count_ht_passes(code, coded);
    count_ += make_ht_points(code, subband_of(plan_, block, order_.step_set), weight_, total,
                             worker_.points + count_);
  }
  coded.step_vote = block.orientation == kLL ? StepVote::kNone : voter.vote();
}

/// @param total  squared error of the block without any pass
/// @param left   without the planes below `plane`
void HtRun::code_plane(const CodeBlock& block, int plane, int passes, double total, double left,
                       CodedBlock& coded) {
  HtPlane code{};
  const HtPlane* const end = before_.planes + before_.count;
  const HtPlane* const found = std::find_if(before_.planes, end, [&](const HtPlane& of) {
    return of.plane == plane && of.passes >= passes;
  });
  if (found != end) {
    code = *found;
    code.passes = passes;
  } else {
    code.plane = plane;
    code.passes = passes;
    code.left = left;
    code_samples(samples_, code);
  }
  worker_.planes[num_planes_++] = code;
  add_plane(code, block, total, coded);
  const uint16_t slope = order_.rdoq[block.component];
  if (slope == 0) return;
  const double lambda = rdoq_lambda(slope, weight_);
  if (!is_ht_rdoq_plane(lambda, plane, ht_rules(plan_).both_rdoq_planes)) return;
  const Subband& band = subband_of(plan_, block, order_.step_set);
  HtRdoqBlock b{samples_,
                plane,
                nullptr,
                0,
                1,
                lambda,
                overlaps_of(plan_.reversible, band.level, band.orientation)};
  if (!plan_.reversible) {
    const auto coefficients = planes_.block<float>(block);
    b.coefficients = coefficients.data;
    b.coefficient_stride = coefficients.stride_samples;
    b.inverse_step = band.inverse_step;
  }
  uint32_t* out = worker_.rdoq->samples.as<uint32_t>();
  uint8_t* const changes = keeps_coefficients(plan_) ? worker_.rdoq->changes : nullptr;
  const HtRdoqResult result = ht_rdoq(b, worker_.rdoq->scratch, out, changes);
  if (result.changes == 0 || result.is_empty) return;
  const HtSamples changed{out, samples_.stride, samples_.width, samples_.height};
  code.coding = 1;
  code.left += weight_ * result.added;
  if (changes != nullptr)
    code.changes = keep(changes, ht_change_bytes(samples_.width, samples_.height));
  code_samples(changed, code);
  add_plane(code, block, total, coded);
}

/// Codes the passes of `code`. @param code  plane and passes are set
void HtRun::code_samples(const HtSamples& samples, HtPlane& code) {
  code.cleanup_bytes =
      simd::ht_cleanup(samples, code.plane, worker_.cleanup, std::exchange(next_, {}));
  code.cleanup = keep(worker_.cleanup, code.cleanup_bytes);
  if (code.passes > 1) {
    const bool causal = (plan_.params.cblk_style & CJ2K_STYLE_VSC) != 0;
    uint8_t* both = code.passes > 2 ? worker_.both : nullptr;
    code.refinement =
        simd::ht_refinement(samples, code.plane, causal, plan_.reversible, worker_.sig_prop, both);
    code.sig_prop = keep(worker_.sig_prop, code.refinement.sig_prop_bytes);
    if (code.passes > 2) code.both = keep(worker_.both, code.refinement.both_bytes);
    if (code.passes > 2 && code.refinement.sig_prop_bytes > 0)
      code.sig_prop_last = worker_.both[code.refinement.sig_prop_bytes - 1];
  }
}

/// Makes the points of a coded plane.
void HtRun::add_plane(const HtPlane& code, const CodeBlock& block, double total,
                      CodedBlock& coded) {
  count_ht_passes(code, coded);
  count_ += make_ht_points(code, subband_of(plan_, block, order_.step_set), weight_, total,
                           worker_.points + count_);
}

void HtRun::keep_planes(CodedBlock& coded) {
  auto* planes = out_.take<HtPlane>(worker_index_, static_cast<size_t>(num_planes_));
  std::copy_n(worker_.planes, num_planes_, planes);
  auto* kept = out_.take<CodedPlanes>(worker_index_, 1);
  *kept = {planes, num_planes_, order_.step_set};
  coded.coder_state = kept;
}

/// Builds the hull of all points.
void HtRun::build_hull(CodedBlock& coded) {
  if (count_ == 0) return;
  LayerCuts* const worker_cuts = plan_.params.layers > 1 ? worker_.cuts : nullptr;
  const auto size = static_cast<size_t>(
      build_ht_hull(worker_.points, count_, weight_, {worker_.hull, worker_.codes, worker_cuts}));
  auto* hull = out_.take<HullPoint>(worker_index_, size);
  auto* codes = out_.take<PointCode>(worker_index_, size);
  std::copy_n(worker_.hull, size, hull);
  std::copy_n(worker_.codes, size, codes);
  coded.hull = hull;
  coded.codes = codes;
  coded.num_hull = static_cast<uint8_t>(size);
  if (worker_cuts != nullptr) {
    auto* cuts = out_.take<LayerCuts>(worker_index_, size);
    std::copy_n(worker_.cuts, size, cuts);
    coded.cuts = cuts;
  }
}

class CpuHt final : public CpuBlockCoder {
 public:
  CpuHt(const Plan& plan, size_t workers) : plan_(plan) {
    for (size_t i = 0; i < workers; ++i)
      workers_.push_back(std::make_unique<HtWorker>(plan.has_rdoq));
  }
  void code(const CoefficientPlanes& planes, const BlockOrder& order, CpuBlocks& out) override {
    const std::span<const uint32_t> blocks = order.blocks;
    parallel_for(blocks.size(), block_grain(blocks.size()), [&](size_t begin, size_t end) {
      const size_t worker = worker_index();
      HtRun run(plan_, planes, order, worker, *workers_[worker], out);
      for (size_t i = begin; i < end; ++i)
        run.code(blocks[i], i + 1 < end ? &plan_.blocks[blocks[i + 1]] : nullptr);
    });
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
