// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ with windows of significance in machine words. Of each tracked plane, the state of a column
// of a stripe is one word of 64 bits: lanes of 8 bits, one for each question, with a bit for each of
// the rows -1 .. 4 of the stripe (rows -1 and 4 belong to its neighbours; of them only kHigher, kNow,
// kEarly and kSign are kept). Two columns of zeros stand on each side of a stripe, and a stripe of
// zeros above and below.
//
// A window is five of these columns, put together by question into 30 bits: bit 6 * column + row + 1.
// The neighbours of a bit are 1, 5, 6 and 7 bits away, and ascending bits are in scan order.
#include <algorithm>
#include <bit>
#include <cstring>

#include "stages/ebcot/contexts.h"
#include "stages/ebcot/rdoq.h"
#include "stages/ebcot/rdoq_model.h"

namespace cj2k::simd {
namespace {

using rdoq::Counts;
using rdoq::kMagnitude;
using rdoq::Model;

// Lanes of a word: the lowest bit of each.
constexpr int kHigher = 0;   ///< significant in a higher plane
constexpr int kNow = 8;      ///< becomes significant in this plane
constexpr int kEarly = 16;   ///< coded by the significance pass
constexpr int kSign = 24;    ///< negative
constexpr int kSecond = 32;  ///< became significant one plane above: it is refined the first time
constexpr int kOne = 40;     ///< bit of this plane
constexpr uint64_t kSampleLanes =
    uint64_t{1} << kHigher | uint64_t{1} << kNow | uint64_t{1} << kSecond | uint64_t{1} << kOne;

constexpr int kColumnBits = 6;
constexpr uint32_t kRows = 0x1E;           ///< rows 0 .. 3 of column 0 of a window
constexpr uint32_t kRowAbove = 0x1041041;  ///< row -1 of all columns
constexpr uint32_t kRowBelow = kRowAbove << 5;
constexpr uint32_t kMiddle = kRows << 6 | kRows << 12 | kRows << 18;  ///< columns 1 .. 3
/// What precedes the columns 1 .. 3 in scan order.
constexpr uint32_t kPrecedes = kRowAbove | kRows;
constexpr unsigned kNeighbours = 0x1EF;  ///< of the nine bits of around()

/// The nine bits around `bit`, column by column.
inline unsigned around(uint32_t significant, int bit) {
  return (significant >> (bit - 7) & 7) | (significant >> (bit - 1) & 7) << 3 |
         (significant >> (bit + 5) & 7) << 6;
}
inline bool any_around(uint32_t significant, int bit) {
  return (around(significant, bit) & kNeighbours) != 0;
}
/// Left, right, above, below: bits 0 .. 3 their significance, bits 4 .. 7 their signs.
inline unsigned cross(uint32_t significant, uint32_t sign, int bit) {
  const auto four = [bit](uint32_t w) {
    return (w >> (bit - 6) & 1) | (w >> (bit + 6) & 1) << 1 | (w >> (bit - 1) & 1) << 2 |
           (w >> (bit + 1) & 1) << 3;
  };
  return four(significant) | four(sign) << 4;
}
/// All bits next to a bit of `w`.
inline uint32_t grown(uint32_t w) {
  const uint32_t column = w | w << 1 | w >> 1;
  return column | column << 6 | column >> 6;
}

/// Labels by window: context << 1, and for signs the flip in bit 0.
struct Labels {
  uint8_t zero[4][512];
  uint8_t sign[256];
};
constexpr Labels make_labels() {
  Labels labels{};
  for (unsigned w = 0; w < 512; ++w) {
    const auto at = [w](int i) { return static_cast<int>(w >> i & 1); };
    const int h = at(1) + at(7), v = at(3) + at(5), d = at(0) + at(2) + at(6) + at(8);
    for (unsigned o = 0; o < 4; ++o)
      labels.zero[o][w] = static_cast<uint8_t>(
          mq::kZero + ebcot::zero_context(static_cast<Orientation>(o), h, v, d));
  }
  for (unsigned w = 0; w < 256; ++w) {
    const auto at = [w](int i) { return (w >> i & 1) == 0 ? 0 : (w >> (i + 4) & 1) != 0 ? -1 : 1; };
    const auto clamp = [](int sum) { return sum < -1 ? -1 : sum > 1 ? 1 : sum; };
    const auto s = ebcot::sign_context(clamp(at(0) + at(1)), clamp(at(2) + at(3)));
    labels.sign[w] = static_cast<uint8_t>(s.context << 1 | s.flip);
  }
  return labels;
}
constexpr Labels kLabels = make_labels();

/// Five columns of one stripe in one plane.
struct Window {
  uint32_t higher, now, early, sign, second, one;
};

/// What the significance passes of a window code, by plane and stripe: bits of a Window.
struct Found {
  uint32_t early[kTrackedPlanes][2];
};

/// The one or two windows that a change is seen in.
struct Windows {
  Window w[2];
  uint32_t region[2];  ///< bits of the samples whose decisions are counted
  int first, count;    ///< stripes
  int own;             ///< index of the sample's own stripe
};

class Rdoq {
 public:
  Rdoq(const RdoqBlock& block, RdoqScratch& z)
      : b_(block),
        z_(z),
        model_(block, block.bit_planes),
        pitch_(block.width + 4),
        stripes_((block.height + 3) / 4),
        visible_((block.style & CJ2K_STYLE_VSC) != 0 ? ~kRowBelow : ~uint32_t{0}) {}

  void run(RdoqResult* result) {
    rdoq::load(b_, z_);
    *result = {};
    std::fill_n(z_.changed, b_.width * b_.height, uint8_t{0});
    int planes = b_.bit_planes;
    for (int round = 0; round < b_.rounds && planes > b_.plane; ++round) {
      begin_round(planes);
      const bool any = visit_all(round == 0);
      planes = rdoq::count_planes(b_);
      if (!any) break;
    }
    result->bit_planes = planes;
    model_ = Model(b_, planes);
    rdoq::correct(
        b_, z_, model_, [&](int x, int y, int up) { return is_early(x, y, up); }, result);
  }

 private:
  uint64_t* word(int up, int x, int stripe) { return z_.words[up] + (stripe + 1) * pitch_ + x + 2; }
  uint32_t& sample(int x, int y) { return b_.samples[y * b_.stride + x]; }
  int32_t value(int x, int y) const { return z_.value[y * b_.width + x]; }
  bool is_early(int x, int y, int up) {
    return (*word(up, x, y / 4) >> (kEarly + y % 4 + 1) & 1) != 0;
  }
  int rows_of(int stripe) const { return std::min(4, b_.height - 4 * stripe); }
  static uint32_t centre(int y) { return 1u << (2 * kColumnBits + y % 4 + 1); }

  void begin_round(int planes);
  void set_costs(const rdoq::Costs& costs);
  void set_bits(int up, int x, int y, uint64_t lanes, uint64_t mask);
  void set_sample(int x, int y, uint32_t m);
  Window window(int up, int x, int stripe);

  void count(int up, Counts& counts);
  void count_early(int up, int x, int stripe, Counts& counts);
  void count_rest(int up, int x, int stripe, Counts& counts);
  void count_sign(uint32_t significant, int bit, const Window& w, Counts& counts);

  bool visit_all(bool is_first);
  bool visit(int x, int y);
  void note_change(int x, int y);
  bool try_change(int x, int y, uint32_t m);
  void keep(int x, int y, int highest, const Found& found);
  int64_t of_own(int x, int y, uint32_t m, int highest);
  bool try_lowest(int x, int y, uint32_t m);
  bool is_promising(int x, int y, uint32_t m);
  void gather(int up, int x, int y, Windows* to);
  int64_t of_plane(int up, int x, int y, uint32_t m, Windows& of);
  int64_t of_planes(int x, int y, int highest, Found* found);
  int64_t significance(int up, int x, int stripe, uint32_t region, Window& w);
  int64_t first_refinements(int up, uint32_t region, const Window& w);
  int64_t own_refinement(int up, int x, int y, uint32_t m, const Window& w);
  int64_t cleanup(int up, int x, int stripe, uint32_t region, const Window& w);
  int64_t becomes_significant(int up, int x, int stripe, int bit, uint32_t significant,
                              const Window& w);

  RdoqBlock b_;
  RdoqScratch& z_;
  Model model_;
  rdoq::Costs costs_;
  const int pitch_, stripes_;
  const uint32_t visible_;  ///< what the contexts of a window see: not the row below with VSC
};

/// Sets lanes of one sample, also where it stands in the words of the stripes beside its own.
void Rdoq::set_bits(int up, int x, int y, uint64_t lanes, uint64_t mask) {
  const auto set = [&](uint64_t* w, int row) {
    *w = (*w & ~(mask << (row + 1))) | lanes << (row + 1);
  };
  uint64_t* own = word(up, x, y / 4);
  const int row = y % 4;
  set(own, row);
  if (row == 0) set(own - pitch_, 4);
  if (row == 3) set(own + pitch_, -1);
}

void Rdoq::set_sample(int x, int y, uint32_t m) {
  sample(x, y) = m == 0 ? 0 : m | (z_.before[y * b_.width + x] & ~kMagnitude);
  for (int up = 0; up < model_.tracked; ++up) {
    const uint32_t q = m >> (b_.plane + up);
    const uint64_t lanes = uint64_t{q >> 1 != 0} << kHigher | uint64_t{q == 1} << kNow |
                           uint64_t{q >> 1 == 1} << kSecond | uint64_t{q & 1} << kOne;
    set_bits(up, x, y, lanes, kSampleLanes);
  }
}

void Rdoq::begin_round(int planes) {
  model_ = Model(b_, planes);
  for (int up = 0; up < model_.tracked; ++up)
    std::fill_n(z_.words[up], (stripes_ + 2) * pitch_, uint64_t{0});
  for (int y = 0; y < b_.height; ++y) {
    for (int x = 0; x < b_.width; ++x) {
      if (2 * value(x, y) < 1 << kRdoqFraction) continue;  // stays insignificant
      set_sample(x, y, sample(x, y) & kMagnitude);
      if (z_.before[y * b_.width + x] >> 31 == 0) continue;
      for (int up = 0; up < model_.tracked; ++up)
        set_bits(up, x, y, uint64_t{1} << kSign, uint64_t{1} << kSign);
    }
  }
  Counts counts[kTrackedPlanes];
  for (int up = model_.tracked - 1; up >= 0; --up) count(up, counts[up]);
  set_costs(rdoq::costs_of(counts[0], counts[1]));
}

void Rdoq::set_costs(const rdoq::Costs& costs) {
  costs_ = costs;
  for (unsigned w = 0; w < 512; ++w) {
    const uint16_t* bits = costs.bits[kLabels.zero[b_.orientation][w & kNeighbours]];
    z_.zero_cost[w][0] = bits[0];
    z_.zero_cost[w][1] = bits[1];
  }
  for (unsigned w = 0; w < 256; ++w) {
    const uint8_t label = kLabels.sign[w];
    z_.sign_cost[w][0] = costs.bits[label >> 1][label & 1];
    z_.sign_cost[w][1] = costs.bits[label >> 1][(label & 1) ^ 1];
  }
}

/// Five columns around column x.
Window Rdoq::window(int up, int x, int stripe) {
  const uint64_t* from = word(up, x - 2, stripe);
  Window w{};
  for (int i = 0; i < 5; ++i) {
    const uint64_t v = from[i];
    const int shift = kColumnBits * i;
    w.higher |= static_cast<uint32_t>(v >> kHigher & 63) << shift;
    w.now |= static_cast<uint32_t>(v >> kNow & 63) << shift;
    w.early |= static_cast<uint32_t>(v >> kEarly & 63) << shift;
    w.sign |= static_cast<uint32_t>(v >> kSign & 63) << shift;
    w.second |= static_cast<uint32_t>(v >> kSecond & 63) << shift;
    w.one |= static_cast<uint32_t>(v >> kOne & 63) << shift;
  }
  return w;
}

/// Counts the decisions of a plane, and finds which samples its significance pass codes.
void Rdoq::count(int up, Counts& counts) {
  for (int stripe = 0; stripe < stripes_ && !model_.is_highest(up); ++stripe) {
    for (int x = 0; x < b_.width; ++x) count_early(up, x, stripe, counts);
  }
  for (int stripe = 0; stripe < stripes_; ++stripe) {
    for (int x = 0; x < b_.width; ++x) count_rest(up, x, stripe, counts);
  }
}

/// The significance pass of one column of a stripe, the middle one of its window.
void Rdoq::count_early(int up, int x, int stripe, Counts& counts) {
  const Window w = window(up, x, stripe);
  const uint32_t column = (kRows & ((2u << rows_of(stripe)) - 1)) << (2 * kColumnBits);
  uint32_t s = (w.higher | (w.now & w.early & (kPrecedes | kRows << kColumnBits))) & visible_;
  for (uint32_t left = column & ~w.higher & grown(s | (w.now & column)); left != 0;
       left &= left - 1) {
    const int bit = std::countr_zero(left);
    const unsigned context = around(s, bit) & kNeighbours;
    if (context == 0) continue;
    set_bits(up, x, 4 * stripe + bit % kColumnBits - 1, uint64_t{1} << kEarly,
             uint64_t{1} << kEarly);
    const uint32_t now = w.now >> bit & 1;
    ++counts.n[kLabels.zero[b_.orientation][context]][now];
    if (now == 0) continue;
    count_sign(s, bit, w, counts);
    s |= 1u << bit;
  }
}

void Rdoq::count_sign(uint32_t significant, int bit, const Window& w, Counts& counts) {
  const uint8_t label = kLabels.sign[cross(significant, w.sign, bit)];
  ++counts.n[label >> 1][(label & 1) ^ (w.sign >> bit & 1)];
}

/// The refinement and clean-up passes of one column of a stripe.
void Rdoq::count_rest(int up, int x, int stripe, Counts& counts) {
  const Window w = window(up, x, stripe);
  const int rows = rows_of(stripe);
  const uint32_t column = (kRows & ((2u << rows) - 1)) << (2 * kColumnBits);
  const uint32_t found = (w.higher | (w.now & w.early)) & visible_;
  for (uint32_t left = w.higher & column; left != 0; left &= left - 1) {
    const int bit = std::countr_zero(left);
    const unsigned context = (w.second >> bit & 1) == 0 ? 2u : any_around(found, bit) ? 1u : 0u;
    ++counts.n[mq::kRefine + context][w.one >> bit & 1];
  }
  uint32_t left = column & ~(w.higher | w.early);
  uint32_t s = found | (w.now & (kPrecedes | kRows << kColumnBits) & visible_);
  if (left == column && rows == 4 && (s >> kColumnBits & 0x3FFFF) == 0) {
    const uint32_t now = w.now & column;
    ++counts.n[mq::kRun][now != 0];
    if (now == 0) return;
    const int bit = std::countr_zero(now);
    count_sign(s, bit, w, counts);
    s |= 1u << bit;
    left &= ~((2u << bit) - 1);
  }
  for (; left != 0; left &= left - 1) {
    const int bit = std::countr_zero(left);
    const uint32_t now = w.now >> bit & 1;
    ++counts.n[kLabels.zero[b_.orientation][around(s, bit) & kNeighbours]][now];
    if (now != 0) count_sign(s, bit, w, counts);
    s |= now << bit;
  }
}

int64_t Rdoq::becomes_significant(int up, int x, int stripe, int bit, uint32_t significant,
                                  const Window& w) {
  const uint16_t cost = z_.sign_cost[cross(significant, w.sign, bit)][w.sign >> bit & 1];
  const int column = x - 2 + bit / kColumnBits, row = 4 * stripe + bit % kColumnBits - 1;
  return model_.lambda * cost + model_.significant(value(column, row), up);
}

/// J of the significance pass in `region`; w.early of the region is found anew.
int64_t Rdoq::significance(int up, int x, int stripe, uint32_t region, Window& w) {
  uint32_t s = (w.higher | (w.now & w.early & kPrecedes)) & visible_;
  w.early &= ~region;
  int64_t j = 0, cost = 0;
  const bool raw = model_.raw[up];
  for (uint32_t left = region & ~w.higher & grown(s | (w.now & region)); left != 0;
       left &= left - 1) {
    const int bit = std::countr_zero(left);
    const unsigned context = around(s, bit);
    if ((context & kNeighbours) == 0) continue;
    w.early |= 1u << bit;
    const uint32_t now = w.now >> bit & 1;
    cost += raw ? kBitCost : z_.zero_cost[context][now];
    if (now == 0) continue;
    j += becomes_significant(up, x, stripe, bit, s, w);
    s |= 1u << bit;
  }
  return j + model_.lambda * cost;
}

/// R of the decisions of the refinement pass that depend on the window: the first ones.
int64_t Rdoq::first_refinements(int up, uint32_t region, const Window& w) {
  if (model_.raw[up]) return model_.lambda * kBitCost * std::popcount(w.higher & w.second & region);
  const uint32_t s = (w.higher | (w.now & w.early)) & visible_;
  int64_t cost = 0;
  for (uint32_t left = w.higher & w.second & region; left != 0; left &= left - 1) {
    const int bit = std::countr_zero(left);
    cost += costs_.bits[mq::kRefine + (any_around(s, bit) ? 1 : 0)][w.one >> bit & 1];
  }
  return model_.lambda * cost;
}

int64_t Rdoq::cleanup(int up, int x, int stripe, uint32_t region, const Window& w) {
  uint32_t s = (w.higher | (w.now & (w.early | kPrecedes))) & visible_;
  const uint32_t todo = region & ~(w.higher | w.early);
  int64_t j = 0, cost = 0;
  for (int c = 1; c <= 3; ++c) {
    const uint32_t column = kRows << (kColumnBits * c);
    uint32_t left = todo & column;
    if (left == column && (s >> (kColumnBits * (c - 1)) & 0x3FFFF) == 0) {
      const uint32_t now = w.now & column;
      cost += costs_.bits[mq::kRun][now != 0];
      if (now == 0) continue;
      const int bit = std::countr_zero(now);
      cost += 2 * kBitCost;
      j += becomes_significant(up, x, stripe, bit, s, w);
      s |= 1u << bit;
      left &= ~((2u << bit) - 1);
    }
    for (; left != 0; left &= left - 1) {
      const int bit = std::countr_zero(left);
      const uint32_t now = w.now >> bit & 1;
      cost += z_.zero_cost[around(s, bit)][now];
      if (now == 0) continue;
      j += becomes_significant(up, x, stripe, bit, s, w);
      s |= 1u << bit;
    }
  }
  return j + model_.lambda * cost;
}

/// R and D of the refinement of a sample with magnitude m, if it is refined in this plane.
int64_t Rdoq::own_refinement(int up, int x, int y, uint32_t m, const Window& w) {
  const uint32_t higher = m >> (model_.plane + up + 1);
  if (higher == 0) return 0;
  int cost = kBitCost;
  if (!model_.raw[up]) {
    const uint32_t s = (w.higher | (w.now & w.early)) & visible_;
    const int bit = 2 * kColumnBits + y % 4 + 1;
    const unsigned context = higher > 1 ? 2u : any_around(s, bit) ? 1u : 0u;
    cost = costs_.bits[mq::kRefine + context][m >> (model_.plane + up) & 1];
  }
  return model_.lambda * cost + model_.refined(value(x, y), m, up);
}

/// J of the refinements of a sample that becomes significant above `highest`.
int64_t Rdoq::of_own(int x, int y, uint32_t m, int highest) {
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    if (model_.has_refinement(up)) j += own_refinement(up, x, y, m, window(up, x, y / 4));
  }
  return j;
}

/// The windows of the stripes that hold rows y - 1 .. y + 1.
void Rdoq::gather(int up, int x, int y, Windows* to) {
  const int first = std::max(y - 1, 0) / 4, last = std::min(y + 1, b_.height - 1) / 4;
  uint32_t columns = kMiddle;
  if (x == 0) columns &= ~(kRows << kColumnBits);
  if (x + 1 == b_.width) columns &= ~(kRows << (3 * kColumnBits));
  to->first = first;
  to->own = y / 4 - first;
  to->count = last - first + 1;
  for (int i = 0; i < to->count; ++i) {
    to->w[i] = window(up, x, first + i);
    to->region[i] = columns & kRowAbove * (2u * ((1u << rows_of(first + i)) - 1));
  }
}

/// J of one plane.
/// @param m  magnitude of the middle sample
int64_t Rdoq::of_plane(int up, int x, int y, uint32_t m, Windows& of) {
  Window* w = of.w;
  int64_t j = 0;
  if (!model_.is_highest(up)) {
    j += significance(up, x, of.first, of.region[0], w[0]);
    if (of.count == 2) {
      // Row 3 of the upper stripe is row -1 of the lower one; row 0 of that is row 4.
      constexpr uint32_t kAbove = kRowAbove & kMiddle >> 1, kBelow = kAbove << 5;
      w[1].early = (w[1].early & ~kAbove) | (w[0].early >> 4 & kAbove);
      j += significance(up, x, of.first + 1, of.region[1], w[1]);
      w[0].early = (w[0].early & ~kBelow) | (w[1].early << 4 & kBelow);
    }
    if (model_.has_refinement(up)) {
      for (int i = 0; i < of.count; ++i) {
        const uint32_t others = i == of.own ? of.region[i] & ~centre(y) : of.region[i];
        j += first_refinements(up, others, w[i]);
      }
      j += own_refinement(up, x, y, m, w[of.own]);
    }
  }
  if (model_.has_cleanup(up)) {
    for (int i = 0; i < of.count; ++i) j += cleanup(up, x, of.first + i, of.region[i], w[i]);
  }
  return j;
}

/// J of the planes up to `highest`, and what their significance passes code.
int64_t Rdoq::of_planes(int x, int y, int highest, Found* found) {
  const uint32_t m = sample(x, y) & kMagnitude;
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    Windows at;
    gather(up, x, y, &at);
    j += of_plane(up, x, y, m, at);
    for (int i = 0; i < at.count; ++i) found->early[up][i] = at.w[i].early & at.region[i];
  }
  return j;
}

void Rdoq::keep(int x, int y, int highest, const Found& found) {
  const int first = std::max(y - 1, 0) / 4, last = std::min(y + 1, b_.height - 1) / 4;
  for (int up = 0; up <= highest; ++up) {
    for (int stripe = first; stripe <= last; ++stripe) {
      const uint32_t early = found.early[up][stripe - first];
      for (int c = std::max(x - 1, 0); c <= std::min(x + 1, b_.width - 1); ++c) {
        for (int row = 0; row < rows_of(stripe); ++row) {
          const uint64_t bit = early >> (kColumnBits * (c - x + 2) + row + 1) & 1;
          set_bits(up, c, 4 * stripe + row, bit << kEarly, uint64_t{1} << kEarly);
        }
      }
    }
  }
}

/// Changes the magnitude of a sample to m if that lowers J. @return whether it does
bool Rdoq::try_change(int x, int y, uint32_t m) {
  const uint32_t old = sample(x, y) & kMagnitude;
  const int highest = model_.highest_changed(old, m);
  if (std::bit_width(old) == std::bit_width(m)) {
    if (of_own(x, y, m, highest) >= of_own(x, y, old, highest)) return false;
    set_sample(x, y, m);
    return true;
  }
  if (highest == 0) return try_lowest(x, y, m);
  Found found;
  const int64_t before = of_planes(x, y, highest, &found);
  set_sample(x, y, m);
  if (of_planes(x, y, highest, &found) < before) {
    keep(x, y, highest, found);
    return true;
  }
  set_sample(x, y, old);
  return false;
}

/// The most frequent change: a sample becomes significant in plane p, or no longer does.
bool Rdoq::try_lowest(int x, int y, uint32_t m) {
  if (!is_promising(x, y, m)) return false;
  Windows before;
  gather(0, x, y, &before);
  Windows after = before;
  after.w[after.own].now ^= centre(y);
  if (after.count == 2) {
    if (after.own == 0) after.w[1].now ^= centre(y) >> 4;
    if (after.own == 1) after.w[0].now ^= centre(y) << 4;
  }
  if (of_plane(0, x, y, m, after) >= of_plane(0, x, y, m, before)) return false;
  Found found;
  for (int i = 0; i < after.count; ++i) found.early[0][i] = after.w[i].early & after.region[i];
  set_sample(x, y, m);
  keep(x, y, 0, found);
  return true;
}

/// Whether the decisions of the sample alone pay, with kSlack more for those of its neighbours.
bool Rdoq::is_promising(int x, int y, uint32_t m) {
  const bool down = m >> model_.plane == 0;
  const uint64_t* column = word(0, x, y / 4);
  uint32_t significant = 0;
  for (int i = -1; i <= 1; ++i) {
    const uint64_t all = column[i] >> kHigher | column[i] >> kNow;
    significant |= static_cast<uint32_t>(all & 63) << (kColumnBits * (i + 2));
  }
  const unsigned context =
      around(significant & visible_, std::countr_zero(centre(y))) & kNeighbours;
  if (context == 0 && !model_.has_cleanup(0)) return false;
  const int64_t cost = z_.zero_cost[context][1] + kBitCost - z_.zero_cost[context][0];
  const int64_t j = model_.lambda * cost + model_.significant(value(x, y), 0);
  return (down ? -j : j) < model_.lambda * kSlack;
}

void Rdoq::note_change(int x, int y) {
  for (int j = std::max(y - 1, 0); j <= std::min(y + 1, b_.height - 1); ++j) {
    for (int i = std::max(x - 1, 0); i <= std::min(x + 1, b_.width - 1); ++i)
      z_.changed[j * b_.width + i] = 1;
  }
}

bool Rdoq::visit(int x, int y) {
  bool any = false;
  for (int up = 0; up < model_.num_shifts(); ++up) {
    for (const bool down : {true, false}) {
      const uint32_t m = sample(x, y) & kMagnitude;
      const uint32_t other = model_.changed(value(x, y), m, up, down);
      if (other == m || !try_change(x, y, other)) continue;
      note_change(x, y);
      any = true;
      break;
    }
  }
  return any;
}

/// After the first round, samples whose neighbours and own value have not changed are left alone.
bool Rdoq::visit_all(bool is_first) {
  bool any = false;
  for (int group = 0; group < 9; ++group) {
    for (int y = group / 3; y < b_.height; y += 3) {
      for (int x = group % 3; x < b_.width; x += 3) {
        if (value(x, y) < 3 << (kRdoqFraction - 2)) continue;  // below 3/4: significance never pays
        if (!is_first && z_.changed[y * b_.width + x] == 0) continue;
        z_.changed[y * b_.width + x] = 0;
        any |= visit(x, y);
      }
    }
  }
  return any;
}

}  // namespace

void rdoq_block(const RdoqBlock& block, RdoqScratch& scratch, RdoqResult* result) {
  Rdoq(block, scratch).run(result);
}

}  // namespace cj2k::simd
