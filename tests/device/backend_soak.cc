// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Many frames in device memory through one encoder: three producers with streams of their own, and
// whatever number of GOPs the encoder keeps in flight. Each packet has the CPU's bytes.
//
//   CJ2K_SOAK_FRAMES   frames
//   CJ2K_SOAK_SECONDS  ends after this time, too; 0: no limit
//   CJ2K_SOAK_SIZE     WIDTHxHEIGHT
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "backend_check.h"
#include "kernels/simt/device.h"

namespace cj2k::simt::test {
namespace {

struct Soak {
#if defined(CJ2K_SIMT_SHIM)
  int64_t frames = 48;
  int32_t width = 64, height = 48, gop = 2;
#else
  int64_t frames = 5000;
  int32_t width = 4096, height = 2160, gop = 0;  // what the encoder chooses for the device
#endif
  double seconds = 0;

  Soak() {
    if (const char* text = std::getenv("CJ2K_SOAK_FRAMES")) frames = std::atoll(text);
    if (const char* text = std::getenv("CJ2K_SOAK_SECONDS")) seconds = std::atof(text);
    if (const char* text = std::getenv("CJ2K_SOAK_SIZE"))
      REQUIRE(std::sscanf(text, "%dx%d", &width, &height) == 2);
    REQUIRE(frames > 0);
  }
};

/// Places for frames in device memory. A place whose frame was released goes to the next producer.
class Places {
 public:
  struct Place {
    Places* all;
    DeviceBuffer memory;
  };
  Places(Context& context, size_t count, size_t bytes) : places_(count) {
    for (Place& place : places_) {
      place.all = this;
      REQUIRE(place.memory.allocate(context, bytes) == Status::kOk);
      free_.push_back(&place);
    }
  }
  /// Null: none is free.
  Place* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    // The place that was released last: its memory is overwritten as early as allowed.
    Place* const place = free_.back();
    free_.pop_back();
    return place;
  }
  static void give_back(void* opaque) {
    auto* const place = static_cast<Place*>(opaque);
    const std::lock_guard lock(place->all->mutex_);
    place->all->free_.push_back(place);
  }
  size_t num_free() const {
    const std::lock_guard lock(mutex_);
    return free_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Place> places_;
  std::vector<Place*> free_;
};

/// The distinct frames, packed one after the other, in device memory.
class Originals {
 public:
  Originals(Context& context, const std::vector<Picture>& pictures) {
    Stream stream;
    REQUIRE(stream.create(context) == Status::kOk);
    for (const Picture& picture : pictures) {
      const FrameMemory host(picture);
      frame_ = host.frame;
      offsets_.clear();
      bytes_ = 0;
      for (size_t c = 0; c < picture.components.size(); ++c) {
        offsets_.push_back(bytes_);
        bytes_ += plane_bytes(host.frame, picture, c);
      }
      memory_.emplace_back();
      REQUIRE(memory_.back().allocate(context, bytes_) == Status::kOk);
      for (size_t c = 0; c < picture.components.size(); ++c)
        REQUIRE(stream.upload(memory_.back().as<uint8_t>(offsets_[c]),
                              host.frame.components[c].data,
                              plane_bytes(host.frame, picture, c)) == Status::kOk);
      REQUIRE(stream.synchronize() == Status::kOk);
    }
  }
  size_t bytes() const { return bytes_; }
  /// Enqueues what makes the frame at `place`: garbage, then the samples.
  void produce(Stream& stream, size_t number, Places::Place& place) const {
    auto* const to = place.memory.as<uint8_t>();
    REQUIRE(stream.fill(to, 0xA5, bytes_) == Status::kOk);
    REQUIRE(stream.copy(to, memory_[number].as<uint8_t>(), bytes_) == Status::kOk);
  }
  cj2k_frame frame_at(const Places::Place& place) const {
    cj2k_frame frame = frame_;
    frame.memory = CJ2K_MEMORY_CUDA;
    for (size_t c = 0; c < offsets_.size(); ++c)
      frame.components[c].data = place.memory.as<uint8_t>(offsets_[c]);
    return frame;
  }

 private:
  static size_t plane_bytes(const cj2k_frame& frame, const Picture& picture, size_t c) {
    return static_cast<size_t>(frame.components[c].stride_bytes) *
           static_cast<size_t>(picture.components[c].height);
  }
  std::vector<DeviceBuffer> memory_;
  std::vector<size_t> offsets_;
  size_t bytes_ = 0;
  cj2k_frame frame_ = {};
};

constexpr size_t kDistinct = 5, kProducers = 3;
/// Every so many frames have no release: send returns when the frame is read.
constexpr int64_t kWithoutRelease = 16;
constexpr int64_t kMostWrong = 5;

/// Neighbouring GOPs have different frames in the same places.
size_t picture_of(int64_t frame) { return static_cast<size_t>(frame + frame / 7) % kDistinct; }

/// Compares the packets that are ready, until a frame is accepted or all packets were received.
class Comparison {
 public:
  Comparison(cj2k_encoder* encoder, const std::vector<Encoded>& expected)
      : encoder_(encoder), expected_(expected) {}

  cj2k_status receive() {
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    const cj2k_status status = cj2k_encoder_receive_packet(encoder_, &packet);
    if (status != CJ2K_OK) return status;
    const std::vector<uint8_t>& bytes = expected_[picture_of(received_)].bytes;
    if (packet.pts != received_ || packet.size != bytes.size() ||
        !std::equal(bytes.begin(), bytes.end(), packet.data)) {
      if (wrong_++ == 0) first_wrong_ = received_;
    }
    ++received_;
    cj2k_packet_release(&packet);
    return wrong_ < kMostWrong ? CJ2K_OK : CJ2K_INTERNAL;
  }
  int64_t received() const { return received_; }
  int64_t wrong() const { return wrong_; }
  int64_t first_wrong() const { return first_wrong_; }

 private:
  cj2k_encoder* const encoder_;
  const std::vector<Encoded>& expected_;
  int64_t received_ = 0, wrong_ = 0, first_wrong_ = -1;
};

class Producers {
 public:
  Producers(Context& context, const Originals& originals, Places& places)
      : originals_(originals), places_(places) {
    for (Stream& stream : streams_) REQUIRE(stream.create(context) == Status::kOk);
  }
  cj2k_status send(cj2k_encoder* encoder, int64_t number, Comparison& packets) {
    Places::Place* place = nullptr;
    while ((place = places_.take()) == nullptr) {
      if (const cj2k_status status = packets.receive(); status != CJ2K_OK) return status;
    }
    Stream& stream = streams_[static_cast<size_t>(number) % kProducers];
    originals_.produce(stream, picture_of(number), *place);
    cj2k_frame frame = originals_.frame_at(*place);
    frame.pts = number;
    frame.ready_stream = stream.cu_stream();
    const bool with_release = number % kWithoutRelease != kWithoutRelease - 1;
    if (with_release) {
      frame.release = Places::give_back;
      frame.release_opaque = place;
    }
    cj2k_status status;
    while ((status = cj2k_encoder_send_frame(encoder, &frame)) == CJ2K_AGAIN) {
      if (status = packets.receive(); status != CJ2K_OK) return status;
    }
    if (!with_release) Places::give_back(place);
    return status;
  }

 private:
  const Originals& originals_;
  Places& places_;
  Stream streams_[kProducers];
};

/// @param part  of the frames and of the time
void soak(cj2k_params p, const Soak& options, double part) {
  const std::vector<Picture> pictures = pictures_of(p, kDistinct);
  const std::vector<Encoded> expected = on_cpu(p, pictures);
  start_machine();
  {
    const Log quiet;
    std::unique_ptr<Context> context;
    REQUIRE(Context::open({}, quiet, &context) == Status::kOk);
    const Originals originals(*context, pictures);
    Session session(p);
    CAPTURE(session.log.text());
    REQUIRE(session.opened == CJ2K_OK);
    const cj2k_info info = session.info();
    const int64_t most = std::max(static_cast<int64_t>(static_cast<double>(options.frames) * part),
                                  int64_t{2} * info.async_depth);
    Places places(*context, static_cast<size_t>(info.async_depth) + kProducers, originals.bytes());
    Producers producers(*context, originals, places);
    Comparison packets(session.encoder, expected);
    const size_t num_places = places.num_free();
#if defined(CJ2K_SIMT_SHIM)
    CHECK(info.async_depth == 8 * info.gop);
    const uint64_t allocations = shim::num_allocations();
#endif
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    cj2k_status status = CJ2K_OK;
    int64_t sent = 0;
    for (; sent < most && status == CJ2K_OK; ++sent) {
      if (options.seconds > 0 && sent >= 2 * info.async_depth && elapsed() > options.seconds * part)
        break;
      status = producers.send(session.encoder, sent, packets);
    }
    if (status == CJ2K_OK) status = cj2k_encoder_send_frame(session.encoder, nullptr);
    while (status == CJ2K_OK) status = packets.receive();
    MESSAGE(packets.received(), " frames of ", p.width, "x", p.height, ", GOPs of ", info.gop, ", ",
            info.async_depth, " frames in flight, ", elapsed(), " s");
    CAPTURE(packets.first_wrong());
    CHECK(packets.wrong() == 0);
    CHECK(status == CJ2K_EOF);
    CHECK(packets.received() == sent);
    CHECK(places.num_free() == num_places);
#if defined(CJ2K_SIMT_SHIM)
    CHECK(shim::num_allocations() - allocations == 0);
#endif
    session.close();
  }
  CHECK(left_behind() == "");
}

cj2k_params soak_params(const Soak& options, Settings settings) {
  cj2k_params p = backend_params(options.width, options.height, 3,
                                 {{"depth", "12"}, {"gop", std::to_string(options.gop)}});
  // The cap of cinema at 24 frames/s for 4096x2160, and more where headers weigh more.
  const int64_t samples = int64_t{options.width} * options.height;
  cj2k::test::set(p, "target_bytes", std::to_string(samples * 1302083 / (4096 * 2160) + 600));
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  cj2k::test::set(p, "device", "cuda");
  return p;
}

}  // namespace

TEST_CASE("soak: EBCOT from device memory, three producers, GOPs in flight") {
  const Soak options;
  soak(soak_params(options, {}), options, 0.8);
}

TEST_CASE("soak: HT from device memory, three producers, GOPs in flight") {
  const Soak options;
  soak(soak_params(options, {{"coder", "ht"}}), options, 0.2);
}

}  // namespace cj2k::simt::test
