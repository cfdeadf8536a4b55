// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a kernel is written against. A kernel is a struct without state:
//
// clang-format off
//   struct Halve {
//     struct Params { const uint32_t* in; uint32_t* out; uint32_t count; };  // trivially copyable, at most 4,096 bytes
//     struct Smem {};                         // its shared memory, no initialisers
//     static constexpr int kThreads = 256;    // a multiple of 32, at most 1,024
//     static constexpr int kMinBlocks = 4;    // per multiprocessor: bounds the registers
//     template <typename T> CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p);
//   };
//
// `t` is the thread context. CudaThread turns each call into the plain instruction; the shim's
// Thread (simt/host) runs threads as fibers in a seeded order and checks. What `t` offers, w = 32
// or 64 bit:
//
//   place    thread() num_threads() lane() warp() num_warps() block_x/y/z() grid_x/y/z(); blocks are 1D
//   global   gload(p) gstore(p, v)       any trivially copyable type, naturally aligned; U32x4 is one
//                                        16-byte access
//            gload_ro(p)                 memory that nobody writes during the launch (ld.global.nc);
//                                        1 to 16 bytes
//   shared   sload(s.x[i]) sstore(s.x[i], v)
//                                        checked in the shim; plain s.x[i] works too and is not checked
//   block    sync()                      every thread of the block, at the same place in the code
//            sync_named(id, n) arrive_named(id, n)
//                                        partial barriers (bar.sync, bar.arrive), id 1 to 15, n threads in
//                                        whole warps; all lanes of a warp call together
//            block_reduce, block_exclusive_scan: kernels/simt/block.h
//   warp     sync_warp(mask = all)
//            shuffle(v, lane) shuffle_up/down(v, delta) shuffle_xor(v, bits)
//                                        w; last parameter mask = all; from a lane outside the warp: the
//                                        own value; outside the mask: undefined
//            ballot(b) any(b) all(b)     last parameter mask = all
//            warp_reduce_OP(v) warp_inclusive_OP(v) warp_exclusive_OP(v)
//                                        OP = add or xor and max min: integers of w, all 32 lanes
//   atomics  atomic_add/or/and/max/min/exchange(p, v) atomic_cas(p, expected, v)
//                                        return the old value; integers of w, in global or shared memory,
//                                        relaxed
//            atomic_load(p) atomic_store(p, v)
//                                        acquire and release, for the whole device
//            atomic_load_block(p) atomic_store_block(p, v)
//                                        32 bit; for the threads of the block alone
//   order    fence_block() fence_device()
//            relax(ns = 20)              in a loop that waits for another thread of the block
//   bits     popcount(x) clz(x) ctz(x)   w; of 0 the width
//            reverse_bits(x) mul_high(a, b) funnel_left/right(low, high, shift)
//            byte_permute(low, high, selector)
//                                        32 bit
// clang-format on
//
// Rules: global memory through gload/gstore/atomics only (in the shim any other access faults);
// blocks of a launch run in any order, one after the other in the shim, so a block may wait for no
// other; what one block writes no other touches in the same launch but by atomics; no static, no
// recursion, no allocation; no float contraction is done by the compiler.
#pragma once

#include "kernels/simt/types.h"

#if defined(__CUDACC__)
#include "kernels/simt/cuda/thread.h"
#elif defined(CJ2K_SIMT_SHIM)
#include "kernels/simt/host/thread.h"
#endif
