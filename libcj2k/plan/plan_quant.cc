// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "plan/plan_quant.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "params/profiles.h"
#include "plan/plan_tune.h"
#include "plan/plan_visual.h"

namespace cj2k {
namespace {

/// A filter: taps[i] is the tap at position i - origin.
struct Filter {
  std::vector<double> taps;
  int origin;
};

/// Lifting steps in the order of the analysis (T.800 F.4.8). The first step changes the odd
/// samples, the next one the even samples, and so on.
struct Lifting {
  std::array<double, 4> steps;
  int num_steps;
  double low_scale, high_scale;
};

// Table F.4.
constexpr double kAlpha = -1.586134342059924, kBeta = -0.052980118572961;
constexpr double kGamma = 0.882911075530934, kDelta = 0.443506852043971, kK = 1.230174104914001;

constexpr Lifting kLifting53{{-0.5, 0.25}, 2, 1.0, 1.0};
constexpr Lifting kLifting97{{kAlpha, kBeta, kGamma, kDelta}, 4, 1 / kK, kK};

/// A signal that is so long that an impulse in its middle does not reach the ends in 4 steps.
/// kMiddle is even, so it is a low-pass position.
constexpr int kLength = 32, kMiddle = 16;
using Signal = std::array<double, kLength>;

/// Adds factor * (sum of both neighbours) to each sample at a position of this parity.
void lift(Signal& x, int parity, double factor) {
  for (int i = 2 - parity; i < kLength - 1; i += 2) x[i] += factor * (x[i - 1] + x[i + 1]);
}

void analyse(const Lifting& lifting, Signal& x) {
  for (int s = 0; s < lifting.num_steps; ++s) lift(x, 1 - s % 2, lifting.steps[s]);
  for (int i = 0; i < kLength; ++i) x[i] *= i % 2 ? lifting.high_scale : lifting.low_scale;
}

void synthesise(const Lifting& lifting, Signal& x) {
  for (int i = 0; i < kLength; ++i) x[i] /= i % 2 ? lifting.high_scale : lifting.low_scale;
  for (int s = lifting.num_steps - 1; s >= 0; --s) lift(x, 1 - s % 2, -lifting.steps[s]);
}

Filter trimmed(const Signal& x, int origin) {
  int first = 0, last = kLength - 1;
  while (x[first] == 0) ++first;
  while (x[last] == 0) --last;
  return {std::vector<double>(x.begin() + first, x.begin() + last + 1), origin - first};
}

Filter synthesis_filter(const Lifting& lifting, bool high) {
  Signal x{};
  x[kMiddle + high] = 1;
  synthesise(lifting, x);
  return trimmed(x, kMiddle + high);
}

/// The analysis filter. Its tap at a position is the coefficient in the middle of the signal for an
/// impulse at that position.
Filter analysis_filter(const Lifting& lifting, bool high) {
  Signal taps{};
  for (int i = 4; i < kLength - 4; ++i) {
    Signal x{};
    x[i] = 1;
    analyse(lifting, x);
    taps[i] = x[kMiddle + high];
  }
  return trimmed(taps, kMiddle + high);
}

const Lifting& lifting_of(bool reversible) { return reversible ? kLifting53 : kLifting97; }

Filter autocorrelation(const Filter& f) {
  const int n = static_cast<int>(f.taps.size());
  Filter r{std::vector<double>(2 * n - 1), n - 1};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) r.taps[i - j + n - 1] += f.taps[i] * f.taps[j];
  }
  return r;
}

Filter convolution(const Filter& a, const Filter& b) {
  Filter c{std::vector<double>(a.taps.size() + b.taps.size() - 1), a.origin + b.origin};
  for (size_t i = 0; i < a.taps.size(); ++i) {
    for (size_t j = 0; j < b.taps.size(); ++j) c.taps[i + j] += a.taps[i] * b.taps[j];
  }
  return c;
}

/// The taps at even positions.
Filter downsampled(const Filter& f) {
  Filter d{{}, f.origin / 2};
  for (size_t i = f.origin % 2; i < f.taps.size(); i += 2) d.taps.push_back(f.taps[i]);
  return d;
}

double l1_norm(const std::vector<double>& taps) {
  double sum = 0;
  for (const double tap : taps) sum += std::fabs(tap);
  return sum;
}

/// The convolution of `cascade` and `filter`, whose taps are `spacing` apart here. Positions are
/// left out, since they do not matter for a norm.
std::vector<double> cascaded(const std::vector<double>& cascade, const Filter& filter,
                             int spacing) {
  std::vector<double> out(cascade.size() + (filter.taps.size() - 1) * spacing);
  for (size_t j = 0; j < filter.taps.size(); ++j) {
    double* at = out.data() + j * spacing;
    for (size_t i = 0; i < cascade.size(); ++i) at[i] += cascade[i] * filter.taps[j];
  }
  return out;
}

/// The norms of levels 0 .. 32, computed once per process; index [high][level].
struct Norms {
  double energy[2][33];
  /// Inner product of the basis and the one that is distance + 1 coefficients away, over the energy.
  double overlap[2][33][2];
  double l1[2][33];
};

/// The squared norm of the basis at level n is the integral of
///   |g(w)|^2 |g(2w)|^2 .. |f(2^(n-1) w)|^2
/// where g is the low-pass synthesis filter, and f is g or the high-pass one. It is the value at
/// lag 0 of an autocorrelation. The factors are applied one by one: multiply by a factor, which is
/// a convolution of autocorrelations, then keep the even lags, which halves the frequency. So the
/// sequences stay short. The other lags are the overlaps.
void fill_energies(const Lifting& lifting, Norms* norms) {
  const Filter low = autocorrelation(synthesis_filter(lifting, false));
  const Filter high = autocorrelation(synthesis_filter(lifting, true));
  Filter lags{{1.0}, 0};
  norms->energy[0][0] = norms->energy[1][0] = 1;
  norms->overlap[0][0][0] = norms->overlap[0][0][1] = 0;  // of LL without decomposition
  norms->overlap[1][0][0] = norms->overlap[1][0][1] = 0;
  for (int n = 1; n <= 32; ++n) {
    const Filter with_high = convolution(lags, high);
    lags = convolution(lags, low);
    norms->energy[0][n] = lags.taps[lags.origin];
    norms->energy[1][n] = with_high.taps[with_high.origin];
    for (int high_band = 0; high_band < 2; ++high_band) {
      const Filter& of = high_band != 0 ? with_high : lags;
      for (size_t d = 1; d <= 2; ++d) {
        const size_t lag = of.origin + 2 * d;
        norms->overlap[high_band][n][d - 1] =
            lag < of.taps.size() ? of.taps[lag] / norms->energy[high_band][n] : 0;
      }
    }
    lags = downsampled(lags);
  }
}

void fill_l1_norms(const Lifting& lifting, Norms* norms) {
  // From level 10 to level 16 the norms rise by less than 0.06 % (5/3) or fall (9/7). The slack is
  // more than twenty times that.
  constexpr double kSlack = 1.0 + 1.0 / 64;
  const Filter low = analysis_filter(lifting, false);
  const Filter high = analysis_filter(lifting, true);
  std::vector<double> cascade{1.0};
  norms->l1[0][0] = norms->l1[1][0] = 1;
  for (int n = 1; n <= kExplicitLevels; ++n) {
    norms->l1[1][n] = l1_norm(cascaded(cascade, high, 1 << (n - 1)));
    cascade = cascaded(cascade, low, 1 << (n - 1));
    norms->l1[0][n] = l1_norm(cascade);
  }
  for (int high_band = 0; high_band < 2; ++high_band) {
    double* l1 = norms->l1[high_band];
    for (int n = kExplicitLevels + 1; n <= 32; ++n) l1[n] = l1[kExplicitLevels] * kSlack;
  }
}

const Norms& norms_of(bool reversible) {
  static const std::array<Norms, 2> norms = [] {
    std::array<Norms, 2> all;
    for (const bool is_53 : {false, true}) {
      fill_energies(lifting_of(is_53), &all[is_53]);
      fill_l1_norms(lifting_of(is_53), &all[is_53]);
    }
    return all;
  }();
  return norms[reversible];
}

bool high_x(Orientation o) { return o == kHL || o == kHH; }
bool high_y(Orientation o) { return o == kLH || o == kHH; }

/// log2 of the nominal gain of a subband, T.800 Table E.1.
int gain_log2(Orientation o) { return high_x(o) + high_y(o); }

int ceil_log2(int32_t value) {
  return std::bit_width(static_cast<uint32_t>(std::max(value, 1)) - 1);
}

/// Energy of a band's synthesis basis along one axis, on which tile-components have up to `size`
/// samples. When 2^n >= size, one sample is left, which passes unchanged (F.4.8). So the basis does
/// not grow at higher levels.
double axis_energy(bool reversible, int level, bool high, int32_t size) {
  const int most = ceil_log2(size);
  return synthesis_energy(reversible, std::min(level, high ? std::max(most, 1) : most), high);
}

int bits_of(double magnitude) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(magnitude)));
}

const char* band_name(Orientation o) {
  constexpr const char* kNames[] = {"LL", "HL", "LH", "HH"};
  return kNames[o];
}

/// A step in the form of T.800 (E-3), for a band of dynamic range R_b:
///   step = 2^(R_b - exponent) * (1 + mantissa / 2^11)
struct CodedStep {
  int exponent;
  int mantissa;
};

CodedStep code_step(double step, int range) {
  int power;
  const double fraction = 2 * std::frexp(step, &power);  // in [1, 2)
  int floor_log2 = power - 1;
  int mantissa = static_cast<int>(std::floor((fraction - 1) * 2048 + 0.5));
  if (mantissa == 2048) {
    mantissa = 0;
    ++floor_log2;
  }
  return {range - floor_log2, mantissa};
}

/// Bit-planes beyond those of the largest magnitude. T.814 7.3.7 lets the bound U of a quad have one
/// bit more than M_b bit-planes give; FFmpeg up to 9.0 refuses the block then.
int ht_headroom(const cj2k_params& p, int bits, int bound) {
  return p.coder == CJ2K_CODER_HT && (bound == 0 || bits < bound) ? 1 : 0;
}

/// The largest |coefficient| on a plane with |sample| <= `amplitude`. The rows of the ICT have an L1
/// norm of at most 1 (G.3.1), so the amplitude is the same with and without ICT. One guard bit is enough
/// for any picture: norm / 2^gain is below 1.93 at every level.
double max_coefficient_97(double amplitude, int level, Orientation orientation) {
  return amplitude * analysis_l1_norm(false, level, high_x(orientation)) *
         analysis_l1_norm(false, level, high_y(orientation));
}

/// The least power of two of which no more than 2^15 - 1 are needed.
float least_unit(double largest) {
  int exponent;
  std::frexp(largest / 32767, &exponent);
  return std::ldexp(1.0f, exponent);
}

}  // namespace

double synthesis_energy(bool reversible, int level, bool high) {
  return norms_of(reversible).energy[high][level];
}

// inverse RCT, without its floor (G.2.2): G = Y - (Cb + Cr) / 4, R = Cr + G, B = Cb + G
// inverse ICT: G.3.2
Overlaps overlaps_of(bool reversible, int level, Orientation orientation) {
  /// The part that RDOQ aims at. All of it gains less: bands overlap too, which RDOQ does not see.
  constexpr double kOverlapPart = 0.75;
  const Norms& norms = norms_of(reversible);
  Overlaps overlaps{};
  for (int d = 0; d < 2; ++d) {
    const auto of = [&](bool high) {
      return static_cast<int8_t>(std::lround(256 * kOverlapPart * norms.overlap[high][level][d]));
    };
    overlaps.x[d] = of(high_x(orientation));
    overlaps.y[d] = of(high_y(orientation));
  }
  return overlaps;
}

double colour_energy(bool reversible, int component) {
  constexpr double kRctChroma = (1.0 + 1.0 + 9.0) / 16;
  constexpr double kIctCb = 0.344136 * 0.344136 + 1.772 * 1.772;
  constexpr double kIctCr = 1.402 * 1.402 + 0.714136 * 0.714136;
  if (component == 0) return 3.0;
  if (component > 2) return 1.0;
  if (reversible) return kRctChroma;
  return component == 1 ? kIctCb : kIctCr;
}

double analysis_l1_norm(bool reversible, int level, bool high) {
  return norms_of(reversible).l1[high][level];
}

double max_coefficient_53(double amplitude, int level, Orientation orientation) {
  const bool hx = high_x(orientation), hy = high_y(orientation);
  const auto norm = [](int n, bool high) { return analysis_l1_norm(true, n, high); };
  double bound = amplitude * norm(level, hx) * norm(level, hy);
  if (level == 0) return bound;
  // The floors of F.4.8.1 add an error in each direction of each level: to a high-pass sample 1/2;
  // to a low-pass sample 1/2, and a quarter of the 1/2 of each of its two high-pass neighbours. The
  // vertical transform comes first, so horizontal filtering spreads its error and adds its own. The
  // errors of level k pass through the n - k levels after it.
  const auto rounding = [](bool high) { return high ? 0.5 : 0.75; };
  bound += rounding(hy) * norm(1, hx) + rounding(hx);
  const double low = rounding(false) * norm(1, false) + rounding(false);
  for (int n = 1; n < level; ++n) bound += low * norm(n, hx) * norm(n, hy);
  return bound;
}

// 9/7: the step of a band is the base step divided by the norm of the band's synthesis basis. Then
// an error of one step in any band costs the same in the picture. Steps are in LSB of the deepest
// component. A component of fewer bits has an R_b that is smaller by the same number of bits, so
// its exponent and mantissa are the same, and one QCD serves all components.
//
// Where the profile bounds the magnitudes of HT blocks by 2^B, the 5/3 must have at most B bit-planes.
// With the 9/7 the planes of each block are chosen within B (coders/ht/ht_points.cc).
//
// 5/3: the exponent of a band is R_b (E-4), and more if the guard bits are too few for the worst
// picture. All components of equal depth have the same exponents, although only the chroma of the
// RCT may need the larger ones. So QCC is written only for components of another depth.
// With HT blocks the worst picture leaves the highest of them unused, as far as the profile lets it.
Status QuantTable::build(const cj2k_params& p, bool reversible, bool use_mct, int32_t max_width,
                         int32_t max_height, const Log& log) {
  levels_ = p.levels;
  bands_.assign(static_cast<size_t>(p.num_components) * (levels_ + 1) * 4, BandQuant{});
  const int max_depth = *std::max_element(p.depth, p.depth + p.num_components);
  const int bound = magnitude_bound_of(p);
  for (int c = 0; c < p.num_components; ++c) {
    // RCT differences have one bit more. The components of the RCT have equal depth, and all
    // components of that depth get the same exponents.
    const bool doubled = reversible && use_mct && p.depth[c] == p.depth[0];
    const double amplitude = std::ldexp(1.0, p.depth[c] - 1 + doubled);
    const double colour = use_mct ? colour_energy(reversible, c) : 1.0;
    const double depth_scale = std::ldexp(1.0, 2 * (max_depth - p.depth[c]));
    for (int r = 0; r <= levels_; ++r) {
      const int level = r == 0 ? levels_ : levels_ - r + 1;
      for (int o = r == 0 ? kLL : kHL; o <= (r == 0 ? kLL : kHH); ++o) {
        const auto orientation = static_cast<Orientation>(o);
        const bool hx = high_x(orientation), hy = high_y(orientation);
        const double energy = axis_energy(reversible, level, hx, max_width) *
                              axis_energy(reversible, level, hy, max_height);
        const int gain = gain_log2(orientation);
        const int range = p.depth[c] + gain;
        CodedStep coded{range, 0};
        double step = 1;
        int bits = 0;
        if (reversible) {
          bits = bits_of(max_coefficient_53(amplitude, level, orientation));
          coded.exponent = std::max(range, bits + ht_headroom(p, bits, bound) - p.guard_bits + 1);
        } else {
          coded = code_step(band_step(p, use_mct, c, level, orientation) / std::sqrt(energy),
                            max_depth + gain);
          // A step beyond the range of the band leaves nothing but zeros.
          if (p.qfactor > 0 && coded.exponent < 0) coded = {0, 2047};
          step = std::ldexp(1.0 + coded.mantissa / 2048.0, range - coded.exponent);
        }
        const int max_bit_planes = p.guard_bits + coded.exponent - 1;
        const int most_bit_planes = reversible && bound > 0    ? bound
                                    : p.coder == CJ2K_CODER_HT ? kMaxHtBitPlanes
                                                               : 31;
        if (coded.exponent < 0 || coded.exponent > 31 || max_bit_planes > most_bit_planes) {
          return log.fail(Status::kNotSupported,
                          "quant_step %.6g (wavelet %s, depth[%d] %d, levels %d, guard_bits %d): "
                          "subband %s of level %d has exponent %d not in [0, 31] or %d bit-planes "
                          "not in [0, %d]",
                          p.quant_step, reversible ? "5/3" : "9/7", c, p.depth[c], p.levels,
                          p.guard_bits, band_name(orientation), level, coded.exponent,
                          max_bit_planes, most_bit_planes);
        }
        const double most = max_coefficient_97(amplitude, level, orientation);
        const double largest = most / step;
        if (!reversible && largest >= std::ldexp(1.0, max_bit_planes)) {
          return log.fail(Status::kNotSupported,
                          "quant_step %.6g (depth[%d] %d, guard_bits %d): subband %s of level %d "
                          "has magnitudes up to %.0f, more than %d bit-planes hold",
                          p.quant_step, c, p.depth[c], p.guard_bits, band_name(orientation), level,
                          largest, max_bit_planes);
        }
        if (!reversible) bits = bits_of(largest);
        const double visual = tune_weight(p, use_mct, c, level, orientation);
        bands_[(static_cast<size_t>(c) * (levels_ + 1) + r) * 4 + o] = {
            static_cast<uint8_t>(coded.exponent),
            static_cast<uint16_t>(coded.mantissa),
            static_cast<uint8_t>(max_bit_planes),
            static_cast<uint8_t>(bits),
            static_cast<float>(step),
            least_unit(most),
            step * step * energy * colour * depth_scale * visual,
            visual};
      }
    }
  }
  return Status::kOk;
}

}  // namespace cj2k
