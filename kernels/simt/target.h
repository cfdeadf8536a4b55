// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The source of a kernel is compiled in three ways: by nvcc for the device (__CUDACC__); by the
// host compiler for the launchers, which need only the kernel's Params and name; and by the host
// compiler for the shim (CJ2K_SIMT_SHIM), which runs the kernel on fibers.
#pragma once

#if defined(__CUDACC__)
#define CJ2K_SIMT_HD __host__ __device__ __forceinline__
#define CJ2K_KERNEL_FN __device__ __forceinline__
#define CJ2K_UNROLL _Pragma("unroll")
#else
/// Marks a function for host and device.
#define CJ2K_SIMT_HD inline
/// Marks a function for the device: the body of a kernel, and the functions that it calls.
#define CJ2K_KERNEL_FN inline
/// Precedes a loop of constant length that must be unrolled on the device.
#define CJ2K_UNROLL
#endif
