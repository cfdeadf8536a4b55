// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The CUDA backend: runs the stages on a GPU. It decides what goes to the device, in which order,
// and what comes back. The same file runs on the shim (kernels/simt/host).
//
// Each GOP has its own stream. Its frames are uploaded and go through the first level of the
// transform as they arrive (frame_reader.h). The other stages run in a few steps. The GOP's thread
// waits for the coded blocks with their hulls and the bytes that will probably be chosen, and once
// more if other bytes are missing.
// Meanwhile the work of other GOPs runs.
#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>

#include "backend.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "cuda/block_coder.h"
#include "cuda/device_low_bits.h"
#include "cuda/frame_reader.h"
#include "cuda/gop_choice.h"
#include "cuda/gop_memory.h"
#include "cuda/gop_work.h"
#include "cuda/pinned_memory.h"
#include "cuda/tier1_coder.h"
#include "kernels/pixels/pixels.h"
#include "kernels/rate/slopes.h"
#include "kernels/simt/device.h"

namespace cj2k {
namespace {

using cuda::CudaGopWork;
using cuda::GatherJob;
using cuda::GopMemory;
using cuda::PinnedLayout;
using cuda::PlanTables;
using cuda::Tier1Form;

/// Host memory for the coefficients of a frame, in bytes; 0 unless they are kept.
uint64_t coefficient_bytes(const Plan& plan, const PlanTables& tables) {
  return !keeps_coefficients(plan) ? 0 : tables.frame.frame_samples * sizeof(int32_t);
}

/// cj2k_info::tier1.
const char* tier1_name(const Plan& plan, Tier1Form form) {
  return plan.params.coder == CJ2K_CODER_HT ? "" : cuda::form_name(form);
}

/// Whether an encoder may launch a kernel, by its name without "cj2k_".
bool may_launch(const Plan& plan, Tier1Form form, std::string_view name) {
  const auto is_one_of = [name](std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [name](std::string_view b) { return name.starts_with(b); });
  };
  if (plan.params.coder == CJ2K_CODER_HT) {
    return name == "tier1_gather" ||
           !is_one_of({"quantize_", "tier1_", "slopes_", "plane_", "rate_", "resume_",
                       "packet_bodies", "rdoq_", "colour_errors"});
  }
  if (!plan.has_rdoq && is_one_of({"rdoq_", "tier1_votes", "colour_errors"})) return false;
  if (form == Tier1Form::kFused)
    return !is_one_of(
        {"ht_", "tier1_model_", "tier1_mq", "tier1_start", "tier1_count", "tier1_sort"});
  return !is_one_of({"ht_", "tier1_fused_", "tier1_close"});
}

/// Adds the device time from `begin` to `end` to a stage, divided equally among the frames. `end`
/// must have been passed.
Status add_time(simt::Event& begin, simt::Event& end, cj2k_stage stage,
                std::span<const uint32_t> frames, cj2k_stats* stats) {
  float ms = 0;
  CJ2K_TRY(end.elapsed_ms(begin, &ms));
  for (const uint32_t f : frames)
    stats[f].stage_ms[stage] += static_cast<double>(ms) / static_cast<double>(frames.size());
  return Status::kOk;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Plan& plan, std::unique_ptr<simt::Context> context, int num_gops)
      : plan_(plan),
        context_(std::move(context)),
        device_names_(context_->info().name),
        tables_(plan),
        reader_(plan, tables_),
        memory_(plan, tables_),
        pinned_(plan, tables_),
        num_gops_(num_gops),
        low_bits_(plan) {}
  ~CudaBackend() override = default;

  Status open();
  uint64_t device_bytes() const {
    return tables_.bytes + static_cast<uint64_t>(num_gops_) * memory_.bytes;
  }
  simt::Context& context() { return *context_; }
  /// Sets cj2k_info::device_name to the names of all devices.
  void set_device_names(const std::string& names) { device_names_ = names; }

  const char* name() const override { return "cuda"; }
  Status make_gop_work(std::unique_ptr<GopWork>* work) override;
  int64_t gop_work_bytes() const override { return static_cast<int64_t>(host_gop_bytes()); }
  void describe(cj2k_info* info) const override;
  void set_log(const Log& log) override { context_->set_log(log); }
  bool takes_device_frames() const override { return true; }
  Status find_low_bits(const cj2k_frame& frame, LowBitsSample* found, bool* is_found) override {
    if (context_->poisoned()) return Status::kDevice;
    const simt::Context::Scope scope(*context_);
    CJ2K_TRY(scope.status());
    return low_bits_.find(frame, found, is_found);
  }

  Status ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number, cj2k_stats& stats) override;
  /// A frame with `release` that is not staged is read when the stream has come to it.
  bool reads_later(const cj2k_frame& frame) const override {
    return frame.release != nullptr && reader_.is_read_in_place(frame, *context_);
  }
  Status frames_read(GopWork& gop) override;
  Status transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats* stats) override;
  Status code_blocks(GopWork& gop, std::span<BlockRequest> requests, const BlockSample& sample,
                     cj2k_stats* stats) override;
  Status coefficients(GopWork& gop, uint32_t frame, CoefficientPlanes* planes) override;
  Status fetch(GopWork& gop, std::span<const FetchRequest> requests, cj2k_stats* stats) override;

 private:
  /// After an error, work that was enqueued before it may still run. This waits until it has ended,
  /// because until then the caller must not write to its memory or release it.
  Status settled(CudaGopWork& work, Status status) {
    if (status == Status::kOk) return status;
    for (simt::Stream* stream : {&work.stream, &work.coding}) {
      if (!context_->poisoned() && stream->cu_stream() != nullptr) (void)stream->synchronize();
    }
    return status;
  }
  Status run_transform(CudaGopWork& work, std::span<const uint32_t> frames);
  Status add_transform_times(CudaGopWork& work, cj2k_stats* stats);
  Status run_fetch(CudaGopWork& work, std::span<const FetchRequest> requests, cj2k_stats* stats);
  uint64_t host_gop_bytes() const {
    return pinned_.all_bytes() + coefficient_bytes(plan_, tables_) +
           static_cast<uint64_t>(plan_.params.gop) * plan_.blocks.size() * sizeof(CodedBlock);
  }
  Status upload_tables();
  cuda::DwtLists lists(size_t level) const;
  cuda::DeviceXyz device_xyz() const;
  uint32_t list_jobs(CudaGopWork& work, const FetchRequest& request, GatherJob* jobs);
  Status gather(CudaGopWork& work, size_t first, size_t end, uint64_t bytes);
  Status run_code(CudaGopWork& work, std::span<BlockRequest> requests, const BlockSample& sample,
                  cj2k_stats* stats);

  const Plan& plan_;
  std::unique_ptr<simt::Context> context_;
  std::string device_names_;
  const PlanTables tables_;
  const cuda::FrameReader reader_;
  const GopMemory memory_;
  const PinnedLayout pinned_;
  const int num_gops_;
  simt::DeviceBuffer table_memory_;
  cuda::DeviceLowBits low_bits_;
};

Status CudaBackend::open() {
  constexpr std::string_view kPrefix = "cj2k_";
  CJ2K_TRY(context_->load_kernels([this, kPrefix](const simt::KernelInfo& kernel) {
    return may_launch(plan_, tables_.form, std::string_view(kernel.name).substr(kPrefix.size()));
  }));
  CJ2K_TRY(table_memory_.allocate(*context_, tables_.bytes));
  if (refuses_low_bits(plan_)) CJ2K_TRY(low_bits_.create(*context_));
  return upload_tables();
}

Status CudaBackend::upload_tables() {
  std::vector<uint8_t> image;  // must outlive the copies
  simt::Stream stream;
  CJ2K_TRY(stream.create(*context_));
  const auto put = [&](const auto& place, const auto& entries) {
    return stream.upload(place.in(table_memory_), entries.data(), place.bytes());
  };
  const PlanTables::OnDevice& to = tables_.on_device;
  for (size_t i = 0; i < tables_.levels.size(); ++i) {
    CJ2K_TRY(put(to.levels[i].jobs, tables_.levels[i].jobs));
    CJ2K_TRY(put(to.levels[i].parts, tables_.levels[i].parts));
  }
  CJ2K_TRY(put(to.quantize, tables_.quantize));
  CJ2K_TRY(put(to.colour, tables_.colour));
  CJ2K_TRY(put(to.overlaps, tables_.overlaps));
  CJ2K_TRY(put(to.tier1, tables_.tier1.jobs));
  CJ2K_TRY(put(to.ht_words, tables_.ht.words));
  CJ2K_TRY(put(to.ht_blocks, tables_.ht.blocks));
  CJ2K_TRY(put(to.ht_bands, tables_.ht.bands));
  CJ2K_TRY(put(to.ht_slots, tables_.ht.slots));
  if (tables_.rate.has_value()) {
    image.resize(tables_.rate->bytes());
    tables_.rate->store(image.data());
    CJ2K_TRY(put(to.rate, image));
    CJ2K_TRY(put(to.ht_first_points, tables_.ht.first_points));
  }
  if (tables_.xyz.has_value()) {
    CJ2K_TRY(put(to.xyz_linear, tables_.xyz->linear));
    CJ2K_TRY(put(to.xyz_codes, tables_.xyz->codes));
  }
  return stream.synchronize();
}

Status CudaBackend::make_gop_work(std::unique_ptr<GopWork>* result) {
  auto work = std::make_unique<CudaGopWork>(plan_);
  CJ2K_TRY(work->device.allocate(*context_, memory_.bytes));
  CJ2K_TRY(work->pinned.allocate(*context_, pinned_.bytes));
  CJ2K_TRY(work->hulls.reserve(*context_, pinned_.hull_bytes));
  CJ2K_TRY(work->bytes.reserve(*context_, pinned_.code_bytes));
  if (keeps_coefficients(plan_)) work->coefficients = HostBuffer(coefficient_bytes(plan_, tables_));
  CJ2K_TRY(work->stream.create(*context_, simt::Priority::kHigh));
  if (plan_.params.coder == CJ2K_CODER_EBCOT)
    CJ2K_TRY(work->coding.create(*context_, simt::Priority::kMiddle));
  CJ2K_TRY(work->to_code.create(*context_));
  CJ2K_TRY(work->coded.create(*context_));
  CJ2K_TRY(work->begin.create(*context_, true));
  CJ2K_TRY(work->transform_begin.create(*context_, true));
  CJ2K_TRY(work->transformed.create(*context_, true));
  CJ2K_TRY(work->quantised.create(*context_, true));
  CJ2K_TRY(work->end.create(*context_, true));
  CJ2K_TRY(work->frame_events.create(*context_, plan_.params.gop));
  const auto make_coder =
      plan_.params.coder == CJ2K_CODER_HT ? cuda::make_device_ht : cuda::make_device_ebcot;
  CJ2K_TRY(make_coder({plan_, *context_, tables_, memory_, pinned_, table_memory_}, &work->coder));
  *result = std::move(work);
  return Status::kOk;
}

void CudaBackend::describe(cj2k_info* info) const {
  info->device_name = device_names_.c_str();
  info->device_bytes = static_cast<int64_t>(device_bytes());
  info->pinned_bytes =
      static_cast<int64_t>(pinned_.all_bytes()) * (plan_.params.async_depth / plan_.params.gop);
  info->tier1 = tier1_name(plan_, tables_.form);
}

// ---- Ingest ----

Status CudaBackend::ingest(const cj2k_frame& frame, GopWork& gop, uint32_t number,
                           cj2k_stats& stats) {
  const auto start = Clock::now();
  CudaGopWork& work = static_cast<CudaGopWork&>(gop);
  if (context_->poisoned()) return Status::kDevice;
  const uint64_t at = number * tables_.input.bytes;
  const bool in_place = reader_.is_read_in_place(frame, *context_);
  if (!in_place) {
    const std::lock_guard lock(work.ingest);
    if (work.input.bytes() == 0) CJ2K_TRY(work.input.allocate(*context_, pinned_.input_bytes));
  }
  const cuda::FramePlace place{
      number,
      work.input.as<uint8_t>(at),
      memory_.input.in(work.device) + at,
      memory_.coded_words.in(work.device),
      memory_.samples.in(work.device) + number * tables_.frame.frame_samples,
      device_xyz()};
  const cuda::StagedFrame staged = reader_.stage(frame, in_place, place);
  // parallel_for must not run while the lock is held, because one of its tasks could want the lock.
  const std::lock_guard lock(work.ingest);
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  const cuda::DwtLists level = tables_.levels.empty() ? cuda::DwtLists{} : lists(0);
  CJ2K_TRY(
      settled(work, reader_.enqueue(frame, staged, place, level, work.stream, work.frame_events)));
  // run_transform adds the device time of this step.
  stats.stage_ms[CJ2K_STAGE_INGEST] += ms_since(start);
  if (frame.memory != CJ2K_MEMORY_CUDA || reads_later(frame)) return Status::kOk;
  return settled(work, work.frame_events.read.synchronize());
}

Status CudaBackend::frames_read(GopWork& gop) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  auto& work = static_cast<CudaGopWork&>(gop);
  return settled(work, work.frame_events.read.synchronize());
}

cuda::DeviceXyz CudaBackend::device_xyz() const {
  if (!tables_.xyz.has_value()) return {};
  return {tables_.on_device.xyz_linear.in(table_memory_),
          tables_.on_device.xyz_codes.in(table_memory_), tables_.xyz->matrix.m};
}

cuda::DwtLists CudaBackend::lists(size_t level) const {
  const PlanTables::OnDevice::Level& places = tables_.on_device.levels[level];
  const cuda::DwtLevel& made = tables_.levels[level];
  return {places.jobs.in(table_memory_), places.parts.in(table_memory_),
          static_cast<uint32_t>(made.parts.size()), made.num_colour_parts};
}

// ---- Transform ----

/// Does not wait: block coding follows in the same stream.
Status CudaBackend::transform(GopWork& gop, std::span<const uint32_t> frames, cj2k_stats*) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  auto& work = static_cast<CudaGopWork&>(gop);
  return settled(work, run_transform(work, frames));
}

Status CudaBackend::run_transform(CudaGopWork& work, std::span<const uint32_t> frames) {
  work.hulls.reset();
  work.bytes.reset();
  simt::Stream& stream = work.stream;
  CJ2K_TRY(stream.record(work.transform_begin));
  // Frames that could not be read are processed too, but nobody asks for their blocks.
  const cuda::Samples samples{memory_.samples.in(work.device), tables_.frame.frame_samples,
                              frames.back() + 1};
  for (size_t i = 1; i < tables_.levels.size(); ++i) {
    CJ2K_TRY((plan_.reversible ? cuda::dwt53 : cuda::dwt97)(stream, lists(i), samples));
  }
  CJ2K_TRY(stream.record(work.transformed));
  CJ2K_TRY(work.coder->begin(work, samples));
  CJ2K_TRY(stream.record(work.quantised));
  work.transformed_frames.assign(frames.begin(), frames.end());
  return Status::kOk;
}

/// Adds the times of reading and of the transform, once, when the stream has passed both.
Status CudaBackend::add_transform_times(CudaGopWork& work, cj2k_stats* stats) {
  const std::span<const uint32_t> frames = work.transformed_frames;
  if (frames.empty()) return Status::kOk;
  for (const uint32_t f : frames) {
    cuda::FrameEvents::Span& reading = work.frame_events.reading[f];
    float ms = 0;
    CJ2K_TRY(reading.end.elapsed_ms(reading.begin, &ms));
    stats[f].stage_ms[CJ2K_STAGE_INGEST] += static_cast<double>(ms);
  }
  CJ2K_TRY(add_time(work.transform_begin, work.transformed, CJ2K_STAGE_TRANSFORM, frames, stats));
  CJ2K_TRY(add_time(work.transformed, work.quantised, CJ2K_STAGE_BLOCKS, frames, stats));
  work.transformed_frames.clear();
  return Status::kOk;
}

// ---- Block coding ----

Status CudaBackend::code_blocks(GopWork& gop, std::span<BlockRequest> requests,
                                const BlockSample& sample, cj2k_stats* stats) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  auto& work = static_cast<CudaGopWork&>(gop);
  return settled(work, run_code(work, requests, sample, stats));
}

Status CudaBackend::run_code(CudaGopWork& work, std::span<BlockRequest> requests,
                             const BlockSample& sample, cj2k_stats* stats) {
  CJ2K_TRY(work.coder->code(work, requests, sample));
  CJ2K_TRY(add_transform_times(work, stats));
  work.coded_frames.clear();
  for (const BlockRequest& request : requests) work.coded_frames.push_back(request.frame);
  return add_time(work.begin, work.end, CJ2K_STAGE_BLOCKS, work.coded_frames, stats);
}

// ---- Fetch ----

/// Gathers the bytes of the jobs [first, end), `bytes` in total, and downloads them.
Status CudaBackend::gather(CudaGopWork& work, size_t first, size_t end, uint64_t bytes) {
  if (first == end) return Status::kOk;
  const auto* jobs = pinned_.gather.in(work.pinned);
  const auto* on_device = memory_.gather.in(work.device) + first;
  auto* const from = reinterpret_cast<uint8_t*>(memory_.samples.in(work.device));
  uint8_t* to = nullptr;
  CJ2K_TRY(work.bytes.take(bytes, &to));
  CJ2K_TRY(work.stream.upload(memory_.gather.in(work.device) + first, jobs + first,
                              (end - first) * sizeof(GatherJob)));
  CJ2K_TRY(cuda::tier1_gather(work.stream, memory_.coded.in(work.device), on_device,
                              static_cast<uint32_t>(end - first), from));
  CJ2K_TRY(work.stream.download(to, from, bytes));
  for (size_t i = first; i < end; ++i) {
    const GatherJob& job = jobs[i];
    work.coder->set_bytes(work, job.block, job.points, job.piece, to + job.to);
  }
  return Status::kOk;
}

Status CudaBackend::fetch(GopWork& gop, std::span<const FetchRequest> requests, cj2k_stats* stats) {
  if (requests.empty()) return Status::kOk;
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  auto& work = static_cast<CudaGopWork&>(gop);
  return settled(work, run_fetch(work, requests, stats));
}

/// `fetch` gathers into the same device memory, so it overwrites the coefficients.
Status CudaBackend::coefficients(GopWork& gop, uint32_t frame, CoefficientPlanes* planes) {
  const simt::Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  auto& work = static_cast<CudaGopWork&>(gop);
  const cuda::FrameLayout& layout = tables_.frame;
  auto* samples = work.coefficients.as<int32_t>();
  CJ2K_TRY(settled(
      work,
      work.stream.download(samples, memory_.samples.in(work.device) + frame * layout.frame_samples,
                           layout.frame_samples * sizeof(int32_t))));
  CJ2K_TRY(settled(work, work.stream.synchronize()));
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

/// Writes the jobs for the bytes of one frame that are not on the host yet, without their `to`.
/// @return their number
uint32_t CudaBackend::list_jobs(CudaGopWork& work, const FetchRequest& request, GatherJob* jobs) {
  const auto num_blocks = static_cast<uint32_t>(plan_.blocks.size());
  uint32_t count = 0;
  for (uint32_t b = 0; b < num_blocks; ++b) {
    const uint8_t points = request.points[b];
    if (points == 0) continue;
    const uint32_t number = request.frame * num_blocks + b;
    if (work.coder->has_bytes(work, number, points)) continue;
    cuda::BlockPiece pieces[cuda::kMostPieces];
    const uint32_t num_pieces = work.coder->pieces(work, number, points, pieces);
    for (uint32_t i = 0; i < num_pieces; ++i) {
      jobs[count++] = {pieces[i].from, 0,      pieces[i].length_bytes,
                       number,         points, static_cast<uint8_t>(i)};
    }
  }
  return count;
}

/// Waits only if bytes are missing on the host.
Status CudaBackend::run_fetch(CudaGopWork& work, std::span<const FetchRequest> requests,
                              cj2k_stats* stats) {
  const auto start = Clock::now();
  auto* jobs = pinned_.gather.in(work.pinned);
  const size_t frame_jobs = pinned_.frame_jobs;
  std::array<uint32_t, cuda::FrameTargets::kMostFrames> counts;
  parallel_for(requests.size(), 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      counts[r] = list_jobs(work, requests[r], jobs + r * frame_jobs);
  });
  size_t first = 0, count = 0;
  uint64_t bytes = 0;
  for (size_t r = 0; r < requests.size(); ++r) {
    for (size_t i = r * frame_jobs; i < r * frame_jobs + counts[r]; ++i) {
      GatherJob job = jobs[i];
      const uint64_t room = (uint64_t{job.length_bytes} + 15) / 16 * 16;
      if (bytes + room > memory_.samples.bytes()) {
        CJ2K_TRY(gather(work, first, count, bytes));
        first = count;
        bytes = 0;
      }
      job.to = bytes;
      jobs[count++] = job;
      bytes += room;
    }
  }
  if (count > 0) {
    CJ2K_TRY(gather(work, first, count, bytes));
    CJ2K_TRY(work.stream.record(work.end));
    CJ2K_TRY(work.end.synchronize());
  }
  for (const FetchRequest& request : requests)
    stats[request.frame].stage_ms[CJ2K_STAGE_PACKETS] +=
        ms_since(start) / static_cast<double>(requests.size());
  return Status::kOk;
}

}  // namespace

cuda::CudaGopWork::~CudaGopWork() = default;

bool has_cuda_backend() { return true; }

Status describe_cuda_device(int index, cj2k_device_info* info) {
  if (index >= simt::num_devices()) return Status::kEof;
  const Log silent;
  simt::DeviceInfo device;
  Status status = simt::describe_device(index, silent, &device);
  if (status == Status::kOk) status = simt::check_usable(device, silent);
  *info = {};
  info->index = index;
  info->usable = status == Status::kOk ? 1 : 0;
  std::snprintf(info->name, sizeof info->name, "%s", device.name.c_str());
  std::snprintf(info->uuid, sizeof info->uuid, "%s", device.uuid.c_str());
  info->memory_bytes = static_cast<int64_t>(device.total_bytes);
  info->compute_major = device.compute_major;
  info->compute_minor = device.compute_minor;
  if (status != Status::kOk) std::snprintf(info->reason, sizeof info->reason, "%s", error_text());
  return Status::kOk;
}

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
  const int num_gops = plan.params.async_depth / plan.params.gop;
  const PlanTables tables(plan);
  const PinnedLayout pinned(plan, tables);
  info->backend = "cuda";
  info->tier1 = tier1_name(plan, tables.form);
  info->device_bytes = static_cast<int64_t>(cuda::device_bytes(
      plan, cuda::gops_of_device(num_gops, 0, static_cast<size_t>(num_devices))));
  info->pinned_bytes = static_cast<int64_t>(pinned.all_bytes()) * num_gops;
  info->host_bytes =
      info->pinned_bytes + static_cast<int64_t>(coefficient_bytes(plan, tables)) * num_gops +
      static_cast<int64_t>(plan.blocks.size() * sizeof(CodedBlock)) * plan.params.gop * num_gops;
}

}  // namespace cj2k
