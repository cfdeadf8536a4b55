// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "coders/ebcot/block_decoder.h"
#include "core/distortion.h"
#include "core/ebcot/segments.h"
#include "support/block_decoder.h"
#include "support/test_blocks.h"

namespace cj2k {
namespace {

using test::BlockDecoder;
using test::DecodedBlock;
using test::Fill;
using test::TestBlock;
using test::TestOutput;
using Bytes = std::span<const uint8_t>;

constexpr Orientation kOrientations[] = {kLL, kHL, kLH, kHH};

/// The index of the first pass of the codeword segment that contains `pass`.
int first_of_segment(uint32_t style, int pass) {
  int first = 0;
  while (first + test::passes_of_segment(style, first) <= pass) {
    first += test::passes_of_segment(style, first);
  }
  return first;
}

/// A block that is cut after some passes, as a decoder gets it from a codestream.
struct Cut {
  std::vector<uint8_t> bytes;
  std::vector<Bytes> segments;

  /// The first `passes` passes. @param length  bytes of all of them
  Cut(const Tier1Output& out, uint32_t style, int passes, uint32_t length, bool with_tail) {
    bytes.assign(out.bytes, out.bytes + length);
    const int last = passes - 1;
    if (with_tail) {
      const PassTail& tail = out.tails[last];
      REQUIRE(tail.offset_bytes + tail.count <= length + (tail.count == 0 ? length + 1 : 0));
      if (tail.count > 0) {
        REQUIRE(tail.offset_bytes + tail.count == length);
        std::memcpy(bytes.data() + tail.offset_bytes, tail.bytes, tail.count);
      }
    }
    uint32_t begin = 0;
    for (int first = 0; first < passes; first += test::passes_of_segment(style, first)) {
      const int end = first + test::passes_of_segment(style, first);
      const uint32_t end_byte = end >= passes ? length : out.passes[end - 1].length_bytes;
      REQUIRE(begin <= end_byte);
      segments.push_back(Bytes(bytes).subspan(begin, end_byte - begin));
      begin = end_byte;
    }
  }
};

DecodedBlock decode(const Tier1Block& b, const Cut& cut, int passes) {
  return BlockDecoder(b.width, b.height, b.orientation, b.style, b.bit_planes)
      .decode(cut.segments, passes);
}

/// The same by the library's own decoder.
void check_own_decoder(const Tier1Block& b, const Cut& cut, int passes,
                       const DecodedBlock& expected) {
  static EbcotDecoder decoder;
  std::vector<CodedSegment> segments;
  int first = 0;
  for (const Bytes segment : cut.segments) {
    const int count = std::min(test::passes_of_segment(b.style, first), passes - first);
    segments.push_back({segment, count});
    first += count;
  }
  std::vector<uint32_t> samples(expected.magnitudes.size(), 0xFFFFFFFFu);
  REQUIRE(decoder.decode({b.width, b.height, b.orientation, b.style, b.bit_planes}, segments,
                         samples.data()));
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint32_t sign = expected.magnitudes[i] != 0 && expected.negative[i] != 0 ? 1u << 31 : 0;
    REQUIRE(samples[i] == (expected.magnitudes[i] | sign));
  }
}

/// Whether `decoded` agrees with the samples of the block in every bit that was decoded.
bool is_prefix_of_truth(const TestBlock& block, const DecodedBlock& decoded) {
  for (size_t i = 0; i < block.count(); ++i) {
    const uint32_t m = decoded.magnitudes[i];
    if (m == 0) continue;
    if (m >> decoded.last_plane[i] != block.magnitude(i) >> decoded.last_plane[i]) return false;
    if ((decoded.negative[i] != 0) != block.negative(i)) return false;
  }
  return true;
}

/// Encodes, and checks what must hold for every block.
void check_block(const TestBlock& source, const Tier1Block& b, TestOutput& output) {
  Tier1Output& out = output.out;
  ref::encode_block(b, out);
  REQUIRE(out.num_passes == (b.bit_planes == 0 ? 0 : 3 * b.bit_planes - 2));
  if (out.num_passes == 0) {
    CHECK(out.num_bytes == 0);
    return;
  }
  REQUIRE(out.passes[out.num_passes - 1].length_bytes == out.num_bytes);

  const uint32_t all = static_cast<uint32_t>(out.num_bytes);
  const DecodedBlock whole =
      decode(b, Cut(out, b.style, out.num_passes, all, false), out.num_passes);
  REQUIRE(whole.segmentation_ok);
  if (b.style & CJ2K_STYLE_PTERM) REQUIRE(whole.predictable);
  for (size_t i = 0; i < source.count(); ++i) {
    REQUIRE(whole.magnitudes[i] == source.magnitude(i));
    if (source.magnitude(i) != 0) REQUIRE((whole.negative[i] != 0) == source.negative(i));
  }

  for (int pass = 0; pass < out.num_passes; ++pass) {
    INFO("pass ", pass, " of ", out.num_passes);
    const bool terminates =
        pass + 1 == first_of_segment(b.style, pass) +
                        test::passes_of_segment(b.style, first_of_segment(b.style, pass));
    REQUIRE(pass_terminates(b.style, pass) == terminates);
    const uint32_t length = out.passes[pass].length_bytes;
    REQUIRE(out.passes[pass].plane == b.bit_planes - 1 - (pass + 2) / 3);
    if (pass > 0) REQUIRE(length >= out.passes[pass - 1].length_bytes);
    const bool open = !terminates && pass + 1 < out.num_passes;
    const bool with_tail = open && (b.style & CJ2K_STYLE_PTERM) != 0;
    // A contribution to a packet must not end in 0xFF: the byte after it could make it a marker.
    if (length > 0) REQUIRE(out.bytes[length - 1] != 0xFF);
    const Cut cut(out, b.style, pass + 1, length, with_tail);
    if (length > 0) REQUIRE(cut.bytes[length - 1] != 0xFF);
    for (const Bytes segment : cut.segments) {
      for (size_t i = 1; i < segment.size(); ++i) {
        if (segment[i - 1] == 0xFF) REQUIRE(segment[i] <= 0x8F);
      }
    }
    // The reference: all bytes of the segment, but only these passes are decoded. Then the end of
    // the segment does not matter.
    const uint32_t end_of_segment = [&] {
      int end = pass;
      while (end + 1 < out.num_passes && !pass_terminates(b.style, end)) ++end;
      return out.passes[end].length_bytes;
    }();
    const DecodedBlock expected =
        decode(b, Cut(out, b.style, pass + 1, end_of_segment, false), pass + 1);
    REQUIRE(is_prefix_of_truth(source, expected));
    const DecodedBlock decoded = decode(b, cut, pass + 1);
    REQUIRE(decoded == expected);
    check_own_decoder(b, cut, pass + 1, decoded);
    // A tail that was replaced by that of the next pass also holds that pass's symbols.
    if (with_tail && length < out.passes[pass + 1].length_bytes) REQUIRE(decoded.predictable);
  }
}

std::string style_name(uint32_t style) {
  static constexpr const char* kNames[] = {"BYPASS", "RESET", "TERMALL", "VSC", "PTERM", "SEGSYM"};
  std::string name;
  for (int i = 0; i < 6; ++i) {
    if (style >> i & 1) name += std::string(" ") + kNames[i];
  }
  return name;
}

TEST_CASE("block decoder: the code-blocks of T.800 J.10.1") {
  struct Example {
    Orientation orientation;
    int height, planes, passes;
    std::vector<uint8_t> bytes;
    std::vector<int> values;
  };
  for (const Example& e :
       {Example{kLL, 5, 6, 16, {0x01, 0x8F, 0x0D, 0xC8, 0x75, 0x5D}, {-26, -22, -30, -32, -19}},
        Example{kLH, 4, 3, 7, {0x0F, 0xB1, 0x76}, {1, 5, 1, 0}}}) {
    const DecodedBlock decoded =
        BlockDecoder(1, e.height, e.orientation, 0, e.planes).decode({Bytes(e.bytes)}, e.passes);
    std::vector<uint32_t> samples(static_cast<size_t>(16 * e.height));
    for (int y = 0; y < e.height; ++y) {
      const size_t i = static_cast<size_t>(y);
      const int value = static_cast<int>(decoded.magnitudes[i]) * (decoded.negative[i] ? -1 : 1);
      CHECK(value == e.values[i]);
      samples[16 * i] =
          static_cast<uint32_t>(std::abs(e.values[i])) | (e.values[i] < 0 ? uint32_t{1} << 31 : 0);
    }
    TestOutput output;
    ref::encode_block({samples.data(), 16, 1, e.height, e.orientation, 0, true, e.planes},
                      output.out);
    CHECK(output.out.num_passes == e.passes);
    // The end of the bytes in the standard's example is less tight.
    CHECK(output.out.num_bytes <= e.bytes.size());
    CHECK(std::memcmp(output.out.bytes, e.bytes.data(), output.out.num_bytes - 1) == 0);
  }
}

TEST_CASE("tier-1: all styles decode, whole and cut after every pass") {
  TestOutput output;
  struct Size {
    int width, height;
  };
  uint64_t seed = 0;
  for (const Size size : {Size{1, 1}, Size{1, 7}, Size{9, 1}, Size{3, 5}, Size{4, 4}, Size{17, 6},
                          Size{16, 16}, Size{33, 11}}) {
    for (uint32_t style = 0; style < 64; ++style) {
      for (const Fill fill : test::kFills) {
        ++seed;
        const int planes =
            1 + static_cast<int>(seed * 7 % (size.width * size.height < 40 ? 31 : 9));
        const Orientation orientation = kOrientations[seed / 3 % 4];
        const TestBlock source(size.width, size.height, planes, fill, seed);
        INFO(size.width, "x", size.height, " styles", style_name(style), " fill ",
             static_cast<int>(fill), " planes ", source.bit_planes(), " seed ", seed);
        check_block(source, source.block(orientation, style, seed % 2 != 0), output);
      }
    }
  }
}

TEST_CASE("tier-1: large blocks and many planes decode") {
  TestOutput output;
  uint64_t seed = 1000;
  struct Case {
    int width, height, planes;
    uint32_t style;
  };
  for (const Case c :
       {Case{64, 64, 7, 0}, Case{64, 64, 6, 63}, Case{1024, 4, 5, 1}, Case{4, 1024, 5, 16 + 8},
        Case{1024, 1, 4, 0}, Case{1, 1024, 4, 2 + 1}, Case{8, 8, 31, 1}, Case{8, 8, 31, 16 + 1},
        Case{5, 6, 31, 4 + 1 + 2}, Case{32, 32, 12, 8 + 32}}) {
    for (const Fill fill : {Fill::kLaplacian, Fill::kUniform, Fill::kOnes}) {
      const TestBlock source(c.width, c.height, c.planes, fill, ++seed);
      INFO(c.width, "x", c.height, " styles", style_name(c.style), " fill ",
           static_cast<int>(fill));
      check_block(source, source.block(kOrientations[seed % 4], c.style, true), output);
    }
  }
}

/// One segment in 256 ends in 0xFF. Styles with many segments show it.
TEST_CASE("tier-1: no cut ends in 0xFF") {
  TestOutput output;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    for (const uint32_t style : {1u, 1u + 16u, 16u, 4u + 1u, 0u}) {
      const TestBlock source(8, 8, 12, Fill::kUniform, seed);
      const Tier1Block b = source.block(kLH, style, true);
      ref::encode_block(b, output.out);
      for (int pass = 0; pass < output.out.num_passes; ++pass) {
        const uint32_t length = output.out.passes[pass].length_bytes;
        INFO("seed ", seed, " styles", style_name(style), " pass ", pass);
        if (length > 0) REQUIRE(output.out.bytes[length - 1] != 0xFF);
      }
    }
  }
}

TEST_CASE("tier-1: lengths are the shortest, by brute force") {
  TestOutput output;
  Tier1Output& out = output.out;
  for (const uint32_t style : {0u, 1u, 2u, 4u, 8u, 32u, 1u + 4u, 1u + 2u}) {
    size_t points = 0, slack = 0, loose = 0, kept = 0;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const TestBlock source(16, 16, 7, Fill::kLaplacian, seed);
      const Tier1Block b = source.block(kOrientations[seed % 4], style, true);
      ref::encode_block(b, out);
      for (int pass = 0; pass < out.num_passes; ++pass) {
        const int first = first_of_segment(style, pass);
        const uint32_t begin = first > 0 ? out.passes[first - 1].length_bytes : 0;
        const uint32_t length = out.passes[pass].length_bytes;
        const DecodedBlock expected = decode(b, Cut(out, style, pass + 1, length, false), pass + 1);
        REQUIRE(is_prefix_of_truth(source, expected));
        // Every length where that is quick, otherwise only those near the end.
        uint32_t shortest = length;
        for (uint32_t l = seed == 0 || length < begin + 8 ? begin : length - 8; l < length; ++l) {
          if (decode(b, Cut(out, style, pass + 1, l, false), pass + 1) == expected) {
            shortest = l;
            break;
          }
        }
        ++points;
        slack += length - shortest;
        loose += length != shortest;
        kept += length;
      }
    }
    MESSAGE("styles" << style_name(style) << ": " << points << " truncation points, " << loose
                     << " loose, mean slack "
                     << static_cast<double>(slack) / static_cast<double>(points) << " bytes (of "
                     << kept / points << ")");
    CHECK(slack * 2 < points);
  }
}

/// The squared error of the picture after these passes, in quarters of squared units. The decoder
/// takes the middle of each interval. Irreversible samples are in the middle of their unit.
__int128 squared_error_4(const TestBlock& source, const DecodedBlock& decoded, bool reversible) {
  __int128 sum = 0;
  for (size_t i = 0; i < source.count(); ++i) {
    const int64_t value = 2 * static_cast<int64_t>(source.magnitude(i)) + (reversible ? 0 : 1);
    int64_t middle = 0;
    if (decoded.magnitudes[i] != 0) {
      const int plane = decoded.last_plane[i];
      const int64_t width = reversible && plane == 0 ? 0 : int64_t{1} << plane;
      middle = 2 * static_cast<int64_t>(decoded.magnitudes[i]) + width;
    }
    sum += static_cast<__int128>(value - middle) * (value - middle);
  }
  return sum;
}

TEST_CASE("tier-1: distortions are the squared error removed") {
  TestOutput output;
  Tier1Output& out = output.out;
  for (uint64_t seed = 0; seed < 3 * 62; ++seed) {
    const bool reversible = seed % 2 == 0;
    const int planes = 1 + static_cast<int>(seed / 2 % kMaxBitPlanes);
    const TestBlock source(13, 10, planes, test::kFills[seed % std::size(test::kFills)], seed);
    const Tier1Block b = source.block(kOrientations[seed % 4], seed % 64 & ~17u, reversible);
    ref::encode_block(b, out);
    __int128 before = 0;
    for (size_t i = 0; i < source.count(); ++i) {
      const int64_t value = 2 * static_cast<int64_t>(source.magnitude(i)) + (reversible ? 0 : 1);
      before += static_cast<__int128>(value) * value;
    }
    for (int pass = 0; pass < out.num_passes; ++pass) {
      const DecodedBlock decoded =
          decode(b, Cut(out, b.style, pass + 1, out.passes[pass].length_bytes, false), pass + 1);
      const __int128 after = squared_error_4(source, decoded, reversible);
      const int plane = out.passes[pass].plane;
      static_assert(kDistortionOne == 4);
      const __int128 told = static_cast<__int128>(out.passes[pass].distortion) << plane;
      const __int128 exact = before - after;
      INFO("seed ", seed, " pass ", pass, " plane ", plane, " reversible ", reversible, " told ",
           static_cast<double>(told), " exact ", static_cast<double>(exact));
      REQUIRE(told == exact);
      before = after;
    }
    // All that is left is the half unit of zero samples, if irreversible.
    int zeros = 0;
    for (size_t i = 0; i < source.count(); ++i) zeros += source.magnitude(i) == 0;
    REQUIRE(before == (reversible ? 0 : zeros));
  }
}

}  // namespace
}  // namespace cj2k
