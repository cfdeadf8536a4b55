// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "base/system.h"

#if defined(_WIN32)
#include <windows.h>
#elif defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

namespace cj2k {

int process_cores() {
#if defined(_WIN32)
  DWORD_PTR process = 0, system = 0;  // 0: in several groups of 64 cores
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) != 0 && process != 0)
    return __builtin_popcountll(process);
  return static_cast<int>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
#elif defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return 0;
}

void advise_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace cj2k
