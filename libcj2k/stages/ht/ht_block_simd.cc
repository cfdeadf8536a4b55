// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The cleanup pass in two steps for each row of quads: what the quads are, for all of them at once
// with vectors; then their codewords, quad by quad.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/distortion.h"
#include "core/ht/segments.h"
#include "stages/ht/ht_block.h"
#include "stages/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stages/ht/ht_block_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CJ2K_HT_BLOCK_SIMD_ONCE
#define CJ2K_HT_BLOCK_SIMD_ONCE
namespace cj2k::simd::ht {

constexpr size_t kMaxQuads = 512;
constexpr size_t kPad = HWY_MAX_BYTES / sizeof(uint32_t);

/// A row of quads. Arrays with a `1 +` begin with the quad left of the block.
struct QuadRow {
  HWY_ALIGN uint32_t value[4][kMaxQuads + kPad];  ///< 2 (magnitude - 1) + sign
  HWY_ALIGN uint32_t u[kMaxQuads + kPad];
  HWY_ALIGN uint32_t u_max[kMaxQuads + kPad];  ///< U
  HWY_ALIGN uint32_t index[kMaxQuads + kPad];  ///< cxt_vlc_index
  HWY_ALIGN uint32_t rho[1 + kMaxQuads + kPad];
  /// Exponents of the lower samples: of these quads, and of those above.
  HWY_ALIGN uint32_t left[2][1 + kMaxQuads + kPad];
  HWY_ALIGN uint32_t right[2][1 + kMaxQuads + kPad];
  /// Samples of rows that end within a vector, or are missing.
  HWY_ALIGN uint32_t rows[2][2 * (kMaxQuads + kPad)];
};

/// CxtVlcWord in one word: codeword, length << 8, e_k << 12.
using WordTable = std::array<uint16_t, 2048>;
constexpr WordTable make_words(const CxtVlcTable& from) {
  WordTable words{};
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint16_t>(from[i].codeword | from[i].length << 8 | from[i].known << 12);
  return words;
}
constexpr WordTable kFirstWords = make_words(kCxtVlcFirst), kOtherWords = make_words(kCxtVlcOther);

constexpr std::array<UVlcWord, kMaxHtExponent + 1> make_u_words() {
  std::array<UVlcWord, kMaxHtExponent + 1> words{};
  for (uint32_t u = 0; u <= kMaxHtExponent; ++u) words[u] = uvlc_word(u);
  return words;
}
constexpr auto kUWords = make_u_words();

/// [mask << 4 | bits] the bits at the ones of a mask of four, moved together.
constexpr std::array<uint8_t, 256> make_gathered() {
  std::array<uint8_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t count = 0;
    for (uint32_t b = 0; b < 4; ++b) {
      if ((i >> 4 >> b & 1) == 0) continue;
      table[i] = static_cast<uint8_t>(table[i] | (i >> b & 1) << count++);
    }
  }
  return table;
}
constexpr std::array<uint8_t, 256> kGathered = make_gathered();

}  // namespace cj2k::simd::ht
#endif

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using ht::QuadRow;

/// The bits of 2 `magnitude` - 1; 0 for 0.
template <class DU, class V>
V exponent_of(DU du, V magnitude) {
  const hn::RebindToSigned<DU> di;
  const hn::RebindToFloat<DU> df;
  const auto odd = hn::Sub(hn::Add(magnitude, magnitude), hn::Set(du, 1));
  // Without two ones in a row, the conversion does not round up to a power of two.
  const auto sparse = hn::AndNot(hn::ShiftRight<1>(odd), odd);
  const auto as_float = hn::BitCast(du, hn::ConvertTo(df, hn::BitCast(di, sparse)));
  const auto exponent = hn::Sub(hn::ShiftRight<23>(as_float), hn::Set(du, 126));
  return hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(du)), exponent);
}

/// Fills in all of `row` but `index`. @param now  of row.left and row.right
/// Not inlined: clang 14 with -g and ThreadSanitizer crashes on it.
HWY_NOINLINE void analyse_quads(const uint32_t* top, const uint32_t* bottom, size_t quads,
                                int plane, int now, QuadRow& row) {
  const hn::ScalableTag<uint32_t> du;
  using V = hn::VFromD<decltype(du)>;
  const auto one = hn::Set(du, 1), two = hn::Set(du, 2);
  const auto zero = hn::Zero(du);
  const uint32_t* above_left = row.left[1 - now] + 1;
  const uint32_t* above_right = row.right[1 - now] + 1;
  for (size_t q = 0; q < quads; q += hn::Lanes(du)) {
    V samples[4], exponents[4];
    hn::LoadInterleaved2(du, top + 2 * q, samples[0], samples[2]);
    hn::LoadInterleaved2(du, bottom + 2 * q, samples[1], samples[3]);
    auto rho = zero, largest = zero;
    for (uint32_t i = 0; i < 4; ++i) {
      const auto magnitude =
          hn::ShiftRightSame(hn::And(samples[i], hn::Set(du, 0x7FFFFFFF)), plane);
      const auto less = hn::Sub(magnitude, one);
      hn::StoreU(hn::Add(hn::Add(less, less), hn::ShiftRight<31>(samples[i])), du,
                 row.value[i] + q);
      exponents[i] = exponent_of(du, magnitude);
      rho = hn::Or(rho, hn::IfThenZeroElse(hn::Eq(magnitude, zero), hn::Set(du, 1u << i)));
      largest = hn::Max(largest, exponents[i]);
    }
    const auto above =
        hn::Max(hn::Max(hn::LoadU(du, above_right + q - 1), hn::LoadU(du, above_left + q)),
                hn::Max(hn::LoadU(du, above_right + q), hn::LoadU(du, above_left + q + 1)));
    const auto is_single = hn::Eq(hn::And(rho, hn::Sub(rho, one)), zero);
    const auto kappa = hn::IfThenElse(is_single, one, hn::Sub(hn::Max(above, two), one));
    const auto u_max = hn::Max(largest, kappa);
    const auto u = hn::Sub(u_max, kappa);
    auto eps = zero;
    for (uint32_t i = 0; i < 4; ++i)
      eps = hn::Or(eps, hn::IfThenElseZero(hn::Eq(exponents[i], largest), hn::Set(du, 1u << i)));
    eps = hn::IfThenZeroElse(hn::Eq(u, zero), eps);
    hn::StoreU(u, du, row.u + q);
    hn::StoreU(u_max, du, row.u_max + q);
    hn::StoreU(rho, du, row.rho + 1 + q);
    hn::StoreU(hn::Or(hn::ShiftLeft<4>(rho), eps), du, row.index + q);
    hn::StoreU(exponents[1], du, row.left[now] + 1 + q);
    hn::StoreU(exponents[3], du, row.right[now] + 1 + q);
  }
}

/// Adds the contexts to row.index.
void add_contexts(size_t quads, bool first, int now, QuadRow& row) {
  const hn::ScalableTag<uint32_t> du;
  const auto zero = hn::Zero(du);
  const uint32_t* above_left = row.left[1 - now] + 1;
  const uint32_t* above_right = row.right[1 - now] + 1;
  for (size_t q = 0; q < quads; q += hn::Lanes(du)) {
    const auto before = hn::LoadU(du, row.rho + q);
    auto context = zero;
    if (first) {
      const auto left = hn::And(hn::Or(before, hn::ShiftRight<1>(before)), hn::Set(du, 1));
      context = hn::Or(left, hn::And(hn::ShiftRight<1>(before), hn::Set(du, 6)));
    } else {
      const auto flag = [&](auto of, uint32_t bit) {
        return hn::IfThenZeroElse(hn::Eq(of, zero), hn::Set(du, bit));
      };
      const auto west = hn::Or(hn::LoadU(du, above_right + q - 1), hn::LoadU(du, above_left + q));
      const auto east = hn::Or(hn::LoadU(du, above_right + q), hn::LoadU(du, above_left + q + 1));
      context =
          hn::Or(flag(west, 1), hn::Or(flag(hn::And(before, hn::Set(du, 0xC)), 2), flag(east, 4)));
    }
    const auto index = hn::Or(hn::LoadU(du, row.index + q), hn::ShiftLeft<8>(context));
    hn::StoreU(index, du, row.index + q);
  }
}

HWY_INLINE uint32_t low_bits(uint32_t value, uint32_t count) {
  return static_cast<uint32_t>(value & ((uint64_t{1} << count) - 1));
}

/// Codes the values of one quad. @param known  e_k
HWY_INLINE void put_values(const QuadRow& row, size_t q, uint32_t rho, uint32_t known,
                           HtCleanupStreams& streams) {
  const uint32_t u_max = row.u_max[q];
  constexpr uint32_t kFourTogether = 8;
  uint32_t bits = 0, count = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t here = (u_max - (known >> i & 1)) & (0 - (rho >> i & 1));
    if (u_max > kFourTogether) {
      streams.put_mag_sgn(low_bits(row.value[i][q], here), here);
    } else {
      bits |= static_cast<uint32_t>(uint64_t{low_bits(row.value[i][q], here)} << count);
      count += here;
    }
  }
  if (count > 0) streams.put_mag_sgn(bits, count);
}

/// Codes the quads of a row in pairs.
void code_quads(const QuadRow& row, size_t quads, bool first, HtCleanupStreams& streams) {
  const ht::WordTable& table = first ? ht::kFirstWords : ht::kOtherWords;
  for (size_t q = 0; q < quads; q += 2) {
    uint32_t bits = 0, count = 0, u[2] = {row.u[q], 0};
    const size_t pair = std::min<size_t>(quads - q, 2);
    for (size_t i = 0; i < pair; ++i) {
      const uint32_t index = row.index[q + i], rho = index >> 4 & 15;
      u[i] = row.u[q + i];
      if (index < 0x100) streams.put_event(rho != 0);
      const uint32_t word = table[index];
      bits |= (word & 0xFF) << count;
      count += word >> 8 & 15;
      if (rho != 0) put_values(row, q + i, rho, word >> 12, streams);
    }
    if (first && u[0] > 0 && u[1] > 0) {
      streams.put_vlc(bits, count);
      streams.put_u_pair(u[0], u[1], true);
      continue;
    }
    const UVlcWord &a = ht::kUWords[u[0]], &b = ht::kUWords[u[1]];
    bits |= static_cast<uint32_t>(a.prefix) << count;
    count += a.prefix_bits;
    bits |= static_cast<uint32_t>(b.prefix) << count;
    count += b.prefix_bits;
    streams.put_vlc(bits, count);
    const uint32_t more = a.suffix_bits + b.suffix_bits;
    if (more > 0)
      streams.put_vlc(a.suffix | static_cast<uint32_t>(b.suffix) << a.suffix_bits, more);
  }
}

uint32_t cleanup(const HtSamples& samples, int plane, uint8_t* out) {
  const hn::ScalableTag<uint32_t> du;
  HtCleanupMemory memory;
  HtCleanupStreams streams(memory);
  QuadRow row;
  const auto width = static_cast<size_t>(samples.width);
  const size_t quads = (width + 1) / 2;
  const bool whole = width % (2 * hn::Lanes(du)) == 0;
  std::memset(row.left, 0, sizeof row.left);
  std::memset(row.right, 0, sizeof row.right);
  row.rho[0] = 0;
  if (!whole || samples.height % 2 != 0) std::memset(row.rows, 0, sizeof row.rows);
  int now = 0;
  for (int y = 0; y < samples.height; y += 2, now = 1 - now) {
    const uint32_t* lines[2] = {samples.data + y * samples.stride, row.rows[1]};
    if (y + 1 < samples.height) {
      lines[1] = lines[0] + samples.stride;
    } else {
      std::memset(row.rows[1], 0, sizeof row.rows[1]);
    }
    if (!whole) {
      for (int i = 0; i < 2; ++i) {
        if (lines[i] == row.rows[i]) continue;
        std::memcpy(row.rows[i], lines[i], width * sizeof(uint32_t));
        lines[i] = row.rows[i];
      }
    }
    analyse_quads(lines[0], lines[1], quads, plane, now, row);
    add_contexts(quads, y == 0, now, row);
    code_quads(row, quads, y == 0, streams);
  }
  return streams.finish(out);
}

/// SigProp and MagRef, column by column of stripes of four rows.
class Refinement {
 public:
  Refinement(const HtSamples& samples, int plane, bool causal, uint8_t* sig_prop, uint8_t* mag_ref)
      : samples_(samples),
        plane_(plane - 1),
        causal_(causal),
        sig_prop_(sig_prop),
        mag_ref_(mag_ref, false) {}

  void run() {
    std::memset(before_, 0, sizeof before_);
    for (int y = 0; y < samples_.height; y += 4) {
      read_stripe(y);
      for (int x = 0; x < samples_.width; x += 4) code_group(x, y);
      for (int x = 0; x < samples_.width; ++x) {
        const uint32_t mask = significant_[x];
        mag_ref_.put(ht::kGathered[mask << 4 | bits_[x]], kCounts[mask]);
      }
      // Row 3 is above row 0 of the next stripe.
      for (int x = 0; x < samples_.width; ++x)
        before_[x] = static_cast<uint8_t>(states_[1 + x] >> 4 & 1);
    }
    sig_prop_.drain();
    mag_ref_.drain();
  }
  ForwardBits& sig_prop() { return sig_prop_; }
  BackwardBits& mag_ref() { return mag_ref_; }
  int64_t sig_prop_distortion(bool reversible) const {
    return significance_distortion(plane_, reversible, num_new_, new_low_);
  }
  int64_t mag_ref_distortion(bool reversible) const {
    return refinement_distortion(plane_, reversible, num_ones_, num_refined_ - num_ones_,
                                 low_difference_);
  }

 private:
  static constexpr uint8_t kCounts[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  static constexpr size_t kColumns = 1024;

  /// Rows -1 .. 4 of the stripe are bits 0 .. 5 of a state.
  void read_stripe(int y0) {
    const int width = samples_.width;
    std::memset(states_, 0, static_cast<size_t>(width) + 2);
    std::memset(significant_, 0, static_cast<size_t>(width));
    std::memset(bits_, 0, static_cast<size_t>(width));
    const int rows = std::min(4, samples_.height - y0);
    for (int r = 0; r < rows; ++r) read_row(samples_.data + (y0 + r) * samples_.stride, r);
    for (int x = 0; x < width; ++x)
      states_[1 + x] = static_cast<uint8_t>(before_[x] | significant_[x] << 1);
    if (causal_ || y0 + 4 >= samples_.height) return;
    const uint32_t* below = samples_.data + (y0 + 4) * samples_.stride;
    for (int x = 0; x < width; ++x) {
      const bool is = (below[x] & 0x7FFFFFFF) >> (plane_ + 1) != 0;
      states_[1 + x] = static_cast<uint8_t>(states_[1 + x] | (is ? 0x20 : 0));
    }
  }
  void read_row(const uint32_t* row, int r) {
    const uint32_t low_mask = (1u << plane_) - 1;
    int32_t ones = 0, refined = 0;
    int64_t difference = 0;
    for (int x = 0; x < samples_.width; ++x) {
      const uint32_t magnitude = row[x] & 0x7FFFFFFF;
      const uint32_t is = magnitude >> (plane_ + 1) != 0 ? 1 : 0, bit = magnitude >> plane_ & 1;
      significant_[x] = static_cast<uint8_t>(significant_[x] | is << r);
      bits_[x] = static_cast<uint8_t>(bits_[x] | bit << r);
      refined += static_cast<int32_t>(is);
      ones += static_cast<int32_t>(is & bit);
      const auto low = static_cast<int32_t>(magnitude & low_mask & (0 - is));
      difference += bit != 0 ? low : -low;
    }
    num_refined_ += refined;
    num_ones_ += ones;
    low_difference_ += difference;
  }

  void code_group(int x0, int y0) {
    const int end = std::min(x0 + 4, samples_.width);
    const uint32_t rows = samples_.height - y0 >= 4 ? 0x1E : (2u << (samples_.height - y0)) - 2;
    uint32_t found = 0, count = 0, signs = 0, num_signs = 0;
    for (int x = x0; x < end; ++x) {
      uint32_t state = states_[1 + x];
      const uint32_t open = ~state & rows;
      const uint32_t near = states_[x] | state | states_[2 + x];
      uint32_t members = (near | near << 1 | near >> 1) & open;
      // A sample that is found makes the one below it a member.
      for (uint32_t left = members; left != 0;) {
        const uint32_t one = left & (0 - left);
        left &= left - 1;
        const uint32_t bit = (bits_[x] << 1 & one) != 0 ? 1 : 0;
        found |= bit << count++;
        if (bit == 0) continue;
        state |= one;
        const uint32_t next = one << 1 & open & ~members;
        members |= next;
        left |= next;
        signs |= note_new(x, y0, one) << num_signs++;
      }
      states_[1 + x] = static_cast<uint8_t>(state);
    }
    sig_prop_.put(found, count);
    sig_prop_.put(signs, num_signs);
  }
  /// @param row  of the stripe, as a bit of a state. @return the sign
  uint32_t note_new(int x, int y0, uint32_t row) {
    int r = 0;
    while ((row >> (r + 1)) != 1) ++r;
    const uint32_t sample = samples_.data[(y0 + r) * samples_.stride + x];
    ++num_new_;
    new_low_ += sample & ((1u << plane_) - 1);
    return sample >> 31;
  }

  const HtSamples& samples_;
  const int plane_;  ///< that is coded
  const bool causal_;
  ForwardBits sig_prop_;
  BackwardBits mag_ref_;
  int32_t num_new_ = 0, num_ones_ = 0, num_refined_ = 0;
  int64_t new_low_ = 0, low_difference_ = 0;
  uint8_t states_[kColumns + 2];   ///< [1 + x]
  uint8_t significant_[kColumns];  ///< in the cleanup pass, rows as bits 0 .. 3
  uint8_t bits_[kColumns];         ///< of the plane, likewise
  uint8_t before_[kColumns];       ///< the last row of the stripe before
};

HtRefinement refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                        uint8_t* sig_prop, uint8_t* both) {
  uint8_t mag_ref[kMaxHtRefinementBytes];
  Refinement passes(samples, plane, causal, sig_prop, mag_ref);
  passes.run();
  const uint32_t both_bytes =
      join_refinement(passes.sig_prop(), sig_prop, passes.mag_ref(), mag_ref, both);
  return {end_sig_prop(passes.sig_prop(), sig_prop), both_bytes,
          passes.sig_prop_distortion(reversible), passes.mag_ref_distortion(reversible)};
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(cleanup);
HWY_EXPORT(refinement);
HWY_EXPORT(target);
}  // namespace

uint32_t ht_cleanup(const HtSamples& samples, int plane, uint8_t* out) {
  return HWY_DYNAMIC_DISPATCH(cleanup)(samples, plane, out);
}

HtRefinement ht_refinement(const HtSamples& samples, int plane, bool causal, bool reversible,
                           uint8_t* sig_prop, uint8_t* both) {
  return HWY_DYNAMIC_DISPATCH(refinement)(samples, plane, causal, reversible, sig_prop, both);
}

int64_t ht_block_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
