// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace cj2k {

/// A view of a rectangle of samples. Row y begins at data + y * stride_samples.
template <typename T>
struct Plane {
  T* data = nullptr;
  int32_t width = 0;
  int32_t height = 0;
  ptrdiff_t stride_samples = 0;

  T* row(ptrdiff_t y) const { return data + y * stride_samples; }
  Plane sub(int32_t x, int32_t y, int32_t w, int32_t h) const {
    return {row(y) + x, w, h, stride_samples};
  }
};

}  // namespace cj2k
