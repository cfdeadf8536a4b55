// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// HT coding passes, sample by sample.
#include <algorithm>
#include <array>
#include <bit>

#include "coders/ht/ht_block.h"
#include "core/distortion.h"
#include "core/ht/plane_choice.h"
#include "core/ht/segments.h"

namespace cj2k::ref {
namespace {

constexpr int kMaxSide = 1024;
constexpr uint32_t kSign = 0x80000000u;

/// Two by two samples: top left, bottom left, top right, bottom right.
struct Quad {
  uint32_t value[4];     ///< 2 (magnitude - 1) + sign of significant samples
  uint32_t exponent[4];  ///< bits of 2 magnitude - 1; 0: not significant
  uint32_t rho = 0;      ///< significant samples, bit by bit
};

class CleanupPass {
 public:
  CleanupPass(const HtSamples& samples, int plane, HtCleanupMemory& memory)
      : samples_(samples), plane_(plane), streams_(memory) {}

  uint32_t run(uint8_t* out) {
    const int quads_wide = (samples_.width + 1) / 2, quads_high = (samples_.height + 1) / 2;
    for (int qy = 0; qy < quads_high; ++qy) {
      std::swap(above_, here_);
      here_.fill(0);
      left_ = 0;
      for (int qx = 0; qx < quads_wide; qx += 2) {
        const uint32_t u0 = code_quad(qx, qy);
        const uint32_t u1 = qx + 1 < quads_wide ? code_quad(qx + 1, qy) : 0;
        streams_.put_u_pair(u0, u1, qy == 0);
      }
    }
    return streams_.finish(out);
  }

 private:
  Quad read(int qx, int qy) {
    Quad quad;
    for (int i = 0; i < 4; ++i) {
      const int x = 2 * qx + i / 2, y = 2 * qy + i % 2;
      quad.exponent[i] = 0;
      if (x >= samples_.width || y >= samples_.height) continue;
      const uint32_t sample = samples_.data[y * samples_.stride + x];
      const uint32_t magnitude = (sample & ~kSign) >> plane_;
      if (magnitude == 0) continue;
      quad.value[i] = 2 * (magnitude - 1) + (sample >> 31);
      quad.exponent[i] = static_cast<uint32_t>(std::bit_width(2 * magnitude - 1));
      quad.rho |= 1u << i;
    }
    return quad;
  }

  /// Significance of neighbours, left and above; right of the quad only above.
  uint32_t context(int qx, int qy) const {
    if (qy == 0) return (left_ & 1) | (left_ >> 1 & 1) | (left_ >> 1 & 2) | (left_ >> 1 & 4);
    const uint8_t* above = above_.data() + 1 + 2 * qx;
    return (above[-1] | above[0] ? 1u : 0u) | (left_ & 0xC ? 2u : 0u) |
           (above[1] | above[2] ? 4u : 0u);
  }
  /// A bound on the exponents of the quad that the decoder knows.
  uint32_t kappa(const Quad& quad, int qx, int qy) const {
    if (qy == 0 || std::popcount(quad.rho) < 2) return 1;
    const uint8_t* above = above_.data() + 1 + 2 * qx;
    const uint32_t largest = *std::max_element(above - 1, above + 3);
    return std::max(largest, 2u) - 1;
  }

  /// @return u of the quad
  uint32_t code_quad(int qx, int qy) {
    const Quad quad = read(qx, qy);
    const uint32_t c_q = context(qx, qy);
    left_ = quad.rho;
    here_[static_cast<size_t>(1 + 2 * qx)] = static_cast<uint8_t>(quad.exponent[1]);
    here_[static_cast<size_t>(2 + 2 * qx)] = static_cast<uint8_t>(quad.exponent[3]);
    const uint32_t least = kappa(quad, qx, qy);
    const uint32_t largest = *std::max_element(quad.exponent, quad.exponent + 4);
    const uint32_t u = std::max(largest, least) - least;
    uint32_t eps = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      if (u > 0 && quad.exponent[i] == largest) eps |= 1u << i;
    }
    const uint32_t known = streams_.put_quad(c_q, quad.rho, eps, qy == 0);
    for (uint32_t i = 0; i < 4; ++i) {
      if ((quad.rho >> i & 1) == 0) continue;
      streams_.put_value(quad.value[i], least + u - (known >> i & 1));
    }
    return u;
  }

  const HtSamples& samples_;
  const int plane_;
  HtCleanupStreams streams_;
  uint32_t left_ = 0;  ///< significant samples of the quad before
  /// [1 + x] exponents of the lowest row of the quads above, and of these.
  std::array<uint8_t, kMaxSide + 4> above_{}, here_{};
};

/// The state of the samples of a block, with a border.
class Significance {
 public:
  static constexpr uint8_t kBefore = 1;  ///< significant in the cleanup pass
  static constexpr uint8_t kNew = 2;     ///< found by SigProp

  Significance(const HtSamples& samples, int plane) : pitch_(samples.width + 2) {
    std::fill_n(state_.data(), pitch_ * (samples.height + 2), uint8_t{0});
    for (int y = 0; y < samples.height; ++y) {
      for (int x = 0; x < samples.width; ++x)
        at(x, y) = (samples.data[y * samples.stride + x] & ~kSign) >> plane != 0 ? kBefore : 0;
    }
  }
  uint8_t& at(int x, int y) { return state_[static_cast<size_t>((y + 1) * pitch_ + x + 1)]; }
  bool has_neighbour(int x, int y, bool hides_below) {
    const uint8_t* s = &at(x, y);
    int any = s[-1] | s[1] | s[-pitch_] | s[-pitch_ - 1] | s[-pitch_ + 1];
    if (!hides_below) any |= s[pitch_] | s[pitch_ - 1] | s[pitch_ + 1];
    return any != 0;
  }

 private:
  const int pitch_;
  std::array<uint8_t, (kMaxSide + 2) * 6 + 64> state_;
};

/// SigProp and MagRef of one stripe of four rows.
class RefinementPasses {
 public:
  RefinementPasses(const HtSamples& samples, int plane, bool causal, uint8_t* sig_prop,
                   uint8_t* mag_ref)
      : samples_(samples),
        plane_(plane - 1),
        causal_(causal),
        significance_(samples, plane),
        sig_prop_(sig_prop),
        mag_ref_(mag_ref, false) {}

  void run() {
    for (int y = 0; y < samples_.height; y += 4) {
      const int end = std::min(y + 4, samples_.height);
      for (int x = 0; x < samples_.width; x += 4) code_group(x, y, end);
      for (int x = 0; x < samples_.width; ++x) refine_column(x, y, end);
    }
    sig_prop_.drain();
    mag_ref_.drain();
  }
  const ForwardBits& sig_prop() const { return sig_prop_; }
  const BackwardBits& mag_ref() const { return mag_ref_; }
  int64_t sig_prop_distortion(bool reversible) const {
    return significance_distortion(plane_, reversible, num_new_, new_low_);
  }
  int64_t mag_ref_distortion(bool reversible) const {
    return refinement_distortion(plane_, reversible, num_ones_, num_zeros_, low_difference_);
  }

 private:
  uint32_t sample(int x, int y) const { return samples_.data[y * samples_.stride + x]; }
  uint32_t bit(int x, int y) const { return sample(x, y) >> plane_ & 1; }
  int64_t low_bits(int x, int y) const { return sample(x, y) & ((1u << plane_) - 1); }

  /// The members of four columns, then the signs of those that became significant.
  void code_group(int x0, int y0, int y1) {
    uint32_t signs = 0, num_signs = 0;
    for (int x = x0; x < std::min(x0 + 4, samples_.width); ++x) {
      for (int y = y0; y < y1; ++y) {
        uint8_t& state = significance_.at(x, y);
        if (state != 0 || !significance_.has_neighbour(x, y, causal_ && y == y0 + 3)) continue;
        sig_prop_.put(bit(x, y), 1);
        if (bit(x, y) == 0) continue;
        state = Significance::kNew;
        signs |= (sample(x, y) >> 31) << num_signs++;
        ++num_new_;
        new_low_ += low_bits(x, y);
      }
    }
    sig_prop_.put(signs, num_signs);
  }

  void refine_column(int x, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      if (significance_.at(x, y) != Significance::kBefore) continue;
      mag_ref_.put(bit(x, y), 1);
      ++(bit(x, y) != 0 ? num_ones_ : num_zeros_);
      low_difference_ += bit(x, y) != 0 ? low_bits(x, y) : -low_bits(x, y);
    }
  }

  const HtSamples& samples_;
  const int plane_;  ///< that is coded
  const bool causal_;
  Significance significance_;
  ForwardBits sig_prop_;
  BackwardBits mag_ref_;
  int32_t num_new_ = 0, num_ones_ = 0, num_zeros_ = 0;
  int64_t new_low_ = 0, low_difference_ = 0;
};

}  // namespace

uint32_t ht_cleanup(const HtSamples& samples, int plane, uint8_t* out) {
  HtCleanupMemory memory;
  return CleanupPass(samples, plane, memory).run(out);
}

HtCounts ht_count(const HtSamples& samples, int plane, int bit_planes, bool reversible) {
  const LeftPlanes all(bit_planes, reversible);
  HtCounts counts{};
  for (int y = 0; y < samples.height; ++y) {
    for (int x = 0; x < samples.width; ++x) {
      const uint32_t sample = samples.data[y * samples.stride + x];
      counts.total += all.term(sample);
      for (int k = 0; k < kHtNearPlanes; ++k) {
        counts.significant[k] += (sample & ~kSign) >> plane >> k > 0 ? 1 : 0;
        if (plane + k > 0) counts.left[k] += LeftPlanes(plane + k, reversible).term(sample);
      }
    }
  }
  if (plane == 0)
    counts.left[0] = static_cast<uint64_t>(samples.width * samples.height) - counts.significant[0];
  return counts;
}

HtRefinement ht_refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                           uint8_t* sig_prop, uint8_t* both) {
  uint8_t mag_ref[kMaxHtRefinementBytes];
  RefinementPasses passes(samples, plane, causal, sig_prop, mag_ref);
  passes.run();
  uint32_t both_bytes = 0;
  if (both != nullptr)
    both_bytes = join_refinement(passes.sig_prop(), sig_prop, passes.mag_ref(), mag_ref, both);
  return {end_sig_prop(passes.sig_prop(), sig_prop), both_bytes,
          passes.sig_prop_distortion(reversible), passes.mag_ref_distortion(reversible)};
}

}  // namespace cj2k::ref
