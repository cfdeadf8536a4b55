// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Several encoders at once, each called by one to three threads in random order: good frames and wrong ones, reads that
// fail, packets that outlive the encoder, flush, close in the middle. Each packet has the bytes of a plain encode, each
// frame is released once, and memory does not grow. CJ2K_CALLERS_SECONDS=n sets the time, CJ2K_RANDOM_SEED=n the
// seed, CJ2K_CALLERS_WIDTH=n one width, of pictures of 16:9. CJ2K_OPEN_COUNT=n: how often encoders are opened and closed.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "roundtrip/random_params.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

constexpr int kPictures = 3, kCallers = 4, kMostHeld = 5;

/// What several encoders are opened with, and the bytes that each of its pictures must have.
struct Job {
  cj2k_params params;
  std::vector<Picture> pictures;
  std::vector<std::unique_ptr<FrameMemory>> memory;
  std::vector<std::vector<uint8_t>> expected;
};

struct Counts {
  std::atomic<int64_t> encoders = 0, frames = 0, packets = 0, failed_reads = 0, refused = 0,
                       flushes = 0;
  std::atomic<int64_t> wrong_bytes = 0, wrong_status = 0, wrong_order = 0, wrong_releases = 0;
};

int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// @return false: the parameters are not legal
bool make_job(Random& random, int width, Job* job) {
  cj2k_params p = make_params(1, 1);
  choose_components(p, random);
  choose_grid(p, random);
  if (width > 0) {
    p = make_params(width, width * 9 / 16, 3, random.pick<int>({8, 12}));
  } else {
    choose_coding(p, random);
    if (random.chance(40)) choose_ht(p);
    choose_rest(p, random);
  }
  if (random.chance(50)) p.coder = random.chance(50) ? CJ2K_CODER_HT : p.coder;
  if (random.chance(30) && p.num_layer_rates == 0) {
    p.lossless = 1;
  } else if (p.num_layer_rates == 0) {
    p.target_bytes = picture_shape(p).raw_bits() / 8 / random.range(2, 12) + 2000;
  }
  p.effort = random.range(0, width > 0 ? 1 : 3);
  p.verify = random.chance(20) ? 1 : 0;
  if (p.stop != CJ2K_STOP_NONE) p.stop = CJ2K_STOP_EXACT;  // the others depend on the frames before
  p.threads = p.gop = p.async_depth = 1;
  set(p, "device", "cpu");
  cj2k_info info = {};
  info.struct_size = sizeof info;
  if (cj2k_params_info(&p, &info) != CJ2K_OK) return false;
  *job = {p, {}, {}, {}};
  for (int i = 0; i < kPictures; ++i)
    job->pictures.push_back(make_picture(p, random.pick(kAllContents), random.next()));
  for (const Picture& picture : job->pictures)
    job->memory.push_back(std::make_unique<FrameMemory>(picture));
  for (const Encoded& encoded : encode_sequence(p, job->pictures)) {
    if (encoded.status != CJ2K_OK) return false;  // the cap is below its headers
    job->expected.push_back(encoded.bytes);
  }
  return job->expected.size() == kPictures;
}

/// A frame whose samples a function gives, or fails to.
struct Reader {
  const cj2k_frame* frame;
  int32_t num_components;
  bool fails;

  static int read(void* opaque, const cj2k_read_part* parts) {
    const auto& reader = *static_cast<const Reader*>(opaque);
    if (reader.fails) return 7;
    for (int32_t c = 0; c < reader.num_components; ++c) {
      const cj2k_component_view& view = reader.frame->components[c];
      for (int32_t y = 0; y < parts[c].height; ++y) {
        for (int32_t x = 0; x < parts[c].width; ++x) {
          std::memcpy(static_cast<uint8_t*>(parts[c].data) + y * parts[c].stride_bytes +
                          x * view.word_bytes,
                      static_cast<const uint8_t*>(view.data) +
                          (parts[c].y + y) * view.stride_bytes + (parts[c].x + x) * view.step_bytes,
                      static_cast<size_t>(view.word_bytes));
        }
      }
    }
    return 0;
  }
};

/// An encoder and all that is done with it.
class Session {
 public:
  Session(const Job& job, Random& random, Counts& counts) : job_(job), counts_(counts) {
    cj2k_params p = job.params;
    p.threads = random.range(1, 4);
    p.gop = random.range(1, 3);
    p.async_depth = random.range(1, 6);
    for (size_t i = 0; i < readers_.size(); ++i) {
      readers_[i] = {&job.memory[i % kPictures]->frame, p.num_components, i >= kPictures};
    }
    if (cj2k_encoder_open(&p, &encoder_) != CJ2K_OK) ++counts_.wrong_status;
    ++counts_.encoders;
  }

  void run(Random& random) {
    if (encoder_ == nullptr) return;
    const int num_threads = random.range(1, 3), num_calls = random.range(1, 60);
    checks_order_ = num_threads == 1;
    std::vector<std::thread> threads;
    for (int i = 1; i < num_threads; ++i)
      threads.emplace_back([this, num_calls, seed = random.next()] { call(num_calls, seed); });
    call(num_calls, random.next());
    for (std::thread& thread : threads) thread.join();
    if (random.chance(50)) finish();
    const bool closes_first = random.chance(50);
    if (closes_first) cj2k_encoder_close(encoder_);
    for (cj2k_packet& packet : held_) release(packet);
    if (!closes_first) cj2k_encoder_close(encoder_);
    if (released_ != to_release_) ++counts_.wrong_releases;
  }

 private:
  void call(int num_calls, uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < num_calls; ++i) {
      if (random.chance(2)) {
        const std::unique_lock lock(flush_mutex_);
        if (cj2k_encoder_flush(encoder_) != CJ2K_OK) ++counts_.wrong_status;
        ++counts_.flushes;
        continue;
      }
      const std::shared_lock lock(flush_mutex_);
      const int what = random.range(0, 99);
      if (what < 45) {
        send(random);
      } else if (what < 80) {
        receive(random);
      } else if (what < 88) {
        send_wrong(random);
      } else if (what < 95) {
        ask(random);
      } else if (what < 97) {
        const cj2k_status status = cj2k_encoder_send_frame(encoder_, nullptr);
        if (status != CJ2K_OK && status != CJ2K_EOF) ++counts_.wrong_status;
      } else {
        cj2k_packet packet = {};
        if (take_held(packet)) release(packet);
      }
    }
  }

  void send(Random& random) {
    const int which = random.range(0, kPictures - 1);
    cj2k_frame frame = job_.memory[static_cast<size_t>(which)]->frame;
    bool fails = false;
    if (random.chance(15)) {
      fails = random.chance(50);
      frame.read = Reader::read;
      frame.read_opaque = &readers_[static_cast<size_t>(which + (fails ? kPictures : 0))];
      for (cj2k_component_view& view : frame.components) view.data = nullptr;
    }
    const bool has_release = random.chance(70);
    if (has_release) {
      frame.release = [](void* opaque) { ++static_cast<Session*>(opaque)->released_; };
      frame.release_opaque = this;
    }
    frame.pts = 2 * kPictures * next_++ + 2 * which + (fails ? 1 : 0);
    const cj2k_status status = cj2k_encoder_send_frame(encoder_, &frame);
    if (status == CJ2K_OK) {
      ++counts_.frames;
      if (has_release) ++to_release_;
    } else if (status == CJ2K_READ ? !fails : status != CJ2K_AGAIN && status != CJ2K_EOF) {
      ++counts_.wrong_status;
    }
  }

  void send_wrong(Random& random) {
    cj2k_frame frame = job_.memory[0]->frame;
    frame.release = [](void* opaque) { ++static_cast<Session*>(opaque)->released_; };
    frame.release_opaque = this;
    switch (random.range(0, 6)) {
      case 0:
        frame.struct_size = 3;
        break;
      case 1:
        ++frame.width;
        break;
      case 2:
        frame.components[0].data = nullptr;
        break;
      case 3:
        frame.components[0].word_bytes = 3;
        break;
      case 4:
        frame.components[0].shift = 40;
        break;
      case 5:
        frame.quality = std::nan("");
        break;
      default:
        frame.target_bytes = -1;
    }
    const cj2k_status status = cj2k_encoder_send_frame(encoder_, &frame);
    if (status != CJ2K_INVALID && status != CJ2K_EOF) ++counts_.wrong_status;
    if (cj2k_encoder_send_frame(nullptr, &frame) != CJ2K_INVALID) ++counts_.wrong_status;
    ++counts_.refused;
  }

  void receive(Random& random) {
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    const int wait = random.range(-1, 3);
    const cj2k_status status = wait < 0
                                   ? cj2k_encoder_receive_packet(encoder_, &packet)
                                   : cj2k_encoder_receive_packet_timed(encoder_, &packet, wait);
    take(status, packet);
  }

  void take(cj2k_status status, cj2k_packet& packet) {
    if (status == CJ2K_AGAIN || status == CJ2K_EOF) return;
    const bool fails = packet.pts % 2 != 0;
    if (status != (fails ? CJ2K_READ : CJ2K_OK)) ++counts_.wrong_status;
    if (checks_order_ && packet.pts <= last_pts_) ++counts_.wrong_order;
    if (checks_order_) last_pts_ = packet.pts;
    if (fails) {
      ++counts_.failed_reads;
      if (packet.data != nullptr || packet.size != 0) ++counts_.wrong_bytes;
      return;
    }
    ++counts_.packets;
    const std::lock_guard lock(held_mutex_);
    held_.push_back(packet);
    if (held_.size() <= kMostHeld) return;
    release(held_.front());
    held_.erase(held_.begin());
  }

  bool take_held(cj2k_packet& packet) {
    const std::lock_guard lock(held_mutex_);
    if (held_.empty()) return false;
    packet = held_.back();
    held_.pop_back();
    return true;
  }

  /// Looks at the bytes as late as possible.
  void release(cj2k_packet& packet) {
    const std::vector<uint8_t>& want =
        job_.expected[static_cast<size_t>(packet.pts % (2 * kPictures) / 2)];
    if (!std::equal(want.begin(), want.end(), packet.data, packet.data + packet.size))
      ++counts_.wrong_bytes;
    cj2k_packet_release(&packet);
  }

  void ask(Random& random) {
    char text[CJ2K_MAX_PARAM_TEXT];
    cj2k_info info = {};
    info.struct_size = sizeof info;
    cj2k_error error = {};
    error.struct_size = sizeof error;
    cj2k_params params = {};
    params.struct_size = sizeof params;
    bool is_right = true;
    switch (random.range(0, 5)) {
      case 0:
        is_right = cj2k_encoder_info(encoder_, &info) == CJ2K_OK && info.num_blocks > 0;
        break;
      case 1:
        is_right = cj2k_last_error(encoder_, &error) == CJ2K_OK;
        break;
      case 2:
        is_right = cj2k_encoder_last_error(encoder_) != nullptr;
        break;
      case 3:
        is_right = cj2k_encoder_headline(encoder_, 1, text, sizeof text) == CJ2K_OK;
        break;
      case 4:
        is_right = cj2k_encoder_summary(encoder_, 1, text, sizeof text) == CJ2K_OK;
        break;
      default:
        is_right = cj2k_encoder_params(encoder_, &params) == CJ2K_OK;
    }
    if (!is_right) ++counts_.wrong_status;
  }

  /// Takes all packets that are left.
  void finish() {
    const cj2k_status drained = cj2k_encoder_send_frame(encoder_, nullptr);
    if (drained != CJ2K_OK && drained != CJ2K_EOF) ++counts_.wrong_status;
    for (;;) {
      cj2k_packet packet = {};
      packet.struct_size = sizeof packet;
      const cj2k_status status = cj2k_encoder_receive_packet(encoder_, &packet);
      if (status == CJ2K_EOF) return;
      if (status == CJ2K_AGAIN || status == CJ2K_INVALID) {
        ++counts_.wrong_status;
        return;
      }
      take(status, packet);
    }
  }

  const Job& job_;
  Counts& counts_;
  cj2k_encoder* encoder_ = nullptr;
  std::array<Reader, 2 * kPictures> readers_ = {};
  std::shared_mutex flush_mutex_;  // held alone by flush
  std::mutex held_mutex_;
  std::vector<cj2k_packet> held_;
  std::atomic<int64_t> next_ = 0, released_ = 0, to_release_ = 0;
  int64_t last_pts_ = -1;
  bool checks_order_ = false;
};

TEST_CASE("random callers") {
  using Clock = std::chrono::steady_clock;
  const int seed = from_environment("CJ2K_RANDOM_SEED", 1);
  const int seconds = from_environment("CJ2K_CALLERS_SECONDS", 3);
  const int width = from_environment("CJ2K_CALLERS_WIDTH", 0);
  Random random(static_cast<uint64_t>(seed));
  INFO("CJ2K_RANDOM_SEED=", seed);
  std::vector<Job> jobs(width > 0 ? 3 : 10);
  for (Job& job : jobs) {
    while (!make_job(random, width, &job)) {
    }
  }
  Counts counts;
  const Clock::time_point start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::atomic<int64_t> early_bytes = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, own = Random(random.next())]() mutable {
      while (passed() < seconds) {
        Session(own.pick(jobs), own, counts).run(own);
        // Before that, the allocator's caches still grow.
        if (early_bytes == 0 && passed() > seconds / 4.0) early_bytes = resident_bytes();
      }
    });
  }
  // What is known of a run that is cut off.
  for (int told = 600; told < seconds; told += 600) {
    std::this_thread::sleep_for(std::chrono::duration<double>(told - passed()));
    std::printf("%d s: %lld encoders, %lld frames, %lld wrong, %lld MiB\n", told,
                static_cast<long long>(counts.encoders), static_cast<long long>(counts.frames),
                static_cast<long long>(counts.wrong_bytes + counts.wrong_status +
                                       counts.wrong_order + counts.wrong_releases),
                static_cast<long long>(resident_bytes() / 1048576));
    std::fflush(stdout);
  }
  for (std::thread& caller : callers) caller.join();
  const int64_t late_bytes = resident_bytes();
  CHECK(counts.wrong_bytes.load() == 0);
  CHECK(counts.wrong_status.load() == 0);
  CHECK(counts.wrong_order.load() == 0);
  CHECK(counts.wrong_releases.load() == 0);
  CHECK(counts.packets.load() > 0);
  CHECK(counts.failed_reads.load() > 0);
  if (seconds >= 60) CHECK(late_bytes < early_bytes * 5 / 4);
  MESSAGE(counts.encoders.load() << " encoders, " << counts.frames.load() << " frames, "
                                 << counts.packets.load() << " packets, "
                                 << counts.failed_reads.load() << " failed reads, "
                                 << counts.refused.load() << " wrong frames, "
                                 << counts.flushes.load() << " flushes; "
                                 << early_bytes.load() / 1048576 << " MiB after a quarter, "
                                 << late_bytes / 1048576 << " at the end");
}

TEST_CASE("encoders opened and closed") {
  const int count = from_environment("CJ2K_OPEN_COUNT", 200);
  Random random(static_cast<uint64_t>(from_environment("CJ2K_RANDOM_SEED", 1)));
  std::vector<Job> jobs(6);
  for (Job& job : jobs) {
    while (!make_job(random, 0, &job)) {
    }
  }
  int64_t early_bytes = 0, wrong = 0;
  for (int i = 0; i < count; ++i) {
    const Job& job = random.pick(jobs);
    cj2k_params p = job.params;
    p.threads = random.chance(1) ? 3 : 1;
    cj2k_encoder* encoder = nullptr;
    wrong += cj2k_encoder_open(&p, &encoder) != CJ2K_OK;
    // Some are closed with a frame in hand, some with none.
    const int what = random.range(0, 3);
    if (what > 0) wrong += cj2k_encoder_send_frame(encoder, &job.memory[0]->frame) != CJ2K_OK;
    if (what > 1) {
      cj2k_packet packet = {};
      packet.struct_size = sizeof packet;
      wrong += cj2k_encoder_send_frame(encoder, nullptr) != CJ2K_OK ||
               cj2k_encoder_receive_packet(encoder, &packet) != CJ2K_OK ||
               !std::equal(job.expected[0].begin(), job.expected[0].end(), packet.data,
                           packet.data + packet.size);
      cj2k_packet_release(&packet);
    }
    cj2k_encoder_close(encoder);
    if (i == count / 4) early_bytes = resident_bytes();
  }
  CHECK(wrong == 0);
  const int64_t late_bytes = resident_bytes();
  if (count >= 10000) CHECK(late_bytes < early_bytes * 11 / 10);
  MESSAGE(count << " encoders; " << early_bytes / 1048576 << " MiB after a quarter, "
                << late_bytes / 1048576 << " at the end");
}

}  // namespace
}  // namespace cj2k::test
