// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the checks of how the CUDA backend behaves: an encoder with all its log lines and the
// result of every frame. With CJ2K_SIMT_SHIM on a device of the shim, otherwise on the GPU.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/encode.h"

#if defined(CJ2K_SIMT_SHIM)
#include "kernels/simt/host/shim.h"
#endif

namespace cj2k::simt::test {

using cj2k::test::Content;
using cj2k::test::Encoded;
using cj2k::test::FrameLayout;
using cj2k::test::FrameMemory;
using cj2k::test::Picture;

using Settings = std::initializer_list<std::pair<const char*, std::string>>;

inline cj2k_params backend_params(int32_t width, int32_t height, int32_t num_components,
                                  Settings settings) {
  cj2k_params p = cj2k::test::make_params(width, height, num_components);
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  return p;
}

/// Parameters of tiny frames on the device.
inline cj2k_params tiny_params(Settings settings) {
  cj2k_params p = backend_params(
      23, 14, 3, {{"levels", "2"}, {"cblk", "8x8"}, {"threads", "2"}, {"device", "cuda"}});
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  return p;
}

inline cj2k_info planned(const cj2k_params& p) {
  cj2k_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
  return info;
}

#if defined(CJ2K_SIMT_SHIM)
/// A device without race checks; the checks of each kernel have them.
inline void start_machine(shim::Options options) {
  options.check_races = false;
  shim::reset(options);
}
/// @param seed  of the order in which work runs
inline void start_machine(uint64_t seed = 1) {
  shim::Options options;
  options.seed = seed;
  start_machine(options);
}

/// What the device still holds, as text. Then starts another device.
inline std::string left_behind() {
  const shim::Recorder recorder;
  const size_t device_bytes = shim::device_bytes_in_use();
  start_machine();
  return (device_bytes != 0 ? std::to_string(device_bytes) + " bytes of device memory; " : "") +
         recorder.text();
}
#else
inline void start_machine(uint64_t = 1) {}
/// A GPU does not say.
inline std::string left_behind() { return {}; }
#endif

inline std::vector<Picture> pictures_of(const cj2k_params& p, int count) {
  constexpr Content kContents[] = {Content::kTexture, Content::kNoise, Content::kEdges};
  std::vector<Picture> pictures;
  for (int i = 0; i < count; ++i)
    pictures.push_back(
        cj2k::test::make_picture(p, kContents[i % 3], 40 + static_cast<uint64_t>(i)));
  return pictures;
}

/// The CPU backend's result for each picture.
inline std::vector<Encoded> on_cpu(cj2k_params p, const std::vector<Picture>& pictures) {
  cj2k::test::set(p, "device", "cpu");
  p.cuda_context = p.cuda_stream = nullptr;
  std::vector<Encoded> all = cj2k::test::encode_sequence(p, pictures);
  REQUIRE(all.size() == pictures.size());
  for (const Encoded& one : all) REQUIRE(one.status == CJ2K_OK);
  return all;
}

/// The lines of a log that several threads write. Debug lines are left out: there is one for each
/// call that has to wait.
class LogBook {
 public:
  static void write(void* self, cj2k_log_level level, const char* message) {
    if (level == CJ2K_LOG_DEBUG) return;
    auto* book = static_cast<LogBook*>(self);
    const std::lock_guard lock(book->mutex_);
    book->lines_.push_back({level, message});
  }
  std::vector<std::string> of(cj2k_log_level level) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [l, text] : lines_) {
      if (l == level) found.push_back(text);
    }
    return found;
  }
  /// The number of lines of this level that contain `part`.
  size_t count(cj2k_log_level level, const std::string& part) const {
    size_t n = 0;
    for (const std::string& line : of(level)) n += line.find(part) != std::string::npos;
    return n;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& [l, line] : lines_) all += line + "\n";
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<cj2k_log_level, std::string>> lines_;
};

/// The result of a frame that was accepted.
struct Result {
  cj2k_status status;
  int64_t pts;
  std::vector<uint8_t> bytes;
  cj2k_stats stats;
  std::string error;  ///< the reason if there is no packet
};

/// An encoder from open to close.
class Session {
 public:
  explicit Session(cj2k_params p) {
    p.log = LogBook::write;
    p.log_opaque = &log;
    opened = cj2k_encoder_open(&p, &encoder);
    CHECK((opened == CJ2K_OK) == (encoder != nullptr));
  }
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  void close() {
    cj2k_encoder_close(encoder);
    encoder = nullptr;
  }

  cj2k_info info() const {
    cj2k_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(cj2k_encoder_info(encoder, &info) == CJ2K_OK);
    return info;
  }
  /// Sends a frame; first receives packets if the encoder asks for that.
  cj2k_status send(const cj2k_frame& frame) {
    cj2k_status status = CJ2K_INTERNAL;
    while ((status = cj2k_encoder_send_frame(encoder, &frame)) == CJ2K_AGAIN)
      REQUIRE(receive() != CJ2K_AGAIN);
    if (status == CJ2K_OK) accepted.push_back(frame.pts);
    return status;
  }
  cj2k_status receive() {
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    const cj2k_status status = cj2k_encoder_receive_packet(encoder, &packet);
    if (status == CJ2K_OK) {
      results.push_back({status,
                         packet.pts,
                         {packet.data, packet.data + packet.size},
                         cj2k::test::stats_of(packet),
                         {}});
      cj2k_packet_release(&packet);
    } else if (status < 0) {
      CHECK((packet.data == nullptr && packet.size == 0));
      results.push_back({status, packet.pts, {}, {}, cj2k_encoder_last_error(encoder)});
    }
    return status;
  }
  /// Receives everything in flight. Afterwards every accepted frame has had its result.
  void drain() {
    REQUIRE(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
    cj2k_status status = CJ2K_OK;
    while ((status = receive()) != CJ2K_EOF) {
      REQUIRE(status != CJ2K_AGAIN);
      REQUIRE(results.size() <= accepted.size());
    }
    REQUIRE(results.size() == accepted.size());
  }

  LogBook log;  ///< must outlive the encoder
  cj2k_status opened = CJ2K_INTERNAL;
  cj2k_encoder* encoder = nullptr;
  std::vector<int64_t> accepted;  ///< pts of each accepted frame
  std::vector<Result> results;    ///< in the order of `accepted`
};

/// Packet i belongs to frame i (pts = index) and has the expected bytes.
inline void check_packets(const Session& session, const std::vector<Encoded>& expected) {
  REQUIRE(session.results.size() == session.accepted.size());
  for (size_t i = 0; i < session.results.size(); ++i) {
    const Result& result = session.results[i];
    CAPTURE(i);
    REQUIRE(result.status == CJ2K_OK);
    CHECK(result.pts == session.accepted[i]);
    CHECK(result.bytes == expected[static_cast<size_t>(result.pts)].bytes);
  }
}

/// Frames in host memory with pts = index, and a count of the releases of each.
class HostFrames {
 public:
  explicit HostFrames(const std::vector<Picture>& pictures, bool with_release = true,
                      const FrameLayout& layout = {})
      : released_(pictures.size()) {
    for (size_t i = 0; i < pictures.size(); ++i) {
      memory_.push_back(std::make_unique<FrameMemory>(pictures[i], layout));
      cj2k_frame& frame = memory_.back()->frame;
      frame.pts = static_cast<int64_t>(i);
      if (!with_release) continue;
      frame.release = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
      frame.release_opaque = &released_[i];
    }
  }
  const cj2k_frame& operator[](size_t i) const { return memory_[i]->frame; }
  size_t size() const { return memory_.size(); }
  int released(size_t i) const { return released_[i]; }

 private:
  std::vector<std::unique_ptr<FrameMemory>> memory_;
  std::vector<std::atomic<int>> released_;
};

/// Sends all frames, drains the encoder and compares the packets.
inline void check_sequence(Session& session, const HostFrames& frames,
                           const std::vector<Encoded>& expected) {
  REQUIRE(session.opened == CJ2K_OK);
  for (size_t i = 0; i < frames.size(); ++i) REQUIRE(session.send(frames[i]) == CJ2K_OK);
  session.drain();
  check_packets(session, expected);
}

}  // namespace cj2k::simt::test
