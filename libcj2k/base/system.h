// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What each operating system does its own way.
#pragma once

#include <cstddef>

namespace cj2k {

/// @return cores that this process may use; 0 or less: the system does not say
int process_cores();

/// Asks for large pages in memory that nobody has touched yet. This is only a hint.
void advise_large_pages(void* memory, size_t bytes);

}  // namespace cj2k
