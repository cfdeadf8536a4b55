// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages and tier-1 on a GPU: what goes to the device, in which order, and what comes
// back. The kernels' host side is kernels/pixels/pixels.h and tier1.h; the same file runs on the shim
// (tests/shim).
//
// A GOP has a stream of its own. Its frames are uploaded and go through the first level of the
// transform as they arrive (frame_reader.h); the rest goes in a few steps, after each of which the
// GOP's thread waits for results: blocks coded (results, then hulls), bytes gathered. While it
// waits, other GOPs' work runs.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>

#include "backend.h"
#include "cuda/block_lists.h"
#include "cuda/frame_reader.h"
#include "cuda/gop_choice.h"
#include "cuda/gop_memory.h"
#include "kernels/pixels/pixels.h"
#include "cuda/pinned_memory.h"
#include "kernels/simt/device.h"
#include "kernels/rate/slopes.h"
#include "stages/picture_error.h"
#include "kernels/ebcot/tier1.h"

namespace cj2k {
namespace {

using cuda::Carver;
using cuda::GatherJob;
using cuda::GopMemory;
using cuda::PinnedLayout;
using cuda::PinnedPool;
using cuda::PlanTables;
using cuda::Tier1Form;
using cuda::Tier1List;
using cuda::Tier1Result;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Host memory for the coefficients of a frame, where they are looked at.
uint64_t coefficient_bytes(const Plan& plan, const PlanTables& tables) {
  return plan.params.measure_mse == 0 ? 0 : tables.frame.frame_samples * sizeof(int32_t);
}

/// What of a GOP lies where, and the order of its work.
class CudaGopWork final : public GopWork {
 public:
  explicit CudaGopWork(const Plan& plan)
      : blocks_(static_cast<size_t>(plan.params.gop) * plan.blocks.size()),
        num_blocks_(plan.blocks.size()) {
    coded_frames.reserve(static_cast<size_t>(plan.params.gop));
  }

  const CodedBlock* blocks(uint32_t frame) const override {
    return blocks_.data() + frame * num_blocks_;
  }

  simt::DeviceBuffer device;
  simt::PinnedBuffer pinned;
  PinnedPool hulls, bytes;
  simt::Stream stream;
  simt::Event begin, end;  ///< around device work, for its time
  cuda::FrameEvents frame_events;
  std::unique_ptr<cuda::Tier1Coder> coder;
  std::vector<CodedBlock> blocks_;
  std::vector<uint32_t> coded_frames;  ///< of the call in progress
  HostBuffer coefficients;             ///< of one frame, with measure_mse
  std::mutex ingest;  ///< frames may be read in two threads: the caller's, and the GOP's

 private:
  size_t num_blocks_;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Plan& plan, std::unique_ptr<simt::Context> context, int num_gops)
      : plan_(plan),
        form_(cuda::tier1_form(plan)),
        context_(std::move(context)),
        device_names_(context_->info().name),
        tables_(plan, form_),
        reader_(plan, tables_),
        memory_(plan, tables_, form_,
                cuda::tier1_scratch_bytes(form_, tables_.tier1,
                                          static_cast<uint32_t>(plan.params.gop) *
                                              static_cast<uint32_t>(plan.blocks.size()))),
        pinned_(plan, tables_),
        num_gops_(num_gops) {}
  ~CudaBackend() override = default;

  Status open();
  uint64_t device_bytes() const {
    return tables_.bytes + static_cast<uint64_t>(num_gops_) * memory_.bytes;
  }
  simt::Context& context() { return *context_; }
  /// What cj2k_info::device_name says, where it is more than this device's.
  void set_device_names(const std::string& names) { device_names_ = names; }

  const char* name() const override { return "cuda"; }
  Status make_gop_work(std::unique_ptr<GopWork>* work) override;
  int64_t gop_work_bytes() const override { return static_cast<int64_t>(host_gop_bytes()); }
  void describe(cj2k_info* info) const override;
  void set_log(const Log& log) override { context_->set_log(log); }
  bool takes_device_frames() const override { return true; }

  Status ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number, cj2k_stats& stats) override;
  Status transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) override;
  Status code_blocks(GopWork& gop, std::span<const BlockRequest> requests, uint32_t last_plane,
                     cj2k_stats* stats) override;
  bool decides() const override { return true; }
  Status code_sampled(GopWork& gop, std::span<const uint32_t> frames, const SampledRequest& request,
                      SlopeThresholds* thresholds, cj2k_stats* stats) override;
  Status code_planes(GopWork& gop, std::span<const BlockRequest> requests,
                     const ByteTargets& targets, cj2k_stats* stats) override;
  Status coefficients(GopWork& gop, uint32_t frame, CoefficientPlanes* planes) override;
  Status fetch(GopWork& gop, std::span<const FetchRequest> requests, cj2k_stats* stats) override;

 private:
  /// After an error, work that was enqueued before it may still run: nothing may be written or
  /// given back before it has ended.
  Status settled(Status status) {
    if (status != Status::kOk && !context_->poisoned()) (void)context_->synchronize();
    return status;
  }
  Status run_transform(CudaGopWork& work, std::span<const uint32_t> frames, cj2k_stats* stats);
  Status run_tier1(CudaGopWork& work, std::span<const BlockRequest> requests, uint32_t last_plane,
                   cj2k_stats* stats);
  Status run_sampled(CudaGopWork& work, std::span<const uint32_t> frames,
                     const SampledRequest& request, SlopeThresholds* thresholds, cj2k_stats* stats);
  Status run_planes(CudaGopWork& work, std::span<const BlockRequest> requests,
                    const ByteTargets& targets, cj2k_stats* stats);
  Status run_fetch(CudaGopWork& work, std::span<const FetchRequest> requests, cj2k_stats* stats);
  uint64_t host_gop_bytes() const {
    return pinned_.all_bytes() + coefficient_bytes(plan_, tables_) +
           static_cast<uint64_t>(plan_.params.gop) * plan_.blocks.size() * sizeof(CodedBlock);
  }
  Status upload_tables();
  cuda::DwtLists lists(size_t level) const;
  cuda::Tier1Buffers buffers(const CudaGopWork& work) const;
  Tier1List make_list(CudaGopWork& work, std::span<const BlockRequest> requests);
  cuda::Tier1Output output(const CudaGopWork& work) const;
  Status make_hulls(CudaGopWork& work, const Tier1List& list);
  Status bring_results(CudaGopWork& work, const Tier1List& list);
  Status gather(CudaGopWork& work, size_t first, size_t end, uint64_t bytes);
  Status add_time(CudaGopWork& work, int stage, std::span<const uint32_t> frames,
                  cj2k_stats* stats);
  uint32_t style() const { return static_cast<uint32_t>(plan_.params.cblk_style); }

  const Plan& plan_;
  const Tier1Form form_;
  std::unique_ptr<simt::Context> context_;
  std::string device_names_;
  const PlanTables tables_;
  const cuda::FrameReader reader_;
  const GopMemory memory_;
  const PinnedLayout pinned_;
  const int num_gops_;
  simt::DeviceBuffer table_memory_;
};

Status CudaBackend::open() {
  CJ2K_TRY(context_->load_kernels());
  CJ2K_TRY(table_memory_.allocate(*context_, tables_.bytes));
  return upload_tables();
}

Status CudaBackend::upload_tables() {
  simt::Stream stream;
  CJ2K_TRY(stream.create(*context_));
  const auto put = [&](uint64_t offset, const auto& entries) {
    return stream.upload(table_memory_.as<uint8_t>(offset), entries.data(),
                         entries.size() * sizeof entries[0]);
  };
  for (size_t i = 0; i < tables_.levels.size(); ++i) {
    CJ2K_TRY(put(tables_.level_offsets[i].jobs, tables_.levels[i].jobs));
    CJ2K_TRY(put(tables_.level_offsets[i].parts, tables_.levels[i].parts));
  }
  CJ2K_TRY(put(tables_.quantize_offset, tables_.quantize));
  CJ2K_TRY(put(tables_.tier1_offset, tables_.tier1.jobs));
  return stream.synchronize();
}

Status CudaBackend::make_gop_work(std::unique_ptr<GopWork>* result) {
  auto work = std::make_unique<CudaGopWork>(plan_);
  CJ2K_TRY(work->device.allocate(*context_, memory_.bytes));
  CJ2K_TRY(work->pinned.allocate(*context_, pinned_.bytes));
  CJ2K_TRY(work->hulls.reserve(*context_, pinned_.hull_bytes));
  CJ2K_TRY(work->bytes.reserve(*context_, pinned_.code_bytes));
  if (plan_.params.measure_mse != 0)
    work->coefficients = HostBuffer(coefficient_bytes(plan_, tables_));
  CJ2K_TRY(work->stream.create(*context_));
  CJ2K_TRY(work->begin.create(*context_, true));
  CJ2K_TRY(work->end.create(*context_, true));
  CJ2K_TRY(work->frame_events.create(*context_, plan_.params.gop));
  CJ2K_TRY(cuda::make_tier1_coder(*context_, form_, tables_.tier1, style(), plan_.reversible,
                                  &work->coder));
  *result = std::move(work);
  return Status::kOk;
}

void CudaBackend::describe(cj2k_info* info) const {
  info->device_name = device_names_.c_str();
  info->device_bytes = static_cast<int64_t>(device_bytes());
  info->pinned_bytes =
      static_cast<int64_t>(pinned_.all_bytes()) * (plan_.params.async_depth / plan_.params.gop);
  info->tier1 = cuda::form_name(form_);
}

// ---- Ingest ----

Status CudaBackend::ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number,
                           cj2k_stats& stats) {
  const auto start = std::chrono::steady_clock::now();
  CudaGopWork& work = static_cast<CudaGopWork&>(gop);
  if (context_->poisoned()) return Status::kDevice;
  const uint64_t at = number * tables_.input.bytes;
  const cuda::FramePlace place{
      number, work.pinned.as<uint8_t>(pinned_.input + at),
      work.device.as<uint8_t>(memory_.input + at),
      work.device.as<int32_t>(memory_.samples) + number * tables_.frame.frame_samples};
  const cuda::StagedFrame staged = reader_.stage(frame, place);
  // No loop over the threads while the lock is held: one of its parts could want it, too.
  const std::lock_guard lock(work.ingest);
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  const cuda::DwtLists level = tables_.levels.empty() ? cuda::DwtLists{} : lists(0);
  CJ2K_TRY(settled(reader_.enqueue(frame, staged, place, level, work.stream, work.frame_events)));
  // What the device takes for it comes to that in run_transform.
  stats.stage_ms[0] += ms_since(start);
  return settled(reader_.wait(frame, work.stream, work.frame_events));
}

cuda::DwtLists CudaBackend::lists(size_t level) const {
  const PlanTables::Level& offsets = tables_.level_offsets[level];
  const cuda::DwtLevel& made = tables_.levels[level];
  return {table_memory_.as<cuda::DwtJob>(offsets.jobs),
          table_memory_.as<cuda::DwtPart>(offsets.parts), static_cast<uint32_t>(made.parts.size()),
          made.num_colour_parts};
}

// ---- Transform ----

/// The device's time between `begin` and `end`, which has been passed, shared by the frames.
Status CudaBackend::add_time(CudaGopWork& work, int stage, std::span<const uint32_t> frames,
                             cj2k_stats* stats) {
  float ms = 0;
  CJ2K_TRY(work.end.elapsed_ms(work.begin, &ms));
  for (const uint32_t f : frames)
    stats[f].stage_ms[stage] += static_cast<double>(ms) / static_cast<double>(frames.size());
  return Status::kOk;
}

Status CudaBackend::transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return settled(run_transform(static_cast<CudaGopWork&>(gop), frames, stats));
}

Status CudaBackend::run_transform(CudaGopWork& work, std::span<const uint32_t> frames,
                                  cj2k_stats* stats) {
  work.hulls.reset();
  work.bytes.reset();
  std::fill(work.blocks_.begin(), work.blocks_.end(), CodedBlock{});
  simt::Stream& stream = work.stream;
  CJ2K_TRY(stream.record(work.begin));
  // Frames that could not be read go along: nobody asks for their blocks.
  const cuda::Samples samples{work.device.as<void>(memory_.samples), tables_.frame.frame_samples,
                              frames.back() + 1};
  for (size_t i = 1; i < tables_.levels.size(); ++i) {
    CJ2K_TRY((plan_.reversible ? cuda::dwt53 : cuda::dwt97)(stream, lists(i), samples));
  }
  const cuda::BitPlanes planes = buffers(work).planes;
  const auto* jobs = table_memory_.as<cuda::QuantizeJob>(tables_.quantize_offset);
  const auto count = static_cast<uint32_t>(tables_.quantize.size());
  CJ2K_TRY(plan_.reversible ? cuda::quantize53(stream, jobs, count, samples, planes)
                            : cuda::quantize97(stream, jobs, count, samples, planes));
  CJ2K_TRY(stream.fill(work.device.as<void>(memory_.states), 0,
                       work.blocks_.size() * sizeof(cuda::Tier1State)));
  CJ2K_TRY(stream.record(work.end));
  CJ2K_TRY(work.end.synchronize());
  for (const uint32_t f : frames) {
    cuda::FrameEvents::Span& reading = work.frame_events.reading[f];
    float ms = 0;
    CJ2K_TRY(reading.end.elapsed_ms(reading.begin, &ms));
    stats[f].stage_ms[0] += static_cast<double>(ms);
  }
  return add_time(work, 1, frames, stats);
}

// ---- Tier-1 ----

cuda::Tier1Buffers CudaBackend::buffers(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  cuda::Tier1Buffers b{};
  b.jobs = table_memory_.as<cuda::Tier1Job>(tables_.tier1_offset);
  b.num_blocks = static_cast<uint32_t>(plan_.blocks.size());
  b.planes = {d.as<uint64_t>(memory_.words), tables_.frame_words,
              d.as<uint32_t>(memory_.magnitudes)};
  b.frame_symbols = tables_.tier1.frame_symbols;
  b.frame_bytes = tables_.tier1.frame_bytes;
  b.frame_passes = tables_.tier1.frame_passes;
  if (form_ != Tier1Form::kFused) {
    b.symbols = d.as<uint8_t>(memory_.symbols);
    b.pass_symbols = d.as<cuda::PassSymbols>(memory_.pass_symbols);
  }
  b.bytes = d.as<uint8_t>(memory_.coded);
  b.passes = d.as<CodingPass>(memory_.passes);
  if (style() & CJ2K_STYLE_PTERM) b.tails = d.as<PassTail>(memory_.tails);
  b.snapshots = d.as<cuda::Tier1Snapshot>(memory_.snapshots);
  b.states = d.as<cuda::Tier1State>(memory_.states);
  return b;
}

Tier1List CudaBackend::make_list(CudaGopWork& work, std::span<const BlockRequest> requests) {
  return cuda::list_blocks(tables_.tier1, requests, work.device.as<uint32_t>(memory_.list),
                           work.pinned.as<uint32_t>(pinned_.list));
}

Status CudaBackend::code_blocks(GopWork& gop, std::span<const BlockRequest> requests,
                                uint32_t last_plane, cj2k_stats* stats) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return settled(run_tier1(static_cast<CudaGopWork&>(gop), requests, last_plane, stats));
}

Status CudaBackend::run_tier1(CudaGopWork& work, std::span<const BlockRequest> requests,
                              uint32_t last_plane, cj2k_stats* stats) {
  const Tier1List list = make_list(work, requests);
  if (list.count() == 0) return Status::kOk;
  // With PTERM each pass has its own ending, and those are not kept.
  const bool may_stop = (style() & CJ2K_STYLE_PTERM) == 0;
  auto* thresholds = work.pinned.as<uint16_t>(pinned_.thresholds);
  const size_t num_thresholds = static_cast<size_t>(plan_.params.gop) * size_t{CJ2K_MAX_COMPONENTS};
  std::fill_n(thresholds, num_thresholds, uint16_t{0});
  std::vector<uint32_t>& frames = work.coded_frames;
  frames.clear();
  for (const BlockRequest& request : requests) {
    if (may_stop) {
      std::copy(request.thresholds.begin(), request.thresholds.end(),
                thresholds + request.frame * CJ2K_MAX_COMPONENTS);
    }
    frames.push_back(request.frame);
  }

  simt::Stream& stream = work.stream;
  CJ2K_TRY(stream.record(work.begin));
  CJ2K_TRY(stream.upload(work.device.as<void>(memory_.list), work.pinned.as<void>(pinned_.list),
                         list.count() * sizeof(uint32_t)));
  CJ2K_TRY(stream.upload(work.device.as<void>(memory_.thresholds), thresholds,
                         num_thresholds * sizeof(uint16_t)));
  CJ2K_TRY(
      work.coder->code(stream, buffers(work), list,
                       {work.device.as<uint16_t>(memory_.thresholds), may_stop ? last_plane : 0},
                       work.device.as<void>(memory_.scratch)));
  CJ2K_TRY(bring_results(work, list));
  return add_time(work, 2, frames, stats);
}

Status CudaBackend::code_sampled(GopWork& gop, std::span<const uint32_t> frames,
                                 const SampledRequest& request, SlopeThresholds* thresholds,
                                 cj2k_stats* stats) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return settled(run_sampled(static_cast<CudaGopWork&>(gop), frames, request, thresholds, stats));
}

/// Sample, hulls, table, thresholds, the rest: one after the other on the device.
Status CudaBackend::run_sampled(CudaGopWork& work, std::span<const uint32_t> frames,
                                const SampledRequest& request, SlopeThresholds* thresholds,
                                cj2k_stats* stats) {
  // One list after the other, in one piece of memory.
  auto* const numbers = work.pinned.as<uint32_t>(pinned_.list);
  auto* const weights = work.pinned.as<uint32_t>(pinned_.weights);
  auto* const list = work.device.as<uint32_t>(memory_.list);
  const Tier1List sample = cuda::list_blocks(tables_.tier1, frames, request.sample, request.weights,
                                             list, numbers, weights);
  const uint32_t behind = sample.count();
  const Tier1List rest = cuda::list_blocks(tables_.tier1, frames, request.rest, {}, list + behind,
                                           numbers + behind, nullptr);
  const uint32_t count = sample.count() + rest.count();
  const simt::DeviceBuffer& d = work.device;
  const cuda::Tier1Buffers b = buffers(work);
  const cuda::SlopeTables tables{d.as<uint64_t>(memory_.decided_bytes),
                                 static_cast<uint32_t>(plan_.components.size())};
  auto* const decided = d.as<uint16_t>(memory_.thresholds);
  void* const scratch = d.as<void>(memory_.scratch);
  simt::Stream& stream = work.stream;
  CJ2K_TRY(stream.record(work.begin));
  CJ2K_TRY(stream.upload(d.as<void>(memory_.list), work.pinned.as<void>(pinned_.list),
                         count * sizeof(uint32_t)));
  CJ2K_TRY(stream.upload(d.as<void>(memory_.weights), work.pinned.as<void>(pinned_.weights),
                         sample.count() * sizeof(uint32_t)));
  CJ2K_TRY(stream.fill(tables.bytes, 0, memory_.decided_bytes_bytes));
  CJ2K_TRY(work.coder->code(stream, b, sample, {nullptr}, scratch));
  CJ2K_TRY(make_hulls(work, sample));
  CJ2K_TRY(cuda::slopes_accumulate(stream, b, sample, output(work), d.as<uint32_t>(memory_.weights),
                                   tables));
  CJ2K_TRY(cuda::slopes_predict(stream, tables, frames.back() + 1, request.targets, decided));
  CJ2K_TRY(work.coder->code(stream, b, rest, {decided}, scratch));
  auto* const predicted = work.pinned.as<uint16_t>(pinned_.thresholds);
  CJ2K_TRY(stream.download(predicted, decided,
                           (frames.back() + 1) * CJ2K_MAX_COMPONENTS * sizeof(uint16_t)));
  // Of hulls the sizes of blocks do not matter: one list.
  CJ2K_TRY(bring_results(work, {sample.blocks, {count, 0, 0}}));
  for (const uint32_t f : frames) {
    std::copy_n(predicted + f * CJ2K_MAX_COMPONENTS, CJ2K_MAX_COMPONENTS, thresholds[f].begin());
  }
  return add_time(work, 2, frames, stats);
}

Status CudaBackend::code_planes(GopWork& gop, std::span<const BlockRequest> requests,
                                const ByteTargets& targets, cj2k_stats* stats) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return settled(run_planes(static_cast<CudaGopWork&>(gop), requests, targets, stats));
}

/// All planes one after the other, whether or not there is somebody left to code in them.
Status CudaBackend::run_planes(CudaGopWork& work, std::span<const BlockRequest> requests,
                               const ByteTargets& targets, cj2k_stats* stats) {
  const Tier1List list = make_list(work, requests);
  const simt::DeviceBuffer& d = work.device;
  const cuda::Tier1Buffers b = buffers(work);
  const cuda::PlaneDecisions decisions{
      d.as<cuda::PlaneRecord>(memory_.records), d.as<uint64_t>(memory_.decided_bytes),
      d.as<uint16_t>(memory_.thresholds), static_cast<uint32_t>(plan_.components.size())};
  const uint32_t num_frames = requests.back().frame + 1;
  const auto stop =
      plan_.params.stop == CJ2K_STOP_PSB ? cuda::stop_by_slope_bytes : cuda::stop_by_bytes;
  simt::Stream& stream = work.stream;
  CJ2K_TRY(stream.record(work.begin));
  CJ2K_TRY(stream.upload(d.as<void>(memory_.list), work.pinned.as<void>(pinned_.list),
                         list.count() * sizeof(uint32_t)));
  CJ2K_TRY(stream.fill(decisions.records, 0, memory_.records_bytes));
  CJ2K_TRY(stream.fill(decisions.bytes, 0, memory_.decided_bytes_bytes));
  for (uint32_t plane = tables_.tier1.max_bit_planes; plane-- > 0;) {
    CJ2K_TRY(
        work.coder->code(stream, b, list, {nullptr, plane, plane}, d.as<void>(memory_.scratch)));
    CJ2K_TRY(stop(stream, b, num_frames, plane, targets, decisions));
  }
  CJ2K_TRY(bring_results(work, list));
  std::vector<uint32_t>& frames = work.coded_frames;
  frames.clear();
  for (const BlockRequest& request : requests) {
    // Each plane after a block's first was one that it went on with.
    for (const uint32_t block : request.blocks) {
      CodedBlock& coded = work.blocks_[request.frame * plan_.blocks.size() + block];
      coded.num_passes_resumed =
          static_cast<uint8_t>(coded.num_passes > 0 ? coded.num_passes - 1 : 0);
    }
    frames.push_back(request.frame);
  }
  return add_time(work, 2, frames, stats);
}

cuda::Tier1Output CudaBackend::output(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  const bool has_lengths = (style() & (CJ2K_STYLE_BYPASS | CJ2K_STYLE_TERMALL)) != 0;
  const bool has_tails = (style() & CJ2K_STYLE_PTERM) != 0;
  return {d.as<Tier1Result>(memory_.results), d.as<HullPoint>(memory_.hull),
          has_lengths ? d.as<uint32_t>(memory_.lengths) : nullptr,
          has_tails ? d.as<PassTail>(memory_.hull_tails) : nullptr, d.as<uint32_t>(memory_.totals)};
}

Status CudaBackend::make_hulls(CudaGopWork& work, const Tier1List& list) {
  return cuda::tier1_hull(work.stream, buffers(work), list, style(), plan_.reversible,
                          plan_.params.lossless != 0, output(work));
}

/// Hulls and what goes with them, from the device to the CodedBlocks.
Status CudaBackend::bring_results(CudaGopWork& work, const Tier1List& list) {
  simt::Stream& stream = work.stream;
  const cuda::Tier1Output output = this->output(work);
  const bool has_lengths = output.lengths != nullptr, has_tails = output.tails != nullptr;
  CJ2K_TRY(make_hulls(work, list));
  auto* results = work.pinned.as<Tier1Result>(pinned_.results);
  auto* totals = work.pinned.as<uint32_t>(pinned_.totals);
  CJ2K_TRY(stream.download(results, output.results, list.count() * sizeof(Tier1Result)));
  CJ2K_TRY(stream.download(totals, output.totals, 2 * sizeof(uint32_t)));
  CJ2K_TRY(stream.record(work.end));
  CJ2K_TRY(work.end.synchronize());

  uint8_t *hull = nullptr, *lengths = nullptr, *tails = nullptr;
  if (totals[0] > 0) {
    CJ2K_TRY(work.hulls.take(totals[0] * sizeof(HullPoint), &hull));
    CJ2K_TRY(stream.download(hull, output.hull, totals[0] * sizeof(HullPoint)));
    if (has_tails) {
      CJ2K_TRY(work.hulls.take(totals[0] * sizeof(PassTail), &tails));
      CJ2K_TRY(stream.download(tails, output.tails, totals[0] * sizeof(PassTail)));
    }
  }
  if (has_lengths && totals[1] > 0) {
    CJ2K_TRY(work.hulls.take(totals[1] * sizeof(uint32_t), &lengths));
    CJ2K_TRY(stream.download(lengths, output.lengths, totals[1] * sizeof(uint32_t)));
  }
  CJ2K_TRY(stream.record(work.end));
  CJ2K_TRY(work.end.synchronize());

  const cuda::ListOutput from_device{reinterpret_cast<const HullPoint*>(hull),
                                     reinterpret_cast<const uint32_t*>(lengths),
                                     reinterpret_cast<const PassTail*>(tails)};
  const auto* numbers = work.pinned.as<uint32_t>(pinned_.list);
  for (uint32_t i = 0; i < list.count(); ++i) {
    const Tier1Result& r = results[i];
    const uint32_t index = numbers[i] % static_cast<uint32_t>(plan_.blocks.size());
    const uint32_t capacity = tables_.tier1.jobs[index].bytes_capacity;
    if (r.num_bytes > capacity) {
      return context_->log().fail(Status::kInternal,
                                  "code-block %u takes %u bytes, %u were reserved; use device=cpu",
                                  index, r.num_bytes, capacity);
    }
    CodedBlock& coded = work.blocks_[numbers[i]];
    coded = cuda::coded_block(r, from_device, coded);
  }
  return Status::kOk;
}

// ---- Fetch ----

/// Gathers jobs [first, end), `bytes` in all, and brings them to the host.
Status CudaBackend::gather(CudaGopWork& work, size_t first, size_t end, uint64_t bytes) {
  if (first == end) return Status::kOk;
  const auto* jobs = work.pinned.as<GatherJob>(pinned_.gather);
  const auto* on_device = work.device.as<GatherJob>(memory_.gather) + first;
  auto* const from = work.device.as<uint8_t>(memory_.samples);
  uint8_t* to = nullptr;
  CJ2K_TRY(work.bytes.take(bytes, &to));
  CJ2K_TRY(work.stream.upload(work.device.as<GatherJob>(memory_.gather) + first, jobs + first,
                              (end - first) * sizeof(GatherJob)));
  CJ2K_TRY(cuda::tier1_gather(work.stream, buffers(work), on_device,
                              static_cast<uint32_t>(end - first), from));
  CJ2K_TRY(work.stream.download(to, from, bytes));
  for (size_t i = first; i < end; ++i) work.blocks_[jobs[i].block].data = to + jobs[i].to;
  return Status::kOk;
}

Status CudaBackend::fetch(GopWork& gop, std::span<const FetchRequest> requests, cj2k_stats* stats) {
  if (requests.empty()) return Status::kOk;
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return settled(run_fetch(static_cast<CudaGopWork&>(gop), requests, stats));
}

/// They lie where `fetch` gathers the bytes.
Status CudaBackend::coefficients(GopWork& gop, uint32_t frame, CoefficientPlanes* planes) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  auto& work = static_cast<CudaGopWork&>(gop);
  const cuda::FrameLayout& layout = tables_.frame;
  auto* samples = work.coefficients.as<int32_t>();
  CJ2K_TRY(settled(work.stream.download(
      samples, work.device.as<int32_t>(memory_.samples) + frame * layout.frame_samples,
      layout.frame_samples * sizeof(int32_t))));
  CJ2K_TRY(settled(work.stream.synchronize()));
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const cuda::FrameLayout::Component& component = layout.components[c];
    for (uint32_t i = 0; i < 2; ++i) {
      const Rect shape = coefficient_plane(plan_, c, i);
      planes->set_plane(c, i,
                        {samples + component.plane[i], shape.width(), shape.height(),
                         static_cast<ptrdiff_t>(component.stride[i])});
    }
  }
  return Status::kOk;
}

Status CudaBackend::run_fetch(CudaGopWork& work, std::span<const FetchRequest> requests,
                              cj2k_stats* stats) {
  const auto start = std::chrono::steady_clock::now();
  auto* jobs = work.pinned.as<GatherJob>(pinned_.gather);
  const auto num_blocks = static_cast<uint32_t>(plan_.blocks.size());
  size_t first = 0, count = 0;
  uint64_t bytes = 0;
  for (const FetchRequest& request : requests) {
    for (uint32_t b = 0; b < num_blocks; ++b) {
      if (request.points[b] == 0) continue;
      const uint32_t number = request.frame * num_blocks + b;
      const uint32_t length = work.blocks_[number].hull[request.points[b] - 1].length_bytes;
      const uint64_t room = (uint64_t{length} + 15) / 16 * 16;
      if (bytes + room > memory_.samples_bytes) {
        CJ2K_TRY(gather(work, first, count, bytes));
        first = count;
        bytes = 0;
      }
      jobs[count++] = {number, length, bytes};
      bytes += room;
    }
  }
  CJ2K_TRY(gather(work, first, count, bytes));
  CJ2K_TRY(work.stream.record(work.end));
  CJ2K_TRY(work.end.synchronize());
  for (const FetchRequest& request : requests)
    stats[request.frame].stage_ms[4] += ms_since(start) / static_cast<double>(requests.size());
  return Status::kOk;
}

}  // namespace

bool has_cuda_backend() { return true; }

Status make_cuda_backends(Plan* plan, const DeviceList& devices, const Log& log,
                          std::vector<std::unique_ptr<Backend>>* backends) {
  const cj2k_params& p = plan->params;
  std::vector<std::unique_ptr<simt::Context>> contexts;
  std::string names;
  for (int i = 0; i < std::max(devices.count, 1); ++i) {
    simt::DeviceChoice choice;
    choice.ordinal = std::max(devices.devices[i].ordinal, 0);
    choice.uuid = devices.devices[i].uuid;
    choice.cu_context = p.cuda_context;
    contexts.emplace_back();
    CJ2K_TRY(simt::Context::open(choice, log, &contexts.back()));
    const simt::DeviceInfo& info = contexts.back()->info();
    for (int other = 0; other < i; ++other) {
      if (contexts[static_cast<size_t>(other)]->info().ordinal != info.ordinal) continue;
      return log.fail(Status::kInvalid, "device %s names CUDA device %d (%s) twice", p.device,
                      info.ordinal, info.name.c_str());
    }
    names += (i > 0 ? ", " : "") + info.name;
  }
  CJ2K_TRY(cuda::choose_gops(plan, contexts, log));
  const int num_gops = p.async_depth / p.gop;
  for (size_t i = 0; i < contexts.size(); ++i) {
    auto backend = std::make_unique<CudaBackend>(
        *plan, std::move(contexts[i]), cuda::gops_of_device(num_gops, i, contexts.size()));
    CJ2K_TRY(backend->open());
    backend->set_device_names(names);
    backends->push_back(std::move(backend));
  }
  return Status::kOk;
}

void describe_cuda_backend(const Plan& plan, int num_devices, cj2k_info* info) {
  const Tier1Form form = cuda::tier1_form(plan);
  const int num_gops = plan.params.async_depth / plan.params.gop;
  const PlanTables tables(plan, form);
  const PinnedLayout pinned(plan, tables);
  const int64_t measure_bytes =
      static_cast<int64_t>(coefficient_bytes(plan, tables)) + PictureError::bytes(plan);
  info->backend = "cuda";
  info->tier1 = cuda::form_name(form);
  info->device_bytes = static_cast<int64_t>(cuda::device_bytes(
      plan, cuda::gops_of_device(num_gops, 0, static_cast<size_t>(num_devices))));
  info->pinned_bytes = static_cast<int64_t>(pinned.all_bytes()) * num_gops;
  info->host_bytes =
      info->pinned_bytes + measure_bytes * num_gops +
      static_cast<int64_t>(plan.blocks.size() * sizeof(CodedBlock)) * plan.params.gop * num_gops;
}

}  // namespace cj2k
