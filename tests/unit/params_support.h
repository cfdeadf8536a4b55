// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Shared by the tests of the parameters.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "params/params.h"

namespace cj2k::test {

struct Messages {
  std::vector<std::string> lines;
  Log log{[](void* opaque, cj2k_log_level, const char* message) {
            static_cast<Messages*>(opaque)->lines.push_back(message);
          },
          this};
  std::string last() const { return lines.empty() ? std::string() : lines.back(); }
};

// A legal set: 32x24, 3 components, 8 bits.
inline cj2k_params valid() {
  cj2k_params p;
  set_default_params(&p);
  p.width = 32;
  p.height = 24;
  return p;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Status set(cj2k_params* p, const std::string& key, const std::string& value,
                  Messages* m = nullptr) {
  Messages own;
  return set_param(p, key.c_str(), value.c_str(), (m ? m : &own)->log);
}

// The one line that reports the failure; "" if the parameters are legal.
inline std::string resolve_error(const cj2k_params& p, Status expected = Status::kInvalid) {
  Messages m;
  cj2k_params r;
  const Status status = resolve_params(p, m.log, &r);
  if (status == Status::kOk) {
    CHECK(m.lines.empty());
    return "";
  }
  CHECK(status == expected);
  CHECK(m.lines.size() == 1);
  return m.last();
}

inline cj2k_params resolved(const cj2k_params& p) {
  Messages m;
  cj2k_params r;
  const Status status = resolve_params(p, m.log, &r);
  INFO(m.last());
  REQUIRE(status == Status::kOk);
  return r;
}

}  // namespace cj2k::test
