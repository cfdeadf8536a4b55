// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Loads, stores and atomics. Every access is checked: aligned, and inside of an allocation.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "block.h"
#include "instructions.h"
#include "lanes.h"
#include "warp.h"

namespace cj2k::ptx {
namespace {

[[noreturn]] void bad_access(Warp& w, const Insn& i, uint64_t address, uint64_t bytes) {
  char text[96];
  std::snprintf(text, sizeof text, "%s access of %llu bytes at %llx",
                address % bytes != 0 ? "a misaligned" : "an out-of-bounds",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(address));
  w.fail(i, text);
}

/// @tparam Address  of the register; the sum with the offset wraps around in it
template <typename Address>
void host_addresses(Warp& w, const Insn& i, int32_t operand, uint64_t bytes, uint32_t lanes,
                    uint64_t* host) {
  const Address* base = w.at<Address>(operand);
  const auto offset = static_cast<Address>(i.offset);
  uint64_t low = ~uint64_t{0}, high = 0, misaligned = 0;
  const uint64_t first = static_cast<Address>(base[std::countr_zero(lanes)] + offset);
  // Lanes that do not take part count as the first one.
#pragma omp simd reduction(min : low) reduction(max : high) reduction(| : misaligned)
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t a = (lanes >> l & 1) != 0 ? static_cast<Address>(base[l] + offset) : first;
    host[l] = a;
    low = std::min(low, a);
    high = std::max(high, a);
    misaligned |= a;
  }
  const uint64_t extent = high - low + bytes;
  unsigned char* const place = (misaligned & (bytes - 1)) == 0 && high + bytes > low
                                   ? w.block().locate(i.space, low, extent)
                                   : nullptr;
  if (place != nullptr) {
    const uint64_t shift = reinterpret_cast<uint64_t>(place) - low;
    for (int l = 0; shift != 0 && l < kLanes; ++l) host[l] += shift;
    return;
  }
  for_each_lane(lanes, [&](int l) {  // in several allocations, or wrong
    const uint64_t a = host[l];
    unsigned char* const p = a % bytes == 0 ? w.block().locate(i.space, a, bytes) : nullptr;
    if (p == nullptr) bad_access(w, i, a, bytes);
    host[l] = reinterpret_cast<uint64_t>(p);
  });
}

void find_addresses(Warp& w, const Insn& i, int32_t operand, uint64_t bytes, uint32_t lanes,
                    uint64_t* host) {
  if (i.from_bytes == 4) {
    host_addresses<uint32_t>(w, i, operand, bytes, lanes, host);
  } else {
    host_addresses<uint64_t>(w, i, operand, bytes, lanes, host);
  }
  if (!w.block().traffic.empty()) w.block().count_traffic(i, host, bytes, lanes);
}

/// @tparam Reg  of the registers; a signed T is extended with its sign
template <typename T, typename Reg>
void load(Warp& w, const Insn& i, uint32_t lanes) {
  uint64_t host[kLanes];
  find_addresses(w, i, i.operand[i.vector], sizeof(T) * i.vector, lanes, host);
  for (int k = 0; k < i.vector; ++k) {
    Reg* to = w.at<Reg>(i.operand[k]);
    const auto one = [&](int l) {
      T v;
      std::memcpy(&v, reinterpret_cast<const unsigned char*>(host[l]) + k * sizeof(T), sizeof v);
      to[l] = static_cast<Reg>(v);
    };
    if (lanes == kAllLanes) {
      for (int l = 0; l < kLanes; ++l) one(l);
    } else {
      for_each_lane(lanes, one);
    }
  }
}

template <typename T, typename Reg>
void store(Warp& w, const Insn& i, uint32_t lanes) {
  uint64_t host[kLanes];
  find_addresses(w, i, i.operand[0], sizeof(T) * i.vector, lanes, host);
  for (int k = 0; k < i.vector; ++k) {
    const Reg* from = w.at<Reg>(i.operand[k + 1]);
    for_each_lane(lanes, [&](int l) {
      const T v = static_cast<T>(from[l]);
      std::memcpy(reinterpret_cast<unsigned char*>(host[l]) + k * sizeof(T), &v, sizeof v);
    });
  }
}

template <bool kStore, typename T, typename Reg>
constexpr Execute access() {
  if constexpr (sizeof(Reg) < sizeof(T)) {
    return nullptr;
  } else if constexpr (kStore) {
    return &store<T, Reg>;
  } else {
    return &load<T, Reg>;
  }
}
template <bool kStore, typename T>
Execute access_by_register(unsigned bytes) {
  switch (bytes) {
    case 2:
      return access<kStore, T, uint16_t>();
    case 4:
      return access<kStore, T, uint32_t>();
    case 8:
      return access<kStore, T, uint64_t>();
    default:
      return nullptr;
  }
}
template <bool kStore>
Execute find_access(Type type, unsigned bytes) {
  switch (type) {
    case Type::kU8:
      return access_by_register<kStore, uint8_t>(bytes);
    case Type::kS8:
      return access_by_register<kStore, int8_t>(bytes);
    case Type::kU16:
      return access_by_register<kStore, uint16_t>(bytes);
    case Type::kS16:
      return access_by_register<kStore, int16_t>(bytes);
    case Type::kU32:
    case Type::kF32:
      return access_by_register<kStore, uint32_t>(bytes);
    case Type::kS32:
      return access_by_register<kStore, int32_t>(bytes);
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return access_by_register<kStore, uint64_t>(bytes);
    default:
      return nullptr;
  }
}

struct AtomicAdd {
  template <typename T>
  static T of(T old, T a, T) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                          static_cast<std::make_unsigned_t<T>>(a));
  }
};
struct AtomicAnd {
  template <typename T>
  static T of(T old, T a, T) {
    return old & a;
  }
};
struct AtomicOr {
  template <typename T>
  static T of(T old, T a, T) {
    return old | a;
  }
};
struct AtomicXor {
  template <typename T>
  static T of(T old, T a, T) {
    return old ^ a;
  }
};
struct AtomicMin {
  template <typename T>
  static T of(T old, T a, T) {
    return std::min(old, a);
  }
};
struct AtomicMax {
  template <typename T>
  static T of(T old, T a, T) {
    return std::max(old, a);
  }
};
struct AtomicExchange {
  template <typename T>
  static T of(T, T a, T) {
    return a;
  }
};
struct AtomicCas {
  template <typename T>
  static T of(T old, T a, T b) {
    return old == a ? b : old;
  }
};

/// The operands: old value, address, one or two values.
template <typename Op, typename T>
void atomic(Warp& w, const Insn& i, uint32_t lanes) {
  uint64_t host[kLanes];
  find_addresses(w, i, i.operand[1], sizeof(T), lanes, host);
  const T *a = w.at<T>(i.operand[2]), *b = w.at<T>(i.operand[i.num_operands - 1]);
  T* to = w.at<T>(i.operand[0]);
  for_each_lane(lanes, [&](int l) {
    T* const p = reinterpret_cast<T*>(host[l]);
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, Op::of(old, a[l], b[l]), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
    to[l] = old;
  });
}
template <typename Op>
Execute atomic_by_type(Type type) {
  switch (type) {
    case Type::kU32:
      return &atomic<Op, uint32_t>;
    case Type::kS32:
      return &atomic<Op, int32_t>;
    case Type::kU64:
      return &atomic<Op, uint64_t>;
    case Type::kS64:
      return &atomic<Op, int64_t>;
    default:
      return nullptr;
  }
}

template <bool kToShared>
void shared_address(Warp& w, const Insn& i, uint32_t lanes) {
  const auto smem = reinterpret_cast<uint64_t>(w.block().smem());
  const uint64_t* a = w.at<uint64_t>(i.operand[1]);
  write_lanes(lanes, w.at<uint64_t>(i.operand[0]),
              [=](int l) { return kToShared ? a[l] - smem : a[l] + smem; });
}

}  // namespace

Execute find_load(Type type, unsigned register_bytes) {
  return find_access<false>(type, register_bytes);
}
Execute find_store(Type type, unsigned register_bytes) {
  return find_access<true>(type, register_bytes);
}

Execute find_atomic(const Mnemonic& m) {
  if (m.has("add")) return atomic_by_type<AtomicAdd>(m.type);
  if (m.has("and")) return atomic_by_type<AtomicAnd>(m.type);
  if (m.has("or")) return atomic_by_type<AtomicOr>(m.type);
  if (m.has("xor")) return atomic_by_type<AtomicXor>(m.type);
  if (m.has("min")) return atomic_by_type<AtomicMin>(m.type);
  if (m.has("max")) return atomic_by_type<AtomicMax>(m.type);
  if (m.has("exch")) return atomic_by_type<AtomicExchange>(m.type);
  if (m.has("cas")) return atomic_by_type<AtomicCas>(m.type);
  return nullptr;
}

Execute find_shared_address(bool to_shared) {
  return to_shared ? &shared_address<true> : &shared_address<false>;
}

}  // namespace cj2k::ptx
