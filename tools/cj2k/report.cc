// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>

#include "failure.h"
#include "system.h"

namespace cj2k_tool {
namespace {

int no_close(std::FILE*) { return 0; }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

struct Report::State {
  std::mutex mutex;
  int64_t frames = 0, bytes = 0;
  double error = 0;
  double target_psnr = 0;  // 0: none
  int64_t short_frames = 0;
  int64_t rate_num = 0, rate_den = 1;
  bool has_line = false;
  int stat_error = 0;  // errno of the first line of --stat that could not be written
};

Report::Report(const Options& options, size_t num_frames, const std::string& pass)
    : pass_(pass),
      quiet_(options.quiet),
      psnr_(options.psnr && pass.empty()),
      progress_(!options.quiet && (options.progress || is_terminal(stderr))),
      stat_name_(pass.empty() ? options.stat : ""),
      num_frames_(num_frames),
      stat_(nullptr, no_close),
      state_(std::make_unique<State>()) {
  cj2k_params p;
  cj2k_params_init(&p, sizeof p);
  for (const char* name : {"frame_rate", "target_psnr"})
    if (const std::string* value = options.param(name); value != nullptr)
      cj2k_params_set(&p, name, value->c_str());
  state_->rate_num = p.frame_rate_num;
  state_->rate_den = p.frame_rate_den;
  state_->target_psnr = p.target_psnr;
  if (stat_name_.empty()) return;
  if (stat_name_ == "-")
    stat_ = {stdout, no_close};
  else
    stat_ = {std::fopen(stat_name_.c_str(), "wb"), std::fclose};
  if (stat_ == nullptr) throw Failure(stat_name_ + ": " + std::strerror(errno));
  std::fputs("frame\tinput\toutput\tbytes\tms", stat_.get());
  if (psnr_) std::fputs("\tpsnr\tpsnr_components", stat_.get());
  std::fputc('\n', stat_.get());
}

Report::~Report() { clear_line(); }

void Report::clear_line() {
  if (state_->has_line) std::fputs("\r\033[K", stderr);
  state_->has_line = false;
}

/// "12.3 fps, 31250000 bytes, 250.0 Mbit/s at 24 frames/s"
std::string Report::rate_text(int64_t num, int64_t den) const {
  std::string text =
      number("%.4g fps", static_cast<double>(state_->frames) / seconds_since(start_));
  if (!pass_.empty()) return text;
  text += ", " + std::to_string(state_->bytes) + " bytes";
  if (num == 0 || state_->frames == 0) return text;
  const double rate = static_cast<double>(num) / static_cast<double>(den);
  return text +
         number(", %.1f Mbit/s", static_cast<double>(state_->bytes) * 8 * rate / 1e6 /
                                     static_cast<double>(state_->frames)) +
         number(" at %.6g frames/s", rate);
}

void Report::add(const Written& w) {
  const std::lock_guard lock(state_->mutex);
  ++state_->frames;
  state_->bytes += w.bytes;
  if (psnr_) state_->error += std::pow(10, -w.psnr / 10);
  if (psnr_ && w.psnr < state_->target_psnr) ++state_->short_frames;
  if (stat_ != nullptr) {
    std::fprintf(stat_.get(), "%lld\t%s\t%s\t%lld\t%.1f", static_cast<long long>(w.frame->number),
                 w.frame->input.c_str(), w.frame->output.c_str(), static_cast<long long>(w.bytes),
                 w.milliseconds);
    if (psnr_) std::fprintf(stat_.get(), "\t%.3f", w.psnr);
    for (int c = 0; psnr_ && c < w.num_components; ++c)
      std::fprintf(stat_.get(), "%c%.3f", c == 0 ? '\t' : ',', w.component_psnr[c]);
    std::fputc('\n', stat_.get());
    if (std::fflush(stat_.get()) != 0 && state_->stat_error == 0) state_->stat_error = errno;
  }
  if (!progress_) return;
  const bool is_last = static_cast<size_t>(state_->frames) == num_frames_;
  if (state_->has_line && !is_last && Clock::now() - last_line_ < std::chrono::milliseconds(200))
    return;
  last_line_ = Clock::now();
  std::fprintf(
      stderr, "\r%s%lld/%zu frames (%.0f %%), %s\033[K", pass_.c_str(),
      static_cast<long long>(state_->frames), num_frames_,
      std::floor(100.0 * static_cast<double>(state_->frames) / static_cast<double>(num_frames_)),
      rate_text(state_->rate_num, state_->rate_den).c_str());
  state_->has_line = true;
}

void Report::message(const std::string& text) {
  const std::lock_guard lock(state_->mutex);
  clear_line();
  std::fprintf(stderr, "cj2k: %s\n", text.c_str());
}

void Report::finish(int64_t frame_rate_num, int64_t frame_rate_den) {
  clear_line();
  if (state_->stat_error != 0) throw Failure(stat_name_ + ": " + std::strerror(state_->stat_error));
  if (quiet_) return;
  std::string text =
      pass_ + std::to_string(state_->frames) + (state_->frames == 1 ? " frame, " : " frames, ") +
      number("%.2f s, ", seconds_since(start_)) + rate_text(frame_rate_num, frame_rate_den);
  if (psnr_ && state_->frames > 0) {
    const double error = state_->error / static_cast<double>(state_->frames);
    text += error > 0 ? number(", PSNR %.2f dB", -10 * std::log10(error)) : ", PSNR inf";
    if (state_->short_frames > 0)
      text +=
          ", " + std::to_string(state_->short_frames) + number(" below %g dB", state_->target_psnr);
  }
  std::fprintf(stderr, "cj2k: %s\n", text.c_str());
}

}  // namespace cj2k_tool
