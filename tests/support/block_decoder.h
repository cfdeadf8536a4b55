// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A decoder of one code-block, sample by sample and straight from the tables of T.800 Annex D. It
// finds the passes of each codeword segment from the style; the caller gives the segments' bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "support/mq_decoder.h"

namespace cj2k::test {

/// Passes of the segment that begins with pass `first`, if the block goes on (Tables D.8, D.9).
inline int passes_of_segment(uint32_t style, int first) {
  if ((style & CJ2K_STYLE_TERMALL) != 0) return 1;
  if ((style & CJ2K_STYLE_BYPASS) == 0) return 1 << 16;
  if (first == 0) return 10;      // four planes: 1 + 3 * 3
  return first % 3 == 1 ? 2 : 1;  // significance with refinement, raw; clean-up
}

struct DecodedBlock {
  std::vector<uint32_t> magnitudes;  ///< the bits decoded so far, each at its place
  std::vector<uint8_t> negative;
  std::vector<uint8_t> last_plane;  ///< the lowest plane decoded, of significant samples
  bool segmentation_ok = true;      ///< every segmentation symbol was 1010
  /// Every segment ends as D.4.2 requires. Meaningful only with PTERM.
  bool predictable = true;
  bool operator==(const DecodedBlock& o) const {
    return magnitudes == o.magnitudes && negative == o.negative && last_plane == o.last_plane &&
           segmentation_ok == o.segmentation_ok;
  }
};

class BlockDecoder {
 public:
  BlockDecoder(int width, int height, Orientation orientation, uint32_t style, int bit_planes)
      : width_(width),
        height_(height),
        orientation_(orientation),
        style_(style),
        plane_(bit_planes - 1) {
    const size_t samples = static_cast<size_t>(width * height);
    block_.magnitudes.assign(samples, 0);
    block_.negative.assign(samples, 0);
    block_.last_plane.assign(samples, 0);
    significant_.assign(samples, 0);
    visited_.assign(samples, 0);
    refined_.assign(samples, 0);
    reset_contexts();
  }

  /// @param segments  the bytes of each codeword segment of the first `num_passes` passes, in order
  DecodedBlock decode(const std::vector<std::span<const uint8_t>>& segments, int num_passes) {
    int pass = 0;
    for (const std::span<const uint8_t> segment : segments) {
      const int end = std::min(num_passes, pass + passes_of_segment(style_, pass));
      raw_mode_ = (style_ & CJ2K_STYLE_BYPASS) != 0 && pass >= 10 && pass % 3 != 0;
      mq_ = MqDecoder(segment);
      raw_ = RawDecoder(segment);
      for (; pass < end; ++pass) {
        if ((style_ & CJ2K_STYLE_RESET) != 0) reset_contexts();
        decode_pass(pass);
      }
      block_.predictable &= raw_mode_ ? raw_.ends_predictably() : mq_.ends_predictably();
    }
    return block_;
  }

 private:
  // Context labels as the standard numbers them.
  enum { kSignFirst = 9, kRefineFirst = 14, kRunLength = 17, kUniform = 18, kLabels = 19 };

  void reset_contexts() {  // Table D.7
    contexts_.fill({});
    contexts_[0].index = 4;
    contexts_[kRunLength].index = 3;
    contexts_[kUniform].index = 46;
  }

  void decode_pass(int pass) {
    switch (pass % 3) {
      case 0:
        cleanup();
        std::fill(visited_.begin(), visited_.end(), uint8_t{0});
        --plane_;
        break;
      case 1:
        significance_propagation();
        break;
      default:
        refinement();
    }
  }

  size_t at(int x, int y) const { return static_cast<size_t>(y * width_ + x); }

  /// 0: the neighbour of (x, y) is outside or not significant. Otherwise its sign, +1 or -1.
  int state(int x, int y, int dx, int dy) const {
    const int nx = x + dx, ny = y + dy;
    if (nx < 0 || nx >= width_ || ny < 0 || ny >= height_) return 0;
    if ((style_ & CJ2K_STYLE_VSC) != 0 && ny / 4 > y / 4) return 0;
    if (significant_[at(nx, ny)] == 0) return 0;
    return block_.negative[at(nx, ny)] != 0 ? -1 : 1;
  }
  int sigma(int x, int y, int dx, int dy) const { return state(x, y, dx, dy) != 0 ? 1 : 0; }

  struct Sums {
    int h, v, d;
    int all() const { return h + v + d; }
  };
  Sums sums(int x, int y) const {
    Sums s;
    s.h = sigma(x, y, -1, 0) + sigma(x, y, 1, 0);
    s.v = sigma(x, y, 0, -1) + sigma(x, y, 0, 1);
    s.d = sigma(x, y, -1, -1) + sigma(x, y, 1, -1) + sigma(x, y, -1, 1) + sigma(x, y, 1, 1);
    return s;
  }

  int zero_coding_label(int x, int y) const {  // Table D.1
    const Sums s = sums(x, y);
    if (orientation_ == kHH) {
      const int hv = s.h + s.v;
      static constexpr int kTable[3][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 7}};
      return s.d >= 3 ? 8 : kTable[s.d][std::min(hv, 2)];
    }
    const int h = orientation_ == kHL ? s.v : s.h, v = orientation_ == kHL ? s.h : s.v;
    if (h == 2) return 8;
    if (h == 1 && v >= 1) return 7;
    if (h == 1 && v == 0 && s.d >= 1) return 6;
    if (h == 1) return 5;
    if (v == 2) return 4;
    if (v == 1) return 3;
    return std::min(s.d, 2);
  }

  void decode_sign(int x, int y) {
    unsigned negative;
    if (raw_mode_) {
      negative = raw_.decode();
    } else {
      const int h = std::clamp(state(x, y, -1, 0) + state(x, y, 1, 0), -1, 1);
      const int v = std::clamp(state(x, y, 0, -1) + state(x, y, 0, 1), -1, 1);
      // Table D.3: [h + 1][v + 1]
      static constexpr int kLabel[3][3] = {{13, 12, 11}, {10, 9, 10}, {11, 12, 13}};
      static constexpr unsigned kXorBit[3][3] = {{1, 1, 1}, {1, 0, 0}, {0, 0, 0}};
      negative =
          mq_.decode(contexts_[static_cast<size_t>(kLabel[h + 1][v + 1])]) ^ kXorBit[h + 1][v + 1];
    }
    block_.negative[at(x, y)] = static_cast<uint8_t>(negative);
    significant_[at(x, y)] = 1;
    set_bit(x, y, 1);
  }

  void set_bit(int x, int y, unsigned bit) {
    block_.magnitudes[at(x, y)] |= bit << plane_;
    block_.last_plane[at(x, y)] = static_cast<uint8_t>(plane_);
  }

  unsigned decode_zero_coding(int x, int y) {
    if (raw_mode_) return raw_.decode();
    return mq_.decode(contexts_[static_cast<size_t>(zero_coding_label(x, y))]);
  }

  void significance_propagation() {  // D.3.1
    for_each([this](int x, int y) {
      if (significant_[at(x, y)] != 0 || sums(x, y).all() == 0) return;
      visited_[at(x, y)] = 1;
      if (decode_zero_coding(x, y) != 0) decode_sign(x, y);
    });
  }

  void refinement() {  // D.3.3
    for_each([this](int x, int y) {
      if (significant_[at(x, y)] == 0 || visited_[at(x, y)] != 0) return;
      const int label = refined_[at(x, y)] != 0 ? 16 : sums(x, y).all() > 0 ? 15 : 14;
      set_bit(x, y, raw_mode_ ? raw_.decode() : mq_.decode(contexts_[static_cast<size_t>(label)]));
      refined_[at(x, y)] = 1;
    });
  }

  void cleanup() {  // D.3.4
    for (int top = 0; top < height_; top += 4) {
      for (int x = 0; x < width_; ++x) {
        int y = top;
        bool first_is_one = false;
        if (runs(x, top)) {
          if (mq_.decode(contexts_[kRunLength]) == 0) continue;
          const unsigned high = mq_.decode(contexts_[kUniform]);
          y = top + static_cast<int>(high * 2 + mq_.decode(contexts_[kUniform]));
          first_is_one = true;
        }
        for (; y < std::min(top + 4, height_); ++y) {
          if (significant_[at(x, y)] != 0 || visited_[at(x, y)] != 0) continue;
          const bool one = first_is_one || decode_zero_coding(x, y) != 0;
          first_is_one = false;
          if (one) decode_sign(x, y);
        }
      }
    }
    if ((style_ & CJ2K_STYLE_SEGSYM) != 0) {  // D.5
      unsigned symbol = 0;
      for (int i = 0; i < 4; ++i) symbol = symbol << 1 | mq_.decode(contexts_[kUniform]);
      block_.segmentation_ok &= symbol == 0xA;
    }
  }

  bool runs(int x, int top) const {
    if (top + 4 > height_) return false;
    for (int y = top; y < top + 4; ++y) {
      if (significant_[at(x, y)] != 0 || visited_[at(x, y)] != 0) return false;
      if (zero_coding_label(x, y) != 0) return false;
    }
    return true;
  }

  template <typename Visit>
  void for_each(Visit visit) {
    for (int top = 0; top < height_; top += 4) {
      for (int x = 0; x < width_; ++x) {
        for (int y = top; y < std::min(top + 4, height_); ++y) visit(x, y);
      }
    }
  }

  const int width_, height_;
  const Orientation orientation_;
  const uint32_t style_;
  int plane_;
  bool raw_mode_ = false;
  DecodedBlock block_;
  std::vector<uint8_t> significant_, visited_, refined_;
  std::array<MqContext, kLabels> contexts_;
  MqDecoder mq_{{}};
  RawDecoder raw_{{}};
};

}  // namespace cj2k::test
