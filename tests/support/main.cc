// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/run_tests.h"

#if defined(__SANITIZE_THREAD__)
// oneTBB is not instrumented: ThreadSanitizer sees its memset, but not what orders it.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libtbb.so\n"; }
#endif

int main(int argc, char** argv) { return cj2k::test::run_tests(argc, argv); }
