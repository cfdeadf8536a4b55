// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The error of a frame as a decoder shows it (cj2k_params::measure_mse). The chosen passes of each
// code-block are reconstructed at mid-point, transformed back, rounded and clipped. The result is
// compared with the unquantised coefficients after the same steps, which are the frame's samples.
//
// A sum over coefficients does not give this error. The bases of the 9/7 wavelet and of the colour
// transforms are not orthogonal, so errors of neighbours and of components interact (up to 12 % on
// photographs). Rounding adds up to 1/12 LSB^2, and clipping removes up to half on black and white.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "coders/coded_block.h"
#include "pixels/coefficients.h"
#include "plan/plan.h"

namespace cj2k {

class PictureError {
 public:
  /// `plan` must outlive it. Throws std::bad_alloc.
  explicit PictureError(const Plan& plan);
  /// Bytes of memory that it needs: two copies of a tile; 0 if params.measure_mse is 0.
  static int64_t bytes(const Plan& plan);

  /// Call it inside Threads::run. Deterministic: yes. Allocates: no.
  /// @param mse    [components] result: mean squared error of each component of the picture, LSB^2
  /// @param again  the frame is that of the call before; another selection
  void measure(const CoefficientPlanes& coefficients, const Selection& selection, double* mse,
               bool again = false);

 private:
  template <typename Sample>
  void measure_tile(const CoefficientPlanes& coefficients, const Selection& selection,
                    uint32_t tile, bool keeps_source, uint64_t* sums);

  const Plan& plan_;
  std::vector<size_t> tile_samples_;  ///< [component] of the largest tile; scratch follows them
  std::vector<HostBuffer> source_, decoded_;  ///< [component] of a tile, Mallat order
};

}  // namespace cj2k
