// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Marks the functions of core/ that CUDA kernels call too.
#ifndef CJ2K_HD
#ifdef __CUDACC__
#define CJ2K_HD __host__ __device__
#else
#define CJ2K_HD
#endif
#endif

/// CJ2K_HD for functions that must not be calls, and loops of them that the device must unroll: an
/// array that is read at a variable place is in memory instead of registers. On the host a call would
/// leave the instruction set of the caller. CJ2K_HD_ROLLED: a loop that is too large to unroll.
#ifdef __CUDACC__
#define CJ2K_HD_INLINE __host__ __device__ __forceinline__
#define CJ2K_HD_UNROLL _Pragma("unroll")
#define CJ2K_HD_ROLLED _Pragma("unroll 1")
#else
#define CJ2K_HD_INLINE [[gnu::always_inline]] inline
#define CJ2K_HD_UNROLL
#define CJ2K_HD_ROLLED
#endif

/// CJ2K_HD for large functions that the device must inline, because a call would keep its arrays in
/// memory. The host's compiler chooses.
#ifdef __CUDACC__
#define CJ2K_HD_WHOLE __host__ __device__ __forceinline__
#else
#define CJ2K_HD_WHOLE inline
#endif
