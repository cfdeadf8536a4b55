// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Stacks and the switch between them: Boost.Context's assembly with what the sanitizers need to
// follow it.
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
  Thread* start = nullptr;  ///< the thread to run when it is next entered from its beginning
  char* stack = nullptr;    ///< lowest address, null: the host thread's own
  size_t stack_bytes = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan = nullptr;
#endif
};

/// Called by a fiber's entry function and after every switch back.
inline void arrive(Fiber* self, boost::context::detail::transfer_t transfer) {
  auto* from = static_cast<Fiber*>(transfer.data);
  from->context = transfer.fctx;
#if defined(__SANITIZE_ADDRESS__)
  const void* stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(self->fake_stack, &stack, &bytes);
  if (from->stack == nullptr) {  // the host thread's bounds are known from here on
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

/// Stacks, made once and kept. A page that cannot be touched lies below each.
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
  /// All fibers are idle and at their beginning again, wherever they were.
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
