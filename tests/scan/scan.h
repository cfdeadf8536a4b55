// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The scan: many pictures, coders and limits, and what `stop = exact` promises of each.
//
// rules.h has the rules. Errors are those that the library measures on the decoded frame; OpenJPEG
// confirms some.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scan/pictures.h"
#include "scan/rules.h"

namespace cj2k::test {

/// How much a scan codes.
struct ScanSize {
  int32_t width, height;  ///< of the pictures, at most
  int percent = 100;      ///< of the limits that each group of codings is tried with
  int limits = 60;        ///< of each kind
  int decoded_in = 100;   ///< one coding in so many is decoded by OpenJPEG, too
  uint64_t seed = 1;      ///< of pictures and limits
  std::string cblk = {};  ///< empty: chosen by the size
  Settings shared = {};   ///< of all codings
  std::vector<std::string> codings = {};  ///< that are judged; empty: all
};

/// What became of one rule for one coding.
struct Tally {
  int64_t pairs = 0, broken = 0;
  double worst = 0;   ///< dB; rule 5: percent of bytes
  std::string where;  ///< of the worst, of those that break the rule if any does
};

class Scan {
 public:
  /// @param takes_all  false: without efforts 2 and 3 that are tuned for the eye
  explicit Scan(bool takes_all = false);
  static std::vector<Comparison> all_comparisons();
  /// The environment is not read.
  explicit Scan(std::vector<Comparison> comparisons);

  /// Codes a picture under limits of one kind and judges. Environment, for who looks for a cause:
  /// CJ2K_SCAN_PICTURE, CJ2K_SCAN_KIND and CJ2K_SCAN_CODING leave out all but what they name (items
  /// separated by commas); CJ2K_SCAN_LIMITS has limits in place of those that are drawn
  /// ("5000,quality=3+max_frame_bytes=9000"), CJ2K_SCAN_CBLK the code-blocks; CJ2K_SCAN_WRITE is a
  /// folder for the pictures, CJ2K_SCAN_TSV a file to which a line is appended for each pair (CJ2K_SCAN_BROKEN=1: that breaks a rule).
  void run(const ScanPicture& picture, LimitKind kind, const ScanSize& size);
  /// All kinds of limits.
  void run_all(const ScanSize& size, const std::vector<ScanPicture>& pictures = scan_pictures());

  void print() const;
  /// Prints the table, and fails the running test for each rule that is broken.
  /// @param times  the shares that may break a rule are that many times those of small pictures
  /// @param few    pairs of a rule that may break it in any case
  /// @param judges_choices  false: codings that choose steps or coefficients by estimates are not judged
  void check(int64_t times = 1, int64_t few = 0, bool judges_choices = true) const;
  const std::map<std::pair<int, std::string>, Tally>& tallies() const { return tallies_; }

 private:
  struct Row;
  Row make_row(const ScanPicture& of, const Picture& picture, LimitKind kind,
               const ScanSize& size) const;
  /// Whether the environment variable names the item, or nothing.
  bool is_asked(const char* name, const std::string& item) const;

  void append(const std::string& line) const;
  bool is_choice(const std::string& what) const;
  const Point& point(Row& row, const std::string& coding, size_t limits);
  void judge_pair(Row& row, const Comparison& comparison, size_t limits);
  void judge_curve(Row& row, const Comparison& comparison);
  void judge_dips(Row& row, const Comparison& comparison);
  void confirm(Row& row, const std::string& coding, size_t limits, const Point& point,
               const std::vector<uint8_t>& codestream);
  void count(int rule, const Row& row, const std::string& coding, size_t limits, double loss,
             double most, const Point& point, const std::string& against, const Point& other);

  std::vector<Comparison> comparisons_;
  std::map<std::pair<int, std::string>, Tally> tallies_;
  struct Cost {
    double passes = 0, passes_of_none = 0, ms = 0, ms_of_none = 0;
  };
  std::map<std::string, Cost> costs_;  ///< by coding
  bool obeys_environment_ = false;
  int64_t codings_ = 0, decoded_ = 0;
  std::vector<std::string> wrong_measures_, errors_;
  std::string tsv_;
};

}  // namespace cj2k::test
