// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/ebcot/rdoq_words.h"

#include <cmath>
#include <cstring>

#include "coders/ebcot/tier1.h"
#include "core/ebcot/mq.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ebcot/rdoq_words.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Only the modelling of passes is used.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "coders/ebcot/tier1_model-inl.h"
#include "coders/overlaps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

using rdoq::Counts;
using rdoq::kMagnitude;
using rdoq::Model;
using rdoq::PassCounts;
using simd::rdoq_words::Words;
namespace maps = rdoq;

Layout layout_of(const RdoqBlock& block) {
  const Words words(block);
  Layout layout{};
  layout.words_wide = words.wide;
  layout.stripes = words.stripes;
  layout.pitch = words.wide + 1;
  layout.begin = words.at(0, 0);
  layout.end = words.at(0, words.stripes);
  return layout;
}

/// Makes the masks of all words.
void load_masks(const RdoqBlock& block, const RdoqScratch& scratch, const Model& model,
                const Layout& layout, Tier1Scratch::Impl& z) {
  const WordSamples::D d;
  const size_t bytes =
      static_cast<size_t>(layout.end + layout.pitch + kSlackWords / 2) * sizeof(uint64_t);
  for (int map = 0; map < rdoq::kRdoqMaps; ++map) std::memset(z.planes[map], 0, bytes);
  for (uint64_t* plane : {z.sign, z.valid, z.s, z.n, z.a, z.e, z.members})
    std::memset(plane, 0, bytes);
  const uint64_t last_columns =
      block.width % 16 == 0 ? ~uint64_t{0} : (uint64_t{1} << (block.width % 16 * 4)) - 1;
  const auto sign = hn::Set(d, ~kMagnitude);
  const int planes =
      HWY_MIN(block.bit_planes + 1, kMaxBitPlanes);  // a change may carry into one more
  WordSamples samples;
  for (int stripe = 0; stripe < layout.stripes; ++stripe) {
    const int rows = HWY_MIN(block.height - 4 * stripe, 4);
    const uint64_t row_mask = kRow0 * ((1u << rows) - 1);
    for (int w = 0; w < layout.words_wide; ++w) {
      const int i = layout.begin + stripe * layout.pitch + w;
      const uint64_t valid = row_mask & (w + 1 == layout.words_wide ? last_columns : ~uint64_t{0});
      z.valid[i] = valid;
      const uint32_t* src = block.samples + 4 * stripe * block.stride + 16 * w;
      const uint32_t* signs = scratch.before + 4 * stripe * block.width + 16 * w;
      samples.take(planes, [&](int x, int y) HWY_ATTR {
        if (y >= rows) return hn::Zero(d);
        const auto m = hn::AndNot(sign, hn::LoadU(d, src + y * block.stride + x));
        return hn::Or(m, hn::And(sign, hn::LoadU(d, signs + y * block.width + x)));
      });
      z.sign[i] = z.planes[maps::kSign][i] = samples.bits(31) & valid;
      // Samples with a bit at a plane or above it.
      uint64_t reached = 0;
      for (int p = planes - 1; p >= model.plane; --p) {
        const int up = p - model.plane;
        const uint64_t bits = samples.bits(p) & valid;
        reached |= bits;
        if (up < kTrackedPlanes) z.planes[maps::kOne + up][i] = bits;
        if (up <= kTrackedPlanes + 1) z.planes[maps::kReached + up][i] = reached;
      }
    }
  }
}

/// Adds up decisions of a context, and those of bit 1.
struct Tally {
  HWY_INLINE Tally() : all(hn::Zero(D64())), ones(all) {}
  HWY_INLINE void add(V64 mask, V64 bits) {
    all = hn::Add(all, hn::PopulationCount(mask));
    ones = hn::Add(ones, hn::PopulationCount(hn::And(mask, bits)));
  }
  HWY_INLINE void add_to(uint32_t* n) const {
    const auto total = [](V64 v) HWY_ATTR {
      return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(D64(), v)));
    };
    n[0] += total(all) - total(ones);
    n[1] += total(ones);
  }
  V64 all, ones;
};

/// Counts zero-coding decisions by their labels.
void count_zero(const Layout& layout, const Tier1Scratch::Impl& z, const uint64_t* members,
                const uint64_t* bits, Counts& counts) {
  constexpr int kLabels = 9;
  const D64 d;
  Tally tallies[kLabels], run;
  for (int i = layout.begin; i < layout.end; i += static_cast<int>(hn::Lanes(d))) {
    const V64 m = load(members + i);
    if (hn::AllTrue(d, hn::Eq(m, hn::Zero(d)))) continue;
    const V64 b = load(bits + i);
    V64 label[4];
    for (int k = 0; k < 4; ++k) label[k] = load(z.zero_label[k] + i);
    const V64 high = hn::And(m, label[3]), low = hn::AndNot(label[3], m);
    tallies[8].add(hn::AndNot(label[2], high), b);
    run.add(hn::And(high, label[2]), b);
    for (int c = 0; c < 8; ++c) {
      V64 mask = low;
      for (int k = 0; k < 3; ++k)
        mask = (c >> k & 1) != 0 ? hn::And(mask, label[k]) : hn::AndNot(label[k], mask);
      tallies[c].add(mask, b);
    }
  }
  for (unsigned c = 0; c < kLabels; ++c) tallies[c].add_to(counts.n[mq::kZero + c]);
  run.add_to(counts.n[mq::kRun]);
}

void count_signs(const Layout& layout, const Tier1Scratch::Impl& z, const uint64_t* members,
                 Counts& counts) {
  constexpr int kLabels = 5;
  const D64 d;
  Tally tallies[kLabels];
  for (int i = layout.begin; i < layout.end; i += static_cast<int>(hn::Lanes(d))) {
    const V64 m = load(members + i);
    if (hn::AllTrue(d, hn::Eq(m, hn::Zero(d)))) continue;
    const V64 b = load(z.sign_bit + i);
    V64 label[3];
    for (int k = 0; k < 3; ++k) label[k] = load(z.sign_label[k] + i);
    for (int c = 0; c < kLabels; ++c) {
      V64 mask = m;
      for (int k = 0; k < 3; ++k)
        mask = (c >> k & 1) != 0 ? hn::And(mask, label[k]) : hn::AndNot(label[k], mask);
      tallies[c].add(mask, b);
    }
  }
  for (unsigned c = 0; c < kLabels; ++c) tallies[c].add_to(counts.n[mq::kSign + c]);
}

void count_refinement(const Layout& layout, const Tier1Scratch::Impl& z, const uint64_t* bits,
                      Counts& counts) {
  const D64 d;
  Tally tallies[3];
  for (int i = layout.begin; i < layout.end; i += static_cast<int>(hn::Lanes(d))) {
    const V64 s = load(z.s + i);
    if (hn::AllTrue(d, hn::Eq(s, hn::Zero(d)))) continue;
    const V64 b = load(bits + i), low = load(z.zero_label[0] + i), high = load(z.zero_label[1] + i);
    tallies[0].add(hn::AndNot(high, s), b);                // 1001b
    tallies[1].add(hn::AndNot(low, hn::And(s, high)), b);  // 1010b
    tallies[2].add(hn::And(low, hn::And(s, high)), b);     // 1011b
  }
  for (unsigned c = 0; c < 3; ++c) tallies[c].add_to(counts.n[mq::kRefine + c]);
}

/// Counts the decisions of one plane.
void count_plane(const RdoqBlock& block, const Model& model, int up, const Layout& layout,
                 Tier1Scratch::Impl& z, PassCounts& counts) {
  const bool vsc = (block.style & CJ2K_STYLE_VSC) != 0;
  const uint64_t* bits = z.planes[maps::kOne + up];
  const auto words = static_cast<size_t>(layout.end - layout.begin);
  const auto copy = [&](uint64_t* to, const uint64_t* from) {
    std::memcpy(to + layout.begin, from + layout.begin, words * sizeof(uint64_t));
  };
  copy(z.s, z.planes[maps::kReached + up + 1]);
  copy(z.a, z.s);
  if (!model.is_highest(up)) {
    copy(z.refined, z.planes[maps::kReached + up + 2]);
    grow_significance(layout, vsc, bits, z);
    copy(z.planes[maps::kEarly + up], z.members);
    model_significance(layout, block.orientation, vsc, false, z);
    count_zero(layout, z, z.members, bits, counts.significance);
    count_signs(layout, z, z.n, counts.significance);
    model_refinement(layout, vsc, z);
    count_refinement(layout, z, bits, counts.refinement);
  }
  model_cleanup(layout, block.orientation, vsc, bits, z);
  count_zero(layout, z, z.zc_mask, bits, counts.cleanup);
  count_signs(layout, z, z.sc_mask, counts.cleanup);
  uint32_t breaks = 0;
  for (int i = layout.begin; i < layout.end; ++i)
    breaks += static_cast<uint32_t>(hwy::PopCount(z.run_break[i]));
  counts.cleanup.n[mq::kRun][1] += breaks;
  counts.cleanup.n[mq::kUniform][0] += 2 * breaks;
}

/// Model::changed at s = p + up as comparisons of 2 v, where v is the coefficient in Model's units.
struct Gates {
  Gates(const Model& model, int up)
      : shift(model.plane + up),
        unit_bits(kRdoqFraction + up),
        offset(model.at(2, up) == 2 << unit_bits ? 1 << unit_bits : 0),
        zero(static_cast<int32_t>(model.at(1, up))),
        one(static_cast<int32_t>(
            HWY_MIN(model.lambda * kZeroGate / zero + zero, int64_t{0x7FFFFFFF}))),
        others(static_cast<int32_t>((model.lambda * kGate) >> unit_bits)),
        tracked((1 << (model.tracked - up)) - 1) {}
  int shift, unit_bits;
  int32_t offset;   ///< of coefficients that are shown at the low end of their bin
  int32_t zero;     ///< at least: up from 0
  int32_t one;      ///< at most: 1 down
  int32_t others;   ///< at most, above q: down
  int32_t tracked;  ///< a bit of q that a change down must find set
};

template <typename D>
HWY_INLINE hn::Mask<D> passes(D d, const Gates& gates, hn::Vec<D> m, hn::Vec<D> v) {
  const auto q = hn::ShiftRightSame(m, gates.shift);
  const auto twice = hn::Add(v, v);
  const auto one = hn::Set(d, 1);
  const auto is_zero = hn::Eq(q, hn::Zero(d)), is_one = hn::Eq(q, one);
  const auto above =
      hn::Add(hn::Sub(twice, hn::ShiftLeftSame(q, gates.unit_bits + 1)), hn::Set(d, gates.offset));
  const auto others = hn::AndNot(hn::Gt(above, hn::Set(d, gates.others)), hn::Gt(q, one));
  const auto down =
      hn::And(hn::Or(others, hn::AndNot(hn::Gt(twice, hn::Set(d, gates.one)), is_one)),
              hn::Ne(hn::And(q, hn::Set(d, gates.tracked)), hn::Zero(d)));
  return hn::Or(down, hn::AndNot(hn::Gt(hn::Set(d, gates.zero), twice), is_zero));
}

}  // namespace

HWY_DLLEXPORT void RdoqLoad(const RdoqBlock& block, RdoqScratch& scratch) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::RebindToUnsigned<decltype(df)> du;
  const int lanes = static_cast<int>(hn::Lanes(df));
  const auto most = hn::Set(df, kMostUnits * (1 << kRdoqFraction));
  const auto scale = hn::Set(df, std::ldexp(1.0f, kRdoqFraction - block.plane));
  const auto inverse_step = hn::Set(df, block.inverse_step);
  const auto magnitude = hn::Set(du, kMagnitude);
  float last[16] = {};
  for (int y = 0; y < block.height; ++y) {
    const uint32_t* row = block.samples + y * block.stride;
    for (int x = 0; x < block.width; x += lanes) {
      auto before = hn::LoadU(du, row + x);
      const auto m = hn::And(before, magnitude);
      auto q = hn::ConvertTo(df, hn::BitCast(di, m));
      if (block.coefficients != nullptr) {
        const float* from = block.coefficients + y * block.coefficient_stride + x;
        if (block.width - x < lanes) {
          std::memcpy(last, from, static_cast<size_t>(block.width - x) * sizeof(float));
          from = last;
        }
        const auto c = hn::LoadU(df, from);
        before = hn::Or(m, hn::AndNot(magnitude, hn::BitCast(du, c)));
        q = hn::Mul(hn::Abs(c), inverse_step);
      }
      // What is written after a row is the next row's.
      const int i = y * block.width + x;
      hn::StoreU(before, du, scratch.before + i);
      hn::StoreU(hn::ConvertTo(di, hn::Min(hn::Mul(q, scale), most)), di, scratch.value + i);
    }
  }
}

HWY_DLLEXPORT void RdoqSetTargets(const RdoqBlock& block, const Model& model,
                                  RdoqScratch& scratch) {
  const hn::CappedTag<int32_t, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int lanes = static_cast<int>(hn::Lanes(d)), pitch = block.width + 4;
  const int coarser = model.has_refinement(0) ? 0 : 1;
  const auto half_at = [&](int up) HWY_ATTR {
    return hn::Set(d, static_cast<int32_t>(model.at(1, up)) - (1 << (up + kRdoqFraction)));
  };
  const auto half = half_at(0), coarse_half = half_at(coarser);
  const auto sign_of = [&](int i) HWY_ATTR {
    return hn::ShiftRight<31>(hn::BitCast(d, hn::LoadU(du, scratch.before + i)));
  };
  for (int y = 0; y < block.height; ++y) {
    const auto* samples = reinterpret_cast<const int32_t*>(block.samples + y * block.stride);
    int16_t* errors = simd::rdoq_words::errors_of(block, scratch, y);
    errors[-2] = errors[-1] = 0;
    for (int x = 0; x < block.width; x += lanes) {
      const int i = y * block.width + x;
      const auto m = hn::And(hn::LoadU(d, samples + x), hn::Set(d, int32_t{kMagnitude}));
      const auto q = hn::ShiftRightSame(m, model.plane);
      const auto is_coarse = hn::Gt(q, hn::Set(d, 1));
      const auto coarse = hn::ShiftLeftSame(hn::ShiftRightSame(q, coarser), coarser);
      // Of a coefficient below kMostValue this does not overflow.
      const auto low = hn::ShiftLeft<kRdoqFraction>(hn::IfThenElse(is_coarse, coarse, q));
      const auto shown = hn::Add(low, hn::IfThenElse(is_coarse, coarse_half, half));
      overlaps::store_errors(d, hn::LoadU(d, scratch.value + i),
                             hn::IfThenZeroElse(hn::Eq(q, hn::Zero(d)), shown), sign_of(i),
                             errors + x);
    }
    errors[block.width] = errors[block.width + 1] = 0;
  }
  for (int y = 0; y < block.height; ++y) {
    const int16_t* errors = simd::rdoq_words::errors_of(block, scratch, y);
    for (int x = 0; x < block.width; x += lanes) {
      const int i = y * block.width + x;
      const auto value = hn::LoadU(d, scratch.value + i);
      hn::StoreU(overlaps::targets(d, block.overlaps, value, sign_of(i), errors + x, pitch, y,
                                   block.height),
                 d, scratch.target + i);
    }
  }
}

HWY_DLLEXPORT void RdoqFindCandidates(const RdoqBlock& block, const Model& model,
                                      RdoqScratch& scratch) {
  const hn::CappedTag<int32_t, 16> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const Gates low(model, 0), high(model, model.num_shifts() - 1);
  const auto most = hn::Set(d, static_cast<int32_t>(kMostUnits * (1 << kRdoqFraction)));
  const auto least = hn::Set(d, kLeastValue), magnitude = hn::Set(d, int32_t{kMagnitude});
  uint64_t* to = scratch.candidates;
  for (int y = 0; y < block.height; ++y) {
    const auto* samples = reinterpret_cast<const int32_t*>(block.samples + y * block.stride);
    const int32_t* values = scratch.target + y * block.width;
    for (int begin = 0; begin < block.width; begin += 64) {
      const int left = HWY_MIN(block.width - begin, 64);
      uint64_t found = 0;
      for (int x = 0; x < left; x += lanes) {
        const auto v = hn::LoadU(d, values + begin + x);
        const auto m = hn::And(hn::LoadU(d, samples + begin + x), magnitude);
        auto mask = passes(d, low, m, v);
        if (model.num_shifts() > 1) mask = hn::Or(mask, passes(d, high, m, v));
        mask = hn::And(mask, hn::AndNot(hn::Gt(least, v), hn::Lt(v, most)));
        uint8_t packed[8] = {};
        hn::StoreMaskBits(d, mask, packed);
        uint64_t group;
        std::memcpy(&group, packed, sizeof group);
        found |= group << x;
      }
      *to++ = found & ~uint64_t{0} >> (64 - left);
    }
  }
}

HWY_DLLEXPORT void RdoqCount(const RdoqBlock& block, const Model& model, RdoqScratch& scratch,
                             PassCounts* counts) {
  Tier1Scratch::Impl& z = scratch.tier1.impl();
  const Layout layout = layout_of(block);
  load_masks(block, scratch, model, layout, z);
  for (int up = model.tracked - 1; up >= 0; --up)
    count_plane(block, model, up, layout, z, counts[up]);
}

HWY_DLLEXPORT int64_t RdoqTarget() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();
#pragma GCC diagnostic pop

#if HWY_ONCE
namespace cj2k {
HWY_EXPORT(RdoqCount);
HWY_EXPORT(RdoqFindCandidates);
HWY_EXPORT(RdoqLoad);
HWY_EXPORT(RdoqSetTargets);
HWY_EXPORT(RdoqTarget);

namespace simd {
int64_t rdoq_target() { return HWY_DYNAMIC_DISPATCH(RdoqTarget)(); }

namespace rdoq_words {

const uint64_t* mask_of(RdoqScratch& scratch, int map) { return scratch.tier1.impl().planes[map]; }

void count(const RdoqBlock& block, const rdoq::Model& model, RdoqScratch& scratch,
           rdoq::PassCounts counts[kTrackedPlanes]) {
  HWY_DYNAMIC_DISPATCH(RdoqCount)(block, model, scratch, counts);
}

void load(const RdoqBlock& block, RdoqScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(RdoqLoad)(block, scratch);
}

void set_targets(const RdoqBlock& block, const rdoq::Model& model, RdoqScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(RdoqSetTargets)(block, model, scratch);
}

void find_candidates(const RdoqBlock& block, const rdoq::Model& model, RdoqScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(RdoqFindCandidates)(block, model, scratch);
}

}  // namespace rdoq_words
}  // namespace simd
}  // namespace cj2k
#endif  // HWY_ONCE
