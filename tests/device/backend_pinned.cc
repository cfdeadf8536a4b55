// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Frames of the application in page-locked memory: they are uploaded from where they are.
#include <cstring>
#include <deque>

#include "backend_check.h"
#include "kernels/simt/device.h"

namespace cj2k::simt::test {
namespace {

/// Copies of frames in page-locked memory. When one is released its samples are overwritten.
class PinnedFrames {
 public:
  PinnedFrames(const std::vector<Picture>& pictures, const FrameLayout& layout) {
    const Log quiet;
    REQUIRE(Context::open({}, quiet, &context_) == Status::kOk);
    for (size_t i = 0; i < pictures.size(); ++i) {
      const FrameMemory host(pictures[i], layout);
      Frame& copy = frames_.emplace_back();
      copy.frame = host.frame;
      copy.frame.pts = static_cast<int64_t>(i);
      copy.frame.release = [](void* self) { static_cast<Frame*>(self)->overwrite(); };
      copy.frame.release_opaque = &copy;
      for (size_t c = 0; c < pictures[i].components.size(); ++c) {
        cj2k_component_view& v = copy.frame.components[c];
        // Interleaved components lie in the first one's memory.
        if (c > 0 && layout.interleaved) {
          v.data = copy.memory[0].as<uint8_t>() +
                   (static_cast<const uint8_t*>(v.data) -
                    static_cast<const uint8_t*>(host.frame.components[0].data));
          continue;
        }
        const auto& of = pictures[i].components[c];
        const size_t in_row = layout.interleaved ? pictures[i].components.size() : 1;
        const auto bytes = static_cast<size_t>(v.stride_bytes * (of.height - 1)) +
                           static_cast<size_t>(of.width * v.word_bytes) * in_row;
        REQUIRE(copy.memory[c].allocate(*context_, bytes) == Status::kOk);
        std::memcpy(copy.memory[c].as<uint8_t>(), v.data, bytes);
        v.data = copy.memory[c].as<uint8_t>();
      }
    }
  }
  cj2k_frame& operator[](size_t i) { return frames_[i].frame; }
  int released(size_t i) const { return frames_[i].released; }

 private:
  struct Frame {
    cj2k_frame frame;
    PinnedBuffer memory[CJ2K_MAX_COMPONENTS];
    std::atomic<int> released = 0;
    void overwrite() {
      for (const PinnedBuffer& m : memory) {
        if (m.bytes() > 0) std::memset(m.as<uint8_t>(), 0xA5, m.bytes());
      }
      ++released;
    }
  };
  std::unique_ptr<Context> context_;
  std::deque<Frame> frames_;
};

size_t pinned_bytes() {
#if defined(CJ2K_SIMT_SHIM)
  return shim::pinned_bytes_in_use();
#else
  return 0;
#endif
}

/// @return page-locked bytes of the encoder after all frames, where they are known
size_t encode_all(const cj2k_params& params, const std::vector<Picture>& pictures,
                  const std::vector<Encoded>& expected, const FrameLayout& layout,
                  bool with_release) {
  start_machine();
  size_t encoder_bytes = 0;
  {
    PinnedFrames frames(pictures, layout);
    const size_t frame_bytes = pinned_bytes();
    Session session(params);
    REQUIRE(session.opened == CJ2K_OK);
    for (size_t i = 0; i < pictures.size(); ++i) {
      if (!with_release) frames[i].release = nullptr;
      REQUIRE(session.send(frames[i]) == CJ2K_OK);
    }
    session.drain();
    check_packets(session, expected);
    for (size_t i = 0; i < pictures.size(); ++i)
      CHECK(frames.released(i) == (with_release ? 1 : 0));
    encoder_bytes = pinned_bytes() - frame_bytes;
  }
  CHECK(left_behind() == "");
  return encoder_bytes;
}

}  // namespace

TEST_CASE("backend: page-locked frames with release are not copied on the host") {
  for (const bool lossless : {false, true}) {
    cj2k_params p =
        backend_params(67, 45, 3, {{"gop", "2"}, {"async_depth", "4"}, {"cblk", "16x16"}});
    cj2k::test::set(p, lossless ? "lossless" : "target_bytes", lossless ? "1" : "900");
    cj2k::test::set(p, "device", "cuda:0");
    const std::vector<Picture> pictures = pictures_of(p, 5);
    const std::vector<Encoded> expected = on_cpu(p, pictures);
    for (const FrameLayout& layout :
         {FrameLayout{}, FrameLayout{.gap_bytes = 24}, FrameLayout{.interleaved = true}}) {
      const size_t in_place = encode_all(p, pictures, expected, layout, true);
      const size_t staged = encode_all(p, pictures, expected, layout, false);
#if defined(CJ2K_SIMT_SHIM)
      // Two GOPs of two frames of three components.
      CHECK(staged - in_place >= 4 * 67 * 45 * 3);
#else
      CHECK(staged == in_place);
#endif
    }
  }
}

}  // namespace cj2k::simt::test
