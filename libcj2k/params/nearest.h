// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The known name that is nearest to a misspelled one, for messages.
#pragma once

#include <string_view>

namespace cj2k {

/// The fewest letters to insert, remove, replace or swap with a neighbour that make one name the
/// other. Case is ignored, and so are letters from the 64th on.
int name_distance(std::string_view a, std::string_view b);

class NearestName {
 public:
  explicit NearestName(std::string_view text) : text_(text) {}
  /// Offers a known name. Of equally near names the first stays.
  void offer(std::string_view name);
  /// The nearest name offered; empty if none is near. Near: a third of the letters of the longer
  /// one are wrong at most, or `text` is the beginning of the name and has three letters.
  std::string_view name() const { return name_; }

 private:
  std::string_view text_;
  std::string_view name_;
  int distance_ = 0;
};

/// "; did you mean NAME?", or "" if `name` is empty.
struct DidYouMean {
  char text[96];
  explicit DidYouMean(std::string_view name);
};

}  // namespace cj2k
