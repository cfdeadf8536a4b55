// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The HT block coder of the CUDA backend. The device codes all blocks of a call at once (kernels/ht):
// it finds the planes of each, chooses the passes that HtPoints::kNearSlope asks for, and makes the
// hulls of most blocks. The other hulls are made on the host by the functions of the CPU backend
// (coders/ht/ht_points.h): those of estimates, of more planes than one slope may want, and with layers.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/arena.h"
#include "base/parallel.h"
#include "coders/coded_before.h"
#include "coders/ht/ht_points.h"
#include "core/slope_search.h"
#include "cuda/block_coder.h"
#include "depth/early_stop.h"
#include "depth/ht_prediction.h"
#include "kernels/ht/ht_block.h"
#include "rate/slope_histogram.h"

namespace cj2k::cuda {
namespace {

/// Blocks of a frame to code in one launch.
struct HtPart {
  uint32_t frame;
  BlockOrder order;
};

class DeviceHt final : public DeviceBlockCoder {
 public:
  explicit DeviceHt(const DeviceCoderSetup& setup)
      : s_(setup),
        num_blocks_(static_cast<uint32_t>(setup.plan.blocks.size())),
        pool_(planned_bytes(setup.plan)),
        arenas_(num_workers()),
        codes_(static_cast<size_t>(setup.plan.params.gop) * setup.plan.blocks.size()) {
    const auto frames = static_cast<size_t>(setup.plan.params.gop);
    predictions_.reserve(frames);
    if (setup.plan.stop == CJ2K_STOP_EXACT && !setup.plan.params.lossless)
      histograms_.resize(frames, SlopeHistogram(setup.plan.components.size()));
  }

  Status begin(CudaGopWork& work, const Samples& samples) override;
  Status code(CudaGopWork& work, std::span<BlockRequest> requests,
              const BlockSample& sample) override;
  uint32_t pieces(CudaGopWork& work, uint32_t number, uint32_t points, BlockPiece* pieces) override;
  void set_bytes(CudaGopWork& work, uint32_t number, uint32_t points, uint32_t piece,
                 uint8_t* bytes) override;

 private:
  struct Prediction {
    uint32_t frame;
    HtPrediction of;
    bool goes_on;
  };
  static size_t planned_bytes(const Plan& plan) {
    return static_cast<size_t>(plan.params.gop) * plan.blocks.size() * 8 * sizeof(HtPoint);
  }
  bool lossless() const { return s_.plan.params.lossless != 0; }
  HtBlocks on_device(CudaGopWork& work, const Samples& samples) const;
  HtBlockTable table() const;
  Status code_parts(CudaGopWork& work);
  Status code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                        const BlockSample& sample);
  void add_part(CudaGopWork& work, const HtPart& part);
  Status run_items(CudaGopWork& work);
  void finish(CudaGopWork& work, uint32_t item);
  void take_hull(CudaGopWork& work, uint32_t item, CodedBlock& coded);
  void build_hull(CodedBlock& coded, uint32_t number, double weight, HtPoint* points, int count);
  template <typename T>
  T* keep(const T* from, int count) {
    T* kept = arenas_[worker_index()].take<T>(pool_, static_cast<size_t>(count));
    std::copy_n(from, count, kept);
    return kept;
  }

  const DeviceCoderSetup s_;
  const HtMemory& m_ = s_.memory.ht;
  const HtMemory& p_ = s_.pinned.ht;
  const uint32_t num_blocks_;
  Samples samples_{};
  ChunkPool pool_;
  std::vector<Arena> arenas_;
  std::vector<PointCode*> codes_;           ///< CodedBlock::codes of each block of the GOP
  std::vector<SlopeHistogram> histograms_;  ///< of each frame, for kPredicted
  HtOrders orders_{};                       ///< the last one of each frame
  std::array<bool, HtOrders::kMostFrames> is_anew_{};  ///< BlockOrder::anew of these
  std::vector<HtPart> parts_;
  std::vector<Prediction> predictions_;  ///< of the frames that are not coded yet
  // Items are the blocks of parts_, in the order of HtMemory::list.
  uint32_t num_items_ = 0, most_tasks_ = 0;
  bool choose_ = false;     ///< items may choose (HtPoints::kNearSlope)
  bool has_hulls_ = false;  ///< items may have hulls from the device
  bool has_run_ = false;    ///< items, in this call of `code`
};

HtBlocks DeviceHt::on_device(CudaGopWork&, const Samples& samples) const {
  return {s_.tables.on_device.quantize.in(s_.table_memory), num_blocks_, samples,
          s_.tables.on_device.ht_words.in(s_.table_memory)};
}

HtBlockTable DeviceHt::table() const {
  const PlanTables::OnDevice& tables = s_.tables.on_device;
  return s_.tables.ht.table(s_.plan, tables.ht_blocks.in(s_.table_memory),
                            tables.ht_bands.in(s_.table_memory),
                            tables.ht_slots.in(s_.table_memory));
}

/// The largest coefficients give the number of bit-planes in each step set.
Status DeviceHt::begin(CudaGopWork& work, const Samples& samples) {
  samples_ = samples;
  work.forget_blocks();
  pool_.reset();
  for (Arena& arena : arenas_) arena.reset();
  return ht_peaks(work.stream, on_device(work, samples), s_.plan.reversible,
                  m_.peaks.in(work.device));
}

Status DeviceHt::code(CudaGopWork& work, std::span<BlockRequest> requests,
                      const BlockSample& sample) {
  has_run_ = false;
  CJ2K_TRY(work.stream.record(work.begin));
  if (requests[0].rule == StopRule::kPredicted) {
    CJ2K_TRY(code_predicted(work, requests, sample));
  } else {
    parts_.clear();
    for (const BlockRequest& r : requests) parts_.push_back({r.frame, r});
    CJ2K_TRY(code_parts(work));
  }
  // run_items has waited for work.end.
  if (has_run_) return Status::kOk;
  CJ2K_TRY(work.stream.record(work.end));
  return work.end.synchronize();
}

/// Predicts for all frames at once: one launch and one wait for a share of each.
Status DeviceHt::code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                                const BlockSample& sample) {
  predictions_.clear();
  for (BlockRequest& r : requests) predictions_.push_back({r.frame, {s_.plan, sample, r}, true});
  do {
    parts_.clear();
    for (const Prediction& p : predictions_) {
      if (p.goes_on) parts_.push_back({p.frame, p.of.order()});
    }
    CJ2K_TRY(code_parts(work));
    parallel_for(predictions_.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        Prediction& p = predictions_[i];
        p.goes_on = p.goes_on && p.of.goes_on(work.blocks(p.frame), histograms_[p.frame]);
      }
    });
  } while (std::any_of(predictions_.begin(), predictions_.end(),
                       [](const Prediction& p) { return p.goes_on; }));
  return Status::kOk;
}

/// Codes `parts_` with one launch and one wait.
Status DeviceHt::code_parts(CudaGopWork& work) {
  num_items_ = most_tasks_ = 0;
  choose_ = has_hulls_ = false;
  for (const HtPart& part : parts_) add_part(work, part);
  if (num_items_ > 0) CJ2K_TRY(run_items(work));
  constexpr size_t kGrain = 64;
  parallel_for(num_items_, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) finish(work, static_cast<uint32_t>(i));
  });
  return Status::kOk;
}

/// Lists the blocks of a part, and counts the tasks that they have at most.
void DeviceHt::add_part(CudaGopWork& work, const HtPart& part) {
  const BlockOrder& order = part.order;
  orders_.of[part.frame] = ht_order(order);
  is_anew_[part.frame] = order.anew;
  has_hulls_ |= may_have_ht_hulls(s_.plan) && order.points != HtPoints::kEstimate;
  choose_ |= order.points == HtPoints::kNearSlope && order.thresholds != SlopeThresholds{};
  auto* const list = p_.list.in(work.pinned);
  for (const uint32_t index : order.blocks) {
    list[num_items_++] = part.frame * num_blocks_ + index;
    const uint8_t component = s_.tables.ht.blocks[index].component;
    most_tasks_ += most_ht_tasks(s_.tables.ht.blocks[index], order.thresholds[component],
                                 order.highest[component]);
  }
}

/// Codes the listed blocks, and waits for their results.
Status DeviceHt::run_items(CudaGopWork& work) {
  has_run_ = true;
  simt::Stream& stream = work.stream;
  auto* const list = m_.list.in(work.device);
  auto* const choices = m_.choices.in(work.device);
  auto* const tasks = m_.tasks.in(work.device);
  auto* const results = m_.results.in(work.device);
  auto* const counts = m_.counts.in(work.device);
  auto* const num_tasks = counts + kHtKinds;
  const HtBlocks blocks = on_device(work, samples_);
  const bool reversible = s_.plan.reversible;
  const bool causal = (s_.plan.params.cblk_style & CJ2K_STYLE_VSC) != 0;
  CJ2K_TRY(stream.upload(list, p_.list.in(work.pinned), num_items_ * sizeof(uint32_t)));
  CJ2K_TRY(stream.fill_u32(counts, 0, kHtKinds + 1));
  CJ2K_TRY(ht_items(stream, table(), orders_, m_.peaks.in(work.device), reversible, list,
                    num_items_, choices, tasks, num_tasks));
  HtWork all{tasks, most_tasks_, num_tasks, {}, reversible, lossless(), causal};
  if (choose_) {
    all.lists = {m_.lists.in(work.device), counts, most_tasks_};
    CJ2K_TRY(ht_choose(stream, blocks, tasks, choices, num_items_, reversible, results, all.lists));
  }
  CJ2K_TRY(ht_encode(stream, blocks, all, s_.memory.coded.in(work.device), results));
  if (has_hulls_) {
    auto* const hulls = m_.hulls.in(work.device);
    CJ2K_TRY(ht_hulls(stream, tasks, choices, num_items_, reversible, results, hulls));
    CJ2K_TRY(stream.download(p_.hulls.in(work.pinned), hulls,
                             num_items_ * kMostHtHull * sizeof(HullPoint)));
  }
  CJ2K_TRY(stream.download(p_.choices.in(work.pinned), choices, num_items_ * sizeof(HtChoice)));
  CJ2K_TRY(stream.download(p_.results.in(work.pinned), results, most_tasks_ * sizeof(HtResult)));
  CJ2K_TRY(stream.record(work.end));
  return work.end.synchronize();
}

/// The passes of a plane, coded. @param passes  HtTask::passes, unless the device chose
HtPlane plane_of(const Plan& plan, int number, int passes, double weight, const HtResult& result) {
  HtPlane code{};
  code.plane = number;
  code.passes = passes;
  code.cleanup_bytes = result.cleanup_bytes;
  code.left = ht_left_error(plan.reversible, weight, number, result.left);
  code.refinement = {result.sig_prop_bytes, result.both_bytes, result.sig_prop_distortion,
                     result.mag_ref_distortion};
  code.sig_prop_last = result.sig_prop_last;
  return code;
}

/// Makes the CodedBlock from the results of the block's tasks.
void DeviceHt::finish(CudaGopWork& work, uint32_t item) {
  const HtChoice& choice = p_.choices.in(work.pinned)[item];
  const uint32_t number = p_.list.in(work.pinned)[item], frame = number / num_blocks_;
  const Plan& plan = s_.plan;
  const CodeBlock& block = plan.blocks[number % num_blocks_];
  CodedBlock& coded = work.block(number);
  if (is_anew_[frame]) coded = CodedBlock{};
  const double weight = choice.weight;
  const HtPlanes planes = choice.planes();
  const HtResult* result = p_.results.in(work.pinned) + choice.first_task;
  const double total = choice.bit_planes > 0 ? ht_left_error(plan.reversible, weight,
                                                             choice.bit_planes, result->total_left)
                                             : 0;
  end_ht_call(planes, choice.bit_planes, total, coded);
  if (choice.has_hull) {
    for (int plane = planes.end - 1, i = 0; plane >= planes.lowest; --plane, ++i) {
      if (result[i].passes > 0)
        count_ht_passes(plane_of(plan, plane, result[i].passes, weight, result[i]), coded);
    }
    take_hull(work, item, coded);
    return;
  }
  const Subband& band = subband_of(plan, block, orders_.of[frame].step_set);
  HtPoint points[kMaxHtPoints];
  int count = 0;
  uint32_t sixteenths = 0, above = 0;
  StepVoter voter;
  for (int plane = planes.end - 1; plane >= planes.lowest; --plane, ++result) {
    sixteenths += ht_plane_bits(result->significant, above,
                                static_cast<uint32_t>(block.width * block.height));
    above = result->significant;
    int passes = ht_passes(plane, planes.lowest, choice.points, choice.most_passes);
    if (choice.points == HtPoints::kNearSlope) passes = result->passes;
    if (passes == 0) continue;
    HtPlane code = plane_of(plan, plane, passes, weight, *result);
    if (choice.points == HtPoints::kEstimate) {
      code.cleanup_bytes = sixteenths / 128 + 1;
      voter.add(plane, {result->significant, result->near_half(), result->near_middle()});
    }
    count_ht_passes(code, coded);
    count += make_ht_points(code, band, weight, total, points + count);
  }
  if (block.orientation != kLL) coded.step_vote = voter.vote();
  build_hull(coded, number, weight, points, count);
}

/// Takes over the hull that the device has made.
void DeviceHt::take_hull(CudaGopWork& work, uint32_t item, CodedBlock& coded) {
  const HtChoice& choice = p_.choices.in(work.pinned)[item];
  const HtResult* const results = p_.results.in(work.pinned) + choice.first_task;
  const uint32_t number = p_.list.in(work.pinned)[item];
  const Subband& band = subband_of(s_.plan, s_.plan.blocks[number % num_blocks_],
                                   orders_.of[number / num_blocks_].step_set);
  const HullPoint* from = p_.hulls.in(work.pinned) + size_t{item} * kMostHtHull;
  HullPoint hull[kMostHtHull];
  PointCode codes[kMostHtHull];
  int size = 0;
  for (; size < static_cast<int>(kMostHtHull) && from[size].slope != 0; ++size) {
    hull[size] = from[size];
    const int task = hull[size].passes >> kHtHullTaskShift;
    hull[size].passes &= (1u << kHtHullTaskShift) - 1;
    const int plane = choice.end - 1 - task;
    codes[size] = {nullptr, nullptr, results[task].cleanup_bytes,
                   static_cast<uint8_t>(band.max_bit_planes - 1 - plane)};
  }
  if (size == 0) return;
  coded.hull = keep(hull, size);
  coded.codes = codes_[number] = keep(codes, size);
  coded.num_hull = static_cast<uint8_t>(size);
}

void DeviceHt::build_hull(CodedBlock& coded, uint32_t number, double weight, HtPoint* points,
                          int count) {
  if (count == 0) return;
  HullPoint hull[kMaxHtPoints];
  PointCode codes[kMaxHtPoints];
  LayerCuts cuts[kMaxHtPoints];
  const bool has_cuts = s_.plan.params.layers > 1;
  const int size = build_ht_hull(points, count, weight, {hull, codes, has_cuts ? cuts : nullptr});
  coded.hull = keep(hull, size);
  coded.codes = codes_[number] = keep(codes, size);
  coded.cuts = has_cuts ? keep(cuts, size) : nullptr;
  coded.num_hull = static_cast<uint8_t>(size);
}

uint32_t DeviceHt::pieces(CudaGopWork& work, uint32_t number, uint32_t points, BlockPiece* pieces) {
  const uint32_t frame = number / num_blocks_, index = number % num_blocks_;
  const HullPoint& point = work.block(number).hull[points - 1];
  const PointCode& code = codes_[number][points - 1];
  const Subband& band = subband_of(s_.plan, s_.plan.blocks[index], orders_.of[frame].step_set);
  const auto plane = static_cast<uint32_t>(band.max_bit_planes - 1 - code.zero_bit_planes);
  const HtSlot& slot = s_.tables.ht.slots[s_.tables.ht.blocks[index].first_slot + plane];
  const uint64_t from = frame * s_.tables.ht.frame_bytes + slot.cleanup;
  pieces[0] = {from, code.first_bytes};
  if (point.passes == 1) return 1;
  pieces[1] = {from + (point.passes == 2 ? slot.rest : slot.both),
               point.length_bytes - code.first_bytes};
  return 2;
}

void DeviceHt::set_bytes(CudaGopWork&, uint32_t number, uint32_t points, uint32_t piece,
                         uint8_t* bytes) {
  PointCode& code = codes_[number][points - 1];
  (piece == 0 ? code.first : code.rest) = bytes;
}

}  // namespace

Status make_device_ht(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder) {
  *coder = std::make_unique<DeviceHt>(setup);
  return Status::kOk;
}

}  // namespace cj2k::cuda
