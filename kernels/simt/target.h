// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Three compilations see a kernel's source: nvcc for the device (__CUDACC__), the host compiler
// beside it, which needs only the kernel's Params and name, and the host compiler of the shim
// (CJ2K_SIMT_SHIM), which runs it on fibers.
#pragma once

#if defined(__CUDACC__)
#define CJ2K_SIMT_HD __host__ __device__ __forceinline__
#define CJ2K_KERNEL_FN __device__ __forceinline__
#define CJ2K_UNROLL _Pragma("unroll")
#else
/// A function of host and device.
#define CJ2K_SIMT_HD inline
/// A function of the device: the body of a kernel and what it calls.
#define CJ2K_KERNEL_FN inline
/// Before a loop of constant length that must become straight code on the device.
#define CJ2K_UNROLL
#endif
