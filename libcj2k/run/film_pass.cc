// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/film_pass.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

#include "film/film_log.h"
#include "params/caller_struct.h"
#include "params/params.h"
#include "run/packet_memory.h"

namespace cj2k {
namespace {

/// Lookahead: the most frames ahead, and how many behind a frame count.
constexpr int64_t kMostAhead = 240;
constexpr size_t kHistory = 240;
/// The cap of a frame over the mean, unless the caller or the profile has one.
constexpr int64_t kMostOverMean = 2;

std::string name_of(const cj2k_film_pass& film) {
  return film.pass == 0 ? "lookahead" : "pass " + std::to_string(film.pass);
}

int64_t mean_bytes(const cj2k_film_pass& film, const cj2k_params& p, int64_t frames) {
  return bytes_at_rate(film.bits_per_second, p.frame_rate_num, p.frame_rate_den, frames);
}
/// target_bytes of a frame with the mean; 0: there is none.
int64_t frame_bytes(const cj2k_film_pass& film, const cj2k_params& p) {
  return film.bits_per_second == 0 ? 0 : std::max<int64_t>(mean_bytes(film, p, 1), 1);
}

Status check_film_pass(const cj2k_film_pass& film, const cj2k_params& p, const Log& log) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const struct {
    const char* name;
    int64_t value, least, most;
  } numbers[] = {{"pass", film.pass, 0, 2},
                 {"ahead", film.ahead, 0, kMostAhead},
                 {"bits_per_second", film.bits_per_second, film.pass == 1 ? 0 : 1, kMost},
                 {"reservoir_bytes", film.reservoir_bytes, 0, kMost}};
  for (const auto& number : numbers) {
    if (number.value >= number.least && number.value <= number.most) continue;
    return log.fail(Status::kInvalid, "film: %s %" PRId64 " not in [%" PRId64 ", %" PRId64 "]",
                    number.name, number.value, number.least, number.most);
  }
  if (film.pass == 2 && film.log == nullptr) {
    return log.about("film_log").fail(Status::kInvalid, "film: pass 2 needs the log of pass 1");
  }
  if (film.bits_per_second > 0 && (p.frame_rate_num <= 0 || p.frame_rate_den <= 0)) {
    return log.about("frame_rate")
        .fail(Status::kInvalid, "film: bits_per_second needs frame_rate, not %d/%d",
              p.frame_rate_num, p.frame_rate_den);
  }
  const char* other = p.lossless                    ? "lossless"
                      : p.quality > 0               ? "quality"
                      : p.qfactor != 0              ? "qfactor"
                      : p.target_psnr != 0          ? "target_psnr"
                      : p.num_layer_rates != 0      ? "layer_rates"
                      : p.num_layer_psnr != 0       ? "layer_psnr"
                      : p.curves != CJ2K_CURVES_OFF ? "curves"
                                                    : nullptr;
  const std::string name = name_of(film);
  if (other != nullptr)
    return log.about(other).fail(Status::kInvalid, "%s does not go with %s", name.c_str(), other);
  if (p.target_bytes == 0 || p.target_bytes == frame_bytes(film, p)) return Status::kOk;
  return log.about("target_bytes", static_cast<double>(p.target_bytes))
      .fail(Status::kInvalid, "%s does not go with target_bytes", name.c_str());
}

/// The cap of a frame, which says how far the curves must reach.
int64_t cap_of(const cj2k_film_pass& film, cj2k_params p) {
  if (p.max_frame_bytes != 0 || film.bits_per_second == 0) return p.max_frame_bytes;
  p.min_frame_bytes = 0;
  cj2k_info info = {};
  if (Encoder::describe(p, Log(), &info) == Status::kOk && info.most_frame_bytes != 0)
    return info.most_frame_bytes;  // what is wrong, open will say
  cj2k_film_pass most = film;
  most.bits_per_second *= kMostOverMean;
  return frame_bytes(most, p);
}

/// The floor of a target. Padding without a comment may take 6 bytes more.
int64_t floor_of(const cj2k_params& p) {
  return p.min_frame_bytes + (p.min_frame_bytes != 0 && p.comment[0] == '\0' ? 6 : 0);
}

void make_analysis(cj2k_params* p) {
  p->curves = CJ2K_CURVES_ONLY;
  p->measure_mse = 0;
  std::snprintf(p->device, sizeof p->device, "cpu");
  p->cuda_context = p->cuda_stream = nullptr;
}

}  // namespace

Status FilmPass::open(const cj2k_film_pass& film, const Log& log, cj2k_params* asked,
                      std::unique_ptr<FilmPass>* pass, std::unique_ptr<Encoder>* encoder) {
  cj2k_params& p = *asked;
  CJ2K_TRY(check_film_pass(film, p, log));
  std::unique_ptr<FilmPass> self(new FilmPass(film, log));
  p.target_bytes = 0;
  p.max_frame_bytes = cap_of(film, p);
  if (film.pass == 1) make_analysis(&p);
  CJ2K_TRY(Encoder::open(p, log, encoder));
  self->lookahead_.max_frame_bytes = p.max_frame_bytes;
  self->lookahead_.min_frame_bytes = floor_of(p);
  if (film.pass == 2) CJ2K_TRY(self->allocate(p));
  if (film.pass == 0) CJ2K_TRY(self->open_analysis(p));
  self->params_ = p;
  self->params_.jp2_boxes = nullptr;
  self->params_.jp2_boxes_bytes = 0;
  const auto* icc = static_cast<const uint8_t*>(p.icc_profile);
  self->icc_profile_.assign(icc, icc + (icc == nullptr ? 0 : p.icc_profile_bytes));
  if (icc != nullptr) self->params_.icc_profile = self->icc_profile_.data();
  *pass = std::move(self);
  return Status::kOk;
}

/// Pass 2: gives each frame of the log its bytes.
Status FilmPass::allocate(const cj2k_params& p) {
  const std::span<const uint8_t> log(static_cast<const uint8_t*>(film_.log), film_.log_bytes);
  const Log errors = log_.errors_only().about("film_log");
  size_t frames = 0;
  CJ2K_TRY(read_film_log(p, log, errors, nullptr, &frames));
  std::vector<cj2k_curve> curves(frames);
  CJ2K_TRY(read_film_log(p, log, errors, curves.data(), &frames));
  cj2k_film budget = {};
  budget.total_bytes = total_bytes_ = mean_bytes(film_, p, static_cast<int64_t>(frames));
  budget.max_frame_bytes = lookahead_.max_frame_bytes;
  budget.min_frame_bytes = lookahead_.min_frame_bytes;
  targets_.resize(frames);
  const Status status = allocate_film(budget, curves, {}, {}, Log(), targets_);
  if (status == Status::kOk) return status;
  return log_.fail(status, "pass 2: %s", std::string(error_text()).c_str());
}

/// Lookahead: opens the encoder that makes the curves.
Status FilmPass::open_analysis(cj2k_params p) {
  const Log errors = log_.errors_only();
  lookahead_.bits_per_second = film_.bits_per_second;
  lookahead_.frame_rate_num = p.frame_rate_num;
  lookahead_.frame_rate_den = p.frame_rate_den;
  lookahead_.reservoir_bytes = film_.reservoir_bytes;
  cj2k_params mean = p;  // what contradicts a frame that has it?
  mean.target_bytes = frame_bytes(film_, p);
  cj2k_info info;
  CJ2K_TRY(Encoder::describe(mean, errors, &info));
  make_analysis(&p);
  p.gop = p.async_depth = 1;
  return Encoder::open(p, errors, &analysis_);
}

Status FilmPass::send(Encoder& encoder, const cj2k_frame* from) {
  const std::lock_guard sending(send_mutex_);
  if (draining_) return Status::kEof;
  if (from == nullptr) return drain(encoder);
  cj2k_frame frame{};
  CJ2K_TRY(read_struct("frame", *from, kMinFrameBytes, log_, &frame));
  if (frame.target_bytes != 0)
    return log_.fail(Status::kInvalid, "frame: target_bytes %" PRId64 " does not go with %s",
                     frame.target_bytes, name_of(film_).c_str());
  if (film_.pass == 0) return wait(encoder, frame);
  if (film_.pass == 2 && sent_ >= targets_.size())
    return log_.about("film_log")
        .fail(Status::kInvalid, "frame %zu: the log of pass 1 has only %zu frames", sent_,
              targets_.size());
  if (film_.pass == 2) frame.target_bytes = targets_[sent_];
  const Status status = encoder.send(&frame);
  if (status == Status::kOk) ++sent_;
  return status;
}

/// Lookahead: takes a frame, and sends the first of those that wait if enough are behind it.
Status FilmPass::wait(Encoder& encoder, const cj2k_frame& frame) {
  CJ2K_TRY(advance(encoder));
  {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) return Status::kAgain;
  }
  if (frame.release == nullptr)
    return log_.fail(Status::kInvalid, "frame: release is NULL, but lookahead keeps the samples");
  cj2k_curve curve;
  CJ2K_TRY(look_at(frame, &curve));
  if (before_ > kHistory) {
    curves_.erase(curves_.begin(), curves_.begin() + static_cast<ptrdiff_t>(before_ - kHistory));
    before_ = kHistory;
  }
  curves_.push_back(curve);
  waiting_.push_back(frame);
  if (waiting_.size() <= static_cast<size_t>(film_.ahead)) return Status::kOk;
  const Status status = choose_target(encoder);
  if (status != Status::kOk) {
    waiting_.pop_back();  // and the caller keeps it
    curves_.pop_back();
    return status;
  }
  (void)advance(encoder);  // an error comes again, from receive
  return Status::kOk;
}

Status FilmPass::look_at(const cj2k_frame& frame, cj2k_curve* curve) {
  cj2k_frame seen = frame;
  seen.release = nullptr;
  CJ2K_TRY(analysis_->send(&seen));
  cj2k_packet packet{};
  CJ2K_TRY(analysis_->receive_timed(&packet, -1));
  auto* const slot = static_cast<PacketMemory::Packet*>(packet.slot);
  *curve = slot->curve;
  PacketMemory::release(slot);
  return Status::kOk;
}

/// Gives the first frame that waits its target: from the curves of kHistory frames before it, its own,
/// and those of the frames behind it.
Status FilmPass::choose_target(const Encoder& encoder) {
  if (lookahead_.frames == 0) {
    cj2k_info info;
    encoder.info(&info);
    lookahead_.min_frame_bytes = std::max(lookahead_.min_frame_bytes, info.least_frame_bytes);
  }
  cj2k_frame frame = waiting_.front();
  CJ2K_TRY(next_target(curves_, before_, log_, &lookahead_, &frame.target_bytes));
  ++before_;
  waiting_.pop_front();
  const std::lock_guard lock(mutex_);
  ready_.push_back(frame);
  return Status::kOk;
}

/// No more frames come.
Status FilmPass::drain(Encoder& encoder) {
  if (film_.pass == 2 && sent_ < targets_.size()) {
    log_.print(
        CJ2K_LOG_WARNING,
        "pass 2: the film has %zu frames, and the log of pass 1 %zu: the bytes of the others "
        "are left over",
        sent_, targets_.size());
  }
  lookahead_.ended = 1;
  while (!waiting_.empty()) CJ2K_TRY(choose_target(encoder));
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  return advance(encoder);
}

Status FilmPass::advance(Encoder& encoder) {
  const std::lock_guard lock(mutex_);
  while (!ready_.empty() && encoder.takes_frames()) {
    CJ2K_TRY(encoder.send(&ready_.front()));
    ready_.pop_front();
  }
  if (!draining_ || drained_ || !ready_.empty()) return Status::kOk;
  drained_ = true;
  return encoder.send(nullptr);
}

void FilmPass::keep(const cj2k_curve* curve) {
  if (film_.pass != 1) return;
  const std::lock_guard lock(mutex_);
  if (curve == nullptr)
    ++failed_;
  else
    curves_.push_back(*curve);
}

void FilmPass::flush() {
  for (const std::deque<cj2k_frame>* frames : {&ready_, &waiting_})
    for (const cj2k_frame& frame : *frames) frame.release(frame.release_opaque);
  ready_.clear();
  waiting_.clear();
  curves_.clear();
  sent_ = failed_ = before_ = 0;
  lookahead_.ended = lookahead_.frames = lookahead_.saved_bytes = 0;
  draining_ = drained_ = false;
  if (analysis_ != nullptr) (void)analysis_->flush();
}

std::string FilmPass::headline(const cj2k_info& info) const {
  char line[256];
  if (film_.pass == 1) return "pass 1 runs on the CPU, and its packets have no bytes";
  if (film_.pass == 2) {
    std::snprintf(line, sizeof line,
                  "pass 2: %zu frames get %" PRId64 " of %" PRId64 " bytes, each at most %" PRId64
                  "; %s",
                  targets_.size(), std::accumulate(targets_.begin(), targets_.end(), int64_t{0}),
                  total_bytes_, lookahead_.max_frame_bytes, info.backend);
    return line;
  }
  std::snprintf(line, sizeof line,
                "one pass with lookahead: mean %" PRId64 " bit/s, each frame at most %" PRId64
                " bytes, reservoir %" PRId64 " bytes, %d frames ahead; %s",
                lookahead_.bits_per_second, lookahead_.max_frame_bytes, lookahead_.reservoir_bytes,
                film_.ahead, info.backend);
  return line;
}

Status FilmPass::write_log(const Log& log, std::vector<uint8_t>* bytes) const {
  if (film_.pass != 1)
    return log.fail(Status::kInvalid, "film log: this encoder does not run pass 1");
  const std::lock_guard lock(mutex_);
  if (failed_ > 0) {
    return log.fail(Status::kInvalid, "film log: %zu frames have curves, and %zu failed",
                    curves_.size(), failed_);
  }
  bytes->resize(kFilmHeadBytes + curves_.size() * kFilmFrameBytes);
  return write_film_log(params_, curves_, log.errors_only(), bytes->data());
}

}  // namespace cj2k
