// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// From a kernel (kernel.h) to its launch. Only .cu files include this header. nvcc compiles them
// for the device, and the host compiler compiles their launchers; for the shim the host compiler
// compiles both.
//
// clang-format off
//   #include "kernels/simt/launch.h"
//   #include "halve.cuh"
//   CJ2K_KERNEL(halve, cj2k::cuda::Halve)   // outside any namespace, before its launch
//   namespace cj2k::cuda {
//   Status halve(simt::Stream& stream, const uint32_t* in, uint32_t* out, uint32_t count) {
//     return simt::launch<Halve>(stream, {(count + 255) / 256}, {in, out, count});
//   }
//   }
// clang-format on
#pragma once

#include <type_traits>

#include "kernels/simt/device.h"
#include "kernels/simt/kernel.h"

namespace cj2k::simt {

template <typename Kernel>
CJ2K_SIMT_HD constexpr void check_kernel() {
  using Params = typename Kernel::Params;
  using Smem = typename Kernel::Smem;
  static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= 4096);
  static_assert(std::is_trivially_default_constructible_v<Smem> &&
                std::is_trivially_copyable_v<Smem>);
  static_assert(Kernel::kThreads % 32 == 0 && Kernel::kThreads >= 32 && Kernel::kThreads <= 1024);
  static_assert(Kernel::kMinBlocks >= 1 && sizeof(Smem) <= 227 * 1024 && alignof(Smem) <= 128);
}

/// The KernelInfo of a kernel; CJ2K_KERNEL defines it.
template <typename Kernel>
const KernelInfo& kernel_info();

/// Launches a kernel, asynchronously on `stream`. A grid with an empty side launches nothing.
template <typename Kernel>
Status launch(Stream& stream, Dim3 grid, const typename Kernel::Params& params) {
  return stream.launch(kernel_info<Kernel>(), grid, &params);
}

#if defined(__CUDACC__)
/// kMinBlocks, or less where a multiprocessor of the architecture cannot hold so many threads.
template <typename Kernel>
constexpr int min_blocks() {
#if !defined(__CUDA_ARCH__)
  return Kernel::kMinBlocks;
#else
#if __CUDA_ARCH__ == 750
  constexpr int kThreadsPerMultiprocessor = 1024;
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
    (__CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1100)
  constexpr int kThreadsPerMultiprocessor = 2048;
#else
  constexpr int kThreadsPerMultiprocessor = 1536;
#endif
  constexpr int kRoom = kThreadsPerMultiprocessor / Kernel::kThreads;
  return Kernel::kMinBlocks < kRoom ? Kernel::kMinBlocks : kRoom;
#endif
}

template <typename Kernel>
__device__ __forceinline__ void run_kernel(const typename Kernel::Params& params) {
  CudaThread t;
  if constexpr (sizeof(typename Kernel::Smem) <= kStaticSmemBytes) {
    __shared__ typename Kernel::Smem smem;
    Kernel::run(t, smem, params);
  } else {
    extern __shared__ __align__(128) unsigned char cj2k_dynamic_smem[];
    Kernel::run(t, *reinterpret_cast<typename Kernel::Smem*>(cj2k_dynamic_smem), params);
  }
}
#elif defined(CJ2K_SIMT_SHIM)
template <typename Kernel>
void run_kernel(shim::Thread& t, void* smem, const void* params) {
  Kernel::run(t, *static_cast<typename Kernel::Smem*>(smem),
              *static_cast<const typename Kernel::Params*>(params));
}
#endif

template <typename Kernel>
constexpr KernelInfo::Sizes kernel_sizes() {
  check_kernel<Kernel>();
  return {Kernel::kThreads, sizeof(typename Kernel::Smem), sizeof(typename Kernel::Params)};
}

}  // namespace cj2k::simt

// CJ2K_KERNEL(name, type) defines the entry point cj2k_<name> of a kernel. `name` must be unique in
// the program.
#if defined(__CUDACC__)
#define CJ2K_KERNEL(name, ...)                                                                \
  using CJ2KKernel_##name = __VA_ARGS__;                                                      \
  extern "C" __global__ void __launch_bounds__(CJ2KKernel_##name::kThreads,                   \
                                               ::cj2k::simt::min_blocks<CJ2KKernel_##name>()) \
      cj2k_##name(const __grid_constant__ CJ2KKernel_##name::Params params) {                 \
    ::cj2k::simt::check_kernel<CJ2KKernel_##name>();                                          \
    ::cj2k::simt::run_kernel<CJ2KKernel_##name>(params);                                      \
  }
#else
#if defined(CJ2K_SIMT_SHIM)
#define CJ2K_KERNEL_IMAGE(name, ...)                             \
  static const ::cj2k::simt::shim::HostKernel cj2k_image_##name{ \
      ::cj2k::simt::shim::HostKernel::kMagic, "cj2k_" #name,     \
      ::cj2k::simt::kernel_sizes<__VA_ARGS__>(), &::cj2k::simt::run_kernel<__VA_ARGS__>};
#define CJ2K_KERNEL_IMAGE_POINTER(name) &cj2k_image_##name
#else
// The build defines CJ2K_FATBIN: the symbol of this file's device code.
#define CJ2K_KERNEL_IMAGE(name, ...) extern "C" const unsigned char CJ2K_FATBIN[];
#define CJ2K_KERNEL_IMAGE_POINTER(name) CJ2K_FATBIN
#endif
#define CJ2K_KERNEL(name, ...)                                                                    \
  CJ2K_KERNEL_IMAGE(name, __VA_ARGS__)                                                            \
  static const ::cj2k::simt::KernelInfo cj2k_info_##name(                                         \
      "cj2k_" #name, CJ2K_KERNEL_IMAGE_POINTER(name), ::cj2k::simt::kernel_sizes<__VA_ARGS__>()); \
  template <>                                                                                     \
  inline const ::cj2k::simt::KernelInfo& cj2k::simt::kernel_info<__VA_ARGS__>() {                 \
    return cj2k_info_##name;                                                                      \
  }
#endif
