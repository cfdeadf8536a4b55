// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/simt/host/fiber.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace cj2k::simt::shim {
namespace {

constexpr size_t kGuardBytes = 4096;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr size_t kStackBytes = 256 * 1024;
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif
constexpr size_t kPerMapping = 32;

}  // namespace

FiberPool::~FiberPool() {
#if defined(__SANITIZE_THREAD__)
  for (const auto& fiber : all_) __tsan_destroy_fiber(fiber->tsan);
#endif
  for (void* mapping : mappings_) munmap(mapping, kPerMapping * (kGuardBytes + kStackBytes));
}

void FiberPool::grow() {
  constexpr size_t kBytes = kPerMapping * (kGuardBytes + kStackBytes);
  void* mapping = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    std::fprintf(stderr, "shim: no memory for fiber stacks\n");
    std::abort();
  }
  mappings_.push_back(mapping);
  for (size_t i = 0; i < kPerMapping; ++i) {
    char* base = static_cast<char*>(mapping) + i * (kGuardBytes + kStackBytes);
    mprotect(base, kGuardBytes, PROT_NONE);
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = base + kGuardBytes;
    // The tops of the stacks lie at different places of a page. Otherwise the frames of a warp's
    // lanes would compete for the same cache sets.
    fiber->stack_bytes = kStackBytes - i * 13 % 32 * 128;
#if defined(__SANITIZE_THREAD__)
    fiber->tsan = __tsan_create_fiber(0);
#endif
    prepare(fiber.get());
    idle_.push_back(fiber.get());
    all_.push_back(std::move(fiber));
  }
}

void FiberPool::prepare(Fiber* fiber) {
  fiber->context = boost::context::detail::make_fcontext(fiber->stack + fiber->stack_bytes,
                                                         fiber->stack_bytes, entry_);
  fiber->start = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  fiber->fake_stack = nullptr;
#endif
}

void FiberPool::rewind() {
  idle_.clear();
  for (const auto& fiber : all_) {
#if defined(__SANITIZE_ADDRESS__)
    // The frames that are still on the stack must not stay poisoned.
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
#endif
    prepare(fiber.get());
    idle_.push_back(fiber.get());
  }
}

}  // namespace cj2k::simt::shim
