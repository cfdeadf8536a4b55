// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ht/ht_rdoq.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ht/cxt_vlc.h"
#include "core/slope.h"

namespace cj2k {
namespace {

constexpr int kFraction = 10;  ///< fractional bits of values, in units of 2^p
constexpr int kBitCost = 256;  ///< R of one bit
constexpr int kBorder = 2;     ///< samples around the block
constexpr uint32_t kSign = 0x80000000u;
/// Hardly a change saves more bits, so dearer ones are not tried.
constexpr int64_t kMostSaved = 16 * kBitCost;
/// The other quads seldom save more.
constexpr int64_t kNearSaved = 2 * kBitCost;
/// Magnitudes above stay as they are.
constexpr uint32_t kMostMagnitude = 1 << 12;

uint8_t exponent_of(uint32_t magnitude) {
  return static_cast<uint8_t>(magnitude == 0 ? 0 : std::bit_width(2 * magnitude - 1));
}
/// Whether the exponent of a magnitude falls if it goes down by one.
bool ends_exponent(uint32_t magnitude) {
  return magnitude == 1 || (magnitude > 1 && std::has_single_bit(magnitude - 1));
}

constexpr int popcount4(uint32_t bits) {
  return static_cast<int>(0x4332322132212110u >> 4 * bits & 7);
}
/// Bits of a CxtVLC codeword, less those that it saves in MagSgn.
constexpr auto make_quad_bits(const CxtVlcTable& words) {
  std::array<int8_t, 2048> bits{};
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<int8_t>(words[i].length - popcount4(words[i].known & i >> 4 & 15));
  return bits;
}
constexpr std::array<int8_t, 2048> kQuadBits[2] = {make_quad_bits(kCxtVlcOther),
                                                   make_quad_bits(kCxtVlcFirst)};
constexpr auto make_u_bits() {
  std::array<int8_t, kMaxHtExponent + 1> bits{};
  for (uint32_t u = 0; u <= kMaxHtExponent; ++u) {
    const UVlcWord word = uvlc_word(u);
    bits[u] = static_cast<int8_t>(word.prefix_bits + word.suffix_bits + word.extension_bits);
  }
  return bits;
}
constexpr std::array<int8_t, kMaxHtExponent + 1> kUBits = make_u_bits();

class Optimiser {
 public:
  Optimiser(const HtRdoqBlock& block, HtRdoqScratch& scratch)
      : block_(block),
        s_(scratch),
        wide_((block.samples.width + 1) / 2),
        high_((block.samples.height + 1) / 2),
        pitch_(2 * wide_ + 2 * kBorder),
        half_(block.coefficients == nullptr && block.plane == 0 ? 0 : 1 << (kFraction - 1)),
        lambda_(std::llround(std::ldexp(block.lambda, 2 * (kFraction - block.plane)) / kBitCost)) {
    read();
  }

  HtRdoqResult run(uint32_t* out) {
    count_bits();
    int changes = 0;
    for (int qy = 0; qy < high_; ++qy) {
      for (int qx = 0; qx < wide_; ++qx) changes += visit(qx, qy);
    }
    return changes == 0 ? HtRdoqResult{} : write(changes, out);
  }

 private:
  size_t at(int x, int y) const {
    return static_cast<size_t>((y + kBorder) * pitch_ + x + kBorder);
  }
  /// Also of quads at the sides of the block and below, which have none.
  int32_t& bits(int qx, int qy) { return s_.bits[static_cast<size_t>(qy * (wide_ + 2) + qx + 1)]; }
  uint32_t original(int x, int y) const {
    return block_.samples.data[y * block_.samples.stride + x];
  }

  void read() {
    const size_t count = at(pitch_ - kBorder, 2 * high_ + kBorder - 1);
    std::fill_n(s_.exponent.data(), count, uint8_t{0});
    std::fill_n(s_.magnitude.data(), count, 0u);
    std::fill_n(s_.value.data(), count, 0);
    const float scale = std::ldexp(block_.inverse_step, kFraction - block_.plane);
    for (int y = 0; y < block_.samples.height; ++y) {
      for (int x = 0; x < block_.samples.width; ++x) {
        const size_t i = at(x, y);
        const uint32_t magnitude = (original(x, y) & ~kSign) >> block_.plane;
        s_.magnitude[i] = magnitude;
        s_.exponent[i] = exponent_of(magnitude);
        if (magnitude <= kMostMagnitude) s_.value[i] = value_of(x, y, scale);
      }
    }
  }
  int32_t value_of(int x, int y, float scale) const {
    if (block_.coefficients == nullptr) {
      const int64_t magnitude = original(x, y) & ~kSign;
      return static_cast<int32_t>((magnitude << kFraction) >> block_.plane);
    }
    const float c = block_.coefficients[y * block_.coefficient_stride + x];
    return static_cast<int32_t>(std::fabs(c) * scale);
  }

  /// Significance of neighbours, as CleanupPass::context.
  uint32_t context(size_t i, bool first) const {
    const uint8_t* e = s_.exponent.data() + i;
    const uint8_t *left = e - 2, *low = e - 2 + pitch_, *above = e - pitch_;
    if (first) return (left[0] | low[0] ? 1u : 0u) | (left[1] ? 2u : 0u) | (low[1] ? 4u : 0u);
    return (above[-1] | above[0] ? 1u : 0u) | (left[1] | low[1] ? 2u : 0u) |
           (above[1] | above[2] ? 4u : 0u);
  }
  bool is_zero(size_t i) const {
    const uint8_t* e = s_.exponent.data() + i;
    return (e[0] | e[1] | e[pitch_] | e[pitch_ + 1]) == 0;
  }

  /// R of a quad; 0 outside of the block.
  int32_t cost(int qx, int qy) const {
    if (qx < 0 || qx >= wide_ || qy >= high_) return 0;
    const size_t i = at(2 * qx, 2 * qy);
    const uint32_t c_q = context(i, qy == 0);
    if (is_zero(i) && c_q == 0) return mel_[0];
    const uint8_t* e = s_.exponent.data() + i;
    const uint32_t exponents[4] = {e[0], e[pitch_], e[1], e[pitch_ + 1]};
    uint32_t rho = 0, largest = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      rho |= exponents[k] != 0 ? 1u << k : 0;
      largest = std::max(largest, exponents[k]);
    }
    uint32_t kappa = 1;
    if (qy > 0 && (rho & (rho - 1)) != 0) {
      const uint8_t* above = e - pitch_;
      kappa = std::max(*std::max_element(above - 1, above + 3), uint8_t{2}) - 1u;
    }
    const uint32_t bound = std::max(largest, kappa), u = bound - kappa;
    uint32_t eps = 0;
    for (uint32_t k = 0; k < 4 && u > 0; ++k) eps |= exponents[k] == largest ? 1u << k : 0;
    const int bits = kQuadBits[qy == 0 ? 1 : 0][cxt_vlc_index(c_q, rho, eps)] + kUBits[u] +
                     popcount4(rho) * static_cast<int>(bound);
    return kBitCost * bits + (c_q == 0 ? mel_[1] : 0);
  }

  /// Counts MEL events, then the bits of all quads.
  void count_bits() {
    uint32_t events[2] = {};
    for (int qy = 0; qy < high_; ++qy) {
      for (int qx = 0; qx < wide_; ++qx) {
        const size_t i = at(2 * qx, 2 * qy);
        if (context(i, qy == 0) == 0) ++events[is_zero(i) ? 0 : 1];
      }
    }
    // Half an event of each kind more, so that no cost is infinite.
    for (int kind = 0; kind < 2; ++kind)
      mel_[kind] = log_slope(2 * (events[0] + events[1]) + 2, 2 * events[kind] + 1) - kSlopeUnit;
    for (int qy = 0; qy <= high_; ++qy) {
      for (int qx = -1; qx <= wide_; ++qx) bits(qx, qy) = cost(qx, qy);
    }
  }

  /// D of a sample, if it had a magnitude.
  int64_t error(size_t i, uint32_t magnitude) const {
    const int64_t shown = magnitude == 0 ? 0 : (int64_t{magnitude} << kFraction) + half_;
    return (s_.value[i] - shown) * (s_.value[i] - shown);
  }
  void set(size_t i, uint32_t magnitude) {
    s_.magnitude[i] = magnitude;
    s_.exponent[i] = exponent_of(magnitude);
  }

  /// Gives sample k of a quad another magnitude if that lowers D + lambda R. @return whether it does
  bool try_change(int k, uint32_t to, int qx, int qy) {
    const bool is_low = (k & 1) != 0, is_right = (k & 2) != 0;
    const size_t i = at(2 * qx + (is_right ? 1 : 0), 2 * qy + (is_low ? 1 : 0));
    const uint32_t from = s_.magnitude[i];
    const int64_t added = error(i, to) - error(i, from);
    if (added >= lambda_ * kMostSaved) return false;
    set(i, to);
    // Quads whose bits may change. Only the lower samples are seen from below, two quads see each.
    struct {
      int qx, qy;
      int32_t bits;
    } near[4];
    int count = 0;
    int64_t more = 0;
    const auto look = [&](int x, int y) {
      near[count] = {x, y, cost(x, y)};
      more += near[count++].bits - bits(x, y);
    };
    look(qx, qy);
    bool pays = added + lambda_ * (more - kNearSaved) < 0;
    if (pays) {
      if ((from == 0 || to == 0) && (qy == 0 || is_right)) look(qx + 1, qy);
      if (is_low) {
        look(qx, qy + 1);
        look(is_right ? qx + 1 : qx - 1, qy + 1);
      }
      pays = added + lambda_ * more < 0;
    }
    if (!pays) {
      set(i, from);
      return false;
    }
    for (int n = 0; n < count; ++n) bits(near[n].qx, near[n].qy) = near[n].bits;
    return true;
  }

  int visit(int qx, int qy) {
    const size_t i = at(2 * qx, 2 * qy), below = i + static_cast<size_t>(pitch_);
    const size_t samples[4] = {i, below, i + 1, below + 1};
    int changes = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t magnitude = s_.magnitude[samples[k]];
      if (ends_exponent(magnitude) && magnitude <= kMostMagnitude) {
        changes += try_change(k, magnitude - 1, qx, qy) ? 1 : 0;
      } else if (magnitude == 0 && s_.value[samples[k]] > 1 << (kFraction - 1)) {
        changes += try_change(k, 1, qx, qy) ? 1 : 0;
      }
    }
    return changes;
  }

  HtRdoqResult write(int changes, uint32_t* out) {
    HtRdoqResult result{changes, true, 0};
    int64_t added = 0;
    for (int y = 0; y < block_.samples.height; ++y) {
      for (int x = 0; x < block_.samples.width; ++x) {
        const size_t i = at(x, y);
        uint32_t sample = original(x, y);
        const uint32_t before = (sample & ~kSign) >> block_.plane, after = s_.magnitude[i];
        if (after != before) {
          added += error(i, after) - error(i, before);
          sample = after < before ? ((after + 1) << block_.plane) - 1 : after << block_.plane;
          if (sample != 0) sample |= original(x, y) & kSign;
        }
        result.is_empty &= after == 0;
        out[y * block_.samples.stride + x] = sample;
      }
    }
    result.added = std::ldexp(static_cast<double>(added), 2 * (block_.plane - kFraction));
    return result;
  }

  const HtRdoqBlock& block_;
  HtRdoqScratch& s_;
  const int wide_, high_;  ///< quads
  const int pitch_;
  const int32_t half_;    ///< from a magnitude to what a decoder shows
  const int64_t lambda_;  ///< D for each unit of R
  int32_t mel_[2] = {};   ///< R of the events 0 and 1
};

}  // namespace

HtRdoqResult ht_rdoq(const HtRdoqBlock& block, HtRdoqScratch& scratch, uint32_t* out) {
  return Optimiser(block, scratch).run(out);
}

}  // namespace cj2k
