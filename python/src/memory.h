// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common.h"

namespace cj2k_python {

/// Words in memory that somebody else owns, with their strides in bytes. Made, copied and destroyed
/// with the GIL held.
struct Memory {
  uintptr_t address = 0;
  std::vector<int64_t> shape, strides;
  int item_bytes = 0;
  std::string type;  ///< "uint8", "uint16", "int8", "int16", "bool", or the name of what is refused
  bool is_foreign = false;  ///< words of another order of bytes, or bool: only contiguous() is read
  bool is_cuda = false;
  int device = 0;
  std::shared_ptr<void> owner;  ///< keeps the words where they are
};

/// One component of a frame.
struct View {
  std::shared_ptr<Memory> memory;
  int64_t offset, stride_bytes;
  int32_t step_bytes;
  int32_t columns, rows;
  int32_t bits;  ///< of a sample; the words may have more
};

/// Looks for a sample that has more than `bits` bits.
/// @return false: there is none
bool find_too_large(const View& view, int* value, int* x, int* y);

}  // namespace cj2k_python
