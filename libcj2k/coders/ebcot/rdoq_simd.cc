// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ with windows of significance in machine words: rdoq_windows.h.
#include <algorithm>
#include <bit>
#include <cstring>

#include "coders/ebcot/contexts.h"
#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/rdoq_model.h"
#include "coders/ebcot/rdoq_windows.h"
#include "coders/ebcot/rdoq_words.h"

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
        row_words_((block.width + 63) / 64),
        visible_((block.style & CJ2K_STYLE_VSC) != 0 ? ~kRowBelow : ~uint32_t{0}) {}

  void run(RdoqResult* result) {
    rdoq_words::load(b_, z_);
    *result = {};
    int planes = b_.bit_planes;
    bool changed = false;
    for (int round = 0; round < b_.rounds && planes > b_.plane; ++round) {
      if (!begin_round(planes, round == 0)) break;
      rdoq_words::find_candidates(b_, model_, z_);
      if (round == 0 && b_.rounds > 1) std::fill_n(z_.changed, b_.height * row_words_, uint64_t{0});
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
  int64_t of_plane(int up, int x, int y, uint32_t old, uint32_t m, Pair& of);
  int significance(int up, uint32_t region, Window& before, Window& after) const;
  int first_refinements(uint32_t region, const Window& before, const Window& after) const;
  int64_t own_refinement(int up, int x, int y, uint32_t m, const Window& w);
  int cleanup(uint32_t region, const Window& before, const Window& after) const;
  int column(uint32_t left, uint32_t seen, bool run, const Window& w) const;
  int64_t error_of(int up, int x, int stripe, uint32_t found) const;
  int zero_bits(uint32_t seen, int bit, const Window& w) const {
    return static_cast<int>(cost_of(z_.zero_cost[around(seen, bit)], w.now >> bit & 1));
  }
  int sign_bits(uint32_t seen, int bit, const Window& w) const {
    return static_cast<int>(cost_of(z_.sign_cost[cross(seen, w.sign, bit)], w.sign >> bit & 1));
  }

  RdoqBlock b_;
  RdoqScratch& z_;
  Model model_;
  rdoq::Costs costs_;
  bool is_first_ = true;  ///< round
  const int pitch_, stripes_, row_words_;
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
  if (!is_first && planes == model_.planes) return true;
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

/// R of the significance pass in `region`, after less before; Window::early of the region is found
/// anew. What is the same in both is not looked up.
int Rdoq::significance(int up, uint32_t region, Window& before, Window& after) const {
  struct Side {
    Side(Window& window, uint32_t region, uint32_t visible)
        : w(window),
          seen((w.higher | (w.now & w.early & kPrecedes)) & visible),
          others(w.now & w.early & kMiddle & ~region),
          left(region & ~w.higher) {
      w.early &= ~region;
    }
    uint32_t reach() const { return left & grown(seen | others | (w.now & left)); }
    uint32_t at(int bit) const { return seen | (others & ((1u << bit) - 1)); }
    void add(uint32_t bit) {
      w.early |= bit;
      seen |= w.now & bit;
    }
    Window& w;
    uint32_t seen;
    const uint32_t others;  ///< count as significant for the samples after them
    const uint32_t left;
  };
  Side sides[2] = {{before, region, visible_}, {after, region, visible_}};
  const bool raw = model_.raw[up];
  int cost = 0;
  for (uint32_t left = sides[0].reach() | sides[1].reach(); left != 0; left &= left - 1) {
    const int bit = std::countr_zero(left);
    const uint32_t mask = left & -left;
    const unsigned contexts[2] = {around(sides[0].at(bit), bit), around(sides[1].at(bit), bit)};
    if (contexts[0] == contexts[1] && ((before.now ^ after.now) & mask) == 0 &&
        ((before.higher ^ after.higher) & mask) == 0) {
      if ((contexts[0] & kNeighbours) == 0) continue;
      for (Side& side : sides) side.add(mask);
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      Side& side = sides[i];
      if ((contexts[i] & kNeighbours) == 0 || (side.left & mask) == 0) continue;
      int own = raw ? kBitCost : zero_bits(side.at(bit), bit, side.w);
      if ((side.w.now & mask) != 0) own += sign_bits(side.at(bit), bit, side.w);
      cost += i == 0 ? -own : own;
      side.add(mask);
    }
  }
  return cost;
}

/// R of the decisions of the refinement pass that depend on the window, the first ones: after less
/// before.
int Rdoq::first_refinements(uint32_t region, const Window& before, const Window& after) const {
  const auto beside = [this](const Window& w) {
    return adjacent((w.higher | (w.now & w.early)) & visible_);
  };
  const uint32_t now = beside(after);
  int cost = 0;
  for (uint32_t left = after.higher & after.second & region & (beside(before) ^ now); left != 0;
       left &= left - 1) {
    const int bit = std::countr_zero(left);
    const uint32_t one = after.one >> bit & 1;
    const int more = costs_.bits[mq::kRefine + 1][one] - costs_.bits[mq::kRefine][one];
    cost += (now >> bit & 1) != 0 ? more : -more;
  }
  return cost;
}

/// R of the clean-up pass of one column.
/// @param left  what it codes
/// @param seen  what is significant when it begins
int Rdoq::column(uint32_t left, uint32_t seen, bool run, const Window& w) const {
  int cost = 0;
  if (run) {
    const uint32_t now = w.now & left;
    cost += costs_.bits[mq::kRun][now != 0];
    if (now == 0) return cost;
    const int bit = std::countr_zero(now);
    cost += 2 * kBitCost + sign_bits(seen, bit, w);
    seen |= 1u << bit;
    left &= ~((2u << bit) - 1);
  }
  for (; left != 0; left &= left - 1) {
    const int bit = std::countr_zero(left);
    cost += zero_bits(seen, bit, w);
    if ((w.now >> bit & 1) == 0) continue;
    cost += sign_bits(seen, bit, w);
    seen |= 1u << bit;
  }
  return cost;
}

/// R of the clean-up pass, after less before.
int Rdoq::cleanup(uint32_t region, const Window& before, const Window& after) const {
  const Window* const w[2] = {&before, &after};
  uint32_t seen[2], todo[2];
  for (int i = 0; i < 2; ++i) {
    seen[i] = (w[i]->higher | (w[i]->now & (w[i]->early | kPrecedes))) & visible_;
    todo[i] = region & ~(w[i]->higher | w[i]->early);
  }
  // Samples whose window is the same cost the same.
  const uint32_t differs =
      (before.higher ^ after.higher) | (before.now ^ after.now) | (before.early ^ after.early);
  const uint32_t changed = differs | adjacent(differs);
  int cost = 0;
  for (int c = 1; c <= 3; ++c) {
    const uint32_t rows = kRows << (kColumnBits * c);
    bool run[2];
    for (int i = 0; i < 2; ++i)
      run[i] = (todo[i] & rows) == rows && (seen[i] >> (kColumnBits * (c - 1)) & 0x3FFFF) == 0;
    if (run[0] || run[1]) {
      if (!run[0] || !run[1] || (differs & rows) != 0)
        cost += column(todo[1] & rows, seen[1], run[1], after) -
                column(todo[0] & rows, seen[0], run[0], before);
    } else {
      for (uint32_t left = (todo[0] | todo[1]) & rows & changed; left != 0; left &= left - 1) {
        const int bit = std::countr_zero(left);
        for (int i = 0; i < 2; ++i) {
          if ((todo[i] >> bit & 1) == 0) continue;
          const uint32_t s = seen[i] | (w[i]->now & todo[i] & rows & ((1u << bit) - 1));
          int own = zero_bits(s, bit, *w[i]);
          if ((w[i]->now >> bit & 1) != 0) own += sign_bits(s, bit, *w[i]);
          cost += i == 0 ? -own : own;
        }
      }
    }
    for (int i = 0; i < 2; ++i) seen[i] |= w[i]->now & todo[i] & rows;
  }
  return cost;
}

/// The changes of D when these samples become significant.
int64_t Rdoq::error_of(int up, int x, int stripe, uint32_t found) const {
  int64_t error = 0;
  for (; found != 0; found &= found - 1) {
    const int bit = std::countr_zero(found);
    const int column = x - 2 + bit / kColumnBits, row = 4 * stripe + bit % kColumnBits - 1;
    error += model_.significant(value(column, row), up);
  }
  return error;
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

/// J of one plane, after less before.
/// @param old, m  magnitudes of the middle sample
int64_t Rdoq::of_plane(int up, int x, int y, uint32_t old, uint32_t m, Pair& of) {
  Windows &before = of.before, &after = of.after;
  int cost = 0;
  int64_t error = 0;
  if (!model_.is_highest(up)) {
    cost += significance(up, after.near[0], before.w[0], after.w[0]);
    if (after.count == 2) {
      // Row 3 of the upper stripe is row -1 of the lower one; row 0 of that is row 4.
      constexpr uint32_t kAbove = kRowAbove & kMiddle >> 1, kBelow = kAbove << 5;
      for (Window* w : {before.w, after.w})
        w[1].early = (w[1].early & ~kAbove) | (w[0].early >> 4 & kAbove);
      cost += significance(up, after.near[1], before.w[1], after.w[1]);
      for (Window* w : {before.w, after.w})
        w[0].early = (w[0].early & ~kBelow) | (w[1].early << 4 & kBelow);
    }
    if (model_.has_refinement(up)) {
      for (int i = 0; i < after.count && !model_.raw[up]; ++i) {
        const uint32_t others = i == after.own ? after.near[i] & ~centre(y) : after.near[i];
        cost += first_refinements(others, before.w[i], after.w[i]);
      }
      error += own_refinement(up, x, y, m, after.w[after.own]) -
               own_refinement(up, x, y, old, before.w[after.own]);
    }
  }
  for (int i = 0; i < after.count; ++i) {
    const Window &b = before.w[i], &a = after.w[i];
    if (model_.has_cleanup(up)) cost += cleanup(after.region[i], b, a);
    // Both passes together change D alike, whichever codes a sample.
    const uint32_t any = model_.has_cleanup(up) ? ~uint32_t{0} : 0;
    const uint32_t found = a.now & (a.early | any) & after.near[i];
    const uint32_t was = b.now & (b.early | any) & after.near[i];
    error += error_of(up, x, after.first + i, found & ~was) -
             error_of(up, x, after.first + i, was & ~found);
  }
  return model_.lambda * cost + error;
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
  const bool asks = rdoq::asks_own(b_.rounds, is_first_, highest, m > old);
  if (asks && !is_promising(x, y, old, m, highest)) return false;
  Pair of[kTrackedPlanes];
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    gather(up, x, y, &of[up].before);
    of[up].after = of[up].before;
    set_middle(up, y, m, &of[up].after);
    j += of_plane(up, x, y, old, m, of[up]);
  }
  if (j >= 0) return false;
  set_sample(x, y, m);
  for (int up = 0; up <= highest; ++up) keep(x, up, of[up].after);
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

/// Whether the decisions of the sample alone pay, with slack for those of its neighbours.
bool Rdoq::is_promising(int x, int y, uint32_t old, uint32_t m, int highest) {
  const int bit = std::countr_zero(centre(y));
  const int32_t v = value(x, y);
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    const uint32_t reached = columns(kReached + up, x, y / 4) & visible_;
    const unsigned context = around(reached, bit) & kNeighbours;
    if (highest == 0) {
      // Between 0 and 1 in plane p.
      if (context == 0 && !model_.has_cleanup(0)) return false;
      const uint32_t pair = z_.zero_cost[context];
      const int64_t one = model_.lambda * (cost_of(pair, 1) - cost_of(pair, 0) + kBitCost) +
                          model_.significant(v, 0);
      j = m > old ? one : -one;
    } else {
      j += of_decision(up, v, m, context) - of_decision(up, v, old, context);
    }
  }
  return j < model_.lambda * rdoq::slack(b_.rounds, is_first_, highest, m > old);
}

void Rdoq::note_change(int x, int y) {
  const int first = std::max(x - 1, 0), last = std::min(x + 1, b_.width - 1);
  for (int j = std::max(y - 1, 0); j <= std::min(y + 1, b_.height - 1); ++j) {
    for (int i = first; i <= last; ++i)
      z_.changed[j * row_words_ + i / 64] |= uint64_t{1} << i % 64;
  }
}

bool Rdoq::visit(int x, int y) {
  const int shifts = model_.num_shifts();
  if (shifts == 1) {
    // Of a candidate the other magnitude is known.
    const uint32_t q = (sample(x, y) & kMagnitude) >> b_.plane;
    if (!try_change(x, y, q != 0 ? (q << b_.plane) - 1 : 1u << b_.plane)) return false;
    if (b_.rounds > 1) note_change(x, y);
    return true;
  }
  bool any = false;
  for (int up = 0; up < shifts; ++up) {
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
  constexpr uint64_t kFourth = 0x1111111111111111;  // every fourth column
  is_first_ = is_first;
  bool any = false;
  for (int group = 0; group < kRdoqRows * kRdoqColumns; ++group) {
    for (int y = group / kRdoqColumns; y < b_.height; y += kRdoqRows) {
      for (int i = 0; i < row_words_; ++i) {
        const int word = y * row_words_ + i;
        uint64_t left = z_.candidates[word] & kFourth << group % kRdoqColumns;
        if (!is_first) left &= z_.changed[word];
        if (b_.rounds > 1) z_.changed[word] &= ~left;
        for (; left != 0; left &= left - 1) any |= visit(64 * i + std::countr_zero(left), y);
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
