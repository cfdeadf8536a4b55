// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/encoder.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

#include "base/parallel.h"
#include "packets/packet_writer.h"
#include "params/caller_struct.h"
#include "params/params.h"
#include "params/profiles.h"
#include "pixels/target.h"
#include "rate/rate.h"
#include "run/picture_error.h"

namespace cj2k {
Encoder::Encoder(const Log& log) : log_(log), packets_(std::make_shared<PacketMemory>()) {}

Encoder::~Encoder() {
  gops_.clear();
  packets_->retire();
}

Status Encoder::open(const cj2k_params& params, const Log& log, std::unique_ptr<Encoder>* encoder) {
  cj2k_params resolved;
  CJ2K_TRY(resolve_params(params, log, &resolved));
  std::unique_ptr<Encoder> e(new Encoder(log));
  CJ2K_TRY(make_plan(resolved, log, &e->plan_));
  CJ2K_TRY(e->make_frame_check(params));
  CJ2K_TRY(e->open_backends());
  if (resolved.num_roi > 0 && (resolved.cblk_style & CJ2K_STYLE_BYPASS) != 0)
    log.print(
        CJ2K_LOG_WARNING,
        "roi with cblk_style bypass: OpenJPEG and programs that use it decode another picture");
  e->header_bytes_ = fixed_bytes(e->plan_);
  cj2k_info info;
  e->info(&info);
  log.print(CJ2K_LOG_DEBUG,
            "%s backend (%s), %d thread%s, %d frame%s in flight, %" PRId64
            " code-blocks, %.0f MB planned",
            info.backend, info.simd, info.threads, info.threads == 1 ? "" : "s", info.async_depth,
            info.async_depth == 1 ? "" : "s", info.num_blocks,
            static_cast<double>(info.host_bytes) / 1e6);
  if (info.device_bytes > 0) {
    log.print(CJ2K_LOG_DEBUG, "%s: tier1 %s, %d frame%s a GOP, %.0f MB of device memory",
              info.device_name, info.tier1, info.gop, info.gop == 1 ? "" : "s",
              static_cast<double>(info.device_bytes) / 1e6);
  }
  *encoder = std::move(e);
  return Status::kOk;
}

Status Encoder::make_frame_check(const cj2k_params& asked) {
  cj2k_params p;
  set_default_params(&p);
  CJ2K_TRY(read_struct("params", asked, kMinParamsBytes, log_, &p));
  frame_check_.emplace(plan_, p.quality > 0);
  return frame_check_->check_plan(log_);
}

Status Encoder::open_backends() {
  DeviceList devices;
  CJ2K_TRY(parse_devices(plan_.params.device, log_, &devices));
  if (devices.kind == DeviceList::kCuda) return open_cuda(devices, log_);
  if (devices.kind == DeviceList::kAuto && has_cuda_backend()) {
    // With auto, a device that cannot be used is not an error. An INFO line gives the reason.
    std::string why;
    const Log quiet(
        [](void* to, cj2k_log_level level, const char* message) {
          if (level == CJ2K_LOG_ERROR) *static_cast<std::string*>(to) = message;
        },
        &why);
    const cj2k_params asked = plan_.params;
    if (open_cuda(devices, quiet) == Status::kOk) return Status::kOk;
    gops_.clear();
    backends_.clear();
    threads_.reset();
    plan_.params = asked;
    log_.print(CJ2K_LOG_INFO, "device auto takes the CPU: %s", why.c_str());
  }
  cj2k_params& p = plan_.params;
  choose_depth(&p, false, 0);
  threads_ = std::make_unique<Threads>(p.threads, 0);
  Status status = Status::kOk;
  threads_->run([&] {
    backends_.push_back(make_cpu_backend(plan_));
    status = reserve(p.threads > 1);
  });
  CJ2K_TRY(status);
  start_threads();
  return Status::kOk;
}

Status Encoder::open_cuda(const DeviceList& devices, const Log& log) {
  CJ2K_TRY(make_cuda_backends(&plan_, devices, log, &backends_));
  cj2k_params& p = plan_.params;
  threads_ = std::make_unique<Threads>(p.threads, p.async_depth / p.gop);
  Status status = Status::kOk;
  threads_->run([&] { status = reserve(true); });
  CJ2K_TRY(status);
  start_threads();
  for (const std::unique_ptr<Backend>& backend : backends_) backend->set_log(log_);
  return Status::kOk;
}

/// Call it inside Threads::run.
Status Encoder::reserve(bool own_threads) {
  const int num_gops = plan_.params.async_depth / plan_.params.gop;
  packet_scratch_.clear();
  packet_scratch_.reserve(num_workers());
  for (size_t i = 0; i < num_workers(); ++i) packet_scratch_.emplace_back(plan_);
  sample_ = std::make_unique<BlockSample>(plan_);
  feedback_ = std::make_unique<StopFeedback>(static_cast<size_t>(num_gops));
  shared_.emplace(GopShared{plan_, log_, *sample_, packet_scratch_, *packets_, *feedback_, steps_,
                            *threads_, reading_});
  // With a cap, packets will be about that large, so their memory is reserved now. Without one, the
  // first frames show how large packets are.
  const uint64_t cap = rate_limits(plan_, plan_.params).frame_bytes;
  packets_->reserve(static_cast<size_t>(plan_.params.async_depth),
                    cap == kNoTarget ? 0 : std::min(cap, raw_frame_bytes(plan_)));
  for (int i = 0; i < num_gops; ++i) {
    Backend& backend = *backends_[static_cast<size_t>(i) % backends_.size()];
    std::unique_ptr<GopWork> work;
    CJ2K_TRY(backend.make_gop_work(&work));
    gops_.push_back(std::make_unique<Gop>(*shared_, backend, std::move(work), own_threads));
  }
  return Status::kOk;
}

/// Starts the helpers. One warning says which threads are missing, if any are: helpers,
/// or those of GOPs.
void Encoder::start_threads() {
  const int asked = plan_.params.threads;
  threads_->start();
  plan_.params.threads = threads_->count();
  if (threads_->error() != 0) {
    log_.print(CJ2K_LOG_WARNING, "threads %d: only %d can be had (%s); the encoder goes on with %s",
               asked, threads_->count(), std::generic_category().message(threads_->error()).c_str(),
               threads_->count() == 1 ? "the calling one" : "them");
    return;
  }
  int missing = 0, error = 0;
  for (const std::unique_ptr<Gop>& gop : gops_) {
    if (gop->thread_error() == 0) continue;
    error = gop->thread_error();
    ++missing;
  }
  if (missing == 0) return;
  log_.print(CJ2K_LOG_WARNING,
             "threads %d: %d of the %zu that drive GOPs cannot be started (%s); the calls encode "
             "their frames",
             asked, missing, gops_.size(), std::generic_category().message(error).c_str());
}

Status Encoder::describe(const cj2k_params& params, const Log& log, cj2k_info* info) {
  cj2k_params resolved;
  CJ2K_TRY(resolve_params(params, log, &resolved));
  Encoder e(log);
  CJ2K_TRY(make_plan(resolved, log, &e.plan_));
  CJ2K_TRY(e.make_frame_check(params));
  cj2k_params& p = e.plan_.params;
  DeviceList devices;
  CJ2K_TRY(parse_devices(p.device, log, &devices));
  const bool cuda = devices.kind == DeviceList::kCuda;
  const bool chooses_depth = p.async_depth == 0;
  choose_depth(&p, cuda, static_cast<int64_t>(e.plan_.blocks.size()));
  if (chooses_depth && cuda) p.async_depth *= devices.count;
  e.header_bytes_ = fixed_bytes(e.plan_);
  e.info(info);
  if (cuda) {
    describe_cuda_backend(e.plan_, devices.count, info);
  } else {
    info->backend = devices.kind == DeviceList::kAuto ? "" : "cpu";
    info->host_bytes =
        cpu_gop_bytes(e.plan_, static_cast<size_t>(p.threads)) * (p.async_depth / p.gop);
  }
  info->host_bytes += e.extra_bytes() * (p.async_depth / p.gop);
  return Status::kOk;
}

/// Bytes of one GOP for what is measured and proved.
int64_t Encoder::extra_bytes() const {
  return PictureError::bytes(plan_) +
         FrameProof::bytes(plan_, static_cast<size_t>(plan_.params.threads));
}

void Encoder::info(cj2k_info* info) const {
  const cj2k_params& p = plan_.params;
  *info = {};
  info->struct_size = sizeof(cj2k_info);
  info->simd = hwy::TargetName(simd::tier1_target());
  info->threads = p.threads;
  info->gop = p.gop;
  info->async_depth = p.async_depth;
  info->num_tiles = static_cast<int64_t>(plan_.tiles.size());
  info->num_blocks = static_cast<int64_t>(plan_.blocks.size());
  info->num_packets = static_cast<int64_t>(plan_.packets.size());
  info->header_bytes = static_cast<int64_t>(header_bytes_);
  info->least_frame_bytes = static_cast<int64_t>(frame_check_->smallest().frame);
  info->least_component_bytes = static_cast<int64_t>(frame_check_->smallest().component);
  info->most_frame_bytes = byte_cap(p);
  info->rsiz = plan_.rsiz;
  info->backend = info->device_name = info->tier1 = "";
  if (backends_.empty()) return;
  info->backend = backends_[0]->name();
  info->host_bytes = (backends_[0]->gop_work_bytes() + extra_bytes()) * (p.async_depth / p.gop);
  backends_[0]->describe(info);
}

void Encoder::params(cj2k_params* params) const {
  *params = plan_.params;
  const Log silent;
  DeviceList devices;
  if (parse_devices(params->device, silent, &devices) == Status::kOk &&
      devices.kind == DeviceList::kAuto) {
    std::snprintf(params->device, sizeof params->device, "%s", backends_[0]->name());
  }
  cj2k_info used;
  info(&used);
  if (used.tier1[0] != '\0') (void)set_param(params, "tier1", used.tier1, silent);
}

int Encoder::num_frames_in_flight() {
  size_t frames = 0;
  for (size_t i = 0; i < num_in_flight_; ++i) frames += gop(i).num_left();
  return static_cast<int>(frames);
}

Gop* Encoder::filling() {
  if (num_in_flight_ > 0 && !gop(num_in_flight_ - 1).closed()) return &gop(num_in_flight_ - 1);
  return num_in_flight_ < gops_.size() ? &gop(num_in_flight_) : nullptr;
}

bool Encoder::takes_frames() {
  const std::lock_guard lock(mutex_);
  return !draining_ && filling() != nullptr;
}

Status Encoder::send(const cj2k_frame* from) {
  const std::lock_guard sending(send_mutex_);
  if (from == nullptr) return drain();
  cj2k_frame frame{};
  CJ2K_TRY(read_struct("frame", *from, kMinFrameBytes, log_, &frame));
  Gop* to = nullptr;
  int num_frames = 0;
  bool drains = false;
  {
    const std::lock_guard lock(mutex_);
    drains = draining_;
    to = filling();
    num_frames = num_frames_in_flight();
  }
  if (drains) {
    log_.print(CJ2K_LOG_WARNING,
               "frame not taken: the encoder drains; flush it for a new sequence");
    return Status::kEof;
  }
  RateLimits limits;
  CJ2K_TRY(check_frame(frame, &limits));
  if (to == nullptr) {
    log_.print(CJ2K_LOG_DEBUG,
               "frame %" PRId64
               " not taken now: %d frames in flight, async_depth %d; receive a "
               "packet first",
               frame.pts, num_frames, plan_.params.async_depth);
    return Status::kAgain;
  }
  CJ2K_TRY(frame_check_->check_low_bits(frame, *threads_, *backends_[0], log_));
  const bool is_first = to->num_left() == 0;
  CJ2K_TRY(to->add(frame, limits));
  if (is_first) {
    const std::lock_guard lock(mutex_);
    ++num_in_flight_;
    changed_.notify_all();
  }
  if (to->full()) to->close();
  return Status::kOk;
}

Status Encoder::check_frame(const cj2k_frame& frame, RateLimits* limits) const {
  CJ2K_TRY(frame_check_->check_samples(frame, log_));
  if (frame.memory == CJ2K_MEMORY_CUDA && !backends_[0]->takes_device_frames()) {
    return log_.fail(Status::kNotSupported, "frame: in CUDA memory, but the encoder runs on the %s",
                     backends_[0]->name());
  }
  if (frame.memory == CJ2K_MEMORY_CUDA && backends_.size() > 1) {
    return log_.fail(Status::kNotSupported,
                     "frame: in CUDA memory of one device, but the encoder runs on %zu",
                     backends_.size());
  }
  return frame_check_->limits(frame, log_, limits);
}

Status Encoder::drain() {
  Gop* last = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (draining_) return Status::kEof;
    draining_ = true;
    if (num_in_flight_ > 0 && !gop(num_in_flight_ - 1).closed()) last = &gop(num_in_flight_ - 1);
    changed_.notify_all();
  }
  if (last != nullptr) last->close();
  return Status::kOk;
}

Status Encoder::receive(cj2k_packet* packet) {
  const std::lock_guard receiving(receive_mutex_);
  Gop* oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (num_in_flight_ == 0) return draining_ ? Status::kEof : Status::kAgain;
    oldest = &gop(0);
    const bool all_full = num_in_flight_ == gops_.size() && gop(num_in_flight_ - 1).closed();
    if (!draining_ && !oldest->taking() && !all_full) return Status::kAgain;
  }
  oldest->wait_done();
  return take(*oldest, packet);
}

Status Encoder::receive_timed(cj2k_packet* packet, int timeout_ms) {
  const std::lock_guard receiving(receive_mutex_);
  std::optional<std::chrono::steady_clock::time_point> until;
  if (timeout_ms >= 0)
    until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  Gop* oldest = nullptr;
  {
    std::unique_lock lock(mutex_);
    const auto something = [this] { return num_in_flight_ > 0 || draining_; };
    if (!until) {
      changed_.wait(lock, something);
    } else if (!changed_.wait_until(lock, *until, something)) {
      return Status::kAgain;
    }
    if (num_in_flight_ == 0) return Status::kEof;
    oldest = &gop(0);
  }
  return oldest->wait_done(until) ? take(*oldest, packet) : Status::kAgain;
}

/// Takes the next packet of a GOP that is done.
Status Encoder::take(Gop& oldest, cj2k_packet* packet) {
  const Status status = oldest.take(packet);
  if (oldest.num_left() > 0) return status;
  // One lock covers clear and the removal from the ring. In between, the GOP is not closed, and
  // send would add frames to it.
  const std::lock_guard lock(mutex_);
  oldest.clear();
  first_gop_ = (first_gop_ + 1) % gops_.size();
  --num_in_flight_;
  return status;
}

Status Encoder::flush() {
  const std::scoped_lock alone(send_mutex_, receive_mutex_, mutex_);
  for (size_t i = 0; i < num_in_flight_; ++i) gop(i).clear();
  first_gop_ = (first_gop_ + num_in_flight_) % gops_.size();
  num_in_flight_ = 0;
  feedback_->restart();
  steps_.restart();
  draining_ = false;
  return Status::kOk;
}

}  // namespace cj2k
