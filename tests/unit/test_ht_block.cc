// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "coders/ht/block_decoder.h"
#include "coders/ht/ht_block.h"
#include "core/distortion.h"
#include "core/ht/bit_streams.h"
#include "core/ht/cxt_vlc.h"
#include "core/ht/plane_choice.h"
#include "pixels/quantize.h"
#include "support/ht_decoder.h"
#include "support/test_blocks.h"

namespace cj2k {
namespace {

using test::TestBlock;
using Bytes = std::vector<uint8_t>;

/// A block with all of its segments at one cleanup plane.
struct CodedHt {
  Bytes cleanup, sig_prop, both;
  HtRefinement refinement{};
};
CodedHt code(const HtSamples& samples, int plane, bool causal, bool reversible = true) {
  CodedHt coded;
  coded.cleanup.resize(kMaxHtCleanupBytes);
  coded.cleanup.resize(ref::ht_cleanup(samples, plane, coded.cleanup.data()));
  if (plane == 0) return coded;
  coded.sig_prop.resize(kMaxHtRefinementBytes);
  coded.both.resize(kMaxHtRefinementBytes);
  coded.refinement = ref::ht_refinement(samples, plane, causal, reversible, coded.sig_prop.data(),
                                        coded.both.data());
  coded.sig_prop.resize(coded.refinement.sig_prop_bytes);
  coded.both.resize(coded.refinement.both_bytes);
  return coded;
}

uint32_t magnitude(uint32_t sample) { return sample & ~kSignBit; }
uint32_t largest(const HtSamples& s) {
  uint32_t all = 0;
  for (int y = 0; y < s.height; ++y) {
    for (int x = 0; x < s.width; ++x) all |= magnitude(s.data[y * s.stride + x]);
  }
  return all;
}

/// No two bytes above 0xFF8F, no 0xFF at the end.
bool obeys_marker_rule(const Bytes& bytes) {
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xFF && bytes[i + 1] > 0x8F) return false;
  }
  return bytes.empty() || bytes.back() != 0xFF;
}

/// Squared error of the decoded samples, in quarters.
double squared_error(const HtSamples& s, const std::vector<int64_t>& doubled, bool reversible) {
  double sum = 0;
  for (int y = 0; y < s.height; ++y) {
    for (int x = 0; x < s.width; ++x) {
      const double value = 2.0 * magnitude(s.data[y * s.stride + x]) + (reversible ? 0 : 1);
      const double off =
          value - static_cast<double>(std::llabs(doubled[static_cast<size_t>(y * s.width + x)]));
      sum += off * off;
    }
  }
  return sum;
}

/// Decodes 1, 2 and 3 passes. Every sample must be in the interval that the passes leave, and the
/// error must fall by just what the encoder says.
void check_block(const HtSamples& s, int plane, bool causal) {
  const CodedHt coded = code(s, plane, causal);
  CHECK(obeys_marker_rule(coded.cleanup));
  CHECK(obeys_marker_rule(coded.sig_prop));
  CHECK(obeys_marker_rule(coded.both));
  CHECK(coded.both.size() <= 2046);
  double before = 0;
  for (int passes = 1; passes <= (plane > 0 ? 3 : 1); ++passes) {
    const auto decoded =
        test::decode_ht_block(coded.cleanup, passes == 2 ? coded.sig_prop : coded.both, s.width,
                              s.height, passes, plane, causal);
    REQUIRE_MESSAGE(decoded.error == nullptr, decoded.error);
    static HtDecoder decoder;
    std::vector<uint32_t> own(static_cast<size_t>(s.width * s.height));
    REQUIRE(decoder.decode({s.width, s.height, plane, passes, causal}, coded.cleanup,
                           passes == 2 ? coded.sig_prop : coded.both, own.data()));
    int wrong = 0;
    for (int y = 0; y < s.height; ++y) {
      for (int x = 0; x < s.width; ++x) {
        const uint32_t sample = s.data[y * s.stride + x];
        const int64_t doubled = decoded.doubled[static_cast<size_t>(y * s.width + x)];
        // The library's own decoder gives the known bits alone.
        const auto known_bits = static_cast<uint64_t>(std::llabs(doubled) / 2);
        const uint64_t half =
            doubled == 0 ? 0 : uint64_t{1} << std::countr_zero(static_cast<uint64_t>(doubled)) >> 1;
        wrong += own[static_cast<size_t>(y * s.width + x)] !=
                 ((known_bits - half) | (doubled < 0 ? kSignBit : 0u));
        const bool refined =
            doubled != 0 && std::countr_zero(static_cast<uint64_t>(doubled)) < plane;
        const int known = refined ? plane - 1 : plane;
        const bool significant = magnitude(sample) >> known != 0;
        if (doubled == 0) {
          // MagRef reaches all samples above the plane; SigProp may leave some below it unknown.
          wrong += magnitude(sample) >> plane != 0;
          continue;
        }
        const int64_t expected = (2 * (int64_t{magnitude(sample)} >> known) + 1) << known;
        wrong += !significant || doubled != ((sample & kSignBit) != 0 ? -expected : expected);
        wrong += passes == 3 && !refined;
      }
    }
    CHECK(wrong == 0);
    const double error = squared_error(s, decoded.doubled, true);
    const int64_t removed = passes == 2   ? coded.refinement.sig_prop_distortion
                            : passes == 3 ? coded.refinement.mag_ref_distortion
                                          : 0;
    // At plane 0 the samples of the 5/3 are exact, and the decoder of this test adds a half. Above
    // 2^53 the sums of this test are rounded.
    if (passes > 1 && plane > 1 && before < 0x1p53)
      CHECK(before - error == std::ldexp(static_cast<double>(removed), plane - 1));
    before = error;
  }
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}
std::vector<int64_t> numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<int64_t> list;
  for (int64_t number = 0; in >> number;) list.push_back(number);
  return list;
}

}  // namespace

TEST_CASE("the CxtVLC code is complete and prefix-free in every context") {
  for (int table = 0; table < 2; ++table) {
    const std::span<const CxtVlcRow> rows =
        table == 0 ? std::span<const CxtVlcRow>(kCxtVlcFirstRows) : kCxtVlcOtherRows;
    for (uint8_t c = 0; c < 8; ++c) {
      int covered[128] = {};
      for (const CxtVlcRow& row : rows) {
        if (row.c_q != c) continue;
        for (int tail = 0; tail < 128 >> row.length; ++tail)
          ++covered[tail << row.length | row.codeword];
      }
      CHECK(std::all_of(covered, covered + 128, [](int n) { return n == 1; }));
      for (uint32_t rho = c == 0 ? 1 : 0; rho < 16; ++rho) {
        for (uint32_t eps = 0; eps < 16; ++eps) {
          const auto& words = table == 0 ? kCxtVlcFirst : kCxtVlcOther;
          CHECK((words[cxt_vlc_index(c, rho, eps)].length > 0) == ((eps & ~rho) == 0));
        }
      }
    }
  }
}

TEST_CASE("MEL: a run of zeros is the same as its events one by one") {
  uint8_t one_by_one[512], in_runs[512];
  MelBits a(one_by_one), b(in_runs);
  for (uint32_t run = 0; run < 90; ++run) {
    for (uint32_t i = 0; i < run; ++i) a.put_event(false);
    b.put_zeros(run);
    if (run % 7 == 3) continue;
    a.put_event(true);
    b.put_event(true);
  }
  a.finish();
  b.finish();
  REQUIRE(a.num_bytes() > 60);
  REQUIRE(a.num_bytes() == b.num_bytes());
  CHECK(std::equal(one_by_one, one_by_one + a.num_bytes(), in_runs));
  CHECK(a.last_byte() == b.last_byte());
  CHECK(a.free_bits() == b.free_bits());
}

TEST_CASE("HT: planes and passes at a slope") {
  // S = 2^n steps, by its definition.
  for (int n = 0; n < 8; ++n) {
    const double squared = std::ldexp(1.0, 2 * n) * 8 * std::log(2.0) / 6;
    const auto slope = static_cast<uint16_t>(log_slope(1.01 * squared, 1));
    CHECK(ht_lowest_plane(1.0, slope) == n);
    // The plane below it, if there is one, and two above.
    CHECK(ht_planes_at(1.0, {slope, slope}, 12).lowest == std::max(n - 1, 0));
    CHECK(ht_planes_at(1.0, {slope, slope}, 12).end == n + 3);
    CHECK(ht_planes_at(1.0, {slope, slope}, n + 1).end == n + 1);
    // Of a range of slopes, all planes.
    const auto high = static_cast<uint16_t>(slope + 2 * kHtPlaneSlopes);
    CHECK(ht_planes_at(1.0, {slope, high}, 12).lowest == std::max(n - 1, 0));
    CHECK(ht_planes_at(1.0, {slope, high}, 12).end == std::min(n + 5, 12));
    CHECK(ht_planes_at(1.0, {0, slope}, 12).lowest == 0);
    CHECK(ht_planes_at(1.0, {0, slope}, 12).end == 12);
    // Steps of 2^-(7/8) put S that much higher in steps.
    CHECK(ht_lowest_plane(1.0, slope, 7) == n);
    CHECK(ht_lowest_plane(1.0, static_cast<uint16_t>(slope + 64), 7) == n + 1);
  }
  CHECK(ht_lowest_plane(1.0, 0) == 0);
  CHECK(ht_passes(4, 3, HtPoints::kAll, 3) == 3);
  CHECK(ht_passes(3, 3, HtPoints::kAll, 3) == 2);
  CHECK(ht_passes(0, 0, HtPoints::kAll, 3) == 1);
  CHECK(ht_passes(4, 3, HtPoints::kEstimate, 3) == 1);
  CHECK(ht_passes(4, 3, HtPoints::kAll, 1) == 1);
}

/// A block of 4096 samples at planes 3 to 6, dense at the lowest. Each plane has a third of the
/// samples of the one below. Plane 5 removes `steep` per byte over plane 6, and each plane below it an
/// `octaves`th octave less.
struct PassesNear {
  HtBlockSums sums{4096, {1350, 450, 150, 50}, {}, {}};
  uint32_t bits(int k) const {
    return ht_plane_bits(sums.significant[k], k < 3 ? sums.significant[k + 1] : 0, sums.samples);
  }
  double bytes(int k) const { return bits(k) / 128 + 1; }
  explicit PassesNear(double per_byte, double ratio = 8) {
    double slope = per_byte, removed = 0;
    for (int k = 3; k >= 0; --k, slope /= ratio) sums.removed[k] = removed += slope * bytes(k);
  }
  /// The digits are the passes, from the lowest plane up.
  int at(int slope, int lowest = 3, int planes = 4, int most = 3) const {
    const HtPasses p = ht_passes_near(sums, slope, lowest, planes, most);
    return p.of[0] * 1000 + p.of[1] * 100 + p.of[2] * 10 + p.of[3];
  }
};

TEST_CASE("HT: the passes that a slope may choose") {
  const PassesNear block(512 * 64);
  const int step[] = {log_slope(64, 1), log_slope(512, 1), log_slope(512 * 8, 1),
                      log_slope(512 * 64, 1)};
  const int margin = ht_near(3);
  // Three octaves lie between the planes. At the slope of a step, the planes on both sides of it may be
  // chosen; the nearest plane with SigProp, because its own step is steep.
  CHECK(block.at(step[0]) == 1200);
  CHECK(block.at(step[1]) == 130);
  CHECK(block.at(step[2]) == 33);
  CHECK(block.at(step[3]) == 3);
  CHECK(block.at(step[3] + margin + 1) == 0);
  // Further away than ht_near, one of them.
  CHECK(block.at(step[0] + margin) == 1200);
  CHECK(block.at(step[0] + margin + 1) == 200);
  CHECK(block.at(step[0] - margin) == 1200);
  CHECK(block.at(step[0] - margin - 1) == 1000);
  CHECK(block.at(step[0] - kHtSteep - 1) == 2000);
  CHECK(block.at(step[0] - kHtSteep - 1, 0) == 1000);  // there is no plane below 0
  // At plane 0 there is none below the nearest one: the next one has MagRef.
  CHECK(block.at(step[1] - margin - 1, 0) == 300);
  // A flat plane before a steep one: the coarser plane may be chosen, too.
  PassesNear flat(512 * 64);
  flat.sums.removed[1] = flat.sums.removed[2] + 0.01;
  CHECK(flat.at(log_slope(200, 1)) % 1000 == 30);
  // MagRef at a plane that removes as much as the plane below.
  PassesNear refined(512 * 64);
  refined.sums.refined[2] = refined.sums.removed[1] - refined.sums.removed[2];
  CHECK(block.at(step[1] - margin - 1) == 100);
  CHECK(refined.at(step[1] - margin - 1) == 130);
  // Planes without samples are not there, nor those that remove no error.
  PassesNear empty(512 * 64);
  empty.sums.significant[3] = 0;
  CHECK(empty.at(step[3]) % 10 == 0);
  CHECK(ht_passes_near({16, {1, 0, 0, 0}, {-1, 0, 0, 0}, {}}, 24576, 0, 1, 3).of[0] == 0);
  // Cleanup passes alone: those of the same planes, but none for what MagRef would have added.
  CHECK(block.at(step[1], 3, 4, 1) == 110);
  CHECK(refined.at(step[1] - ht_near(1) - 1, 3, 4, 1) == 100);
}

TEST_CASE("HT blocks have the bytes of the model, and decode to its values") {
  std::ifstream file(CJ2K_SOURCE_DIR "/tests/unit/ht_vectors.tsv");
  REQUIRE(file.is_open());
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line[0] == 'w') continue;
    std::vector<std::string> fields(9);
    std::istringstream in(line);
    for (std::string& field : fields) std::getline(in, field, '\t');
    CAPTURE(line);
    const int width = std::stoi(fields[0]), height = std::stoi(fields[1]);
    const int plane = std::stoi(fields[2]);
    const bool causal = fields[3] == "1";
    std::vector<uint32_t> samples;
    for (const int64_t v : numbers(fields[4]))
      samples.push_back(static_cast<uint32_t>(std::llabs(v)) | (v < 0 ? kSignBit : 0));
    const HtSamples block{samples.data(), width, width, height};
    const CodedHt coded = code(block, plane, causal);
    CHECK(coded.cleanup == from_hex(fields[5]));
    CHECK(coded.sig_prop == from_hex(fields[6]));
    CHECK(coded.both == from_hex(fields[7]));
    const auto decoded = test::decode_ht_block(coded.cleanup, coded.both, width, height,
                                               plane > 0 ? 3 : 1, plane, causal);
    CHECK(decoded.doubled == numbers(fields[8]));
    ++count;
  }
  CHECK(count == 34);
}

TEST_CASE("HT blocks of random sizes and contents come back from every pass") {
  std::mt19937_64 random(13);
  constexpr int kBlocks = 11500;
  int coded = 0;
  for (int i = 0; i < kBlocks; ++i) {
    const int most = i % 100 == 0 ? 64 : i % 10 == 0 ? 24 : 9;
    const int width = 1 + static_cast<int>(random() % static_cast<uint64_t>(most));
    const int height = 1 + static_cast<int>(random() % static_cast<uint64_t>(most));
    const int planes = 1 + static_cast<int>(random() % (i % 4 == 0 ? 30 : 12));
    const TestBlock block(width, height, planes, test::kFills[i % 7], random());
    const HtSamples samples{block.samples().data(), block.stride(), width, height};
    const int bits = std::bit_width(largest(samples));
    if (bits == 0) continue;
    CAPTURE(i);
    check_block(samples, static_cast<int>(random() % static_cast<uint64_t>(bits)), i % 3 == 0);
    ++coded;
  }
  CHECK(coded > 10000);
}

TEST_CASE("HT blocks of every legal size, at every plane") {
  uint64_t seed = 1;
  for (int width = 4; width <= 1024; width *= 2) {
    for (int height = 4; height <= 1024 && width * height <= 4096; height *= 2) {
      for (const test::Fill fill : {test::Fill::kUniform, test::Fill::kLaplacian}) {
        const TestBlock block(width, height, 12, fill, ++seed);
        const HtSamples samples{block.samples().data(), block.stride(), width, height};
        const int bits = std::bit_width(largest(samples));
        CAPTURE(width);
        CAPTURE(height);
        const int step = width * height == 4096 ? 4 : 1;
        for (int plane = 0; plane < bits; plane += step) check_block(samples, plane, seed % 2 == 0);
      }
    }
  }
}

TEST_CASE("what an HT pass removes with the 9/7 counts the half that is unknown") {
  const TestBlock block(32, 32, 9, test::Fill::kLaplacian, 5);
  const HtSamples samples{block.samples().data(), block.stride(), 32, 32};
  const CodedHt coded = code(samples, 4, false, false);
  double before = 0;
  for (int passes = 1; passes <= 3; ++passes) {
    const auto decoded = test::decode_ht_block(
        coded.cleanup, passes == 2 ? coded.sig_prop : coded.both, 32, 32, passes, 4, false);
    const double error = squared_error(samples, decoded.doubled, false);
    if (passes == 2) CHECK(before - error == 8.0 * coded.refinement.sig_prop_distortion);
    if (passes == 3) CHECK(before - error == 8.0 * coded.refinement.mag_ref_distortion);
    before = error;
  }
}

TEST_CASE("a segment of SigProp alone may be cut after any byte") {
  const TestBlock block(32, 24, 10, test::Fill::kLaplacian, 9);
  const HtSamples samples{block.samples().data(), block.stride(), 32, 24};
  const CodedHt coded = code(samples, 5, false);
  const auto whole =
      test::decode_ht_block(coded.cleanup, coded.sig_prop, 32, 24, 2, 5, false).doubled;
  REQUIRE(coded.sig_prop.size() > 8);
  for (size_t bytes = 1; bytes < coded.sig_prop.size(); ++bytes) {
    const auto cut = test::decode_ht_block(coded.cleanup, std::span(coded.sig_prop).first(bytes),
                                           32, 24, 2, 5, false);
    REQUIRE(cut.error == nullptr);
    const auto first_off = std::mismatch(whole.begin(), whole.end(), cut.doubled.begin()).first;
    CHECK(first_off != whole.end());
  }
}

}  // namespace cj2k
