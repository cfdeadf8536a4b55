// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A chunk of 32 lanes with AVX2, as mq_lanes_avx512-inl.h has it for 64. What is missing here: shifts of
// words by different counts are multiplications, a table of 48 bytes is three of 16, masks are
// vectors, and the bytes of a step are picked out one by one.
//
// mq_lanes_simd.cc includes this file for each of its targets that has AVX2 and no better file.

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

using Vector = __m256i;
constexpr int kLanes = 32;
/// Registers of 16 lanes, without A.
struct CodeRegisters {
  Vector low, high, ct, b;
};
/// What a decision does to C: the addition, then the shift, also as a power of 2.
struct CodeStep {
  Vector add, shift, factor;
};

template <int kHalf>
HWY_INLINE Vector unpack(Vector low, Vector high) {
  return kHalf == 0 ? _mm256_unpacklo_epi8(low, high) : _mm256_unpackhi_epi8(low, high);
}
HWY_INLINE Vector words(int value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }
HWY_INLINE Vector bytes(int value) { return _mm256_set1_epi8(static_cast<int8_t>(value)); }
HWY_INLINE Vector select(Vector mask, Vector yes, Vector no) {
  return _mm256_blendv_epi8(no, yes, mask);
}
HWY_INLINE Vector load_vector(const void* from) {
  return _mm256_load_si256(static_cast<const __m256i*>(from));
}
HWY_INLINE void store_vector(Vector v, void* to) {
  _mm256_store_si256(static_cast<__m256i*>(to), v);
}
/// x >= y, unsigned words.
HWY_INLINE Vector not_below(Vector x, Vector y) {
  return _mm256_cmpeq_epi16(_mm256_max_epu16(x, y), x);
}

/// 2^n in each word, n = 0 .. 15.
HWY_INLINE Vector power(Vector n) {
  const Vector table = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
  // The low byte looks up n, the high byte n - 8. Indices with bit 7 give 0.
  const Vector both = _mm256_or_si256(n, _mm256_slli_epi16(n, 8));
  return _mm256_shuffle_epi8(table, _mm256_sub_epi16(both, words(0x0800)));
}

/// A table by row, and its indices.
struct RowTable {
  Vector part[3];
};
HWY_INLINE RowTable load_table(const uint8_t* table) {
  RowTable t;
  for (int i = 0; i < 3; ++i)
    t.part[i] = _mm256_broadcastsi128_si256(
        _mm_load_si128(reinterpret_cast<const __m128i*>(table + 16 * i)));
  return t;
}
/// Each index is right in one part and has bit 7 in the others.
struct RowIndices {
  explicit RowIndices(Vector row)
      : part{_mm256_adds_epu8(row, bytes(0x70)),
             _mm256_adds_epu8(_mm256_sub_epi8(row, bytes(16)), bytes(0x70)),
             _mm256_sub_epi8(row, bytes(32))} {}
  Vector part[3];
};
HWY_INLINE Vector look_up(const RowTable& t, const RowIndices& i) {
  return _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(t.part[0], i.part[0]),
                                         _mm256_shuffle_epi8(t.part[1], i.part[1])),
                         _mm256_shuffle_epi8(t.part[2], i.part[2]));
}

/// The A part of a decision (C.2.4 to C.2.7).
/// @param qe_high  bit 7: the decision is an LPS
template <int kHalf>
HWY_INLINE CodeStep code_interval(Vector& a, Vector qe_low, Vector qe_high, Vector lps_shift) {
  const Vector both = unpack<kHalf>(qe_low, qe_high);
  const Vector lps = _mm256_srai_epi16(both, 15);
  const Vector qe = _mm256_and_si256(both, words(0x7FFF));
  const Vector rest = _mm256_sub_epi16(a, qe);
  const Vector upper = _mm256_xor_si256(not_below(rest, qe), lps);
  // The upper sub-interval is above 0x2000, so it is shifted by 2 bits at most.
  const Vector upper_shift = _mm256_subs_epu16(words(2), _mm256_srli_epi16(rest, 14));
  const Vector shift = select(upper, upper_shift, unpack<kHalf>(lps_shift, _mm256_setzero_si256()));
  const Vector factor = power(shift);
  a = _mm256_mullo_epi16(select(upper, rest, qe), factor);
  return {_mm256_and_si256(upper, qe), shift, factor};
}

HWY_INLINE void add_code(CodeRegisters& r, Vector add) {
  r.low = _mm256_add_epi16(r.low, add);
  r.high = _mm256_add_epi16(r.high, _mm256_add_epi16(not_below(r.low, add), words(1)));
}

/// Shifts C at once, where it goes beyond the byte by 4 bits at most.
/// @param ct  CT less the shift, -4 or more; 0 or less: a byte is complete
/// @param b  gets the byte before it, with its carry
/// @return mask of the lanes with a byte
HWY_INLINE Vector shift_code(CodeRegisters& r, const CodeStep& step, Vector ct, Vector* b) {
  const Vector zero = _mm256_setzero_si256();
  r.high = _mm256_or_si256(_mm256_mullo_epi16(r.high, step.factor),
                           _mm256_mulhi_epu16(r.low, step.factor));
  r.low = _mm256_mullo_epi16(r.low, step.factor);
  const Vector out = _mm256_cmpgt_epi16(words(1), ct);
  const Vector excess = _mm256_sub_epi16(zero, _mm256_min_epi16(ct, zero));
  const Vector was_stuffed = _mm256_cmpeq_epi16(r.b, words(255));
  // C >> 16 >> (11 + excess)
  const Vector carry = _mm256_andnot_si256(
      was_stuffed, _mm256_mulhi_epu16(r.high, power(_mm256_sub_epi16(words(5), excess))));
  *b = _mm256_add_epi16(r.b, carry);
  const Vector stuffed = _mm256_cmpeq_epi16(*b, words(255));
  // Bits of C >> 16 below the byte.
  const Vector keep = _mm256_sub_epi16(_mm256_add_epi16(words(3), excess), stuffed);
  const Vector top = _mm256_mulhi_epu16(r.high, power(_mm256_sub_epi16(words(16), keep)));
  // Where the carry made B 0xFF, the carry is gone.
  const Vector byte_mask =
      select(_mm256_andnot_si256(was_stuffed, stuffed), words(127), words(255));
  r.b = select(out, _mm256_and_si256(top, byte_mask), r.b);
  r.high = select(out, _mm256_sub_epi16(r.high, _mm256_mullo_epi16(top, power(keep))), r.high);
  r.ct = select(out, _mm256_sub_epi16(words(11), keep), ct);
  return out;
}

HWY_INLINE void load_registers(const MqLaneMemory& m, CodeRegisters* r, Vector* a) {
  for (int half = 0; half < 2; ++half) {
    const int i = half * kLanes / 2;
    a[half] = load_vector(m.a + i);
    r[half] = {load_vector(m.c_low + i), load_vector(m.c_high + i), load_vector(m.ct + i),
               load_vector(m.b + i)};
  }
}
HWY_INLINE void store_code(MqLaneMemory& m, const CodeRegisters* r) {
  for (int half = 0; half < 2; ++half) {
    const int i = half * kLanes / 2;
    store_vector(r[half].low, m.c_low + i);
    store_vector(r[half].high, m.c_high + i);
    store_vector(r[half].ct, m.ct + i);
    store_vector(r[half].b, m.b + i);
  }
}

/// Any shift, in memory.
HWY_NOINLINE uint16_t* shift_code_far(MqLaneMemory& m, CodeRegisters* r, const CodeStep* step,
                                      uint16_t* log) {
  store_code(m, r);
  alignas(32) uint16_t shifts[kLanes];
  store_vector(step[0].shift, shifts);
  store_vector(step[1].shift, shifts + kLanes / 2);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int i = mq_lanes::register_of(lane, kLanes);
    uint8_t out[4] = {static_cast<uint8_t>(m.b[i])};  // B, and up to three bytes
    mq::Coder coder{0, static_cast<uint32_t>(m.c_high[i]) << 16 | m.c_low[i], m.ct[i], out};
    uint32_t shift = shifts[i];
    while (shift >= coder.ct) {
      coder.c <<= coder.ct;
      shift -= coder.ct;
      mq::byte_out(coder);
    }
    coder.c <<= shift;
    for (const uint8_t* p = out; p != coder.last; ++p)
      *log++ = static_cast<uint16_t>(lane << 8 | *p);
    m.c_low[i] = static_cast<uint16_t>(coder.c);
    m.c_high[i] = static_cast<uint16_t>(coder.c >> 16);
    m.ct[i] = static_cast<uint16_t>(coder.ct - shift);
    m.b[i] = *coder.last;
  }
  Vector a[2];
  load_registers(m, r, a);
  return log;
}

/// The C part of a decision.
HWY_INLINE uint16_t* code_steps(MqLaneMemory& m, CodeRegisters* r, const CodeStep* step,
                                uint16_t* log) {
  add_code(r[0], step[0].add);
  add_code(r[1], step[1].add);
  const Vector ct0 = _mm256_sub_epi16(r[0].ct, step[0].shift);
  const Vector ct1 = _mm256_sub_epi16(r[1].ct, step[1].shift);
  const Vector far = _mm256_cmpgt_epi16(words(-4), _mm256_min_epi16(ct0, ct1));
  if (HWY_UNLIKELY(!_mm256_testz_si256(far, far))) return shift_code_far(m, r, step, log);
  Vector b0, b1;
  const Vector out0 = shift_code(r[0], step[0], ct0, &b0);
  const Vector out1 = shift_code(r[1], step[1], ct1, &b1);
  alignas(32) uint8_t out[kLanes];
  store_vector(_mm256_packus_epi16(b0, b1), out);
  auto mask = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(out0, out1)));
  uint16_t* const end = log + __builtin_popcount(mask);
  do {  // four at a time, so that there is no branch for each byte
    for (int i = 0; i < 4; ++i) {
      const int lane = __builtin_ctz(mask | 0x80000000u);
      log[i] = static_cast<uint16_t>(lane << 8 | out[lane]);
      mask &= mask - 1;
    }
    log += 4;
  } while (HWY_UNLIKELY(mask != 0));
  return end;
}

/// Codes the chunk of all lanes.
/// @return entries of the log
HWY_NOINLINE size_t code_chunk(MqLaneMemory& m) {
  const auto& rows = mq_lanes::kRowTables;
  const RowTable qe_low_of = load_table(rows.qe_low), qe_high_of = load_table(rows.qe_high);
  const RowTable shift_of = load_table(rows.shift);
  const RowTable next_mps_of = load_table(rows.next_mps), next_lps_of = load_table(rows.next_lps);
  const Vector zero = _mm256_setzero_si256(), top = bytes(0x80);
  // The compiler is not to know what is there, or it would make these vectors anew each time.
  const auto* labels = &mq_lanes::kContextLabels;
  asm("" : "+r"(labels));
  CodeRegisters r[2];
  Vector a[2];
  load_registers(m, r, a);
  uint16_t* log = m.log;
  // Of the decision before: its context, how the state there changes, and its C part, for which
  // nothing in this decision waits.
  Vector last_context = bytes(kLaneIdle), change = zero;
  CodeStep step[2] = {{zero, zero, words(1)}, {zero, zero, words(1)}};
  for (size_t t = 0; t < kLaneChunk; ++t) {
    const Vector symbol = load_vector(m.chunk[t]);
    const Vector context = _mm256_and_si256(symbol, bytes(mq_lanes::kContextMask));
    const auto where = [&](Vector c, const uint8_t* label, Vector v) HWY_ATTR {
      return _mm256_and_si256(_mm256_cmpeq_epi8(c, load_vector(label)), v);
    };
    Vector found[2] = {where(context, labels->uniform, bytes(mq_lanes::kUniformRow)),
                       where(context, labels->idle, bytes(mq_lanes::kIdleRow))};
#pragma GCC unroll 18
    for (int i = 0; i < kLaneContexts; ++i) {
      const uint8_t* label = labels->adaptive[i];
      const Vector v =
          _mm256_xor_si256(load_vector(m.contexts[i]), where(last_context, label, change));
      store_vector(v, m.contexts[i]);
      found[i % 2] = _mm256_or_si256(found[i % 2], where(context, label, v));
    }
    const Vector state = _mm256_or_si256(found[0], found[1]);
    // Bit 7: the decision is an LPS.
    const Vector lps = _mm256_and_si256(_mm256_xor_si256(_mm256_slli_epi16(symbol, 7), state), top);
    const RowIndices row(_mm256_andnot_si256(top, state));
    const Vector qe_low = look_up(qe_low_of, row);
    const Vector qe_high = _mm256_or_si256(look_up(qe_high_of, row), lps);
    const Vector lps_shift = look_up(shift_of, row);
    log = code_steps(m, r, step, log);
    step[0] = code_interval<0>(a[0], qe_low, qe_high, lps_shift);
    step[1] = code_interval<1>(a[1], qe_low, qe_high, lps_shift);
    const Vector shift = _mm256_packus_epi16(step[0].shift, step[1].shift);
    Vector next = select(lps, look_up(next_lps_of, row), look_up(next_mps_of, row));
    next = _mm256_xor_si256(next, _mm256_and_si256(state, top));
    change = _mm256_andnot_si256(_mm256_cmpeq_epi8(shift, zero), _mm256_xor_si256(next, state));
    last_context = context;
  }
  for (int i = 0; i < kLaneContexts; ++i) {
    const Vector is_last = _mm256_cmpeq_epi8(last_context, load_vector(labels->adaptive[i]));
    store_vector(_mm256_xor_si256(load_vector(m.contexts[i]), _mm256_and_si256(is_last, change)),
                 m.contexts[i]);
  }
  log = code_steps(m, r, step, log);
  store_code(m, r);
  store_vector(a[0], m.a);
  store_vector(a[1], m.a + kLanes / 2);
  return static_cast<size_t>(log - m.log);
}

/// Sixteen symbols of two streams, 16 streams apart.
HWY_INLINE Vector load_streams(const mq::Symbol* const* streams) {
  const auto load = [&](int i) HWY_ATTR {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(streams[16 * i]));
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(1), 1);
}
/// The lanes whose pass has no chunk left.
HWY_INLINE uint64_t ended_lanes(const MqLaneMemory& m) {
  uint32_t ended = 0;
  for (int lane = 0; lane < kLanes; lane += 8) {
    const Vector none = _mm256_cmpeq_epi32(load_vector(m.chunks + lane), _mm256_setzero_si256());
    ended |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(none))) << lane;
  }
  return ended;
}
HWY_INLINE Vector unpack_low(Vector x, Vector y) { return _mm256_unpacklo_epi8(x, y); }
HWY_INLINE Vector unpack_high(Vector x, Vector y) { return _mm256_unpackhi_epi8(x, y); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();
