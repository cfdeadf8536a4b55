// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// core/overlaps.h for vectors of samples of a row. Included once per instruction set (Highway's
// foreach_target.h).
#if defined(CJ2K_OVERLAPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CJ2K_OVERLAPS_INL
#undef CJ2K_OVERLAPS_INL
#else
#define CJ2K_OVERLAPS_INL
#endif

#include <hwy/highway.h>

#include "core/overlaps.h"

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace overlaps {

namespace hn = hwy::HWY_NAMESPACE;

/// x, or -x where `sign` is -1 (else 0).
template <class VI>
HWY_INLINE VI with_sign(VI x, VI sign) {
  return hn::Sub(hn::Xor(x, sign), sign);
}

/// signed_error. @param to  as many errors as there are lanes are written
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE void store_errors(DI d, VI value, VI shown, VI sign, int16_t* to) {
  const auto error =
      hn::Max(hn::Min(hn::Sub(value, shown), hn::Set(d, kMostError)), hn::Set(d, -kMostError));
  const auto known = hn::IfThenElseZero(hn::Lt(value, hn::Set(d, kMostValue)), error);
  const hn::Rebind<int16_t, DI> d16;
  hn::StoreU(hn::DemoteTo(d16, with_sign(known, sign)), d16, to);
}

/// target_of.
/// @param errors  of the same samples; two zeros stand on both sides of a row
/// @param pitch   from a row of errors to the next one
/// @param y       row of the samples, of `height`
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI targets(DI d, const Overlaps& of, VI value, VI sign, const int16_t* errors, int pitch,
                      int y, int height) {
  const hn::Rebind<int16_t, DI> d16;
  auto sum = hn::Zero(d);
  const auto add = [&](int8_t factor, int offset) HWY_ATTR {
    const auto error = hn::PromoteTo(d, hn::LoadU(d16, errors + offset));
    sum = hn::Add(sum, hn::Mul(hn::Set(d, int32_t{factor}), error));
  };
  for (int i = 1; i <= 2; ++i) {
    add(of.x[i - 1], -i);
    add(of.x[i - 1], i);
    if (y >= i) add(of.y[i - 1], -i * pitch);
    if (y + i < height) add(of.y[i - 1], i * pitch);
  }
  const auto most = hn::Set(d, kMostValue);
  const auto target = hn::Add(value, hn::ShiftRight<8>(with_sign(sum, sign)));
  const auto clamped = hn::Max(hn::Min(target, hn::Set(d, kMostValue - 1)), hn::Zero(d));
  return hn::IfThenElse(hn::Lt(value, most), clamped, value);
}

}  // namespace overlaps
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

#endif
