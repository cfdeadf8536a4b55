// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ of EBCOT on the device (rdoq_quantize) against coders/ebcot/rdoq.h: every size, style and
// orientation, planes from the highest to 0, blocks and frames that are left alone; bit-planes, what RDOQ
// removes, and last planes.
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "coders/ebcot/rdoq.h"
#include "core/quantizer.h"
#include "core/stop.h"
#include "device/kernel_check.h"
#include "kernels/ebcot/rdoq.h"
#include "pixels/quantize.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;

struct Size {
  uint16_t width, height;
};
constexpr Size kSizes[] = {{1, 1},   {3, 7},    {5, 3},   {2, 9},    {17, 13},  {24, 40},  {32, 32},
                           {31, 33}, {64, 16},  {64, 64}, {64, 61},  {63, 30},  {128, 32}, {8, 60},
                           {256, 4}, {1024, 4}, {700, 3}, {4, 1024}, {3, 999},  {1, 333},  {12, 20},
                           {16, 64}, {9, 250},  {40, 8},  {1, 64},   {100, 28}, {48, 20}};
constexpr uint32_t kNumBlocks = std::size(kSizes), kFrames = 3, kStepSets = 2;
constexpr uint8_t kMaxBitPlanes = 20;
constexpr int64_t kGuard = 0x5A5A5A5A5A5A5A5A;

struct Options {
  bool reversible, is_shifted;
  uint32_t style;
  int rounds;
};

struct Totals {
  int changed = 0, same = 0, quantised = 0, not_in = 0, last_planes = 0, empty = 0, lost_planes = 0;
  int planes[8] = {};
};

/// The blocks of a GOP. The second frame has a component without RDOQ, the last one has none at all.
class Check {
 public:
  Check(Gpu& gpu, const Options& options, uint64_t seed, Totals& totals)
      : gpu_(gpu), options_(options), random_(seed), totals_(totals) {}

  void run() {
    make_layout();
    const auto blocks = static_cast<size_t>(kFrames * kNumBlocks);
    words_.assign(frame_words_ * kFrames, static_cast<uint64_t>(kGuard));
    removed_.assign(size_t{frame_passes_} * kFrames, kGuard);
    magnitudes_.assign(blocks, kPoison);
    totals_of_.assign(blocks, -1.0);
    last_planes_.assign(blocks, 99);
    states_.resize(blocks);
    std::memset(states_.data(), 0xA5, blocks * sizeof(Tier1State));
    const auto d_words = gpu_.upload(words_), d_magnitudes = gpu_.upload(magnitudes_);
    const auto d_removed = gpu_.upload(removed_), d_totals = gpu_.upload(totals_of_);
    const auto d_last = gpu_.upload(last_planes_), d_states = gpu_.upload(states_);
    const auto d_quantize = gpu_.upload(quantize_), d_jobs = gpu_.upload(jobs_);
    const auto d_samples = gpu_.upload(samples_), d_frames = gpu_.upload(frames_);
    const auto d_overlaps = gpu_.upload(overlaps_);
    const auto d_unused = gpu_.upload(std::vector<uint32_t>(samples_.size(), kPoison));

    Tier1Buffers buffers{};
    buffers.jobs = d_jobs.as<Tier1Job>();
    buffers.shared_jobs = 0;
    buffers.num_blocks = kNumBlocks;
    buffers.planes = {d_words.as<uint64_t>(), frame_words_, d_magnitudes.as<uint32_t>()};
    buffers.frame_passes = frame_passes_;
    buffers.states = d_states.as<Tier1State>();
    std::vector<uint32_t> listed;
    const Tier1List counts = list(&listed);
    const auto d_list = gpu_.upload(listed);
    RdoqParams params{};
    params.quantize = d_quantize.as<QuantizeJob>();
    params.samples = {(options_.is_shifted ? d_unused : d_samples).as<void>(), frame_samples_,
                      kFrames};
    params.shifted = options_.is_shifted ? d_samples.as<float>() : nullptr;
    params.shifted_samples = frame_samples_;
    params.frames = d_frames.as<RdoqFrame>();
    params.overlaps = d_overlaps.as<Overlaps>();
    params.style = options_.style;
    params.reversible = options_.reversible;
    params.rounds = options_.rounds;
    REQUIRE(rdoq_quantize(
                gpu_.stream, buffers,
                {d_list.as<uint32_t>(), {counts.counts[0], counts.counts[1], counts.counts[2]}},
                params, {d_removed.as<int64_t>(), d_totals.as<double>(), d_last.as<uint8_t>()}) ==
            Status::kOk);
    const auto words = gpu_.download<uint64_t>(d_words, words_.size());
    const auto magnitudes = gpu_.download<uint32_t>(d_magnitudes, blocks);
    const auto removed = gpu_.download<int64_t>(d_removed, removed_.size());
    const auto block_totals = gpu_.download<double>(d_totals, blocks);
    const auto last_planes = gpu_.download<uint8_t>(d_last, blocks);
    const auto states = gpu_.download<Tier1State>(d_states, blocks);
    for (const uint32_t number : listed) {
      if (frames_[number / kNumBlocks].slope[0] == 0) continue;
      const Size size = kSizes[number % kNumBlocks];
      INFO("block ", number, ": ", size.width, "x", size.height, " style ", options_.style,
           options_.reversible ? " 5/3" : " 9/7", " rounds ", options_.rounds);
      expect(number);
      const uint64_t first = number / kNumBlocks * frame_words_ + jobs_[number].first_word;
      const auto count = std::bit_width(magnitudes_[number]) == 0
                             ? 0
                             : quantize_[number % kNumBlocks].plane_words *
                                   (std::bit_width(magnitudes_[number]) + 1u);
      REQUIRE(magnitudes[number] == magnitudes_[number]);
      REQUIRE(std::equal(words.begin() + static_cast<ptrdiff_t>(first),
                         words.begin() + static_cast<ptrdiff_t>(first + count),
                         words_.begin() + static_cast<ptrdiff_t>(first)));
      REQUIRE(block_totals[number] == totals_of_[number]);
      REQUIRE(last_planes[number] == last_planes_[number]);
    }
    REQUIRE(first_difference(words, words_) == -1);
    REQUIRE(first_difference(magnitudes, magnitudes_) == -1);
    REQUIRE(first_difference(removed, removed_) == -1);
    REQUIRE(first_difference(block_totals, totals_of_) == -1);
    REQUIRE(first_difference(last_planes, last_planes_) == -1);
    REQUIRE(first_difference(states, states_) == -1);
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }

  void make_layout() {
    for (uint32_t set = 0; set < kStepSets; ++set) {
      frame_samples_ = frame_words_ = 0;
      for (const Size& size : kSizes) {
        QuantizeJob job{};
        job.source = (frame_samples_ + 3) / 4 * 4 + (size.width % 5 == 1 ? 1 : 0);
        job.stride = (size.width + 3u) / 4 * 4 + (size.height % 4 == 1 ? 1 : 0);
        job.width = size.width;
        job.height = size.height;
        job.max_bit_planes = kMaxBitPlanes;
        job.inverse_step = set == 0 ? 0.7f : 1.9f;
        job.words_wide = static_cast<uint8_t>((size.width + 15) / 16);
        job.plane_words = static_cast<uint16_t>(job.words_wide * ((size.height + 3) / 4));
        job.first_word = (frame_words_ + 1) / 2 * 2;
        frame_samples_ = job.source + uint64_t{job.stride} * size.height;
        frame_words_ = job.first_word + uint64_t{job.plane_words} * (kMaxBitPlanes + 1u);
        quantize_.push_back(job);
      }
    }
    const auto factor = [this] {
      return static_cast<int8_t>(static_cast<int>(random_() % 129) - 64);
    };
    for (uint32_t b = 0; b < kNumBlocks; ++b)
      overlaps_.push_back({{factor(), factor()}, {factor(), factor()}});
    frame_samples_ = (frame_samples_ + 31) / 32 * 32;
    frame_words_ = (frame_words_ + 1) / 2 * 2;
    frame_passes_ = kNumBlocks * static_cast<uint32_t>(num_passes_of(kMaxBitPlanes));
    samples_.assign(frame_samples_ * kFrames, kPoison);
    for (uint32_t f = 0; f < kFrames; ++f) {
      RdoqFrame frame{};
      frame.step_set = f % kStepSets;
      for (int c = 0; c < CJ2K_MAX_COMPONENTS && f + 1 < kFrames; ++c) {
        if (f == 1 && c == 2) continue;
        frame.slope[c] = static_cast<uint16_t>(kSlopeUnit + 100 * c - 57 * static_cast<int>(f));
        frame.pauses[c] = c != 1;
        frame.error[c] = rdoq_error(frame.slope[c]);
        frame.lower_error[c] = rdoq_error(static_cast<uint16_t>(frame.slope[c] - kRdoqDepth));
      }
      frames_.push_back(frame);
      for (uint32_t b = 0; b < kNumBlocks; ++b) add_block(f, b);
    }
  }

  /// Coefficients whose size falls off as those of pictures do, larger near a slanted line, with long runs
  /// of one sign. A weight so that RDOQ works at a random plane.
  void add_block(uint32_t f, uint32_t b) {
    const QuantizeJob& quantize = step_job(f, b);
    constexpr double kMeans[] = {0.4, 0.7, 2, 6, 6, 40, 3000};
    const double mean =
        kMeans[random_() % std::size(kMeans)] / (options_.reversible ? 1 : quantize.inverse_step);
    const double far = random_() % 3 == 0 ? 0.02 : 0.6;
    bool negative = false;
    double most = 0;
    for (int y = 0; y < quantize.height; ++y) {
      for (int x = 0; x < quantize.width; ++x) {
        const double near = std::abs(x - y / 2) % 24 < 4 ? 3 : far;
        if (uniform() < 0.2) negative = !negative;
        const double size = std::min(-std::log(uniform()) * mean * near, 1e5);
        most = std::max(most, size);
        const double value = negative ? -size : size;
        uint32_t& bits =
            samples_[f * frame_samples_ + quantize.source +
                     static_cast<uint64_t>(y) * quantize.stride + static_cast<uint64_t>(x)];
        bits = options_.reversible ? static_cast<uint32_t>(static_cast<int32_t>(value))
                                   : std::bit_cast<uint32_t>(static_cast<float>(value));
      }
    }
    if (!options_.reversible) most *= quantize.inverse_step;
    Tier1Job job{};
    job.first_word = quantize.first_word;
    job.first_pass = b * static_cast<uint32_t>(num_passes_of(kMaxBitPlanes));
    job.width = quantize.width;
    job.height = quantize.height;
    job.orientation = static_cast<uint8_t>(random_() % 4);
    job.component = static_cast<uint8_t>(random_() % 4);
    job.max_bit_planes = kMaxBitPlanes;
    job.size = static_cast<uint8_t>(tier1_size(job.width, job.height));
    const int planes = std::bit_width(static_cast<uint32_t>(most));
    const int plane = static_cast<int>(random_() % static_cast<uint32_t>(planes + 1));
    const double lambda = std::ldexp(0.1 + uniform(), 2 * plane);
    const double error = rdoq_error(static_cast<uint16_t>(kSlopeUnit + 100 * job.component));
    job.weight = random_() % 16 == 0 ? error * 1e-9 : error / lambda;
    jobs_.push_back(job);
  }
  const QuantizeJob& step_job(uint32_t f, uint32_t b) const {
    return quantize_[f % kStepSets * kNumBlocks + b];
  }

  /// All blocks but one of each frame.
  Tier1List list(std::vector<uint32_t>* listed) const {
    Tier1List list{};
    for (uint32_t size = 0; size < kTier1Sizes; ++size) {
      for (uint32_t number = 0; number < kFrames * kNumBlocks; ++number) {
        if (jobs_[number].size != size || number % kNumBlocks == 11) continue;
        listed->push_back(number);
        ++list.counts[size];
      }
    }
    return list;
  }

  /// What BlockRun::optimise of cpu/ebcot_coder.cc does.
  void expect(uint32_t number) {
    const uint32_t f = number / kNumBlocks;
    const Tier1Job& job = jobs_[number];
    const QuantizeJob& quantize = step_job(f, number % kNumBlocks);
    const uint32_t* source = samples_.data() + f * frame_samples_ + quantize.source;
    const ptrdiff_t stride = (job.width + 15) / 16 * 16;
    std::vector<uint32_t> samples(static_cast<size_t>(stride * job.height));
    if (options_.reversible) {
      ref::quantize_53(reinterpret_cast<const int32_t*>(source), quantize.stride, job.width,
                       job.height, samples.data(), stride);
    } else {
      ref::quantize_97(reinterpret_cast<const float*>(source), quantize.stride, job.width,
                       job.height, {quantize.inverse_step, 0, (1u << kMaxBitPlanes) - 1},
                       samples.data(), stride);
    }
    uint32_t all = 0;
    for (const uint32_t s : samples) all |= s & 0x7FFFFFFF;
    RdoqResult result{};
    result.bit_planes = std::bit_width(all);
    last_planes_[number] = 0;
    optimise(f, number, quantize, reinterpret_cast<const float*>(source), samples, stride, &result);
    totals_of_[number] = result.total;
    for (int pass = 0; pass < num_passes_of(result.bit_planes); ++pass)
      removed_[f * frame_passes_ + job.first_pass + static_cast<uint32_t>(pass)] =
          result.removed[pass];
    std::memset(&states_[number], 0, sizeof(Tier1State));
    all = 0;
    for (const uint32_t s : samples) all |= s & 0x7FFFFFFF;
    magnitudes_[number] = all;
    totals_.empty += all == 0;
    if (all != 0) write_planes(f, quantize, samples, stride, result.bit_planes);
  }
  void optimise(uint32_t f, uint32_t number, const QuantizeJob& quantize, const float* source,
                std::vector<uint32_t>& samples, ptrdiff_t stride, RdoqResult* result) {
    const Tier1Job& job = jobs_[number];
    const uint16_t slope = frames_[f].slope[job.component];
    const int planes = result->bit_planes;
    if (slope == 0 || planes == 0 || best_slope_left(job.weight, planes) < slope) {
      ++totals_.not_in;
      return;
    }
    const double lambda = rdoq_lambda(slope, job.weight);
    REQUIRE(lambda == frames_[f].error[job.component] / job.weight);
    PassKind kind;
    const int plane = rdoq_plane(lambda, options_.reversible, &kind);
    ++totals_.quantised;
    if (plane >= planes) return;
    if (frames_[f].pauses[job.component] && job.orientation != kLL &&
        number % kNumBlocks % 2 != 0) {
      last_planes_[number] =
          static_cast<uint8_t>(lowest_rdoq_plane(slope, job.weight, options_.reversible));
      totals_.last_planes += last_planes_[number] > 0;
    }
    if (plane == planes - 1) return;
    const std::vector<uint32_t> before = samples;
    RdoqBlock b{samples.data(),
                stride,
                job.width,
                job.height,
                static_cast<Orientation>(job.orientation),
                options_.style,
                nullptr,
                0,
                1,
                planes,
                plane,
                kind,
                lambda,
                overlaps_[number % kNumBlocks],
                options_.rounds};
    if (!options_.reversible) {
      b.coefficients = source;
      b.coefficient_stride = quantize.stride;
      b.inverse_step = quantize.inverse_step;
    }
    ref::rdoq_block(b, *scratch_, result);
    std::vector<uint32_t> others = before;
    b.samples = others.data();
    RdoqResult other;
    simd::rdoq_block(b, *scratch_, &other);
    REQUIRE(others == samples);
    REQUIRE(other.total == result->total);
    ++totals_.planes[std::min(plane, 7)];
    ++(result->changes > 0 ? totals_.changed : totals_.same);
    totals_.lost_planes += result->bit_planes < planes;
  }
  void write_planes(uint32_t f, const QuantizeJob& job, const std::vector<uint32_t>& samples,
                    ptrdiff_t stride, int planes) {
    uint64_t* const words = words_.data() + f * frame_words_ + job.first_word;
    std::fill_n(words, size_t{job.plane_words} * static_cast<size_t>(planes + 1), uint64_t{0});
    for (int slot = 0; slot <= planes; ++slot) {
      const int bit = slot == 0 ? 31 : planes - slot;
      for (size_t y = 0; y < job.height; ++y) {
        for (size_t x = 0; x < job.width; ++x)
          words[static_cast<size_t>(slot) * job.plane_words + y / 4 * job.words_wide + x / 16] |=
              uint64_t{samples[y * static_cast<size_t>(stride) + x] >> bit & 1}
              << (4 * (x % 16) + y % 4);
      }
    }
  }

  Gpu& gpu_;
  const Options options_;
  std::mt19937_64 random_;
  Totals& totals_;
  const std::unique_ptr<RdoqScratch> scratch_ = std::make_unique<RdoqScratch>();
  uint64_t frame_samples_ = 0, frame_words_ = 0;
  uint32_t frame_passes_ = 0;
  std::vector<Overlaps> overlaps_;     ///< [block]
  std::vector<QuantizeJob> quantize_;  ///< [step set][block]
  std::vector<Tier1Job> jobs_;         ///< [frame][block]
  std::vector<RdoqFrame> frames_;
  std::vector<uint32_t> samples_;
  // What is expected.
  std::vector<uint64_t> words_;
  std::vector<uint32_t> magnitudes_;
  std::vector<int64_t> removed_;
  std::vector<double> totals_of_;
  std::vector<uint8_t> last_planes_;
  std::vector<Tier1State> states_;
};

TEST_CASE("EBCOT kernels: rdoq") {
  Totals totals;
  for_each_seed("RDOQ", [&](Gpu& gpu, uint64_t seed) {
    const uint32_t kStyles[] = {0, CJ2K_STYLE_VSC, CJ2K_STYLE_BYPASS, CJ2K_STYLE_SEGSYM,
                                CJ2K_STYLE_RESET | CJ2K_STYLE_TERMALL};
    int i = 0;
    for (const uint32_t style : kStyles) {
      for (const bool reversible : {false, true}) {
        const int rounds = 1 + (++i / 2 + static_cast<int>(seed)) % 2;
        const Options options{reversible, !reversible && i % 4 == 1, style, rounds};
        Check(gpu, options, seed * 16 + static_cast<uint64_t>(i), totals).run();
      }
    }
  });
  // A sanitizer has one seed alone.
  CHECK(totals.changed > 100);
  CHECK(totals.same > 3);
  CHECK(totals.not_in > 30);
  CHECK(totals.last_planes > 15);
  CHECK(totals.lost_planes > 3);
  for (const int blocks : totals.planes) CHECK(blocks > 0);
}

}  // namespace
}  // namespace cj2k::cuda
