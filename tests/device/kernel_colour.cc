// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// colour_errors: what Y is quantised from, after Cb and Cr have been cut at hull points.
#include "device/kernel_check.h"
#include "device/tier1_gop.h"

// The headers of what is tested.
#include "coders/ebcot/colour_errors.h"
#include "kernels/ebcot/colour.h"

namespace cj2k::cuda::test {
namespace {

using simt::test::first_difference;
using simt::test::kPoison;

constexpr int kBlockSizes[][2] = {{64, 64}, {1, 1},    {4, 1024}, {5, 3},   {33, 17},
                                  {16, 4},  {1024, 4}, {8, 9},    {3, 600}, {32, 32}};
constexpr uint32_t kPlaces = std::size(kBlockSizes), kComponents = 4, kFrames = 4, kStepSets = 2;
constexpr uint32_t kNumBlocks = kPlaces * kComponents;

/// A block for each place of each component, one component after the other.
std::vector<Item> make_items(uint64_t seed) {
  constexpr int kPlanes[] = {0, 1, 2, 5, 7, 9, 14, 31};
  std::mt19937_64 random(seed);
  std::vector<Item> items;
  for (uint32_t c = 0; c < kComponents; ++c) {
    for (const auto& size : kBlockSizes) {
      std::vector<int> planes(kFrames);
      for (int& p : planes) p = kPlanes[random() % std::size(kPlanes)];
      items.push_back(make_item(size[0], size[1], planes, random()));
      items.back().component = static_cast<uint8_t>(c);
    }
  }
  return items;
}

/// Hulls of a list that no coder made: each block is cut after any of its passes.
struct Hulls {
  std::vector<Tier1Result> results;
  std::vector<HullPoint> points;
  std::vector<std::vector<HullPoint>> of_entry;

  Hulls(const Gop& gop, const std::vector<uint32_t>& list, bool by_number, uint64_t seed)
      : results(by_number ? gop.num_blocks() : list.size()), of_entry(list.size()) {
    std::mt19937_64 random(seed);
    points.assign(3, {});  // before those of the first block
    std::vector<size_t> order(list.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t entry : order) {
      const int passes = num_passes_of(gop.source(list[entry]).bit_planes());
      const uint64_t odds = 1 + random() % 4;
      auto slope = static_cast<uint16_t>(60000 - 64 * (random() % 64));
      auto& hull = of_entry[entry];
      for (int pass = 1; pass <= passes; ++pass) {
        slope = static_cast<uint16_t>(slope - 64 * (1 + random() % 8));
        if (random() % odds == 0) hull.push_back({0, static_cast<uint16_t>(pass), slope, 0});
      }
      Tier1Result& result = results[by_number ? list[entry] : entry];
      result.first_hull = static_cast<uint32_t>(points.size());
      result.num_hull = static_cast<uint8_t>(hull.size());
      points.insert(points.end(), hull.begin(), hull.end());
    }
  }
  int passes_at(size_t entry, uint16_t slope) const {
    int passes = 0;
    for (const HullPoint& point : of_entry[entry])
      if (point.slope >= slope) passes = point.passes;
    return passes;
  }
};

/// A GOP with coefficients, of which two frames have RDOQ.
class Colours {
 public:
  explicit Colours(uint64_t seed)
      : items_(make_items(seed)), gop_(items_, {.seed = seed}), random_(seed) {
    for (uint32_t set = 0; set < kStepSets; ++set) {
      for (uint32_t b = 0; b < kNumBlocks; ++b) add_jobs(b);
    }
    samples_.resize(kFrames * frame_samples_);
    for (uint32_t f = 0; f < kFrames; ++f) {
      frames_[f].step_set = f / 2;
      for (uint16_t& s : frames_[f].slope)
        s = static_cast<uint16_t>(60000 - 64 * (16 + random_() % 128));
      if (f % 2 == 0) frames_[f].slope[0] = 0;
      for (uint32_t b = 0; b < kNumBlocks; ++b) fill(f, b);
    }
    frames_[1].slope[2] = 0;  // all passes
    shifted_.assign(kFrames * shifted_samples(), std::bit_cast<float>(kPoison));
  }

  /// Compares `shifted` after each of the components.
  void check(size_t count, bool by_number) {
    std::vector<uint32_t> blocks = gop_.all();
    std::shuffle(blocks.begin(), blocks.end(), random_);
    blocks.resize(count);
    simt::DeviceBuffer d_blocks;
    const Tier1List list = gop_.upload_list(blocks, &d_blocks);
    const Hulls hulls(gop_, blocks, by_number, random_());
    Gpu& gpu = gop_.gpu();
    const auto results = gpu.upload(hulls.results);
    const auto points = gpu.upload(hulls.points);
    const auto quantize = gpu.upload(quantize_);
    const auto jobs = gpu.upload(jobs_);
    const auto samples = gpu.upload(samples_);
    const auto frames = gpu.upload(std::vector<RdoqFrame>(frames_, frames_ + kFrames));
    const auto shifted = gpu.upload(shifted_);
    Tier1Output output{};
    output.results = results.as<Tier1Result>();
    output.hull = points.as<HullPoint>();
    output.by_number = by_number;
    RdoqParams params{};
    params.quantize = quantize.as<QuantizeJob>();
    params.samples = {samples.as<void>(), frame_samples_, kFrames};
    params.shifted = shifted.as<float>();
    params.shifted_samples = shifted_samples();
    params.frames = frames.as<RdoqFrame>();
    std::vector<float> expected = shifted_;
    for (const uint32_t component : {1u, 2u}) {
      INFO("component ", component, " of ", count, " blocks, by number: ", by_number);
      REQUIRE(colour_errors(gpu.stream, gop_.buffers(), list, output, jobs.as<ColourJob>(),
                            component, params, shifted.as<float>()) == Status::kOk);
      for (size_t i = 0; i < count; ++i) {
        if (items_[blocks[i] % kNumBlocks].component == component)
          expect(blocks[i], hulls, i, expected.data());
      }
      const auto actual = gpu.download<float>(shifted, shifted_.size());
      REQUIRE(first_difference(actual, expected) == -1);
    }
  }
  /// Blocks that were cut: at no pass, after a significance pass, after another.
  const size_t (&cuts() const)[3] { return cuts_; }

 private:
  uint64_t shifted_samples() const { return frame_samples_ + 13; }

  void add_jobs(uint32_t b) {
    const Item& item = items_[b];
    QuantizeJob job{};
    job.first_word = gop_.layout().jobs[b].first_word;
    job.width = static_cast<uint16_t>(item.width);
    job.height = static_cast<uint16_t>(item.height);
    job.stride = static_cast<uint32_t>(item.width) + 3;
    job.source = frame_samples_;
    frame_samples_ += uint64_t{job.stride} * job.height;
    quantize_.push_back(job);
    const float step = std::ldexp(1 + static_cast<float>(random_() % 1000) / 1000,
                                  static_cast<int>(random_() % 30) - 25);
    jobs_.push_back({b % kPlaces, static_cast<float>(random_() % 1000) / 1500, step});
  }
  /// Coefficients near what the magnitudes stand for.
  void fill(uint32_t frame, uint32_t b) {
    const TestBlock& source = gop_.source(frame * kNumBlocks + b);
    const uint32_t i = frames_[frame].step_set * kNumBlocks + b;
    const QuantizeJob& job = quantize_[i];
    for (size_t k = 0; k < source.count(); ++k) {
      const float u = static_cast<float>(random_() % 4096) / 4096;
      const float c =
          random_() % 32 == 0 ? 0 : (static_cast<float>(source.magnitude(k)) + u) * jobs_[i].step;
      samples_[frame * frame_samples_ + job.source + k / job.width * job.stride + k % job.width] =
          random_() % 2 == 0 ? c : -c;
    }
  }

  /// What a chroma block does to `shifted`.
  void expect(uint32_t number, const Hulls& hulls, size_t entry, float* shifted) {
    const uint32_t frame = number / kNumBlocks, b = number % kNumBlocks;
    const uint32_t component = items_[b].component;
    const RdoqFrame& how = frames_[frame];
    if (how.slope[0] == 0) return;
    const TestBlock& source = gop_.source(number);
    const int passes = hulls.passes_at(entry, how.slope[component]);
    const ColourJob& colour = jobs_[how.step_set * kNumBlocks + b];
    const QuantizeJob& job = quantize_[how.step_set * kNumBlocks + b];
    const QuantizeJob& luma = quantize_[how.step_set * kNumBlocks + colour.luma];
    const float* samples = samples_.data() + frame * frame_samples_;
    const ChromaBlock block{source.samples().data(),
                            source.stride(),
                            source.width(),
                            source.height(),
                            samples + job.source,
                            job.stride,
                            colour.step,
                            plane_cut(source.bit_planes(), passes),
                            colour.factor};
    ++cuts_[passes == 0 ? 0 : block.cut.upper ? 1 : 2];
    // ref::add_colour_error has no stride for what it adds to.
    float* const to = shifted + frame * shifted_samples() + luma.source;
    std::vector<float> sums(source.count());
    const auto place = [&](size_t k) { return k / luma.width * luma.stride + k % luma.width; };
    for (size_t k = 0; k < sums.size(); ++k) sums[k] = component == 1 ? 0 : to[place(k)];
    ref::add_colour_error(block, sums.data());
    for (size_t k = 0; k < sums.size(); ++k) {
      if (component == 2) sums[k] += samples[luma.source + place(k)];
      to[place(k)] = sums[k];
    }
  }

  const std::vector<Item> items_;
  Gop gop_;
  std::mt19937_64 random_;
  uint64_t frame_samples_ = 0;  ///< also of the jobs so far
  std::vector<QuantizeJob> quantize_;
  std::vector<ColourJob> jobs_;
  std::vector<float> samples_, shifted_;
  RdoqFrame frames_[kFrames] = {};
  size_t cuts_[3] = {};
};

TEST_CASE("colour_errors: the shifts of the reference") {
  for (const uint64_t seed : simt::test::kSeeds) {
    INFO("seed ", seed);
    Colours colours(seed);
    colours.check(kNumBlocks * kFrames, false);
    colours.check(kNumBlocks * kFrames, true);
    colours.check(kNumBlocks, false);
    const auto& cuts = colours.cuts();
    MESSAGE("blocks cut before all passes: ", cuts[0], ", after a significance pass: ", cuts[1],
            ", after another: ", cuts[2]);
    for (const size_t count : cuts) CHECK(count > 3);
#if defined(CJ2K_SIMT_SHIM)
    simt::shim::check_canaries();
#endif
  }
}

}  // namespace
}  // namespace cj2k::cuda::test
