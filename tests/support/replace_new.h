// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Replaces operators new and delete in a whole test program. One source file of the program
// includes it, after it has defined in its anonymous namespace:
//
//   void* allocate(size_t bytes, size_t alignment);   // null: the allocation fails
//   void release(void* memory);
#pragma once

#include <cstddef>
#include <new>

namespace {

void* allocate_or_throw(size_t bytes, size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t n) { return allocate_or_throw(n, 1); }
void* operator new[](size_t n) { return allocate_or_throw(n, 1); }
void* operator new(size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<size_t>(a));
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, size_t) noexcept { release(p); }
void operator delete[](void* p, size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
