// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Conversions between types, and between one register and several.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "instructions.h"
#include "lanes.h"
#include "warp.h"

namespace cj2k::ptx {
namespace {

/// Calls f with a value of the C++ type.
template <typename F>
Execute for_all(Type type, F f) {
  switch (type) {
    case Type::kU8:
      return f(uint8_t{});
    case Type::kS8:
      return f(int8_t{});
    case Type::kU16:
      return f(uint16_t{});
    case Type::kS16:
      return f(int16_t{});
    case Type::kU32:
      return f(uint32_t{});
    case Type::kS32:
      return f(int32_t{});
    case Type::kU64:
      return f(uint64_t{});
    case Type::kS64:
      return f(int64_t{});
    case Type::kF32:
      return f(float{});
    case Type::kF64:
      return f(double{});
    default:
      return nullptr;
  }
}

/// The nearest integer that the type has; 0 for NaN.
template <typename To, typename From, bool kNearest>
To to_integer(From v) {
  if (v != v) return 0;
  v = kNearest ? std::nearbyint(v) : std::trunc(v);
  const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (v >= limit) return std::numeric_limits<To>::max();
  if (v < (std::is_signed_v<To> ? -limit : From{0})) return std::numeric_limits<To>::min();
  return static_cast<To>(v);
}

template <typename To, typename From, bool kNearest>
To value_of(From v) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return to_integer<To, From, kNearest>(v);
  } else {
    return static_cast<To>(v);
  }
}

/// Registers of the types' own widths.
template <typename To, typename From, bool kNearest>
void convert(Warp& w, const Insn& i, uint32_t lanes) {
  const From* a = w.at<From>(i.operand[1]);
  write_lanes(lanes, w.at<To>(i.operand[0]),
              [=](int l) { return value_of<To, From, kNearest>(a[l]); });
}

template <typename Reg, typename F>
void with_register(Warp& w, int32_t operand, uint32_t lanes, F f) {
  Reg* const lanes_of_it = w.at<Reg>(operand);
  for_each_lane(lanes, [&](int l) { f(l, lanes_of_it[l]); });
}
template <typename F>
void with_any_register(Warp& w, int32_t operand, unsigned bytes, uint32_t lanes, F f) {
  if (bytes == 2) return with_register<uint16_t>(w, operand, lanes, f);
  if (bytes == 4) return with_register<uint32_t>(w, operand, lanes, f);
  with_register<uint64_t>(w, operand, lanes, f);
}
/// Registers that are wider than the type: the low bits are read; what is written is extended, with
/// the sign if the type has one. Insn::to_bytes and from_bytes are the widths.
template <typename To, typename From, bool kNearest>
void convert_wider(Warp& w, const Insn& i, uint32_t lanes) {
  From in[kLanes];
  with_any_register(w, i.operand[1], i.from_bytes, lanes, [&](int l, auto& reg) {
    if constexpr (std::is_integral_v<From>) {
      in[l] = static_cast<From>(reg);
    } else {
      std::memcpy(&in[l], &reg, std::min(sizeof reg, sizeof in[l]));
    }
  });
  with_any_register(w, i.operand[0], i.to_bytes, lanes, [&](int l, auto& reg) {
    const To v = value_of<To, From, kNearest>(in[l]);
    if constexpr (std::is_integral_v<To>) {
      reg = static_cast<std::remove_reference_t<decltype(reg)>>(v);
    } else {
      std::memcpy(&reg, &v, std::min(sizeof reg, sizeof v));
    }
  });
}

template <typename To, typename From>
Execute convert_types(const Mnemonic& m, unsigned to_bytes, unsigned from_bytes) {
  constexpr bool kRounds = std::is_floating_point_v<From> && std::is_integral_v<To>;
  const bool exact = to_bytes == sizeof(To) && from_bytes == sizeof(From);
  if (to_bytes < sizeof(To) || from_bytes < sizeof(From)) return nullptr;
  if constexpr (kRounds) {
    if (m.has("rni")) return exact ? &convert<To, From, true> : &convert_wider<To, From, true>;
    if (!m.has("rzi")) return nullptr;
  }
  return exact ? &convert<To, From, false> : &convert_wider<To, From, false>;
}

/// Puts parts side by side, the first into the low bits.
template <typename Wide, typename Part, int kParts>
void pack(Warp& w, const Insn& i, uint32_t lanes) {
  const Part* parts[kParts];
  for (int k = 0; k < kParts; ++k) parts[k] = w.at<Part>(i.operand[k + 1]);
  write_lanes(lanes, w.at<Wide>(i.operand[0]), [&](int l) {
    Wide v = 0;
    for (int k = 0; k < kParts; ++k) {
      v = static_cast<Wide>(v | static_cast<Wide>(parts[k][l]) << (8 * sizeof(Part) * k));
    }
    return v;
  });
}
template <typename Wide, typename Part, int kParts>
void unpack(Warp& w, const Insn& i, uint32_t lanes) {
  const Wide* a = w.at<Wide>(i.operand[kParts]);
  for (int k = 0; k < kParts; ++k) {
    write_lanes(lanes, w.at<Part>(i.operand[k]),
                [=](int l) { return static_cast<Part>(a[l] >> (8 * sizeof(Part) * k)); });
  }
}

}  // namespace

Execute find_conversion(const Mnemonic& m, unsigned to_bytes, unsigned from_bytes) {
  return for_all(m.type, [&](auto to) {
    return for_all(m.source, [&](auto from) {
      return convert_types<decltype(to), decltype(from)>(m, to_bytes, from_bytes);
    });
  });
}

Execute find_pack(unsigned bytes, int parts) {
  if (bytes == 4 && parts == 2) return &pack<uint32_t, uint16_t, 2>;
  if (bytes == 8 && parts == 2) return &pack<uint64_t, uint32_t, 2>;
  if (bytes == 8 && parts == 4) return &pack<uint64_t, uint16_t, 4>;
  return nullptr;
}

Execute find_unpack(unsigned bytes, int parts) {
  if (bytes == 4 && parts == 2) return &unpack<uint32_t, uint16_t, 2>;
  if (bytes == 8 && parts == 2) return &unpack<uint64_t, uint32_t, 2>;
  if (bytes == 8 && parts == 4) return &unpack<uint64_t, uint16_t, 4>;
  return nullptr;
}

}  // namespace cj2k::ptx
