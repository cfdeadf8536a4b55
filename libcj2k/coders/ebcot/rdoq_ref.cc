// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The reference: the model of rdoq.h, one sample after the other.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/rdoq_model.h"
#include "core/ebcot/contexts.h"

namespace cj2k::ref {
namespace {

using rdoq::Counts;
using rdoq::kMagnitude;
using rdoq::Model;

struct Place {
  int x, y;
};

class Rdoq {
 public:
  Rdoq(const RdoqBlock& block, RdoqScratch& z, bool backwards)
      : b_(block),
        z_(z),
        backwards_(backwards),
        model_(rdoq::model_of(block, block.bit_planes)),
        candidate_(size()),
        changed_(size()) {
    for (std::vector<char>& early : early_) early.resize(size());
  }

  void run(RdoqResult* result) {
    rdoq::load(b_, z_);
    *result = {};
    int planes = b_.bit_planes;
    for (int round = 0; round < b_.rounds && planes > b_.plane; ++round) {
      if (!begin_round(planes, round == 0) && round == 0) break;
      const bool any = visit_all(round == 0);
      planes = rdoq::count_planes(b_);
      if (!any) break;
    }
    result->bit_planes = planes;
    model_ = rdoq::model_of(b_, planes);
    rdoq::correct(
        b_, z_, model_,
        [&](int x, int y, int up) {
          return early_[up][at({x, y})] != 0;
        },
        result);
  }

 private:
  /// When in a plane the state of a neighbour is asked for.
  enum class When { kSignificance, kRefinement, kCleanup, kEnd };
  /// Significant neighbours, and the sums of their signs.
  struct Neighbours {
    int h, v, d, sign_h, sign_v;
    bool any() const { return h + v + d > 0; }
  };

  size_t size() const { return static_cast<size_t>(b_.width * b_.height); }
  size_t at(Place s) const { return static_cast<size_t>(s.y * b_.width + s.x); }
  uint32_t magnitude(Place s) const { return b_.samples[s.y * b_.stride + s.x] & kMagnitude; }
  bool negative(Place s) const { return z_.before[at(s)] >> 31 != 0; }
  bool in_block(Place s) const { return s.x >= 0 && s.y >= 0 && s.x < b_.width && s.y < b_.height; }
  bool higher(int up, Place s) const { return magnitude(s) >> (model_.plane + up) > 1; }
  bool now(int up, Place s) const { return magnitude(s) >> (model_.plane + up) == 1; }
  unsigned bit(int up, Place s) const { return magnitude(s) >> (model_.plane + up) & 1; }
  static bool precedes(Place a, Place b) {
    if (a.y / 4 != b.y / 4) return a.y / 4 < b.y / 4;
    return a.x != b.x ? a.x < b.x : a.y < b.y;
  }

  /// Whether `s` is significant when `reader` is coded in that pass; kEnd: after the plane.
  bool significant(int up, When when, Place s, Place reader) const {
    if (!in_block(s)) return false;
    if ((b_.style & CJ2K_STYLE_VSC) != 0 && s.y / 4 > reader.y / 4) return false;
    if (higher(up, s)) return true;
    if (!now(up, s)) return false;
    const bool early = early_[up][at(s)] != 0;
    switch (when) {
      case When::kSignificance:
        return early && precedes(s, reader);
      case When::kRefinement:
        return early;
      case When::kCleanup:
        return early || precedes(s, reader);
      case When::kEnd:
        return true;
    }
    std::abort();
  }
  /// @param reader  the sample whose turn it is: `s`, or in run mode the first of its column
  Neighbours neighbours(int up, When when, Place s, Place reader) const {
    Neighbours n{};
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const Place other{s.x + dx, s.y + dy};
        if ((dx == 0 && dy == 0) || !significant(up, when, other, reader)) continue;
        const int sign = negative(other) ? -1 : 1;
        if (dy == 0) ++n.h, n.sign_h += sign;
        if (dx == 0) ++n.v, n.sign_v += sign;
        if (dx != 0 && dy != 0) ++n.d;
      }
    }
    return n;
  }
  unsigned zero_label(const Neighbours& n) const {
    return mq::kZero + ebcot::zero_context(b_.orientation, n.h, n.v, n.d);
  }

  bool begin_round(int planes, bool is_first);
  template <typename Code>
  void code_column(int up, int x, int stripe, const Code& code);
  template <typename Visit>
  void for_window(int x0, int x1, int y0, int y1, const Visit& visit) const;
  int64_t decide(unsigned label, unsigned bit_value) {
    return model_.lambda * costs_.bits[label][bit_value];
  }
  template <typename Code>
  void code_significance(int up, Place s, const Code& code);
  template <typename Code>
  void code_sign(const Neighbours& n, Place s, const Code& code);

  /// Model::error and target_of, as the samples are now.
  int32_t error(Place s) const {
    return in_block(s) ? model_.error(z_.value[at(s)], magnitude(s), negative(s)) : 0;
  }
  int32_t target(Place s) const {
    return target_of(b_.overlaps, z_.value[at(s)], negative(s), [&](int dx, int dy) {
      return error({s.x + dx, s.y + dy});
    });
  }
  /// What the error of a sample is counted against.
  int32_t aim(Place s) const {
    return s.x == visited_.x && s.y == visited_.y ? target_ : z_.value[at(s)];
  }

  bool visit_all(bool is_first);
  bool visit(Place s);
  bool try_change(Place s, uint32_t m);
  bool is_promising(Place s, uint32_t old, uint32_t m, int highest);
  int64_t of_decision(int up, Place s, uint32_t m, const Neighbours& n);
  void set(Place s, uint32_t m);
  int64_t of_own(Place s, uint32_t m, int highest);
  int64_t own_refinement(int up, Place s, uint32_t m);
  int64_t of_window(Place s, int highest);

  RdoqBlock b_;
  RdoqScratch& z_;
  const bool backwards_;
  Model model_;
  rdoq::Costs costs_;
  bool is_first_ = true;                     ///< round
  std::vector<char> early_[kTrackedPlanes];  ///< the significance pass codes the sample
  std::vector<char> candidate_;
  std::vector<char> changed_;
  Place visited_{-1, -1};
  int32_t target_ = 0;  ///< of the visited sample
};

/// Visits samples in scan order: all rows of the stripes of rows y0 .. y1, columns x0 .. x1.
template <typename Visit>
void Rdoq::for_window(int x0, int x1, int y0, int y1, const Visit& visit) const {
  for (int stripe = std::max(y0, 0) / 4; stripe <= std::min(y1, b_.height - 1) / 4; ++stripe) {
    for (int x = std::max(x0, 0); x <= std::min(x1, b_.width - 1); ++x) {
      for (int y = 4 * stripe; y < std::min(4 * stripe + 4, b_.height); ++y) visit(Place{x, y});
    }
  }
}

/// Codes the sign of a sample that becomes significant.
/// @param code  void(unsigned label, unsigned bit, bool is_new): is_new if D changes too
template <typename Code>
void Rdoq::code_sign(const Neighbours& n, Place s, const Code& code) {
  const auto clamp = [](int v) { return v < -1 ? -1 : v > 1 ? 1 : v; };
  const auto label = ebcot::sign_context(clamp(n.sign_h), clamp(n.sign_v));
  code(label.context, (negative(s) ? 1u : 0u) ^ label.flip, true);
}

/// Finds whether the significance pass codes a sample, and codes it.
template <typename Code>
void Rdoq::code_significance(int up, Place s, const Code& code) {
  early_[up][at(s)] = 0;
  if (higher(up, s)) return;
  const Neighbours n = neighbours(up, When::kSignificance, s, s);
  if (!n.any()) return;
  early_[up][at(s)] = 1;
  code(zero_label(n), bit(up, s), false);
  if (now(up, s)) code_sign(n, s, code);
}

/// The clean-up pass of one column of a stripe.
/// @param code  as in code_sign, and the sample
template <typename Code>
void Rdoq::code_column(int up, int x, int stripe, const Code& code) {
  Place s{x, 4 * stripe};
  const Place top = s;
  const int end = std::min(s.y + 4, b_.height);
  bool run = end - s.y == 4;
  for (int y = s.y; y < end; ++y) {
    const Place t{x, y};
    run = run && !higher(up, t) && early_[up][at(t)] == 0 &&
          !neighbours(up, When::kCleanup, t, top).any();
  }
  if (run) {
    while (s.y < end && !now(up, s)) ++s.y;
    code(mq::kRun, s.y < end, false, s);
    if (s.y == end) return;
    code(mq::kUniform, 0, false, s);
    code(mq::kUniform, 0, false, s);
    code_sign(neighbours(up, When::kCleanup, s, s), s,
              [&](unsigned label, unsigned b, bool is_new) { code(label, b, is_new, s); });
    ++s.y;
  }
  for (; s.y < end; ++s.y) {
    if (higher(up, s) || early_[up][at(s)] != 0) continue;
    const Neighbours n = neighbours(up, When::kCleanup, s, s);
    code(zero_label(n), bit(up, s), false, s);
    if (!now(up, s)) continue;
    code_sign(n, s, [&](unsigned label, unsigned b, bool is_new) { code(label, b, is_new, s); });
  }
}

bool Rdoq::begin_round(int planes, bool is_first) {
  if (!is_first && planes == model_.planes) return true;
  model_ = rdoq::model_of(b_, planes);
  rdoq::PassCounts counts[kTrackedPlanes] = {};
  for (int up = 0; up < model_.tracked; ++up) {
    std::fill(early_[up].begin(), early_[up].end(), char{0});
    rdoq::PassCounts& of = counts[up];
    for_window(0, b_.width - 1, 0, b_.height - 1, [&](Place s) {
      if (model_.is_highest(up)) return;
      code_significance(up, s, [&](unsigned label, unsigned b, bool is_new) {
        ++of.significance.n[label][b];
        if (is_new) of.error[0] += model_.significant(z_.value[at(s)], up);
      });
    });
    for_window(0, b_.width - 1, 0, b_.height - 1, [&](Place s) {
      if (!higher(up, s)) return;
      const bool first = now(up + 1, s);
      const bool any = neighbours(up, When::kRefinement, s, s).any();
      ++of.refinement.n[mq::kRefine + (!first ? 2u : any ? 1u : 0u)][bit(up, s)];
      of.error[1] += model_.refined(z_.value[at(s)], magnitude(s), up);
    });
    for (int stripe = 0; stripe < (b_.height + 3) / 4; ++stripe) {
      for (int x = 0; x < b_.width; ++x)
        code_column(up, x, stripe, [&](unsigned label, unsigned b, bool is_new, Place s) {
          ++of.cleanup.n[label][b];
          if (is_new) of.error[2] += model_.significant(z_.value[at(s)], up);
        });
    }
  }
  costs_ = rdoq::costs_of(counts);
  return rdoq::may_pay(model_, costs_, counts);
}

void Rdoq::set(Place s, uint32_t m) {
  b_.samples[s.y * b_.stride + s.x] = m == 0 ? 0 : m | (z_.before[at(s)] & ~kMagnitude);
}

int64_t Rdoq::own_refinement(int up, Place s, uint32_t m) {
  const uint32_t above = m >> (model_.plane + up + 1);
  if (above == 0) return 0;
  const bool any = neighbours(up, When::kRefinement, s, s).any();
  const unsigned label = mq::kRefine + (above > 1 ? 2u : any ? 1u : 0u);
  const int64_t bits =
      model_.is_raw(up) ? model_.lambda * kBitCost : decide(label, m >> (model_.plane + up) & 1);
  return bits + model_.refined(aim(s), m, up);
}

int64_t Rdoq::of_own(Place s, uint32_t m, int highest) {
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    if (model_.has_refinement(up)) j += own_refinement(up, s, m);
  }
  return j;
}

int64_t Rdoq::of_window(Place s, int highest) {
  int64_t j = 0;
  const auto each = [&](const auto& visit) {
    for_window(s.x - 1, s.x + 1, s.y - 1, s.y + 1, visit);
  };
  const auto near = [&](const auto& visit) {
    each([&](Place t) {
      if (std::abs(t.y - s.y) <= 1) visit(t);
    });
  };
  for (int up = highest; up >= 0; --up) {
    const auto become = [&](bool is_new, Place t) {
      if (is_new) j += model_.significant(aim(t), up);
    };
    if (!model_.is_highest(up)) {
      near([&](Place t) {
        code_significance(up, t, [&](unsigned label, unsigned b, bool is_new) {
          // Of a raw pass, the sign is counted at its cost in an MQ pass.
          j += model_.is_raw(up) && !is_new ? model_.lambda * kBitCost : decide(label, b);
          become(is_new, t);
        });
      });
      if (model_.has_refinement(up)) {
        near([&](Place t) {
          if ((t.x == s.x && t.y == s.y) || !higher(up, t) || !now(up + 1, t)) return;
          const bool any = neighbours(up, When::kRefinement, t, t).any();
          j += model_.is_raw(up) ? model_.lambda * kBitCost
                                 : decide(mq::kRefine + (any ? 1u : 0u), bit(up, t));
        });
        j += own_refinement(up, s, magnitude(s));
      }
    }
    if (!model_.has_cleanup(up)) continue;
    each([&](Place t) {
      if (t.y % 4 != 0) return;
      code_column(up, t.x, t.y / 4, [&](unsigned label, unsigned b, bool is_new, Place of) {
        j += decide(label, b);
        become(is_new, of);
      });
    });
  }
  return j;
}

int64_t Rdoq::of_decision(int up, Place s, uint32_t m, const Neighbours& n) {
  const uint32_t q = m >> (model_.plane + up);
  const int32_t value = aim(s);
  if (q > 1) {
    if (!model_.has_refinement(up)) return 0;
    const unsigned label = mq::kRefine + (q > 3 ? 2u : n.any() ? 1u : 0u);
    return decide(label, q & 1) + model_.refined(value, m, up);
  }
  if (!n.any() && !model_.has_cleanup(up)) return 0;
  if (q == 0) return decide(zero_label(n), 0);
  return decide(zero_label(n), 1) + model_.lambda * kBitCost + model_.significant(value, up);
}

bool Rdoq::is_promising(Place s, uint32_t old, uint32_t m, int highest) {
  int64_t j = 0;
  for (int up = highest; up >= 0; --up) {
    const Neighbours n = neighbours(up, When::kEnd, s, s);
    if (highest == 0 && !n.any() && !model_.has_cleanup(0)) return false;
    j += of_decision(up, s, m, n) - of_decision(up, s, old, n);
  }
  return j < model_.lambda * rdoq::slack(b_.rounds, is_first_, highest, m > old);
}

bool Rdoq::try_change(Place s, uint32_t m) {
  const uint32_t old = magnitude(s);
  const int highest = model_.highest_changed(old, m);
  if (std::bit_width(old) == std::bit_width(m)) {
    if (of_own(s, m, highest) >= of_own(s, old, highest)) return false;
    set(s, m);
    return true;
  }
  const bool asks = rdoq::asks_own(b_.rounds, is_first_, highest, m > old);
  if (asks && !is_promising(s, old, m, highest)) return false;
  std::vector<char> early[kTrackedPlanes];
  std::copy(std::begin(early_), std::end(early_), early);
  const int64_t before = of_window(s, highest);
  std::copy(std::begin(early), std::end(early), early_);
  set(s, m);
  if (of_window(s, highest) < before) return true;
  std::copy(std::begin(early), std::end(early), early_);
  set(s, old);
  return false;
}

bool Rdoq::visit(Place s) {
  target_ = target(s);
  visited_ = s;
  bool any = false;
  for (int up = 0; up < model_.num_shifts(); ++up) {
    const uint32_t m = magnitude(s);
    const uint32_t other = model_.changed(target_, m, up);
    if (other == m || !try_change(s, other)) continue;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const Place n{s.x + dx, s.y + dy};
        if (in_block(n)) changed_[at(n)] = 1;
      }
    }
    any = true;
  }
  visited_ = {-1, -1};
  return any;
}

bool Rdoq::visit_all(bool is_first) {
  is_first_ = is_first;
  for_window(0, b_.width - 1, 0, b_.height - 1, [&](Place s) {
    const int32_t aimed = target(s);
    bool may_change = false;
    for (int up = 0; up < model_.num_shifts(); ++up)
      may_change |= model_.changed(aimed, magnitude(s), up) != magnitude(s);
    candidate_[at(s)] = may_change && aimed >= kLeastValue;
  });
  bool any = false;
  std::vector<Place> group;
  for (int g = 0; g < kRdoqRows * kRdoqColumns; ++g) {
    group.clear();
    for (int y = g / kRdoqColumns; y < b_.height; y += kRdoqRows) {
      for (int x = g % kRdoqColumns; x < b_.width; x += kRdoqColumns) group.push_back({x, y});
    }
    if (backwards_) std::reverse(group.begin(), group.end());
    for (const Place s : group) {
      if (candidate_[at(s)] == 0) continue;
      if (!is_first && changed_[at(s)] == 0) continue;
      changed_[at(s)] = 0;
      any |= visit(s);
    }
  }
  return any;
}

}  // namespace

void rdoq_block(const RdoqBlock& block, RdoqScratch& scratch, RdoqResult* result, bool backwards) {
  Rdoq(block, scratch, backwards).run(result);
}

}  // namespace cj2k::ref
