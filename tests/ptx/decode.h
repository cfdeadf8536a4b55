// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The body of one kernel, decoded.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "instructions.h"
#include "program.h"

namespace cj2k::ptx {

/// Dynamic shared memory, declared once for a whole module.
struct ExternShared {
  std::string_view name;
  uint32_t align;
};

class Decoder {
 public:
  /// Function::params has the bytes of the parameter already.
  Decoder(Function& function, std::string_view param_name,
          const std::vector<ExternShared>& extern_shared);
  void decode(std::string_view body);

 private:
  struct Named {
    int first;
    int count;  ///< 0: a single register, without a number
  };
  using Scope = std::unordered_map<std::string_view, Named>;

  void statement(std::string_view text);
  void declare_registers(std::string_view text);
  void declare_shared(std::string_view text);
  void instruction(std::string_view text);
  void guard(std::string_view& text, Insn& insn);
  void dispatch(const Mnemonic& m, std::vector<std::string_view>& operands, Insn& insn);
  void from_row(const Mnemonic& m, std::vector<std::string_view>& operands, Insn& insn);
  void convert(const Mnemonic& m, const std::vector<std::string_view>& operands, Insn& insn);
  void move_parts(const Mnemonic& m, const std::vector<std::string_view>& operands, Insn& insn);
  void access(const Mnemonic& m, const std::vector<std::string_view>& operands, Insn& insn);
  void atomic(const Mnemonic& m, std::vector<std::string_view>& operands, Insn& insn);
  void barrier(const Mnemonic& m, const std::vector<std::string_view>& operands, Insn& insn);
  void add_end();
  void resolve_branches();

  int new_register(unsigned bytes);
  int find_register(std::string_view name);
  int constant(uint64_t value, unsigned bytes);
  uint64_t value_of(std::string_view text);
  unsigned width_of(std::string_view text) const;
  /// @param bytes  of the register; 0: any
  int operand(std::string_view text, unsigned bytes);
  void add(Insn& insn, int operand);
  void add_address(std::string_view text, Insn& insn);
  [[noreturn]] void fail(std::string_view what) const;

  Function& function_;
  std::vector<Virtual> registers_, constants_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, uint64_t> symbols_;
  std::vector<ExternShared> extern_shared_;
  std::unordered_map<std::string_view, int> labels_;
  std::vector<std::pair<size_t, std::string_view>> branches_;
  std::unordered_map<uint64_t, int> constant_index_[9];
  std::string_view text_;  ///< of the current statement
};

}  // namespace cj2k::ptx
