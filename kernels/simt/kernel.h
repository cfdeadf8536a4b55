// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The interface that kernels are written against. A kernel is a struct without state:
//
// clang-format off
//   struct Halve {
//     struct Params { const uint32_t* in; uint32_t* out; uint32_t count; };
//                                             // trivially copyable, at most 4,096 bytes
//     struct Smem {};                         // its shared memory, no initialisers
//     static constexpr int kThreads = 256;    // a multiple of 32, at most 1,024
//     static constexpr int kMinBlocks = 4;    // blocks per multiprocessor: limits the registers
//     template <typename T> CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p);
//   };
//
// `t` is the thread context. CudaThread (simt/cuda) turns each call into the plain instruction. The
// shim's Thread (simt/host) runs threads as fibers in a seeded order and checks what they do. `t`
// has these functions; w means 32 or 64 bits:
//
//   place    thread() num_threads() lane() warp() num_warps() block_x/y/z() grid_x/y/z()
//                                   blocks are one-dimensional
//   global   gload(p) gstore(p, v)  any trivially copyable type, naturally aligned; U32x4 is one
//                                   16-byte access
//            gload_ro(p)            1 to 16 bytes of memory that no thread writes during the
//                                   launch (ld.global.nc)
//   shared   sload(s.x[i]) sstore(s.x[i], v)
//                                   checked in the shim; plain s.x[i] works too and is not checked
//   block    sync()                 every thread of the block, at the same place in the code
//            sync_named(id, n) arrive_named(id, n)
//                                   partial barriers (bar.sync, bar.arrive), id 1 to 15, n threads,
//                                   whole warps only; all lanes of a warp call together
//            block_reduce, block_exclusive_scan: kernels/simt/block.h
//   warp     sync_warp(mask = all)
//            shuffle(v, lane) shuffle_up/down(v, delta) shuffle_xor(v, bits)
//                                   w; last parameter mask = all. A source outside the warp gives
//                                   the own value, a source outside the mask an undefined one.
//            ballot(b) any(b) all(b)
//                                   last parameter mask = all
//            warp_reduce_OP(v) warp_inclusive_OP(v) warp_exclusive_OP(v)
//                                   OP = add or xor and max min: integers of w, all 32 lanes
//   atomics  atomic_add/or/and/max/min/exchange(p, v) atomic_cas(p, expected, v)
//                                   return the old value; integers of w, in global or shared
//                                   memory, relaxed
//            atomic_load(p) atomic_store(p, v)
//                                   acquire and release, in device scope
//            atomic_load_block(p) atomic_store_block(p, v)
//                                   acquire and release, in block scope; 32 bits
//   order    fence_block() fence_device()
//            relax(ns = 20)         in a loop that waits for another thread of the block
//   bits     popcount(x) clz(x) ctz(x)
//                                   w; clz(0) and ctz(0) are the width
//            reverse_bits(x) mul_high(a, b) funnel_left/right(low, high, shift)
//            byte_permute(low, high, selector)
//                                   32 bits
//            opaque(x)              x; the compiler does not know that, so it computes x as it is
//                                   written
// clang-format on
//
// Rules:
// - A kernel accesses global memory only by gload, gstore and atomics; in the shim any other access
//   faults.
// - Blocks of a launch run in any order, in the shim one after the other. So no block may wait for
//   another one.
// - Memory that one block writes may be touched by other blocks of the same launch only by atomics.
// - A kernel has no static variables, no recursion and no allocation.
// - The compiler does no float contraction.
#pragma once

#include "kernels/simt/types.h"

#if defined(__CUDACC__)
#include "kernels/simt/cuda/thread.h"
#elif defined(CJ2K_SIMT_SHIM)
#include "kernels/simt/host/thread.h"
#endif
