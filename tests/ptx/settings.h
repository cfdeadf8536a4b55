// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the environment says, and what is told at the end of the process.
#pragma once

#include <cstdint>
#include <string>

#include "program.h"

namespace cj2k::ptx {

struct Settings {
  unsigned architecture;  ///< CJ2K_PTX_ARCH, default 90: which PTX, and the compute capability
  int multiprocessors;    ///< CJ2K_PTX_SMS, default 2
  uint64_t seed;          ///< CJ2K_PTX_SEED, not 0: a random order of blocks, warps, parted lanes
  uint64_t threads;       ///< CJ2K_PTX_THREADS, default 1: threads that share a launch's blocks
  bool stats;             ///< CJ2K_PTX_STATS: launches and instructions of each kernel, on stderr
  const char*
      cover_dir;  ///< CJ2K_PTX_COVER: folder for PID.tsv, how often warps executed each instruction
  /// CJ2K_PTX_SECTORS: folder for PID.tsv, what each instruction asked of global memory
  const char* sectors_dir;
  /// CJ2K_PTX_MUTANT=KERNEL:INDEX:TEXT: this instruction of the kernel becomes another one
  struct Mutant {
    std::string kernel;
    size_t index;
    std::string text;
  } mutant;
  const char* ptx_dir;  ///< CJ2K_PTX_DIR: kernels of *.ptx there take the place of the program's
};
const Settings& settings();

/// Adds a function's counts to the sums by name, which are reported at the end of the process.
void count_function(const Function& function);

}  // namespace cj2k::ptx
