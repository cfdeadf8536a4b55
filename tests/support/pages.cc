// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/pages.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace cj2k::test {

#if defined(_WIN32)

size_t page_bytes() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

uint8_t* map_fenced_pages(size_t bytes) {
  void* const map = VirtualAlloc(nullptr, bytes + 2 * page_bytes(), MEM_RESERVE, PAGE_NOACCESS);
  if (map == nullptr) return nullptr;
  return static_cast<uint8_t*>(
      VirtualAlloc(static_cast<uint8_t*>(map) + page_bytes(), bytes, MEM_COMMIT, PAGE_READWRITE));
}

void unmap_fenced_pages(uint8_t* first, size_t) {
  VirtualFree(first - page_bytes(), 0, MEM_RELEASE);
}

#else

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

uint8_t* map_fenced_pages(size_t bytes) {
  void* const map =
      mmap(nullptr, bytes + 2 * page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  uint8_t* const first = static_cast<uint8_t*>(map) + page_bytes();
  return mprotect(first, bytes, PROT_READ | PROT_WRITE) == 0 ? first : nullptr;
}

void unmap_fenced_pages(uint8_t* first, size_t bytes) {
  munmap(first - page_bytes(), bytes + 2 * page_bytes());
}

#endif

}  // namespace cj2k::test
