// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Wavelet norms and the quantisation of each subband (T.800 E.1, F.4), worked out from the lifting
// steps. For plan.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "plan.h"

namespace cj2k {

/// Squared L2 norm of the one-dimensional synthesis basis of the low (`high` = false) or high band
/// at decomposition level `level`, in the normalisation of T.800 (analysis: low-pass DC gain 1,
/// high-pass Nyquist gain 2). Low at level 0 is 1.
double synthesis_energy(bool reversible, int level, bool high);

/// L1 norm of the one-dimensional analysis filter of that band: the largest |coefficient| per
/// |sample|. The 5/3 without its rounding. Levels above kExplicitLevels give an upper bound.
double analysis_l1_norm(bool reversible, int level, bool high);

/// Largest |coefficient| that the 5/3 of a plane with |sample| <= `amplitude` can give, rounding
/// included.
double max_coefficient_53(double amplitude, int level, Orientation orientation);

/// Levels whose filters are built tap by tap (2^n * 8 of them). Beyond, the norms of the low-pass
/// cascade have converged.
inline constexpr int kExplicitLevels = 10;

/// What a subband gets from its component, level and orientation.
struct BandQuant {
  uint8_t exponent;
  uint16_t mantissa;
  uint8_t max_bit_planes;
  float step;
  double distortion_weight;
};

/// [component][levels + 1 resolutions][orientation]; `max_width`, `max_height`: of the largest
/// tile-component.
class QuantTable {
 public:
  Status build(const cj2k_params& params, bool reversible, bool use_mct, int32_t max_width,
               int32_t max_height, const Log& log);
  const BandQuant& at(int component, int resolution, Orientation orientation) const {
    return bands_[(static_cast<size_t>(component) * (levels_ + 1) + resolution) * 4 + orientation];
  }

 private:
  int levels_ = 0;
  std::vector<BandQuant> bands_;
};

}  // namespace cj2k
