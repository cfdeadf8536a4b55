// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A GOP of code-blocks that tier-1 codes on the device and on the CPU, call by call.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/support.h"

// The headers of what is tested.
#include "core/ebcot/segments.h"
#include "core/slope.h"
#include "core/stop.h"
#include "cuda/tier1_coder.h"
#include "kernels/ebcot/tier1.h"
#include "support/test_blocks.h"

namespace cj2k::cuda::test {

using cj2k::test::TestBlock;
using cj2k::test::TestOutput;
using simt::test::Gpu;

inline constexpr Orientation kOrientations[] = {kLL, kHL, kLH, kHH};

/// A code-block of the plan and its samples in each frame.
struct Item {
  int width, height;
  Orientation orientation;
  uint8_t component;
  double weight;
  std::vector<TestBlock> frames;
};

inline Item make_item(int width, int height, std::vector<int> planes, uint64_t seed) {
  const uint64_t mixed = std::mt19937_64(seed)();
  Item item{width,
            height,
            kOrientations[mixed >> 16 & 3],
            static_cast<uint8_t>(mixed >> 18 & 3),
            std::ldexp(1.0 + static_cast<double>(mixed >> 20 & 255) / 256,
                       static_cast<int>(mixed >> 28 & 3)),
            {}};
  for (size_t f = 0; f < planes.size(); ++f) {
    item.frames.emplace_back(width, height, planes[f],
                             cj2k::test::kFills[(mixed + f) % std::size(cj2k::test::kFills)],
                             seed * 8 + f);
  }
  return item;
}

/// Writes bit-planes in the layout of kernels/ebcot/quantize.h.
inline void write_planes(const TestBlock& source, uint64_t* words) {
  const int width = source.width();
  const size_t words_wide = static_cast<size_t>((width + 15) / 16);
  const size_t plane_words = words_wide * static_cast<size_t>((source.height() + 3) / 4);
  const auto planes = static_cast<size_t>(source.bit_planes());
  std::fill_n(words, plane_words * (planes + 1), 0);
  for (size_t i = 0; i < source.count(); ++i) {
    const size_t x = i % static_cast<size_t>(width), y = i / static_cast<size_t>(width);
    const size_t word = y / 4 * words_wide + x / 16, bit = x % 16 * 4 + y % 4;
    words[word] |= static_cast<uint64_t>(source.negative(i)) << bit;
    for (size_t p = 0; p < planes; ++p) {
      words[word + (planes - p) * plane_words] |=
          static_cast<uint64_t>(source.magnitude(i) >> p & 1) << bit;
    }
  }
}

/// Counts what has been compared so far.
struct Totals {
  size_t blocks = 0, passes = 0, bytes = 0, paused = 0, resumed = 0;
  /// Of the paused blocks of the classic form, those that were modelled as far as they were coded.
  size_t modelled_to_pause = 0;
};

/// What the CPU has made of a block so far.
struct Expected {
  std::vector<CodingPass> passes;
  std::vector<PassTail> tails;
  std::vector<uint8_t> bytes, stored;
  SavedCoder saved;
  bool paused = false, finished = false, coded = false;
};

struct Options {
  Tier1Form form = Tier1Form::kClassic;
  uint64_t seed = 1;
  uint32_t style = 0;
  bool reversible = false;
  uint32_t capacity =
      UINT32_MAX;               ///< upper limit of each block's byte capacity; then guards follow
  int num_multiprocessors = 0;  ///< as for Gpu
  uint32_t max_thread_blocks = 0;  ///< as for make_fused_coder
};

/// A GOP on the device, and the same GOP on the CPU.
class Gop {
 public:
  Gop(const std::vector<Item>& items, const Options& options)
      : items_(items),
        options_(options),
        gpu_(options.seed, options.num_multiprocessors),
        random_(options.seed) {
    num_frames_ = items.at(0).frames.size();
    expected_.resize(items.size() * num_frames_);
    resumed_.resize(expected_.size());
    const uint64_t frame_words = make_layout();
    std::vector<uint64_t> words(frame_words * num_frames_, 0x5555AAAA5555AAAA);
    std::vector<uint32_t> magnitudes;
    for (size_t f = 0; f < num_frames_; ++f) {
      for (size_t b = 0; b < items.size(); ++b) {
        const TestBlock& block = items[b].frames.at(f);
        uint32_t all = 0;
        for (size_t i = 0; i < block.count(); ++i) all |= block.magnitude(i);
        magnitudes.push_back(all);
        if (all != 0)
          write_planes(block, words.data() + f * frame_words + layout_.jobs[b].first_word);
      }
    }
    const size_t frames = num_frames_, passes = layout_.frame_passes * frames;
    jobs_ = gpu_.upload(layout_.jobs);
    words_ = gpu_.upload(words);
    magnitudes_ = gpu_.upload(magnitudes);
    symbols_ = gpu_.make<uint8_t>(layout_.frame_symbols * frames + 16);
    pass_symbols_ = gpu_.upload(std::vector<PassSymbols>(passes, kUntouched));
    bytes_ = gpu_.upload(std::vector<uint8_t>(layout_.frame_bytes * frames, kGuard));
    passes_ = gpu_.make<CodingPass>(passes);
    tails_ = gpu_.make<PassTail>(passes);
    snapshots_ = gpu_.make<Tier1Snapshot>(passes);
    states_ = gpu_.upload(std::vector<Tier1State>(expected_.size()));
    const bool fused = options.form == Tier1Form::kFused;
    buffers_ = {jobs_.as<Tier1Job>(),
                static_cast<uint32_t>(items.size()),
                static_cast<uint32_t>(items.size()),
                {words_.as<uint64_t>(), frame_words, magnitudes_.as<uint32_t>()},
                layout_.frame_symbols,
                layout_.frame_bytes,
                layout_.frame_passes,
                fused ? nullptr : symbols_.as<uint8_t>(),
                fused ? nullptr : pass_symbols_.as<PassSymbols>(),
                bytes_.as<uint8_t>(),
                passes_.as<CodingPass>(),
                (options.style & CJ2K_STYLE_PTERM) != 0 ? tails_.as<PassTail>() : nullptr,
                snapshots_.as<Tier1Snapshot>(),
                states_.as<Tier1State>()};
    REQUIRE(make_tier1_coder(*gpu_.context, options.form, layout_, options.style,
                             options.reversible, &coder_) == Status::kOk);
    if (options.max_thread_blocks != 0) {
      REQUIRE(fused);
      coder_ = make_fused_coder(options.style, options.reversible, options.max_thread_blocks);
    }
    scratch_ = gpu_.make<uint8_t>(
        std::max<uint64_t>(coder_->scratch_bytes(static_cast<uint32_t>(expected_.size())), 16));
  }

  /// The grid for a list of all blocks. They must have one tier1_size.
  FusedGrid fused_grid_of_all() const {
    return fused_grid(layout_.jobs[0].size, static_cast<uint32_t>(num_blocks()),
                      gpu_.context->info().num_multiprocessors, options_.max_thread_blocks);
  }
  size_t num_blocks() const { return expected_.size(); }
  size_t num_frames() const { return num_frames_; }
  Gpu& gpu() { return gpu_; }
  const Tier1Buffers& buffers() const { return buffers_; }
  const Tier1Layout& layout() const { return layout_; }
  const TestBlock& source(size_t block) const {
    return items_[block % items_.size()].frames[block / items_.size()];
  }
  const Expected& expected(size_t block) const { return expected_[block]; }
  std::vector<uint32_t> all() const {
    std::vector<uint32_t> blocks(num_blocks());
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<uint32_t>(i);
    return blocks;
  }

  /// Makes one call on both sides. Compares nothing.
  /// @param thresholds  [frame][component]; empty: none
  void code(std::vector<uint32_t> blocks, std::vector<uint16_t> thresholds = {},
            uint32_t last_plane = 0) {
    simt::DeviceBuffer d_blocks;
    const Tier1List list = upload_list(blocks, &d_blocks);
    const auto d_thresholds =
        gpu_.upload(thresholds.empty() ? std::vector<uint16_t>(1) : thresholds);
    const Tier1Limits stop{thresholds.empty() ? nullptr : d_thresholds.as<uint16_t>(), last_plane};
    REQUIRE(coder_->code(gpu_.stream, buffers_, list, stop, scratch_.as<void>()) == Status::kOk);
    REQUIRE(gpu_.stream.synchronize() == Status::kOk);
    for (const uint32_t block : blocks) {
      const auto& item = items_[block % items_.size()];
      const size_t frame = block / items_.size();
      const uint16_t threshold = thresholds.empty()
                                     ? uint16_t{0}
                                     : thresholds[frame * CJ2K_MAX_COMPONENTS + item.component];
      code_on_host(block, pause_threshold(threshold, item.orientation),
                   static_cast<int>(last_plane));
    }
  }

  /// Codes all planes of all blocks, but those that stop: `stops` says so of a block after a plane,
  /// also of blocks that have not been begun or are finished. Compares after each plane.
  void code_planes(const std::function<bool(uint32_t block, uint32_t plane)>& stops,
                   Totals& totals) {
    std::vector<uint32_t> blocks = all();
    simt::DeviceBuffer d_blocks;
    const Tier1List list = upload_list(blocks, &d_blocks);
    std::vector<bool> stopped(num_blocks());
    uint32_t next = layout_.max_bit_planes;
    const auto after_plane = [&](simt::Stream& stream, uint32_t plane) {
      CHECK(plane == --next);
      for (const uint32_t block : blocks) {
        if (stopped[block]) continue;
        code_on_host(block, 0, static_cast<int>(plane));
        stopped[block] = stops(block, plane);
        if (!stopped[block]) continue;
        CJ2K_TRY(stream.fill(&states_.as<Tier1State>()[block].stopped, 1, 1));
      }
      CJ2K_TRY(stream.synchronize());
      compare(totals);
      return Status::kOk;
    };
    REQUIRE(coder_->code_planes(gpu_.stream, buffers_, list, layout_.max_bit_planes, after_plane,
                                scratch_.as<void>()) == Status::kOk);
    CHECK(next == 0);
    REQUIRE(gpu_.stream.synchronize() == Status::kOk);
    compare(totals);
  }

  /// Compares all blocks of the GOP.
  void compare(Totals& totals) {
    const size_t passes = layout_.frame_passes * num_frames_;
    const auto states = gpu_.download<Tier1State>(states_, num_blocks());
    const auto d_passes = gpu_.download<CodingPass>(passes_, passes);
    const auto d_tails = gpu_.download<PassTail>(tails_, passes);
    const auto d_snapshots = gpu_.download<Tier1Snapshot>(snapshots_, passes);
    const auto d_pass_symbols = gpu_.download<PassSymbols>(pass_symbols_, passes);
    const auto d_bytes = gpu_.download<uint8_t>(bytes_, layout_.frame_bytes * num_frames_);
    for (size_t i = 0; i < num_blocks(); ++i) {
      const size_t frame = i / items_.size();
      const Tier1Job& job = layout_.jobs[i % items_.size()];
      const Expected& want = expected_[i];
      const Tier1State& got = states[i];
      INFO("block ", i, ": ", job.width, "x", job.height, " style ", options_.style, " form ",
           static_cast<int>(options_.form), " seed ", options_.seed, " passes ",
           want.passes.size());
      REQUIRE(got.num_passes == want.passes.size());
      REQUIRE((got.paused != 0) == want.paused);
      REQUIRE((got.finished != 0) == want.finished);
      REQUIRE(got.num_bytes == want.bytes.size());
      REQUIRE(got.num_bytes <= job.bytes_capacity);
      REQUIRE(std::equal(want.bytes.begin(), want.bytes.end(),
                         d_bytes.data() + frame * layout_.frame_bytes + job.bytes_offset));
      const size_t first = frame * layout_.frame_passes + job.first_pass;
      compare_passes({d_passes.data() + first, want.passes.size()},
                     {d_tails.data() + first, want.passes.size()}, want);
      if (want.paused && !want.passes.empty()) {
        compare_saved(got, {d_snapshots.data() + first, want.passes.size()}, want.saved);
        ++totals.paused;
        const int coded_to = items_[i % items_.size()].frames[frame].bit_planes() -
                             num_planes_coded(static_cast<int>(want.passes.size()));
        totals.modelled_to_pause +=
            options_.form == Tier1Form::kClassic && got.modelled == coded_to && coded_to > 0;
      }
      // At most one plane after a pause may have been modelled.
      if (options_.form == Tier1Form::kCibo && want.coded) {
        for (size_t p = want.passes.size() + 3;
             p < static_cast<size_t>(num_passes_of(job.max_bit_planes)); ++p) {
          REQUIRE(std::memcmp(&d_pass_symbols[first + p], &kUntouched, sizeof kUntouched) == 0);
        }
      }
      ++totals.blocks;
      totals.passes += want.passes.size();
      totals.bytes += want.bytes.size();
      totals.resumed += want.coded && resumed_[i];
    }
  }

  /// Every block is finished and equals the result of ref::encode_block.
  void compare_with_whole() {
    static TestOutput whole;
    for (size_t i = 0; i < num_blocks(); ++i) {
      const Item& item = items_[i % items_.size()];
      const Expected& got = expected_[i];
      INFO("block ", i, " style ", options_.style);
      ref::encode_block(item.frames[i / items_.size()].block(item.orientation, options_.style,
                                                             options_.reversible),
                        whole.out);
      REQUIRE(got.finished);
      REQUIRE(got.bytes.size() == whole.out.num_bytes);
      REQUIRE(std::equal(got.bytes.begin(), got.bytes.end(), whole.out.bytes));
      REQUIRE(got.passes.size() == static_cast<size_t>(whole.out.num_passes));
      compare_passes({whole.out.passes, got.passes.size()}, {whole.out.tails, got.passes.size()},
                     got);
    }
  }

  /// The MQ decisions of all blocks, after a call of the classic form that coded all planes.
  uint64_t num_decisions() {
    REQUIRE(options_.form == Tier1Form::kClassic);
    uint64_t sum = 0;
    for (const PassSymbols& pass : gpu_.download<PassSymbols>(
             pass_symbols_, static_cast<size_t>(layout_.frame_passes) * num_frames_)) {
      if (pass.offset_bytes != kUntouched.offset_bytes) sum += pass.count;
    }
    return sum;
  }
  size_t num_begun_and_paused() const {
    return static_cast<size_t>(
        std::count_if(expected_.begin(), expected_.end(),
                      [](const Expected& e) { return e.paused && !e.passes.empty(); }));
  }
  /// Those of which the plane below the pause is modelled.
  size_t num_modelled_ahead() {
    const auto symbols = gpu_.download<PassSymbols>(
        pass_symbols_, static_cast<size_t>(layout_.frame_passes) * num_frames_);
    size_t sum = 0;
    for (size_t i = 0; i < num_blocks(); ++i) {
      const Expected& e = expected_[i];
      if (!e.paused || e.passes.empty()) continue;
      const PassSymbols& next =
          symbols[i / items_.size() * layout_.frame_passes +
                  layout_.jobs[i % items_.size()].first_pass + e.passes.size()];
      if (next.offset_bytes != kUntouched.offset_bytes) ++sum;
    }
    return sum;
  }
  /// The bytes behind each block's room are as they were.
  void compare_guards() {
    const auto bytes = gpu_.download<uint8_t>(bytes_, layout_.frame_bytes * num_frames_);
    for (size_t i = 0; i < num_blocks(); ++i) {
      const Tier1Job& job = layout_.jobs[i % items_.size()];
      const auto* guards = bytes.data() + i / items_.size() * layout_.frame_bytes +
                           job.bytes_offset + job.bytes_capacity;
      REQUIRE(std::count(guards, guards + num_guards(), kGuard) == num_guards());
    }
  }
  std::vector<uint32_t> num_bytes() {
    std::vector<uint32_t> result;
    for (const Tier1State& s : gpu_.download<Tier1State>(states_, num_blocks())) {
      result.push_back(s.num_bytes);
    }
    return result;
  }

  /// Blocks can be in any order, but those of one size must be together.
  Tier1List upload_list(std::vector<uint32_t>& blocks, simt::DeviceBuffer* on_device) {
    std::shuffle(blocks.begin(), blocks.end(), random_);
    const auto size_of = [&](uint32_t block) { return layout_.jobs[block % items_.size()].size; };
    std::stable_sort(blocks.begin(), blocks.end(),
                     [&](uint32_t a, uint32_t b) { return size_of(a) < size_of(b); });
    *on_device = gpu_.upload(blocks);
    Tier1List list{on_device->as<uint32_t>(), {}};
    for (const uint32_t block : blocks) ++list.counts[size_of(block)];
    return list;
  }

  static constexpr PassSymbols kUntouched{0xDEADBEEF, 0xDEAD, 0xBEEF, -1};

 private:
  static constexpr uint8_t kGuard = 0xA5;
  uint32_t num_guards() const { return options_.capacity == UINT32_MAX ? 0 : 16; }

  /// Lays out the blocks of a frame one after another, in every buffer.
  /// @return words of the planes of a frame
  uint64_t make_layout() {
    uint64_t frame_words = 0;
    for (const Item& item : items_) {
      int planes = 1;  // the plan allows more planes than the blocks have
      for (const TestBlock& block : item.frames) planes = std::max(planes, block.bit_planes() + 1);
      planes = std::min(planes, kMaxBitPlanes);
      Tier1Job job{};
      job.first_word = frame_words;
      job.symbols_offset = layout_.frame_symbols;
      job.bytes_offset = layout_.frame_bytes;
      job.bytes_capacity =
          std::min(options_.capacity, tier1_byte_capacity(item.width, item.height, planes));
      job.first_pass = layout_.frame_passes;
      job.weight = item.weight;
      job.width = static_cast<uint16_t>(item.width);
      job.height = static_cast<uint16_t>(item.height);
      job.orientation = item.orientation;
      job.component = item.component;
      job.max_bit_planes = static_cast<uint8_t>(planes);
      job.size = static_cast<uint8_t>(tier1_size(item.width, item.height));
      layout_.jobs.push_back(job);
      layout_.frame_symbols += options_.form == Tier1Form::kClassic
                                   ? tier1_symbol_capacity(item.width, item.height, planes)
                               : options_.form == Tier1Form::kCibo
                                   ? 2 * tier1_symbol_capacity(item.width, item.height, 1)
                                   : 0;
      layout_.frame_bytes += job.bytes_capacity + num_guards();
      layout_.frame_passes += static_cast<uint32_t>(num_passes_of(planes));
      layout_.max_bit_planes = std::max<uint32_t>(layout_.max_bit_planes, job.max_bit_planes);
      frame_words += (static_cast<uint64_t>((item.width + 15) / 16 * ((item.height + 3) / 4)) *
                          (job.max_bit_planes + 1u) +
                      1) /
                     2 * 2;
    }
    return frame_words;
  }

  void code_on_host(uint32_t block, uint16_t threshold, int last_plane) {
    static Tier1Scratch scratch;
    static TestOutput output;
    static SavedCoder saved;
    const Item& item = items_[block % items_.size()];
    const Tier1Block source = item.frames[block / items_.size()].block(
        item.orientation, options_.style, options_.reversible);
    Expected& e = expected_[block];
    const int next = source.bit_planes - 1 - (static_cast<int>(e.passes.size()) + 2) / 3;
    if (e.finished) return;
    if (source.bit_planes == 0) {
      e.finished = true;
      return;
    }
    const bool is_out_of_reach =
        e.passes.empty() && next >= 0 && best_slope_left(item.weight, next + 1) < threshold;
    if (next < last_plane || is_out_of_reach) {
      e.paused = true;
      return;
    }
    e.coded = true;
    cj2k::Tier1Stop stop{threshold, last_plane, item.weight, nullptr, &saved, false};
    cj2k::Tier1Output& out = output.out;
    if (!e.passes.empty()) {
      std::copy(e.passes.begin(), e.passes.end(), out.passes);
      std::copy(e.tails.begin(), e.tails.end(), out.tails);
      std::copy(e.stored.begin(), e.stored.end(), out.bytes);
      stop.resume = &e.saved;
      resumed_[block] = true;
    }
    simd::encode_block(source, scratch, out, &stop);
    e.paused = stop.paused;
    e.finished = !stop.paused;
    if (stop.paused) e.saved = saved;
    e.passes.assign(out.passes, out.passes + out.num_passes);
    e.tails.assign(out.tails, out.tails + out.num_passes);
    e.bytes.assign(out.bytes, out.bytes + out.num_bytes);
    // Bytes that a resumed coder needs can lie beyond the end of a pause.
    const size_t stored =
        stop.paused ? std::max<size_t>(out.num_bytes, saved.bytes_written) : out.num_bytes;
    e.stored.assign(out.bytes, out.bytes + stored);
  }

  void compare_passes(std::span<const CodingPass> got, std::span<const PassTail> tails,
                      const Expected& want) const {
    for (size_t i = 0; i < got.size(); ++i) {
      INFO("pass ", i);
      const CodingPass &p = got[i], &q = want.passes[i];
      REQUIRE(p.distortion == q.distortion);
      REQUIRE(p.length_bytes == q.length_bytes);
      REQUIRE(p.plane == q.plane);
      const bool has_tail = (options_.style & CJ2K_STYLE_PTERM) != 0 &&
                            !(want.finished && i + 1 == got.size()) &&
                            !pass_terminates(options_.style, static_cast<int>(i));
      if (!has_tail) continue;
      const PassTail &t = tails[i], &u = want.tails[i];
      REQUIRE(t.offset_bytes == u.offset_bytes);
      REQUIRE(t.count == u.count);
      REQUIRE(std::memcmp(t.bytes, u.bytes, t.count) == 0);
    }
  }

  void compare_saved(const Tier1State& got, std::span<const Tier1Snapshot> snapshots,
                     const SavedCoder& want) const {
    REQUIRE(got.closed_bytes == want.closed_bytes);
    REQUIRE(got.bytes_written == want.bytes_written);
    REQUIRE(got.num_passes == want.num_passes);
    REQUIRE((got.open != 0) == want.open);
    for (int i = 0; i < mq::kNumContexts; ++i) REQUIRE(got.contexts[i] == want.contexts[i]);
    if (!want.open) return;
    REQUIRE(got.a == want.a);
    REQUIRE(got.c == want.c);
    REQUIRE(got.ct == want.ct);
    REQUIRE(got.first_pass == want.first_pass);
    if (want.bytes_written > want.closed_bytes) REQUIRE(got.last == want.last);
    if ((options_.style & CJ2K_STYLE_PTERM) != 0) return;
    for (size_t i = want.first_pass; i < want.num_passes; ++i) {
      INFO("snapshot ", i);
      REQUIRE(snapshots[i].a == want.snapshots[i].a);
      REQUIRE(snapshots[i].c == want.snapshots[i].c);
      REQUIRE(snapshots[i].ct == want.snapshots[i].ct);
      REQUIRE(snapshots[i].bytes == want.snapshots[i].bytes);
      if (snapshots[i].bytes > 0) REQUIRE(snapshots[i].last == want.snapshots[i].last);
    }
  }

  const std::vector<Item>& items_;
  const Options options_;
  Gpu gpu_;
  std::mt19937_64 random_;
  size_t num_frames_;
  Tier1Layout layout_;
  std::vector<Expected> expected_;
  std::vector<bool> resumed_;
  simt::DeviceBuffer jobs_, words_, magnitudes_, symbols_, pass_symbols_, bytes_, passes_, tails_,
      snapshots_, states_, scratch_;
  Tier1Buffers buffers_;
  std::unique_ptr<Tier1Coder> coder_;
};

}  // namespace cj2k::cuda::test
