// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The EBCOT block coder of the CUDA backend: quantisation to bit-planes, tier-1, the stop rules and
// the hulls. Their kernels are in kernels/ebcot and kernels/rate.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "cuda/block_coder.h"
#include "cuda/block_lists.h"
#include "cuda/device_rate.h"
#include "cuda/device_rdoq.h"
#include "cuda/ebcot_results.h"
#include "cuda/tier1_coder.h"
#include "depth/ebcot_prediction.h"
#include "kernels/ebcot/quantize.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/rate/resume.h"
#include "kernels/rate/slopes.h"
#include "rate/rate.h"

namespace cj2k::cuda {
namespace {

FrameTargets targets_of(std::span<const BlockRequest> requests) {
  FrameTargets targets{};
  for (const BlockRequest& request : requests) targets.of[request.frame] = request.targets;
  return targets;
}

class DeviceEbcot final : public DeviceBlockCoder {
 public:
  explicit DeviceEbcot(const DeviceCoderSetup& setup)
      : s_(setup),
        rate_(setup, setup.pinned.ebcot.totals),
        rdoq_(setup.plan.has_rdoq ? std::make_unique<DeviceRdoq>(setup) : nullptr),
        results_(setup, rdoq_.get()) {
    const auto gop = static_cast<size_t>(setup.plan.params.gop);
    listed_frames_.reserve(gop);
    if (rdoq_ == nullptr) return;
    plain_.resize(gop);
    histograms_.assign(gop, SlopeHistogram(s_.plan.components.size()));
  }
  Status create() {
    return make_tier1_coder(s_.context, s_.tables.form, s_.tables.tier1, style(),
                            s_.plan.reversible, &coder_);
  }

  Status begin(CudaGopWork& work, const Samples& samples) override;
  Status code(CudaGopWork& work, std::span<BlockRequest> requests,
              const BlockSample& sample) override;
  /// All points are prefixes of the block's bytes.
  uint32_t pieces(CudaGopWork& work, uint32_t number, uint32_t points,
                  BlockPiece* pieces) override {
    const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
    const Tier1Job& job = s_.tables.tier1.jobs[number % num_blocks];
    pieces[0] = {number / num_blocks * s_.tables.tier1.frame_bytes + job.bytes_offset,
                 work.block(number).hull[points - 1].length_bytes};
    return 1;
  }
  void set_bytes(CudaGopWork& work, uint32_t number, uint32_t, uint32_t, uint8_t* bytes) override {
    work.block(number).data = bytes;
  }
  bool has_bytes(CudaGopWork& work, uint32_t number, uint32_t points) override {
    return work.block(number).hull[points - 1].length_bytes <= results_.here_bytes(number);
  }

 private:
  Status code_to_thresholds(CudaGopWork& work, std::span<BlockRequest> requests);
  Status code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                        const BlockSample& sample);
  Status code_planes(CudaGopWork& work, std::span<const BlockRequest> requests);
  Status follow_predictions(CudaGopWork& work, std::span<BlockRequest> requests,
                            const BlockSample& sample);
  Status code_orders(CudaGopWork& work, std::span<const BlockRequest> orders);
  Status upload_thresholds(CudaGopWork& work, std::span<const BlockRequest> requests);
  Tier1Buffers buffers(const CudaGopWork& work) const;
  Tier1Output output(const CudaGopWork& work) const;
  /// Where hulls are for rate control on the device.
  Tier1Output output_by_number(const CudaGopWork& work, bool adds) const;
  bool is_listed(std::span<const BlockRequest> requests, bool is_sampled);
  void remember_list(std::span<const BlockRequest> requests, bool is_sampled) {
    listed_sampled_ = is_sampled;
    for (const BlockRequest& request : requests) listed_frames_.push_back(request.frame);
  }
  Status list_requests(CudaGopWork& work, std::span<const BlockRequest> requests,
                       ListedBlocks* listed);
  /// Enqueues tier-1 in the stream for it, between what comes before and after in work.stream.
  template <typename Tier1>
  static Status on_coding_stream(CudaGopWork& work, const Tier1& tier1) {
    CJ2K_TRY(work.stream.record(work.to_code));
    CJ2K_TRY(work.coding.wait(work.to_code));
    CJ2K_TRY(tier1(work.coding));
    CJ2K_TRY(work.coding.record(work.coded));
    return work.stream.wait(work.coded);
  }
  Status run_tier1(CudaGopWork& work, const Tier1List& list, const Tier1Limits& limits);
  Status make_hulls(CudaGopWork& work, const Tier1List& list, const Tier1Output& output);
  DeviceBlocks for_rate(const CudaGopWork& work, bool resumes) const;
  Status mark_resumed(CudaGopWork& work, std::span<const BlockRequest> requests, bool is_last);
  Status finish_on_device(CudaGopWork& work, std::span<BlockRequest> requests,
                          const Tier1List* may_resume);
  Status leave_to_host(CudaGopWork& work, std::span<const BlockRequest> requests, bool resumed);
  Status bring_results(CudaGopWork& work, const ListedBlocks& listed, const BytesWanted& wanted);
  /// With PTERM blocks do not pause: each pass has its own ending, and these are not kept.
  bool may_pause() const { return (style() & CJ2K_STYLE_PTERM) == 0; }
  uint32_t style() const { return static_cast<uint32_t>(s_.plan.params.cblk_style); }

  const DeviceCoderSetup s_;
  const EbcotMemory& m_ = s_.memory.ebcot;
  const EbcotMemory& p_ = s_.pinned.ebcot;
  std::unique_ptr<Tier1Coder> coder_;

  DeviceRate rate_;
  const std::unique_ptr<DeviceRdoq> rdoq_;  ///< null: the plan has no RDOQ
  EbcotResults results_;

  // Plans with RDOQ.
  bool optimises_ = false;                      ///< the call in progress has RDOQ
  std::vector<std::vector<CodedBlock>> plain_;  ///< [frame] memory of EbcotPrediction
  std::vector<SlopeHistogram> histograms_;      ///< [frame]

  // The list of all blocks of some frames stays in device memory, for the next GOP of such frames.
  std::vector<uint32_t> listed_frames_;  ///< empty: there is none
  bool listed_sampled_ = false;          ///< the blocks of the sample come first
  Tier1List all_{}, sampled_{}, rest_{};
};

Status DeviceEbcot::begin(CudaGopWork& work, const Samples& samples) {
  simt::Stream& stream = work.stream;
  const BitPlanes planes = buffers(work).planes;
  const auto* jobs = s_.tables.on_device.quantize.in(s_.table_memory);
  const auto count = static_cast<uint32_t>(s_.plan.blocks.size());
  if (rdoq_ != nullptr) CJ2K_TRY(rdoq_->begin(work, samples));
  CJ2K_TRY((s_.plan.reversible ? quantize53 : quantize97)(stream, jobs, count, samples, planes));
  results_.begin();
  return stream.fill(m_.states.in(work.device), 0, m_.states.bytes());
}

Status DeviceEbcot::code(CudaGopWork& work, std::span<BlockRequest> requests,
                         const BlockSample& sample) {
  CJ2K_TRY(work.stream.record(work.begin));
  results_.begin_call(work, requests);
  switch (requests[0].rule) {
    case StopRule::kThresholds:
      CJ2K_TRY(rdoq_ != nullptr ? code_orders(work, requests) : code_to_thresholds(work, requests));
      break;
    case StopRule::kPredicted:
      CJ2K_TRY(rdoq_ != nullptr ? follow_predictions(work, requests, sample)
                                : code_predicted(work, requests, sample));
      break;
    case StopRule::kSlopeBytes:
    case StopRule::kBytes:
      CJ2K_TRY(code_planes(work, requests));
      break;
  }
  results_.end(requests);
  return Status::kOk;
}

/// Whether the list of the requests is in device memory, from the call before. If not, it will be
/// when the caller has made it.
bool DeviceEbcot::is_listed(std::span<const BlockRequest> requests, bool is_sampled) {
  const auto is_same = [](const BlockRequest& request, uint32_t frame) {
    return request.frame == frame;
  };
  if (listed_sampled_ == is_sampled && listed_frames_.size() == requests.size() &&
      std::equal(requests.begin(), requests.end(), listed_frames_.begin(), is_same))
    return true;
  listed_frames_.clear();
  return false;
}

/// Lists the blocks of the requests: all of each frame, or some.
Status DeviceEbcot::list_requests(CudaGopWork& work, std::span<const BlockRequest> requests,
                                  ListedBlocks* listed) {
  const bool are_all = std::all_of(requests.begin(), requests.end(), [&](const BlockRequest& r) {
    return r.blocks.size() == s_.plan.blocks.size();
  });
  auto* const numbers = (are_all ? p_.list : p_.resumed_list).in(work.pinned);
  auto* const on_device = (are_all ? m_.list : m_.resumed_list).in(work.device);
  *listed = {all_, numbers};
  if (are_all && is_listed(requests, false)) return Status::kOk;
  listed->list = list_blocks(s_.tables.tier1, requests, on_device, numbers);
  CJ2K_TRY(work.stream.upload(on_device, numbers, listed->list.count() * sizeof(uint32_t)));
  if (!are_all) return Status::kOk;
  all_ = listed->list;
  remember_list(requests, false);
  return Status::kOk;
}

Status DeviceEbcot::code_to_thresholds(CudaGopWork& work, std::span<BlockRequest> requests) {
  const simt::DeviceBuffer& d = work.device;
  ListedBlocks listed{};
  CJ2K_TRY(list_requests(work, requests, &listed));
  CJ2K_TRY(upload_thresholds(work, requests));
  const auto* const thresholds = p_.thresholds.in(work.pinned);
  const bool pauses = std::any_of(thresholds, thresholds + p_.thresholds.count,
                                  [](uint16_t threshold) { return threshold > 0; });
  CJ2K_TRY(run_tier1(work, listed.list, {pauses ? m_.thresholds.in(d) : nullptr}));
  if (rate_.allocates(requests)) {
    CJ2K_TRY(make_hulls(work, listed.list, output_by_number(work, false)));
    return finish_on_device(work, requests, nullptr);
  }
  // Without a threshold all points may go in, but under a cap only a part of them will.
  const bool reaches = std::all_of(requests.begin(), requests.end(), [&](const BlockRequest& r) {
    return may_pause() && r.thresholds[0] > 0;
  });
  return bring_results(work, listed, {reaches || !has_byte_cap(s_.plan), m_.thresholds.in(d)});
}

Status DeviceEbcot::upload_thresholds(CudaGopWork& work, std::span<const BlockRequest> requests) {
  auto* const thresholds = p_.thresholds.in(work.pinned);
  std::fill_n(thresholds, p_.thresholds.count, uint16_t{0});
  for (const BlockRequest& request : requests) {
    if (!may_pause()) break;
    std::copy(request.thresholds.begin(), request.thresholds.end(),
              thresholds + request.frame * CJ2K_MAX_COMPONENTS);
  }
  return work.stream.upload(m_.thresholds.in(work.device), thresholds, p_.thresholds.bytes());
}

/// Follows EbcotPrediction for all frames at once, with one wait for an order of each.
Status DeviceEbcot::follow_predictions(CudaGopWork& work, std::span<BlockRequest> requests,
                                       const BlockSample& sample) {
  struct Prediction {
    BlockRequest* request;
    EbcotPrediction of;
    bool goes_on = true;
  };
  std::vector<Prediction> predictions;
  for (BlockRequest& r : requests) {
    predictions.push_back({&r, EbcotPrediction(s_.plan, sample, r, plain_[r.frame])});
    results_.forget(work, r.frame);
  }
  std::vector<BlockRequest> orders;
  do {
    orders.clear();
    for (const Prediction& p : predictions) {
      if (!p.goes_on) continue;
      orders.push_back({p.of.order()});
      orders.back().frame = p.request->frame;
    }
    CJ2K_TRY(code_orders(work, orders));
    parallel_for(predictions.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        Prediction& p = predictions[i];
        const uint32_t frame = p.request->frame;
        p.goes_on = p.goes_on && p.of.goes_on(work.blocks(frame), histograms_[frame]);
      }
    });
  } while (std::any_of(predictions.begin(), predictions.end(),
                       [](const Prediction& p) { return p.goes_on; }));
  return Status::kOk;
}

/// Codes orders as the CPU backend does, and brings the results.
Status DeviceEbcot::code_orders(CudaGopWork& work, std::span<const BlockRequest> orders) {
  const simt::DeviceBuffer& d = work.device;
  const Tier1Buffers b = buffers(work);
  listed_frames_.clear();
  DeviceRdoq::Lists lists;
  CJ2K_TRY(rdoq_->prepare(work, orders, b, &lists));
  CJ2K_TRY(upload_thresholds(work, orders));
  optimises_ = lists.has_rdoq;
  const Tier1Limits limits{.thresholds = m_.thresholds.in(d),
                           .last_planes = optimises_ ? m_.last_planes.in(d) : nullptr};
  if (optimises_) CJ2K_TRY(rdoq_->quantise(work, b, lists.first, false));
  if (lists.has_votes) CJ2K_TRY(rdoq_->bring_votes(work, b, lists));
  CJ2K_TRY(run_tier1(work, lists.first, limits));
  if (lists.luma.count() > 0) {
    CJ2K_TRY(make_hulls(work, lists.first, output(work)));
    CJ2K_TRY(rdoq_->shift_luma(work, b, lists.first, output(work)));
    CJ2K_TRY(rdoq_->quantise(work, b, lists.luma, true));
    CJ2K_TRY(run_tier1(work, lists.luma, limits));
  }
  for (const BlockRequest& order : orders) {
    if (order.anew) results_.begin_frame(order.frame);
  }
  // Hulls do not depend on block sizes, so one list serves.
  const Tier1List all{lists.first.blocks, {lists.first.count() + lists.luma.count(), 0, 0}};
  // The samples are still needed: frames may begin again.
  CJ2K_TRY(bring_results(work, {all, lists.numbers}, {false, nullptr}));
  results_.end(orders);
  if (lists.has_votes) rdoq_->take_votes(work, orders, lists);
  return rdoq_->bring_samples(work, orders);
}

/// Codes the sample of blocks, makes their hulls, counts bytes by slope, predicts the thresholds
/// and codes the remaining blocks to them, all on the device without a wait in between.
Status DeviceEbcot::code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                                   const BlockSample& sample) {
  const uint32_t num_frames = requests.back().frame + 1;
  // The two lists follow one another in one piece of memory.
  auto* const numbers = p_.list.in(work.pinned);
  auto* const weights = p_.weights.in(work.pinned);
  const simt::DeviceBuffer& d = work.device;
  auto* const list = m_.list.in(d);
  simt::Stream& stream = work.stream;
  if (!is_listed(requests, true)) {
    const Tier1Layout& layout = s_.tables.tier1;
    sampled_ =
        list_blocks(layout, requests, list, numbers, &sample.blocks, &sample.weights, weights);
    const uint32_t behind = sampled_.count();
    rest_ = list_blocks(layout, requests, list + behind, numbers + behind, &sample.rest);
    CJ2K_TRY(stream.upload(list, numbers, (behind + rest_.count()) * sizeof(uint32_t)));
    CJ2K_TRY(stream.upload(m_.weights.in(d), weights, behind * sizeof(uint32_t)));
    remember_list(requests, true);
  }
  const Tier1Buffers b = buffers(work);
  const SlopeTables tables{m_.stop_counters.in(d),
                           static_cast<uint32_t>(s_.plan.components.size())};
  auto* const decided = m_.thresholds.in(d);
  CJ2K_TRY(stream.fill(tables.bytes, 0, m_.stop_counters.bytes()));
  CJ2K_TRY(run_tier1(work, sampled_, {nullptr}));
  const bool allocates = rate_.allocates(requests);
  const Tier1Output sample_output = allocates ? output_by_number(work, false) : output(work);
  CJ2K_TRY(make_hulls(work, sampled_, sample_output));
  CJ2K_TRY(slopes_accumulate(stream, b, sampled_, sample_output, m_.weights.in(d), tables));
  CJ2K_TRY(slopes_predict(stream, tables, num_frames, targets_of(requests), decided));
  CJ2K_TRY(run_tier1(work, rest_, {decided}));
  if (allocates) {
    CJ2K_TRY(make_hulls(work, rest_, output_by_number(work, true)));
    return finish_on_device(work, requests, &rest_);
  }
  // Hulls do not depend on block sizes, so one list serves.
  const uint32_t count = sampled_.count() + rest_.count();
  const Tier1List all{list, {count, 0, 0}};
  auto* const predicted = p_.thresholds.in(work.pinned);
  CJ2K_TRY(stream.download(predicted, decided,
                           num_frames * size_t{CJ2K_MAX_COMPONENTS} * sizeof(uint16_t)));
  CJ2K_TRY(bring_results(work, {all, numbers}, {true, decided}));
  for (BlockRequest& request : requests) {
    std::copy_n(predicted + request.frame * CJ2K_MAX_COMPONENTS, CJ2K_MAX_COMPONENTS,
                request.thresholds.begin());
  }
  return Status::kOk;
}

/// Codes all planes one after the other, also planes in which no block is left to code.
Status DeviceEbcot::code_planes(CudaGopWork& work, std::span<const BlockRequest> requests) {
  const simt::DeviceBuffer& d = work.device;
  ListedBlocks listed{};
  CJ2K_TRY(list_requests(work, requests, &listed));
  const Tier1Buffers b = buffers(work);
  const PlaneDecisions decisions{m_.records.in(d), m_.stop_counters.in(d), m_.thresholds.in(d),
                                 static_cast<uint32_t>(s_.plan.components.size())};
  const uint32_t num_frames = requests.back().frame + 1;
  const bool by_slope = requests[0].rule == StopRule::kSlopeBytes;
  const auto stop = by_slope ? stop_by_slope_bytes : stop_by_bytes;
  const FrameTargets targets = targets_of(requests);
  simt::Stream& stream = work.stream;
  CJ2K_TRY(stream.fill(decisions.records, 0, m_.records.bytes()));
  CJ2K_TRY(stream.fill(decisions.bytes, 0, m_.stop_counters.bytes()));
  const auto after_plane = [&](simt::Stream& coding, uint32_t plane) {
    return stop(coding, b, num_frames, plane, targets, decisions);
  };
  CJ2K_TRY(on_coding_stream(work, [&](simt::Stream& coding) {
    // By reference, because a function object of this size would take memory from the heap.
    return coder_->code_planes(coding, b, listed.list, s_.tables.tier1.max_bit_planes,
                               std::ref(after_plane), m_.scratch.in(d));
  }));
  CJ2K_TRY(bring_results(work, listed, {true, by_slope ? decisions.thresholds : nullptr}));
  // A block resumed for every plane after its first.
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  for (const BlockRequest& request : requests) {
    for (const uint32_t index : request.blocks) {
      CodedBlock& coded = work.block(request.frame * num_blocks + index);
      coded.num_passes_resumed =
          static_cast<uint8_t>(coded.num_passes > 0 ? coded.num_passes - 1 : 0);
    }
  }
  return Status::kOk;
}

Tier1Buffers DeviceEbcot::buffers(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  Tier1Buffers b{};
  b.num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  const bool by_frame = rdoq_ != nullptr;
  b.jobs = by_frame ? m_.jobs.in(d) : s_.tables.on_device.tier1.in(s_.table_memory);
  b.shared_jobs = by_frame ? 0 : b.num_blocks;
  b.planes = {m_.words.in(d), s_.tables.frame_words, m_.magnitudes.in(d)};
  b.frame_symbols = s_.tables.tier1.frame_symbols;
  b.frame_bytes = s_.tables.tier1.frame_bytes;
  b.frame_passes = s_.tables.tier1.frame_passes;
  b.symbols = m_.symbols.in(d);
  b.pass_symbols = m_.pass_symbols.in(d);
  b.bytes = s_.memory.coded.in(d);
  b.passes = m_.passes.in(d);
  b.tails = m_.tails.in(d);
  b.snapshots = m_.snapshots.in(d);
  b.states = m_.states.in(d);
  return b;
}

Tier1Output DeviceEbcot::output(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  return {.results = m_.results.in(d),
          .hull = m_.hull.in(d),
          .segments = m_.segments.in(d),
          .tails = m_.hull_tails.in(d),
          .totals = m_.totals.in(d),
          .removed = optimises_ ? m_.removed.in(d) : nullptr,
          .total_removed = optimises_ ? m_.total_removed.in(d) : nullptr};
}

/// Tier-1 of a list, on the stream for it.
Status DeviceEbcot::run_tier1(CudaGopWork& work, const Tier1List& list, const Tier1Limits& limits) {
  return on_coding_stream(work, [&](simt::Stream& coding) {
    return coder_->code(coding, buffers(work), list, limits, m_.scratch.in(work.device));
  });
}

Tier1Output DeviceEbcot::output_by_number(const CudaGopWork& work, bool adds) const {
  Tier1Output by_number = output(work);
  by_number.by_number = true;
  by_number.adds = adds;
  by_number.room = static_cast<uint32_t>(m_.hull.count);
  return by_number;
}

Status DeviceEbcot::make_hulls(CudaGopWork& work, const Tier1List& list,
                               const Tier1Output& output) {
  return tier1_hull(work.stream, buffers(work), list, style(), s_.plan.reversible,
                    s_.plan.params.lossless != 0, output);
}

DeviceBlocks DeviceEbcot::for_rate(const CudaGopWork& work, bool resumes) const {
  const simt::DeviceBuffer& d = work.device;
  const Tier1Output hulls = output(work);
  // Tile-parts replace the samples, which are not needed any more.
  return {{hulls.results, hulls.hull, nullptr, nullptr},
          m_.hull.count,
          hulls.totals,
          s_.memory.coded.in(d),
          s_.tables.tier1.frame_bytes,
          resumes ? m_.paused_passes.in(d) : nullptr,
          reinterpret_cast<uint8_t*>(s_.memory.samples.in(d)),
          s_.memory.samples.bytes()};
}

/// Marks the blocks that resume, after rate control, and lowers the thresholds (resume.h).
/// @param is_last  nothing is coded after it: it says only which frames are not final
Status DeviceEbcot::mark_resumed(CudaGopWork& work, std::span<const BlockRequest> requests,
                                 bool is_last) {
  const simt::DeviceBuffer& d = work.device;
  auto *coded_to = m_.thresholds.in(d), *next = m_.next_thresholds.in(d);
  if (is_last) std::swap(coded_to, next);
  return resume_blocks(work.stream, buffers(work), DeviceRate::num_frames(requests),
                       static_cast<uint32_t>(s_.plan.components.size()),
                       output_by_number(work, true),
                       {rate_.outcomes(work), coded_to, next,
                        is_last ? nullptr : m_.paused_passes.in(d), frames_of(requests)});
}

/// Rate control on the device, after the first hulls of a call, with one round of blocks that resume.
/// One wait, and one more if the tile-parts take more room than was guessed. Frames that are not final
/// then are left to the host.
/// @param may_resume  the blocks that may have paused; null: none resumes
Status DeviceEbcot::finish_on_device(CudaGopWork& work, std::span<BlockRequest> requests,
                                     const Tier1List* may_resume) {
  const bool resumes = may_resume != nullptr;
  const DeviceBlocks coded = for_rate(work, resumes);
  auto* const thresholds = p_.thresholds.in(work.pinned);
  CJ2K_TRY(rate_.allocate(work, requests, coded, false));
  if (resumes) {
    CJ2K_TRY(mark_resumed(work, requests, false));
    CJ2K_TRY(run_tier1(work, *may_resume, {m_.next_thresholds.in(work.device)}));
    CJ2K_TRY(make_hulls(work, *may_resume, output_by_number(work, true)));
    CJ2K_TRY(rate_.allocate(work, requests, coded, true));
    CJ2K_TRY(mark_resumed(work, requests, true));
    CJ2K_TRY(work.stream.download(
        thresholds, m_.next_thresholds.in(work.device),
        DeviceRate::num_frames(requests) * size_t{CJ2K_MAX_COMPONENTS} * sizeof(uint16_t)));
  }
  CJ2K_TRY(rate_.bring_and_wait(work, requests, coded));
  for (BlockRequest& request : requests) {
    if (!resumes) break;
    std::copy_n(thresholds + request.frame * CJ2K_MAX_COMPONENTS, CJ2K_MAX_COMPONENTS,
                request.thresholds.begin());
  }
  if (rate_.take(work, requests, coded)) return Status::kOk;
  return leave_to_host(work, requests, resumes);
}

/// Brings the blocks of the frames that are not final, as if the host had asked for all that was
/// coded.
Status DeviceEbcot::leave_to_host(CudaGopWork& work, std::span<const BlockRequest> requests,
                                  bool resumed) {
  std::vector<BlockRequest> left;
  for (const BlockRequest& request : requests) {
    if (request.outcome.result == nullptr) left.push_back(request);
  }
  CJ2K_TRY(release_blocks(work.stream, buffers(work), frames_of(left)));
  ListedBlocks listed{};
  CJ2K_TRY(list_requests(work, left, &listed));
  auto* const paused = p_.paused_passes.in(work.pinned);
  const size_t up_to_last = (requests.back().frame + 1) * s_.plan.blocks.size();
  if (resumed) CJ2K_TRY(work.stream.download(paused, m_.paused_passes.in(work.device), up_to_last));
  CJ2K_TRY(bring_results(work, listed, {resumed, m_.next_thresholds.in(work.device)}));
  if (!resumed) return Status::kOk;
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  for (const BlockRequest& request : left) {
    const uint32_t first = request.frame * num_blocks;
    for (uint32_t number = first; number < first + num_blocks; ++number) {
      CodedBlock& coded = work.block(number);
      const int more = paused[number] > 0 ? coded.num_passes - paused[number] : 0;
      coded.num_passes_resumed = static_cast<uint8_t>(more);
    }
  }
  return Status::kOk;
}

/// Makes the hulls and brings them to the host, with the bytes that are wanted.
Status DeviceEbcot::bring_results(CudaGopWork& work, const ListedBlocks& listed,
                                  const BytesWanted& wanted) {
  CJ2K_TRY(make_hulls(work, listed.list, output(work)));
  return results_.bring(work, buffers(work), output(work), listed, wanted);
}

}  // namespace

Status make_device_ebcot(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder) {
  auto ebcot = std::make_unique<DeviceEbcot>(setup);
  CJ2K_TRY(ebcot->create());
  *coder = std::move(ebcot);
  return Status::kOk;
}

}  // namespace cj2k::cuda
