// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks of threads: barriers, shared memory, and the turns of warps.
#include "block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "lanes.h"
#include "settings.h"

namespace cj2k::ptx {
namespace {

std::vector<MemoryRange> g_memory;  // sorted; changes only while no kernel runs

auto first_after(uint64_t address) {
  return std::upper_bound(g_memory.begin(), g_memory.end(), address,
                          [](uint64_t a, const MemoryRange& r) { return a < r.begin; });
}

}  // namespace

void add_memory(uint64_t begin, uint64_t bytes) {
  g_memory.insert(first_after(begin), {begin, begin + bytes});
}

void remove_memory(uint64_t begin) {
  std::erase_if(g_memory, [&](const MemoryRange& r) { return r.begin == begin; });
}

MemoryRange find_memory(uint64_t address) {
  const auto after = first_after(address);
  if (after == g_memory.begin() || !(after - 1)->has(address, 1)) return {};
  return *(after - 1);
}

void Block::FreeAligned::operator()(unsigned char* p) const { std::free(p); }

Block::Block(Function& function, const Grid& grid, uint64_t seed)
    : executed(function.code.size()),
      traffic(settings().sectors_dir != nullptr ? function.code.size() : 0),
      function_(function),
      grid_(grid),
      shuffled_(seed != 0),
      random_(seed),
      num_threads_(grid.block[0] * grid.block[1] * grid.block[2]),
      smem_bytes_(uint64_t{function.smem_dynamic_offset()} + grid.smem_bytes) {
  constexpr uint64_t kAlign = 1024;
  smem_.reset(static_cast<unsigned char*>(
      std::aligned_alloc(kAlign, (smem_bytes_ + kAlign) / kAlign * kAlign)));
  const size_t num_warps = (num_threads_ + kLanes - 1) / kLanes;
  warps_.reserve(num_warps);
  for (size_t k = 0; k < num_warps; ++k) warps_.emplace_back(*this, function);
}

void Block::start(uint64_t index) {
  constexpr int kGarbage = 0xA5;
  std::memset(smem_.get(), kGarbage, smem_bytes_);
  for (Barrier& b : barriers_) b = {};
  num_live_ = num_threads_;
  const auto gx = grid_.grid[0], gy = grid_.grid[1], bx = grid_.block[0], by = grid_.block[1];
  const uint32_t block[3] = {static_cast<uint32_t>(index % gx),
                             static_cast<uint32_t>(index / gx % gy),
                             static_cast<uint32_t>(index / gx / gy)};
  for (uint32_t k = 0; k < warps_.size(); ++k) {
    uint32_t specials[kNumSpecials][kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t t = k * kLanes + l;
      const uint32_t values[kNumSpecials] = {
          t % bx, t / bx % by, t / bx / by,   bx, by, grid_.block[2], block[0], block[1], block[2],
          gx,     gy,          grid_.grid[2], l,  k};
      for (int s = 0; s < kNumSpecials; ++s) specials[s][l] = values[s];
    }
    const uint32_t threads = num_threads_ - k * kLanes;
    warps_[k].start(threads >= kLanes ? kAllLanes : (1u << threads) - 1, specials);
  }
}

void Block::run(uint64_t index) {
  start(index);
  std::vector<size_t> order(warps_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  while (num_live_ > 0) {
    bool progress = false;
    if (shuffled_) std::shuffle(order.begin(), order.end(), random_);
    for (const size_t k : order) {
      if (!warps_[k].can_run()) continue;
      warps_[k].run();
      progress = true;
    }
    if (!progress) deadlock();
  }
}

void Block::deadlock() const {
  std::string text = function_.name + ": no thread can go on:";
  for (size_t k = 0; k < warps_.size(); ++k) {
    if (warps_[k].live() != 0) text += " warp " + std::to_string(k) + ":" + warps_[k].describe();
  }
  throw Failure{text};
}

void Block::arrive(uint32_t id, uint32_t num_threads, uint32_t lanes) {
  Barrier& barrier = barriers_[id];
  if (barrier.arrived != 0 && barrier.expected != num_threads) {
    throw Failure{function_.name + ": warps disagree on how many threads barrier " +
                  std::to_string(id) + " is for"};
  }
  barrier.expected = num_threads;
  barrier.arrived += static_cast<uint32_t>(std::popcount(lanes));
  release(id);
}

void Block::lanes_ended(uint32_t lanes) {
  num_live_ -= static_cast<uint32_t>(std::popcount(lanes));
  for (uint32_t id = 0; id < std::size(barriers_); ++id) release(id);
}

void Block::release(uint32_t id) {
  Barrier& barrier = barriers_[id];
  if (barrier.arrived == 0) return;
  const uint32_t wanted = barrier.expected == 0 ? num_live_ : barrier.expected;
  if (barrier.arrived > wanted) {
    throw Failure{function_.name + ": more threads at barrier " + std::to_string(id) +
                  " than it is for"};
  }
  if (barrier.arrived < wanted) return;
  barrier = {};
  for (Warp& w : warps_) w.pass_barrier(id);
}

void Block::count_traffic(const Insn& insn, const uint64_t* addresses, uint64_t bytes,
                          uint32_t lanes) {
  constexpr uint64_t kSector = 32;
  if (insn.space == Space::kShared || insn.space == Space::kParam) return;
  const auto smem = reinterpret_cast<uint64_t>(smem_.get());
  uint64_t sorted[kLanes];
  size_t count = 0;
  for_each_lane(lanes, [&](int l) {
    if (addresses[l] - smem >= smem_bytes_) sorted[count++] = addresses[l];
  });
  if (count == 0) return;
  std::sort(sorted, sorted + count);
  uint64_t touched = 0, different = 0, next_sector = 0, next_byte = 0;
  for (size_t k = 0; k < count; ++k) {  // an access is aligned, so it is in one sector
    const uint64_t sector = sorted[k] / kSector, end = sorted[k] + bytes;
    if (sector >= next_sector) ++touched, next_sector = sector + 1;
    if (end > next_byte) different += std::min(bytes, end - next_byte), next_byte = end;
  }
  traffic[static_cast<size_t>(&insn - function_.code.data())].add(
      {1, touched, (different + kSector - 1) / kSector});
}

unsigned char* Block::locate(Space space, uint64_t address, uint64_t bytes) {
  const MemoryRange smem = {reinterpret_cast<uint64_t>(smem_.get()),
                            reinterpret_cast<uint64_t>(smem_.get()) + smem_bytes_};
  const MemoryRange params = {
      reinterpret_cast<uint64_t>(function_.params.data()),
      reinterpret_cast<uint64_t>(function_.params.data()) + function_.param_bytes};
  bool allowed = false;
  if (space == Space::kShared) {
    address += smem.begin;
    allowed = smem.has(address, bytes);
  } else if (space == Space::kParam) {
    allowed = params.has(address, bytes);
  } else {
    if (!last_memory.has(address, bytes)) last_memory = find_memory(address);
    allowed =
        last_memory.has(address, bytes) || (space == Space::kGeneric && smem.has(address, bytes));
  }
  return allowed ? reinterpret_cast<unsigned char*>(address) : nullptr;
}

}  // namespace cj2k::ptx
