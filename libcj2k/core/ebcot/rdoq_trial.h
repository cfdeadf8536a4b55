// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The trial of a change in RDOQ (coders/ebcot/rdoq.h has the model), with windows of significance in
// machine words. Both backends have it from here; each keeps its maps in its own way.
//
// A map holds one bit for each sample and question. A window of a map is five columns of a stripe, 30
// bits: bit 6 * column + row + 1, rows -1 .. 4 (rows -1 and 4 belong to the stripes beside it). The
// neighbours of a bit are 1, 5, 6 and 7 bits away, and ascending bits are in scan order.
#pragma once

#include <bit>
#include <cstdint>

#include "core/ebcot/contexts.h"
#include "core/ebcot/rdoq_model.h"

namespace cj2k::rdoq {

// Maps.
inline constexpr int kSign = 0;   ///< negative
inline constexpr int kOne = 1;    ///< + up: bit of that plane
inline constexpr int kEarly = 4;  ///< + up: coded by the significance pass
/// + up: significant after that plane; up to two planes above the tracked
inline constexpr int kReached = 7;
inline constexpr int kRdoqMaps = 12;
static_assert(kReached + kTrackedPlanes + 2 == kRdoqMaps);

inline constexpr int kColumnBits = 6;
inline constexpr uint32_t kRows = 0x1E;           ///< rows 0 .. 3 of column 0 of a window
inline constexpr uint32_t kRowAbove = 0x1041041;  ///< row -1 of all columns
inline constexpr uint32_t kRowBelow = kRowAbove << 5;
inline constexpr uint32_t kMiddle = kRows << 6 | kRows << 12 | kRows << 18;  ///< columns 1 .. 3
/// What precedes the columns 1 .. 3 in scan order.
inline constexpr uint32_t kPrecedes = kRowAbove | kRows;
inline constexpr unsigned kNeighbours = 0x1EF;  ///< of the nine bits of around()

CJ2K_HD inline int lowest_bit(uint32_t x) {
#if defined(__CUDA_ARCH__)
  return __clz(static_cast<int>(__brev(x)));
#else
  return std::countr_zero(x);
#endif
}

/// The nine bits around `bit`, column by column.
CJ2K_HD constexpr unsigned around(uint32_t significant, int bit) {
  return (significant >> (bit - 7) & 7) | (significant >> (bit - 1) & 7) << 3 |
         (significant >> (bit + 5) & 7) << 6;
}
/// Left, above, below, right: of each a bit of its significance, and then one of its sign.
CJ2K_HD constexpr unsigned cross(uint32_t significant, uint32_t sign, int bit) {
  constexpr uint32_t kCross = 1 | 1 << 5 | 1 << 7 | 1 << 12;
  const uint32_t both = (significant >> (bit - 6) & kCross) | (sign >> (bit - 6) & kCross) << 1;
  return (both & 3) | (both >> 3 & 0x3C) | (both >> 6 & 0xC0);
}
/// All bits next to a bit of `w`.
CJ2K_HD constexpr uint32_t grown(uint32_t w) {
  const uint32_t column = w | w << 1 | w >> 1;
  return column | column << 6 | column >> 6;
}
/// The bits beside a bit of `w`, in rows 0 .. 3.
CJ2K_HD constexpr uint32_t adjacent(uint32_t w) {
  const uint32_t column = w | w << 1 | w >> 1;
  return w << 1 | w >> 1 | column << 6 | column >> 6;
}
/// Row y of the middle column, in the window of its stripe.
CJ2K_HD constexpr int centre_bit(int y) { return 2 * kColumnBits + y % 4 + 1; }
CJ2K_HD constexpr uint32_t centre(int y) { return 1u << centre_bit(y); }

/// Label of a zero-coding decision by the nine bits of around().
CJ2K_HD constexpr unsigned zero_label(Orientation orientation, unsigned nine) {
  const auto at = [nine](int i) { return static_cast<int>(nine >> i & 1); };
  const int h = at(1) + at(7), v = at(3) + at(5), d = at(0) + at(2) + at(6) + at(8);
  return mq::kZero + ebcot::zero_context(orientation, h, v, d);
}
/// Label and flip of a sign by the eight bits of cross().
CJ2K_HD constexpr ebcot::SignContext sign_label(unsigned eight) {
  const auto at = [eight](int i) {
    return (eight >> 2 * i & 1) == 0 ? 0 : (eight >> (2 * i + 1) & 1) != 0 ? -1 : 1;
  };
  const auto clamp = [](int sum) { return sum < -1 ? -1 : sum > 1 ? 1 : sum; };
  return ebcot::sign_context(clamp(at(0) + at(3)), clamp(at(1) + at(2)));
}

/// The costs of both bits of a decision. Bits 0 .. 15: of bit 0, bits 16 .. 31: of bit 1.
CJ2K_HD constexpr uint32_t cost_pair(const uint16_t* bits, unsigned flip) {
  return bits[flip] | static_cast<uint32_t>(bits[1 - flip]) << 16;
}
CJ2K_HD constexpr int cost_of(uint32_t pair, uint32_t bit) {
  return static_cast<int>(pair >> (16 * bit) & 0xFFFF);
}

/// The costs of a round. The tables are indexed by around() and cross().
struct CostTables {
  const Costs* costs;
  const uint32_t* zero;  ///< [512]; the middle bit does not matter
  const uint32_t* sign;  ///< [256]
};

/// Five columns of one stripe in one plane.
struct Window {
  uint32_t higher, now, early, sign, second, one;
};

/// The one or two stripes that a change is seen in, those of rows y - 1 .. y + 1.
struct Region {
  uint32_t counted[2];  ///< bits of the samples whose decisions are counted
  uint32_t near[2];     ///< of them, those of rows y - 1 .. y + 1
  int first, count;     ///< stripes
  int own;              ///< index of the sample's own stripe
};
CJ2K_HD_WHOLE Region region_of(int x, int y, int width, int height) {
  const int top = y > 0 ? y - 1 : 0, bottom = y + 1 < height ? y + 1 : height - 1;
  Region r{{0, 0}, {0, 0}, top / 4, bottom / 4 - top / 4 + 1, y / 4 - top / 4};
  uint32_t columns = kMiddle;
  if (x == 0) columns &= ~(kRows << kColumnBits);
  if (x + 1 == width) columns &= ~(kRows << (3 * kColumnBits));
  CJ2K_HD_UNROLL
  for (int i = 0; i < 2; ++i) {
    if (i >= r.count) break;
    const int left = height - 4 * (r.first + i), rows = left < 4 ? left : 4;
    r.counted[i] = columns & kRowAbove * (2u * ((1u << rows) - 1));
    const int row = y - 4 * (r.first + i);  // -1 .. 4
    r.near[i] = r.counted[i] & kRowAbove * ((7u << (row + 1) >> 1) & 63);
  }
  return r;
}

/// What a trial finds.
struct Outcome {
  bool is_better;
  /// Planes, from p on, in which it was found anew what the significance pass codes near the sample.
  int planes;
  /// 18 bits for each of them: columns 1 .. 3 of the window of the sample's stripe, where the bits of
  /// Region::near are valid, with the rows above and below.
  uint64_t early;
};
/// The bits of Region::near of stripe i in Outcome::early.
CJ2K_HD constexpr uint32_t early_of(const Outcome& of, const Region& region, int up, int i) {
  const uint32_t own = static_cast<uint32_t>(of.early >> 18 * up & 0x3FFFF) << kColumnBits;
  return (i == region.own ? own : i < region.own ? own << 4 : own >> 4) & region.near[i];
}

/// The trials of one round. All functions are const; `At` is the place of one trial:
///   Window window(int up, int i) const    of stripe i of the region, around the sample's column
///   Window own_window(int up) const       of the sample's own stripe
///   uint32_t reached(int up) const        of it, the map kReached + up
///   int32_t value(int x, int y) const     |coefficient| in 2^p / 2^kRdoqFraction
class Trials {
 public:
  /// @param visible  what the contexts of a window see: not the row below with VSC
  CJ2K_HD Trials(const Model& model, const CostTables& tables, uint32_t visible, int width,
                 int height, int rounds, bool is_first)
      : model_(model),
        tables_(tables),
        visible_(visible),
        width_(width),
        height_(height),
        rounds_(rounds),
        is_first_(is_first) {}

  /// Whether the magnitude m in place of `old` lowers J.
  /// @param region  set unless Outcome::planes is 0
  template <typename At>
  CJ2K_HD_WHOLE Outcome try_change(const At& at, int x, int y, uint32_t old, uint32_t m,
                                   Region* region) const {
    const int highest = model_.highest_changed(old, m);
    if (bit_width(old) == bit_width(m)) return {lowers_own(at, x, y, old, m, highest), 0, 0};
    if (asks_own(rounds_, is_first_, highest, m > old) && !is_promising(at, x, y, old, m, highest))
      return {false, 0, 0};
    *region = region_of(x, y, width_, height_);
    Outcome outcome{false, highest + 1, 0};
    int64_t j = 0;
    CJ2K_HD_ROLLED
    for (int up = highest; up >= 0; --up) {
      Window before[2], after[2];
      CJ2K_HD_UNROLL
      for (int i = 0; i < 2; ++i) {
        if (i >= region->count) break;
        before[i] = at.window(up, i);
        after[i] = before[i];
        set_middle(up, y, i - region->own, m, &after[i]);
      }
      j += of_plane(at, up, x, y, old, m, *region, before, after);
      const uint32_t early = region->own == 0 ? after[0].early : after[1].early;
      outcome.early |= uint64_t{early >> kColumnBits & 0x3FFFF} << 18 * up;
    }
    outcome.is_better = j < 0;
    return outcome;
  }

 private:
  CJ2K_HD int zero_bits(uint32_t seen, int bit, const Window& w) const {
    return cost_of(tables_.zero[around(seen, bit)], w.now >> bit & 1);
  }
  CJ2K_HD int sign_bits(uint32_t seen, int bit, const Window& w) const {
    return cost_of(tables_.sign[cross(seen, w.sign, bit)], w.sign >> bit & 1);
  }
  CJ2K_HD uint32_t seen_in_refinement(const Window& w) const {
    return (w.higher | (w.now & w.early)) & visible_;
  }

  /// Gives the middle sample another magnitude.
  /// @param below  the window's stripe less the sample's: -1 .. 1
  CJ2K_HD void set_middle(int up, int y, int below, uint32_t m, Window* w) const {
    const uint32_t q = m >> model_.plane >> up;
    const uint32_t bit = below == 0 ? centre(y) : below > 0 ? centre(y) >> 4 : centre(y) << 4;
    const auto set = [bit](uint32_t* map, bool is) { *map = (*map & ~bit) | (is ? bit : 0); };
    set(&w->higher, q > 1);
    set(&w->now, q == 1);
    set(&w->second, q >> 1 == 1);
    set(&w->one, (q & 1) != 0);
  }

  CJ2K_HD_WHOLE int significance(int up, uint32_t region, Window& before, Window& after) const;
  CJ2K_HD_WHOLE int first_refinements(uint32_t region, const Window& before,
                                      const Window& after) const;
  CJ2K_HD_WHOLE int column(uint32_t left, uint32_t seen, bool run, const Window& w) const;
  CJ2K_HD_WHOLE int cleanup(uint32_t region, const Window& before, const Window& after) const;

  /// The changes of D when some samples become significant, and no more the ones of `was`.
  template <typename At>
  CJ2K_HD int64_t error_of(const At& at, int up, int x, int stripe, uint32_t found,
                           uint32_t was) const {
    int64_t error = 0;
    CJ2K_HD_ROLLED
    for (uint32_t left = found ^ was; left != 0; left &= left - 1) {
      const int bit = lowest_bit(left);
      const int column = x - 2 + bit / kColumnBits, row = 4 * stripe + bit % kColumnBits - 1;
      const int64_t one = model_.significant(at.value(column, row), up);
      error += (found >> bit & 1) != 0 ? one : -one;
    }
    return error;
  }

  /// R and D of the refinement of a sample with magnitude m, if it is refined in this plane.
  /// @param seen  seen_in_refinement
  template <typename At>
  CJ2K_HD int64_t own_refinement(const At& at, int up, int x, int y, uint32_t m,
                                 uint32_t seen) const {
    const uint32_t higher = m >> (model_.plane + up + 1);
    if (higher == 0) return 0;
    int cost = kBitCost;
    if (!model_.is_raw(up)) {
      const bool any = (around(seen, centre_bit(y)) & kNeighbours) != 0;
      const unsigned context = higher > 1 ? 2u : any ? 1u : 0u;
      cost = tables_.costs->bits[mq::kRefine + context][m >> (model_.plane + up) & 1];
    }
    return model_.lambda * cost + model_.refined(at.value(x, y), m, up);
  }

  /// Whether another magnitude lowers J of a sample that becomes significant above `highest`.
  template <typename At>
  CJ2K_HD bool lowers_own(const At& at, int x, int y, uint32_t old, uint32_t m, int highest) const {
    int64_t j = 0;
    CJ2K_HD_ROLLED
    for (int up = highest; up >= 0; --up) {
      if (!model_.has_refinement(up)) continue;
      const uint32_t seen = seen_in_refinement(at.own_window(up));
      j += own_refinement(at, up, x, y, m, seen) - own_refinement(at, up, x, y, old, seen);
    }
    return j < 0;
  }

  /// J of the decisions about a sample in one plane, if its neighbours are as `context` says.
  CJ2K_HD int64_t of_decision(int up, int32_t v, uint32_t m, unsigned context) const {
    const uint32_t q = m >> (model_.plane + up);
    if (q > 1) {
      if (!model_.has_refinement(up)) return 0;
      const unsigned label = mq::kRefine + (q > 3 ? 2u : context != 0 ? 1u : 0u);
      return model_.lambda * tables_.costs->bits[label][q & 1] + model_.refined(v, m, up);
    }
    if (context == 0 && !model_.has_cleanup(up)) return 0;
    const uint32_t pair = tables_.zero[context];
    if (q == 0) return model_.lambda * cost_of(pair, 0);
    return model_.lambda * (cost_of(pair, 1) + kBitCost) + model_.significant(v, up);
  }

  /// Whether the decisions of the sample alone pay, with slack for those of its neighbours.
  template <typename At>
  CJ2K_HD bool is_promising(const At& at, int x, int y, uint32_t old, uint32_t m,
                            int highest) const {
    const int32_t v = at.value(x, y);
    int64_t j = 0;
    CJ2K_HD_ROLLED
    for (int up = highest; up >= 0; --up) {
      const unsigned context = around(at.reached(up) & visible_, centre_bit(y)) & kNeighbours;
      if (highest == 0) {
        // Between 0 and 1 in plane p.
        if (context == 0 && !model_.has_cleanup(0)) return false;
        const uint32_t pair = tables_.zero[context];
        const int64_t one = model_.lambda * (cost_of(pair, 1) - cost_of(pair, 0) + kBitCost) +
                            model_.significant(v, 0);
        j = m > old ? one : -one;
      } else {
        j += of_decision(up, v, m, context) - of_decision(up, v, old, context);
      }
    }
    return j < model_.lambda * slack(rounds_, is_first_, highest, m > old);
  }

  /// J of one plane, after less before.
  /// @param old, m  magnitudes of the middle sample
  template <typename At>
  CJ2K_HD_WHOLE int64_t of_plane(const At& at, int up, int x, int y, uint32_t old, uint32_t m,
                                 const Region& r, Window* before, Window* after) const {
    int cost = 0;
    int64_t error = 0;
    if (!model_.is_highest(up)) {
      cost += significance(up, r.near[0], before[0], after[0]);
      if (r.count == 2) {
        // Row 3 of the upper stripe is row -1 of the lower one; row 0 of that is row 4.
        constexpr uint32_t kAbove = kRowAbove & kMiddle >> 1, kBelow = kAbove << 5;
        const auto to_lower = [](Window* w) {
          w[1].early = (w[1].early & ~kAbove) | (w[0].early >> 4 & kAbove);
        };
        const auto to_upper = [](Window* w) {
          w[0].early = (w[0].early & ~kBelow) | (w[1].early << 4 & kBelow);
        };
        to_lower(before), to_lower(after);
        cost += significance(up, r.near[1], before[1], after[1]);
        to_upper(before), to_upper(after);
      }
      if (model_.has_refinement(up)) {
        CJ2K_HD_UNROLL
        for (int i = 0; i < 2; ++i) {
          if (i >= r.count || model_.is_raw(up)) break;
          const uint32_t others = i == r.own ? r.near[i] & ~centre(y) : r.near[i];
          cost += first_refinements(others, before[i], after[i]);
        }
        const auto seen = [&](const Window* w) {
          return r.own == 0 ? seen_in_refinement(w[0]) : seen_in_refinement(w[1]);
        };
        error += own_refinement(at, up, x, y, m, seen(after)) -
                 own_refinement(at, up, x, y, old, seen(before));
      }
    }
    CJ2K_HD_UNROLL
    for (int i = 0; i < 2; ++i) {
      if (i >= r.count) break;
      const Window &b = before[i], &a = after[i];
      if (model_.has_cleanup(up)) cost += cleanup(r.counted[i], b, a);
      // Both passes together change D alike, whichever codes a sample.
      const uint32_t any = model_.has_cleanup(up) ? ~uint32_t{0} : 0;
      const uint32_t found = a.now & (a.early | any) & r.near[i];
      const uint32_t was = b.now & (b.early | any) & r.near[i];
      error += error_of(at, up, x, r.first + i, found, was);
    }
    return model_.lambda * cost + error;
  }

  const Model& model_;
  const CostTables tables_;
  const uint32_t visible_;
  const int width_, height_, rounds_;
  const bool is_first_;
};

/// R of the significance pass in `region`, after less before; Window::early of the region is found
/// anew. What is the same in both is not looked up.
CJ2K_HD_WHOLE int Trials::significance(int up, uint32_t region, Window& before,
                                       Window& after) const {
  struct Side {
    CJ2K_HD Side(Window& window, uint32_t region, uint32_t visible)
        : w(window),
          seen((w.higher | (w.now & w.early & kPrecedes)) & visible),
          others(w.now & w.early & kMiddle & ~region),
          left(region & ~w.higher) {
      w.early &= ~region;
    }
    CJ2K_HD uint32_t reach() const { return left & grown(seen | others | (w.now & left)); }
    CJ2K_HD uint32_t at(int bit) const { return seen | (others & ((1u << bit) - 1)); }
    CJ2K_HD void add(uint32_t bit) {
      w.early |= bit;
      seen |= w.now & bit;
    }
    Window& w;
    uint32_t seen;
    const uint32_t others;  ///< count as significant for the samples after them
    const uint32_t left;
  };
  Side sides[2] = {{before, region, visible_}, {after, region, visible_}};
  const bool raw = model_.is_raw(up);
  int cost = 0;
  CJ2K_HD_ROLLED
  for (uint32_t left = sides[0].reach() | sides[1].reach(); left != 0; left &= left - 1) {
    const int bit = lowest_bit(left);
    const uint32_t mask = left & -left;
    const unsigned contexts[2] = {around(sides[0].at(bit), bit), around(sides[1].at(bit), bit)};
    if (contexts[0] == contexts[1] && ((before.now ^ after.now) & mask) == 0 &&
        ((before.higher ^ after.higher) & mask) == 0) {
      if ((contexts[0] & kNeighbours) == 0) continue;
      sides[0].add(mask);
      sides[1].add(mask);
      continue;
    }
    CJ2K_HD_UNROLL
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
CJ2K_HD_WHOLE int Trials::first_refinements(uint32_t region, const Window& before,
                                            const Window& after) const {
  const uint32_t now = adjacent(seen_in_refinement(after));
  const uint32_t was = adjacent(seen_in_refinement(before));
  int cost = 0;
  CJ2K_HD_ROLLED
  for (uint32_t left = after.higher & after.second & region & (was ^ now); left != 0;
       left &= left - 1) {
    const int bit = lowest_bit(left);
    const uint32_t one = after.one >> bit & 1;
    const int more =
        tables_.costs->bits[mq::kRefine + 1][one] - tables_.costs->bits[mq::kRefine][one];
    cost += (now >> bit & 1) != 0 ? more : -more;
  }
  return cost;
}

/// R of the clean-up pass of one column.
/// @param left  what it codes
/// @param seen  what is significant when it begins
CJ2K_HD_WHOLE int Trials::column(uint32_t left, uint32_t seen, bool run, const Window& w) const {
  int cost = 0;
  if (run) {
    const uint32_t now = w.now & left;
    cost += tables_.costs->bits[mq::kRun][now != 0];
    if (now == 0) return cost;
    const int bit = lowest_bit(now);
    cost += 2 * kBitCost + sign_bits(seen, bit, w);
    seen |= 1u << bit;
    left &= ~((2u << bit) - 1);
  }
  CJ2K_HD_ROLLED
  for (; left != 0; left &= left - 1) {
    const int bit = lowest_bit(left);
    cost += zero_bits(seen, bit, w);
    if ((w.now >> bit & 1) == 0) continue;
    cost += sign_bits(seen, bit, w);
    seen |= 1u << bit;
  }
  return cost;
}

/// R of the clean-up pass, after less before.
CJ2K_HD_WHOLE int Trials::cleanup(uint32_t region, const Window& before,
                                  const Window& after) const {
  const Window* const w[2] = {&before, &after};
  uint32_t seen[2], todo[2];
  CJ2K_HD_UNROLL
  for (int i = 0; i < 2; ++i) {
    seen[i] = (w[i]->higher | (w[i]->now & (w[i]->early | kPrecedes))) & visible_;
    todo[i] = region & ~(w[i]->higher | w[i]->early);
  }
  // Samples whose window is the same cost the same.
  const uint32_t differs =
      (before.higher ^ after.higher) | (before.now ^ after.now) | (before.early ^ after.early);
  const uint32_t changed = differs | adjacent(differs);
  int cost = 0;
  CJ2K_HD_ROLLED
  for (int c = 1; c <= 3; ++c) {
    const uint32_t rows = kRows << (kColumnBits * c);
    bool run[2];
    CJ2K_HD_UNROLL
    for (int i = 0; i < 2; ++i)
      run[i] = (todo[i] & rows) == rows && (seen[i] >> (kColumnBits * (c - 1)) & 0x3FFFF) == 0;
    if (run[0] || run[1]) {
      if (!run[0] || !run[1] || (differs & rows) != 0)
        cost += column(todo[1] & rows, seen[1], run[1], after) -
                column(todo[0] & rows, seen[0], run[0], before);
    } else {
      CJ2K_HD_ROLLED
      for (uint32_t left = (todo[0] | todo[1]) & rows & changed; left != 0; left &= left - 1) {
        const int bit = lowest_bit(left);
        CJ2K_HD_UNROLL
        for (int i = 0; i < 2; ++i) {
          if ((todo[i] >> bit & 1) == 0) continue;
          const uint32_t s = seen[i] | (w[i]->now & todo[i] & rows & ((1u << bit) - 1));
          int own = zero_bits(s, bit, *w[i]);
          if ((w[i]->now >> bit & 1) != 0) own += sign_bits(s, bit, *w[i]);
          cost += i == 0 ? -own : own;
        }
      }
    }
    CJ2K_HD_UNROLL
    for (int i = 0; i < 2; ++i) seen[i] |= w[i]->now & todo[i] & rows;
  }
  return cost;
}

}  // namespace cj2k::rdoq
