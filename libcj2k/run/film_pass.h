// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One budget for the frames of an encoder (cj2k_encoder_open_film): what happens to frames before the
// encoder has them, and to packets after it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "cj2k_film.h"
#include "film/allocate.h"
#include "run/encoder.h"

namespace cj2k {

/// One thread may call send while another calls advance and keep.
class FilmPass {
 public:
  /// Opens the encoder too. Throws std::bad_alloc.
  /// @param asked  all fields of the caller's parameters. Result: what the encoder was opened with
  static Status open(const cj2k_film_pass& film, const Log& log, cj2k_params* asked,
                     std::unique_ptr<FilmPass>* pass, std::unique_ptr<Encoder>* encoder);
  ~FilmPass() { flush(); }

  /// @param frame  as in Encoder::send
  Status send(Encoder& encoder, const cj2k_frame* frame);
  /// Lookahead: sends the frames that have their target, as long as the encoder takes them. Call it
  /// before receive.
  Status advance(Encoder& encoder);
  /// Pass 1: keeps the curve of the next frame. Null: that frame failed.
  void keep(const cj2k_curve* curve);
  void flush();

  std::string headline(const cj2k_info& info) const;
  /// The log of pass 1.
  Status write_log(const Log& log, std::vector<uint8_t>* bytes) const;

 private:
  FilmPass(const cj2k_film_pass& film, const Log& log) : film_(film), log_(log) {}
  Status allocate(const cj2k_params& p);
  Status open_analysis(cj2k_params p);
  Status look_at(const cj2k_frame& frame, cj2k_curve* curve);
  Status wait(Encoder& encoder, const cj2k_frame& frame);
  Status choose_target(const Encoder& encoder);
  Status drain(Encoder& encoder);

  const cj2k_film_pass film_;
  const Log log_;
  cj2k_params params_ = {};           ///< what the encoder was opened with, but jp2_boxes
  std::vector<uint8_t> icc_profile_;  ///< that of params_

  std::mutex send_mutex_;         ///< held for a whole send, locked before mutex_
  size_t sent_ = 0;               ///< frames
  std::vector<int64_t> targets_;  ///< pass 2: bytes of each frame
  int64_t total_bytes_ = 0;       ///< pass 2: the budget
  Lookahead lookahead_;           ///< the budget, and what is left of it; pass 2: cap and floor
  std::unique_ptr<Encoder> analysis_;  ///< lookahead: makes the curves
  std::deque<cj2k_frame> waiting_;     ///< lookahead: frames without a target
  size_t before_ = 0;                  ///< lookahead: curves of frames before these

  mutable std::mutex mutex_;        ///< guards the members below
  std::vector<cj2k_curve> curves_;  ///< of pass 1; with lookahead, send alone uses it
  size_t failed_ = 0;               ///< pass 1: frames that have no curve
  std::deque<cj2k_frame> ready_;    ///< lookahead: frames with their target
  bool draining_ = false;           ///< all frames have come
  bool drained_ = false;            ///< and the encoder has them
};

}  // namespace cj2k
