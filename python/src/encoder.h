// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "memory.h"
#include "params.h"

namespace cj2k_python {

/// The codestream of a frame: a read-only buffer of bytes, with the statistics of the frame.
struct Packet {
  Packet() : raw(), stats() {
    raw.struct_size = sizeof raw;
    stats.struct_size = sizeof stats;
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;
  ~Packet() { cj2k_packet_release(&raw); }

  cj2k_packet raw;
  cj2k_stats stats;
  int num_components = 0;
  bool measured = false;  ///< the errors
};

/// The curve of a packet's frame as bytes, or None.
py::object curve_of(const Packet& packet);

/// What send is given beside the views.
struct FrameValues {
  int64_t pts = 0, duration = 0;
  int64_t target_bytes = 0, max_frame_bytes = 0, max_component_bytes = 0;
  double quality = 0;
  uintptr_t ready_stream = 0;
};

/// A cj2k_encoder. The library's threads never take the GIL: frames that they are done with and
/// lines that they log wait in lists until a thread of Python calls in.
class Encoder {
 public:
  explicit Encoder(const Params& params);
  ~Encoder();

  enum class Answer { kDone, kAgain, kEnd };
  /// @param seconds  how long to wait for room that another thread makes; negative: no limit
  /// @return kAgain: no room. kEnd: the encoder drains
  Answer send(std::vector<View> views, const FrameValues& values, bool hold, double seconds);
  void drain();
  /// The packet that is due.
  std::pair<Answer, std::unique_ptr<Packet>> receive();
  /// The next packet as soon as it is ready. @param seconds  negative: no limit
  std::pair<Answer, std::unique_ptr<Packet>> receive_ready(double seconds);
  void flush();
  void close();
  bool is_closed() const { return closing_; }
  py::tuple info() const;
  std::string param(const std::string& key) const { return params_.get(key); }

 private:
  struct Held;
  struct Result {
    cj2k_status status;
    cj2k_error error;
  };
  /// Calls into the library without the GIL. Close waits for it.
  template <typename Call>
  Result run(Call call);
  /// The same, with every other call kept out.
  template <typename Call>
  Result run_alone(Call call);
  void check(const Result& result, py::object pts = py::none());
  std::unique_ptr<Packet> take(std::unique_ptr<Packet> packet, const Result& result);
  /// Gives back held frames and passes on log lines. With the GIL.
  void settle();
  static void log(void* self, cj2k_log_level level, const char* message);

  cj2k_encoder* encoder_ = nullptr;
  Params params_;
  std::shared_mutex use_;  ///< shared: a call runs; exclusive: flush or close
  std::atomic<bool> closing_ = false;

  std::mutex lists_;
  std::condition_variable received_;
  int64_t num_received_ = 0;
  std::vector<Held*> released_;
  std::vector<std::pair<cj2k_log_level, std::string>> lines_;
};

}  // namespace cj2k_python
