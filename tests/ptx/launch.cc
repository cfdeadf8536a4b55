// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Launches: all blocks of a grid, on one thread or several.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "block.h"
#include "settings.h"

namespace cj2k::ptx {
namespace {

std::vector<uint64_t> block_order(uint64_t count, uint64_t seed) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (seed != 0) {
    std::mt19937_64 random(seed);
    std::shuffle(order.begin(), order.end(), random);
  }
  return order;
}

}  // namespace

void launch(Function& f, const Grid& grid, void** params) {
  if (f.param_bytes != 0) std::memcpy(f.params.data(), params[0], f.param_bytes);
  ++f.launches;
  const uint64_t seed = settings().seed == 0 ? 0 : settings().seed + f.launches;
  const std::vector<uint64_t> order = block_order(grid.num_blocks(), seed);
  f.executed.resize(f.code.size());
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  // Blocks of one launch share memory by atomics alone, so threads of the host can share them out.
  const auto work = [&](uint64_t worker) {
    Block block(f, grid, seed == 0 ? 0 : seed + worker);
    try {
      for (uint64_t k = next++; k < order.size(); k = next++) block.run(order[k]);
    } catch (const Failure&) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    f.warp_insns += block.warp_insns;
    f.lane_insns += block.lane_insns;
    for (size_t k = 0; k < f.executed.size(); ++k) f.executed[k] += block.executed[k];
    f.traffic.resize(block.traffic.size());
    for (size_t k = 0; k < f.traffic.size(); ++k) f.traffic[k].add(block.traffic[k]);
  };
  std::vector<std::thread> others;
  const uint64_t workers = std::min<uint64_t>(settings().threads, order.size());
  for (uint64_t k = 1; k < workers; ++k) others.emplace_back(work, k);
  work(0);
  for (std::thread& t : others) t.join();
  f.blocks += order.size();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace cj2k::ptx
