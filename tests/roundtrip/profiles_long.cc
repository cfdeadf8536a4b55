// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The caps of cinema over many frames: noise, film, black and gray noise in one sequence. With
// CJ2K_FULL_SIZE=N in the environment, the frames of full size are N and not 12 and 6.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "roundtrip/profiles.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k::test {
namespace {

/// Frames of a sequence, each another one: of six, two are noise, two film, one is black, and one is
/// gray noise, which is all in the first component after the colour transform.
class Footage {
 public:
  explicit Footage(const cj2k_params& params) : params_(params) {
    for (uint64_t seed = 0; seed < 4; ++seed)
      film_.push_back(make_picture(params, Content::kTexture, seed));
  }
  Picture frame(int n) const {
    if (n % 6 < 2) return make_picture(params_, Content::kNoise, static_cast<uint64_t>(n));
    Picture picture = picture_shape(params_);
    if (n % 6 == 4) return picture;
    if (n % 6 == 5) {
      picture = make_picture(params_, Content::kNoise, static_cast<uint64_t>(n));
      for (ComponentPlane& plane : picture.components) plane = picture.components[0];
      return picture;
    }
    // A pan over a still, with new grain.
    Random random(static_cast<uint64_t>(n));
    const Picture& still = film_[static_cast<size_t>(n) % film_.size()];
    for (size_t c = 0; c < picture.components.size(); ++c) {
      const std::vector<int32_t>& from = still.components[c].samples;
      std::vector<int32_t>& to = picture.components[c].samples;
      const size_t pan = static_cast<size_t>(n) % from.size();
      std::rotate_copy(from.begin(), from.begin() + static_cast<ptrdiff_t>(pan), from.end(),
                       to.begin());
      for (size_t i = 0; i < to.size(); i += 21) {
        uint64_t bits = random.next();
        for (size_t k = i; k < std::min(i + 21, to.size()); ++k, bits >>= 3) to[k] ^= bits & 7;
      }
    }
    return picture;
  }

 private:
  const cj2k_params& params_;
  std::vector<Picture> film_;
};

void check_sequence(cj2k_params p, int num_frames, int64_t least_bytes) {
  set(p, "cinema_rate", "full");
  set(p, "min_frame_bytes", std::to_string(least_bytes));
  const auto cap = [&p](int64_t bits) {
    return bits * p.frame_rate_den / (8 * int64_t{p.frame_rate_num});
  };
  const Footage footage(p);
  CapUse use;
  const int chunk = p.width > 512 ? 6 : 60;
  for (int first = 0; first < num_frames; first += chunk) {
    std::vector<Picture> pictures;
    for (int n = first; n < std::min(first + chunk, num_frames); ++n)
      pictures.push_back(footage.frame(n));
    for (const Encoded& frame : encode_sequence(p, pictures)) {
      REQUIRE(frame.status == CJ2K_OK);
      check_caps(frame.bytes, cap(250000000), cap(200000000), &use);
    }
  }
  CHECK(use.least_frame >= least_bytes);
  // Noise fills the frame, gray noise the component, but for less than the last packets' bits.
  CHECK(use.most_frame * 1000 >= cap(250000000) * 999);
  CHECK(use.most_component * 1000 >= cap(200000000) * 999);
  std::printf(
      "%s, %dx%d at %d frames/s, %d frames: frame %lld to %lld of %lld bytes, component up "
      "to %lld of %lld, tile-part up to %lld\n",
      p.profile == CJ2K_PROFILE_CINEMA_4K ? "cinema4k" : "cinema2k", p.width, p.height,
      p.frame_rate_num / p.frame_rate_den, num_frames, static_cast<long long>(use.least_frame),
      static_cast<long long>(use.most_frame), static_cast<long long>(cap(250000000)),
      static_cast<long long>(use.most_component), static_cast<long long>(cap(200000000)),
      static_cast<long long>(use.most_part));
}

// 512x270 has a 16th of the samples of 2K and a 64th of those of 4K. At so many times 24 frames/s it
// has as many bytes for a sample.
TEST_CASE("profiles: 2000 frames of noise, film and black keep every cap of cinema") {
  check_sequence(cinema_params("cinema2k", 512, 270, "384"), 2000, 16384);
  check_sequence(cinema_params("cinema4k", 512, 270, "1536"), 2000, 5000);
}

int full_size_frames(int otherwise) {
  const char* text = std::getenv("CJ2K_FULL_SIZE");
  return text == nullptr ? otherwise : std::max(std::atoi(text), otherwise);
}

TEST_CASE("profiles: full size frames of noise, film and black keep every cap of cinema, 2K") {
  check_sequence(cinema_params("cinema2k", 2048, 1080, "24"), full_size_frames(12), 16384);
}

TEST_CASE("profiles: full size frames of noise, film and black keep every cap of cinema, 4K") {
  check_sequence(cinema_params("cinema4k", 4096, 2160, "24"), full_size_frames(6), 16384);
}

}  // namespace
}  // namespace cj2k::test
