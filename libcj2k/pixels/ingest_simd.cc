// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A row is read as little-endian units of 1, 2 or 4 bytes, with one, two or three units per step.
// The word of a sample is at the start of the first unit of its step; the mask of SampleDecode
// drops the other bytes of the unit. So one loop serves planar samples, half-planar chroma (NV12,
// P010), and packed pixels of 3 and 4 components.
#include <bit>

#include "core/sample.h"
#include "pixels/ingest.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/ingest_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k::simd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// Loads the first of the `kPerStep` interleaved units of each step, as 32-bit words.
template <int kPerStep, class Unit, class DU32>
hn::VFromD<DU32> load_words(DU32 d, const Unit* units) {
  const hn::Rebind<Unit, DU32> d_unit;
  hn::VFromD<decltype(d_unit)> v0, v1, v2;
  if constexpr (kPerStep == 1) {
    v0 = hn::LoadU(d_unit, units);
  } else if constexpr (kPerStep == 2) {
    hn::LoadInterleaved2(d_unit, units, v0, v1);
  } else {
    hn::LoadInterleaved3(d_unit, units, v0, v1, v2);
  }
  if constexpr (sizeof(Unit) == sizeof(uint32_t)) {
    return v0;
  } else {
    return hn::PromoteTo(d, v0);
  }
}

/// Converts whole vectors whose loads end inside the row's last word.
/// @return number of samples converted
template <int kPerStep, class Unit>
int32_t ingest_vectors(const SampleRow& row, const SampleDecode& decode, int32_t* out,
                       int32_t count) {
  const hn::ScalableTag<int32_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  // If a word fills its step, it ends where the load ends. If it is shorter, the load reads beyond
  // it, so another sample must follow the vector.
  const int32_t end = row.word_bytes == row.step_bytes ? count : count - 1;
  const auto mask = hn::Set(du, decode.mask);
  const auto flip = hn::Set(du, decode.flip);
  const auto offset = hn::Set(d, decode.offset);
  int32_t x = 0;
  for (; x + lanes <= end; x += lanes) {
    const uint8_t* data = row.data + static_cast<ptrdiff_t>(x) * row.step_bytes;
    const auto words = load_words<kPerStep>(du, reinterpret_cast<const Unit*>(data));
    const auto bits = hn::Xor(hn::And(hn::ShiftRightSame(words, decode.shift), mask), flip);
    hn::StoreU(hn::Sub(hn::BitCast(d, bits), offset), d, out + x);
  }
  return x;
}

/// Rounds whole vectors of samples in place.
/// @return number of samples rounded
int32_t round_fast(const SampleRound& round, int32_t* samples, int32_t count) {
  const hn::ScalableTag<int32_t> d;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto half = hn::Set(d, round.half);
  const auto most = hn::Set(d, round.most);
  int32_t x = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto sum = hn::Add(hn::LoadU(d, samples + x), half);
    hn::StoreU(hn::Min(hn::ShiftRightSame(sum, round.shift), most), d, samples + x);
  }
  return x;
}

int32_t ingest_fast(const SampleRow& row, const SampleDecode& decode, int32_t* out, int32_t count) {
  if constexpr (std::endian::native != std::endian::little) return 0;
  if (row.word_bytes > row.step_bytes) return 0;
  switch (row.step_bytes) {
    case 1:
      return ingest_vectors<1, uint8_t>(row, decode, out, count);
    case 2:
      return ingest_vectors<1, uint16_t>(row, decode, out, count);
    case 4:
      return ingest_vectors<1, uint32_t>(row, decode, out, count);
    case 8:
      return ingest_vectors<2, uint32_t>(row, decode, out, count);
    case 3:
      return row.word_bytes == 1 ? ingest_vectors<3, uint8_t>(row, decode, out, count) : 0;
    case 6:
      return row.word_bytes <= 2 ? ingest_vectors<3, uint16_t>(row, decode, out, count) : 0;
    default:
      return 0;
  }
}

#else

// One lane is no faster than the reference, and its loads need aligned words.
int32_t ingest_fast(const SampleRow&, const SampleDecode&, int32_t*, int32_t) { return 0; }
int32_t round_fast(const SampleRound&, int32_t*, int32_t) { return 0; }

#endif

void ingest(const SampleRow& row, int32_t* out, int32_t count) {
  const SampleDecode decode =
      make_sample_decode(row.word_bytes, row.shift, row.depth, row.is_signed);
  for (int32_t x = ingest_fast(row, decode, out, count); x < count; ++x) {
    const uint8_t* word = row.data + static_cast<ptrdiff_t>(x) * row.step_bytes;
    out[x] = decode_sample(load_word(word, row.word_bytes), decode);
  }
  if (row.round_bits == 0) return;
  const SampleRound round = make_sample_round(row.depth, row.round_bits);
  for (int32_t x = round_fast(round, out, count); x < count; ++x)
    out[x] = round_sample(out[x], round);
}

int64_t target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k::simd {
namespace {
HWY_EXPORT(ingest);
HWY_EXPORT(target);
}  // namespace

void ingest_row(const SampleRow& row, int32_t* out, int32_t count) {
  HWY_DYNAMIC_DISPATCH(ingest)(row, out, count);
}

int64_t ingest_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

}  // namespace cj2k::simd
#endif
