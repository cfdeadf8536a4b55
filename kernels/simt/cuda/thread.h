// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The thread context on CUDA: an empty object whose member functions are the plain instructions.
// kernel.h has the contract.
#pragma once

#if !defined(__CUDACC__)
#error "cuda/thread.h is for nvcc only; include kernels/simt/kernel.h"
#endif

#include "kernels/simt/types.h"

namespace cj2k::simt {

class CudaThread : public WarpOps<CudaThread> {
 public:
  CJ2K_KERNEL_FN static uint32_t thread() { return threadIdx.x; }
  CJ2K_KERNEL_FN static uint32_t num_threads() { return blockDim.x; }
  CJ2K_KERNEL_FN static uint32_t lane() { return threadIdx.x & 31; }
  CJ2K_KERNEL_FN static uint32_t warp() { return threadIdx.x >> 5; }
  CJ2K_KERNEL_FN static uint32_t num_warps() { return blockDim.x >> 5; }
  CJ2K_KERNEL_FN static uint32_t block_x() { return blockIdx.x; }
  CJ2K_KERNEL_FN static uint32_t block_y() { return blockIdx.y; }
  CJ2K_KERNEL_FN static uint32_t block_z() { return blockIdx.z; }
  CJ2K_KERNEL_FN static uint32_t grid_x() { return gridDim.x; }
  CJ2K_KERNEL_FN static uint32_t grid_y() { return gridDim.y; }
  CJ2K_KERNEL_FN static uint32_t grid_z() { return gridDim.z; }

  template <typename X>
  CJ2K_KERNEL_FN static X gload(const X* p) {
    return *p;
  }
  template <typename X>
  CJ2K_KERNEL_FN static X gload_ro(const X* p) {
    static_assert(sizeof(X) == 1 || sizeof(X) == 2 || sizeof(X) == 4 || sizeof(X) == 8 ||
                  sizeof(X) == 16);
    if constexpr (sizeof(X) == 16) {
      return from_bits<X>(__ldg(reinterpret_cast<const uint4*>(p)));
    } else if constexpr (sizeof(X) == 8) {
      return from_bits<X>(__ldg(reinterpret_cast<const unsigned long long*>(p)));
    } else if constexpr (sizeof(X) == 4) {
      return from_bits<X>(__ldg(reinterpret_cast<const unsigned int*>(p)));
    } else if constexpr (sizeof(X) == 2) {
      return from_bits<X>(__ldg(reinterpret_cast<const unsigned short*>(p)));
    } else {
      return from_bits<X>(__ldg(reinterpret_cast<const unsigned char*>(p)));
    }
  }
  template <typename X>
  CJ2K_KERNEL_FN static void gstore(X* p, std::type_identity_t<X> value) {
    *p = value;
  }
  template <typename X>
  CJ2K_KERNEL_FN static X sload(const X& x) {
    return x;
  }
  template <typename X>
  CJ2K_KERNEL_FN static void sstore(X& x, std::type_identity_t<X> value) {
    x = value;
  }

  CJ2K_KERNEL_FN static void sync() { __syncthreads(); }
  CJ2K_KERNEL_FN static void sync_warp(uint32_t mask = kFullMask) { __syncwarp(mask); }
  CJ2K_KERNEL_FN static void sync_named(uint32_t id, uint32_t num_threads) {
    __syncwarp();
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(num_threads) : "memory");
  }
  CJ2K_KERNEL_FN static void arrive_named(uint32_t id, uint32_t num_threads) {
    __syncwarp();
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(num_threads) : "memory");
  }
  CJ2K_KERNEL_FN static void fence_block() { __threadfence_block(); }
  CJ2K_KERNEL_FN static void fence_device() { __threadfence(); }
  CJ2K_KERNEL_FN static void relax(uint32_t nanoseconds = 20) { __nanosleep(nanoseconds); }

  template <typename V>
  CJ2K_KERNEL_FN static V shuffle(V value, uint32_t source_lane, uint32_t mask = kFullMask) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8);
    return from_bits<V>(__shfl_sync(mask, to_bits(value), source_lane));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V shuffle_up(V value, uint32_t delta, uint32_t mask = kFullMask) {
    return from_bits<V>(__shfl_up_sync(mask, to_bits(value), delta));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V shuffle_down(V value, uint32_t delta, uint32_t mask = kFullMask) {
    return from_bits<V>(__shfl_down_sync(mask, to_bits(value), delta));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V shuffle_xor(V value, uint32_t lane_mask, uint32_t mask = kFullMask) {
    return from_bits<V>(__shfl_xor_sync(mask, to_bits(value), lane_mask));
  }
  CJ2K_KERNEL_FN static uint32_t ballot(bool predicate, uint32_t mask = kFullMask) {
    return __ballot_sync(mask, predicate);
  }
  CJ2K_KERNEL_FN static bool any(bool predicate, uint32_t mask = kFullMask) {
    return __any_sync(mask, predicate);
  }
  CJ2K_KERNEL_FN static bool all(bool predicate, uint32_t mask = kFullMask) {
    return __all_sync(mask, predicate);
  }

  template <typename V, typename Op>
  CJ2K_KERNEL_FN static V warp_reduce(V value, Op) {
    static_assert(std::is_integral_v<V> && (sizeof(V) == 4 || sizeof(V) == 8));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (sizeof(V) == 4) {
      if constexpr (std::is_same_v<Op, op::Add>) return __reduce_add_sync(kFullMask, value);
      if constexpr (std::is_same_v<Op, op::Max>) return __reduce_max_sync(kFullMask, value);
      if constexpr (std::is_same_v<Op, op::Min>) return __reduce_min_sync(kFullMask, value);
      const auto bits = static_cast<unsigned>(value);
      if constexpr (std::is_same_v<Op, op::Or>)
        return static_cast<V>(__reduce_or_sync(kFullMask, bits));
      if constexpr (std::is_same_v<Op, op::Xor>)
        return static_cast<V>(__reduce_xor_sync(kFullMask, bits));
      if constexpr (std::is_same_v<Op, op::And>)
        return static_cast<V>(__reduce_and_sync(kFullMask, bits));
    } else
#endif
    {
      CJ2K_UNROLL
      for (uint32_t d = 16; d > 0; d >>= 1) value = Op::apply(value, shuffle_xor(value, d));
      return value;
    }
  }
  template <typename V, typename Op>
  CJ2K_KERNEL_FN static V warp_inclusive_scan(V value, Op) {
    static_assert(std::is_integral_v<V> && (sizeof(V) == 4 || sizeof(V) == 8));
    CJ2K_UNROLL
    for (uint32_t d = 1; d < 32; d <<= 1) {
      const V before = shuffle_up(value, d);
      if (lane() >= d) value = Op::apply(before, value);
    }
    return value;
  }
  template <typename V, typename Op>
  CJ2K_KERNEL_FN static V warp_exclusive_scan(V value, Op o) {
    const V before = shuffle_up(warp_inclusive_scan(value, o), 1);
    return lane() == 0 ? Op::template identity<V>() : before;
  }

  CJ2K_KERNEL_FN static uint32_t popcount(uint32_t x) { return __popc(x); }
  CJ2K_KERNEL_FN static uint32_t popcount(uint64_t x) { return __popcll(x); }
  CJ2K_KERNEL_FN static uint32_t clz(uint32_t x) { return __clz(static_cast<int>(x)); }
  CJ2K_KERNEL_FN static uint32_t clz(uint64_t x) { return __clzll(static_cast<long long>(x)); }
  CJ2K_KERNEL_FN static uint32_t ctz(uint32_t x) { return __clz(static_cast<int>(__brev(x))); }
  CJ2K_KERNEL_FN static uint32_t ctz(uint64_t x) {
    return __clzll(static_cast<long long>(__brevll(x)));
  }
  CJ2K_KERNEL_FN static uint32_t reverse_bits(uint32_t x) { return __brev(x); }
  CJ2K_KERNEL_FN static uint32_t mul_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
  CJ2K_KERNEL_FN static uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t shift) {
    return __funnelshift_l(low, high, shift);
  }
  CJ2K_KERNEL_FN static uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t shift) {
    return __funnelshift_r(low, high, shift);
  }
  CJ2K_KERNEL_FN static uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
    return __byte_perm(low, high, selector);
  }

  CJ2K_KERNEL_FN static uint32_t opaque(uint32_t x) {
    asm("" : "+r"(x));
    return x;
  }

  template <typename V>
  CJ2K_KERNEL_FN static V atomic_add(V* p, std::type_identity_t<V> value) {
    static_assert(std::is_integral_v<V> && (sizeof(V) == 4 || sizeof(V) == 8));
    return from_bits<V>(atomicAdd(bits_pointer(p), to_bits(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_or(V* p, std::type_identity_t<V> value) {
    return from_bits<V>(atomicOr(bits_pointer(p), to_bits(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_and(V* p, std::type_identity_t<V> value) {
    return from_bits<V>(atomicAnd(bits_pointer(p), to_bits(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_max(V* p, std::type_identity_t<V> value) {
    static_assert(std::is_integral_v<V>);
    return static_cast<V>(atomicMax(arithmetic_pointer(p), static_cast<Arithmetic<V>>(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_min(V* p, std::type_identity_t<V> value) {
    static_assert(std::is_integral_v<V>);
    return static_cast<V>(atomicMin(arithmetic_pointer(p), static_cast<Arithmetic<V>>(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_exchange(V* p, std::type_identity_t<V> value) {
    return from_bits<V>(atomicExch(bits_pointer(p), to_bits(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_cas(V* p, std::type_identity_t<V> expected,
                                     std::type_identity_t<V> value) {
    return from_bits<V>(atomicCAS(bits_pointer(p), to_bits(expected), to_bits(value)));
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_load_block(const V* p) {
    static_assert(sizeof(V) == 4);
    unsigned bits;
    asm volatile("ld.acquire.cta.b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory");
    return from_bits<V>(bits);
  }
  template <typename V>
  CJ2K_KERNEL_FN static void atomic_store_block(V* p, std::type_identity_t<V> value) {
    static_assert(sizeof(V) == 4);
    asm volatile("st.release.cta.b32 [%0], %1;" ::"l"(p), "r"(to_bits(value)) : "memory");
  }
  template <typename V>
  CJ2K_KERNEL_FN static V atomic_load(const V* p) {
    if constexpr (sizeof(V) == 4) {
      unsigned bits;
      asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory");
      return from_bits<V>(bits);
    } else {
      static_assert(sizeof(V) == 8);
      unsigned long long bits;
      asm volatile("ld.acquire.gpu.b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
      return from_bits<V>(bits);
    }
  }
  template <typename V>
  CJ2K_KERNEL_FN static void atomic_store(V* p, std::type_identity_t<V> value) {
    if constexpr (sizeof(V) == 4) {
      asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(p), "r"(to_bits(value)) : "memory");
    } else {
      static_assert(sizeof(V) == 8);
      asm volatile("st.release.gpu.b64 [%0], %1;" ::"l"(p), "l"(to_bits(value)) : "memory");
    }
  }

 private:
  template <typename V>
  using Bits = std::conditional_t<sizeof(V) == 4, unsigned int, unsigned long long>;
  template <typename V>
  using Arithmetic =
      std::conditional_t<std::is_signed_v<V>, std::conditional_t<sizeof(V) == 4, int, long long>,
                         Bits<V>>;

  template <typename To, typename From>
  CJ2K_KERNEL_FN static To from_bits(From from) {
    if constexpr (std::is_same_v<To, From>) {
      return from;
    } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
      return static_cast<To>(from);
    } else {
      static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To>);
      To to;
      __builtin_memcpy(&to, &from, sizeof to);
      return to;
    }
  }
  template <typename V>
  CJ2K_KERNEL_FN static Bits<V> to_bits(V value) {
    static_assert(sizeof(V) == sizeof(Bits<V>));
    return from_bits<Bits<V>>(value);
  }
  template <typename V>
  CJ2K_KERNEL_FN static Bits<V>* bits_pointer(V* p) {
    static_assert(sizeof(V) == sizeof(Bits<V>));
    return reinterpret_cast<Bits<V>*>(p);
  }
  template <typename V>
  CJ2K_KERNEL_FN static Arithmetic<V>* arithmetic_pointer(V* p) {
    static_assert(sizeof(V) == sizeof(Arithmetic<V>));
    return reinterpret_cast<Arithmetic<V>*>(p);
  }
};

}  // namespace cj2k::simt
