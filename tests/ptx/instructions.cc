// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Looks instructions up in the tables.
#include "instructions.h"

#include <algorithm>

#include "program.h"

namespace cj2k::ptx {

unsigned bytes_of(Type type) {
  switch (type) {
    case Type::kU16:
    case Type::kS16:
      return 2;
    case Type::kU32:
    case Type::kS32:
    case Type::kF32:
      return 4;
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 8;
    default:
      return 1;
  }
}

bool is_signed(Type type) { return type >= Type::kS8 && type <= Type::kS64; }

bool Mnemonic::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

const Row* find_row(const Mnemonic& m) {
  for (const auto rows : {arithmetic_rows(), bit_rows(), warp_rows()}) {
    for (const Row& row : rows) {
      if (row.base == m.base && (row.must.empty() || m.has(row.must))) return &row;
    }
  }
  return nullptr;
}

}  // namespace cj2k::ptx
