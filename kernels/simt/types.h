// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Types that host code, kernels and the shim share.
#pragma once

#include <cstdint>
#if defined(CJ2K_SIMT_SHIM)
#include <source_location>
#endif
#include <type_traits>

#include "kernels/simt/target.h"

namespace cj2k::simt {

inline constexpr uint32_t kWarpThreads = 32;
inline constexpr uint32_t kFullMask = 0xFFFFFFFFu;
/// A kernel with more shared memory than this must ask for it at the launch.
inline constexpr uint32_t kStaticSmemBytes = 48 * 1024;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

/// A type that one thread moves in one memory access: `t.gload(reinterpret_cast<const U32x4*>(p))`
/// is one ld.global.v4.
struct alignas(16) U32x4 {
  uint32_t x, y, z, w;
};
struct alignas(8) U32x2 {
  uint32_t x, y;
};
struct alignas(16) F32x4 {
  float x, y, z, w;
};

/// Operations of reductions and scans. They are associative, commutative and exact, so the result
/// does not depend on their order.
namespace op {
struct Add {
  template <typename V>
  CJ2K_SIMT_HD static constexpr V identity() {
    return V{0};
  }
  template <typename V>
  CJ2K_SIMT_HD static constexpr V apply(V a, V b) {
    return static_cast<V>(static_cast<std::make_unsigned_t<V>>(a) +
                          static_cast<std::make_unsigned_t<V>>(b));
  }
};
struct Or {
  template <typename V>
  CJ2K_SIMT_HD static constexpr V identity() {
    return V{0};
  }
  template <typename V>
  CJ2K_SIMT_HD static constexpr V apply(V a, V b) {
    return a | b;
  }
};
struct Xor {
  template <typename V>
  CJ2K_SIMT_HD static constexpr V identity() {
    return V{0};
  }
  template <typename V>
  CJ2K_SIMT_HD static constexpr V apply(V a, V b) {
    return a ^ b;
  }
};
struct And {
  template <typename V>
  CJ2K_SIMT_HD static constexpr V identity() {
    return static_cast<V>(~V{0});
  }
  template <typename V>
  CJ2K_SIMT_HD static constexpr V apply(V a, V b) {
    return a & b;
  }
};
struct Max {
  template <typename V>
  CJ2K_SIMT_HD static constexpr V identity() {
    return std::is_signed_v<V> ? static_cast<V>(std::make_unsigned_t<V>{1} << (sizeof(V) * 8 - 1))
                               : V{0};
  }
  template <typename V>
  CJ2K_SIMT_HD static constexpr V apply(V a, V b) {
    return a > b ? a : b;
  }
};
struct Min {
  template <typename V>
  CJ2K_SIMT_HD static constexpr V identity() {
    return static_cast<V>(~Max::identity<V>());
  }
  template <typename V>
  CJ2K_SIMT_HD static constexpr V apply(V a, V b) {
    return a < b ? a : b;
  }
};
}  // namespace op

// In the shim each call passes its source location, for messages.
#if defined(CJ2K_SIMT_SHIM)
#define CJ2K_WHERE , std::source_location where = std::source_location::current()
#define CJ2K_HERE , where
#else
#define CJ2K_WHERE
#define CJ2K_HERE
#endif

/// The named variants of warp_reduce and of the two scans; base class of both thread contexts. All
/// 32 lanes must call. V is an integer of 32 or 64 bits.
template <typename Thread>
class WarpOps {
 public:
#define CJ2K_WARP_OP(name, Op)                                 \
  template <typename V>                                        \
  CJ2K_KERNEL_FN V warp_reduce_##name(V value CJ2K_WHERE) {    \
    return self().warp_reduce(                                 \
        value, op::Op {} CJ2K_HERE);                           \
  }                                                            \
  template <typename V>                                        \
  CJ2K_KERNEL_FN V warp_inclusive_##name(V value CJ2K_WHERE) { \
    return self().warp_inclusive_scan(                         \
        value, op::Op {} CJ2K_HERE);                           \
  }                                                            \
  /** Lane 0 gets the identity. */                             \
  template <typename V>                                        \
  CJ2K_KERNEL_FN V warp_exclusive_##name(V value CJ2K_WHERE) { \
    return self().warp_exclusive_scan(                         \
        value, op::Op {} CJ2K_HERE);                           \
  }
  CJ2K_WARP_OP(add, Add)
  CJ2K_WARP_OP(or, Or)
  CJ2K_WARP_OP(xor, Xor)
  CJ2K_WARP_OP(and, And)
  CJ2K_WARP_OP(max, Max)
  CJ2K_WARP_OP(min, Min)
#undef CJ2K_WARP_OP
#undef CJ2K_WHERE
#undef CJ2K_HERE

 private:
  CJ2K_KERNEL_FN Thread& self() { return static_cast<Thread&>(*this); }
};

}  // namespace cj2k::simt
