// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "bench/clip.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "support/image_io.h"

namespace cj2k::bench {
namespace {

constexpr int32_t kPanX = 5, kPanY = 3;  ///< samples per frame; odd, so that subbands change too

uint32_t hash(uint32_t x, uint32_t y, uint32_t z) {
  uint32_t h = x * 0x9E3779B1u ^ (y + 0x7F4A7C15u) * 0x85EBCA77u ^ z * 0xC2B2AE3Du;
  h = (h ^ (h >> 15)) * 0x2C1B3C6Du;
  h = (h ^ (h >> 12)) * 0x297A2D39u;
  return h ^ (h >> 15);
}

/// In [-1, 1).
float signed_unit(uint32_t h) {
  return static_cast<float>(static_cast<int32_t>(h)) * (1.0f / 2147483648.0f);
}

/// Value noise of one scale, row by row.
class Octave {
 public:
  Octave(int32_t width, int32_t spacing, float amplitude, uint32_t seed)
      : spacing_(spacing), amplitude_(amplitude), seed_(seed), lattice_(width / spacing + 3) {}

  void add_row(int32_t x0, int32_t y, std::vector<float>& row) {
    const int32_t top = y / spacing_, left = x0 / spacing_;
    const float down = static_cast<float>(y % spacing_) / static_cast<float>(spacing_);
    for (size_t i = 0; i < lattice_.size(); ++i) {
      const uint32_t x = static_cast<uint32_t>(left) + static_cast<uint32_t>(i);
      const float a = signed_unit(hash(x, static_cast<uint32_t>(top), seed_));
      const float b = signed_unit(hash(x, static_cast<uint32_t>(top) + 1, seed_));
      lattice_[i] = amplitude_ * (a + (b - a) * down);
    }
    const float step = 1.0f / static_cast<float>(spacing_);
    size_t cell = 0;
    int32_t phase = x0 % spacing_;
    for (float& sample : row) {
      const float t = static_cast<float>(phase) * step;
      sample += lattice_[cell] + (lattice_[cell + 1] - lattice_[cell]) * t;
      if (++phase == spacing_) {
        phase = 0;
        ++cell;
      }
    }
  }

 private:
  int32_t spacing_;
  float amplitude_;
  uint32_t seed_;
  std::vector<float> lattice_;
};

void store(std::vector<uint8_t>& frame, size_t at, int32_t word_bytes, int32_t value) {
  frame[at] = static_cast<uint8_t>(value);
  if (word_bytes == 2) frame[at + 1] = static_cast<uint8_t>(value >> 8);
}

}  // namespace

test::Picture Clip::picture(int64_t index) const {
  test::Picture result;
  result.width = width;
  result.height = height;
  const std::vector<uint8_t>& bytes = frame(index);
  for (int32_t c = 0; c < kComponents; ++c) {
    test::ComponentPlane plane;
    plane.width = width;
    plane.height = height;
    plane.depth = depth;
    plane.samples.resize(static_cast<size_t>(width) * height);
    size_t at = c * plane_bytes();
    for (int32_t& sample : plane.samples) {
      sample = bytes[at] | (word_bytes() == 2 ? bytes[at + 1] << 8 : 0);
      at += word_bytes();
    }
    result.components.push_back(std::move(plane));
  }
  return result;
}

Clip make_scene(int32_t width, int32_t height, int32_t depth, int32_t num_frames) {
  Clip clip{"generated", width, height, depth, {}};
  // Amplitudes as parts of the range. Natural pictures have about equal contrast in every octave,
  // and less in the finest because of the lens. Tuned (2026-11) until the lossless size and the
  // PSNR at 1.2 bit/pixel were among those of real 4K pictures.
  std::vector<Octave> luma, red, blue, shapes;
  float amplitude = 0.16f;
  for (int32_t spacing = 1024; spacing >= 2; spacing /= 2, amplitude *= 0.70f) {
    luma.emplace_back(width, spacing, amplitude, 100u + spacing);
    if (spacing >= 16) red.emplace_back(width, spacing, amplitude * 0.35f, 5000u + spacing);
    if (spacing >= 16) blue.emplace_back(width, spacing, amplitude * 0.35f, 9000u + spacing);
  }
  shapes.emplace_back(width, 180, 1.0f, 77u);
  shapes.emplace_back(width, 60, 0.35f, 78u);

  const int32_t peak = (1 << depth) - 1;
  const float scale = static_cast<float>(peak);
  const float grain = (depth > 8 ? 0.0034f : 0.0024f) * scale;  // of each of four summed terms
  std::vector<float> base(width), shape(width);
  std::array<std::vector<float>, 2> chroma = {std::vector<float>(width), std::vector<float>(width)};
  for (int32_t f = 0; f < num_frames; ++f) {
    std::vector<uint8_t>& frame = clip.frames.emplace_back(clip.frame_bytes());
    const int32_t x0 = f * kPanX, y0 = f * kPanY;
    for (int32_t y = 0; y < height; ++y) {
      for (auto* row : {&base, &shape, &chroma[0], &chroma[1]})
        std::fill(row->begin(), row->end(), 0.0f);
      for (Octave& octave : luma) octave.add_row(x0, y0 + y, base);
      for (Octave& octave : shapes) octave.add_row(x0, y0 + y, shape);
      for (Octave& octave : red) octave.add_row(x0, y0 + y, chroma[0]);
      for (Octave& octave : blue) octave.add_row(x0, y0 + y, chroma[1]);
      for (int32_t x = 0; x < width; ++x) {
        const float light = 0.45f + base[x] + (shape[x] > 0.2f ? 0.12f : 0.0f);
        const float colours[3] = {light + chroma[0][x], light, light + chroma[1][x]};
        for (int32_t c = 0; c < Clip::kComponents; ++c) {
          // Four bytes of a hash, whose sum is close enough to a normal distribution.
          const uint32_t h = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                                  static_cast<uint32_t>(f * 3 + c + 40000));
          const int32_t sum =
              static_cast<int32_t>((h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24)) - 510;
          const float value = colours[c] * scale + grain * static_cast<float>(sum) * (1.0f / 128);
          const int32_t rounded = static_cast<int32_t>(std::clamp(value + 0.5f, 0.0f, scale));
          store(frame, c * clip.plane_bytes() + y * clip.row_bytes() + x * clip.word_bytes(),
                clip.word_bytes(), rounded);
        }
      }
    }
  }
  return clip;
}

std::optional<Clip> make_clip_from(const std::string& path, int32_t width, int32_t height,
                                   int32_t depth, int32_t num_frames) {
  const std::optional<test::Picture> picture = test::read_pnm(path);
  if (!picture || picture->components.size() != 3 || picture->width < width ||
      picture->height < height || picture->components[0].depth < depth)
    return std::nullopt;
  Clip clip{std::filesystem::path(path).filename().string(), width, height, depth, {}};
  const int32_t shift = picture->components[0].depth - depth;
  for (int32_t f = 0; f < num_frames; ++f) {
    std::vector<uint8_t>& frame = clip.frames.emplace_back(clip.frame_bytes());
    for (int32_t c = 0; c < Clip::kComponents; ++c) {
      const test::ComponentPlane& plane = picture->components[c];
      for (int32_t y = 0; y < height; ++y) {
        const int32_t* row =
            plane.samples.data() +
            static_cast<size_t>((y + f * kPanY) % picture->height) * picture->width;
        for (int32_t x = 0; x < width; ++x) {
          store(frame, c * clip.plane_bytes() + y * clip.row_bytes() + x * clip.word_bytes(),
                clip.word_bytes(), row[(x + f * kPanX) % picture->width] >> shift);
        }
      }
    }
  }
  return clip;
}

}  // namespace cj2k::bench
