// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The reference: Annex D as the standard writes it, one sample after the other.
#include <cstdlib>
#include <vector>

#include "coders/ebcot/segment_coder.h"
#include "coders/ebcot/tier1.h"
#include "core/distortion.h"
#include "core/ebcot/contexts.h"
#include "core/ebcot/segments.h"

namespace cj2k::ref {
namespace {

class Modeller {
 public:
  explicit Modeller(const Tier1Block& block)
      : block_(block),
        pitch_(block.width + 2),
        significant_(static_cast<size_t>(pitch_ * (block.height + 2))),
        negative_(significant_.size()),
        coded_(significant_.size()),
        refined_(significant_.size()) {}

  std::vector<mq::Symbol> symbols;
  int64_t distortion = 0;

  void begin_plane(int plane) {
    plane_ = plane;
    std::fill(coded_.begin(), coded_.end(), uint8_t{0});
  }

  void significance_pass(bool raw) {
    begin_pass();
    for_each([&](int x, int y) {
      if (significant_[at(x, y)]) return;
      const Neighbours n = neighbours(x, y);
      if (n.h + n.v + n.d == 0) return;
      coded_[at(x, y)] = 1;
      const unsigned context = mq::kZero + ebcot::zero_context(block_.orientation, n.h, n.v, n.d);
      symbols.push_back(mq::symbol(context, bit(x, y)));
      if (bit(x, y)) become_significant(x, y, raw);
    });
    distortion = significance_distortion(plane_, block_.reversible, new_count_, new_low_);
  }

  void refinement_pass() {
    begin_pass();
    int32_t count[2] = {0, 0};
    int64_t low_sum[2] = {0, 0};
    for_each([&](int x, int y) {
      if (!significant_[at(x, y)] || coded_[at(x, y)]) return;
      const Neighbours n = neighbours(x, y);
      const unsigned context = refined_[at(x, y)] ? 2u : n.h + n.v + n.d > 0 ? 1u : 0u;
      symbols.push_back(mq::symbol(mq::kRefine + context, bit(x, y)));
      refined_[at(x, y)] = 1;
      ++count[bit(x, y)];
      low_sum[bit(x, y)] += low(x, y);
    });
    distortion = refinement_distortion(plane_, block_.reversible, count[1], count[0],
                                       low_sum[1] - low_sum[0]);
  }

  void cleanup_pass() {
    begin_pass();
    for (int stripe = 0; stripe < block_.height; stripe += 4) {
      for (int x = 0; x < block_.width; ++x) {
        int y = stripe;
        const int end = stripe + 4 < block_.height ? stripe + 4 : block_.height;
        if (run_mode(x, stripe)) {
          while (y < end && !bit(x, y)) ++y;
          symbols.push_back(mq::symbol(mq::kRun, y < end));
          if (y == end) continue;
          symbols.push_back(mq::symbol(mq::kUniform, static_cast<unsigned>(y - stripe) >> 1));
          symbols.push_back(mq::symbol(mq::kUniform, static_cast<unsigned>(y - stripe) & 1));
          become_significant(x, y, false);
          ++y;
        }
        for (; y < end; ++y) {
          if (significant_[at(x, y)] || coded_[at(x, y)]) continue;
          const Neighbours n = neighbours(x, y);
          const unsigned context =
              mq::kZero + ebcot::zero_context(block_.orientation, n.h, n.v, n.d);
          symbols.push_back(mq::symbol(context, bit(x, y)));
          if (bit(x, y)) become_significant(x, y, false);
        }
      }
    }
    if (block_.style & CJ2K_STYLE_SEGSYM) {
      for (unsigned b : {1u, 0u, 1u, 0u}) symbols.push_back(mq::symbol(mq::kUniform, b));
    }
    distortion = significance_distortion(plane_, block_.reversible, new_count_, new_low_);
  }

 private:
  struct Neighbours {
    int h, v, d;
  };

  size_t at(int x, int y) const { return static_cast<size_t>((y + 1) * pitch_ + x + 1); }
  uint32_t sample(int x, int y) const { return block_.samples[y * block_.stride + x]; }
  unsigned bit(int x, int y) const { return sample(x, y) >> plane_ & 1; }

  /// The bits below the current plane.
  uint32_t low(int x, int y) const { return sample(x, y) & ((uint32_t{1} << plane_) - 1); }

  /// VSC: samples below the stripe count as insignificant (D.7).
  bool hidden(int y, int dy) const {
    return dy == 1 && y % 4 == 3 && (block_.style & CJ2K_STYLE_VSC);
  }
  int sigma(int x, int y, int dx, int dy) const {
    return hidden(y, dy) ? 0 : significant_[at(x + dx, y + dy)];
  }
  int sign(int x, int y, int dx, int dy) const {
    return sigma(x, y, dx, dy) ? (negative_[at(x + dx, y + dy)] ? -1 : 1) : 0;
  }

  Neighbours neighbours(int x, int y) const {
    return {sigma(x, y, -1, 0) + sigma(x, y, 1, 0), sigma(x, y, 0, -1) + sigma(x, y, 0, 1),
            sigma(x, y, -1, -1) + sigma(x, y, 1, -1) + sigma(x, y, -1, 1) + sigma(x, y, 1, 1)};
  }

  bool run_mode(int x, int stripe) const {
    if (stripe + 4 > block_.height) return false;
    for (int y = stripe; y < stripe + 4; ++y) {
      const Neighbours n = neighbours(x, y);
      if (significant_[at(x, y)] || coded_[at(x, y)] || n.h + n.v + n.d > 0) return false;
    }
    return true;
  }

  void become_significant(int x, int y, bool raw) {
    const unsigned negative = sample(x, y) >> 31;
    const auto clamp = [](int v) { return v < -1 ? -1 : v > 1 ? 1 : v; };
    const ebcot::SignContext s = ebcot::sign_context(clamp(sign(x, y, -1, 0) + sign(x, y, 1, 0)),
                                                     clamp(sign(x, y, 0, -1) + sign(x, y, 0, 1)));
    symbols.push_back(mq::symbol(s.context, raw ? negative : negative ^ s.flip));
    significant_[at(x, y)] = 1;
    negative_[at(x, y)] = static_cast<uint8_t>(negative);
    ++new_count_;
    new_low_ += low(x, y);
  }

  void begin_pass() {
    symbols.clear();
    new_count_ = 0;
    new_low_ = 0;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (int stripe = 0; stripe < block_.height; stripe += 4) {
      for (int x = 0; x < block_.width; ++x) {
        for (int y = stripe; y < stripe + 4 && y < block_.height; ++y) visit(x, y);
      }
    }
  }

  const Tier1Block& block_;
  const int pitch_;
  int plane_ = 0;
  int32_t new_count_ = 0;
  int64_t new_low_ = 0;
  std::vector<uint8_t> significant_, negative_, coded_, refined_;
};

}  // namespace

void encode_block(const Tier1Block& block, Tier1Output& out) {
  SegmentCoder coder(block.style, out);
  Modeller modeller(block);
  for (int plane = block.bit_planes - 1; plane >= 0; --plane) {
    modeller.begin_plane(plane);
    const auto code = [&](bool last) {
      if (coder.begin_pass(modeller.symbols.data(), modeller.symbols.size())) {
        for (const mq::Symbol s : modeller.symbols)
          mq::encode(coder.registers(), coder.contexts(), s);
      }
      coder.end_pass(plane, modeller.distortion, last);
    };
    if (plane != block.bit_planes - 1) {
      modeller.significance_pass(pass_is_raw(block.style, out.num_passes));
      code(false);
      modeller.refinement_pass();
      code(false);
    }
    modeller.cleanup_pass();
    code(plane == 0);
  }
}

}  // namespace cj2k::ref
