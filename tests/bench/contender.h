// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One encoder with one set of options on one clip, as the benchmark sees it.
#pragma once

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

/// What all contenders of a group have to do.
struct Task {
  std::string name;
  const Clip* clip = nullptr;
  bool lossless = false;
  int64_t target_bytes = 0;  ///< per frame; 0: none
  int32_t cblk = 32, levels = 5;
  std::string stop;                                           ///< cj2k_params::stop
  std::vector<std::pair<const char*, std::string>> settings;  ///< further ones of cj2k_params_set
};

/// Where the samples lie before, and the codestream after.
enum class Boundary {
  kDeviceToHost,  ///< (a)
  kHostToHost,    ///< (b)
};
const char* boundary_name(Boundary boundary);

/// The GPU, and a clip in its memory.
struct Device {
  std::unique_ptr<simt::Context> context;
  simt::Stream stream;
};
struct DeviceClip {
  std::vector<simt::DeviceBuffer> frames;
};
Status upload(Device& device, const Clip& clip, DeviceClip* copy);

/// One pass over some frames, from the first one sent to the last codestream received.
struct Round {
  int64_t frames = 0;
  double seconds = 0;
  /// Frames per second between the first and the last whole GOP that left while others were in
  /// flight before and behind it; frames / seconds where there are too few for that.
  double steady_fps = 0;
  int64_t bytes = 0;
  double cpu_seconds = 0;                          ///< of the process
  std::array<double, CJ2K_NUM_STAGES> stage_ms{};  ///< means, as cj2k_stats has them
  int64_t largest_bytes = 0;                       ///< of one frame
  int64_t coded = 0, included = 0;                 ///< passes
  double mse[Clip::kComponents] = {};              ///< of frame 0, cj2k_stats
  uint64_t hash = 0;           ///< of the codestreams of the first `hash_frames`
  std::vector<uint8_t> first;  ///< codestream of frame 0
};

class Contender {
 public:
  virtual ~Contender() = default;
  /// Encodes frames 0 .. frames - 1 of the looped clip and ends with nothing in flight.
  /// @param hash_frames  codestreams that are hashed and the first kept; 0 in timed rounds
  /// @return false: error() says why
  virtual bool run(int64_t frames, int64_t hash_frames, Round* round) = 0;
  /// Fewest frames with which the pipeline is full for a while.
  virtual int64_t min_frames() const = 0;

  const std::string& error() const { return error_; }

  // As printed.
  std::string encoder, tier1, gop;
  Boundary boundary = Boundary::kDeviceToHost;
  bool same_bytes = false;  ///< whether the hash must be that of the task's other ones
  bool capped = false;      ///< whether it promises target_bytes
  int64_t device_bytes = 0, pinned_bytes = 0, host_bytes = 0;
  int64_t frames_in_flight = 0;

 protected:
  std::string error_;
};

struct Cj2kOptions {
  std::string device;  ///< as the parameter
  std::string tier1;   ///< likewise
  int32_t gop = 0, threads = 0;
  Boundary boundary = Boundary::kHostToHost;
};
/// What it would reserve, before it is opened: device bytes; nothing where the parameters are
/// refused.
std::optional<int64_t> cj2k_device_bytes(const Task& task, const Cj2kOptions& options);
/// @param copy  of task.clip; for kDeviceToHost
/// @return null: `error` says why
std::unique_ptr<Contender> open_cj2k(const Task& task, const Cj2kOptions& options, Device* device,
                                     const DeviceClip* copy, std::string* error);

enum class NvQuality { kPsnr, kStep };
/// nvJPEG2000 from device memory, at the quality that brings frame 0 nearest to task.target_bytes.
/// Null and why where this program was built without its header or the library is not found.
/// @param threads  each with its own state and stream
std::unique_ptr<Contender> open_nvjpeg2k(const Task& task, NvQuality quality, int32_t threads,
                                         Device* device, const DeviceClip* copy,
                                         std::string* error);

double process_cpu_seconds();
double wall_seconds();

}  // namespace cj2k::bench
