// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Memory by the page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cj2k::test {

size_t page_bytes();

/// Whole pages that can be read and written, between two that fault.
/// @return the first of them; null: there is no memory
uint8_t* map_fenced_pages(size_t bytes);
void unmap_fenced_pages(uint8_t* first, size_t bytes);

}  // namespace cj2k::test
