// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A chunk of 64 lanes with AVX-512 (BW, VBMI, VBMI2). Bytes hold symbols and states; A, the halves of
// C, CT and B are 16-bit words, in two vectors. Intrinsics, because Highway has no shift of a pair of
// words, and no masks that are combined with its table look-ups.
//
// mq_lanes_simd.cc includes this file for each of its targets that has these instructions.

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

using Vector = __m512i;
constexpr int kLanes = 64;
/// Registers of 32 lanes, without A.
struct CodeRegisters {
  Vector low, high, ct, b;
};
/// What a decision does to C: the addition, then the shift.
struct CodeStep {
  Vector add, shift;
};

template <int kHalf>
HWY_INLINE Vector unpack(Vector low, Vector high) {
  return kHalf == 0 ? _mm512_unpacklo_epi8(low, high) : _mm512_unpackhi_epi8(low, high);
}
HWY_INLINE Vector words(int value) { return _mm512_set1_epi16(static_cast<int16_t>(value)); }
HWY_INLINE Vector bytes(int value) { return _mm512_set1_epi8(static_cast<int8_t>(value)); }

/// Adds the bytes of the lanes in `mask` to the log. @return the log's end
HWY_INLINE uint16_t* log_bytes(Vector value, Vector lane, __mmask32 mask, uint16_t* log) {
  _mm512_storeu_si512(log, _mm512_maskz_compress_epi16(mask, _mm512_or_si512(value, lane)));
  return log + __builtin_popcount(mask);
}

/// The A part of a decision (C.2.4 to C.2.7).
/// @param qe_high  bit 7: the decision is an LPS
template <int kHalf>
HWY_INLINE CodeStep code_interval(Vector& a, Vector qe_low, Vector qe_high, Vector lps_shift) {
  const Vector both = unpack<kHalf>(qe_low, qe_high);
  const __mmask32 lps = _mm512_movepi16_mask(both);
  const Vector qe = _mm512_and_si512(both, words(0x7FFF));
  const Vector rest = _mm512_sub_epi16(a, qe);
  const __mmask32 upper = _kxnor_mask32(_mm512_cmplt_epu16_mask(rest, qe), lps);
  // The upper sub-interval is above 0x2000, so it is shifted by 2 bits at most.
  const Vector upper_shift = _mm512_subs_epu16(words(2), _mm512_srli_epi16(rest, 14));
  const Vector shift =
      _mm512_mask_mov_epi16(unpack<kHalf>(lps_shift, _mm512_setzero_si512()), upper, upper_shift);
  a = _mm512_sllv_epi16(_mm512_mask_mov_epi16(qe, upper, rest), shift);
  return {_mm512_maskz_mov_epi16(upper, qe), shift};
}

HWY_INLINE void add_code(CodeRegisters& r, Vector add) {
  r.low = _mm512_add_epi16(r.low, add);
  r.high = _mm512_mask_sub_epi16(r.high, _mm512_cmplt_epu16_mask(r.low, add), r.high, words(-1));
}

/// Shifts C at once, where it goes beyond the byte by 4 bits at most: then C >> 16 still holds the byte,
/// the carry, and all bits above.
/// @param ct  CT less the shift, -4 or more; 0 or less: a byte is complete
HWY_INLINE uint16_t* shift_code(CodeRegisters& r, Vector shift, Vector ct, Vector lane,
                                uint16_t* log) {
  r.high = _mm512_shldv_epi16(r.high, r.low, shift);
  r.low = _mm512_sllv_epi16(r.low, shift);
  const __mmask32 out = _mm512_cmple_epi16_mask(ct, _mm512_setzero_si512());
  const __mmask32 carries = _mm512_mask_cmpneq_epu16_mask(out, r.b, words(255));
  const Vector b = _mm512_add_epi16(
      r.b, _mm512_maskz_srlv_epi16(carries, r.high, _mm512_sub_epi16(words(11), ct)));
  const __mmask32 stuffed = _mm512_mask_cmpeq_epu16_mask(out, b, words(255));
  Vector keep = _mm512_sub_epi16(words(3), ct);  // bits of C >> 16 below the byte
  keep = _mm512_mask_sub_epi16(keep, stuffed, keep, words(-1));
  // Where the carry made B 0xFF, the carry is gone.
  const Vector byte_mask =
      _mm512_mask_mov_epi16(words(255), _kand_mask32(stuffed, carries), words(127));
  r.b =
      _mm512_mask_mov_epi16(r.b, out, _mm512_and_si512(_mm512_srlv_epi16(r.high, keep), byte_mask));
  r.high = _mm512_mask_mov_epi16(r.high, out,
                                 _mm512_andnot_si512(_mm512_sllv_epi16(words(-1), keep), r.high));
  r.ct = _mm512_mask_sub_epi16(ct, out, words(11), keep);
  return log_bytes(b, lane, out, log);
}

/// BYTEOUT (Figure C.9) of the lanes whose CT is 0.
HWY_INLINE uint16_t* byte_out(CodeRegisters& r, Vector lane, uint16_t* log) {
  const __mmask32 out = _mm512_testn_epi16_mask(r.ct, r.ct);
  const __mmask32 carries = _mm512_mask_cmpneq_epu16_mask(out, r.b, words(255));
  const Vector b = _mm512_add_epi16(r.b, _mm512_maskz_srli_epi16(carries, r.high, 11));
  const __mmask32 stuffed = _mm512_mask_cmpeq_epu16_mask(out, b, words(255));
  const Vector code =
      _mm512_mask_mov_epi16(r.high, carries, _mm512_and_si512(r.high, words(0x7FF)));
  const Vector keep = _mm512_mask_mov_epi16(words(3), stuffed, words(4));
  const Vector keep_mask = _mm512_mask_mov_epi16(words(7), stuffed, words(15));
  r.b = _mm512_mask_srlv_epi16(r.b, out, code, keep);
  r.high = _mm512_mask_mov_epi16(r.high, out, _mm512_and_si512(code, keep_mask));
  r.ct = _mm512_mask_sub_epi16(r.ct, out, words(11), keep);
  return log_bytes(b, lane, out, log);
}

/// Any shift: up to three bytes, one after the other.
HWY_NOINLINE uint16_t* shift_code_far(CodeRegisters& r, Vector shift, Vector lane, uint16_t* log) {
  for (int i = 0; i < 3; ++i) {
    const Vector now = _mm512_min_epu16(shift, r.ct);
    r.high = _mm512_shldv_epi16(r.high, r.low, now);
    r.low = _mm512_sllv_epi16(r.low, now);
    r.ct = _mm512_sub_epi16(r.ct, now);
    log = byte_out(r, lane, log);
    shift = _mm512_sub_epi16(shift, now);
  }
  return log;
}

/// The C part of a decision.
HWY_INLINE uint16_t* code_steps(CodeRegisters* r, const CodeStep* step, const Vector* lane,
                                uint16_t* log) {
  add_code(r[0], step[0].add);
  add_code(r[1], step[1].add);
  const Vector ct0 = _mm512_sub_epi16(r[0].ct, step[0].shift);
  const Vector ct1 = _mm512_sub_epi16(r[1].ct, step[1].shift);
  if (HWY_UNLIKELY(_mm512_cmplt_epi16_mask(_mm512_min_epi16(ct0, ct1), words(-4)) != 0)) {
    log = shift_code_far(r[0], step[0].shift, lane[0], log);
    return shift_code_far(r[1], step[1].shift, lane[1], log);
  }
  log = shift_code(r[0], step[0].shift, ct0, lane[0], log);
  return shift_code(r[1], step[1].shift, ct1, lane[1], log);
}

HWY_INLINE void load_registers(const MqLaneMemory& m, CodeRegisters* r, Vector* a) {
  for (int half = 0; half < 2; ++half) {
    const int i = half * kLanes / 2;
    a[half] = _mm512_load_si512(m.a + i);
    r[half] = {_mm512_load_si512(m.c_low + i), _mm512_load_si512(m.c_high + i),
               _mm512_load_si512(m.ct + i), _mm512_load_si512(m.b + i)};
  }
}
HWY_INLINE void store_registers(MqLaneMemory& m, const CodeRegisters* r, const Vector* a) {
  for (int half = 0; half < 2; ++half) {
    const int i = half * kLanes / 2;
    _mm512_store_si512(m.a + i, a[half]);
    _mm512_store_si512(m.c_low + i, r[half].low);
    _mm512_store_si512(m.c_high + i, r[half].high);
    _mm512_store_si512(m.ct + i, r[half].ct);
    _mm512_store_si512(m.b + i, r[half].b);
  }
}

/// Codes the chunk of all lanes.
/// @return entries of the log
HWY_NOINLINE size_t code_chunk(MqLaneMemory& m) {
  const auto& rows = mq_lanes::kRowTables;
  const Vector qe_low_of = _mm512_load_si512(rows.qe_low);
  const Vector qe_high_of = _mm512_load_si512(rows.qe_high);
  const Vector shift_of = _mm512_load_si512(rows.shift);
  const Vector next_mps_of = _mm512_load_si512(rows.next_mps);
  const Vector next_lps_of = _mm512_load_si512(rows.next_lps);
  const Vector zero = _mm512_setzero_si512(), top = bytes(0x80);
  const Vector numbers = _mm512_load_si512(mq_lanes::kContextLabels.lane_number);
  const Vector lane[2] = {unpack<0>(zero, numbers), unpack<1>(zero, numbers)};
  // The compiler is not to know what is there, or it would make these vectors anew each time.
  const auto* labels = &mq_lanes::kContextLabels;
  asm("" : "+r"(labels));
  CodeRegisters r[2];
  Vector a[2];
  load_registers(m, r, a);
  uint16_t* log = m.log;
  // Of the decision before: its context, the state that it leaves there, and its C part, for which
  // nothing in this decision waits.
  Vector last_context = bytes(kLaneIdle), last_next = zero;
  CodeStep step[2] = {{zero, zero}, {zero, zero}};
  constexpr int kInRegisters = 4;  // contexts that stay in registers
  Vector held[kInRegisters];
  for (int i = 0; i < kInRegisters; ++i) held[i] = _mm512_load_si512(m.contexts[i]);
  for (size_t t = 0; t < kLaneChunk; ++t) {
    const Vector symbol = _mm512_load_si512(m.chunk[t]);
    const Vector context = _mm512_and_si512(symbol, bytes(mq_lanes::kContextMask));
    Vector found[3];
    found[0] =
        _mm512_maskz_mov_epi8(_mm512_cmpeq_epi8_mask(context, _mm512_load_si512(labels->uniform)),
                              _mm512_load_si512(labels->uniform_row));
    found[1] =
        _mm512_maskz_mov_epi8(_mm512_cmpeq_epi8_mask(context, _mm512_load_si512(labels->idle)),
                              bytes(mq_lanes::kIdleRow));
    found[2] = zero;
#pragma GCC unroll 18
    for (int i = 0; i < kLaneContexts; ++i) {
      const Vector label = _mm512_load_si512(labels->adaptive[i]);
      Vector v = i < kInRegisters ? held[i] : _mm512_load_si512(m.contexts[i]);
      v = _mm512_mask_mov_epi8(v, _mm512_cmpeq_epi8_mask(last_context, label), last_next);
      if (i < kInRegisters) {
        held[i] = v;
      } else {
        _mm512_store_si512(m.contexts[i], v);
      }
      found[i % 3] = _mm512_mask_mov_epi8(found[i % 3], _mm512_cmpeq_epi8_mask(context, label), v);
    }
    const Vector state = _mm512_ternarylogic_epi32(found[0], found[1], found[2], 0xFE);  // OR
    // Bit 7: the decision is an LPS. (x ^ y) & z
    const Vector lps = _mm512_ternarylogic_epi32(_mm512_slli_epi16(symbol, 7), state, top, 0x28);
    const Vector qe_low = _mm512_permutexvar_epi8(state, qe_low_of);
    const Vector qe_high = _mm512_or_si512(_mm512_permutexvar_epi8(state, qe_high_of), lps);
    const Vector lps_shift = _mm512_permutexvar_epi8(state, shift_of);
    log = code_steps(r, step, lane, log);
    step[0] = code_interval<0>(a[0], qe_low, qe_high, lps_shift);
    step[1] = code_interval<1>(a[1], qe_low, qe_high, lps_shift);
    const Vector shift = _mm512_packus_epi16(step[0].shift, step[1].shift);
    Vector next = _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(state, next_mps_of),
                                               _mm512_movepi8_mask(lps), state, next_lps_of);
    next = _mm512_ternarylogic_epi32(next, state, top, 0x78);  // x ^ (y & z)
    last_next = _mm512_mask_mov_epi8(state, _mm512_test_epi8_mask(shift, shift), next);
    last_context = context;
  }
#pragma GCC unroll 18
  for (int i = 0; i < kLaneContexts; ++i) {
    const Vector v = i < kInRegisters ? held[i] : _mm512_load_si512(m.contexts[i]);
    const Vector label = _mm512_load_si512(labels->adaptive[i]);
    _mm512_store_si512(
        m.contexts[i],
        _mm512_mask_mov_epi8(v, _mm512_cmpeq_epi8_mask(last_context, label), last_next));
  }
  log = code_steps(r, step, lane, log);
  store_registers(m, r, a);
  return static_cast<size_t>(log - m.log);
}

/// Sixteen symbols of four streams, `pitch` streams apart.
HWY_INLINE Vector load_streams(const mq::Symbol* const* streams) {
  const auto load = [&](int i) HWY_ATTR {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(streams[16 * i]));
  };
  Vector v = _mm512_castsi128_si512(load(0));
  v = _mm512_inserti32x4(v, load(1), 1);
  v = _mm512_inserti32x4(v, load(2), 2);
  return _mm512_inserti32x4(v, load(3), 3);
}
HWY_INLINE Vector unpack_low(Vector x, Vector y) { return _mm512_unpacklo_epi8(x, y); }
HWY_INLINE Vector unpack_high(Vector x, Vector y) { return _mm512_unpackhi_epi8(x, y); }
/// The lanes whose pass has no chunk left.
HWY_INLINE uint64_t ended_lanes(const MqLaneMemory& m) {
  uint64_t ended = 0;
  for (int lane = 0; lane < kLanes; lane += 16) {
    const Vector left = _mm512_load_si512(m.chunks + lane);
    ended |= uint64_t{_mm512_testn_epi32_mask(left, left)} << lane;
  }
  return ended;
}
HWY_INLINE void store_vector(Vector v, uint8_t* to) { _mm512_store_si512(to, v); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();
