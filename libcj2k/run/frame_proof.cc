// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/frame_proof.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/parallel.h"
#include "packets/jp2.h"
#include "pixels/ingest.h"
#include "run/chosen_block.h"
#include "run/inverse.h"

namespace cj2k {
namespace {

constexpr size_t kBlockGrain = 4;
constexpr size_t kRowGrain = 16;

/// A hash of samples: every kSums-th goes to the same sum, because each step waits for the one before.
template <typename Sample>
uint64_t sum_of(const Sample* samples, size_t count) {
  constexpr size_t kSums = 4;
  constexpr uint64_t kFactor = 0xD6E8FEB86659FD93u;
  uint64_t sums[kSums] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (size_t k = 0; k < kSums; ++k)
      sums[k] = (sums[k] ^ static_cast<uint32_t>(samples[i + k])) * kFactor;
  }
  for (; i < count; ++i) sums[0] = (sums[0] ^ static_cast<uint32_t>(samples[i])) * kFactor;
  uint64_t all = 0;
  for (const uint64_t sum : sums) all = (all ^ sum ^ sum >> 32) * kFactor;
  return all ^ all >> 32;
}
uint64_t sum_of_block(const uint32_t* samples, const CodeBlock& block) {
  return sum_of(samples, size_t{block.width} * block.height);
}

/// Whether the caller's samples can come back.
bool proves_samples(const Plan& plan) { return plan.reversible && plan.params.xyz == CJ2K_XYZ_OFF; }
/// How many components a colour transform mixes, from `first` on.
uint32_t num_together(const Plan& plan, uint32_t first) {
  return first == 0 && plan.use_mct ? 3 : 1;
}
size_t num_rows(const Plan& plan) {
  size_t rows = 0;
  for (const TileComponent& tc : plan.tile_components)
    rows += static_cast<size_t>(tc.rect.height());
  return rows;
}

}  // namespace

struct FrameProof::Decoders {
  ReadBlockDecoder decoder;
  uint32_t samples[kMaxBlockSamples];
};

FrameProof::FrameProof(const Plan& plan, size_t workers)
    : plan_(plan),
      boxes_(plan.params.format == CJ2K_FORMAT_JP2 ? make_jp2_boxes(plan) : std::vector<uint8_t>()),
      reader_(plan) {
  for (uint32_t set = 0; set <= plan.finer_subbands.size(); ++set)
    headers_.push_back(make_main_header(plan, set));
  for (size_t i = 0; i < workers; ++i) decoders_.push_back(std::make_unique<Decoders>());
  if (!proves_samples(plan)) return;
  for (uint32_t c = 0; c < plan.components.size(); ++c) {
    const TileSize size = largest_tile(plan, c);
    tile_samples_.push_back(size.samples());
    planes_.emplace_back((size.samples() + scratch_samples(size)) * sizeof(int32_t));
  }
}

FrameProof::~FrameProof() = default;

int64_t FrameProof::bytes(const Plan& plan, size_t workers) {
  if (plan.params.verify == 0) return 0;
  size_t bytes = workers * (sizeof(Decoders) + (size_t{1} << 16));
  const auto gop = static_cast<size_t>(plan.params.gop);
  bytes += gop * plan.blocks.size() * sizeof(uint64_t);
  if (proves_samples(plan)) {
    bytes += gop * num_rows(plan) * sizeof(uint64_t);
    for (uint32_t c = 0; c < plan.components.size(); ++c) {
      const TileSize size = largest_tile(plan, c);
      bytes += (size.samples() + scratch_samples(size)) * sizeof(int32_t);
    }
  }
  return static_cast<int64_t>(bytes) + PacketReader::bytes(plan);
}

void FrameProof::sum_samples(const Plan& plan, const cj2k_frame& frame, FrameSums& sums) {
  sums.rows.clear();
  if (!proves_samples(plan) || frame.memory != CJ2K_MEMORY_HOST) return;
  sums.rows.resize(num_rows(plan));
  uint64_t* rows = sums.rows.data();
  for (const TileComponent& tc : plan.tile_components) {
    const Component& component = plan.components[tc.component];
    const cj2k_component_view& view = frame.components[tc.component];
    const auto width = static_cast<size_t>(tc.rect.width());
    const auto height = static_cast<size_t>(tc.rect.height());
    parallel_for(height, kRowGrain, [&](size_t begin, size_t end) {
      std::vector<int32_t> row(width);
      for (size_t y = begin; y < end; ++y) {
        const ptrdiff_t line = tc.rect.y0 - component.rect.y0 + static_cast<ptrdiff_t>(y);
        const ptrdiff_t column = tc.rect.x0 - component.rect.x0;
        const auto* data = static_cast<const uint8_t*>(view.data) + line * view.stride_bytes +
                           column * view.step_bytes;
        simd::ingest_row(component_row(plan, component, view, data), row.data(),
                         static_cast<int32_t>(width));
        rows[y] = sum_of(row.data(), width);
      }
    });
    rows += height;
  }
}

void FrameProof::sum_blocks(const Plan& plan, const CoefficientPlanes& coefficients,
                            const Selection& selection, FrameSums& sums) {
  sums.blocks.resize(plan.blocks.size());
  std::atomic<bool> is_whole = true;
  parallel_for(plan.blocks.size(), kBlockGrain, [&](size_t begin, size_t end) {
    uint32_t known[kMaxBlockSamples];
    for (size_t i = begin; i < end; ++i) {
      const CodeBlock& block = plan.blocks[i];
      const ChosenBlock chosen(plan, coefficients, selection, static_cast<uint32_t>(i));
      chosen.for_known([&](int x, int y, int lowest) {
        const int at = y * chosen.width + x;
        const uint32_t sample = chosen.samples[at];
        const uint32_t magnitude = (sample & ~kSignBit) >> lowest << lowest;
        known[at] = magnitude != 0 ? magnitude | (sample & kSignBit) : 0;
      });
      sums.blocks[i] = sum_of_block(known, block);
      if (!std::equal(known, known + chosen.width * chosen.height, chosen.samples))
        is_whole = false;
    }
  });
  sums.is_whole = is_whole;
}

/// Compares the main header with the one of the plan. Bytes after it in the codestream are comments.
/// @return null; or what is wrong
const char* FrameProof::check_header(std::span<const uint8_t> codestream, uint32_t step_set) const {
  const MainHeader& header = headers_[step_set];
  std::vector<uint8_t> expected = header.bytes;
  for (size_t i = 0; i < reader_.tile_part_bytes().size(); ++i)
    header.set_tile_part_bytes(expected.data(), i, reader_.tile_part_bytes()[i]);
  const size_t bytes = header.comment_offset > 0 ? header.comment_offset : expected.size();
  if (reader_.header_bytes() < bytes ||
      !std::equal(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(bytes),
                  codestream.begin()))
    return "the main header is another one";
  return nullptr;
}

/// Decodes what the packets have of a block. @return false: they are not the bytes of a block
bool FrameProof::decode(uint32_t number, uint32_t step_set, Decoders& d) const {
  const CodeBlock& block = plan_.blocks[number];
  const ReadBlock& read = reader_.packets().blocks()[number];
  const int planes = subband_of(plan_, block, step_set).max_bit_planes + block.planes_above;
  const BlockCoding coding{static_cast<uint32_t>(plan_.params.cblk_style),
                           plan_.params.coder == CJ2K_CODER_HT};
  return d.decoder.decode(
      reader_.packets(), read,
      {block.width, block.height, block.orientation, coding, planes - read.zero_bit_planes},
      d.samples);
}

/// Transforms the decoded blocks of a tile back, and compares the sums of its rows.
bool FrameProof::prove_rows(uint32_t tile, const uint64_t*& rows) {
  const auto num_components = static_cast<uint32_t>(plan_.components.size());
  const TileComponent* const tcs = plan_.tile_components.data() + tile * num_components;
  std::array<Plane<int32_t>, CJ2K_MAX_COMPONENTS> planes;
  for (uint32_t c = 0; c < num_components; ++c) {
    const Rect& rect = tcs[c].rect;
    planes[c] = {planes_[c].as<int32_t>(), rect.width(), rect.height(), rect.width()};
  }
  parallel_for(num_components, 1, [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c)
      inverse_transform(plan_, tcs[c], planes[c], planes[c].data + tile_samples_[c]);
  });
  std::atomic<bool> is_right = true;
  for (uint32_t first = 0, together; first < num_components; first += together) {
    together = num_together(plan_, first);
    const auto height = static_cast<size_t>(planes[first].height);
    parallel_for(height, kRowGrain, [&](size_t begin, size_t end) {
      for (size_t y = begin; y < end; ++y) {
        const auto line = static_cast<int32_t>(y);
        for (int32_t x = 0; together == 3 && x < planes[first].width; ++x) {
          int32_t sample[3];
          for (uint32_t k = 0; k < 3; ++k) sample[k] = planes[k].row(line)[x];
          inverse_colour(sample);
          for (uint32_t k = 0; k < 3; ++k) planes[k].row(line)[x] = sample[k];
        }
        for (uint32_t k = 0; k < together; ++k) {
          const Plane<int32_t>& p = planes[first + k];
          if (sum_of(p.row(line), static_cast<size_t>(p.width)) != rows[k * height + y])
            is_right = false;
        }
      }
    });
    rows += together * height;
  }
  return is_right;
}

Proof FrameProof::prove(std::span<const uint8_t> frame, uint32_t step_set, const FrameSums& sums,
                        std::span<char> why) {
  const auto wrong = [&](const char* text) {
    std::snprintf(why.data(), why.size(), "%s, at byte %zu", text, boxes_.size() + reader_.at());
    return Proof::kNone;
  };
  if (frame.size() < boxes_.size()) return wrong("no JP2 boxes");
  const std::span<const uint8_t> codestream = frame.subspan(boxes_.size());
  std::vector<uint8_t> boxes = boxes_;
  if (!boxes.empty()) set_jp2c_bytes(boxes.data() + boxes.size(), codestream.size());
  if (const char* text = reader_.read(codestream, step_set)) return wrong(text);
  if (!std::equal(boxes.begin(), boxes.end(), frame.begin())) return wrong("the boxes are others");
  if (const char* text = check_header(codestream, step_set)) return wrong(text);

  const bool proves_rows = sums.is_whole && !sums.rows.empty();
  const auto num_components = static_cast<uint32_t>(plan_.components.size());
  const uint64_t* rows = sums.rows.data();
  for (uint32_t tile = 0; tile < plan_.tiles.size(); ++tile) {
    const TileComponent* const tcs = plan_.tile_components.data() + tile * num_components;
    // The blocks of a tile are contiguous.
    const uint32_t first = tcs[0].first_block;
    const uint32_t count =
        tcs[num_components - 1].first_block + tcs[num_components - 1].num_blocks - first;
    std::atomic<uint32_t> first_wrong = UINT32_MAX;
    parallel_for(count, kBlockGrain, [&](size_t begin, size_t end) {
      Decoders& d = *decoders_[worker_index()];
      for (size_t i = begin; i < end; ++i) {
        const uint32_t number = first + static_cast<uint32_t>(i);
        const CodeBlock& block = plan_.blocks[number];
        if (!decode(number, step_set, d) || sum_of_block(d.samples, block) != sums.blocks[number]) {
          uint32_t lowest = first_wrong;
          while (number < lowest && !first_wrong.compare_exchange_weak(lowest, number)) {
          }
          continue;
        }
        if (!proves_rows) continue;
        const TileComponent& tc = tcs[block.component];
        int32_t* to = planes_[block.component].as<int32_t>() +
                      ptrdiff_t{block.plane_y - tc.plane_y} * tc.rect.width() +
                      (block.plane_x - tc.plane_x);
        const uint32_t* from = d.samples;
        for (int y = 0; y < block.height; ++y, to += tc.rect.width(), from += block.width) {
          for (int x = 0; x < block.width; ++x) {
            const auto magnitude = static_cast<int32_t>(from[x] & ~kSignBit);
            to[x] = (from[x] & kSignBit) != 0 ? -magnitude : magnitude;
          }
        }
      }
    });
    if (first_wrong != UINT32_MAX) {
      const CodeBlock& block = plan_.blocks[first_wrong];
      const Subband& band = plan_.subbands[block.subband];
      constexpr const char* kNames[] = {"LL", "HL", "LH", "HH"};
      std::snprintf(
          why.data(), why.size(),
          "code-block %u (tile %u, component %d, %s of level %d) decodes to other samples",
          first_wrong.load(), tile, block.component, kNames[block.orientation], band.level);
      return Proof::kNone;
    }
    if (proves_rows && !prove_rows(tile, rows)) {
      std::snprintf(why.data(), why.size(), "tile %u decodes to samples that were not sent", tile);
      return Proof::kNone;
    }
  }
  return proves_rows ? Proof::kSamples : Proof::kBlocks;
}

}  // namespace cj2k
