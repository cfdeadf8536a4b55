// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The MQ encoder of T.800 Annex C: registers, byte-out, the two terminations, and the exact length
// of a truncated codeword segment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace cj2k::mq {

/// Context labels of this code base. The standard numbers them by table (D.1 to D.4). Here each
/// group starts at a number that lets its labels be built from bit-planes by OR alone.
enum Context : uint8_t {
  kZero = 0,      ///< + 0..8: zero coding, Table D.1
  kRefine = 9,    ///< + 0..2: magnitude refinement, Table D.4
  kRun = 12,      ///< run-length, D.3.4
  kUniform = 13,  ///< UNIFORM, D.3.4
  kSign = 16,     ///< + 0..4: sign coding, Table D.3 (label 9 is kSign + 0)
  kNumContexts = kSign + 5
};

/// A coded decision: context << 1 | bit.
using Symbol = uint8_t;
CJ2K_HD constexpr Symbol symbol(unsigned context, unsigned bit) {
  return static_cast<Symbol>(context << 1 | bit);
}

/// State of one context: a row of Table C.2 for one value of the MPS, packed so that one load gives
/// everything:
///   bits 31 .. 16   Qe
///   bits 14 ..  8   number of the next state after an MPS
///   bits  7 ..  1   number of the next state after an LPS
///   bit   0         the MPS
using State = uint32_t;
struct StateTable {
  State states[94];  ///< number = row << 1 | MPS
};

namespace internal {
struct Row {
  uint16_t qe;
  uint8_t nmps, nlps, exchange;
};
inline constexpr Row kRows[47] = {
    {0x5601, 1, 1, 1},   {0x3401, 2, 6, 0},   {0x1801, 3, 9, 0},   {0x0AC1, 4, 12, 0},
    {0x0521, 5, 29, 0},  {0x0221, 38, 33, 0}, {0x5601, 7, 6, 1},   {0x5401, 8, 14, 0},
    {0x4801, 9, 14, 0},  {0x3801, 10, 14, 0}, {0x3001, 11, 17, 0}, {0x2401, 12, 18, 0},
    {0x1C01, 13, 20, 0}, {0x1601, 29, 21, 0}, {0x5601, 15, 14, 1}, {0x5401, 16, 14, 0},
    {0x5101, 17, 15, 0}, {0x4801, 18, 16, 0}, {0x3801, 19, 17, 0}, {0x3401, 20, 18, 0},
    {0x3001, 21, 19, 0}, {0x2801, 22, 19, 0}, {0x2401, 23, 20, 0}, {0x2201, 24, 21, 0},
    {0x1C01, 25, 22, 0}, {0x1801, 26, 23, 0}, {0x1601, 27, 24, 0}, {0x1401, 28, 25, 0},
    {0x1201, 29, 26, 0}, {0x1101, 30, 27, 0}, {0x0AC1, 31, 28, 0}, {0x09C1, 32, 29, 0},
    {0x08A1, 33, 30, 0}, {0x0521, 34, 31, 0}, {0x0441, 35, 32, 0}, {0x02A1, 36, 33, 0},
    {0x0221, 37, 34, 0}, {0x0141, 38, 35, 0}, {0x0111, 39, 36, 0}, {0x0085, 40, 37, 0},
    {0x0049, 41, 38, 0}, {0x0025, 42, 39, 0}, {0x0015, 43, 40, 0}, {0x0009, 44, 41, 0},
    {0x0005, 45, 42, 0}, {0x0001, 45, 43, 0}, {0x5601, 46, 46, 0}};

constexpr StateTable make_states() {
  StateTable table{};
  for (unsigned i = 0; i < 47; ++i) {
    for (unsigned mps = 0; mps < 2; ++mps) {
      const Row& row = kRows[i];
      const unsigned after_mps = row.nmps * 2u + mps,
                     after_lps = row.nlps * 2u + (mps ^ row.exchange);
      table.states[i * 2 + mps] =
          static_cast<State>(row.qe) << 16 | after_mps << 8 | after_lps << 1 | mps;
    }
  }
  return table;
}

/// @param x  not 0
CJ2K_HD constexpr uint32_t leading_zeros(uint32_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__clz(static_cast<int>(x)));
#else
  return static_cast<uint32_t>(__builtin_clz(x));
#endif
}
}  // namespace internal

inline constexpr StateTable kStates = internal::make_states();

/// The `Bank` of the host. A Bank holds the contexts and the table of states:
///   State context(unsigned) const
///   void set_context(unsigned, State) const
///   State state(unsigned number) const
/// The Bank of kernels/ebcot/tier1_mq.cuh is in shared memory.
struct ContextArray {
  State* contexts;
  constexpr State context(unsigned i) const { return contexts[i]; }
  constexpr void set_context(unsigned i, State state) const { contexts[i] = state; }
  static constexpr State state(unsigned number) { return kStates.states[number]; }
};

/// Initial states, Table D.7: all-zero neighbourhood 4, run-length 3, UNIFORM 46, others 0.
template <typename Bank>
CJ2K_HD constexpr void reset_bank(const Bank& bank) {
  for (unsigned i = 0; i < kNumContexts; ++i) bank.set_context(i, bank.state(0));
  bank.set_context(kZero, bank.state(4 * 2));
  bank.set_context(kRun, bank.state(3 * 2));
  bank.set_context(kUniform, bank.state(46 * 2));
}
inline void reset_contexts(State* contexts) { reset_bank(ContextArray{contexts}); }

/// Registers of C.2. `last` points at B, the last byte written. Before the first byte, it points at
/// a byte that may be read and is not 0xFF. No carry can reach that byte, since C < 2^27 until the
/// first byte-out.
///
/// The functions below take a coder `K`: this one, or any type with a, c, ct and these three
/// functions.
struct Coder {
  uint32_t a;
  uint32_t c;
  uint32_t ct;
  uint8_t* last;

  constexpr uint8_t last_byte() const { return *last; }
  constexpr void carry() { ++*last; }  ///< into B, which is not 0xFF
  constexpr void push(uint8_t byte) { *++last = byte; }
};

template <typename K>
CJ2K_HD constexpr void start_registers(K& k) {
  k.a = 0x8000;
  k.c = 0;
  k.ct = 12;
}
inline void start(Coder& coder, uint8_t* first_byte) {
  start_registers(coder);
  coder.last = first_byte - 1;
}

/// BYTEOUT (Figure C.9), which also propagates the carry of C into B.
template <typename K>
[[gnu::always_inline]] CJ2K_HD constexpr void byte_out(K& k) {
  if (k.last_byte() != 0xFF) {
    if (k.c & 0x8000000) {
      k.carry();
      k.c &= 0x7FFFFFF;
    }
    if (k.last_byte() != 0xFF) {
      k.push(static_cast<uint8_t>(k.c >> 19));
      k.c &= 0x7FFFF;
      k.ct = 8;
      return;
    }
  }
  k.push(static_cast<uint8_t>(k.c >> 20));
  k.c &= 0xFFFFF;
  k.ct = 7;
}

/// ENCODE (C.2.4 to C.2.7) of one decision. Decisions are nearly random, so only the byte-out
/// branches. The new interval is either the lower sub-interval, of size qe, or the upper one, of
/// size a - qe. An LPS takes the lower one, except that MPS and LPS exchange their sub-intervals
/// where a - qe < qe (conditional exchange, C.2.5).
template <typename K, typename Bank>
[[gnu::always_inline]] CJ2K_HD constexpr void encode_with(K& k, const Bank& bank, Symbol symbol) {
  const uint32_t s = symbol;  // 32 bits: operations on whole registers
  const State state = bank.context(s >> 1);
  const uint32_t qe = state >> 16;
  const uint32_t lps = (state ^ s) & 1;
  const uint32_t rest = k.a - qe;
  const uint32_t lower =
      static_cast<uint32_t>(static_cast<int32_t>(rest - qe) >> 31) ^ (0 - lps);  // all ones or 0
  const uint32_t a = rest ^ ((rest ^ qe) & lower);
  uint32_t c = k.c + (qe & ~lower);
  const State next = bank.state(state >> (8 ^ (lps * 9)) & 0x7F);
  uint32_t shift = internal::leading_zeros(a) ^ 16;  // leading zeros less 16: a is below 2^16
  bank.set_context(s >> 1, shift != 0 ? next : state);
  k.a = a << shift;
  while (__builtin_expect(shift >= k.ct, 0)) {
    k.c = c << k.ct;
    shift -= k.ct;
    byte_out(k);
    c = k.c;
  }
  k.c = c << shift;
  k.ct -= shift;
}
[[gnu::always_inline]] inline void encode(Coder& k, State* contexts, Symbol s) {
  encode_with(k, ContextArray{contexts}, s);
}

/// Registers at the end of a pass, to find the length of the segment if it is cut there.
struct Snapshot {
  uint32_t a;
  uint32_t c;
  uint32_t ct;
  uint32_t bytes;  ///< bytes of the segment so far, B included
  uint8_t last;    ///< B at that time; a later carry may still increment it
};

inline Snapshot snapshot(const Coder& k, const uint8_t* first_byte) {
  const ptrdiff_t bytes = k.last + 1 - first_byte;
  return {k.a, k.c, k.ct, static_cast<uint32_t>(bytes), bytes == 0 ? uint8_t{0} : *k.last};
}

/// FLUSH (C.2.9), without finding the length.
template <typename K>
CJ2K_HD constexpr void flush_registers(K& k) {
  const uint32_t top = k.c + k.a;
  k.c |= 0xFFFF;
  if (k.c >= top) k.c -= 0x8000;
  k.c <<= k.ct;
  byte_out(k);
  k.c <<= k.ct;
  byte_out(k);
}
/// FLUSH.
/// @return bytes of the segment, without a final 0xFF, which the decoder supplies
inline size_t flush(Coder& k, const uint8_t* first_byte) {
  flush_registers(k);
  size_t bytes = static_cast<size_t>(k.last + 1 - first_byte);
  while (bytes > 0 && first_byte[bytes - 1] == 0xFF) --bytes;
  return bytes;
}

/// Predictable termination (D.4.2): the decoder can check by the last bytes whether data was
/// damaged.
template <typename K>
CJ2K_HD constexpr void flush_registers_predictable(K& k) {
  for (int bits = 12 - static_cast<int>(k.ct); bits > 0; bits -= static_cast<int>(k.ct)) {
    k.c <<= k.ct;
    k.ct = 0;
    byte_out(k);
  }
}

/// Only the bytes before Snapshot::bytes + kPrefixReach, and whether there are more, have an influence
/// on shortest_prefix: from 4 bytes before Snapshot::bytes on it reads at most 17, of 7 or 8 bits.
inline constexpr uint32_t kPrefixReach = 20;

/// Length of the shortest prefix of the finished segment that still decodes every symbol coded
/// before the snapshot `s`.
///
/// A decoder continues the prefix with ones. The interval at the snapshot is [low, low + A), so a
/// prefix works if and only if low <= value(prefix, ones) < low + A. Only bytes near `s.bytes` can
/// matter, because `low` begins with the same earlier bytes. The window starts 4 bytes before
/// `s.bytes`, and values are 128-bit numbers that begin at the window. A byte after 0xFF overlaps
/// the byte before it by one bit. tests/unit/test_mq.cc checks this by brute force against a
/// decoder.
/// @param segment  the segment's bytes: a pointer, or a type that can be indexed like one
template <typename Bytes>
CJ2K_HD constexpr size_t shortest_prefix(const Snapshot& s, const Bytes& segment,
                                         size_t segment_bytes) {
  using Wide = unsigned __int128;
  constexpr int kBits = 120;
  const size_t window = s.bytes > 4 ? s.bytes - 4 : 0;
  uint8_t before = window > 0 ? segment[window - 1] : uint8_t{0};

  Wide low = 0;
  int position = 0;
  uint8_t previous = before;
  for (size_t i = window; i < s.bytes; ++i) {
    const uint8_t byte = i + 1 == s.bytes ? s.last : segment[i];
    position += previous == 0xFF ? 7 : 8;
    low += static_cast<Wide>(byte) << (kBits - position);
    previous = byte;
  }
  // The next byte is C >> 19 with 8 bits or, after 0xFF, C >> 20 with 7 bits. In both cases the top
  // of the byte is at bit 27 of C.
  const int register_shift = kBits - position - 27 + static_cast<int>(s.ct);
  low += static_cast<Wide>(s.c) << register_shift;
  const Wide high = low + (static_cast<Wide>(s.a) << register_shift);

  size_t length = window;
  Wide value = 0;
  position = 0;
  previous = before;
  while (true) {
    const Wide with_ones = value + ((static_cast<Wide>(1) << (kBits - position)) - 1);
    if (length >= segment_bytes || (low <= with_ones && with_ones < high)) break;
    if (position > kBits - 8) break;  // happens only if a GPU buffer was too small and lost bytes
    const uint8_t byte = segment[length++];
    position += previous == 0xFF ? 7 : 8;
    value += static_cast<Wide>(byte) << (kBits - position);
    previous = byte;
  }
  while (length > 0 && segment[length - 1] == 0xFF) --length;
  return length;
}

}  // namespace cj2k::mq
