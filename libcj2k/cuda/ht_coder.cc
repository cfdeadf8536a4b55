// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The HT block coder of the CUDA backend. The device codes all blocks of a call at once (kernels/ht):
// it finds the planes of each, chooses the passes that HtPoints::kNearSlope asks for, and makes the
// hulls of most blocks. The other hulls are made on the host by the functions of the CPU backend
// (coders/ht/ht_points.h): those of estimates, of more planes than one slope may want, and with layers.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/arena.h"
#include "base/parallel.h"
#include "coders/ht/ht_points.h"
#include "coders/ht/ht_rdoq.h"
#include "core/slope_search.h"
#include "core/step_vote.h"
#include "cuda/block_coder.h"
#include "cuda/device_rate.h"
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

/// Whether the hulls of all blocks of an order have room on the device (HtHulls): at a slope, blocks
/// have few planes.
bool has_hull_room(const Plan& plan, const BlockOrder& order) {
  if (plan.params.lossless != 0) return true;
  const auto end = order.thresholds.begin() + static_cast<ptrdiff_t>(plan.components.size());
  return order.points == HtPoints::kNearSlope &&
         std::find(order.thresholds.begin(), end, uint16_t{0}) == end;
}

class DeviceHt final : public DeviceBlockCoder {
 public:
  explicit DeviceHt(const DeviceCoderSetup& setup)
      : s_(setup),
        num_blocks_(static_cast<uint32_t>(setup.plan.blocks.size())),
        pool_(planned_bytes(setup.plan)),
        arenas_(num_workers()),
        codes_(static_cast<size_t>(setup.plan.params.gop) * setup.plan.blocks.size()),
        rate_(setup, setup.pinned.ht.totals) {
    const auto frames = static_cast<size_t>(setup.plan.params.gop);
    predictions_.reserve(frames);
    allocated_.reserve(frames);
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
    BlockRequest* request;
    HtPrediction of;
    bool goes_on = true;
    bool has_room = false;  ///< has_hull_room, of the order before
    bool stays = false;     ///< the last order's hulls stay on the device
  };
  static size_t planned_bytes(const Plan& plan) {
    return static_cast<size_t>(plan.params.gop) * plan.blocks.size() * 8 * sizeof(HtPoint);
  }
  bool lossless() const { return s_.plan.params.lossless != 0; }
  HtBlocks on_device(CudaGopWork& work, const Samples& samples) const;
  HtBlockTable table() const;
  Status code_parts(CudaGopWork& work, size_t num_finished);
  bool stays(const Prediction& prediction) const;
  Status code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                        const BlockSample& sample);
  void add_part(CudaGopWork& work, const HtPart& part);
  Status run_items(CudaGopWork& work, uint32_t num_finished);
  Status bring_changes(CudaGopWork& work);
  HtHulls hulls_by_block(const CudaGopWork& work) const;
  Status wait(CudaGopWork& work);
  Status finish_on_device(CudaGopWork& work, std::span<BlockRequest> requests);
  Status leave_to_host(CudaGopWork& work, std::span<const BlockRequest> requests);
  void take_block(CudaGopWork& work, uint32_t number, const Tier1Result& result,
                  const HullPoint* hull, const HtPointCode* codes);
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
  std::vector<HtPart> parts_;
  std::vector<Prediction> predictions_;  ///< of the frames that are not coded yet
  DeviceRate rate_;
  std::vector<BlockRequest> allocated_;  ///< those that finish on the device
  // Items are the blocks of parts_, in the order of HtMemory::list.
  uint32_t num_items_ = 0, most_tasks_ = 0;
  bool choose_ = false;      ///< items may choose (HtPoints::kNearSlope)
  bool has_rdoq_ = false;    ///< items may have RDOQ
  bool has_hulls_ = false;   ///< items may have hulls from the device
  bool has_waited_ = false;  ///< for work.end, in this call of `code`
};

HtBlocks DeviceHt::on_device(CudaGopWork&, const Samples& samples) const {
  return {s_.tables.on_device.quantize.in(s_.table_memory), num_blocks_, samples,
          s_.tables.on_device.ht_words.in(s_.table_memory)};
}

HtBlockTable DeviceHt::table() const {
  const PlanTables::OnDevice& tables = s_.tables.on_device;
  return s_.tables.ht.table(s_.plan, tables.ht_blocks.in(s_.table_memory),
                            tables.ht_bands.in(s_.table_memory),
                            tables.ht_slots.in(s_.table_memory),
                            s_.plan.has_rdoq ? tables.overlaps.in(s_.table_memory) : nullptr);
}

/// The largest coefficients give the number of bit-planes in each step set.
Status DeviceHt::begin(CudaGopWork& work, const Samples& samples) {
  samples_ = samples;
  pool_.reset();
  for (Arena& arena : arenas_) arena.reset();
  return ht_peaks(work.stream, on_device(work, samples), s_.plan.reversible,
                  m_.peaks.in(work.device));
}

Status DeviceHt::code(CudaGopWork& work, std::span<BlockRequest> requests,
                      const BlockSample& sample) {
  has_waited_ = false;
  CJ2K_TRY(work.stream.record(work.begin));
  if (requests[0].rule == StopRule::kPredicted) {
    CJ2K_TRY(code_predicted(work, requests, sample));
  } else {
    parts_.clear();
    for (const BlockRequest& r : requests) parts_.push_back({r.frame, r});
    const bool stays = lossless() && rate_.allocates(requests);
    CJ2K_TRY(code_parts(work, stays ? 0 : parts_.size()));
    if (stays) CJ2K_TRY(finish_on_device(work, requests));
  }
  if (has_waited_) return Status::kOk;
  CJ2K_TRY(work.stream.record(work.end));
  return work.end.synchronize();
}

/// Predicts for all frames at once: one launch and one wait for a share of each.
Status DeviceHt::code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                                const BlockSample& sample) {
  predictions_.clear();
  for (BlockRequest& r : requests) predictions_.push_back({&r, {s_.plan, sample, r}});
  do {
    parts_.clear();
    for (Prediction& p : predictions_) {
      p.stays = p.stays || (p.goes_on && stays(p));
      if (p.goes_on && !p.stays) parts_.push_back({p.request->frame, p.of.order()});
    }
    const size_t num_finished = parts_.size();
    for (Prediction& p : predictions_) {
      if (p.goes_on && p.stays) parts_.push_back({p.request->frame, p.of.order()});
      p.has_room = has_hull_room(s_.plan, p.of.order());
    }
    CJ2K_TRY(code_parts(work, num_finished));
    parallel_for(predictions_.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        Prediction& p = predictions_[i];
        const uint32_t frame = p.request->frame;
        p.goes_on = p.goes_on && p.of.goes_on(work.blocks(frame), histograms_[frame]);
      }
    });
  } while (std::any_of(predictions_.begin(), predictions_.end(),
                       [](const Prediction& p) { return p.goes_on; }));
  allocated_.clear();
  for (const Prediction& p : predictions_) {
    if (p.stays) allocated_.push_back(*p.request);
  }
  if (allocated_.empty()) return Status::kOk;
  CJ2K_TRY(finish_on_device(work, allocated_));
  auto allocated = allocated_.begin();
  for (const Prediction& p : predictions_) {
    if (p.stays) p.request->outcome = (allocated++)->outcome;
  }
  return Status::kOk;
}

/// Whether the order is the frame's last one, and with it the hulls of all blocks are on the device.
bool DeviceHt::stays(const Prediction& prediction) const {
  const BlockOrder& order = prediction.of.order();
  const bool is_all = order.blocks.size() == s_.plan.blocks.size();
  return prediction.of.is_last() && !order.is_trial && has_hull_room(s_.plan, order) &&
         (is_all || prediction.has_room) && rate_.allocates({prediction.request, 1});
}

/// Codes `parts_` with one launch, and makes the CodedBlocks of the first `num_finished` after one wait.
/// Without any there is no wait.
Status DeviceHt::code_parts(CudaGopWork& work, size_t num_finished) {
  num_items_ = most_tasks_ = 0;
  choose_ = has_rdoq_ = has_hulls_ = false;
  uint32_t num_items = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    add_part(work, parts_[i]);
    if (i < num_finished) num_items = num_items_;
  }
  if (num_items_ > 0) CJ2K_TRY(run_items(work, num_items));
  constexpr size_t kGrain = 64;
  parallel_for(num_items, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) finish(work, static_cast<uint32_t>(i));
  });
  return Status::kOk;
}

/// Lists the blocks of a part, and counts the tasks that they have at most.
void DeviceHt::add_part(CudaGopWork& work, const HtPart& part) {
  const BlockOrder& order = part.order;
  orders_.of[part.frame] = ht_order(order);
  has_hulls_ |= may_have_ht_hulls(s_.plan) && order.points != HtPoints::kEstimate;
  choose_ |= order.points == HtPoints::kNearSlope && order.thresholds != SlopeThresholds{};
  const bool has_rdoq = order.rdoq != SlopeThresholds{};
  has_rdoq_ |= has_rdoq;
  auto* const list = p_.list.in(work.pinned);
  for (const uint32_t index : order.blocks) {
    list[num_items_++] = part.frame * num_blocks_ + index;
    const uint8_t component = s_.tables.ht.blocks[index].component;
    most_tasks_ += most_ht_tasks(s_.tables.ht.blocks[index], order.thresholds[component],
                                 order.highest[component], has_rdoq);
  }
}

HtHulls DeviceHt::hulls_by_block(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  return {s_.tables.on_device.ht_first_points.in(s_.table_memory),
          num_blocks_,
          s_.tables.ht.frame_points,
          m_.coded.in(d),
          m_.hull.in(d),
          m_.codes.in(d),
          m_.weights.in(d)};
}

/// Codes the listed blocks, and brings what `finish` needs of the first ones.
Status DeviceHt::run_items(CudaGopWork& work, uint32_t num_finished) {
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
  HtWork all{tasks, most_tasks_, num_tasks, {}, reversible, lossless(), causal, {}};
  if (choose_ || has_rdoq_) {
    all.lists = {m_.lists.in(work.device), counts, most_tasks_};
    CJ2K_TRY(ht_choose(stream, blocks, tasks, choices, num_items_, reversible, results, all.lists));
  }
  if (has_rdoq_) {
    all.changes = {m_.changes.in(work.device), s_.tables.ht.change_bytes};
    CJ2K_TRY(ht_change(stream, blocks, table(), orders_, tasks, choices, num_items_, reversible,
                       results, all.lists, all.changes));
    if (keeps_coefficients(s_.plan)) CJ2K_TRY(bring_changes(work));
  }
  CJ2K_TRY(ht_encode(stream, blocks, all, s_.memory.coded.in(work.device), results));
  HullPoint* const hulls = has_hulls_ && num_finished > 0 ? m_.hulls.in(work.device) : nullptr;
  if (hulls != nullptr || s_.tables.rate.has_value()) {
    CJ2K_TRY(ht_hulls(stream, tasks, choices, list, num_items_, reversible, results, hulls,
                      hulls_by_block(work)));
  }
  if (num_finished == 0) return Status::kOk;
  if (hulls != nullptr) {
    CJ2K_TRY(stream.download(p_.hulls.in(work.pinned), hulls,
                             num_finished * kMostHtHull * sizeof(HullPoint)));
  }
  CJ2K_TRY(stream.download(p_.choices.in(work.pinned), choices, num_finished * sizeof(HtChoice)));
  CJ2K_TRY(stream.download(p_.results.in(work.pinned), results, most_tasks_ * sizeof(HtResult)));
  return wait(work);
}

/// Brings the changes of the frames that have RDOQ, for ChosenBlock (run/chosen_block.h).
Status DeviceHt::bring_changes(CudaGopWork& work) {
  const uint64_t frame_bytes =
      uint64_t{num_blocks_} * kMostHtRdoqPlanes * s_.tables.ht.change_bytes;
  for (const HtPart& part : parts_) {
    if (part.order.rdoq == SlopeThresholds{}) continue;
    const uint64_t from = part.frame * frame_bytes;
    CJ2K_TRY(work.stream.download(p_.changes.in(work.pinned) + from,
                                  m_.changes.in(work.device) + from, frame_bytes));
  }
  return Status::kOk;
}

Status DeviceHt::wait(CudaGopWork& work) {
  has_waited_ = true;
  CJ2K_TRY(work.stream.record(work.end));
  return work.end.synchronize();
}

/// Rate control and packets on the device, with one wait, and one more if the tile-parts take more room
/// than was guessed. Frames that are not final then are left to the host.
Status DeviceHt::finish_on_device(CudaGopWork& work, std::span<BlockRequest> requests) {
  const simt::DeviceBuffer& d = work.device;
  const bool replaces_samples = m_.tile_parts.count == 0;
  const DeviceBlocks coded{
      {m_.coded.in(d), m_.hull.in(d), m_.codes.in(d), m_.weights.in(d)},
      m_.hull.count,
      m_.totals.in(d),
      s_.memory.coded.in(d),
      s_.tables.ht.frame_bytes,
      nullptr,
      replaces_samples ? reinterpret_cast<uint8_t*>(s_.memory.samples.in(d)) : m_.tile_parts.in(d),
      replaces_samples ? s_.memory.samples.bytes() : m_.tile_parts.bytes()};
  CJ2K_TRY(work.stream.fill_u32(coded.totals, 0, kTotals));
  CJ2K_TRY(rate_.allocate(work, requests, coded, false));
  CJ2K_TRY(rate_.bring_and_wait(work, requests, coded));
  has_waited_ = true;
  rate_.take(work, requests, coded);
  std::vector<BlockRequest> left;
  for (BlockRequest& request : requests) {
    const FrameResult* const result = request.outcome.result;
    const RateOutcome& end = rate_.outcome(work, request.frame);
    if (result != nullptr && !lossless() &&
        goes_on_ht(s_.plan, request,
                   {result->exhausted, result->body_bytes, {end.num_choices, end.num_far}}))
      request.outcome.result = nullptr;
    if (request.outcome.result == nullptr) left.push_back(request);
  }
  return left.empty() ? Status::kOk : leave_to_host(work, left);
}

/// Brings the hulls of all blocks of frames, and makes the CodedBlocks.
Status DeviceHt::leave_to_host(CudaGopWork& work, std::span<const BlockRequest> requests) {
  const HtHulls from = hulls_by_block(work);
  const uint64_t points = from.frame_points;
  const uint64_t frame_bytes =
      num_blocks_ * sizeof(Tier1Result) + points * (sizeof(HullPoint) + sizeof(HtPointCode));
  uint8_t* memory = nullptr;
  CJ2K_TRY(work.hulls.take(requests.size() * frame_bytes, &memory));
  for (size_t i = 0; i < requests.size(); ++i) {
    const uint64_t f = requests[i].frame;
    uint8_t* to = memory + i * frame_bytes;
    const auto bring = [&](const auto* entries, uint64_t count) {
      const uint64_t bytes = count * sizeof *entries;
      CJ2K_TRY(work.stream.download(to, entries + f * count, bytes));
      to += bytes;
      return Status::kOk;
    };
    CJ2K_TRY(bring(from.results, num_blocks_));
    CJ2K_TRY(bring(from.hull, points));
    CJ2K_TRY(bring(from.codes, points));
  }
  CJ2K_TRY(wait(work));
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto* const results = reinterpret_cast<const Tier1Result*>(memory + i * frame_bytes);
    const auto* const hull = reinterpret_cast<const HullPoint*>(results + num_blocks_);
    const auto* const codes = reinterpret_cast<const HtPointCode*>(hull + points);
    parallel_for(num_blocks_, 256, [&](size_t begin, size_t end) {
      for (size_t b = begin; b < end; ++b) {
        const uint64_t first = s_.tables.ht.first_points[b];
        take_block(work, requests[i].frame * num_blocks_ + static_cast<uint32_t>(b), results[b],
                   hull + first, codes + first);
      }
    });
  }
  return Status::kOk;
}

void DeviceHt::take_block(CudaGopWork& work, uint32_t number, const Tier1Result& result,
                          const HullPoint* hull, const HtPointCode* codes) {
  CodedBlock& coded = work.block(number) = CodedBlock{};
  coded.is_coded = true;
  coded.total_distortion = result.total_distortion;
  coded.num_bytes = result.num_bytes;
  coded.num_passes = result.num_passes;
  coded.planes_left = result.planes_left;
  coded.num_passes_left = static_cast<uint8_t>(3 * result.planes_left);
  if (result.num_hull == 0) return;
  PointCode of_points[kMaxHtPoints];
  for (int i = 0; i < result.num_hull; ++i)
    of_points[i] = {nullptr, nullptr, codes[i].first_bytes, codes[i].zero_bit_planes};
  coded.hull = hull;
  coded.codes = codes_[number] = keep(of_points, result.num_hull);
  coded.num_hull = result.num_hull;
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
  coded = CodedBlock{};
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
  HtPoint points[kMaxHtPoints + kMaxHtRdoqPoints];
  int count = 0;
  const HtRdoqPlanes rdoq = ht_rdoq_planes(orders_.of[frame].lambda(block.component, weight),
                                           planes, ht_rules(plan).both_rdoq_planes);
  const HtResult* const of_rdoq = result + choice.num_tasks;
  const auto add = [&](const HtPlane& code) {
    count_ht_passes(code, coded);
    count += make_ht_points(code, band, weight, total, points + count);
  };
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
    add(code);
    const int k = rdoq.first - plane;
    if (k < 0 || k >= rdoq.count || of_rdoq[k].passes == 0) continue;
    HtPlane changed = plane_of(plan, plane, of_rdoq[k].passes, weight, of_rdoq[k]);
    changed.left = code.left + weight * added_ht_error(of_rdoq[k].added_error(), plane);
    changed.coding = static_cast<uint8_t>(1 + k);
    if (keeps_coefficients(plan))
      changed.changes =
          HtChanges{p_.changes.in(work.pinned), s_.tables.ht.change_bytes}.of(number, 1u + k);
    add(changed);
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
  HullPoint hull[kMaxHtPoints + kMaxHtRdoqPoints];
  PointCode codes[kMaxHtPoints + kMaxHtRdoqPoints];
  LayerCuts cuts[kMaxHtPoints + kMaxHtRdoqPoints];
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
  const HtPlanBlock& block = s_.tables.ht.blocks[index];
  const uint32_t in_block = code.coding > 0 ? block.num_slots + code.coding - 1u : plane;
  const HtSlot& slot = s_.tables.ht.slots[block.first_slot + in_block];
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
