// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context modelling with all samples of a bit-plane in parallel.
//
// A block is held as bit-planes of 64-bit words in scan order. A word is 16 columns of one stripe;
// the sample of a column and a row of the stripe is bit 4 * column + row. So ascending bits are in
// the order of a coding pass. The sample above or below is 1 bit away, the sample to the left or
// right 4 bits. The words of a stripe are contiguous and followed by one zero word. There is a zero
// stripe above the block and one below it:
//
//     index(stripe, word) = 1 + (stripe + 1) * pitch + word,   pitch = ceil(width / 16) + 1
//
// These masks and the scan order tell which samples a pass codes, and the state of their neighbours
// at that moment (sample-parallel context modelling, where S and N are called rho and tau):
//   S  samples that are significant before the plane
//   B  bits of the plane
//   N  samples that become significant in the significance pass. They are found by growing, the
//      only step with a dependency along the scan
//   C  samples that become significant in the clean-up pass: those left over whose bit in B is 1
//
// For a neighbour that precedes a sample in scan order, the sample sees the state after the pass;
// for one that follows, the state before the pass. The sample above and the column to the left
// precede. Above row 0 is a finished stripe, so all three samples there precede. Below row 3 is the
// next stripe, so none of the three samples there precedes.
//
// This file is included once per instruction set (Highway's foreach_target.h).
#ifndef CJ2K_STAGES_TIER1_MODEL_INL_ONCE
#define CJ2K_STAGES_TIER1_MODEL_INL_ONCE

#include <cstring>

#include "coders/ebcot/tier1.h"
#include "core/distortion.h"
#include "core/ebcot/mq.h"

namespace cj2k {

/// Most words of a plane: a block of 4 x 1024 samples has 256 + 2 stripes of 2 words. kSlackWords
/// is what a vector may read beyond the last word.
inline constexpr int kMaxWords = 1 + 258 * 2;
inline constexpr int kSlackWords = 16;
inline constexpr int kWords = kMaxWords + kSlackWords;
/// Most symbols of one pass: 10 per stripe column (run, 2 position bits, sign, 3 x (bit, sign)),
/// the 4 of SEGSYM, and slack for stores of whole vectors.
inline constexpr int kMaxPassSymbols = kMaxBlockSamples / 4 * 10 + 4 * kMaxBlockSide + 4 + 192;

using WordPlane = uint64_t[kWords];

struct Tier1Scratch::Impl {
  alignas(64) WordPlane planes[kMaxBitPlanes];
  alignas(64) WordPlane sign, valid;
  alignas(64) WordPlane s, n, a, e;  ///< S; N; A = S | N; E = A | C
  /// Samples that the significance pass codes; samples that were refined at least once.
  alignas(64) WordPlane members, refined;
  alignas(64) WordPlane zero_label[4];  ///< bits of the zero-coding (or run, refinement) label
  alignas(64) WordPlane sign_label[3];  ///< bits of the sign-coding label
  alignas(64) WordPlane sign_bit;       ///< decision of sign coding
  /// Samples that code a bit; with a run of four zeros, the first sample of the stripe column.
  alignas(64) WordPlane zc_mask;
  alignas(64) WordPlane sc_mask;    ///< samples that code a sign
  alignas(64) WordPlane run_break;  ///< the first sample with bit 1 in a stripe column in run mode
  mq::Symbol symbols[kMaxPassSymbols];
};

}  // namespace cj2k

#endif

#if defined(CJ2K_STAGES_TIER1_MODEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CJ2K_STAGES_TIER1_MODEL_INL
#undef CJ2K_STAGES_TIER1_MODEL_INL
#else
#define CJ2K_STAGES_TIER1_MODEL_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr uint64_t kRow0 = 0x1111111111111111u;
constexpr uint64_t kRow3 = 0x8888888888888888u;

struct Layout {
  int pitch, words_wide, stripes;
  int begin, end;  ///< range of the indices of all words, zero words between stripes included
};

using D64 = hn::ScalableTag<uint64_t>;
using V64 = hn::Vec<D64>;

HWY_INLINE V64 load(const uint64_t* p) { return hn::LoadU(D64(), p); }
HWY_INLINE void store(V64 v, uint64_t* p) { hn::StoreU(v, D64(), p); }
/// For each sample, the sample to its left (right).
HWY_INLINE V64 left_column(const uint64_t* p) {
  return hn::Or(hn::ShiftLeft<4>(load(p)), hn::ShiftRight<60>(load(p - 1)));
}
HWY_INLINE V64 right_column(const uint64_t* p) {
  return hn::Or(hn::ShiftRight<4>(load(p)), hn::ShiftLeft<60>(load(p + 1)));
}

/// Masks of the first and last row of the stripes. `row3_open` is the mask of row 3, or 0 with VSC,
/// where a sample sees nothing below its stripe.
struct Rows {
  V64 row0, row3, row3_open;
};
/// For each sample, the sample above (below) it: from the same column of the stripe, or from row 3
/// (row 0) of the stripe above (below).
HWY_INLINE V64 above(const Rows& r, V64 same, V64 stripe_above) {
  return hn::Or(hn::AndNot(r.row0, hn::ShiftLeft<1>(same)),
                hn::And(hn::ShiftRight<3>(stripe_above), r.row0));
}
HWY_INLINE V64 below(const Rows& r, V64 same, V64 stripe_below) {
  return hn::Or(hn::AndNot(r.row3, hn::ShiftRight<1>(same)),
                hn::And(hn::ShiftLeft<3>(stripe_below), r.row3_open));
}

/// Significance of the eight neighbours as each sample sees it: `pre` for neighbours that precede
/// it in scan order, `post` for those that follow.
struct Neighbours {
  V64 left, right, up, down, left_up, left_down, right_up, right_down;
};
HWY_INLINE Neighbours neighbours(const Rows& r, const uint64_t* pre, const uint64_t* post, int i,
                                 int pitch) {
  const V64 left = left_column(pre + i), right = right_column(post + i);
  return {left,
          right,
          above(r, load(pre + i), load(pre + i - pitch)),
          below(r, load(post + i), load(post + i + pitch)),
          above(r, left, left_column(pre + i - pitch)),
          below(r, left, left_column(post + i + pitch)),
          above(r, right, right_column(pre + i - pitch)),
          below(r, right, right_column(post + i + pitch))};
}

/// Table D.1 on bit-planes. In the names, h: row neighbours, v: column neighbours, p and q:
/// diagonal neighbours above and below. h2: both are significant; h1: exactly one is.
HWY_INLINE void zero_labels(const Neighbours& n, Orientation orientation, V64* label) {
  V64 h1 = hn::Xor(n.left, n.right), h2 = hn::And(n.left, n.right);
  V64 v1 = hn::Xor(n.up, n.down), v2 = hn::And(n.up, n.down);
  const V64 p1 = hn::Xor(n.left_up, n.right_up), p2 = hn::And(n.left_up, n.right_up);
  const V64 q1 = hn::Xor(n.left_down, n.right_down), q2 = hn::And(n.left_down, n.right_down);
  const V64 p = hn::Or(p1, p2), q = hn::Or(q1, q2);
  const V64 d_any = hn::Or(p, q);
  const V64 d_two = hn::Or(hn::Or(p2, q2), hn::And(p, q));  // at least two diagonal neighbours
  if (orientation == kHH) {
    const V64 d_three = hn::Or(hn::And(p2, q), hn::And(q2, p));
    const V64 h = hn::Or(h1, h2), v = hn::Or(v1, v2);
    const V64 hv_any = hn::Or(h, v);
    const V64 hv_two = hn::Or(hn::Or(h2, v2), hn::And(h, v));
    const V64 d_one = hn::AndNot(d_two, d_any), d_exact_two = hn::AndNot(d_three, d_two);
    // 8: d >= 3; 7, 6: d = 2; 5, 4, 3: d = 1; 2, 1, 0: d = 0
    label[3] = d_three;
    label[2] = hn::Or(d_exact_two, hn::And(d_one, hv_any));
    label[1] = hn::Or(d_exact_two, hn::Or(hn::AndNot(hv_any, d_one), hn::AndNot(d_any, hv_two)));
    label[0] =
        hn::Or(hn::And(d_exact_two, hv_any), hn::Or(hn::And(d_one, hn::Or(hv_two, hn::Not(hv_any))),
                                                    hn::AndNot(hn::Or(d_any, hv_two), hv_any)));
    return;
  }
  if (orientation == kHL) {
    const V64 t1 = h1, t2 = h2;
    h1 = v1, h2 = v2, v1 = t1, v2 = t2;
  }
  const V64 h = hn::Or(h1, h2), v = hn::Or(v1, v2);
  const V64 d_exact_one = hn::AndNot(d_two, d_any);
  // 8: h = 2; 7: h = 1, v; 6: h = 1, d; 5: h = 1; 4: v = 2; 3: v = 1; 2: d >= 2; 1: d = 1
  label[3] = h2;
  label[2] = hn::Or(h1, hn::AndNot(h, v2));
  label[1] = hn::Or(hn::And(h1, hn::Or(v, d_any)), hn::AndNot(h, hn::Or(v1, hn::AndNot(v, d_two))));
  label[0] = hn::Or(hn::And(h1, hn::Or(v, hn::Not(d_any))),
                    hn::AndNot(h, hn::Or(v1, hn::AndNot(v, d_exact_one))));
}

/// Tables D.2 and D.3 on bit-planes. `x_*` are the signs of the four neighbours.
HWY_INLINE void sign_labels(const Neighbours& n, V64 x_left, V64 x_right, V64 x_up, V64 x_down,
                            V64* label, V64* flip) {
  const auto contribution = [](V64 a, V64 xa, V64 b, V64 xb, V64* plus, V64* minus) HWY_ATTR {
    const V64 a_minus = hn::And(a, xa), a_plus = hn::AndNot(xa, a);
    const V64 b_minus = hn::And(b, xb), b_plus = hn::AndNot(xb, b);
    *plus = hn::Or(hn::AndNot(b_minus, a_plus), hn::AndNot(a_minus, b_plus));
    *minus = hn::Or(hn::AndNot(b_plus, a_minus), hn::AndNot(a_plus, b_minus));
  };
  V64 h_plus, h_minus, v_plus, v_minus;
  contribution(n.left, x_left, n.right, x_right, &h_plus, &h_minus);
  contribution(n.up, x_up, n.down, x_down, &v_plus, &v_minus);
  const V64 h = hn::Or(h_plus, h_minus), v = hn::Or(v_plus, v_minus);
  const V64 alike = hn::Or(hn::And(h_plus, v_plus), hn::And(h_minus, v_minus));
  // 4: same signs; 3: h alone; 2: opposite signs; 1: v alone
  label[2] = alike;
  label[1] = hn::AndNot(alike, h);
  label[0] = hn::Xor(h, v);
  *flip = hn::Or(h_minus, hn::AndNot(h, v_minus));
}

/// The samples of a word, of which it makes bit-planes.
class WordSamples {
 public:
  using D = hn::CappedTag<uint32_t, 16>;

  /// Takes 16 columns of a stripe.
  /// @param bit_planes  bits(p) then has p of 0 .. bit_planes - 1, and 31
  /// @param row         Vec<D>(int x, int y): the samples from column x on; a callable with HWY_ATTR
  template <typename Row>
  HWY_INLINE void take(int bit_planes, const Row& row) {
    const D d;
    for (size_t x = 0; x < 16; x += hn::Lanes(d)) {
      const int column = static_cast<int>(x);
      const auto row0 = row(column, 0), row1 = row(column, 1);
      const auto row2 = row(column, 2), row3 = row(column, 3);
      // The four bytes of a lane, from the lowest up, are a column of the stripe.
      const auto store_byte = [&](int byte) HWY_ATTR {
        const auto part = [&](auto v) HWY_ATTR {
          return hn::And(hn::ShiftRightSame(v, 8 * byte), hn::Set(d, 255));
        };
        const auto low = hn::Or(part(row0), hn::ShiftLeft<8>(part(row1)));
        const auto high = hn::Or(part(row2), hn::ShiftLeft<8>(part(row3)));
        hn::Store(hn::Or(low, hn::ShiftLeft<16>(high)), d, scan_[byte] + x);
      };
      for (int p = 0; p < bit_planes; p += 8) store_byte(p / 8);
      store_byte(31 / 8);
    }
  }

  /// Bits `p` of the samples.
  HWY_INLINE uint64_t bits(int p) const {
    const hn::CappedTag<uint8_t, 64> d;
    const auto* scan = reinterpret_cast<const uint8_t*>(scan_[p / 8]);
    const auto bit = hn::Set(d, static_cast<uint8_t>(1u << p % 8));
    uint64_t bits = 0;
    for (size_t k = 0; k < 64; k += hn::Lanes(d)) {
      uint8_t packed[8] = {};
      hn::StoreMaskBits(d, hn::TestBit(hn::Load(d, scan + k), bit), packed);
      uint64_t group;
      std::memcpy(&group, packed, sizeof group);
      bits |= group << k;
    }
    return bits;
  }

 private:
  alignas(64) uint32_t scan_[4][16];  ///< 64 bytes in scan order, of each byte of a sample
};

/// Makes the bit-planes in scan order from the row-major samples.
void load_planes(const Tier1Block& block, const Layout& layout, Tier1Scratch::Impl& z) {
  const WordSamples::D d;
  const size_t words = static_cast<size_t>(layout.end + layout.pitch + kSlackWords / 2);
  const size_t bytes = words * sizeof(uint64_t);
  for (int p = 0; p < block.bit_planes; ++p) std::memset(z.planes[p], 0, bytes);
  for (uint64_t* plane : {z.sign, z.valid, z.s, z.n, z.a, z.e, z.members, z.refined})
    std::memset(plane, 0, bytes);

  const uint64_t last_columns =
      block.width % 16 == 0 ? ~uint64_t{0} : (uint64_t{1} << (block.width % 16 * 4)) - 1;
  WordSamples samples;
  for (int stripe = 0; stripe < layout.stripes; ++stripe) {
    const int rows = block.height - 4 * stripe < 4 ? block.height - 4 * stripe : 4;
    const uint64_t row_mask = kRow0 * ((1u << rows) - 1);
    for (int w = 0; w < layout.words_wide; ++w) {
      const int i = layout.begin + stripe * layout.pitch + w;
      const uint64_t valid = row_mask & (w + 1 == layout.words_wide ? last_columns : ~uint64_t{0});
      z.valid[i] = valid;
      const uint32_t* src = block.samples + 4 * stripe * block.stride + 16 * w;
      samples.take(block.bit_planes, [&](int x, int y) HWY_ATTR {
        return y < rows ? hn::LoadU(d, src + y * block.stride + x) : hn::Zero(d);
      });
      for (int p = 0; p < block.bit_planes; ++p) z.planes[p][i] = samples.bits(p) & valid;
      z.sign[i] = samples.bits(31) & valid;
    }
  }
}

/// Finds N, the members of the significance pass, and A = S | N. Sequential over words, because
/// each word needs the N of the word before it.
void grow_significance(const Layout& layout, bool vsc, const uint64_t* bits,
                       Tier1Scratch::Impl& z) {
  const uint64_t row3_open = vsc ? 0 : kRow3;
  const auto spread = [](uint64_t column) {
    return column | (column << 1 & ~kRow0) | (column >> 1 & ~kRow3);
  };
  for (int stripe = 0; stripe < layout.stripes; ++stripe) {
    uint64_t carry = 0;  // N of the column left of the word
    for (int w = 0; w < layout.words_wide; ++w) {
      const int i = layout.begin + stripe * layout.pitch + w;
      const int up = i - layout.pitch, down = i + layout.pitch;
      const uint64_t s = z.s[i];
      const uint64_t left = s << 4 | z.s[i - 1] >> 60, right = s >> 4 | z.s[i + 1] << 60;
      const uint64_t three = s | left | right;
      const uint64_t three_up =
          z.a[up] | z.a[up] << 4 | z.a[up - 1] >> 60 | z.a[up] >> 4 | z.a[up + 1] << 60;
      const uint64_t three_down =
          z.s[down] | z.s[down] << 4 | z.s[down - 1] >> 60 | z.s[down] >> 4 | z.s[down + 1] << 60;
      uint64_t near = left | right | (three << 1 & ~kRow0) | (three >> 1 & ~kRow3) |
                      (three_up >> 3 & kRow0) | (three_down << 3 & row3_open) |
                      (spread(carry) & 0xF);
      const uint64_t insignificant = z.valid[i] & ~s;
      const uint64_t candidates = bits[i] & insignificant;
      uint64_t n = candidates & near;
      uint64_t reach = 0;
      if (n != 0) {
        while (true) {
          reach = spread(n << 4) | (n << 1 & ~kRow0);
          const uint64_t grown = n | (candidates & reach);
          if (grown == n) break;
          n = grown;
        }
      }
      z.n[i] = n;
      z.a[i] = s | n;
      z.members[i] = insignificant & (near | reach);
      carry = n >> 60;
    }
  }
}

void model_significance(const Layout& layout, Orientation orientation, bool vsc, bool raw,
                        Tier1Scratch::Impl& z) {
  const D64 d;
  const Rows rows{hn::Set(d, kRow0), hn::Set(d, kRow3), hn::Set(d, vsc ? 0 : kRow3)};
  for (int i = layout.begin; i < layout.end; i += static_cast<int>(hn::Lanes(d))) {
    const Neighbours n = neighbours(rows, z.a, z.s, i, layout.pitch);
    V64 zero[4], sign[3], flip;
    zero_labels(n, orientation, zero);
    for (int k = 0; k < 4; ++k) store(zero[k], z.zero_label[k] + i);
    const V64 x = load(z.sign + i);
    if (raw) {
      store(x, z.sign_bit + i);
      continue;
    }
    sign_labels(n, left_column(z.sign + i), right_column(z.sign + i),
                above(rows, x, load(z.sign + i - layout.pitch)),
                below(rows, x, load(z.sign + i + layout.pitch)), sign, &flip);
    for (int k = 0; k < 3; ++k) store(sign[k], z.sign_label[k] + i);
    store(hn::Xor(x, flip), z.sign_bit + i);
  }
}

void model_refinement(const Layout& layout, bool vsc, Tier1Scratch::Impl& z) {
  const D64 d;
  const Rows rows{hn::Set(d, kRow0), hn::Set(d, kRow3), hn::Set(d, vsc ? 0 : kRow3)};
  for (int i = layout.begin; i < layout.end; i += static_cast<int>(hn::Lanes(d))) {
    const Neighbours n = neighbours(rows, z.a, z.a, i, layout.pitch);
    const V64 any =
        hn::Or(hn::Or(hn::Or(n.left, n.right), hn::Or(n.up, n.down)),
               hn::Or(hn::Or(n.left_up, n.left_down), hn::Or(n.right_up, n.right_down)));
    const V64 s = load(z.s + i), refined = load(z.refined + i);
    // kRefine = 9. Label 1001b: first refinement, no significant neighbour. 1010b: first
    // refinement, some significant neighbour. 1011b: refined before.
    store(s, z.zero_label[3] + i);
    store(hn::Zero(d), z.zero_label[2] + i);
    store(hn::Or(refined, any), z.zero_label[1] + i);
    store(hn::Or(refined, hn::Not(any)), z.zero_label[0] + i);
    store(hn::Or(refined, s), z.refined + i);
  }
}

/// Models the clean-up pass, which codes all samples that are not in S and not members of the
/// significance pass. Also makes E and the masks of run mode (D.3.4).
void model_cleanup(const Layout& layout, Orientation orientation, bool vsc, const uint64_t* bits,
                   Tier1Scratch::Impl& z) {
  const D64 d;
  const Rows rows{hn::Set(d, kRow0), hn::Set(d, kRow3), hn::Set(d, vsc ? 0 : kRow3)};
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = layout.begin; i < layout.end; i += lanes) {
    const V64 left_over = hn::AndNot(hn::Or(load(z.s + i), load(z.members + i)), load(z.valid + i));
    const V64 c = hn::And(left_over, load(bits + i));
    store(left_over, z.zc_mask + i);
    store(c, z.sc_mask + i);
    store(hn::Or(load(z.a + i), c), z.e + i);
  }
  for (int i = layout.begin; i < layout.end; i += lanes) {
    const Neighbours n = neighbours(rows, z.e, z.a, i, layout.pitch);
    V64 zero[4], sign[3], flip;
    zero_labels(n, orientation, zero);
    const V64 x = load(z.sign + i);
    sign_labels(n, left_column(z.sign + i), right_column(z.sign + i),
                above(rows, x, load(z.sign + i - layout.pitch)),
                below(rows, x, load(z.sign + i + layout.pitch)), sign, &flip);
    for (int k = 0; k < 3; ++k) store(sign[k], z.sign_label[k] + i);
    store(hn::Xor(x, flip), z.sign_bit + i);

    // A stripe column is in run mode if all four samples are left over and nothing around them is
    // significant when the scan reaches it. Its own four samples are not significant then, so in
    // this column only the stripes above and below count.
    const V64 left_over = load(z.zc_mask + i), c = load(z.sc_mask + i);
    const V64 own_column =
        hn::Or(hn::And(hn::ShiftRight<3>(load(z.e + i - layout.pitch)), rows.row0),
               hn::And(hn::ShiftLeft<3>(load(z.a + i + layout.pitch)), rows.row3_open));
    const V64 around =
        hn::Or(hn::Or(hn::Or(n.left, n.right), own_column),
               hn::Or(hn::Or(n.left_up, n.left_down), hn::Or(n.right_up, n.right_down)));
    const V64 quiet = hn::AndNot(around, left_over);
    const V64 quiet2 = hn::And(quiet, hn::ShiftRight<1>(quiet));
    const V64 run0 = hn::And(hn::And(quiet2, hn::ShiftRight<2>(quiet2)), rows.row0);
    const V64 run01 = hn::Or(run0, hn::ShiftLeft<1>(run0));
    const V64 run = hn::Or(run01, hn::ShiftLeft<2>(run01));
    // The rows below the first 1 of the column. If that 1 breaks a run, all of them code a bit.
    const V64 after1 = hn::AndNot(rows.row0, hn::ShiftLeft<1>(c));
    const V64 after2 = hn::Or(after1, hn::AndNot(rows.row0, hn::ShiftLeft<1>(after1)));
    const V64 after = hn::Or(after2, hn::AndNot(rows.row0, hn::ShiftLeft<1>(after2)));
    const V64 c2 = hn::Or(c, hn::ShiftRight<1>(c));
    const V64 whole_run =
        hn::AndNot(hn::Or(c2, hn::ShiftRight<2>(c2)), run0);  // no 1 in it: one symbol
    store(hn::Or(hn::Or(hn::AndNot(run, left_over), hn::And(run, after)), whole_run),
          z.zc_mask + i);
    store(hn::And(run, hn::AndNot(after, c)), z.run_break + i);
    // kRun = 12 = 1100b. The zero-coding label of a sample in run mode is 0.
    store(zero[0], z.zero_label[0] + i);
    store(zero[1], z.zero_label[1] + i);
    store(hn::Or(zero[2], whole_run), z.zero_label[2] + i);
    store(hn::Or(zero[3], whole_run), z.zero_label[3] + i);
  }
}

/// Counts and sums for the passes of one plane, as core/distortion.h needs them.
struct PlaneSums {
  int32_t found, cleaned;  ///< samples that become significant in the significance, clean-up pass
  int32_t ones, zeros;     ///< refined samples whose bit is 1, is 0
  /// Sums of the bits below the plane: of the found samples, of the cleaned samples, and of the
  /// ones less that of the zeros.
  int64_t found_low, cleaned_low, refined_low_difference;
};

/// To be called after grow_significance. kTop: the highest plane of a block, which has only a
/// clean-up pass.
template <bool kTop>
PlaneSums plane_sums(const Layout& layout, const Tier1Scratch::Impl& z, int plane) {
  const D64 d;
  const V64 none = hn::Zero(d);
  const uint64_t* bits = z.planes[plane];
  V64 found = none, cleaned = none, ones = none, refined = none;
  V64 found_low = none, cleaned_low = none, differ_low = none;
  for (int i = layout.begin; i < layout.end; i += static_cast<int>(hn::Lanes(d))) {
    const V64 s = load(z.s + i), n = load(z.n + i), b = load(bits + i);
    const V64 c = hn::AndNot(hn::Or(s, load(z.members + i)), hn::And(b, load(z.valid + i)));
    if (hn::AllTrue(d, hn::Eq(hn::Or(hn::Or(s, n), c), none))) continue;
    cleaned = hn::Add(cleaned, hn::PopulationCount(c));
    if (!kTop) {
      found = hn::Add(found, hn::PopulationCount(n));
      refined = hn::Add(refined, hn::PopulationCount(s));
      ones = hn::Add(ones, hn::PopulationCount(hn::And(s, b)));
    }
    // Sums of the planes below by Horner's rule.
    V64 found_sum = none, cleaned_sum = none, differ_sum = none;
    for (int below = plane - 1; below >= 0; --below) {
      const V64 low = load(z.planes[below] + i);
      const auto next = [&](V64 sum, V64 members) HWY_ATTR {
        return hn::Add(hn::Add(sum, sum), hn::PopulationCount(members));
      };
      cleaned_sum = next(cleaned_sum, hn::And(c, low));
      if (kTop) continue;
      found_sum = next(found_sum, hn::And(n, low));
      differ_sum = next(differ_sum, hn::And(s, hn::Xor(b, low)));
    }
    cleaned_low = hn::Add(cleaned_low, cleaned_sum);
    found_low = hn::Add(found_low, found_sum);
    differ_low = hn::Add(differ_low, differ_sum);
  }
  const auto total = [&](V64 v) HWY_ATTR {
    return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(d, v)));
  };
  PlaneSums sums{};
  sums.cleaned = static_cast<int32_t>(total(cleaned));
  sums.cleaned_low = total(cleaned_low);
  if (kTop) return sums;
  sums.found = static_cast<int32_t>(total(found));
  sums.found_low = total(found_low);
  sums.ones = static_cast<int32_t>(total(ones));
  sums.zeros = static_cast<int32_t>(total(refined)) - sums.ones;
  // For one lower plane: its 1 bits in the ones, less its 1 bits in the zeros, are
  //   ones - (ones where it has a 0) - (zeros where it has a 1)
  // which is `ones` less the refined samples where it differs from this plane.
  sums.refined_low_difference = ((int64_t{1} << plane) - 1) * sums.ones - total(differ_low);
  return sums;
}

// ---- Symbols in scan order ----

#if HWY_TARGET == HWY_AVX3_DL
/// Byte indices that interleave the bytes of two vectors: `low` gives the first half of the result,
/// `high` the second.
struct InterleaveTable {
  uint8_t low[64], high[64];
  constexpr InterleaveTable() : low(), high() {
    for (int k = 0; k < 64; ++k) {
      low[k] = static_cast<uint8_t>(k / 2 + k % 2 * 64);
      high[k] = static_cast<uint8_t>(32 + k / 2 + k % 2 * 64);
    }
  }
};
alignas(64) inline constexpr InterleaveTable kInterleave;

/// Makes the symbols of 64 samples as bytes, bit and sign interleaved, and writes those that are
/// coded.
class WordEmitter {
 public:
  WordEmitter(const Tier1Scratch::Impl& z, int i, uint64_t bits, bool with_signs)
      : with_signs_(with_signs) {
    __m512i zero = _mm512_maskz_mov_epi8(bits, _mm512_set1_epi8(1));
    for (int k = 0; k < 4; ++k) zero = add(zero, z.zero_label[k][i], 2 << k);
    if (!with_signs) {
      low_ = zero;
      return;
    }
    __m512i sign = add(_mm512_set1_epi8(32), z.sign_bit[i], 1);
    for (int k = 0; k < 3; ++k) sign = add(sign, z.sign_label[k][i], 2 << k);
    low_ = _mm512_permutex2var_epi8(zero, _mm512_load_si512(kInterleave.low), sign);
    high_ = _mm512_permutex2var_epi8(zero, _mm512_load_si512(kInterleave.high), sign);
  }

  mq::Symbol* emit(uint64_t zc, uint64_t sc, mq::Symbol* out) const {
    if (!with_signs_) return put(low_, zc, out);
    out = put(low_, _pdep_u64(zc, kEven) | _pdep_u64(sc, ~kEven), out);
    return put(high_, _pdep_u64(zc >> 32, kEven) | _pdep_u64(sc >> 32, ~kEven), out);
  }

 private:
  static constexpr uint64_t kEven = 0x5555555555555555u;
  static __m512i add(__m512i v, uint64_t mask, int bit) {
    return _mm512_mask_add_epi8(v, mask, v, _mm512_set1_epi8(static_cast<char>(bit)));
  }
  static mq::Symbol* put(__m512i v, uint64_t mask, mq::Symbol* out) {
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(mask, v));
    return out + __builtin_popcountll(mask);
  }
  __m512i low_, high_;
  bool with_signs_;
};
#elif HWY_TARGET != HWY_SCALAR
/// Byte indices that move the coded ones of 8 symbols together.
struct PickTables {
  /// Of the bits of 8 samples, by zc.
  uint8_t samples[256][8];
  /// Of 4 bits and then their 4 signs, by zc + 16 sc: each bit goes before its sign.
  uint8_t pairs[256][8];
  constexpr PickTables() : samples(), pairs() {
    for (int mask = 0; mask < 256; ++mask) {
      int of_samples = 0, of_pairs = 0;
      for (int k = 0; k < 8; ++k) {
        if (mask >> k & 1) samples[mask][of_samples++] = static_cast<uint8_t>(k);
        const int from = k / 2 + k % 2 * 4;
        if (mask >> from & 1) pairs[mask][of_pairs++] = static_cast<uint8_t>(from);
      }
    }
  }
};
alignas(64) inline constexpr PickTables kPick;

class WordEmitter {
 public:
  WordEmitter(const Tier1Scratch::Impl& z, int i, uint64_t bits, bool with_signs)
      : with_signs_(with_signs) {
    const hn::CappedTag<uint8_t, 32> d;
    for (size_t k = 0; k < 64; k += hn::Lanes(d)) {
      const auto spread = [&](const uint64_t& word, int to) HWY_ATTR {
        const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&word) + k / 8);
        return hn::IfThenElseZero(mask, hn::Set(d, static_cast<uint8_t>(1 << to)));
      };
      auto zero = spread(bits, 0);
      for (int n = 0; n < 4; ++n) zero = hn::Or(zero, spread(z.zero_label[n][i], n + 1));
      hn::Store(zero, d, zero_ + k);
      if (!with_signs) continue;
      auto sign = hn::Or(spread(z.sign_bit[i], 0), hn::Set(d, 32));
      for (int n = 0; n < 3; ++n) sign = hn::Or(sign, spread(z.sign_label[n][i], n + 1));
      hn::Store(sign, d, sign_ + k);
    }
  }

  mq::Symbol* emit(uint64_t zc, uint64_t sc, mq::Symbol* out) const {
    const hn::FixedTag<uint8_t, 4> d4;
    const hn::FixedTag<uint8_t, 8> d8;
    const int step = with_signs_ ? 4 : 8;
    const uint64_t group = (uint64_t{1} << step) - 1;
    for (uint64_t rest = zc | sc; rest != 0;) {
      const int first = __builtin_ctzll(rest) & -step;
      rest &= ~(group << first);
      uint64_t mask = zc >> first & group;
      if (with_signs_) {
        mask |= (sc >> first & group) << 4;
        const auto both =
            hn::Combine(d8, hn::LoadU(d4, sign_ + first), hn::LoadU(d4, zero_ + first));
        hn::StoreU(hn::TableLookupBytes(both, hn::LoadU(d8, kPick.pairs[mask])), d8, out);
      } else {
        const auto zero = hn::LoadU(d8, zero_ + first);
        hn::StoreU(hn::TableLookupBytes(zero, hn::LoadU(d8, kPick.samples[mask])), d8, out);
      }
      out += __builtin_popcountll(mask);
    }
    return out;
  }

 private:
  alignas(32) uint8_t zero_[64], sign_[64];
  bool with_signs_;
};
#else
class WordEmitter {
 public:
  WordEmitter(const Tier1Scratch::Impl& z, int i, uint64_t bits, bool)
      : z_(z), i_(i), bits_(bits) {}

  mq::Symbol* emit(uint64_t zc, uint64_t sc, mq::Symbol* out) const {
    for (int k = 0; k < 64; ++k) {
      const auto at = [&](const uint64_t* words) { return words[i_] >> k & 1; };
      const auto* zero = z_.zero_label;
      const auto* sign = z_.sign_label;
      if (zc >> k & 1)
        *out++ = static_cast<mq::Symbol>((bits_ >> k & 1) | at(zero[0]) << 1 | at(zero[1]) << 2 |
                                         at(zero[2]) << 3 | at(zero[3]) << 4);
      if (sc >> k & 1)
        *out++ = static_cast<mq::Symbol>(32 | at(z_.sign_bit) | at(sign[0]) << 1 |
                                         at(sign[1]) << 2 | at(sign[2]) << 3);
    }
    return out;
  }

 private:
  const Tier1Scratch::Impl& z_;
  const int i_;
  const uint64_t bits_;
};
#endif

template <typename Visit>
HWY_INLINE void for_each_word(const Layout& layout, Visit visit) {
  for (int stripe = 0; stripe < layout.stripes; ++stripe) {
    const int first = layout.begin + stripe * layout.pitch;
    for (int i = first; i < first + layout.words_wide; ++i) visit(i);
  }
}

/// @param symbols  where they go
size_t emit_pass(const Layout& layout, Tier1Scratch::Impl& z, const uint64_t* bits,
                 const uint64_t* zc, const uint64_t* sc, mq::Symbol* symbols) {
  mq::Symbol* out = symbols;
  for_each_word(layout, [&](int i) HWY_ATTR {
    if (zc[i] == 0) return;
    const uint64_t signs = sc != nullptr ? sc[i] : 0;
    out = WordEmitter(z, i, bits[i], signs != 0).emit(zc[i], signs, out);
  });
  return static_cast<size_t>(out - symbols);
}

size_t emit_cleanup(const Layout& layout, Tier1Scratch::Impl& z, const uint64_t* bits, bool segsym,
                    mq::Symbol* symbols) {
  mq::Symbol* out = symbols;
  for_each_word(layout, [&](int i) HWY_ATTR {
    const uint64_t zc = z.zc_mask[i], sc = z.sc_mask[i];
    if ((zc | sc) == 0) return;
    const WordEmitter word(z, i, bits[i], sc != 0);
    uint64_t done = 0;  // samples whose symbols are written
    for (uint64_t breaks = z.run_break[i]; breaks != 0; breaks &= breaks - 1) {
      const unsigned k = static_cast<unsigned>(__builtin_ctzll(breaks));
      const uint64_t before = (uint64_t{1} << k) - 1;
      out = word.emit(zc & before & ~done, sc & before & ~done, out);
      done = before;
      *out++ = mq::symbol(mq::kRun, 1);
      *out++ = mq::symbol(mq::kUniform, k >> 1 & 1);
      *out++ = mq::symbol(mq::kUniform, k & 1);
    }
    out = word.emit(zc & ~done, sc & ~done, out);
  });
  if (segsym) {
    for (unsigned b : {1u, 0u, 1u, 0u}) *out++ = mq::symbol(mq::kUniform, b);
  }
  return static_cast<size_t>(out - symbols);
}

/// Sets S, A and `refined` as the planes above `plane` leave them.
void restore_significance(const Tier1Block& block, const Layout& layout, int plane,
                          Tier1Scratch::Impl& z) {
  for (int i = layout.begin; i < layout.end; ++i) {
    uint64_t before = 0;
    for (int p = plane + 2; p < block.bit_planes; ++p) before |= z.planes[p][i];
    z.refined[i] = before;
    z.s[i] = z.a[i] = before | z.planes[plane + 1][i];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();
#endif
