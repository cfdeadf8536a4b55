// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One encoder with one set of options and one clip, as the benchmark uses it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/clip.h"
#include "kernels/simt/device.h"

namespace cj2k::bench {

/// The task of all contenders of a group.
struct Task {
  std::string name;
  const Clip* clip = nullptr;
  bool lossless = false;
  int64_t target_bytes = 0;  ///< per frame; 0: none
  int32_t cblk = 32, levels = 5;
  std::string stop;                                           ///< cj2k_params::stop
  std::vector<std::pair<const char*, std::string>> settings;  ///< more settings for cj2k_params_set

  /// coder = ht
  bool is_ht() const {
    return std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
      return std::string(setting.first) == "coder" && setting.second == "ht";
    });
  }
};

/// Where the samples are before the encode, and the codestream after it.
enum class Boundary {
  kDeviceToHost,  ///< (a)
  kHostToHost,    ///< (b)
};
const char* boundary_name(Boundary boundary);

/// The GPU, with its context and a stream.
struct Device {
  std::unique_ptr<simt::Context> context;
  simt::Stream stream;
};
struct DeviceClip {
  std::vector<simt::DeviceBuffer> frames;
};
Status upload(Device& device, const Clip& clip, DeviceClip* copy);

/// One pass over some frames, from the first frame sent to the last codestream received.
struct Round {
  int64_t frames = 0;
  double seconds = 0;
  /// Frames per second while all frames that may be in flight are. If there are too few frames:
  /// frames / seconds.
  double steady_fps = 0;
  int64_t bytes = 0;
  double cpu_seconds = 0;                          ///< of the process
  std::array<double, CJ2K_NUM_STAGES> stage_ms{};  ///< means, as in cj2k_stats
  int64_t largest_bytes = 0;                       ///< of one frame
  int64_t coded = 0, included = 0;                 ///< passes
  double mse[Clip::kComponents] = {};              ///< of frame 0, from cj2k_stats
  uint64_t hash = 0;           ///< of the codestreams of the first `hash_frames`
  std::vector<uint8_t> first;  ///< codestream of frame 0
};

class Contender {
 public:
  virtual ~Contender() = default;
  /// Encodes frames 0 .. frames - 1 of the looped clip. Nothing is in flight afterwards.
  /// @param hash_frames  codestreams to hash, and the first is kept; 0 in timed rounds
  /// @return false: error() gives the reason
  virtual bool run(int64_t frames, int64_t hash_frames, Round* round) = 0;
  /// The smallest number of frames that keeps the pipeline full for a while.
  virtual int64_t min_frames() const = 0;

  const std::string& error() const { return error_; }

  // As printed.
  std::string encoder, tier1, gop;
  Boundary boundary = Boundary::kDeviceToHost;
  bool same_bytes = false;  ///< whether the hash must equal that of the task's other ones
  bool capped = false;      ///< whether it promises target_bytes
  int64_t device_bytes = 0, pinned_bytes = 0, host_bytes = 0;
  int64_t frames_in_flight = 0;

 protected:
  std::string error_;
};

struct Cj2kOptions {
  std::string device;  ///< as the parameter `device`
  std::string tier1;   ///< as the parameter `tier1`
  int32_t gop = 0, gops_in_flight = 0, threads = 0;
  Boundary boundary = Boundary::kHostToHost;
};
/// The device bytes that the encoder would reserve, before it is opened. Nothing if the parameters
/// are refused.
std::optional<int64_t> cj2k_device_bytes(const Task& task, const Cj2kOptions& options);
/// @param copy  the copy of task.clip in device memory, for kDeviceToHost
/// @return null: `error` gives the reason
std::unique_ptr<Contender> open_cj2k(const Task& task, const Cj2kOptions& options, Device* device,
                                     const DeviceClip* copy, std::string* error);

enum class NvQuality { kPsnr, kStep };
/// nvJPEG2000 from device memory, with the quality that brings frame 0 closest to
/// task.target_bytes. Null and the reason if this program was built without its header or the
/// library is not found. HT blocks with NvQuality::kStep alone.
/// @param threads  each has its own state and stream
std::unique_ptr<Contender> open_nvjpeg2k(const Task& task, NvQuality quality, int32_t threads,
                                         Device* device, const DeviceClip* copy,
                                         std::string* error);

double process_cpu_seconds();
double wall_seconds();

}  // namespace cj2k::bench
