// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the environment says, and what is told at the end of the process.
#include "settings.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>

namespace cj2k::ptx {
namespace {

uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

Settings::Mutant mutant() {
  const char* const value = std::getenv("CJ2K_PTX_MUTANT");
  const std::string all = value != nullptr ? value : "";
  const size_t first = all.find(':'), second = all.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {all.substr(0, first), std::strtoull(all.c_str() + first + 1, nullptr, 10),
          all.substr(second + 1)};
}

struct Sums {
  uint64_t launches = 0, blocks = 0, warp_insns = 0, lane_insns = 0;
  std::vector<std::string> text;
  std::vector<uint64_t> executed;
  std::vector<Traffic> traffic;
};

class Report {
 public:
  ~Report() {
    if (settings().stats) print();
    if (settings().cover_dir != nullptr) write_cover();
    if (settings().sectors_dir != nullptr) write_sectors();
  }
  void add(const Function& f) {
    const std::lock_guard lock(mutex_);
    Sums& s = sums_[f.name];
    s.launches += f.launches;
    s.blocks += f.blocks;
    s.warp_insns += f.warp_insns;
    s.lane_insns += f.lane_insns;
    s.text = f.text;
    s.executed.resize(f.text.size());
    for (size_t k = 0; k < f.executed.size(); ++k) s.executed[k] += f.executed[k];
    s.traffic.resize(f.traffic.size());
    for (size_t k = 0; k < f.traffic.size(); ++k) s.traffic[k].add(f.traffic[k]);
  }

 private:
  void print() const {
    std::fprintf(stderr, "%-36s %10s %12s %16s %18s\n", "PTX kernel", "launches", "blocks",
                 "of warps", "of lanes");
    for (const auto& [name, s] : sums_) {
      if (s.launches == 0) continue;
      std::fprintf(stderr, "%-36s %10" PRIu64 " %12" PRIu64 " %16" PRIu64 " %18" PRIu64 "\n",
                   name.c_str(), s.launches, s.blocks, s.warp_insns, s.lane_insns);
    }
  }
  static std::ofstream file_in(const char* folder) {
    return std::ofstream(std::string(folder) + "/" + std::to_string(getpid()) + ".tsv");
  }
  /// Kernel, index, requests, sectors, sectors at best, instruction.
  void write_sectors() const {
    std::ofstream file = file_in(settings().sectors_dir);
    for (const auto& [name, s] : sums_) {
      for (size_t k = 0; k < s.traffic.size(); ++k) {
        const Traffic& t = s.traffic[k];
        if (t.requests == 0) continue;
        file << name << '\t' << k << '\t' << t.requests << '\t' << t.sectors << '\t' << t.best
             << '\t' << s.text[k] << '\n';
      }
    }
  }
  /// Kernel, index, warps that executed it, instruction.
  void write_cover() const {
    std::ofstream file = file_in(settings().cover_dir);
    for (const auto& [name, s] : sums_) {
      for (size_t k = 0; k < s.text.size(); ++k) {
        file << name << '\t' << k << '\t' << s.executed[k] << '\t' << s.text[k] << '\n';
      }
    }
  }
  std::mutex mutex_;
  std::map<std::string, Sums> sums_;
};

Report g_report;

}  // namespace

const Settings& settings() {
  static const Settings s = {
      .architecture = static_cast<unsigned>(number("CJ2K_PTX_ARCH", 90)),
      .multiprocessors = static_cast<int>(number("CJ2K_PTX_SMS", 2)),
      .seed = number("CJ2K_PTX_SEED", 0),
      .threads = number("CJ2K_PTX_THREADS", 1),
      .stats = number("CJ2K_PTX_STATS", 0) != 0,
      .cover_dir = std::getenv("CJ2K_PTX_COVER"),
      .sectors_dir = std::getenv("CJ2K_PTX_SECTORS"),
      .mutant = mutant(),
      .ptx_dir = std::getenv("CJ2K_PTX_DIR"),
  };
  return s;
}

void count_function(const Function& function) { g_report.add(function); }

}  // namespace cj2k::ptx
