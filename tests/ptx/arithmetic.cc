// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Arithmetic, comparisons and selections.
#include <cmath>
#include <type_traits>

#include "instructions.h"
#include "lanes.h"
#include "warp.h"

namespace cj2k::ptx {
namespace {

/// Wraps around, in a type that small ones are not promoted out of.
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

struct Add {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
    } else {
      return a + b;
    }
  }
};
struct Sub {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
    } else {
      return a - b;
    }
  }
};
struct Mul {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
    } else {
      return a * b;
    }
  }
};
struct MulHi {
  template <typename T>
  static T of(T a, T b) {
    using Small = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    using Large = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    using Wide = std::conditional_t<sizeof(T) == 8, Large, Small>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
/// Zeros have signs, and a NaN loses against a number.
struct Min {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a == b) return std::signbit(a) ? a : b;
      if (b != b) return a;
    }
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a == b) return std::signbit(a) ? b : a;
      if (b != b) return a;
    }
    return a > b ? a : b;
  }
};
struct FloatDiv {
  template <typename T>
  static T of(T a, T b) {
    return a / b;
  }
};
struct Neg {
  template <typename T>
  static T of(T a) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    } else {
      return -a;
    }
  }
};
struct Abs {
  template <typename T>
  static T of(T a) {
    if constexpr (std::is_integral_v<T>) {
      return a < 0 ? Neg::of(a) : a;
    } else {
      return std::fabs(a);
    }
  }
};

template <typename Op, typename T>
void binary(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) { return Op::of(a[l], b[l]); });
}
template <typename Op, typename T>
void unary(Warp& w, const Insn& i, uint32_t lanes) {
  const T* a = w.at<T>(i.operand[1]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) { return Op::of(a[l]); });
}
template <typename Op>
Execute find_binary(const Mnemonic& m) {
  return for_numbers(m.type, []<typename T>() -> Execute { return &binary<Op, T>; });
}
template <typename Op>
Execute find_integer_binary(const Mnemonic& m) {
  return for_integers(m.type, []<typename T>() -> Execute { return &binary<Op, T>; });
}
template <typename Op>
Execute find_unary(const Mnemonic& m) {
  return for_numbers(m.type, []<typename T>() -> Execute { return &unary<Op, T>; });
}

template <typename T>
void fused_multiply_add(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]), *c = w.at<T>(i.operand[3]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) { return std::fma(a[l], b[l], c[l]); });
}

template <typename T>
void multiply_add(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]), *c = w.at<T>(i.operand[3]);
  write_lanes(lanes, w.at<T>(i.operand[0]),
              [=](int l) { return Add::of(Mul::of(a[l], b[l]), c[l]); });
}

template <typename T>
struct TwiceAsWide;
template <>
struct TwiceAsWide<uint16_t> {
  using Type = uint32_t;
};
template <>
struct TwiceAsWide<int16_t> {
  using Type = int32_t;
};
template <>
struct TwiceAsWide<uint32_t> {
  using Type = uint64_t;
};
template <>
struct TwiceAsWide<int32_t> {
  using Type = int64_t;
};

template <typename T, bool kAdd>
void multiply_wide(Warp& w, const Insn& i, uint32_t lanes) {
  using Wide = typename TwiceAsWide<T>::Type;
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]);
  Wide* to = w.at<Wide>(i.operand[0]);
  if constexpr (kAdd) {
    const Wide* c = w.at<Wide>(i.operand[3]);
    write_lanes(lanes, to, [=](int l) {
      return Add::of(static_cast<Wide>(static_cast<Wide>(a[l]) * static_cast<Wide>(b[l])), c[l]);
    });
  } else {
    write_lanes(lanes, to, [=](int l) {
      return static_cast<Wide>(static_cast<Wide>(a[l]) * static_cast<Wide>(b[l]));
    });
  }
}
template <bool kAdd>
Execute find_wide(const Mnemonic& m) {
  switch (m.type) {
    case Type::kU16:
      return &multiply_wide<uint16_t, kAdd>;
    case Type::kS16:
      return &multiply_wide<int16_t, kAdd>;
    case Type::kU32:
      return &multiply_wide<uint32_t, kAdd>;
    case Type::kS32:
      return &multiply_wide<int32_t, kAdd>;
    default:
      return nullptr;
  }
}

/// Division by zero gives an unspecified value, so no kernel should do it.
template <typename T, bool kRemainder>
void divide(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]);
  T* to = w.at<T>(i.operand[0]);
  for_each_lane(lanes, [&](int l) {
    if (b[l] == 0) w.fail(i, "a division by zero");
    if (std::is_signed_v<T> && b[l] == static_cast<T>(-1)) {
      to[l] = kRemainder ? T{0} : Neg::of(a[l]);
    } else {
      to[l] = static_cast<T>(kRemainder ? a[l] % b[l] : a[l] / b[l]);
    }
  });
}
template <bool kRemainder>
Execute find_division(const Mnemonic& m) {
  return for_integers(m.type, []<typename T>() -> Execute { return &divide<T, kRemainder>; });
}

/// add.cc and addc: the carry is a bit for each lane of the warp.
template <typename T, bool kIn, bool kOut>
void add_carry(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]);
  const uint32_t in = kIn ? w.carry : 0;
  T sum[kLanes];
  write_lanes(kAllLanes, sum, [&](int l) { return a[l] + b[l] + static_cast<T>(in >> l & 1); });
  if constexpr (kOut) {
    const uint32_t out = lane_bits([&](int l) {
      return sum[l] < a[l] || (sum[l] == a[l] && (in >> l & 1) != 0 && b[l] != 0);
    });
    write_predicate(lanes, w.carry, out);
  }
  write_lanes(lanes, w.at<T>(i.operand[0]), [&](int l) { return sum[l]; });
}
template <bool kIn, bool kOut>
Execute find_carry(const Mnemonic& m) {
  return bytes_of(m.type) == 8 ? &add_carry<uint64_t, kIn, kOut> : &add_carry<uint32_t, kIn, kOut>;
}

template <typename T>
void select(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]);
  const uint32_t bits = w.predicate(i.operand[3]);
  write_lanes(lanes, w.at<T>(i.operand[0]),
              [=](int l) { return (bits >> l & 1) != 0 ? a[l] : b[l]; });
}
template <typename T>
void move(Warp& w, const Insn& i, uint32_t lanes) {
  const T* a = w.at<T>(i.operand[1]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) { return a[l]; });
}

// Comparisons. Those that end in u are true for NaN.
struct Eq {
  template <typename T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <typename T>
  static bool of(T a, T b) {
    return a != b && a == a && b == b;
  }
};
struct Lt {
  template <typename T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <typename T>
  static bool of(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <typename T>
  static bool of(T a, T b) {
    return a > b;
  }
};
struct Ge {
  template <typename T>
  static bool of(T a, T b) {
    return a >= b;
  }
};
struct Equ {
  template <typename T>
  static bool of(T a, T b) {
    return !(a < b || a > b);
  }
};
struct Neu {
  template <typename T>
  static bool of(T a, T b) {
    return !(a == b);
  }
};
struct Ltu {
  template <typename T>
  static bool of(T a, T b) {
    return !(a >= b);
  }
};
struct Leu {
  template <typename T>
  static bool of(T a, T b) {
    return !(a > b);
  }
};
struct Gtu {
  template <typename T>
  static bool of(T a, T b) {
    return !(a <= b);
  }
};
struct Geu {
  template <typename T>
  static bool of(T a, T b) {
    return !(a < b);
  }
};

template <typename Op, typename T>
void compare(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[2]);
  uint32_t& to = w.predicate(i.operand[0]);
  if ((lanes & (lanes - 1)) == 0) {
    const int l = std::countr_zero(lanes);
    write_predicate(lanes, to, Op::of(a[l], b[l]) ? lanes : 0);
  } else {
    write_predicate(lanes, to, lane_bits([=](int l) { return Op::of(a[l], b[l]); }));
  }
}
template <typename Op>
Execute find_comparison(const Mnemonic& m) {
  return for_numbers(m.type, []<typename T>() -> Execute { return &compare<Op, T>; });
}
template <typename Op>
Execute find_float_comparison(const Mnemonic& m) {
  return for_floats(m.type, []<typename T>() -> Execute { return &compare<Op, T>; });
}

Execute find_division_of_any(const Mnemonic& m) {
  const Execute found = find_division<false>(m);
  if (found != nullptr || !m.has("rn")) return found;
  return for_floats(m.type, []<typename T>() -> Execute { return &binary<FloatDiv, T>; });
}
Execute find_fma(const Mnemonic& m) {
  return for_floats(m.type, []<typename T>() -> Execute { return &fused_multiply_add<T>; });
}
Execute find_mad(const Mnemonic& m) {
  return for_integers(m.type, []<typename T>() -> Execute { return &multiply_add<T>; });
}
Execute find_select(const Mnemonic& m) {
  return for_numbers(m.type, []<typename T>() -> Execute { return &select<T>; });
}
void move_predicate(Warp& w, const Insn& i, uint32_t lanes) {
  write_predicate(lanes, w.predicate(i.operand[0]), w.predicate(i.operand[1]));
}
Execute find_move(const Mnemonic& m) {
  if (m.type == Type::kPred) return &move_predicate;
  return for_numbers(m.type, []<typename T>() -> Execute { return &move<T>; });
}

constexpr Flow kPlain = Flow::kPlain;
constexpr Row kRows[] = {
    {"add", "cc", "", "ttt", 1, kPlain, &find_carry<false, true>},
    {"add", "", "rn", "ttt", 1, kPlain, &find_binary<Add>},
    {"addc", "cc", "", "ttt", 1, kPlain, &find_carry<true, true>},
    {"addc", "", "", "ttt", 1, kPlain, &find_carry<true, false>},
    {"sub", "", "rn", "ttt", 1, kPlain, &find_binary<Sub>},
    {"mul", "hi", "", "ttt", 1, kPlain, &find_integer_binary<MulHi>},
    {"mul", "wide", "", "2tt", 1, kPlain, &find_wide<false>},
    {"mul", "lo", "", "ttt", 1, kPlain, &find_integer_binary<Mul>},
    {"mul", "rn", "", "ttt", 1, kPlain, &find_binary<Mul>},
    {"mad", "wide", "", "2tt2", 1, kPlain, &find_wide<true>},
    {"mad", "lo", "", "tttt", 1, kPlain, &find_mad},
    {"fma", "rn", "", "tttt", 1, kPlain, &find_fma},
    {"div", "", "rn", "ttt", 1, kPlain, &find_division_of_any},
    {"rem", "", "", "ttt", 1, kPlain, &find_division<true>},
    {"min", "", "", "ttt", 1, kPlain, &find_binary<Min>},
    {"max", "", "", "ttt", 1, kPlain, &find_binary<Max>},
    {"abs", "", "", "tt", 1, kPlain, &find_unary<Abs>},
    {"neg", "", "", "tt", 1, kPlain, &find_unary<Neg>},
    {"selp", "", "", "tttp", 1, kPlain, &find_select},
    {"mov", "", "", "tt", 1, kPlain, &find_move},
    {"cvta", "", "to global", "tt", 1, kPlain, &find_move},
    {"setp", "eq", "", "ptt", 1, kPlain, &find_comparison<Eq>},
    {"setp", "ne", "", "ptt", 1, kPlain, &find_comparison<Ne>},
    {"setp", "lt", "", "ptt", 1, kPlain, &find_comparison<Lt>},
    {"setp", "le", "", "ptt", 1, kPlain, &find_comparison<Le>},
    {"setp", "gt", "", "ptt", 1, kPlain, &find_comparison<Gt>},
    {"setp", "ge", "", "ptt", 1, kPlain, &find_comparison<Ge>},
    {"setp", "equ", "", "ptt", 1, kPlain, &find_float_comparison<Equ>},
    {"setp", "neu", "", "ptt", 1, kPlain, &find_float_comparison<Neu>},
    {"setp", "ltu", "", "ptt", 1, kPlain, &find_float_comparison<Ltu>},
    {"setp", "leu", "", "ptt", 1, kPlain, &find_float_comparison<Leu>},
    {"setp", "gtu", "", "ptt", 1, kPlain, &find_float_comparison<Gtu>},
    {"setp", "geu", "", "ptt", 1, kPlain, &find_float_comparison<Geu>},
};

}  // namespace

std::span<const Row> arithmetic_rows() { return kRows; }

}  // namespace cj2k::ptx
