// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A warp: registers of 32 lanes, and groups of lanes that are at the same instruction. The group
// that is furthest back runs until it meets the next one, so lanes that parted come together again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program.h"

namespace cj2k::ptx {

class Block;

class Warp {
 public:
  Warp(Block& block, Function& function);
  /// All lanes at the first instruction.
  void start(uint32_t lanes, const uint32_t (&specials)[kNumSpecials][kLanes]);
  bool can_run() const { return num_groups_ > 0; }
  uint32_t live() const { return live_; }
  /// Runs until no group can go on, or until others should have a turn.
  void run();
  /// The lanes that wait at this barrier of the block go on.
  void pass_barrier(uint32_t id);
  std::string describe() const;

  /// The lanes of an operand.
  template <typename T>
  T* at(int32_t operand) {
    return reinterpret_cast<T*>(base_[operand & 1] + (operand >> 1));
  }
  uint32_t& predicate(int32_t operand) { return *at<uint32_t>(operand); }
  Block& block() { return block_; }
  /// What each lane of a kTogether instruction executes: the same operation, perhaps elsewhere.
  const Insn& together(int lane) const { return *together_[lane]; }
  uint32_t carry = 0;  ///< of add.cc, a bit for each lane

  [[noreturn]] void fail(const Insn& insn, const std::string& what) const;

 private:
  struct Group {
    int32_t pc;
    uint32_t lanes;
    bool asleep;
  };
  /// Lanes that wait: at a warp-wide instruction for `mask`, or at barrier `mask` of the block.
  struct Waiting {
    int32_t pc;
    uint32_t lanes, mask;
  };
  void put(int32_t pc, uint32_t lanes, bool asleep = false);
  bool take(Group* group, int32_t* next);
  void wake();
  void run_group(Group group, int32_t next, uint64_t most);
  int32_t branch(const Insn& insn, uint32_t active, int32_t pc, uint32_t* lanes, int32_t* next);
  /// @return false: the lanes have their new places
  bool schedule(const Insn& insn, uint32_t lanes, int32_t pc);
  bool meet(const Insn& insn, uint32_t lanes, int32_t pc);
  void release_waiting();
  void barrier(const Insn& insn, uint32_t lanes, int32_t pc);

  Block& block_;
  Function& function_;
  std::vector<unsigned char> registers_;
  unsigned char* base_[2];
  uint32_t live_ = 0;
  Group groups_[kLanes];  ///< by pc
  int num_groups_ = 0;
  std::vector<Waiting> waiting_warp_, waiting_block_;
  const Insn* together_[kLanes];
  uint64_t steps_ = 0;
};

}  // namespace cj2k::ptx
