// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The instructions that the interpreter knows, as rows of tables.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "program.h"

namespace cj2k::ptx {

/// "setp.lt.s32" taken apart.
struct Mnemonic {
  std::string_view base;
  std::vector<std::string_view> modifiers;        ///< types, too
  Type type = Type::kNone, source = Type::kNone;  ///< alike but for cvt
  bool has(std::string_view modifier) const;
};

struct Row {
  std::string_view base;
  std::string_view must;     ///< a modifier that the row is for; empty: any
  std::string_view allowed;  ///< further modifiers, with a space between
  /// A letter for each operand. t: of the type; 2: twice as wide; w: 32 bits; p: predicate; r: a
  /// register of any width.
  std::string_view operands;
  uint8_t num_written;
  Flow flow;
  /// Null: no function for this type.
  Execute (*find)(const Mnemonic& mnemonic);
};

/// Null: no row knows it.
const Row* find_row(const Mnemonic& mnemonic);
std::span<const Row> arithmetic_rows();
std::span<const Row> bit_rows();
std::span<const Row> warp_rows();

/// cvt between registers of these widths.
Execute find_conversion(const Mnemonic& mnemonic, unsigned to_bytes, unsigned from_bytes);
/// mov of one wide register to or from several narrow ones.
Execute find_pack(unsigned bytes, int parts);
Execute find_unpack(unsigned bytes, int parts);
/// @param register_bytes  of the registers that are loaded or stored; at least those of the type
Execute find_load(Type type, unsigned register_bytes);
Execute find_store(Type type, unsigned register_bytes);
Execute find_atomic(const Mnemonic& mnemonic);
/// cvta between generic addresses and those of shared memory.
Execute find_shared_address(bool to_shared);

/// f.operator()<T>() for the type; nullptr for one that is not in the list.
template <typename F>
Execute for_integers(Type type, F f) {
  switch (type) {
    case Type::kU16:
      return f.template operator()<uint16_t>();
    case Type::kS16:
      return f.template operator()<int16_t>();
    case Type::kU32:
      return f.template operator()<uint32_t>();
    case Type::kS32:
      return f.template operator()<int32_t>();
    case Type::kU64:
      return f.template operator()<uint64_t>();
    case Type::kS64:
      return f.template operator()<int64_t>();
    default:
      return nullptr;
  }
}
template <typename F>
Execute for_floats(Type type, F f) {
  switch (type) {
    case Type::kF32:
      return f.template operator()<float>();
    case Type::kF64:
      return f.template operator()<double>();
    default:
      return nullptr;
  }
}
template <typename F>
Execute for_numbers(Type type, F f) {
  const Execute found = for_integers(type, f);
  return found != nullptr ? found : for_floats(type, f);
}

}  // namespace cj2k::ptx
