// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "common.h"

namespace cj2k_python {

/// cj2k_params, set and read as text.
class Params {
 public:
  Params();
  void set(const std::string& key, const std::string& value);
  std::string get(const std::string& key) const;
  void set_icc_profile(const std::string& bytes);
  void set_jp2_boxes(const std::string& bytes);
  void set_cuda(uintptr_t context, uintptr_t stream);
  /// The parameters that point to what was set as bytes, which *this owns.
  cj2k_params with_bytes() const;

  cj2k_params raw;

 private:
  std::string icc_profile_, jp2_boxes_;
};

}  // namespace cj2k_python
