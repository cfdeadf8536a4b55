// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The benchmark's results: a table to read, and TSV for programs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/contender.h"

namespace cj2k::bench {

struct Row {
  const Task* task = nullptr;
  std::string encoder, tier1, gop;
  Boundary boundary = Boundary::kDeviceToHost;
  std::string error;  ///< why it could not be opened or failed; then no figures
  std::vector<Round> rounds;
  uint64_t hash = 0;
  std::vector<uint8_t> first;
  bool same_bytes = false, capped = false;
  int64_t device_bytes = 0, pinned_bytes = 0, host_bytes = 0, frames_in_flight = 0;
  double mse[Clip::kComponents] = {};
  std::optional<double> joules;  ///< for all rounds
  std::optional<double> psnr;
  bool psnr_decoded = false;  ///< from opj_decompress; false: the encoder's estimate
  std::string check;          ///< what is wrong; "": nothing
};

/// {median, smallest, largest} of the steady rate over the rounds.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread frames_per_second(const Row& row);

/// "name: value" lines at the top of both files.
using Facts = std::vector<std::pair<std::string, std::string>>;

void print_table(std::FILE* file, const Facts& facts, const std::vector<Row>& rows);
void print_tsv(std::FILE* file, const Facts& facts, const std::vector<Row>& rows);

}  // namespace cj2k::bench
