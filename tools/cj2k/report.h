// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the progress line, the line at the end, and the file of --stat.
#ifndef CJ2K_TOOLS_REPORT_H_
#define CJ2K_TOOLS_REPORT_H_

#include <cj2k.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "frames.h"
#include "options.h"

namespace cj2k_tool {

using Clock = std::chrono::steady_clock;

/// What is known of a frame that has been written.
struct Written {
  const Frame* frame;
  int64_t bytes;
  double milliseconds;
  int num_components = 0;  // with --psnr
  double psnr = 0;         // of all samples
  double component_psnr[CJ2K_MAX_COMPONENTS] = {};
};

class Report {
 public:
  /// Throws Failure if the file of --stat cannot be opened.
  /// @param pass  what the frames are written for; not "": no files, which have no bytes and no --stat
  Report(const Options& options, size_t num_frames, const std::string& pass = "");
  ~Report();

  void add(const Written& written);       // thread of the output
  void message(const std::string& text);  // any thread; a line on its own
  /// The line at the end. Throws Failure if --stat could not be written.
  void finish(int64_t frame_rate_num, int64_t frame_rate_den);

 private:
  void clear_line();
  std::string rate_text(int64_t num, int64_t den) const;

  const std::string pass_;
  const bool quiet_, psnr_, progress_;
  const std::string stat_name_;
  const size_t num_frames_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stat_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_REPORT_H_
