// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Faults planted between what is coded and what leaves the encoder: verify must name each one.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "depth/early_stop.h"
#include "packets/packet_writer.h"
#include "params/params.h"
#include "rate/rate.h"
#include "run/frame_proof.h"
#include "support/encode.h"
#include "support/picture.h"

namespace cj2k {
namespace {

using test::Content;
using Settings = std::vector<std::pair<const char*, std::string>>;

Plan plan_of(const Settings& settings) {
  cj2k_params params = test::make_params(150, 110);
  for (const auto& [name, value] : settings) test::set(params, name, value);
  params.verify = params.gop = 1;
  cj2k_params resolved;
  Plan plan;
  REQUIRE(resolve_params(params, Log(), &resolved) == Status::kOk);
  REQUIRE(make_plan(resolved, Log(), &plan) == Status::kOk);
  return plan;
}

/// A frame that is coded on the CPU in this thread, as gop.cc does.
struct CodedFrame {
  explicit CodedFrame(const Settings& settings)
      : plan(plan_of(settings)),
        memory(test::make_picture(plan.params, Content::kTexture, 7)),
        backend(make_cpu_backend(plan)),
        writer(plan),
        proof(plan, 1) {
    scratch.emplace_back(plan);
    rate.emplace(plan, scratch);
    const BlockSample sample(plan);
    cj2k_stats stats{};
    const uint32_t number = 0;
    FrameProof::sum_samples(plan, memory.frame, sums);
    REQUIRE(backend->make_gop_work(&work) == Status::kOk);
    REQUIRE(backend->ingest(memory.frame, *work, 0, stats) == Status::kOk);
    REQUIRE(backend->transform(*work, {&number, 1}, &stats) == Status::kOk);
    EarlyStop stop(plan, sample);
    stop.begin(0, *rate, {});
    do {
      BlockRequest request = stop.request();
      REQUIRE(backend->code_blocks(*work, {&request, 1}, sample, &stats) == Status::kOk);
      stop.take(request);
      rate->set_step_set(request.step_set);
      rate->allocate(work->blocks(0));
    } while (stop.goes_on(work->blocks(0), *rate));
    CoefficientPlanes planes(plan);
    REQUIRE(backend->coefficients(*work, 0, &planes) == Status::kOk);
    FrameProof::sum_blocks(plan, planes, rate->selection(), sums);
    bytes = write(rate->selection());
  }
  std::vector<uint8_t> write(const Selection& selection) {
    for (uint32_t p = 0; p < plan.precincts.size(); ++p)
      writer.encode_headers(selection, p, scratch[0]);
    std::vector<uint8_t> out(writer.padded_bytes(0));
    REQUIRE(writer.write(selection, out, 0) == out.size());
    return out;
  }
  Proof prove(const std::vector<uint8_t>& of) {
    why[0] = '\0';
    return proof.prove(of, rate->selection().step_set, sums, why);
  }

  const Plan plan;
  const test::FrameMemory memory;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<GopWork> work;
  std::vector<PacketScratch> scratch;
  std::optional<RateControl> rate;
  PacketWriter writer;
  FrameProof proof;
  FrameSums sums;
  std::vector<uint8_t> bytes;
  char why[160];
};

const Settings kSettings[] = {
    {{"lossless", "1"}, {"comment", ""}},
    {{"lossless", "1"}, {"format", "jp2"}, {"layers", "4"}, {"tile", "64x48"}, {"plt", "1"}},
    {{"target_bytes", "9000"}, {"sop", "1"}, {"eph", "1"}, {"cblk", "16x16"}},
    {{"target_bytes", "9000"}, {"effort", "2"}, {"cblk", "16x16"}, {"comment", ""}},
    {{"target_bytes", "9000"}, {"cblk_style", "bypass+termall+vsc+segsym+reset"}, {"comment", ""}},
    {{"target_bytes", "9000"}, {"cblk_style", "bypass+pterm"}, {"layers", "3"}, {"comment", ""}},
    {{"lossless", "1"}, {"coder", "ht"}, {"comment", ""}},
    {{"target_bytes", "9000"}, {"coder", "ht"}, {"effort", "2"}, {"cblk", "16x16"}},
    {{"target_bytes", "9000"}, {"coder", "ht"}, {"layers", "3"}, {"cblk", "32x32"}},
};

TEST_CASE("verify: what is coded is proved") {
  for (const Settings& settings : kSettings) {
    CodedFrame frame(settings);
    const bool lossless = settings[0].first == std::string("lossless");
    CHECK(frame.prove(frame.bytes) == (lossless ? Proof::kSamples : Proof::kBlocks));
    CHECK(frame.why == std::string());
  }
}

TEST_CASE("verify: a changed bit, a missing byte and an added one are named") {
  int named = 0, harmless = 0;
  for (const Settings& settings : kSettings) {
    CodedFrame frame(settings);
    test::Random random(3);
    for (int i = 0; i < 150; ++i) {
      std::vector<uint8_t> bytes = frame.bytes;
      const auto at = static_cast<size_t>(random.range(0, static_cast<int>(bytes.size()) - 1));
      if (i % 3 == 0) {
        bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at));
      } else if (i % 3 == 1) {
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), bytes[at / 2]);
      } else {
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1 << random.range(0, 7));
      }
      CAPTURE(i);
      CAPTURE(at);
      if (frame.prove(bytes) == Proof::kNone) {
        ++named;
        CHECK(frame.why[0] != '\0');
        continue;
      }
      // Bits that no decoder looks at: of comments, after the last pass of a codeword segment, and
      // of the entries of PLT.
      ++harmless;
      CHECK(i % 3 == 2);
    }
  }
  MESSAGE(named << " named, " << harmless << " of bits that change no picture");
  CHECK(named > 1240);
}

/// Writes the frame anew, with one block changed.
/// @param change  of the block and of its number of points
template <typename Change>
Proof prove_changed(CodedFrame& frame, const Change& change) {
  const Selection& right = frame.rate->selection();
  const size_t count = frame.plan.blocks.size();
  std::vector<uint8_t> points(right.final_points, right.final_points + count);
  std::vector<CodedBlock> blocks(right.blocks, right.blocks + count);
  const auto most = std::max_element(points.begin(), points.end()) - points.begin();
  change(blocks[static_cast<size_t>(most)], points[static_cast<size_t>(most)]);
  Selection wrong = right;
  wrong.contributions = nullptr;
  wrong.final_points = points.data();
  wrong.blocks = blocks.data();
  return frame.prove(frame.write(wrong));
}

TEST_CASE("verify: faults of the encoder are named") {
  for (const Settings& settings : kSettings) {
    CodedFrame frame(settings);
    CHECK(prove_changed(frame, [](CodedBlock&, uint8_t&) {}) != Proof::kNone);
    CHECK(prove_changed(frame, [](CodedBlock&, uint8_t& points) { --points; }) == Proof::kNone);
    CHECK(std::string(frame.why).find("code-block") == 0);
    const bool is_ht = frame.plan.params.coder == CJ2K_CODER_HT;
    if (!is_ht) {
      const auto plane = [](CodedBlock& block, uint8_t&) { ++block.zero_bit_planes; };
      CHECK(prove_changed(frame, plane) == Proof::kNone);
      std::vector<uint8_t> other(frame.bytes.size(), 0x55);
      const auto data = [&](CodedBlock& block, uint8_t&) { block.data = other.data(); };
      CHECK(prove_changed(frame, data) == Proof::kNone);
    }
    if (!frame.sums.is_whole) continue;
    frame.sums.rows[5] ^= 1;
    CHECK(frame.prove(frame.bytes) == Proof::kNone);
    CHECK(std::string(frame.why).find("not sent") != std::string::npos);
  }
}

}  // namespace
}  // namespace cj2k
