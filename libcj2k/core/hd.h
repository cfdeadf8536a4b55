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
