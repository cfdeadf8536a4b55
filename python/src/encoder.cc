// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "encoder.h"

#include <algorithm>
#include <chrono>

namespace cj2k_python {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSlice = std::chrono::milliseconds(50);  // Ctrl-C is seen that often

/// How much longer a wait may last.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : limited_(seconds >= 0 && seconds < 1e9),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(limited_ ? seconds : 0))) {}
  bool is_over() const { return limited_ && Clock::now() >= end_; }
  std::chrono::milliseconds slice() const {
    if (!limited_) return kSlice;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
    return std::clamp(left, std::chrono::milliseconds(0), kSlice);
  }

 private:
  bool limited_;
  Clock::time_point end_;
};

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void check_samples(const std::vector<View>& views) {
  bool is_found = false;
  size_t c = 0;
  int value = 0, x = 0, y = 0;
  {
    py::gil_scoped_release no_gil;
    for (c = 0; c < views.size() && !is_found; ++c)
      is_found = find_too_large(views[c], &value, &x, &y);
  }
  if (!is_found) return;
  const View& view = views[--c];
  const bool is_signed = view.memory->type[0] == 'i';
  const int half = 1 << (view.bits - 1);
  throw py::value_error("component " + std::to_string(c) + " is " + std::to_string(value) +
                        " at column " + std::to_string(x) + ", row " + std::to_string(y) +
                        ", not in [" + std::to_string(is_signed ? -half : 0) + ", " +
                        std::to_string(is_signed ? half - 1 : 2 * half - 1) + "], the range of " +
                        std::to_string(view.bits) + " bits");
}

}  // namespace

/// A frame that the library has until it calls release.
struct Encoder::Held {
  Encoder* encoder;
  std::vector<View> views;
  static void release(void* self) {
    auto* held = static_cast<Held*>(self);
    const std::lock_guard lock(held->encoder->lists_);
    held->encoder->released_.push_back(held);
  }
};

Encoder::Encoder(const Params& params) : params_(params) {
  cj2k_params p = params_.with_bytes();
  p.log = &Encoder::log;
  p.log_opaque = this;
  Result result{};
  {
    py::gil_scoped_release no_gil;
    result.status = cj2k_encoder_open(&p, &encoder_);
    if (result.status != CJ2K_OK) result.error = last_error(nullptr);
  }
  if (result.status == CJ2K_OK) {
    params_.raw.struct_size = sizeof params_.raw;
    cj2k_encoder_params(encoder_, &params_.raw);
  }
  try {
    settle();
  } catch (...) {  // a log handler that raised; the destructor will not run
    close();
    throw;
  }
  if (result.status != CJ2K_OK) raise(result.error);
}

Encoder::~Encoder() {
  try {
    close();
  } catch (py::error_already_set& error) {  // a log handler that raised
    error.discard_as_unraisable("cj2k.Encoder");
  }
}

void Encoder::log(void* self, cj2k_log_level level, const char* message) {
  auto* encoder = static_cast<Encoder*>(self);
  const std::lock_guard lock(encoder->lists_);
  encoder->lines_.emplace_back(level, message);
}

void Encoder::settle() {
  std::vector<Held*> released;
  std::vector<std::pair<cj2k_log_level, std::string>> lines;
  {
    const std::lock_guard lock(lists_);
    released.swap(released_);
    lines.swap(lines_);
  }
  for (Held* held : released) delete held;
  if (lines.empty()) return;
  const py::object logger = py::module_::import("logging").attr("getLogger")("cj2k");
  for (const auto& [level, line] : lines) {
    // Errors are raised as well, so as log lines they are for those who debug.
    const char* name = level == CJ2K_LOG_WARNING ? "warning"
                       : level == CJ2K_LOG_INFO  ? "info"
                                                 : "debug";
    logger.attr(name)("%s", line);
  }
}

template <typename Call>
Encoder::Result Encoder::run(Call call) {
  Result result{CJ2K_INVALID, make_error(CJ2K_INVALID, "the encoder is closed")};
  if (closing_) return result;
  py::gil_scoped_release no_gil;
  const std::shared_lock lock(use_);
  if (encoder_ == nullptr) return result;
  result.status = call();
  if (result.status < 0) result.error = last_error(encoder_);
  return result;
}

template <typename Call>
Encoder::Result Encoder::run_alone(Call call) {
  Result result{};
  py::gil_scoped_release no_gil;
  const std::unique_lock lock(use_);
  if (encoder_ == nullptr) return {CJ2K_INVALID, make_error(CJ2K_INVALID, "the encoder is closed")};
  result.status = call();
  if (result.status < 0 && encoder_ != nullptr) result.error = last_error(encoder_);
  return result;
}

void Encoder::check(const Result& result, py::object pts) {
  settle();
  if (result.status < 0) raise(result.error, std::move(pts));
}

Encoder::Answer Encoder::send(std::vector<View> views, const FrameValues& values, bool hold,
                              double seconds) {
  check_samples(views);
  cj2k_frame frame{};
  frame.struct_size = sizeof frame;
  frame.width = params_.raw.width;
  frame.height = params_.raw.height;
  for (size_t c = 0; c < views.size() && c < CJ2K_MAX_COMPONENTS; ++c) {
    const View& view = views[c];
    const uintptr_t address = view.memory->address + static_cast<uintptr_t>(view.offset);
    frame.components[c] = {reinterpret_cast<const void*>(address), view.stride_bytes,
                           view.step_bytes, view.memory->item_bytes, 0};
    if (view.memory->is_cuda) frame.memory = CJ2K_MEMORY_CUDA;
  }
  frame.pts = values.pts;
  frame.duration = values.duration;
  frame.ready_stream = reinterpret_cast<void*>(values.ready_stream);
  frame.target_bytes = values.target_bytes;
  frame.max_frame_bytes = values.max_frame_bytes;
  frame.max_component_bytes = values.max_component_bytes;
  frame.quality = values.quality;

  std::unique_ptr<Held> held;
  if (hold) {
    held = std::make_unique<Held>(Held{this, views});
    frame.release = &Held::release;
    frame.release_opaque = held.get();
  }
  const Deadline deadline(seconds);
  for (;;) {
    int64_t seen;
    {
      const std::lock_guard lock(lists_);
      seen = num_received_;
    }
    const Result result = run([&] { return cj2k_encoder_send_frame(encoder_, &frame); });
    if (result.status == CJ2K_OK) static_cast<void>(held.release());
    check(result, py::int_(values.pts));
    if (result.status == CJ2K_OK) return Answer::kDone;
    if (result.status == CJ2K_EOF) return Answer::kEnd;
    if (deadline.is_over()) return Answer::kAgain;
    {
      py::gil_scoped_release no_gil;
      std::unique_lock lock(lists_);
      received_.wait_for(lock, deadline.slice(), [&] { return num_received_ != seen; });
    }
    check_signals();
  }
}

void Encoder::drain() {
  const Result result = run([&] { return cj2k_encoder_send_frame(encoder_, nullptr); });
  check(result);
}

/// Completes a packet that was received, or raises what its frame failed with.
std::unique_ptr<Packet> Encoder::take(std::unique_ptr<Packet> packet, const Result& result) {
  {
    const std::lock_guard lock(lists_);
    ++num_received_;
  }
  received_.notify_all();
  check(result, py::int_(packet->raw.pts));
  cj2k_packet_stats(&packet->raw, &packet->stats);
  packet->num_components = params_.raw.num_components;
  packet->measured = params_.raw.measure_mse != 0;
  return packet;
}

std::pair<Encoder::Answer, std::unique_ptr<Packet>> Encoder::receive() {
  auto packet = std::make_unique<Packet>();
  const Result result = run([&] { return cj2k_encoder_receive_packet(encoder_, &packet->raw); });
  if (result.status == CJ2K_AGAIN || result.status == CJ2K_EOF) {
    settle();
    return {result.status == CJ2K_EOF ? Answer::kEnd : Answer::kAgain, nullptr};
  }
  return {Answer::kDone, take(std::move(packet), result)};
}

std::pair<Encoder::Answer, std::unique_ptr<Packet>> Encoder::receive_ready(double seconds) {
  auto packet = std::make_unique<Packet>();
  const Deadline deadline(seconds);
  for (;;) {
    const int wait_ms = static_cast<int>(deadline.slice().count());
    const Result result =
        run([&] { return cj2k_encoder_receive_packet_timed(encoder_, &packet->raw, wait_ms); });
    if (result.status != CJ2K_AGAIN && result.status != CJ2K_EOF)
      return {Answer::kDone, take(std::move(packet), result)};
    settle();
    if (result.status == CJ2K_EOF) return {Answer::kEnd, nullptr};
    if (deadline.is_over()) return {Answer::kAgain, nullptr};
    check_signals();
  }
}

void Encoder::flush() {
  const Result result = run_alone([&] { return cj2k_encoder_flush(encoder_); });
  {
    const std::lock_guard lock(lists_);
    ++num_received_;  // there is room
  }
  received_.notify_all();
  check(result);
}

void Encoder::close() {
  closing_ = true;
  run_alone([&] {
    cj2k_encoder_close(encoder_);
    encoder_ = nullptr;
    return CJ2K_OK;
  });
  settle();
}

py::tuple Encoder::info() const {
  cj2k_info i{};
  i.struct_size = sizeof i;
  auto* self = const_cast<Encoder*>(this);
  const Result result = self->run([&] { return cj2k_encoder_info(encoder_, &i); });
  self->check(result);
  return py::make_tuple(i.backend, i.simd, i.threads, i.gop, i.async_depth, i.num_tiles,
                        i.num_blocks, i.num_packets, i.host_bytes, i.header_bytes, i.device_name,
                        i.device_bytes, i.pinned_bytes, i.tier1, i.rsiz, i.least_frame_bytes,
                        i.least_component_bytes, i.most_frame_bytes);
}

}  // namespace cj2k_python
