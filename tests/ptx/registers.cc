// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Places of registers. nvcc names thousands of registers, each written once. A warp's registers stay
// in the cache because registers share a place when a lane never needs both: liveness by data flow
// over basic blocks, then a linear scan of the intervals.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <queue>

#include "program.h"

namespace cj2k::ptx {
namespace {

/// A set of registers.
struct Set {
  std::vector<uint64_t> words;
  Set(size_t count = 0) : words((count + 63) / 64) {}
  bool has(int r) const { return (words[r / 64] >> (r % 64) & 1) != 0; }
  void add(int r) { words[r / 64] |= uint64_t{1} << (r % 64); }
  template <typename F>
  void for_each(F f) const {
    for (size_t w = 0; w < words.size(); ++w) {
      for (uint64_t left = words[w]; left != 0; left &= left - 1) {
        f(static_cast<int>(w * 64) + std::countr_zero(left));
      }
    }
  }
};

struct BasicBlock {
  int begin, end;
  int successors[2] = {-1, -1};
  Set writes{}, live_in{}, live_out{};
};

std::vector<BasicBlock> basic_blocks(const std::vector<Insn>& code) {
  const int count = static_cast<int>(code.size());
  std::vector<bool> leader(code.size() + 1, false);
  leader[0] = true;
  for (int k = 0; k < count; ++k) {
    const Insn& i = code[k];
    if (i.flow == Flow::kBranch) leader[i.target] = true;
    if (i.flow == Flow::kBranch || i.flow == Flow::kReturn) leader[k + 1] = true;
  }
  std::vector<BasicBlock> blocks;
  std::vector<int> block_of(code.size() + 1, -1);
  for (int k = 0; k < count; ++k) {
    if (leader[k]) blocks.push_back({.begin = k, .end = k});
    block_of[k] = static_cast<int>(blocks.size()) - 1;
    blocks.back().end = k + 1;
  }
  for (BasicBlock& block : blocks) {
    const Insn& last = code[block.end - 1];
    if (last.flow == Flow::kBranch) block.successors[0] = block_of[last.target];
    const bool leaves = last.flow == Flow::kBranch || last.flow == Flow::kReturn;
    if (!leaves || last.guard >= 0) block.successors[1] = block_of[block.end];
  }
  return blocks;
}

void find_live(const std::vector<Insn>& code, size_t num_registers,
               std::vector<BasicBlock>& blocks) {
  for (BasicBlock& block : blocks) {
    block.writes = block.live_in = block.live_out = Set(num_registers);
    for (int k = block.begin; k < block.end; ++k) {
      const Insn& i = code[k];
      const auto read = [&](int o) {
        if (o >= 0 && !block.writes.has(o)) block.live_in.add(o);
      };
      read(i.guard);
      for (int n = i.num_written; n < i.num_operands; ++n) read(i.operand[n]);
      for (int n = 0; n < i.num_written; ++n) {
        // With a guard, lanes may keep what they had.
        if (i.guard >= 0) read(i.operand[n]);
        block.writes.add(i.operand[n]);
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      BasicBlock& block = blocks[b];
      for (const int s : block.successors) {
        for (size_t w = 0; s >= 0 && w < block.writes.words.size(); ++w) {
          const uint64_t out = block.live_out.words[w] | blocks[s].live_in.words[w];
          const uint64_t in = block.live_in.words[w] | (out & ~block.writes.words[w]);
          changed = changed || in != block.live_in.words[w];
          block.live_out.words[w] = out;
          block.live_in.words[w] = in;
        }
      }
    }
  }
}

struct Interval {
  int reg;
  int begin = std::numeric_limits<int>::max(), end = -1;
  void extend(int at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
};

std::vector<Interval> intervals(const Function& f, size_t num_registers) {
  std::vector<BasicBlock> blocks = basic_blocks(f.code);
  find_live(f.code, num_registers, blocks);
  std::vector<Interval> all(num_registers);
  for (size_t r = 0; r < num_registers; ++r) all[r].reg = static_cast<int>(r);
  for (const auto& [kind, reg] : f.specials) all[reg].extend(-1);
  for (const BasicBlock& block : blocks) {
    block.live_in.for_each([&](int r) { all[r].extend(block.begin); });
    block.live_out.for_each([&](int r) { all[r].extend(block.end); });
    for (int k = block.begin; k < block.end; ++k) {
      const Insn& i = f.code[k];
      if (i.guard >= 0) all[i.guard].extend(k);
      for (int n = 0; n < i.num_operands; ++n) {
        if (i.operand[n] >= 0) all[i.operand[n]].extend(k);
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return all;
}

/// Bytes of all lanes.
size_t place_bytes(unsigned bytes) { return bytes == 1 ? sizeof(uint32_t) : bytes * kLanes; }

/// Places of one width.
class Places {
 public:
  int take(int begin, int end) {
    // A place whose register dies in this very instruction is still read by it.
    while (!used_.empty() && used_.top().first < begin) {
      free_.push_back(used_.top().second);
      used_.pop();
    }
    int place = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      place = free_.back();
      free_.pop_back();
    }
    used_.push({end, place});
    return place;
  }
  int count() const { return count_; }

 private:
  using Used = std::pair<int, int>;
  std::priority_queue<Used, std::vector<Used>, std::greater<>> used_;
  std::vector<int> free_;
  int count_ = 0;
};

void make_constants(Function& f, const std::vector<Virtual>& constants,
                    std::vector<int32_t>* operand) {
  for (const Virtual& c : constants) {
    const size_t at = f.constants.size();
    operand->push_back(static_cast<int32_t>(at * 2 + 1));
    f.constants.resize(at + std::max<size_t>(place_bytes(c.bytes), 64));
    unsigned char* to = f.constants.data() + at;
    const uint32_t bits = c.value != 0 ? kAllLanes : 0;
    if (c.bytes == 1) std::memcpy(to, &bits, sizeof bits);
    for (int l = 0; c.bytes > 1 && l < kLanes; ++l)
      std::memcpy(to + l * c.bytes, &c.value, c.bytes);
  }
}

}  // namespace

void assign_registers(Function& f, const std::vector<Virtual>& registers,
                      const std::vector<Virtual>& constants) {
  constexpr unsigned kWidths[] = {8, 4, 2, 1};
  Places places[9];
  std::vector<int> place(registers.size(), -1);
  for (const Interval& i : intervals(f, registers.size())) {
    if (i.end >= i.begin) place[i.reg] = places[registers[i.reg].bytes].take(i.begin, i.end);
  }
  size_t base[9] = {};
  for (const unsigned w : kWidths) {
    base[w] = f.register_bytes;
    f.register_bytes += (place_bytes(w) * places[w].count() + 63) / 64 * 64;
  }
  std::vector<int32_t> constant;
  make_constants(f, constants, &constant);
  const auto encode = [&](int32_t o) {
    if (o < 0) return constant[~o];
    const unsigned w = registers[o].bytes;
    return static_cast<int32_t>((base[w] + place_bytes(w) * place[o]) * 2);
  };
  for (Insn& i : f.code) {
    if (i.guard >= 0) i.guard = encode(i.guard);
    for (int n = 0; n < i.num_operands; ++n) i.operand[n] = encode(i.operand[n]);
  }
  for (auto& [kind, o] : f.specials) o = encode(o);
}

}  // namespace cj2k::ptx
