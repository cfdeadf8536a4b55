// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Instructions in which the lanes of a warp work together: shuffles, votes, reductions. Lanes that
// came from different places have operands of their own.
#include <algorithm>

#include "instructions.h"
#include "lanes.h"
#include "warp.h"

namespace cj2k::ptx {
namespace {

/// Up, down and butterfly shuffles that leave the segment give the lane its own value, and false.
enum class Shuffle { kUp, kDown, kButterfly, kIndex };

template <Shuffle kKind>
void shuffle(Warp& w, const Insn&, uint32_t lanes) {
  constexpr uint32_t kNotHere = 0xDEADBEEF;  // the value of a lane that does not take part
  uint32_t in[kLanes], out[kLanes];
  uint32_t valid = 0;
  for_each_lane(lanes, [&](int l) { in[l] = w.at<uint32_t>(w.together(l).operand[2])[l]; });
  for_each_lane(lanes, [&](int l) {
    const Insn& i = w.together(l);
    const int b = static_cast<int>(w.at<uint32_t>(i.operand[3])[l] & 31);
    const uint32_t c = w.at<uint32_t>(i.operand[4])[l];
    const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
    const int first = l & segment, last = first | (clamp & ~segment & 31);
    int from = l;
    switch (kKind) {
      case Shuffle::kUp:
        from = l - b;
        break;
      case Shuffle::kDown:
        from = l + b;
        break;
      case Shuffle::kButterfly:
        from = l ^ b;
        break;
      case Shuffle::kIndex:
        from = first | (b & ~segment & 31);
        break;
    }
    const bool inside = kKind == Shuffle::kUp ? from >= last : from <= last;
    if (inside) valid |= 1u << l;
    if (!inside) from = l;
    out[l] = (lanes >> from & 1) != 0 ? in[from] : kNotHere;
  });
  for_each_lane(lanes, [&](int l) {
    const Insn& i = w.together(l);
    w.at<uint32_t>(i.operand[0])[l] = out[l];
    write_predicate(1u << l, w.predicate(i.operand[1]), valid);
  });
}
Execute find_shuffle(const Mnemonic& m) {
  if (m.has("up")) return &shuffle<Shuffle::kUp>;
  if (m.has("down")) return &shuffle<Shuffle::kDown>;
  if (m.has("bfly")) return &shuffle<Shuffle::kButterfly>;
  return &shuffle<Shuffle::kIndex>;
}

uint32_t votes(Warp& w, uint32_t lanes) {
  uint32_t bits = 0;
  for_each_lane(lanes, [&](int l) { bits |= w.predicate(w.together(l).operand[1]) & 1u << l; });
  return bits;
}
void ballot(Warp& w, const Insn&, uint32_t lanes) {
  const uint32_t bits = votes(w, lanes);
  for_each_lane(lanes, [&](int l) { w.at<uint32_t>(w.together(l).operand[0])[l] = bits; });
}
template <bool kAll>
void vote(Warp& w, const Insn&, uint32_t lanes) {
  const uint32_t bits = votes(w, lanes);
  const uint32_t result = (kAll ? bits == lanes : bits != 0) ? kAllLanes : 0;
  for_each_lane(lanes, [&](int l) {
    write_predicate(1u << l, w.predicate(w.together(l).operand[0]), result);
  });
}
Execute find_vote(const Mnemonic& m) {
  return m.has("all") ? &vote<true> : m.has("any") ? &vote<false> : nullptr;
}
Execute find_ballot(const Mnemonic&) { return &ballot; }

struct Add {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
};
struct And {
  template <typename T>
  static T of(T a, T b) {
    return a & b;
  }
};
struct Or {
  template <typename T>
  static T of(T a, T b) {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  static T of(T a, T b) {
    return a ^ b;
  }
};
struct Min {
  template <typename T>
  static T of(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <typename T>
  static T of(T a, T b) {
    return std::max(a, b);
  }
};

template <typename Op, typename T>
void reduce(Warp& w, const Insn&, uint32_t lanes) {
  const auto in = [&](int l) { return w.at<T>(w.together(l).operand[1])[l]; };
  T result = in(std::countr_zero(lanes));
  for_each_lane(lanes & (lanes - 1), [&](int l) { result = Op::of(result, in(l)); });
  for_each_lane(lanes, [&](int l) { w.at<T>(w.together(l).operand[0])[l] = result; });
}
template <typename Op>
Execute reduce_by_type(const Mnemonic& m) {
  return is_signed(m.type) ? &reduce<Op, int32_t> : &reduce<Op, uint32_t>;
}
Execute find_reduction(const Mnemonic& m) {
  if (m.has("add")) return reduce_by_type<Add>(m);
  if (m.has("and")) return reduce_by_type<And>(m);
  if (m.has("or")) return reduce_by_type<Or>(m);
  if (m.has("xor")) return reduce_by_type<Xor>(m);
  if (m.has("min")) return reduce_by_type<Min>(m);
  if (m.has("max")) return reduce_by_type<Max>(m);
  return nullptr;
}

void active_mask(Warp& w, const Insn& i, uint32_t lanes) {
  write_lanes(lanes, w.at<uint32_t>(i.operand[0]), [=](int) { return lanes; });
}
Execute find_active_mask(const Mnemonic&) { return &active_mask; }

constexpr Row kRows[] = {
    {"shfl", "sync", "up down bfly idx", "wpwwww", 2, Flow::kTogether, &find_shuffle},
    {"vote", "ballot", "sync", "wpw", 1, Flow::kTogether, &find_ballot},
    {"vote", "sync", "all any", "ppw", 1, Flow::kTogether, &find_vote},
    {"redux", "sync", "add and or xor min max", "wtw", 1, Flow::kTogether, &find_reduction},
    {"activemask", "", "", "w", 1, Flow::kPlain, &find_active_mask},
};

}  // namespace

std::span<const Row> warp_rows() { return kRows; }

}  // namespace cj2k::ptx
