// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/block_recoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "coders/hull.h"

namespace cj2k::transcoding {
namespace {

constexpr uint32_t kSign = 0x80000000u;
constexpr ptrdiff_t kColumns = 16;  ///< rows of samples are a multiple of this long
constexpr int kMostHtPlanes = 30;   ///< of HtSamples

/// What a decoder assumes after the end of a segment (D.4.1). A segment of T.800 without bytes is
/// legal, but Grok 10 takes a packet that ends with one for truncated.
constexpr uint8_t kImpliedBytes[] = {0xFF, 0x7F};

}  // namespace

// Only what blocks need of this memory is touched.
BlockRecoder::BlockRecoder(Shared& shared)
    : shared_(shared),
      samples_(new uint32_t[static_cast<size_t>(kColumns) * kMaxBlockSide + kMaxBlockSamples]),
      bytes_(new uint8_t[kMaxBlockBytes + 1]) {}

BlockRecoder::Known BlockRecoder::known_of(int passes, const ReadBlockDecoder::Shape& shape) {
  if (shape.coding.is_ht) return {shape.planes - 1 - (passes > 1 ? 1 : 0), passes - 1};
  const int lowest = shape.planes - num_planes_begun(passes);
  switch (pass_kind(passes - 1)) {
    case PassKind::kSignificance:
      return {lowest, 1};
    case PassKind::kRefinement:
      return {lowest, 2};
    default:
      return {lowest, 0};
  }
}

const char* BlockRecoder::begin(const PacketBlocks& packets, const ReadBlock& block,
                                ReadBlockDecoder::Shape shape, const Band& band, bool to_ht,
                                RecodedBlock& out) {
  out = {};
  has_task_ = false;
  if (block.passes == 0) return nullptr;
  shape_ = shape;
  if (shape.planes > kMaxBitPlanes) return "it has more than 31 bit-planes";
  const uint32_t* const decoded = shared_.decoded;
  if (!shared_.decoder.decode(packets, block, shape, shared_.decoded))
    return "its bytes are damaged";
  Known known = known_of(block.passes, shape);
  uint32_t all = 0;
  for (int i = 0; i < shape.width * shape.height; ++i) all |= decoded[i] & ~kSign;
  if (all == 0) return nullptr;
  // A significance pass that found no sample: it adds to what is known of zeros alone.
  if (known.more == 1 && (all >> known.lowest & 1) == 0) known = {known.lowest + 1, 0};
  bit_planes_ = std::bit_width(all >> known.lowest);
  // The error of a cut is that of the middle of what is known. Where a significance pass is the last one,
  // samples of the planes above are known to one plane less than others, so one more plane is needed to
  // say so. None of the passes that are kept sees it.
  has_middles_ = band.weight > 0 && known.more == 1 && bit_planes_ < kMaxBitPlanes;
  stride_ = (shape.width + kColumns - 1) / kColumns * kColumns;
  for (int y = 0; y < shape.height; ++y) {
    uint32_t* const row = samples_.get() + y * stride_;
    for (int x = 0; x < shape.width; ++x) {
      const uint32_t sample = decoded[y * shape.width + x];
      uint32_t magnitude = (sample & ~kSign) >> known.lowest;
      if (has_middles_ && magnitude > 0)
        magnitude = magnitude > 1 ? 2 * magnitude + 2 : 2 * magnitude + 1;
      row[x] = magnitude | (sample & kSign);
    }
    std::fill(row + shape.width, row + stride_, 0u);
  }
  if (known.lowest + bit_planes_ > band.most_planes) return "it has more bit-planes than QCD says";
  if (to_ht) {
    const char* const why = code_ht(known, band.most_planes, out);
    if (why == nullptr) end_layers(packets, block, known, band.has_layers, true, out);
    return why;
  }
  packets_ = &packets;
  read_ = &block;
  band_ = band;
  known_ = known;
  block_ = {samples_.get(),
            stride_,
            shape.width,
            shape.height,
            shape.orientation,
            shape.coding.style & CJ2K_STYLE_VSC,
            has_middles_ || (band.is_reversible && known.lowest == 0),
            bit_planes_ + (has_middles_ ? 1 : 0)};
  coded_ = {bytes_.get() + 1, passes_, tails_, 0, 0};
  has_task_ = true;
  return nullptr;
}

int BlockRecoder::num_passes(const Known& known, const Known& whole) const {
  const int planes = whole.lowest + bit_planes_ - known.lowest;
  if (planes <= 0) return 0;
  return std::max(num_passes_of(planes) - (known.more == 0 ? 0 : 3 - known.more), 0);
}

/// At least `least` bytes of a block of T.800, as a packet may end with them: not with 0xFF, and not
/// without any, because Grok 10 takes such a packet for truncated.
uint32_t BlockRecoder::prefix_of(const RecodedBlock& block, uint32_t least) {
  uint32_t bytes = std::clamp(least, 1u, block.first_bytes);
  while (bytes < block.first_bytes && block.bytes[bytes - 1] == 0xFF) ++bytes;
  return bytes;
}

/// The passes of each layer are those that tell as much as the layers of the input. A block of HT is whole
/// in the first of them: it is one set of passes, and OpenJPEG 2.5 does not read a cleanup pass that is
/// refined in a later layer.
void BlockRecoder::end_layers(const PacketBlocks& packets, const ReadBlock& block,
                              const Known& whole, bool has_layers, bool to_ht,
                              RecodedBlock& out) const {
  if (!has_layers) {
    out.ends.reset(new LayerEnd[1]{{0, out.passes, out.num_bytes()}});
    out.num_ends = 1;
    return;
  }
  LayerEnd ends[kMaxPasses];
  int passes = 0, last = 0;
  for (uint32_t p = block.first_piece; p != kNoPiece; p = packets.pieces()[p].next) {
    const ReadPiece& piece = packets.pieces()[p];
    passes += piece.passes;
    const Known known = known_of(passes, shape_);
    int of_layer = std::min<int>(num_passes(known, whole), out.passes);
    if (of_layer == 0) continue;
    if (to_ht) of_layer = out.passes;
    if (of_layer == last) continue;
    uint32_t bytes = out.num_bytes();
    if (of_layer < out.passes) bytes = prefix_of(out, passes_[of_layer - 1].length_bytes);
    // A packet has several pieces of a block where it has several segments.
    if (out.num_ends > 0 && ends[out.num_ends - 1].layer == piece.layer) --out.num_ends;
    ends[out.num_ends++] = {piece.layer, static_cast<uint8_t>(of_layer), bytes};
    last = of_layer;
  }
  out.ends.reset(new LayerEnd[out.num_ends]);
  std::copy_n(ends, out.num_ends, out.ends.get());
}

const char* BlockRecoder::code_ht(const Known& known, int most_planes, RecodedBlock& out) {
  if (bit_planes_ > kMostHtPlanes) return "it has more bit-planes than are supported with HT";
  const HtSamples samples{samples_.get(), stride_, shape_.width, shape_.height};
  const int plane = known.more > 0 ? 1 : 0;
  const uint32_t bytes = simd::ht_cleanup(samples, plane, shared_.cleanup);
  HtRefinement refinement{};
  if (known.more > 0) {
    const bool is_causal = (shape_.coding.style & CJ2K_STYLE_VSC) != 0;
    refinement = simd::ht_refinement(samples, plane, is_causal, true, shared_.sig_prop,
                                     known.more > 1 ? shared_.both : nullptr);
  }
  out.zero_bit_planes = static_cast<uint8_t>(most_planes - 1 - known.lowest - plane);
  const uint32_t rest = known.more > 1 ? refinement.both_bytes : refinement.sig_prop_bytes;
  out.passes = static_cast<uint8_t>(1 + known.more);
  keep(shared_.cleanup, bytes, known.more > 1 ? shared_.both : shared_.sig_prop, rest, out);
  return nullptr;
}

void BlockRecoder::end(RecodedBlock& out) {
  const Known& known = known_;
  const int passes = num_passes(known, known);
  out.zero_bit_planes = static_cast<uint8_t>(band_.most_planes - known.lowest - bit_planes_);
  out.passes = static_cast<uint8_t>(passes);
  const uint32_t bytes = passes_[passes - 1].length_bytes;
  if (bytes == 0)
    keep(kImpliedBytes, sizeof kImpliedBytes, nullptr, 0, out);
  else
    keep(coded_.bytes, bytes, nullptr, 0, out);
  end_layers(*packets_, *read_, known, band_.has_layers, false, out);
  if (band_.weight == 0) return;
  HullPoint hull[kMaxPasses];
  double total = 0;
  const double weight = std::ldexp(band_.weight, 2 * (known.lowest - (has_middles_ ? 1 : 0)));
  const int count = build_hull(passes_, passes, weight, true, hull, &total);
  hull[count - 1].length_bytes = out.first_bytes;
  out.cuts.reset(new HullPoint[static_cast<size_t>(count)]);
  std::copy_n(hull, count, out.cuts.get());
  out.num_cuts = static_cast<uint8_t>(count);
}

void BlockRecoder::keep(const uint8_t* first, uint32_t first_bytes, const uint8_t* rest,
                        uint32_t rest_bytes, RecodedBlock& out) const {
  out.bytes.reset(new uint8_t[size_t{first_bytes} + rest_bytes]);
  std::memcpy(out.bytes.get(), first, first_bytes);
  if (rest_bytes > 0) std::memcpy(out.bytes.get() + first_bytes, rest, rest_bytes);
  out.first_bytes = first_bytes;
  out.rest_bytes = rest_bytes;
}

}  // namespace cj2k::transcoding
