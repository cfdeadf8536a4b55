// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How the lanes of a warp part and meet.
#include "warp.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>

#include "block.h"
#include "lanes.h"

namespace cj2k::ptx {
namespace {

/// Instructions after which other lanes and warps have a turn: a lane may wait for them in a loop.
constexpr uint64_t kTurn = 200000;
constexpr int32_t kNone = std::numeric_limits<int32_t>::max();

}  // namespace

Warp::Warp(Block& block, Function& function)
    : block_(block), function_(function), registers_(function.register_bytes + 64) {
  const auto address = reinterpret_cast<uintptr_t>(registers_.data());
  base_[0] = registers_.data() + (64 - address % 64) % 64;
  base_[1] = function.constants.data();
}

void Warp::start(uint32_t lanes, const uint32_t (&specials)[kNumSpecials][kLanes]) {
  live_ = lanes;
  num_groups_ = 0;
  waiting_warp_.clear();
  waiting_block_.clear();
  for (const auto& [kind, operand] : function_.specials) {
    std::copy_n(specials[kind], kLanes, at<uint32_t>(operand));
  }
  put(0, lanes);
}

void Warp::fail(const Insn& insn, const std::string& what) const {
  const auto index = static_cast<size_t>(&insn - function_.code.data());
  throw Failure{function_.name + ": " + what + " at: " + function_.text[index]};
}

std::string Warp::describe() const {
  std::string text;
  char part[80];
  for (const auto* list : {&waiting_warp_, &waiting_block_}) {
    for (const Waiting& w : *list) {
      std::snprintf(part, sizeof part, " lanes %08x wait for %s %x at ", w.lanes,
                    list == &waiting_warp_ ? "mask" : "barrier", w.mask);
      text += part + function_.text[static_cast<size_t>(w.pc)] + ";";
    }
  }
  return text;
}

void Warp::put(int32_t pc, uint32_t lanes, bool asleep) {
  int at = num_groups_;
  while (at > 0 && groups_[at - 1].pc > pc) --at;
  for (int k = at; k > 0 && groups_[k - 1].pc == pc; --k) {
    if (groups_[k - 1].asleep != asleep) continue;
    groups_[k - 1].lanes |= lanes;
    return;
  }
  for (int k = num_groups_; k > at; --k) groups_[k] = groups_[k - 1];
  groups_[at] = {pc, lanes, asleep};
  ++num_groups_;
}

/// Takes the group that runs next out of the list. *next: where the one after it is.
bool Warp::take(Group* group, int32_t* next) {
  int awake[kLanes], count = 0;
  for (int k = 0; k < num_groups_; ++k) {
    if (!groups_[k].asleep) awake[count++] = k;
  }
  if (count == 0) return false;
  int chosen = awake[0];
  *next = count > 1 ? groups_[awake[1]].pc : kNone;
  if (block_.is_shuffled()) {
    chosen = awake[block_.random() % static_cast<unsigned>(count)];
    *next = kNone;
  }
  *group = groups_[chosen];
  for (int k = chosen; k + 1 < num_groups_; ++k) groups_[k] = groups_[k + 1];
  --num_groups_;
  return true;
}

void Warp::run() {
  steps_ = 0;
  while (num_groups_ > 0 && steps_ < kTurn) {
    Group group;
    int32_t next;
    if (!take(&group, &next)) {
      wake();
      break;
    }
    uint64_t most = kTurn - steps_;
    if (block_.is_shuffled() && group.lanes != live_) most = 1 + block_.random() % 256;
    run_group(group, next, most);
  }
  block_.warp_insns += steps_;
}

void Warp::wake() {
  Group all[kLanes];
  const int count = num_groups_;
  std::copy_n(groups_, count, all);
  num_groups_ = 0;
  for (int k = 0; k < count; ++k) put(all[k].pc, all[k].lanes);
}

void Warp::run_group(Group group, int32_t next, uint64_t most) {
  int32_t pc = group.pc;
  uint32_t lanes = group.lanes;
  const uint64_t last = steps_ + most;
  const Insn* const code = function_.code.data();
  uint64_t* const executed = block_.executed.data();
  while (lanes != 0) {
    const Insn& i = code[pc];
    ++executed[pc];
    ++steps_;
    block_.lane_insns += static_cast<unsigned>(std::popcount(lanes));
    uint32_t active = lanes;
    if (i.guard >= 0) {
      const uint32_t bits = predicate(i.guard);
      active &= i.guard_not ? ~bits : bits;
    }
    if (active == 0) {
      ++pc;
    } else if (i.flow == Flow::kPlain) {
      i.execute(*this, i, active);
      ++pc;
    } else if (i.flow == Flow::kBranch) {
      pc = branch(i, active, pc, &lanes, &next);
    } else {
      const uint32_t others = lanes & ~active;
      if (others != 0 && i.flow != Flow::kReturn) fail(i, "a guard on an instruction that waits");
      if (!schedule(i, active, pc)) lanes = others;
      ++pc;
    }
    if (pc >= next || steps_ >= last) break;
  }
  // A group that had its whole turn may wait for another one.
  if (lanes != 0) put(pc, lanes, steps_ >= kTurn);
}

/// @return where `lanes` go on: all of them, or those at the lower place; the others are met there
int32_t Warp::branch(const Insn& i, uint32_t active, int32_t pc, uint32_t* lanes, int32_t* next) {
  if (active == *lanes) return i.target;
  const int32_t low = std::min(i.target, pc + 1), high = std::max(i.target, pc + 1);
  const uint32_t at_high = high == i.target ? active : *lanes & ~active;
  put(high, at_high);
  *lanes &= ~at_high;
  if (!block_.is_shuffled()) *next = std::min(*next, high);
  return low;
}

bool Warp::schedule(const Insn& i, uint32_t lanes, int32_t pc) {
  switch (i.flow) {
    case Flow::kTogether:
      return meet(i, lanes, pc);
    case Flow::kSleep:
      put(pc + 1, lanes, true);
      return false;
    case Flow::kReturn:
      live_ &= ~lanes;
      block_.lanes_ended(lanes);
      release_waiting();
      return false;
    default:
      barrier(i, lanes, pc);
      return false;
  }
}

/// A warp-wide instruction: done at once if all lanes of its mask are here.
bool Warp::meet(const Insn& i, uint32_t lanes, int32_t pc) {
  const uint32_t* masks = at<uint32_t>(i.operand[i.num_operands - 1]);
  uint32_t left = lanes;
  while (left != 0) {
    const uint32_t mask = masks[std::countr_zero(left)];
    uint32_t same = 0;
    for_each_lane(left, [&](int l) {
      if ((masks[l] >> l & 1) == 0) fail(i, "a lane that is not in its own mask");
      if (masks[l] == mask) same |= 1u << l;
    });
    if (same == lanes && (mask & live_) == lanes) {
      if (i.execute != nullptr) {
        std::fill_n(together_, kLanes, &i);
        i.execute(*this, i, lanes);
      }
      return true;
    }
    waiting_warp_.push_back({pc, same, mask});
    left &= ~same;
  }
  release_waiting();
  return false;
}

/// Executes warp-wide instructions whose lanes have all arrived, from different places perhaps.
void Warp::release_waiting() {
  for (size_t first = 0; first < waiting_warp_.size(); ++first) {
    const Waiting w = waiting_warp_[first];
    const Insn& i = function_.code[static_cast<size_t>(w.pc)];
    uint32_t here = 0;
    for (const Waiting& o : waiting_warp_) {
      const Insn& other = function_.code[static_cast<size_t>(o.pc)];
      if (o.mask != w.mask || other.execute != i.execute) continue;
      here |= o.lanes;
      for_each_lane(o.lanes, [&](int l) { together_[l] = &other; });
    }
    if ((w.mask & live_ & ~here) != 0) continue;
    if (i.execute != nullptr) i.execute(*this, i, here);
    std::vector<Waiting> rest;
    for (const Waiting& o : waiting_warp_) {
      if ((o.lanes & here) != 0) {
        put(o.pc + 1, o.lanes);
      } else {
        rest.push_back(o);
      }
    }
    waiting_warp_ = rest;
    first = static_cast<size_t>(-1);
  }
}

void Warp::barrier(const Insn& i, uint32_t lanes, int32_t pc) {
  const auto value = [&](int32_t operand) {
    const uint32_t* all = at<uint32_t>(operand);
    const uint32_t v = all[std::countr_zero(lanes)];
    for_each_lane(lanes, [&](int l) {
      if (all[l] != v) fail(i, "lanes disagree on a barrier");
    });
    return v;
  };
  const uint32_t id = value(i.operand[0]);
  const uint32_t threads = i.num_operands > 1 ? value(i.operand[1]) : 0;
  if (id >= 16 || (i.num_operands > 1 && (threads == 0 || threads % kLanes != 0))) {
    fail(i, "a barrier out of range");
  }
  if (i.flow == Flow::kBarSync) {
    waiting_block_.push_back({pc, lanes, id});
  } else {
    put(pc + 1, lanes);
  }
  block_.arrive(id, threads, lanes);
}

void Warp::pass_barrier(uint32_t id) {
  size_t kept = 0;
  for (const Waiting& w : waiting_block_) {
    if (w.mask == id) {
      put(w.pc + 1, w.lanes);
    } else {
      waiting_block_[kept++] = w;
    }
  }
  waiting_block_.resize(kept);
}

}  // namespace cj2k::ptx
