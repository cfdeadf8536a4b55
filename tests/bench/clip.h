// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The input of the benchmark: a few different planar frames in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/picture.h"

namespace cj2k::bench {

/// Frame f, component c, row y begins at frames[f][c * plane_bytes() + y * row_bytes()].
struct Clip {
  std::string name;
  int32_t width = 0, height = 0, depth = 0;
  std::vector<std::vector<uint8_t>> frames;

  static constexpr int32_t kComponents = 3;
  int32_t word_bytes() const { return depth > 8 ? 2 : 1; }
  size_t row_bytes() const { return static_cast<size_t>(width) * word_bytes(); }
  size_t plane_bytes() const { return row_bytes() * height; }
  size_t frame_bytes() const { return plane_bytes() * kComponents; }
  /// Frame `index` of the clip, which plays in a loop.
  const std::vector<uint8_t>& frame(int64_t index) const {
    return frames[static_cast<size_t>(index) % frames.size()];
  }
  test::Picture picture(int64_t index) const;
};

/// A synthetic scene under a moving camera: contrast in every octave of scale, curved edges, and
/// grain that changes with every frame, so that no two frames are equal. The samples are the same
/// on every machine.
Clip make_scene(int32_t width, int32_t height, int32_t depth, int32_t num_frames);

/// A picture (PNM with three components) under a moving camera, wrapped around at its edges.
/// Nothing if the picture is smaller than asked for or has fewer bits.
std::optional<Clip> make_clip_from(const std::string& path, int32_t width, int32_t height,
                                   int32_t depth, int32_t num_frames);

}  // namespace cj2k::bench
