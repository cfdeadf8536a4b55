// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Fibers: stacks, and the switch between them. It uses the assembly of Boost.Context and tells the
// sanitizers about each switch.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace cj2k::simt::shim {

class Thread;

struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  Thread* start = nullptr;  ///< the thread to run when the fiber is next entered at its beginning
  char* stack = nullptr;    ///< lowest address of the stack; null: the stack of the host thread
  size_t stack_bytes = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan = nullptr;
#endif
};

/// Completes a switch: called by the entry function of a fiber, and after every switch back.
inline void arrive(Fiber* self, boost::context::detail::transfer_t transfer) {
  auto* from = static_cast<Fiber*>(transfer.data);
  from->context = transfer.fctx;
#if defined(__SANITIZE_ADDRESS__)
  const void* stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(self->fake_stack, &stack, &bytes);
  if (from->stack == nullptr) {  // from here on the bounds of the host thread's stack are known
    from->stack = static_cast<char*>(const_cast<void*>(stack));
    from->stack_bytes = bytes;
  }
#else
  (void)self;
#endif
}

inline void switch_fiber(Fiber* from, Fiber* to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  if (from->tsan == nullptr) from->tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to->tsan, 0);
#endif
  arrive(from, boost::context::detail::jump_fcontext(to->context, from));
}

/// Fibers with their stacks, which are allocated once and kept. A guard page lies below each stack.
class FiberPool {
 public:
  using Entry = void (*)(boost::context::detail::transfer_t);
  explicit FiberPool(Entry entry) : entry_(entry) {}
  ~FiberPool();

  Fiber* take() {
    if (idle_.empty()) grow();
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  void give(Fiber* fiber) { idle_.push_back(fiber); }
  /// Makes all fibers idle and sets them back to their beginning, wherever they were.
  void rewind();

 private:
  void grow();
  void prepare(Fiber* fiber);

  Entry entry_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
  std::vector<void*> mappings_;
};

}  // namespace cj2k::simt::shim
