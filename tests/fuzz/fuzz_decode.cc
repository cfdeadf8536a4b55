// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes -> the block decoders and the packet reader behind verify = 1. Every result is right except a
// crash or a hang. An empty corpus folder gets codestreams to start from.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coders/ebcot/block_decoder.h"
#include "coders/ht/block_decoder.h"
#include "core/ebcot/coding_passes.h"
#include "params/params.h"
#include "run/frame_proof.h"
#include "seeds.h"

namespace {

using namespace cj2k;

using cj2k_fuzz::must;
using cj2k_fuzz::Settings;

/// Plans whose frames are read, by the first byte of the input.
const std::vector<Settings> kSettings = {
    {{"lossless", "1"}, {"plt", "1"}},
    {{"layers", "3"}, {"tile", "20x30"}, {"sop", "1"}, {"eph", "1"}, {"cblk_style", "vsc"}},
    {{"cblk", "8x8"}, {"precincts", "16x16"}, {"progression", "rpcl"}, {"levels", "2"}},
    {{"tile_parts", "component"}, {"progression", "cprl"}, {"cblk_style", "bypass+termall"}},
    {{"coder", "ht"}, {"layers", "2"}, {"format", "jp2"}},
};

class Reader {
 public:
  explicit Reader(size_t settings) {
    cj2k_params p, resolved;
    set_default_params(&p);
    p.width = cj2k_fuzz::kWidth;
    p.height = cj2k_fuzz::kHeight;
    p.gop = p.verify = 1;
    for (const auto& [key, value] : kSettings[settings])
      must(set_param(&p, key, value, Log()) == Status::kOk);
    must(resolve_params(p, Log(), &resolved) == Status::kOk);
    must(make_plan(resolved, Log(), &plan_) == Status::kOk);
    proof_ = std::make_unique<FrameProof>(plan_, 1);
    sums_.blocks.resize(plan_.blocks.size());
  }
  void read(std::span<const uint8_t> frame) {
    char why[160];
    proof_->prove(frame, 0, sums_, why);
  }

 private:
  Plan plan_;
  std::unique_ptr<FrameProof> proof_;
  FrameSums sums_;
};

void read_frame(size_t settings, std::span<const uint8_t> frame) {
  static std::array<std::unique_ptr<Reader>, 5> readers;
  if (readers[settings] == nullptr) readers[settings] = std::make_unique<Reader>(settings);
  readers[settings]->read(frame);
}

/// Sizes of blocks, which are not all multiples of four.
constexpr std::pair<int, int> kSizes[] = {{64, 64},  {1, 1},    {3, 7},   {5, 64},
                                          {1024, 4}, {4, 1024}, {37, 30}, {1, 1000}};

void decode_ebcot(std::span<const uint8_t> bytes, uint8_t a, uint8_t b, uint8_t c) {
  static EbcotDecoder decoder;
  std::array<uint32_t, 4096> samples;
  const auto [width, height] = kSizes[a % 8];
  const uint32_t style = b % 64;
  const int planes = 1 + c % 31;
  std::vector<CodedSegment> segments;
  int pass = 0;
  while (pass < num_passes_of(planes) && segments.size() < 100) {
    int last = pass;
    while (last + 1 < num_passes_of(planes) && !pass_terminates(style, last)) ++last;
    // The first byte of what is left says how much of it the segment has.
    const size_t most = bytes.size(), size = most == 0 ? 0 : std::min<size_t>(bytes[0], most);
    segments.push_back({bytes.first(has_segments(style) ? size : most), last + 1 - pass});
    bytes = bytes.subspan(segments.back().bytes.size());
    pass = last + 1;
  }
  decoder.decode({width, height, static_cast<Orientation>(a >> 3 & 3), style, planes}, segments,
                 samples.data());
}

void decode_ht(std::span<const uint8_t> bytes, uint8_t a, uint8_t b, uint8_t c) {
  static HtDecoder decoder;
  std::array<uint32_t, 4096> samples;
  const auto [width, height] = kSizes[a % 8];
  const int plane = c % 31, passes = plane == 0 ? 1 : 1 + b % 3;
  const size_t cleanup = bytes.size() * (256u - (a >> 3)) / 256;
  decoder.decode({width, height, plane, passes, (b & 64) != 0}, bytes.first(cleanup),
                 bytes.subspan(cleanup), samples.data());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  cj2k_fuzz::write_seeds(*argc, *argv, kSettings, [](size_t i, std::vector<uint8_t> frame) {
    frame.insert(frame.begin(), {static_cast<uint8_t>(i), 0, 0, 0});
    return frame;
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::span<const uint8_t> bytes(data + 4, size - 4);
  switch (data[0] % 8) {
    case 5:
    case 6:
      decode_ebcot(bytes, data[1], data[2], data[3]);
      break;
    case 7:
      decode_ht(bytes, data[1], data[2], data[3]);
      break;
    default:
      read_frame(data[0] % 8, bytes);
  }
  return 0;
}
