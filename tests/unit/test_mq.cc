// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "core/ebcot/mq.h"
#include "support/mq_decoder.h"

namespace cj2k {
namespace {

using Bytes = std::span<const uint8_t>;

/// The contexts of a decoder in the order of mq::Context, Table D.7.
struct DecoderContexts {
  test::MqContext contexts[mq::kNumContexts];
  DecoderContexts() {
    contexts[mq::kZero].index = 4;
    contexts[mq::kRun].index = 3;
    contexts[mq::kUniform].index = 46;
  }
};

/// The number of leading symbols of `symbols` that `bytes` decode to.
size_t decoded_symbols(Bytes bytes, const std::vector<mq::Symbol>& symbols, size_t count) {
  test::MqDecoder decoder(bytes);
  DecoderContexts contexts;
  for (size_t i = 0; i < count; ++i) {
    if (decoder.decode(contexts.contexts[symbols[i] >> 1]) != (symbols[i] & 1u)) return i;
  }
  return count;
}

/// The encoder's result, with a snapshot after each symbol.
struct Encoded {
  std::vector<uint8_t> bytes;
  std::vector<mq::Snapshot> snapshots;
};

Encoded encode(const std::vector<mq::Symbol>& symbols, bool predictable) {
  std::vector<uint8_t> buffer(symbols.size() * 3 + 16);
  uint8_t* const first = buffer.data() + 1;
  mq::State contexts[mq::kNumContexts];
  mq::reset_contexts(contexts);
  mq::Coder coder;
  mq::start(coder, first);
  Encoded e;
  for (const mq::Symbol s : symbols) {
    mq::encode(coder, contexts, s);
    e.snapshots.push_back(mq::snapshot(coder, first));
  }
  if (!predictable) {
    const size_t size = mq::flush(coder, first);
    e.bytes.assign(first, first + size);
    return e;
  }
  mq::flush_registers_predictable(coder);
  auto size = static_cast<size_t>(coder.last + 1 - first);
  if (size > 0 && first[size - 1] == 0xFF) --size;  // the decoder supplies it
  e.bytes.assign(first, first + size);
  return e;
}

/// Each context has its own skew, so that all states occur.
std::vector<mq::Symbol> random_symbols(std::mt19937& random, size_t count) {
  static constexpr uint32_t kOneIn1024[] = {512, 512, 512, 200, 50, 10, 1, 974, 1023};
  uint32_t ones[19];
  for (uint32_t& p : ones) p = kOneIn1024[random() % std::size(kOneIn1024)];
  std::vector<mq::Symbol> symbols(count);
  for (mq::Symbol& s : symbols) {
    const unsigned context = random() % 19;
    s = mq::symbol(context, random() % 1024 < ones[context] ? 1 : 0);
  }
  return symbols;
}

TEST_CASE("mq: states are the rows of Table C.2") {
  struct Typed {
    unsigned row, qe, nmps, nlps, exchange;
  };
  // From the printed table, independent of the code.
  for (const Typed t :
       {Typed{0, 0x5601, 1, 1, 1}, Typed{5, 0x0221, 38, 33, 0}, Typed{6, 0x5601, 7, 6, 1},
        Typed{13, 0x1601, 29, 21, 0}, Typed{14, 0x5601, 15, 14, 1}, Typed{28, 0x1201, 29, 26, 0},
        Typed{38, 0x0111, 39, 36, 0}, Typed{45, 0x0001, 45, 43, 0}, Typed{46, 0x5601, 46, 46, 0}}) {
    for (unsigned mps = 0; mps < 2; ++mps) {
      const mq::State s = mq::kStates.states[t.row * 2 + mps];
      CHECK((s >> 16) == t.qe);
      CHECK((s >> 8 & 0x7F) == t.nmps * 2 + mps);
      CHECK((s >> 1 & 0x7F) == t.nlps * 2 + (mps ^ t.exchange));
      CHECK((s & 1) == mps);
    }
  }
  for (unsigned row = 0; row < 47; ++row) {
    const test::MqState& t = test::kMqStates[row];
    const mq::State s = mq::kStates.states[row * 2];
    CHECK((s >> 16) == t.qe);
    CHECK((s >> 8 & 0x7F) == t.nmps * 2u);
    CHECK((s >> 1 & 0x7F) == t.nlps * 2u + t.switch_mps);
  }
}

TEST_CASE("mq: the test sequence of T.88 H.2") {
  // One context that begins in state 0. The last two bytes in the standard are the marker 0xFFAC.
  static constexpr uint8_t kInput[] = {0x00, 0x02, 0x00, 0x51, 0x00, 0x00, 0x00, 0xC0,
                                       0x03, 0x52, 0x87, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA,
                                       0x82, 0xC0, 0x20, 0x00, 0xFC, 0xD7, 0x9E, 0xF6,
                                       0xBF, 0x7F, 0xED, 0x90, 0x4F, 0x46, 0xA3, 0xBF};
  static const std::vector<uint8_t> kOutput = {
      0x84, 0xC7, 0x3B, 0xFC, 0xE1, 0xA1, 0x43, 0x04, 0x02, 0x20, 0x00, 0x00, 0x41, 0x0D,
      0xBB, 0x86, 0xF4, 0x31, 0x7F, 0xFF, 0x88, 0xFF, 0x37, 0x47, 0x1A, 0xDB, 0x6A, 0xDF};
  std::vector<mq::Symbol> symbols;
  for (const uint8_t byte : kInput) {
    for (int bit = 7; bit >= 0; --bit) {
      symbols.push_back(mq::symbol(mq::kSign, static_cast<unsigned>(byte) >> bit & 1u));
    }
  }
  CHECK(encode(symbols, false).bytes == kOutput);
  CHECK(decoded_symbols(kOutput, symbols, symbols.size()) == symbols.size());
}

TEST_CASE("mq: nothing coded is nothing sent") {
  const std::vector<mq::Symbol> none;
  for (const bool predictable : {false, true}) {
    const Encoded e = encode(none, predictable);
    if (predictable) CHECK(e.bytes.empty());
    CHECK(e.bytes.size() <= 2);
  }
  // The bytes of the flush are not needed: nothing was coded before the snapshot.
  uint8_t buffer[8] = {};
  mq::Coder coder;
  mq::start(coder, buffer + 1);
  const mq::Snapshot s = mq::snapshot(coder, buffer + 1);
  const size_t size = mq::flush(coder, buffer + 1);
  CHECK(mq::shortest_prefix(s, buffer + 1, size) == 0);
}

TEST_CASE("mq: whole segments decode, and end in no 0xFF") {
  std::mt19937 random(1);
  int predictable_without_last = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<mq::Symbol> symbols = random_symbols(random, random() % 600);
    for (const bool predictable : {false, true}) {
      const Encoded e = encode(symbols, predictable);
      REQUIRE(decoded_symbols(e.bytes, symbols, symbols.size()) == symbols.size());
      if (!e.bytes.empty()) REQUIRE(e.bytes.back() != 0xFF);
      for (size_t i = 1; i < e.bytes.size(); ++i) {
        if (e.bytes[i - 1] == 0xFF) REQUIRE(e.bytes[i] <= 0x8F);
      }
      if (!predictable) continue;
      test::MqDecoder decoder(e.bytes);
      DecoderContexts contexts;
      for (const mq::Symbol s : symbols) decoder.decode(contexts.contexts[s >> 1]);
      REQUIRE(decoder.ends_predictably());
      // Without the last byte the check fails in most cases, not in all: other symbols come out,
      // and the decoder's final state is chance.
      if (e.bytes.size() < 2) continue;
      test::MqDecoder shorter(Bytes(e.bytes).first(e.bytes.size() - 1));
      DecoderContexts again;
      for (const mq::Symbol s : symbols) shorter.decode(again.contexts[s >> 1]);
      predictable_without_last += shorter.ends_predictably() ? 1 : 0;
    }
  }
  CHECK(predictable_without_last < 3000 / 5);
}

TEST_CASE("mq: the shortest prefix, by brute force over all shorter ones") {
  std::mt19937 random(2);
  size_t points = 0, undecodable = 0, slack = 0, loose = 0, raised = 0, carry_after_ff = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::vector<mq::Symbol> symbols = random_symbols(random, 1 + random() % 250);
    const Encoded e = encode(symbols, false);
    for (size_t i = 1; i < e.bytes.size(); ++i) {
      carry_after_ff += e.bytes[i - 1] == 0xFF && e.bytes[i] >= 0x80;
    }
    size_t before = 0;
    for (size_t k = 0; k < symbols.size(); k += 1 + random() % 8) {
      const mq::Snapshot& s = e.snapshots[k];
      if (s.bytes > 0 && s.bytes <= e.bytes.size()) raised += s.last != e.bytes[s.bytes - 1];
      const size_t length = mq::shortest_prefix(s, e.bytes.data(), e.bytes.size());
      REQUIRE(length <= e.bytes.size());
      if (length > 0) REQUIRE(e.bytes[length - 1] != 0xFF);
      const auto decodes = [&](size_t bytes) {
        return decoded_symbols(Bytes(e.bytes).first(bytes), symbols, k + 1) == k + 1;
      };
      undecodable += !decodes(length);
      size_t shortest = 0;
      while (!decodes(shortest)) ++shortest;
      ++points;
      slack += length - shortest;
      loose += length != shortest;
      REQUIRE(length >= shortest);
      CHECK(length >= before);
      before = length;
    }
  }
  MESSAGE(points << " truncation points, " << undecodable << " undecodable, " << loose
                 << " loose, slack " << slack << " bytes; " << raised
                 << " last bytes raised by a later carry, " << carry_after_ff
                 << " carries into the byte after 0xFF");
  CHECK(undecodable == 0);
  CHECK(slack * 2 < points);
  CHECK(slack == 0);
  CHECK(raised > 0);
  CHECK(carry_after_ff > 0);
}

/// Chooses each symbol so that the code stays near one end of the interval. The carry then runs
/// into 0xFF, or all bytes are ones.
TEST_CASE("mq: carries and ones without end") {
  std::mt19937 random(3);
  size_t points = 0, slack = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<mq::Symbol> symbols;
    const size_t count = 20 + random() % 200;
    const size_t turn = random() % count;
    const bool from_top = random() % 2 != 0;
    mq::State contexts[mq::kNumContexts];
    mq::reset_contexts(contexts);
    for (size_t i = 0; i < count; ++i) {
      // The LPS has the lower part of the interval, except for the conditional exchange.
      const unsigned context = random() % 3 == 0 ? mq::kUniform + 0u : mq::kSign + random() % 3;
      const unsigned lps = (i < turn) == from_top ? 0 : 1;
      const unsigned bit = (contexts[context] & 1) ^ lps;
      std::vector<uint8_t> scratch(16);
      mq::Coder coder;
      mq::start(coder, scratch.data() + 1);
      mq::encode(coder, contexts, mq::symbol(context, bit));  // only to follow the states
      symbols.push_back(mq::symbol(context, bit));
    }
    const Encoded e = encode(symbols, false);
    REQUIRE(decoded_symbols(e.bytes, symbols, symbols.size()) == symbols.size());
    const Encoded p = encode(symbols, true);
    REQUIRE(decoded_symbols(p.bytes, symbols, symbols.size()) == symbols.size());
    for (size_t k = 0; k < count; ++k) {
      const size_t length = mq::shortest_prefix(e.snapshots[k], e.bytes.data(), e.bytes.size());
      const auto decodes = [&](size_t bytes) {
        return decoded_symbols(Bytes(e.bytes).first(bytes), symbols, k + 1) == k + 1;
      };
      REQUIRE(decodes(length));
      size_t shortest = 0;
      while (!decodes(shortest)) ++shortest;
      ++points;
      slack += length - shortest;
    }
  }
  MESSAGE(points << " truncation points, slack " << slack << " bytes");
  CHECK(slack * 2 < points);
}

}  // namespace
}  // namespace cj2k
