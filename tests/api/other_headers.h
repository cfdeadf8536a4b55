/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs that were compiled with another cj2k.h than the library. Each encodes one picture of one
 * component of 8 bits with 3 levels, and gives the codestream to `take`.
 * Returns 0, or the line of the check that failed. */
#ifndef TESTS_API_OTHER_HEADERS_H
#define TESTS_API_OTHER_HEADERS_H

#include <stddef.h>
#include <stdint.h>

enum { OTHER_WIDTH = 48, OTHER_HEIGHT = 40 };

#ifdef __cplusplus
extern "C" {
#endif
int run_older_program(const unsigned char* samples, void (*take)(const uint8_t*, size_t));
int run_newer_program(const unsigned char* samples, void (*take)(const uint8_t*, size_t));
#ifdef __cplusplus
}
#endif

#endif
