// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The error of a frame as a decoder shows it (cj2k_params::measure_mse): what was chosen of each
// code-block is reconstructed at mid-point, transformed back, rounded and clipped, and compared
// with the same made of the coefficients as they were, which are the frame's samples again.
//
// Sums over coefficients cannot say it: the bases of the 9/7 wavelet and of the colour transforms
// are not orthogonal, so errors of neighbours and of components meet (up to 12 % on photographs);
// rounding adds up to 1/12, and clipping takes away up to half on black and white.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "plan.h"
#include "stages/coded_block.h"
#include "stages/coefficients.h"

namespace cj2k {

class PictureError {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit PictureError(const Plan& plan);
  /// The memory that it takes: two copies of a tile; 0 where params.measure_mse is.
  static int64_t bytes(const Plan& plan);

  /// @param mse  [components] mean squared error of each component of the picture, LSB^2
  /// Inside the encoder's arena. Deterministic: yes. Allocates: no.
  void measure(const CoefficientPlanes& coefficients, const Selection& selection, double* mse);

 private:
  template <typename Sample>
  void measure_tile(const CoefficientPlanes& coefficients, const Selection& selection,
                    uint32_t tile, uint64_t* sums);

  const Plan& plan_;
  std::vector<size_t> tile_samples_;  ///< [component] of the largest tile; scratch comes after them
  std::vector<HostBuffer> source_, decoded_;  ///< [component] of a tile, Mallat order
};

}  // namespace cj2k
