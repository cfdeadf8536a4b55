// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ with windows of significance in machine words: rdoq_windows.h.
#include <algorithm>
#include <bit>
#include <cstring>

#include "stages/ebcot/contexts.h"
#include "stages/ebcot/rdoq.h"
#include "stages/ebcot/rdoq_model.h"
#include "stages/ebcot/rdoq_windows.h"
#include "stages/ebcot/rdoq_words.h"

namespace cj2k::simd {
namespace {

using rdoq::kMagnitude;
using rdoq::Model;
using namespace rdoq_windows;

class Rdoq {
 public:
  Rdoq(const RdoqBlock& block, RdoqScratch& z)
      : b_(block),
        z_(z),
        model_(block, block.bit_planes),
        pitch_((block.width + kChunk - 1) / kChunk * kChunkBytes + kMarginBytes),
        stripes_((block.height + 3) / 4),
        visible_((block.style & CJ2K_STYLE_VSC) != 0 ? ~kRowBelow : ~uint32_t{0}) {}

  void run(RdoqResult* result) {
    rdoq::load(b_, z_);
    *result = {};
    int planes = b_.bit_planes;
    bool changed = false;
    for (int round = 0; round < b_.rounds && planes > b_.plane; ++round) {
      if (!begin_round(planes, round == 0)) break;
      if (round == 0 && b_.rounds > 1) std::fill_n(z_.changed, b_.width * b_.height, uint8_t{0});
      const bool any = visit_all(round == 0);
      planes = rdoq::count_planes(b_);
      changed |= any;
      if (!any) break;
    }
    result->bit_planes = planes;
    if (!changed) return;
    model_ = Model(b_, planes);
    rdoq::correct(
        b_, z_, model_, [&](int x, int y, int up) { return is_early(x, y, up); }, result);
  }

 private:
  /// The byte of `map` where column x - 2 of a stripe begins, and the bit in it.
  uint8_t* place(int map, int x, int stripe, int* shift) {
    const int bit = kColumnBits * (x - 2) + kLeftBits;
    *shift = bit & 7;
    return z_.maps[map] + (stripe + 1) * pitch_ + (bit >> 3);
  }
  /// The five columns around column x.
  uint32_t columns(int map, int x, int stripe) {
    int shift;
    const uint8_t* from = place(map, x, stripe, &shift);
    return static_cast<uint32_t>(load8(from) >> shift) & kAll;
  }
  uint32_t& sample(int x, int y) { return b_.samples[y * b_.stride + x]; }
  int32_t value(int x, int y) const { return z_.value[y * b_.width + x]; }
  bool is_early(int x, int y, int up) { return (columns(kEarly + up, x, y / 4) & centre(y)) != 0; }
  int rows_of(int stripe) const { return std::min(4, b_.height - 4 * stripe); }
  static uint32_t centre(int y) { return 1u << (2 * kColumnBits + y % 4 + 1); }

  bool begin_round(int planes, bool is_first);
  void fill_maps();
  void fill_map(int map);
  void set_costs(const rdoq::Costs& costs);
  void replace(int map, int x, int stripe, uint32_t mask, uint32_t bits);
  void set_sample(int x, int y, uint32_t m);
  Window window(int up, int x, int stripe);

  void add_errors(int up, rdoq::PassCounts& counts);

  bool visit_all(bool is_first);
  bool visit(int x, int y);
  void note_change(int x, int y);
  bool try_change(int x, int y, uint32_t m);
  void set_middle(int up, int y, uint32_t m, Windows* of) const;
  void keep(int x, int up, const Windows& found);
  bool lowers_own(int x, int y, uint32_t old, uint32_t m, int highest);
  bool is_promising(int x, int y, uint32_t old, uint32_t m, int highest);
  int64_t of_decision(int up, int32_t v, uint32_t m, unsigned context) const;
  void gather(int up, int x, int y, Windows* to);
  int64_t of_plane(int up, int x, int y, uint32_t m, Windows& of);
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

/// Replaces the bits of `mask` in a map, also where they stand in the stripes beside their own.
/// @param mask, bits  of a window around column x, rows 0 .. 3
void Rdoq::replace(int map, int x, int stripe, uint32_t mask, uint32_t bits) {
  int shift;
  uint8_t* own = place(map, x, stripe, &shift);
  const auto put = [shift](uint8_t* to, uint64_t clear, uint64_t set) {
    store8(to, (load8(to) & ~(clear << shift)) | set << shift);
  };
  put(own, mask, bits);
  constexpr uint32_t kTop = kRowAbove << 1, kBottom = kRowAbove << 4;
  if ((mask & kTop) != 0) put(own - pitch_, uint64_t{mask & kTop} << 4, uint64_t{bits & kTop} << 4);
  if ((mask & kBottom) != 0) put(own + pitch_, (mask & kBottom) >> 4, (bits & kBottom) >> 4);
}

void Rdoq::set_sample(int x, int y, uint32_t m) {
  const uint32_t old = sample(x, y) & kMagnitude;
  sample(x, y) = m == 0 ? 0 : m | (z_.before[y * b_.width + x] & ~kMagnitude);
  const uint32_t bit = centre(y);
  for (int up = 0; up < model_.tracked; ++up) {
    if (((old ^ m) >> (b_.plane + up) & 1) != 0)
      replace(kOne + up, x, y / 4, bit, (m >> (b_.plane + up) & 1) != 0 ? bit : 0);
  }
  for (int up = 0; up < model_.tracked + 2; ++up) {
    const bool was = old >> (b_.plane + up) != 0, is = m >> (b_.plane + up) != 0;
    if (was != is) replace(kReached + up, x, y / 4, bit, is ? bit : 0);
  }
}

/// Makes a map of its words.
void Rdoq::fill_map(int map) {
  const rdoq_words::Words words(b_);
  const uint64_t* from = rdoq_words::mask_of(z_, map);
  const auto bytes = static_cast<size_t>((stripes_ + 2) * pitch_) + sizeof(uint64_t);
  std::memset(z_.maps[map], 0, bytes);
  constexpr uint64_t kTop = 0x82082082082, kBottom = kTop << 3;
  for (int stripe = 0; stripe < stripes_; ++stripe) {
    uint8_t* to = z_.maps[map] + (stripe + 1) * pitch_ + kLeftBits / 8;
    for (int i = 0; i < words.wide; ++i) {
      uint64_t left = from[words.at(i, stripe)];
      for (uint8_t* at = to + 2 * i * kChunkBytes; left != 0; left >>= 32, at += kChunkBytes) {
        const uint64_t bits = spread_columns(static_cast<uint32_t>(left));
        store8(at, load8(at) | bits);
        store8(at - pitch_, load8(at - pitch_) | (bits & kTop) << 4);
        store8(at + pitch_, load8(at + pitch_) | (bits & kBottom) >> 4);
      }
    }
  }
}

void Rdoq::fill_maps() {
  fill_map(kSign);
  for (int up = 0; up < model_.tracked; ++up) {
    fill_map(kOne + up);
    fill_map(kEarly + up);
  }
  for (int up = 0; up < model_.tracked + 2; ++up) fill_map(kReached + up);
}

/// @return whether the block may pay
bool Rdoq::begin_round(int planes, bool is_first) {
  model_ = Model(b_, planes);
  rdoq::PassCounts counts[kTrackedPlanes];
  rdoq_words::count(b_, model_, z_, counts);
  const rdoq::Costs costs = rdoq::costs_of(counts);
  if (is_first && rdoq::may_ask(model_)) {
    for (int up = 0; up < model_.tracked; ++up) add_errors(up, counts[up]);
    if (!rdoq::may_pay(model_, costs, counts)) return false;
  }
  fill_maps();
  set_costs(costs);
  return true;
}

/// Adds the changes of D in one plane.
void Rdoq::add_errors(int up, rdoq::PassCounts& counts) {
  const rdoq_words::Words words(b_);
  const uint64_t* early = rdoq_words::mask_of(z_, kEarly + up);
  const uint64_t* reached = rdoq_words::mask_of(z_, kReached + up);
  const uint64_t* higher = rdoq_words::mask_of(z_, kReached + up + 1);
  for (int stripe = 0; stripe < stripes_; ++stripe) {
    for (int i = 0; i < words.wide; ++i) {
      const int word = words.at(i, stripe);
      for (uint64_t left = reached[word]; left != 0; left &= left - 1) {
        const int bit = std::countr_zero(left);
        const int x = rdoq_words::kWordColumns * i + bit / 4, y = 4 * stripe + bit % 4;
        if ((higher[word] >> bit & 1) != 0)
          counts.error[1] += model_.refined(value(x, y), sample(x, y) & kMagnitude, up);
        else
          counts.error[(early[word] >> bit & 1) != 0 ? 0 : 2] +=
              model_.significant(value(x, y), up);
      }
    }
  }
}

void Rdoq::set_costs(const rdoq::Costs& costs) {
  costs_ = costs;
  // Both bits at once.
  uint32_t pairs[mq::kNumContexts], swapped[mq::kNumContexts];
  for (unsigned c = 0; c < mq::kNumContexts; ++c) {
    const uint16_t* bits = costs.bits[c];
    pairs[c] = bits[0] | static_cast<uint32_t>(bits[1]) << 16;
    swapped[c] = bits[1] | static_cast<uint32_t>(bits[0]) << 16;
  }
  const uint8_t* labels = kLabels.zero[b_.orientation];
  for (unsigned w = 0; w < 512; ++w) z_.zero_cost[w] = pairs[labels[w & kNeighbours]];
  for (unsigned w = 0; w < 256; ++w) {
    const uint8_t label = kLabels.sign[w];
    z_.sign_cost[w] = ((label & 1) != 0 ? swapped : pairs)[label >> 1];
  }
}

/// Five columns around column x.
Window Rdoq::window(int up, int x, int stripe) {
  Window w;
  w.higher = columns(kReached + up + 1, x, stripe);
  w.now = columns(kReached + up, x, stripe) & ~w.higher;
  w.early = columns(kEarly + up, x, stripe);
  w.sign = columns(kSign, x, stripe);
  w.second = w.higher & ~columns(kReached + up + 2, x, stripe);
  w.one = columns(kOne + up, x, stripe);
  return w;
}

int64_t Rdoq::becomes_significant(int up, int x, int stripe, int bit, uint32_t significant,
                                  const Window& w) {
  const int64_t cost = cost_of(z_.sign_cost[cross(significant, w.sign, bit)], w.sign >> bit & 1);
  const int column = x - 2 + bit / kColumnBits, row = 4 * stripe + bit % kColumnBits - 1;
  return model_.lambda * cost + model_.significant(value(column, row), up);
}

/// J of the significance pass in `region`; w.early of the region is found anew.
int64_t Rdoq::significance(int up, int x, int stripe, uint32_t region, Window& w) {
  uint32_t s = (w.higher | (w.now & w.early & kPrecedes)) & visible_;
  // They count as significant for the samples after them.
  const uint32_t others = w.now & w.early & kMiddle & ~region;
  w.early &= ~region;
  int64_t j = 0, cost = 0;
  const bool raw = model_.raw[up];
  for (uint32_t left = region & ~w.higher & grown(s | others | (w.now & region)); left != 0;
       left &= left - 1) {
    const int bit = std::countr_zero(left);
    const uint32_t seen = s | (others & ((1u << bit) - 1));
    const unsigned context = around(seen, bit);
    if ((context & kNeighbours) == 0) continue;
    w.early |= 1u << bit;
    const uint32_t now = w.now >> bit & 1;
    cost += raw ? kBitCost : cost_of(z_.zero_cost[context], now);
    if (now == 0) continue;
    j += becomes_significant(up, x, stripe, bit, seen, w);
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
      cost += cost_of(z_.zero_cost[around(s, bit)], now);
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

/// Whether another magnitude lowers J of a sample that becomes significant above `highest`.
bool Rdoq::lowers_own(int x, int y, uint32_t old, uint32_t m, int highest) {
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    if (!model_.has_refinement(up)) continue;
    const Window w = window(up, x, y / 4);
    j += own_refinement(up, x, y, m, w) - own_refinement(up, x, y, old, w);
  }
  return j < 0;
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
    const int row = y - 4 * (first + i);  // -1 .. 4
    to->near[i] = to->region[i] & kRowAbove * ((7u << (row + 1) >> 1) & 63);
  }
}

/// J of one plane.
/// @param m  magnitude of the middle sample
int64_t Rdoq::of_plane(int up, int x, int y, uint32_t m, Windows& of) {
  Window* w = of.w;
  int64_t j = 0;
  if (!model_.is_highest(up)) {
    j += significance(up, x, of.first, of.near[0], w[0]);
    if (of.count == 2) {
      // Row 3 of the upper stripe is row -1 of the lower one; row 0 of that is row 4.
      constexpr uint32_t kAbove = kRowAbove & kMiddle >> 1, kBelow = kAbove << 5;
      w[1].early = (w[1].early & ~kAbove) | (w[0].early >> 4 & kAbove);
      j += significance(up, x, of.first + 1, of.near[1], w[1]);
      w[0].early = (w[0].early & ~kBelow) | (w[1].early << 4 & kBelow);
    }
    if (model_.has_refinement(up)) {
      for (int i = 0; i < of.count; ++i) {
        const uint32_t others = i == of.own ? of.near[i] & ~centre(y) : of.near[i];
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

/// Gives the middle sample of windows another magnitude.
void Rdoq::set_middle(int up, int y, uint32_t m, Windows* of) const {
  const uint32_t q = m >> (b_.plane + up);
  const auto set = [](uint32_t* w, uint32_t bit, bool is) { *w = (*w & ~bit) | (is ? bit : 0); };
  for (int i = 0; i < of->count; ++i) {
    const uint32_t bit = i == of->own ? centre(y) : i > of->own ? centre(y) >> 4 : centre(y) << 4;
    set(&of->w[i].higher, bit, q > 1);
    set(&of->w[i].now, bit, q == 1);
    set(&of->w[i].second, bit, q >> 1 == 1);
    set(&of->w[i].one, bit, (q & 1) != 0);
  }
}

void Rdoq::keep(int x, int up, const Windows& found) {
  for (int i = 0; i < found.count; ++i)
    replace(kEarly + up, x, found.first + i, found.near[i], found.w[i].early & found.near[i]);
}

/// Changes the magnitude of a sample to m if that lowers J. @return whether it does
bool Rdoq::try_change(int x, int y, uint32_t m) {
  const uint32_t old = sample(x, y) & kMagnitude;
  const int highest = model_.highest_changed(old, m);
  if (std::bit_width(old) == std::bit_width(m)) {
    if (!lowers_own(x, y, old, m, highest)) return false;
    set_sample(x, y, m);
    return true;
  }
  const bool asks = highest == 0 || b_.rounds == 1;
  if (asks && !is_promising(x, y, old, m, highest)) return false;
  Windows after[kTrackedPlanes];
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    Windows before;
    gather(up, x, y, &before);
    after[up] = before;
    set_middle(up, y, m, &after[up]);
    j += of_plane(up, x, y, m, after[up]) - of_plane(up, x, y, old, before);
  }
  if (j >= 0) return false;
  set_sample(x, y, m);
  for (int up = 0; up <= highest; ++up) keep(x, up, after[up]);
  return true;
}

/// J of the decisions about a sample in one plane, if its neighbours are as `context` says.
int64_t Rdoq::of_decision(int up, int32_t v, uint32_t m, unsigned context) const {
  const uint32_t q = m >> (model_.plane + up);
  if (q > 1) {
    if (!model_.has_refinement(up)) return 0;
    const unsigned label = mq::kRefine + (q > 3 ? 2u : context != 0 ? 1u : 0u);
    return model_.lambda * costs_.bits[label][q & 1] + model_.refined(v, m, up);
  }
  if (context == 0 && !model_.has_cleanup(up)) return 0;
  if (q == 0) return model_.lambda * cost_of(z_.zero_cost[context], 0);
  return model_.lambda * (cost_of(z_.zero_cost[context], 1) + kBitCost) + model_.significant(v, up);
}

/// Whether the decisions of the sample alone pay, with kSlack more for those of its neighbours.
bool Rdoq::is_promising(int x, int y, uint32_t old, uint32_t m, int highest) {
  const int bit = std::countr_zero(centre(y));
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    const uint32_t reached = columns(kReached + up, x, y / 4) & visible_;
    const unsigned context = around(reached, bit) & kNeighbours;
    if (highest == 0 && context == 0 && !model_.has_cleanup(0)) return false;
    const int32_t v = value(x, y);
    j += of_decision(up, v, m, context) - of_decision(up, v, old, context);
  }
  return j < model_.lambda * kSlack;
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
    const uint32_t m = sample(x, y) & kMagnitude;
    const uint32_t other = model_.changed(value(x, y), m, up);
    if (other == m || !try_change(x, y, other)) continue;
    if (b_.rounds > 1) note_change(x, y);
    any = true;
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
        if (b_.rounds > 1) z_.changed[y * b_.width + x] = 0;
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
