// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/gop.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "base/clock.h"
#include "base/parallel.h"
#include "film/curve.h"
#include "packets/packet_writer.h"
#include "pixels/read_samples.h"
#include "rate/frame_result.h"
#include "run/psnr_search.h"
#include "run/report.h"

namespace cj2k {
namespace {

/// Precincts per task when packet headers are written.
constexpr size_t kPrecinctGrain = 8;

}  // namespace

struct Gop::Frame {
  Frame(const GopShared& shared, uint32_t index)
      : number(index),
        rate(shared.plan, shared.packet_scratch),
        early_stop(shared.plan, shared.sample),
        writer(shared.plan) {}

  const uint32_t number;
  RateControl rate;
  EarlyStop early_stop;
  PacketWriter writer;

  cj2k_frame input{};
  ReadSamples whole;  ///< of a frame whose samples are read at once
  RateLimits limits{};
  bool ingested = false;
  bool is_held = false;  ///< ingested, but not read yet: its release is still to be called
  bool goes_on = false;  ///< some of its blocks resume
  const FrameResult* from_device = nullptr;  ///< BlockOutcome::result of the last request
  FrameResult result;
  FrameSums sums;
  Status status = Status::kOk;
  char error[kMaxMessageBytes] = "";       ///< the log line that belongs to `status`
  PacketMemory::Packet* packet = nullptr;  ///< null before the frame is done
  size_t bytes = 0;
};

Gop::Gop(const GopShared& shared, Backend& backend, std::unique_ptr<GopWork> work, bool own_thread)
    : shared_(shared),
      plan_(shared.plan),
      log_(shared.log),
      backend_(backend),
      work_(std::move(work)) {
  const auto gop = static_cast<uint32_t>(plan_.params.gop);
  for (uint32_t f = 0; f < gop; ++f) frames_.push_back(std::make_unique<Frame>(shared, f));
  stats_.resize(gop);
  live_.reserve(gop);
  open_.reserve(gop);
  requests_.reserve(gop);
  fetches_.reserve(gop);
  if (plan_.params.measure_mse != 0) error_ = std::make_unique<PictureError>(plan_);
  if (plan_.params.verify != 0)
    proof_ = std::make_unique<FrameProof>(plan_, shared.packet_scratch.size());
  if (plan_.params.curves == CJ2K_CURVES_WITH) empty_bytes_ = smallest_bytes(plan_).frame;
  if (!own_thread) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    thread_error_ = e.code().value();
  }
}

Gop::~Gop() {
  clear();
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// Ends a frame without a packet. The last Log::fail of this thread has the reason.
void Gop::fail(Frame& frame, Status status) {
  shared_.packets.give(frame.packet);
  frame.packet = nullptr;
  frame.status = status;
  std::snprintf(frame.error, sizeof frame.error, "%s", error_text());
}

/// A backend logs the error of its device once, without the frames that it affects. This names a
/// frame.
void Gop::warn_if_device_failed(Frame& frame) const {
  if (frame.status != Status::kDevice) return;
  char text[64];
  std::snprintf(text, sizeof text, "frame %" PRId64 " is lost: the device failed", frame.input.pts);
  log_.print(CJ2K_LOG_WARNING, "%s", text);
  if (frame.error[0] == '\0') std::memcpy(frame.error, text, sizeof text);
}

Status Gop::add(const cj2k_frame& input, const RateLimits& limits) {
  Frame& frame = *frames_[num_frames_];
  frame.input = input;
  frame.limits = limits;
  frame.ingested = false;
  frame.status = Status::kOk;
  frame.error[0] = '\0';
  stats_[num_frames_] = {};
  stats_[num_frames_].frame_in_gop = static_cast<int32_t>(num_frames_);
  const bool own_thread = thread_.joinable();
  if (input.release == nullptr) {
    // The samples belong to the caller again when this call returns, so they are read now.
    shared_.threads.run([&] { frame.status = read(frame); });
    warn_if_device_failed(frame);
    CJ2K_TRY(frame.status);
    frame.ingested = true;
  } else if (!own_thread) {
    shared_.threads.run([&] { ingest(frame); });
    release_read_frames();
  }
  if (num_frames_ == 0) {
    number_ = shared_.feedback.begin();
    has_number_ = true;
    chooses_steps_ = shared_.steps.begin();
    turn_.reset();
    if (own_thread && backend_.takes_device_frames()) turn_ = shared_.reading.begin();
  }
  {
    const std::lock_guard lock(mutex_);
    ++num_frames_;
  }
  changed_.notify_all();
  return Status::kOk;
}

void Gop::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  if (thread_.joinable()) {
    changed_.notify_all();
    return;
  }
  if (done_) return;
  try {
    encode();
  } catch (...) {
    fail_all(num_frames_);
  }
  release_frames();
  publish();
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
}

Status Gop::take(cj2k_packet* out) {
  Frame& frame = *frames_[num_taken_++];
  *out = {};
  out->pts = frame.input.pts;
  out->duration = frame.input.duration;
  out->opaque = frame.input.opaque;
  if (frame.status != Status::kOk) {
    warn_if_device_failed(frame);
    set_error_text(frame.error);
    return frame.status;
  }
  out->data = frame.packet->bytes.as<uint8_t>();
  out->size = frame.bytes;
  out->slot = frame.packet;
  frame.packet->stats = stats_[frame.number];
  frame.packet->lender = shared_.packets.shared_from_this();
  frame.packet = nullptr;
  return Status::kOk;
}

void Gop::clear() {
  if (thread_.joinable()) {
    if (num_frames_ > 0 && num_taken_ == 0) {
      const std::lock_guard lock(mutex_);
      dropped_ = true;
      closed_ = true;
    }
    changed_.notify_all();
    if (num_frames_ > 0) wait_done();
  }
  release_frames();
  publish();
  for (const std::unique_ptr<Frame>& frame : frames_) {
    shared_.packets.give(frame->packet);
    frame->packet = nullptr;
  }
  const std::lock_guard lock(mutex_);
  num_frames_ = num_taken_ = 0;
  closed_ = dropped_ = done_ = false;
}

bool Gop::wait_done(const std::optional<std::chrono::steady_clock::time_point>& until) {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return done_; };
  if (until) return changed_.wait_until(lock, *until, done);
  changed_.wait(lock, done);
  return true;
}

/// The thread of the GOP: reads frames as they are added, and encodes when the GOP is closed. If no
/// frame is there to be read, it waits until the last ones have been read, so that their owner gets
/// them back soon.
void Gop::run() {
  size_t next = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto has_work = [&] { return quit_ || (!done_ && (num_frames_ > next || closed_)); };
    if (!has_work() && holds_frames()) {
      lock.unlock();
      release_read_frames();
      lock.lock();
    }
    changed_.wait(lock, has_work);
    if (quit_) return;
    const size_t sent = num_frames_;
    const bool finished = closed_ && next == sent;
    const bool dropped = dropped_;
    lock.unlock();
    if (finished && turn_) shared_.reading.end(*turn_);
    try {
      if (next < sent) {
        if (turn_) shared_.reading.wait(*turn_);
        shared_.threads.run([&] {
          for (; next < sent; ++next) ingest(*frames_[next]);
        });
      }
      if (finished && !dropped) encode();
    } catch (...) {
      fail_all(sent);
      next = sent;
    }
    if (finished) {
      release_frames();
      // Not published yet: the GOP failed or was dropped. Then the next GOP codes all planes.
      if (has_number_) ended_ = {};
      publish();
    }
    lock.lock();
    if (!finished) continue;
    next = 0;
    done_ = true;
    changed_.notify_all();
  }
}

/// Called in an exception handler. Logs the exception for a frame. @return its status
Status Gop::fail_caught(const Frame& frame) const {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return log_.fail(Status::kNoMemory, "frame %" PRId64 ": out of memory", frame.input.pts);
  } catch (const std::exception& e) {
    return log_.fail(Status::kInternal, "frame %" PRId64 ": %s", frame.input.pts, e.what());
  } catch (...) {
    return log_.fail(Status::kInternal, "frame %" PRId64 ": exception of an unknown type",
                     frame.input.pts);
  }
}

/// Called in an exception handler, for an exception before the work began. It is every frame's
/// error.
void Gop::fail_all(size_t frames) {
  for (size_t f = 0; f < frames; ++f) {
    Frame& frame = *frames_[f];
    if (!frame.ingested && frame.input.release != nullptr)
      frame.input.release(frame.input.release_opaque);
    frame.ingested = true;
    fail(frame, fail_caught(frame));
  }
}

Status Gop::fail_read(const Frame& frame, int error) const {
  return log_.fail(Status::kRead, "frame %" PRId64 ": its function `read` returned %d",
                   frame.input.pts, error);
}

/// Gives a frame to the backend. Samples that it does not ask for in parts are read here.
Status Gop::read(Frame& frame) {
  cj2k_frame& input = frame.input;
  const bool in_parts = backend_.reads_until_coded() && input.release != nullptr;
  if (needs_read(input) && !in_parts) {
    Rect rects[CJ2K_MAX_COMPONENTS];
    for (size_t c = 0; c < plan_.components.size(); ++c) rects[c] = plan_.components[c].rect;
    if (const int error = frame.whole.read(plan_, input, rects, input.components))
      return fail_read(frame, error);
  }
  if (proof_ != nullptr) FrameProof::sum_samples(plan_, input, frame.sums);
  return backend_.ingest(input, *work_, frame.number, stats_[frame.number]);
}

/// Reads a frame that has a `release`. An error is kept for take.
void Gop::ingest(Frame& frame) {
  if (frame.ingested) return;
  clear_error_text();
  Status status;
  try {
    status = read(frame);
  } catch (...) {
    status = fail_caught(frame);
  }
  if (status != Status::kOk) fail(frame, status);
  frame.ingested = true;
  frame.is_held = backend_.reads_later(frame.input);
  if (!frame.is_held) frame.input.release(frame.input.release_opaque);
}

bool Gop::holds_frames() const {
  return std::any_of(frames_.begin(), frames_.end(), [](const auto& f) { return f->is_held; });
}

/// Waits once until all ingested frames have been read, and releases them. After an error they are
/// released, too, because nothing reads them any more.
void Gop::release_frames() {
  if (!holds_frames()) return;
  clear_error_text();
  const Status status = backend_.frames_read(*work_);
  for (const std::unique_ptr<Frame>& frame : frames_) {
    if (!frame->is_held) continue;
    if (status != Status::kOk && frame->status == Status::kOk) {
      fail(*frame, status);
      std::erase(live_, frame->number);
    }
    frame->is_held = false;
    frame->input.release(frame->input.release_opaque);
  }
}

/// The same before their blocks are coded.
void Gop::release_read_frames() {
  if (!backend_.reads_until_coded()) release_frames();
}

/// Takes all frames from samples to packets; encoder.h has a drawing. Errors are kept for take.
void Gop::encode() {
  ended_ = {};
  live_.clear();
  fetches_.clear();
  for (uint32_t f = 0; f < num_frames_; ++f) {
    if (frames_[f]->status == Status::kOk) live_.push_back(f);
  }
  if (live_.empty()) return;
  shared_.threads.run(
      [this] { guard([this] { return backend_.transform(*work_, live_, stats_.data()); }); });
  // Meanwhile the device has the transform to do.
  release_read_frames();
  if (plan_.params.curves == CJ2K_CURVES_ONLY) {
    shared_.threads.run([&] { guard([this] { return analyse(); }); });
    publish();
    return;
  }
  // pst waits for the GOP before, without a place, because that GOP may need it.
  SlopeThresholds previous{};
  if (plan_.params.stop == CJ2K_STOP_PST) previous = shared_.feedback.previous(number_);
  // So do frames whose steps the first frame of the sequence chooses.
  std::optional<uint32_t> step_set;
  if (keeps_steps(plan_) && !chooses_steps_) step_set = shared_.steps.wait();
  shared_.threads.run([&] {
    guard([&] { return code_blocks(previous, step_set); });
    release_frames();
    publish();
    guard([this] { return look_at_coefficients(); });
    // The bytes of the chosen hull points.
    guard([this] { return backend_.fetch(*work_, fetches_, stats_.data()); });
    guard([this] {
      make_packets();
      return Status::kOk;
    });
  });
}

/// Runs a step for all live frames. If it fails, all of them get its error.
template <typename Step>
void Gop::guard(const Step& step) {
  if (live_.empty()) return;
  clear_error_text();
  Status status;
  try {
    status = step();
  } catch (...) {
    status = fail_caught(*frames_[live_[0]]);
  }
  if (status == Status::kOk) return;
  for (const uint32_t f : live_) fail(*frames_[f], status);
  live_.clear();
}

/// Runs block coding and rate control in turn, until no block of the frames resumes.
Status Gop::code_frames(std::span<const uint32_t> frames, const SlopeThresholds& previous,
                        std::optional<uint32_t> step_set) {
  for (const uint32_t f : frames) {
    frames_[f]->rate.set_limits(frames_[f]->limits);
    frames_[f]->rate.set_layer_slopes({});
    frames_[f]->early_stop.begin(f, frames_[f]->rate, previous, step_set);
    // With a quality alone EBCOT blocks pause at it, and the host says which of them go on.
    if (frames_[f]->rate.has_cap() || plan_.params.lossless != 0 ||
        plan_.params.coder == CJ2K_CODER_HT)
      frames_[f]->early_stop.request().limits = &frames_[f]->rate.limits();
  }
  open_.assign(frames.begin(), frames.end());
  while (!open_.empty()) {
    CJ2K_TRY(code_requests());
    allocate();
  }
  for (const uint32_t f : frames) {
    if (frames_[f]->status != Status::kOk || !frames_[f]->early_stop.coded_before()) continue;
    log_.print(CJ2K_LOG_DEBUG,
               "frame %" PRId64 ": was JPEG 2000 before; its steps stay those of quant_step",
               frames_[f]->input.pts);
  }
  return Status::kOk;
}

/// Makes the curves alone, in packets without bytes.
Status Gop::analyse() {
  for (const uint32_t f : live_) {
    const auto start = Clock::now();
    Frame& frame = *frames_[f];
    frame.bytes = 0;
    frame.packet = shared_.packets.take(0);
    CJ2K_TRY(backend_.analyse(*work_, f, frame.limits, &frame.packet->curve));
    frame.packet->has_curve = true;
    stats_[f].blocks = static_cast<int64_t>(plan_.blocks.size());
    stats_[f].stage_ms[CJ2K_STAGE_BLOCKS] += ms_since(start);
  }
  return Status::kOk;
}

Status Gop::code_blocks(const SlopeThresholds& previous, std::optional<uint32_t> step_set) {
  std::span<const uint32_t> frames = live_;
  if (keeps_steps(plan_) && chooses_steps_) {
    CJ2K_TRY(code_frames(frames.first(1), previous, {}));
    step_set = frames_[frames[0]]->early_stop.request().step_set;
    shared_.steps.publish(*step_set);
    frames = frames.subspan(1);
  }
  CJ2K_TRY(code_frames(frames, previous, step_set));
  drop_failed(live_);
  if (!live_.empty()) ended_ = frames_[live_.back()]->result.exhausted;
  return Status::kOk;
}

/// Codes the requests of the open frames, with one call to the backend per rule.
Status Gop::code_requests() {
  for (const StopRule rule : kStopRules) {
    requests_.clear();
    for (const uint32_t f : open_) {
      const BlockRequest& request = frames_[f]->early_stop.request();
      if (request.rule == rule) requests_.push_back(request);
    }
    if (requests_.empty()) continue;
    CJ2K_TRY(backend_.code_blocks(*work_, requests_, shared_.sample, stats_.data()));
    for (const BlockRequest& request : requests_) {
      Frame& frame = *frames_[request.frame];
      if (const int error = request.outcome.read_error) {
        fail(frame, fail_read(frame, error));
        continue;
      }
      frame.early_stop.take(request);
      frame.rate.set_step_set(request.step_set);
      frame.from_device = request.outcome.result;
    }
  }
  drop_failed(open_);
  return Status::kOk;
}

/// Takes away frames that could not be read.
void Gop::drop_failed(std::vector<uint32_t>& frames) const {
  std::erase_if(frames, [this](uint32_t f) { return frames_[f]->status != Status::kOk; });
}

/// Runs rate control for the open frames, and removes those whose selection is final.
void Gop::allocate() {
  parallel_for(open_.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto start = Clock::now();
      Frame& frame = *frames_[open_[i]];
      if (frame.from_device != nullptr) {
        frame.result = *frame.from_device;
        frame.goes_on = false;
      } else {
        allocate(frame);
      }
      stats_[frame.number].stage_ms[CJ2K_STAGE_RATE] += ms_since(start);
    }
  });
  for (const uint32_t f : open_) {
    const Frame& frame = *frames_[f];
    if (frame.goes_on || frame.from_device != nullptr) continue;
    fetches_.push_back({f, frame.rate.selection().final_points});
  }
  std::erase_if(open_, [this](uint32_t f) { return !frames_[f]->goes_on; });
}

/// Rate control on the host.
void Gop::allocate(Frame& frame) {
  const CodedBlock* const blocks = work_->blocks(frame.number);
  frame.rate.allocate(blocks);
  frame.goes_on = frame.early_stop.goes_on(blocks, frame.rate);
  if (frame.goes_on) return;
  frame.result = host_result(plan_, frame.rate);
  frame.result.rounds = frame.early_stop.rounds();
}

/// Measures one frame after the other, because they share the memory for it.
Status Gop::look_at_coefficients() {
  if (!keeps_coefficients(plan_)) return Status::kOk;
  for (const uint32_t f : live_) {
    const auto start = Clock::now();
    CoefficientPlanes planes(plan_);
    CJ2K_TRY(backend_.coefficients(*work_, f, &planes));
    const Selection& selection = frames_[f]->rate.selection();
    if (plan_.params.num_layer_psnr > 0) reach_layer_psnr(*frames_[f], planes);
    if (plan_.params.target_psnr > 0) {
      reach_psnr(*frames_[f], planes);
    } else if (error_ != nullptr) {
      error_->measure(planes, selection, stats_[f].mse, plan_.params.num_layer_psnr > 0);
    }
    if (proof_ != nullptr) FrameProof::sum_blocks(plan_, planes, selection, frames_[f]->sums);
    stats_[f].stage_ms[CJ2K_STAGE_PACKETS] += ms_since(start);
  }
  return Status::kOk;
}

/// Chooses again, of blocks that are coded.
void Gop::cut(Frame& frame, const RateLimits& limits) {
  frame.rate.set_limits(limits);
  frame.rate.allocate(work_->blocks(frame.number));
  const int rounds = frame.result.rounds;
  frame.result = host_result(plan_, frame.rate);
  frame.result.rounds = rounds;
}

/// Ends each layer but the last where the layers up to it have its PSNR.
void Gop::reach_layer_psnr(Frame& frame, const CoefficientPlanes& planes) {
  cj2k_stats& stats = stats_[frame.number];
  bool again = false;
  frame.rate.set_layer_slopes(layer_psnr_slopes(plan_, frame.rate, frame.limits, [&] {
    error_->measure(planes, frame.rate.selection(), stats.mse, again);
    again = true;
    return frame_psnr(plan_.params, stats);
  }));
  cut(frame, frame.limits);
}

/// Cuts a frame where it has target_psnr, or leaves it as the cap has cut it.
void Gop::reach_psnr(Frame& frame, const CoefficientPlanes& planes) {
  cj2k_stats& stats = stats_[frame.number];
  double reached[CJ2K_MAX_COMPONENTS];
  PsnrSearch search(plan_, frame.rate, frame.limits, plan_.params.target_psnr);
  bool again = plan_.params.num_layer_psnr > 0;
  for (bool goes_on = true; goes_on; again = true) {
    cut(frame, search.limits());
    error_->measure(planes, frame.rate.selection(), stats.mse, again);
    goes_on = search.step(frame_psnr(plan_.params, stats), frame.rate.frame_bytes());
    if (search.is_best()) std::copy_n(stats.mse, CJ2K_MAX_COMPONENTS, reached);
  }
  cut(frame, search.limits());
  std::copy_n(reached, CJ2K_MAX_COMPONENTS, stats.mse);
}

void Gop::make_packets() {
  parallel_for(fetches_.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) encode_headers(*frames_[fetches_[i].frame]);
  });
  parallel_for(live_.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) finish(*frames_[live_[i]]);
  });
  for (const uint32_t f : live_) {
    if (proof_ != nullptr && frames_[f]->status == Status::kOk) prove(*frames_[f]);
  }
}

/// Reads the codestream of a frame back.
void Gop::prove(Frame& frame) {
  const auto start = Clock::now();
  char why[160];
  const Proof proof = proof_->prove({frame.packet->bytes.as<uint8_t>(), frame.bytes},
                                    frame.rate.selection().step_set, frame.sums, why);
  stats_[frame.number].verified = static_cast<int32_t>(proof);
  stats_[frame.number].stage_ms[CJ2K_STAGE_PACKETS] += ms_since(start);
  if (proof != Proof::kNone) return;
  fail(frame,
       log_.fail(Status::kInternal, "frame %" PRId64 ": its codestream is not what was coded: %s",
                 frame.input.pts, why));
}

/// Tells the next GOP where this one ended. Only the first call does. If no frame of the first GOP
/// chose the steps, they are those of quant_step.
void Gop::publish() {
  if (!has_number_) return;
  if (chooses_steps_) shared_.steps.publish(0);
  chooses_steps_ = false;
  shared_.feedback.publish(number_, ended_);
  has_number_ = false;
}

void Gop::encode_headers(Frame& frame) {
  const auto start = Clock::now();
  parallel_for(plan_.precincts.size(), kPrecinctGrain, [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      frame.writer.encode_headers(frame.rate.selection(), static_cast<uint32_t>(p),
                                  shared_.packet_scratch[worker_index()]);
    }
  });
  stats_[frame.number].stage_ms[CJ2K_STAGE_PACKETS] += ms_since(start);
}

void Gop::finish(Frame& frame) {
  const auto start = Clock::now();
  const Selection& selection = frame.rate.selection();
  frame.writer.set_tile_parts(frame.result.tile_parts);
  if (!frame.writer.fits()) {
    fail(frame,
         log_.fail(Status::kNotSupported,
                   "frame %" PRId64 ": it has %" PRIu64 " bytes, and a tile-part longer than Psot "
                   "can hold (4294967295 bytes); use tiles, tile_parts or a cap",
                   frame.input.pts, frame.writer.frame_bytes()));
    return;
  }
  const auto min_bytes = static_cast<uint64_t>(plan_.params.min_frame_bytes);
  frame.bytes = frame.writer.padded_bytes(min_bytes);
  frame.packet = shared_.packets.take(frame.bytes);
  const uint64_t written =
      frame.writer.write(selection, {frame.packet->bytes.as<uint8_t>(), frame.bytes}, min_bytes);
  stats_[frame.number].stage_ms[CJ2K_STAGE_PACKETS] += ms_since(start);
  if (written != frame.bytes) {
    fail(frame,
         log_.fail(Status::kInternal, "frame %" PRId64 ": wrote %" PRIu64 " bytes instead of %zu",
                   frame.input.pts, written, frame.bytes));
    return;
  }
  collect_stats(frame);
  if (plan_.params.curves == CJ2K_CURVES_WITH) keep_curve(frame);
}

/// The curve of a frame that is coded, down to where its blocks are known.
void Gop::keep_curve(const Frame& frame) {
  const Selection& selection = frame.rate.selection();
  CurveSum sum;
  uint16_t lowest = 0;
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b) {
    const CodeBlock& block = plan_.blocks[b];
    const CodedBlock& coded = selection.blocks[b];
    sum.add(block.component, {coded.hull, coded.num_hull},
            coded.total_distortion + step_error(plan_, block, selection.step_set));
    if (coded.planes_left > 0)
      lowest = std::max(lowest, frame.rate.exhausted_above(block.component));
  }
  frame.packet->curve = sum.curve(empty_bytes_, frame.limits, lowest);
  frame.packet->has_curve = true;
}

void Gop::collect_stats(const Frame& frame) {
  const FrameResult& result = frame.result;
  cj2k_stats& stats = stats_[frame.number];
  stats.bytes = static_cast<int64_t>(frame.bytes);
  stats.header_bytes = static_cast<int64_t>(frame.bytes - result.body_bytes);
  stats.blocks = static_cast<int64_t>(plan_.blocks.size());
  stats.slope_threshold = result.threshold;
  stats.bytes_coded = static_cast<int64_t>(result.totals.bytes);
  stats.passes_coded = static_cast<int64_t>(result.totals.passes);
  stats.passes_included = static_cast<int64_t>(result.totals.passes_in);
  stats.passes_resumed = static_cast<int64_t>(result.totals.passes_resumed);
  stats.passes_left = static_cast<int64_t>(result.totals.passes_left);
  stats.rounds = result.rounds;
  if (stats.passes_coded > 0) {
    stats.saved_ms = stats.stage_ms[CJ2K_STAGE_BLOCKS] * static_cast<double>(stats.passes_left) /
                     static_cast<double>(stats.passes_coded);
  }
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    stats.component_bytes[c] = static_cast<int64_t>(result.component_bytes[c]);
    if (error_ != nullptr) continue;
    const Rect& rect = plan_.components[c].rect;
    stats.mse[c] = result.squared_error[c] / (static_cast<double>(rect.width()) * rect.height());
  }
}

}  // namespace cj2k
