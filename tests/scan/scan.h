// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan: many pictures, coders and limits, and what `stop = exact` promises of each.
//
// A rule is broken by a pair of codings of one picture under the same limits, or by two neighbours
// on a curve of rising caps:
//
//   1  exact against none, efforts 0 and 1:                     at most 0.01 dB
//   2  exact against none, HT and efforts 2 and 3:              at most 0.02 dB with the same step
//      set, 0.1 dB with steps to choose
//   3  efforts 2 and 3 against effort 1:                        at most 0.02 dB
//   4  the picture does not become worse as its cap grows:      at most 0.05 dB
//   5  no cap is broken, and constant quality takes at most 0.3 % more bytes than with none
//
// Errors are those that the library measures on the decoded frame, which OpenJPEG confirms for some.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scan/coding.h"
#include "scan/pictures.h"

namespace cj2k::test {

inline constexpr int kNumRules = 5;

/// How much of everything a scan codes.
struct ScanSize {
  int32_t width, height;
  int limits = 60;       ///< of each kind
  int percent = 100;     ///< of the limits that each group of codings is tried with
  int decoded_in = 100;  ///< one coding in so many is decoded by OpenJPEG, too
};

/// What became of one rule for one coding.
struct Tally {
  int64_t pairs = 0, broken = 0;
  double worst = 0;   ///< dB; rule 5: percent of bytes
  std::string where;  ///< of the worst, broken or not
};

class Scan {
 public:
  Scan();

  /// Codes a picture under limits of one kind and judges. Environment (for one who looks for a
  /// cause): CJ2K_SCAN_PICTURE, CJ2K_SCAN_KIND, CJ2K_SCAN_CODING (comma-separated names; others are
  /// left out), CJ2K_SCAN_BYTES (comma-separated, in place of the drawn limits), CJ2K_SCAN_WRITE (a
  /// folder for the pictures), CJ2K_SCAN_TSV (a file that gets a line for each pair).
  void run(const ScanPicture& picture, LimitKind kind, const ScanSize& size);

  /// Prints the table.
  void print() const;
  const std::map<std::pair<int, std::string>, Tally>& tallies() const { return tallies_; }
  int64_t decoded() const { return decoded_; }
  const std::vector<std::string>& wrong_measures() const { return wrong_measures_; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  struct Row;
  const Point& point(Row& row, const std::string& coding, size_t limits);
  void judge_pair(Row& row, const struct Comparison& comparison, size_t limits);
  void judge_curves(Row& row, const std::string& coding);
  void judge_caps(Row& row, const std::string& coding, size_t limits, const Point& point);
  void confirm(Row& row, const std::string& coding, size_t limits, const Point& point,
               const std::vector<uint8_t>& codestream);
  void count(int rule, const Row& row, const std::string& coding, size_t limits, double loss,
             double most, const Point& point, const std::string& against, const Point& other);

  std::map<std::pair<int, std::string>, Tally> tallies_;
  std::map<std::string, std::pair<double, double>> passes_;  ///< by coding: its own, those of none
  int64_t codings_ = 0, decoded_ = 0;
  std::vector<std::string> wrong_measures_, errors_;
  std::string tsv_;
};

}  // namespace cj2k::test
