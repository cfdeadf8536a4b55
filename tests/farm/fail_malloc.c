// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A library for LD_PRELOAD: allocation number CJ2K_FAIL_MALLOC of the process, counted from 1, fails, and
// with CJ2K_FAIL_MORE=1 all after it. CJ2K_COUNT_MALLOC=FILE: their number is written there at the end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long calls, fail_at;
static int fail_more;
static _Thread_local int loading;

static int fails(void) {
  if (loading) return 0;
  const long at = atomic_load(&fail_at);
  const long call = atomic_fetch_add(&calls, 1) + 1;
  if (at == 0 || call < at || (call > at && !fail_more)) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return fails() ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { return fails() ? NULL : __libc_realloc(memory, bytes); }
void *memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  void *const got = memalign(alignment, bytes);
  if (!got) return ENOMEM;
  *memory = got;
  return 0;
}

// The dynamic loader and the libraries' own start are not counted, neither of the program's libraries nor of those that it loads later.
void *dlopen(const char *name, int flags) {
  void *(*const real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  ++loading;
  void *const library = real(name, flags);
  --loading;
  return library;
}

__attribute__((constructor)) static void start(void) {
  const char *const at = getenv("CJ2K_FAIL_MALLOC"), *const more = getenv("CJ2K_FAIL_MORE");
  fail_more = more && more[0] == '1';
  atomic_store(&calls, 0);
  atomic_store(&fail_at, at ? atol(at) : 0);
}

__attribute__((destructor)) static void end(void) {
  const char *const path = getenv("CJ2K_COUNT_MALLOC");
  const long count = atomic_load(&calls);
  atomic_store(&fail_at, 0);
  FILE *const file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld\n", count);
  fclose(file);
}
