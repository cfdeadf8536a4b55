// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "bench/contender.h"
#include "cj2k.h"

namespace cj2k::bench {
namespace {

uint64_t hash_more(uint64_t hash, const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001B3u;  // FNV-1a
  return hash;
}

void keep_line(void* text, cj2k_log_level level, const char* message) {
  if (level == CJ2K_LOG_ERROR) *static_cast<std::string*>(text) = message;
}

bool make_params(const Task& task, const Cj2kOptions& options, std::string* error,
                 cj2k_params* params) {
  if (cj2k_params_init(params, sizeof *params) != CJ2K_OK) return false;
  params->log = keep_line;
  params->log_opaque = error;
  const Clip& clip = *task.clip;
  std::vector<std::pair<const char*, std::string>> settings = {
      {"width", std::to_string(clip.width)},
      {"height", std::to_string(clip.height)},
      {"depth", std::to_string(clip.depth)},
      {"lossless", task.lossless ? "1" : "0"},
      {"target_bytes", std::to_string(task.target_bytes)},
      {"cblk", std::to_string(task.cblk)},
      {"levels", std::to_string(task.levels)},
      {"device", options.device},
      {"tier1", options.tier1},
      {"gop", std::to_string(options.gop)},
      {"async_depth", std::to_string(options.gop * options.gops_in_flight)},
      {"threads", std::to_string(options.threads)}};
  if (!task.lossless) settings.emplace_back("stop", task.stop);
  settings.insert(settings.end(), task.settings.begin(), task.settings.end());
  for (const auto& [key, value] : settings) {
    if (cj2k_params_set(params, key, value.c_str()) != CJ2K_OK) return false;
  }
  return true;
}

class Cj2kContender final : public Contender {
 public:
  ~Cj2kContender() override { cj2k_encoder_close(encoder_); }

  bool open(const Task& task, const Cj2kOptions& options, Device* device, const DeviceClip* copy,
            std::string* error) {
    task_ = &task;
    clip_ = task.clip;
    copy_ = options.boundary == Boundary::kDeviceToHost ? copy : nullptr;
    cj2k_params params;
    if (!make_params(task, options, &error_, &params)) return refused(CJ2K_INVALID, error);
    if (device != nullptr) params.cuda_context = device->context->cu_context();
    const cj2k_status status = cj2k_encoder_open(&params, &encoder_);
    if (status != CJ2K_OK) return refused(status, error);
    cj2k_info info = {};
    info.struct_size = sizeof info;
    if (cj2k_encoder_info(encoder_, &info) != CJ2K_OK) return false;
    depth_ = info.async_depth;
    encoder = std::string("cj2k ") + info.backend;
    if (std::string(info.backend) == "cpu")
      encoder.append(" ").append(std::to_string(info.threads)).append(" threads");
    tier1 = info.tier1[0] != '\0' ? info.tier1 : "-";
    gop = std::to_string(info.gop) + "x" + std::to_string(info.async_depth / info.gop);
    boundary = options.boundary;
    same_bytes = true;
    capped = task.target_bytes > 0;
    device_bytes = info.device_bytes;
    pinned_bytes = info.pinned_bytes;
    host_bytes = info.host_bytes;
    frames_in_flight = depth_;
    return true;
  }

  int64_t min_frames() const override { return 4 * depth_; }

  bool run(int64_t frames, int64_t hash_frames, Round* round) override {
    *round = {};
    round->frames = frames;
    round->hash = 0xCBF29CE484222325u;
    times_.clear();
    times_.reserve(static_cast<size_t>(frames));
    const double cpu = process_cpu_seconds(), start = wall_seconds();
    int64_t sent = 0;
    bool draining = false;
    while (static_cast<int64_t>(times_.size()) < frames) {
      while (sent < frames) {
        const cj2k_status status = send(sent);
        if (status == CJ2K_AGAIN) break;
        if (status != CJ2K_OK) return fail("cj2k_encoder_send_frame", status);
        ++sent;
      }
      if (sent == frames && !draining) {
        const cj2k_status status = cj2k_encoder_send_frame(encoder_, nullptr);
        if (status != CJ2K_OK) return fail("draining", status);
        draining = true;
      }
      if (!receive(hash_frames, round)) return false;
    }
    round->seconds = wall_seconds() - start;
    round->cpu_seconds = process_cpu_seconds() - cpu;
    for (double& stage : round->stage_ms) stage /= static_cast<double>(frames);
    round->steady_fps = steady_fps(round->seconds);
    const cj2k_status status = cj2k_encoder_flush(encoder_);
    return status == CJ2K_OK || fail("cj2k_encoder_flush", status);
  }

 private:
  bool fail(const char* what, cj2k_status status) {
    error_ = std::string(what) + ": " + cj2k_status_string(status) +
             (error_.empty() ? "" : ": " + error_);
    return false;
  }

  bool refused(cj2k_status status, std::string* error) const {
    *error = cj2k_status_string(status);
    if (!error_.empty()) error->append(": ").append(error_);
    return false;
  }

  cj2k_status send(int64_t index) {
    cj2k_frame frame = {};
    frame.struct_size = sizeof frame;
    frame.memory = copy_ != nullptr ? CJ2K_MEMORY_CUDA : CJ2K_MEMORY_HOST;
    frame.width = clip_->width;
    frame.height = clip_->height;
    frame.pts = index;
    // The samples outlive the encoder, and nobody changes them.
    frame.release = [](void*) {};
    const size_t number = static_cast<size_t>(index) % clip_->frames.size();
    const uint8_t* data =
        copy_ != nullptr ? copy_->frames[number].as<const uint8_t>() : clip_->frames[number].data();
    for (int32_t c = 0; c < Clip::kComponents; ++c) {
      frame.components[c] = {data + c * clip_->plane_bytes(),
                             static_cast<ptrdiff_t>(clip_->row_bytes()), clip_->word_bytes(),
                             clip_->word_bytes(), 0};
    }
    return cj2k_encoder_send_frame(encoder_, &frame);
  }

  bool receive(int64_t hash_frames, Round* round) {
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    const cj2k_status status = cj2k_encoder_receive_packet(encoder_, &packet);
    if (status != CJ2K_OK) return fail("cj2k_encoder_receive_packet", status);
    const int64_t index = static_cast<int64_t>(times_.size());
    times_.push_back(wall_seconds());
    cj2k_stats stats = {};
    stats.struct_size = sizeof stats;
    if (const cj2k_status told = cj2k_packet_stats(&packet, &stats); told != CJ2K_OK)
      return fail("cj2k_packet_stats", told);
    if (index < hash_frames) {
      round->hash = hash_more(round->hash, packet.data, packet.size);
      if (index == 0) {
        round->first.assign(packet.data, packet.data + packet.size);
        std::copy(stats.mse, stats.mse + Clip::kComponents, round->mse);
      }
    }
    const int64_t size = static_cast<int64_t>(packet.size);
    const bool in_order = packet.pts == index;
    round->bytes += size;
    round->largest_bytes = std::max(round->largest_bytes, size);
    round->coded += stats.passes_coded;
    round->included += stats.passes_included;
    for (size_t i = 0; i < round->stage_ms.size(); ++i) round->stage_ms[i] += stats.stage_ms[i];
    cj2k_packet_release(&packet);
    if (in_order) return true;
    error_ = "packet " + std::to_string(index) + " has another frame's pts";
    return false;
  }

  double steady_fps(double seconds) const {
    const int64_t frames = static_cast<int64_t>(times_.size());
    // From when the pipeline is full to when it drains, in whole fillings of it: the GOPs in flight
    // may end all at once.
    const int64_t first = depth_ - 1;
    const int64_t last = first + (frames - 2 * depth_) / depth_ * depth_;
    if (last <= first || times_[last] <= times_[first])
      return static_cast<double>(frames) / seconds;
    return static_cast<double>(last - first) / (times_[last] - times_[first]);
  }

  const Task* task_ = nullptr;
  const Clip* clip_ = nullptr;
  const DeviceClip* copy_ = nullptr;
  cj2k_encoder* encoder_ = nullptr;
  int64_t depth_ = 1;
  std::vector<double> times_;
};

}  // namespace

const char* boundary_name(Boundary boundary) {
  return boundary == Boundary::kDeviceToHost ? "dev>host" : "host>host";
}

double process_cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status upload(Device& device, const Clip& clip, DeviceClip* copy) {
  for (const std::vector<uint8_t>& frame : clip.frames) {
    simt::DeviceBuffer& buffer = copy->frames.emplace_back();
    CJ2K_TRY(buffer.allocate(*device.context, frame.size()));
    CJ2K_TRY(device.stream.upload(buffer.as<uint8_t>(), frame.data(), frame.size()));
    CJ2K_TRY(device.stream.synchronize());
  }
  return Status::kOk;
}

std::optional<int64_t> cj2k_device_bytes(const Task& task, const Cj2kOptions& options) {
  cj2k_params params;
  std::string error;
  cj2k_info info = {};
  info.struct_size = sizeof info;
  if (!make_params(task, options, &error, &params) || cj2k_params_info(&params, &info) != CJ2K_OK)
    return std::nullopt;
  return info.device_bytes;
}

std::unique_ptr<Contender> open_cj2k(const Task& task, const Cj2kOptions& options, Device* device,
                                     const DeviceClip* copy, std::string* error) {
  auto contender = std::make_unique<Cj2kContender>();
  if (!contender->open(task, options, device, copy, error)) return nullptr;
  return contender;
}

}  // namespace cj2k::bench
