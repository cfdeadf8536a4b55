// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a host tells of a sequence: a line at open, the members of a line of JSON for each frame, and
// a line at close.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "cj2k.h"

namespace cj2k {

/// Of all samples together: cj2k_stats::psnr.
double frame_psnr(const cj2k_params& p, const cj2k_stats& stats);

class Report {
 public:
  /// @param p  the resolved parameters
  explicit Report(const cj2k_params& p) : p_(p) {}

  /// Computes psnr, component_psnr and q of a frame from its errors, and counts it. Thread-safe.
  void add(cj2k_stats* stats);
  /// Counts a frame that has no packet.
  void add_failed();

  /// @param fields  codestreams of a frame
  std::string headline(const cj2k_info& info, int fields) const;
  std::string summary(int fields) const;
  std::string json(const cj2k_stats& stats) const;

 private:
  double equivalent_q(const cj2k_stats& stats) const;

  const cj2k_params p_;
  mutable std::mutex mutex_;  ///< guards all below
  int64_t number_ = 0;        ///< of the next codestream
  int64_t frames_ = 0, bytes_ = 0, largest_bytes_ = 0;
  double error_ = 0, worst_error_ = 0;
  int64_t short_ = 0;        ///< frames below target_psnr
  bool is_cut_ = false;      ///< something was left out of a frame
  int32_t least_proof_ = 2;  ///< cj2k_stats::verified
  int64_t worst_ = 0;
  double stage_ms_[CJ2K_NUM_STAGES] = {};
};

/// {"error":TEXT}
std::string json_error(const std::string& text);

}  // namespace cj2k
