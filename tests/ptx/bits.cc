// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Operations on bits and bytes.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "instructions.h"
#include "lanes.h"
#include "warp.h"

namespace cj2k::ptx {
namespace {

struct And {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <typename T>
  static T of(T a, T) {
    return static_cast<T>(~a);
  }
};

template <typename Op, typename T>
void logic(Warp& w, const Insn& i, uint32_t lanes) {
  const T *a = w.at<T>(i.operand[1]), *b = w.at<T>(i.operand[i.num_operands - 1]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) { return Op::of(a[l], b[l]); });
}
template <typename Op>
void predicate_logic(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t a = w.predicate(i.operand[1]), b = w.predicate(i.operand[i.num_operands - 1]);
  write_predicate(lanes, w.predicate(i.operand[0]), Op::of(a, b));
}
template <typename Op>
Execute find_logic(const Mnemonic& m) {
  if (m.type == Type::kPred) return &predicate_logic<Op>;
  return for_integers(m.type, []<typename T>() -> Execute { return &logic<Op, T>; });
}

// A shift by the width or more leaves zeros, or copies of the sign.
struct Left {
  template <typename T>
  static T of(T a, uint32_t shift) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<T>(shift >= kBits ? 0 : static_cast<Wide>(a) << (shift & (kBits - 1)));
  }
};
struct Right {
  template <typename T>
  static T of(T a, uint32_t shift) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (shift < kBits ? shift : kBits - 1));
    } else {
      return static_cast<T>(shift >= kBits ? 0 : a >> (shift & (kBits - 1)));
    }
  }
};
template <typename Op, typename T>
void shift(Warp& w, const Insn& i, uint32_t lanes) {
  const T* a = w.at<T>(i.operand[1]);
  const uint32_t* by = w.at<uint32_t>(i.operand[2]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) { return Op::of(a[l], by[l]); });
}
template <typename Op>
Execute find_shift(const Mnemonic& m) {
  return for_integers(m.type, []<typename T>() -> Execute { return &shift<Op, T>; });
}

template <bool kLeft, bool kWrap>
void funnel(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t *low = w.at<uint32_t>(i.operand[1]), *high = w.at<uint32_t>(i.operand[2]),
                 *by = w.at<uint32_t>(i.operand[3]);
  write_lanes(lanes, w.at<uint32_t>(i.operand[0]), [=](int l) {
    const uint64_t both = uint64_t{high[l]} << 32 | low[l];
    const uint32_t s = kWrap ? by[l] & 31 : std::min(by[l], 32u);
    return static_cast<uint32_t>(kLeft ? both << s >> 32 : both >> s);
  });
}
template <bool kLeft>
Execute find_funnel(const Mnemonic& m) {
  if (bytes_of(m.type) != 4 || m.has("wrap") == m.has("clamp")) return nullptr;
  return m.has("wrap") ? &funnel<kLeft, true> : &funnel<kLeft, false>;
}

template <typename T>
T ones(uint32_t count) {
  return count >= 8 * sizeof(T) ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
}
template <typename T>
void insert(Warp& w, const Insn& i, uint32_t lanes) {
  const T *from = w.at<T>(i.operand[1]), *into = w.at<T>(i.operand[2]);
  const uint32_t *place = w.at<uint32_t>(i.operand[3]), *length = w.at<uint32_t>(i.operand[4]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) {
    const uint32_t at = place[l] & 255;
    if (at >= 8 * sizeof(T)) return into[l];
    const T mask = static_cast<T>(ones<T>(length[l] & 255) << at);
    return static_cast<T>((into[l] & ~mask) | (from[l] << at & mask));
  });
}
/// Beyond the most significant bit, and above the field, there are zeros or copies of the sign.
template <typename T>
void extract(Warp& w, const Insn& i, uint32_t lanes) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* from = w.at<T>(i.operand[1]);
  const uint32_t *place = w.at<uint32_t>(i.operand[2]), *length = w.at<uint32_t>(i.operand[3]);
  write_lanes(lanes, w.at<T>(i.operand[0]), [=](int l) {
    const uint32_t at = place[l] & 255, count = length[l] & 255;
    if (count == 0) return T{0};
    const uint32_t last = std::min(at + count - 1, kBits - 1);
    const bool sign = std::is_signed_v<T> && (static_cast<U>(from[l]) >> last & 1) != 0;
    const uint32_t kept = at >= kBits ? 0 : std::min(count, kBits - at);
    const U field =
        at >= kBits ? U{0} : static_cast<U>(static_cast<U>(from[l]) >> at & ones<U>(kept));
    return static_cast<T>(sign ? field | static_cast<U>(~ones<U>(kept)) : field);
  });
}
Execute find_insert(const Mnemonic& m) {
  return bytes_of(m.type) == 8 ? &insert<uint64_t> : &insert<uint32_t>;
}
Execute find_extract(const Mnemonic& m) {
  switch (m.type) {
    case Type::kU32:
      return &extract<uint32_t>;
    case Type::kS32:
      return &extract<int32_t>;
    case Type::kU64:
      return &extract<uint64_t>;
    case Type::kS64:
      return &extract<int64_t>;
    default:
      return nullptr;
  }
}

struct Popcount {
  template <typename T>
  static uint32_t of(T a) {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct LeadingZeros {
  template <typename T>
  static uint32_t of(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
struct Reverse {
  template <typename T>
  static T of(T a) {
    T low = static_cast<T>(0x5555555555555555u);
    a = static_cast<T>((a >> 1 & low) | (a & low) << 1);
    low = static_cast<T>(0x3333333333333333u);
    a = static_cast<T>((a >> 2 & low) | (a & low) << 2);
    low = static_cast<T>(0x0F0F0F0F0F0F0F0Fu);
    a = static_cast<T>((a >> 4 & low) | (a & low) << 4);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(a);
    return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(a)));
  }
};
template <typename Op, typename To, typename T>
void unary(Warp& w, const Insn& i, uint32_t lanes) {
  const T* a = w.at<T>(i.operand[1]);
  write_lanes(lanes, w.at<To>(i.operand[0]), [=](int l) { return Op::of(a[l]); });
}
template <typename Op>
Execute find_count(const Mnemonic& m) {
  return bytes_of(m.type) == 8 ? &unary<Op, uint32_t, uint64_t> : &unary<Op, uint32_t, uint32_t>;
}
Execute find_reverse(const Mnemonic& m) {
  return bytes_of(m.type) == 8 ? &unary<Reverse, uint64_t, uint64_t>
                               : &unary<Reverse, uint32_t, uint32_t>;
}

/// Each nibble of the selector takes one of eight bytes, or with its top bit the sign of that byte.
void permute(Warp& w, const Insn& i, uint32_t lanes) {
  const uint32_t *low = w.at<uint32_t>(i.operand[1]), *high = w.at<uint32_t>(i.operand[2]),
                 *selector = w.at<uint32_t>(i.operand[3]);
  write_lanes(lanes, w.at<uint32_t>(i.operand[0]), [=](int l) {
    const uint64_t both = uint64_t{high[l]} << 32 | low[l];
    const uint32_t s = selector[l];
    uint32_t v = 0;
    for (uint32_t k = 0; k < 32; k += 8) {
      const uint32_t nibble = s >> (k / 2) & 15;
      const uint32_t byte = static_cast<uint32_t>(both >> (8 * (nibble & 7))) & 255;
      const uint32_t sign = 0u - (byte >> 7);
      v |= ((nibble & 8) != 0 ? sign & 255 : byte) << k;
    }
    return v;
  });
}
Execute find_permute(const Mnemonic&) { return &permute; }

constexpr Flow kPlain = Flow::kPlain;
constexpr Row kRows[] = {
    {"and", "", "", "ttt", 1, kPlain, &find_logic<And>},
    {"or", "", "", "ttt", 1, kPlain, &find_logic<Or>},
    {"xor", "", "", "ttt", 1, kPlain, &find_logic<Xor>},
    {"not", "", "", "tt", 1, kPlain, &find_logic<Not>},
    {"shl", "", "", "ttw", 1, kPlain, &find_shift<Left>},
    {"shr", "", "", "ttw", 1, kPlain, &find_shift<Right>},
    {"shf", "l", "wrap clamp", "wwww", 1, kPlain, &find_funnel<true>},
    {"shf", "r", "wrap clamp", "wwww", 1, kPlain, &find_funnel<false>},
    {"prmt", "", "", "wwww", 1, kPlain, &find_permute},
    {"bfi", "", "", "tttww", 1, kPlain, &find_insert},
    {"bfe", "", "", "ttww", 1, kPlain, &find_extract},
    {"popc", "", "", "wt", 1, kPlain, &find_count<Popcount>},
    {"clz", "", "", "wt", 1, kPlain, &find_count<LeadingZeros>},
    {"brev", "", "", "tt", 1, kPlain, &find_reverse},
};

}  // namespace

std::span<const Row> bit_rows() { return kRows; }

}  // namespace cj2k::ptx
