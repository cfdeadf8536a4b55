// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A block of threads, and the memory that it may touch.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "program.h"
#include "warp.h"

namespace cj2k::ptx {

/// Global memory is memory of the host. Kernels may touch what was allocated, and nothing else.
void add_memory(uint64_t begin, uint64_t bytes);
void remove_memory(uint64_t begin);
struct MemoryRange {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address, uint64_t bytes) const {
    return address >= begin && address < end && bytes <= end - address;
  }
};
/// The allocation with this address; an empty range if there is none.
MemoryRange find_memory(uint64_t address);

struct Grid {
  uint32_t grid[3], block[3], smem_bytes;
  uint64_t num_blocks() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
};

class Block {
 public:
  /// @param seed  0: warps and lanes run in a fixed order; else in a random one
  Block(Function& function, const Grid& grid, uint64_t seed);
  void run(uint64_t index);

  bool is_shuffled() const { return shuffled_; }
  uint64_t random() { return random_(); }
  /// Lanes of one warp arrive at a barrier. num_threads 0: all of the block.
  void arrive(uint32_t id, uint32_t num_threads, uint32_t lanes);
  void lanes_ended(uint32_t lanes);
  /// The host address, or null if the kernel must not touch these bytes.
  unsigned char* locate(Space space, uint64_t address, uint64_t bytes);
  unsigned char* smem() { return smem_.get(); }
  uint64_t smem_bytes() const { return smem_bytes_; }
  /// The allocation that was touched last.
  MemoryRange last_memory;
  uint64_t warp_insns = 0, lane_insns = 0;
  std::vector<uint64_t> executed;  ///< of each instruction: how often a warp executed it
  std::vector<Traffic> traffic;    ///< of each instruction; empty: not counted
  /// Counts an access of these lanes to `bytes` bytes each, if it is one to global memory.
  void count_traffic(const Insn& insn, const uint64_t* addresses, uint64_t bytes, uint32_t lanes);

 private:
  struct Barrier {
    uint32_t arrived = 0, expected = 0;
  };
  struct FreeAligned {
    void operator()(unsigned char* p) const;
  };
  void start(uint64_t index);
  void release(uint32_t id);
  [[noreturn]] void deadlock() const;

  Function& function_;
  Grid grid_;
  bool shuffled_;
  std::mt19937_64 random_;
  uint32_t num_threads_, num_live_ = 0;
  uint64_t smem_bytes_;
  std::unique_ptr<unsigned char[], FreeAligned> smem_;
  std::vector<Warp> warps_;
  Barrier barriers_[16];
};

/// Runs all blocks. Throws Failure.
void launch(Function& function, const Grid& grid, void** params);

}  // namespace cj2k::ptx
