// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Wavelet norms and the quantisation of each subband (T.800 E.1, F.4), computed from the lifting
// steps. Used by plan.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "core/orientation.h"
#include "core/overlaps.h"
#include "plan/plan.h"

namespace cj2k {

/// Squared L2 norm of the one-dimensional synthesis basis of the low or high band at decomposition
/// level `level`, 0 .. 32, in the normalisation of T.800 (analysis: low-pass DC gain 1, high-pass
/// Nyquist gain 2). At level 0 it is 1.
double synthesis_energy(bool reversible, int level, bool high);

/// The overlaps that RDOQ counts with, of a subband at level 0 .. 32.
Overlaps overlaps_of(bool reversible, int level, Orientation orientation);

/// Squared error of R, G and B together per squared error of one component after the RCT (reversible)
/// or the ICT; 1 for a component that these do not change.
double colour_energy(bool reversible, int component);

/// L1 norm of the one-dimensional analysis filter of that band: the largest |coefficient| per
/// |sample|, for the 5/3 without its rounding. Above level kExplicitLevels it is an upper bound.
double analysis_l1_norm(bool reversible, int level, bool high);

/// Largest |coefficient| of the 5/3 on a plane with |sample| <= `amplitude`, rounding included.
double max_coefficient_53(double amplitude, int level, Orientation orientation);

/// Most M_b with coder = ht: of 30, decoders of today show some samples wrong (FFmpeg 7.1), of 31
/// most of them.
inline constexpr int kMaxHtBitPlanes = 29;

/// Levels whose filters are computed tap by tap (about 8 * 2^n taps at level n). At higher levels
/// the norms of the low-pass cascade have converged.
inline constexpr int kExplicitLevels = 10;

/// The quantisation of a subband, which depends on its component, level and orientation. The
/// members are those of Subband (plan.h); `unit` is the least that 16 bits allow, used or not.
struct BandQuant {
  uint8_t exponent;
  uint16_t mantissa;
  uint8_t max_bit_planes;
  uint8_t magnitude_bits;
  float step;
  float unit;
  double distortion_weight;
  double visual_weight;
};

/// The table of all BandQuants.
class QuantTable {
 public:
  /// @param max_width, max_height  of the largest tile-component
  /// @return kOk | kNotSupported: an exponent or a number of bit-planes is out of range
  Status build(const cj2k_params& params, bool reversible, bool use_mct, int32_t max_width,
               int32_t max_height, const Log& log);
  const BandQuant& at(int component, int resolution, Orientation orientation) const {
    return bands_[(static_cast<size_t>(component) * (levels_ + 1) + resolution) * 4 + orientation];
  }

 private:
  int levels_ = 0;
  std::vector<BandQuant> bands_;  ///< [component][levels + 1 resolutions][orientation]
};

}  // namespace cj2k
