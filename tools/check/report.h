// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What cj2k-check found in a file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cj2k_check {

enum class Severity { kError, kWarning };

struct Finding {
  Severity severity = Severity::kError;
  std::string rule;     ///< short name, "cod-levels"
  std::string clause;   ///< where the rule stands, "T.800 A.6.1"
  std::string found;    ///< the value in the file
  std::string allowed;  ///< what the rule allows
  uint64_t frame = 0;
  uint64_t offset = 0;  ///< in the file
};

/// Collects findings. Of each rule the first `kMostPerRule` are kept, and all are counted, so that
/// memory is bounded for any number of frames.
class Report {
 public:
  static constexpr uint64_t kMostPerRule = 10;

  /// The offsets of further findings are relative to `offset` in the file.
  void set_frame(uint64_t frame, uint64_t offset) {
    frame_ = frame;
    base_ = offset;
  }
  void error(const char* rule, const std::string& clause, uint64_t offset, const std::string& found,
             const std::string& allowed) {
    add(Severity::kError, rule, clause, offset, found, allowed);
  }
  void warning(const char* rule, const std::string& clause, uint64_t offset,
               const std::string& found, const std::string& allowed) {
    add(Severity::kWarning, rule, clause, offset, found, allowed);
  }

  const std::vector<Finding>& findings() const { return findings_; }
  /// How often each rule was broken, also beyond the findings that are kept.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }
  uint64_t errors() const { return errors_; }
  uint64_t warnings() const { return warnings_; }
  bool has(const std::string& rule) const { return counts_.count(rule) > 0; }

 private:
  void add(Severity severity, const char* rule, const std::string& clause, uint64_t offset,
           const std::string& found, const std::string& allowed);

  std::vector<Finding> findings_;
  std::map<std::string, uint64_t> counts_;
  uint64_t errors_ = 0, warnings_ = 0, frame_ = 0, base_ = 0;
};

/// "0x0003"
std::string hex(uint64_t value, int digits = 4);
/// The name of a marker: "COD (0xFF52)".
std::string marker_name(uint16_t code);

}  // namespace cj2k_check
