// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/transcode.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/parallel.h"
#include "coders/ebcot/mq_lanes.h"
#include "packets/bytes.h"
#include "packets/markers.h"
#include "packets/packet_blocks.h"
#include "transcode/block_recoder.h"
#include "transcode/boxes.h"
#include "transcode/codestream.h"
#include "transcode/tile_layout.h"
#include "transcode/tile_writer.h"

namespace cj2k {
namespace transcoding {
namespace {

constexpr size_t kBlockGrain = 4;

/// CAP of Part 15 (T.814 Annex A): all code-blocks are HT, with one set of passes.
/// @param most_planes  of any code-block
std::vector<uint8_t> cap_segment(const Claims& claims, bool is_heterogeneous,
                                 uint32_t most_planes) {
  const uint32_t b = std::max(most_planes, 8u), magb = b <= 27 ? b - 8 : 19 + (b - 27 + 3) / 4;
  std::vector<uint8_t> out;
  append_u16(out, kMarkerCap);
  append_u16(out, 8);
  append_u32(out, 1u << (32 - 15));
  append_u16(out, (is_heterogeneous ? 0x800u : 0) | (claims.is_irreversible ? 0x20u : 0) | magb);
  return out;
}

/// Reads the packets of a tile, part by part.
class TileReader {
 public:
  TileReader(const TileLayout& layout, const Coding& coding,
             const std::vector<const InputPart*>& parts)
      : layout_(layout), coding_(coding), parts_(parts), nodes_(layout.num_nodes) {
    packets_.begin(layout.blocks.size());
  }
  /// @param out  [parts] result: the packets of each; without layers the first of each precinct
  void read(const std::vector<TilePacket>& order, bool has_layers, std::vector<OutputPart>& out) {
    for (const TilePacket& packet : order) {
      while (headers_at() == headers().size()) {
        if (part_ + 1 == parts_.size())
          throw Refused{Status::kInvalid, "the data end before the last packet", here()};
        next_part();
      }
      if (has_layers || packet.layer == 0) out[part_].packets.push_back(packet);
      try {
        read(packet);
      } catch (const WrongPacket& wrong) {
        throw Refused{Status::kInvalid, wrong.what, here()};
      }
    }
    while (part_ < parts_.size()) next_part();
  }
  const PacketBlocks& packets() const { return packets_; }

 private:
  std::span<const uint8_t> bytes() const { return parts_[part_]->body; }
  const uint8_t* here() const { return bytes().data() + at_; }
  /// Where packet headers are: among the bodies, or packed.
  std::span<const uint8_t> headers() const {
    return parts_[part_]->is_packed ? std::span<const uint8_t>(parts_[part_]->packet_headers)
                                    : bytes();
  }
  size_t& headers_at() { return parts_[part_]->is_packed ? packed_at_ : at_; }
  static bool has_marker(uint32_t marker, std::span<const uint8_t> bytes, size_t at) {
    return bytes.size() - at >= 2 && bytes[at] == marker >> 8 && bytes[at + 1] == (marker & 0xFF);
  }
  void next_part() {
    if (at_ < bytes().size() || headers_at() < headers().size())
      throw Refused{Status::kInvalid, "bytes after the last packet", here()};
    ++part_;
    at_ = packed_at_ = 0;
  }

  void read(const TilePacket& packet) {
    if (coding_.has_sop && has_marker(kMarkerSop, bytes(), at_)) {
      if (bytes().size() - at_ < kSopBytes) throw WrongPacket{"the end of the data inside SOP"};
      at_ += kSopBytes;
    }
    const TilePrecinct& precinct = layout_.precincts[packet.precinct];
    const TileResolution& resolution = layout_.resolutions[precinct.resolution];
    const BlockCoding coding = coding_of(coding_.styles[resolution.component]);
    const size_t first_piece = packets_.num_pieces();
    HeaderBits in(headers(), headers_at());
    if (in.bit() != 0) {
      for (uint32_t b = 0; b < resolution.num_bands; ++b) {
        const PrecinctBlocks& band = layout_.bands[precinct.first_band + b];
        packets_.read_band(
            in, {nodes_.data() + band.first_node, band.wide, band.high, band.first_block},
            packet.layer, coding, [&](uint32_t) { return resolution.bands[b].planes; });
      }
    }
    in.finish();
    if (coding_.has_eph) {
      if (!has_marker(kMarkerEph, headers(), headers_at())) throw WrongPacket{"no EPH"};
      headers_at() += kEphBytes;
    }
    packets_.take_bodies(first_piece, bytes(), at_);
  }

 public:
  static BlockCoding coding_of(const Style& style) {
    constexpr uint32_t kHtBlocks = 0x40;
    return {style.block_style & (kHtBlocks - 1), (style.block_style & kHtBlocks) != 0};
  }

 private:
  const TileLayout& layout_;
  const Coding& coding_;
  const std::vector<const InputPart*>& parts_;
  std::vector<ReadNode> nodes_;
  PacketBlocks packets_;
  size_t part_ = 0, at_ = 0;
  size_t packed_at_ = 0;  ///< in the packed headers of the part
};

bool is_ht(const Style& style) { return TileReader::coding_of(style).is_ht; }

/// A tile whose code-blocks are recoded.
struct Tile {
  uint32_t number;
  std::vector<size_t> numbers;  ///< of its tile-parts
  Coding coding;
  std::vector<OutputPart> parts;
  TileLayout layout;
  std::vector<RecodedBlock> blocks;
};

/// The working memory of one thread: about 0.5 MB, in lanes about 20 MB.
class Worker {
 public:
  BlockRecoder& recoder(int lane) {
    if (shared_ == nullptr) shared_ = std::make_unique<BlockRecoder::Shared>();
    const auto i = static_cast<size_t>(lane);
    if (i >= recoders_.size()) recoders_.resize(i + 1);
    if (recoders_[i] == nullptr) recoders_[i] = std::make_unique<BlockRecoder>(*shared_);
    return *recoders_[i];
  }
  void code(Tier1Queue& queue, bool in_lanes) {
    if (scratch_ == nullptr) scratch_ = std::make_unique<Tier1Scratch[]>(kTier1Lanes);
    if (!in_lanes) return simd::encode_blocks(queue, scratch_.get());
    if (lanes_ == nullptr) lanes_ = std::make_unique<Tier1Lanes>(kMaxBlockSamples, kMaxBitPlanes);
    simd::encode_in_lanes(queue, scratch_[0], *lanes_);
  }

 private:
  std::unique_ptr<BlockRecoder::Shared> shared_;
  std::vector<std::unique_ptr<BlockRecoder>> recoders_;  ///< [lane]
  std::unique_ptr<Tier1Scratch[]> scratch_;
  std::unique_ptr<Tier1Lanes> lanes_;
};

/// Blocks for each thread from which on lanes are faster than pairs.
constexpr size_t kManyBlocks = 24;

/// The blocks that are in packets, those with the most bytes first: they have the most decisions, and lanes
/// should end at about the same time.
std::vector<uint32_t> longest_first(const PacketBlocks& packets) {
  const std::vector<ReadBlock>& blocks = packets.blocks();
  std::vector<std::pair<size_t, uint32_t>> sizes;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].passes == 0) continue;
    size_t bytes = 0;
    for (uint32_t p = blocks[i].first_piece; p != kNoPiece; p = packets.pieces()[p].next)
      bytes += packets.pieces()[p].bytes.size();
    sizes.emplace_back(~bytes, i);
  }
  std::sort(sizes.begin(), sizes.end());
  std::vector<uint32_t> order;
  order.reserve(sizes.size());
  for (const auto& [size, block] : sizes) order.push_back(block);
  return order;
}

/// Recodes the blocks of a list to T.800 on one thread, as others do with the same list.
template <typename Begin>
class EbcotRun final : public Tier1Queue {
 public:
  /// @param next   of `order`, shared
  /// @param begin  begins block i with a recoder; false: there is nothing to code
  EbcotRun(Worker& worker, const std::vector<uint32_t>& order, std::atomic<size_t>& next,
           std::vector<RecodedBlock>& blocks, const Begin& begin)
      : worker_(worker), order_(order), next_(next), blocks_(blocks), begin_(begin) {}

  bool next(int lane, Tier1Task* task) override {
    BlockRecoder& recoder = worker_.recoder(lane);
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < order_.size();) {
      numbers_[lane] = order_[i];
      if (!begin_(recoder, order_[i])) continue;
      *task = recoder.task();
      return true;
    }
    return false;
  }
  void done(int lane) override { worker_.recoder(lane).end(blocks_[numbers_[lane]]); }

 private:
  Worker& worker_;
  const std::vector<uint32_t>& order_;
  std::atomic<size_t>& next_;
  std::vector<RecodedBlock>& blocks_;
  const Begin& begin_;
  uint32_t numbers_[kMaxMqLanes] = {};
};

class Transcoder {
 public:
  /// @param most_bytes   0, or of the codestream: then code-blocks are cut
  /// @param most_blocks  in a tile
  Transcoder(Codestream codestream, const Target& target, uint64_t most_bytes, uint64_t most_blocks)
      : most_bytes_(most_bytes),
        most_blocks_(most_blocks),
        target_(target),
        cs_(std::move(codestream)),
        workers_(num_workers()) {}

  /// @return the codestream
  std::vector<uint8_t> run() {
    std::map<uint32_t, std::vector<size_t>> tiles;
    for (size_t i = 0; i < cs_.parts.size(); ++i) tiles[cs_.parts[i].tile].push_back(i);
    if (tiles.size() < cs_.siz.num_tiles())
      throw Refused{Status::kInvalid, std::to_string(tiles.size()) + " of " +
                                          std::to_string(cs_.siz.num_tiles()) +
                                          " tiles have a tile-part"};
    written_.resize(cs_.parts.size());
    std::vector<Tile> kept;
    for (const auto& [number, parts] : tiles) {
      try {
        Tile tile = read(number, parts);
        if (most_bytes_ > 0)
          kept.push_back(std::move(tile));
        else
          write(tile);
      } catch (Refused& refused) {
        refused.what = "tile " + std::to_string(number) + ": " + refused.what;
        throw;
      }
    }
    if (most_bytes_ > 0) cut(kept);
    return join();
  }

 private:
  Tile read(uint32_t number, const std::vector<size_t>& numbers) {
    std::vector<const InputPart*> parts;
    Tile tile{number, numbers, cs_.coding, std::vector<OutputPart>(numbers.size()), {}, {}};
    uint64_t bytes = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const InputPart& part = cs_.parts[numbers[i]];
      if (part.index != i)
        throw Refused{Status::kInvalid, "tile-part " + std::to_string(part.index) + " instead of " +
                                            std::to_string(i)};
      parts.push_back(&part);
      bytes += part.body.size();
      tile.parts[i].header = read_part_header(part, target_, tile.coding);
      const Claims& claims = tile.parts[i].header.claims;
      is_heterogeneous_ |= claims.has_coding;
      claims_.is_irreversible |= claims.is_irreversible;
    }
    tile.layout = lay_out_tile(cs_.siz, number, tile.coding, bytes, most_blocks_);
    TileReader reader(tile.layout, tile.coding, parts);
    reader.read(order_packets(tile.layout, tile.coding), target_.keeps_layers, tile.parts);
    for (const TileResolution& res : tile.layout.resolutions) {
      for (uint32_t b = 0; b < res.num_bands; ++b)
        most_planes_ = std::max(most_planes_, res.bands[b].planes);
    }
    tile.blocks = recode(tile.layout, tile.coding, reader.packets());
    return tile;
  }

  std::vector<RecodedBlock> recode(const TileLayout& layout, const Coding& coding,
                                   const PacketBlocks& packets) {
    std::vector<RecodedBlock> blocks(layout.blocks.size());
    std::atomic<size_t> first_wrong = SIZE_MAX;
    const auto begin = [&](BlockRecoder& recoder, size_t i) {
      return this->begin(recoder, layout, coding, packets, i, blocks[i]);
    };
    const auto begin_or_note = [&](BlockRecoder& recoder, size_t i) {
      if (begin(recoder, i) == nullptr) return recoder.has_task();
      size_t lowest = first_wrong;
      while (i < lowest && !first_wrong.compare_exchange_weak(lowest, i)) {
      }
      return false;
    };
    if (target_.is_ht) {
      parallel_for(blocks.size(), kBlockGrain, [&](size_t first, size_t end) {
        BlockRecoder& recoder = workers_[worker_index()].recoder(0);
        for (size_t i = first; i < end; ++i) begin_or_note(recoder, i);
      });
    } else {
      const std::vector<uint32_t> order = longest_first(packets);
      const bool in_lanes = simd::mq_lanes() > 0 && order.size() >= kManyBlocks * num_workers();
      std::atomic<size_t> next = 0;
      parallel_for(num_workers(), 1, [&](size_t, size_t) {
        Worker& worker = workers_[worker_index()];
        EbcotRun run(worker, order, next, blocks, begin_or_note);
        worker.code(run, in_lanes);
      });
    }
    if (first_wrong != SIZE_MAX) {
      const size_t i = first_wrong;
      const char* const why = begin(workers_[0].recoder(0), i);
      const PrecinctBlocks& band = layout.bands[layout.blocks[i].band];
      const TileResolution& res = layout.resolutions[band.resolution];
      const ReadBlock& block = packets.blocks()[i];
      throw Refused{Status::kInvalid,
                    "a code-block of component " + std::to_string(res.component) + ", resolution " +
                        std::to_string(res.r) + ": " + why,
                    packets.pieces()[block.first_piece].bytes.data()};
    }
    return blocks;
  }

  const char* begin(BlockRecoder& recoder, const TileLayout& layout, const Coding& coding,
                    const PacketBlocks& packets, size_t number, RecodedBlock& out) const {
    const TileBlock& block = layout.blocks[number];
    const PrecinctBlocks& band = layout.bands[block.band];
    const TileResolution& res = layout.resolutions[band.resolution];
    const auto planes = static_cast<int>(res.bands[band.band].planes);
    const Style& style = coding.styles[res.component];
    const ReadBlock& read = packets.blocks()[number];
    return recoder.begin(
        packets, read,
        {block.width, block.height, res.bands[band.band].orientation, TileReader::coding_of(style),
         planes - read.zero_bit_planes},
        {planes, style.is_reversible, most_bytes_ > 0 ? res.bands[band.band].weight : 0,
         target_.keeps_layers && coding.layers > 1},
        target_.is_ht, out);
  }

  void write(const Tile& tile) {
    // A later tile-part may have had packets of later layers alone.
    const auto stays = [&tile](size_t i) { return i == 0 || !tile.parts[i].packets.empty(); };
    uint32_t count = 0, index = 0;
    for (size_t i = 0; i < tile.parts.size(); ++i) count += stays(i) ? 1 : 0;
    TileWriter writer(tile.layout, tile.coding, tile.blocks);
    for (size_t i = 0; i < tile.parts.size(); ++i) {
      if (stays(i))
        written_[tile.numbers[i]] = writer.write(tile.parts[i], tile.number, index++, count);
    }
  }

  /// Where all blocks are cut: after their last cut whose slope is at least `slope`; the first `more`
  /// of them at `slope` - 1.
  struct Level {
    int slope;
    size_t more;
  };
  static constexpr int kNoBlocks = 65536;  ///< a slope above all

  /// Cuts all blocks. @return bytes of all blocks together
  static uint64_t cut_at(const Level& level, std::vector<Tile>& tiles) {
    uint64_t sum = 0;
    size_t number = 0;
    for (Tile& tile : tiles) {
      for (RecodedBlock& block : tile.blocks) {
        const int least = level.slope - (number++ < level.more ? 1 : 0);
        int count = 0;
        while (count < block.num_cuts && block.cuts[count].slope >= least) ++count;
        block.end_at(count);
        sum += block.num_bytes();
      }
    }
    return sum;
  }

  /// The level with the most bytes of blocks within `room`.
  static Level level_for(uint64_t room, std::vector<Tile>& tiles) {
    Level low{0, 0}, high{kNoBlocks, 0};
    while (low.slope < high.slope) {
      const Level middle{(low.slope + high.slope) / 2, 0};
      if (cut_at(middle, tiles) <= room)
        high = middle;
      else
        low.slope = middle.slope + 1;
    }
    size_t num_blocks = 0;
    for (const Tile& tile : tiles) num_blocks += tile.blocks.size();
    if (high.slope == 0) return high;
    size_t least = 0, most = num_blocks;
    while (least < most) {
      const size_t middle = most - (most - least) / 2;
      if (cut_at({high.slope, middle}, tiles) <= room)
        least = middle;
      else
        most = middle - 1;
    }
    return {high.slope, least};
  }

  /// Writes the tiles within most_bytes_. What headers take is known when they are written, so it is
  /// tried a few times. Deterministic: yes.
  void cut(std::vector<Tile>& tiles) {
    constexpr int kMostTrials = 12;
    constexpr uint64_t kEnough = 4;  ///< bytes that may be left
    constexpr uint64_t kEocBytes = 2;
    uint64_t in_blocks = 0;  // bytes of the blocks that were last written
    const auto write_at = [&](const Level& level) {
      in_blocks = cut_at(level, tiles);
      for (const Tile& tile : tiles) write(tile);
      uint64_t bytes = main_header().size() + kEocBytes;
      for (const std::vector<uint8_t>& part : written_) bytes += part.size();
      return bytes;
    };
    const uint64_t least = write_at({kNoBlocks, 0});
    if (least > most_bytes_)
      throw Refused{Status::kInvalid, "the headers take " + std::to_string(least) +
                                          " bytes, more than the " + std::to_string(most_bytes_) +
                                          " that the codestream may have"};
    Level best{kNoBlocks, 0};
    uint64_t most_used = least;
    uint64_t good = 0, bad = most_bytes_ + 1, room = most_bytes_ - least;  // for the blocks
    for (int i = 0; i < kMostTrials; ++i) {
      const Level level = level_for(room, tiles);
      const uint64_t used = write_at(level);
      if (used > most_bytes_) {
        bad = in_blocks;  // as much room, or more, gives this level or one with more bytes
        room = in_blocks - std::min(used - most_bytes_, in_blocks);
        if (room <= good) room = good + (bad - good) / 2;
      } else {
        if (used >= most_used) {
          best = level;
          most_used = used;
          if (level.slope == 0 || most_bytes_ - used <= kEnough) return;
        }
        good = room;
        room = std::min(room + (most_bytes_ - used), bad - 1);
      }
      if (room == good) break;
    }
    write_at(best);
  }

  std::vector<uint8_t> main_header() const {
    std::vector<uint8_t> out;
    const auto add_header = [&](size_t begin, size_t end) {
      out.insert(out.end(), cs_.header.begin() + static_cast<ptrdiff_t>(begin),
                 cs_.header.begin() + static_cast<ptrdiff_t>(end));
    };
    add_header(0, cs_.siz_end);
    if (target_.is_ht) {
      const std::vector<uint8_t> cap = cap_segment(claims_, is_heterogeneous_, most_planes_);
      out.insert(out.end(), cap.begin(), cap.end());
    }
    const size_t tlm_at = std::max(cs_.tlm_at, cs_.siz_end);
    add_header(cs_.siz_end, tlm_at);
    if (cs_.tlm_at > 0) append_tlm(out);
    add_header(tlm_at, cs_.header.size());
    return out;
  }
  std::vector<uint8_t> join() const {
    std::vector<uint8_t> out = main_header();
    for (const std::vector<uint8_t>& part : written_)
      out.insert(out.end(), part.begin(), part.end());
    append_u16(out, kMarkerEoc);
    return out;
  }

  void append_tlm(std::vector<uint8_t>& out) const {
    std::vector<size_t> parts;
    for (size_t i = 0; i < written_.size(); ++i) {
      if (!written_[i].empty()) parts.push_back(i);
    }
    constexpr size_t kMostSegments = 256;
    if (parts.size() > kMostSegments * kMaxTlmEntries) return;
    const uint32_t tile_bytes = cs_.siz.num_tiles() <= 255 ? 1 : 2;  // Table A.33
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i % kMaxTlmEntries == 0) {
        const auto entries =
            static_cast<uint32_t>(std::min<size_t>(kMaxTlmEntries, parts.size() - i));
        append_u16(out, kMarkerTlm);
        append_u16(out, 4 + (4 + tile_bytes) * entries);
        append_u8(out, static_cast<uint32_t>(i / kMaxTlmEntries));
        append_u8(out, 0x40 | tile_bytes << 4);  // Ptlm of 32 bits
      }
      const uint32_t tile = cs_.parts[parts[i]].tile;
      if (tile_bytes == 1)
        append_u8(out, tile);
      else
        append_u16(out, tile);
      append_u32(out, static_cast<uint32_t>(written_[parts[i]].size()));
    }
  }

  const uint64_t most_bytes_, most_blocks_;
  const Target target_;
  const Codestream cs_;
  std::vector<Worker> workers_;
  Claims claims_ = cs_.claims;
  bool is_heterogeneous_ = false;
  uint32_t most_planes_ = 0;
  std::vector<std::vector<uint8_t>> written_;  ///< [parts] empty: left out
};

}  // namespace
}  // namespace transcoding

Status transcode(std::span<const uint8_t> input, const TranscodeOptions& options, const Log& log,
                 std::vector<uint8_t>* output) {
  using transcoding::Refused;
  try {
    const transcoding::Boxes boxes(input);
    const bool is_cut = options.max_bytes > 0;
    transcoding::Target target{options.coder != CJ2K_CODER_EBCOT && !is_cut, is_cut,
                               options.keeps_layers};
    transcoding::Codestream read = read_codestream(boxes.codestream(), target);
    if (options.coder == CJ2K_CODER_AUTO && transcoding::is_ht(read.coding.styles[0])) {
      target.is_ht = false;
      read = read_codestream(boxes.codestream(), target);
    }
    const uint64_t box_bytes = input.size() - boxes.codestream().size();
    if (is_cut && options.max_bytes <= box_bytes)
      throw Refused{Status::kInvalid, "the boxes take " + std::to_string(box_bytes) +
                                          " bytes, the file may have " +
                                          std::to_string(options.max_bytes)};
    const uint64_t most_bytes = is_cut ? options.max_bytes - box_bytes : 0;
    Threads threads(options.threads, 0);
    threads.start();
    std::vector<uint8_t> codestream;
    threads.run([&] {
      codestream =
          transcoding::Transcoder(std::move(read), target, most_bytes, options.most_blocks).run();
    });
    *output = boxes.around(std::move(codestream), target.is_ht);
    return Status::kOk;
  } catch (const Refused& refused) {
    if (refused.at == nullptr) return log.fail(refused.status, "%s", refused.what.c_str());
    return log.fail(refused.status, "%s, at byte %td", refused.what.c_str(),
                    refused.at - input.data());
  }
}

}  // namespace cj2k
