// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The decisions of the early stops on the device (tables, thresholds, and which blocks stop),
// against the rules that the host uses.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>

#include "device/kernel_check.h"

// The headers of what is tested.
#include "coders/hull.h"
#include "core/stop.h"
#include "depth/early_stop.h"
#include "kernels/rate/slopes.h"
#include "rate/rate.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;

constexpr uint32_t kFrames = 2;

FrameTargets same_for_all(const ByteTargets& targets) {
  FrameTargets all;
  std::fill(std::begin(all.of), std::end(all.of), targets);
  return all;
}

/// The second frame has half the targets of the first.
FrameTargets halved(const ByteTargets& targets) {
  FrameTargets all = same_for_all(targets);
  ByteTargets& second = all.of[1];
  if (second.frame != kNoTarget) second.frame /= 2;
  for (uint64_t& component : second.component) {
    if (component != kNoTarget) component /= 2;
  }
  second.floor /= 2;
  return all;
}

struct Hull {
  std::vector<HullPoint> points;
};

/// A hull with strictly falling slopes and rising lengths, in steps that are large or tiny. Every
/// eighth may have more points than a warp has lanes, twice over.
Hull random_hull(std::mt19937_64& random) {
  Hull hull;
  const bool is_long = random() % 8 == 0;
  const size_t most = random() % (is_long ? 90 : 12);
  const uint32_t farthest = is_long ? 600 : 9000;
  uint32_t slope = 65536, length = 0;
  for (size_t i = 0; i < most; ++i) {
    const uint32_t down = 1 + static_cast<uint32_t>(random() % (random() % 4 == 0 ? 2 : farthest));
    if (slope <= down) break;
    slope -= down;
    length += 1 + static_cast<uint32_t>(random() % (random() % 2 == 0 ? 5 : 4000));
    hull.points.push_back({length, static_cast<uint16_t>(i + 1), static_cast<uint16_t>(slope), 0});
  }
  return hull;
}

/// Blocks with hulls, as tier1_hull leaves those of a list.
struct Listed {
  uint32_t num_blocks, num_components;
  std::vector<Tier1Job> jobs;
  std::vector<uint32_t> numbers, weights;
  std::vector<Hull> hulls;  ///< [numbers]

  using Table = std::vector<uint64_t>;  ///< [component][slope]

  Table table(uint32_t frame) const {
    Table bytes(size_t{num_components} * kAboveAllSlopes);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] / num_blocks != frame) continue;
      uint64_t* row = bytes.data() + jobs[numbers[i] % num_blocks].component * kAboveAllSlopes;
      uint32_t before = 0;
      for (const HullPoint& p : hulls[i].points) {
        row[p.slope] += uint64_t{p.length_bytes - before} * weights[i];
        before = p.length_bytes;
      }
    }
    return bytes;
  }
};

Listed random_list(uint32_t num_components, size_t count, uint32_t most_weight, uint64_t seed) {
  std::mt19937_64 random(seed);
  Listed listed{97, num_components, {}, {}, {}, {}};
  for (uint32_t b = 0; b < listed.num_blocks; ++b) {
    Tier1Job job{};
    job.component = static_cast<uint8_t>(random() % num_components);
    listed.jobs.push_back(job);
  }
  listed.numbers.resize(kFrames * listed.num_blocks);
  std::iota(listed.numbers.begin(), listed.numbers.end(), 0u);
  std::shuffle(listed.numbers.begin(), listed.numbers.end(), random);
  listed.numbers.resize(std::min(count, listed.numbers.size()));
  for (size_t i = 0; i < listed.numbers.size(); ++i) {
    listed.weights.push_back(1 + static_cast<uint32_t>(random() % most_weight));
    listed.hulls.push_back(random_hull(random));
  }
  return listed;
}

/// The tables and thresholds of a list on the device.
class OnDevice {
 public:
  OnDevice(Gpu& gpu, const Listed& listed) : gpu_(gpu), listed_(listed) {
    std::mt19937_64 random(listed.numbers.size());
    std::vector<Tier1Result> results;
    std::vector<HullPoint> points(7);  // the hulls of a list need not begin at 0
    for (const Hull& hull : listed.hulls) {
      Tier1Result result{};
      result.first_hull = static_cast<uint32_t>(points.size());
      result.num_hull = static_cast<uint8_t>(hull.points.size());
      results.push_back(result);
      points.insert(points.end(), hull.points.begin(), hull.points.end());
    }
    const auto jobs = gpu.upload(listed.jobs);
    const auto numbers = gpu.upload(listed.numbers);
    const auto weights = gpu.upload(listed.weights);
    const auto d_results = gpu.upload(results);
    const auto d_points = gpu.upload(points);
    const size_t entries = kFrames * size_t{listed.num_components} * kAboveAllSlopes;
    tables_ = gpu.make<uint64_t>(entries);
    REQUIRE(gpu.stream.fill(tables_.as<void>(), 0, entries * sizeof(uint64_t)) == Status::kOk);
    Tier1Buffers buffers{};
    buffers.jobs = jobs.as<Tier1Job>();
    buffers.shared_jobs = buffers.num_blocks = listed.num_blocks;
    const auto count = static_cast<uint32_t>(listed.numbers.size());
    const Tier1List list{numbers.as<uint32_t>(),
                         {count - count / 3 - count / 4, count / 3, count / 4}};
    const Tier1Output output{d_results.as<Tier1Result>(), d_points.as<HullPoint>(), nullptr,
                             nullptr, nullptr};
    REQUIRE(slopes_accumulate(gpu.stream, buffers, list, output, weights.as<uint32_t>(),
                              device_tables()) == Status::kOk);
    REQUIRE(gpu.stream.synchronize() == Status::kOk);
  }

  std::vector<uint64_t> tables() {
    return gpu_.download<uint64_t>(tables_,
                                   kFrames * size_t{listed_.num_components} * kAboveAllSlopes);
  }
  std::vector<uint16_t> predict(const FrameTargets& targets) {
    const size_t count = kFrames * size_t{CJ2K_MAX_COMPONENTS};
    const auto thresholds = gpu_.upload(std::vector<uint16_t>(count, 0xA5A5));
    REQUIRE(slopes_predict(gpu_.stream, device_tables(), kFrames, targets,
                           thresholds.as<uint16_t>()) == Status::kOk);
    return gpu_.download<uint16_t>(thresholds, count);
  }

 private:
  SlopeTables device_tables() const { return {tables_.as<uint64_t>(), listed_.num_components}; }
  Gpu& gpu_;
  const Listed& listed_;
  simt::DeviceBuffer tables_;
};

/// The rule written out: slope by slope from the steepest.
uint32_t lowest_slope(const Listed::Table& table, uint32_t first, uint32_t end, uint64_t target) {
  uint64_t sum = 0;
  for (uint32_t slope = kAboveAllSlopes; slope-- > 0;) {
    for (uint32_t c = first; c < end; ++c) sum += table[size_t{c} * kAboveAllSlopes + slope];
    if (sum > target) return slope + 1;
  }
  return 0;
}

uint64_t sum_of(const Listed::Table& table, uint32_t first, uint32_t end, uint32_t from_slope) {
  uint64_t sum = 0;
  for (uint32_t c = first; c < end; ++c) {
    for (uint32_t s = from_slope; s < kAboveAllSlopes; ++s)
      sum += table[size_t{c} * kAboveAllSlopes + s];
  }
  return sum;
}

/// @param tables  [frame] of the list
/// @return the number of thresholds that are neither 0 nor the floor
size_t check_thresholds(OnDevice& device, uint32_t num_components,
                        const std::vector<Listed::Table>& tables, const ByteTargets& first) {
  const FrameTargets frame_targets = halved(first);
  const std::vector<uint16_t> actual = device.predict(frame_targets);
  size_t real = 0;
  for (uint32_t f = 0; f < kFrames; ++f) {
    const ByteTargets& targets = frame_targets.of[f];
    const uint32_t all = lowest_slope(tables[f], 0, num_components, targets.frame);
    for (uint32_t c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
      INFO("frame ", f, " component ", c, " of ", num_components, ", target ", targets.frame);
      uint16_t expected = targets.floor;
      if (c < num_components) {
        // 64 is kPredictionMargin, written out here.
        const uint32_t own = lowest_slope(tables[f], c, c + 1, targets.component[c]);
        const uint32_t slope = std::min<uint32_t>(std::max(own, all), 65535);
        expected = static_cast<uint16_t>(std::max<int>(expected, static_cast<int>(slope) - 64));
      }
      REQUIRE(actual[f * CJ2K_MAX_COMPONENTS + c] == expected);
      real += expected != 0 && expected != targets.floor;
    }
  }
  return real;
}

TEST_CASE("slope tables: sums of weighted segments, and the slopes at which targets are used up") {
  size_t real = 0, checked = 0;
  for_each_seed("slope tables", [&](Gpu& gpu, uint64_t seed) {
    for (const auto& [num_components, count] :
         {std::pair<uint32_t, size_t>{1, 130}, {3, 0}, {3, 1}, {4, 150}}) {
      const uint32_t most_weight = num_components == 4 ? 30'000'000 : 70;  // sums exceed 32 bits
      const Listed listed = random_list(num_components, count, most_weight, seed + count);
      OnDevice device(gpu, listed);
      INFO(num_components, " components, ", count, " blocks");
      std::vector<uint64_t> expected;
      std::vector<Listed::Table> tables;
      for (uint32_t f = 0; f < kFrames; ++f) {
        tables.push_back(listed.table(f));
        expected.insert(expected.end(), tables[f].begin(), tables[f].end());
      }
      REQUIRE(first_difference(device.tables(), expected) == -1);

      const uint64_t all = sum_of(tables[0], 0, num_components, 0);
      const uint64_t of_last = sum_of(tables[0], num_components - 1, num_components, 0);
      const uint64_t middle = sum_of(tables[0], 0, num_components, 40000);
      // Targets: nothing fits, everything fits exactly, all but one byte; the bytes of all
      // segments from a slope on, and one byte less.
      for (const uint64_t target : {uint64_t{0}, all, std::max<uint64_t>(all, 1) - 1, middle,
                                    std::max<uint64_t>(middle, 1) - 1}) {
        real += check_thresholds(device, num_components, tables,
                                 {target, {kNoTarget, kNoTarget, kNoTarget, kNoTarget}, 0});
        ++checked;
      }
      // A cap for one component and none for the frame; then also a frame cap, and a floor from the
      // quality.
      ByteTargets targets{kNoTarget, {kNoTarget, kNoTarget, kNoTarget, kNoTarget}, 0};
      targets.component[num_components - 1] = of_last / 3;
      real += check_thresholds(device, num_components, tables, targets);
      targets.frame = all / 2;
      targets.floor = 30000;
      real += check_thresholds(device, num_components, tables, targets);
      checked += 2;
    }
  });
  CHECK(real > checked);
  MESSAGE(checked << " sets of targets, " << real << " thresholds within the tables");
}

TEST_CASE("slope tables: what predict_thresholds says") {
  for_each_seed("predict", [&](Gpu& gpu, uint64_t seed) {
    size_t differ = 0;
    for (const auto& [frame_cap, component_cap] : {std::pair<const char*, const char*>{"9000", "0"},
                                                   {"9000", "2500"},
                                                   {"0", "2500"},
                                                   {"0", "1000000"},
                                                   {"100000000", "0"}}) {
      cj2k_params params;
      cj2k_params_init(&params, sizeof params);
      for (const auto& [key, value] : {std::pair<const char*, const char*>{"width", "150"},
                                       {"height", "121"},
                                       {"cblk", "8x8"},
                                       {"levels", "2"},
                                       {"quality", "0.5"},
                                       {"max_frame_bytes", frame_cap},
                                       {"max_component_bytes", component_cap}}) {
        REQUIRE(cj2k_params_set(&params, key, value) == CJ2K_OK);
      }
      const Plan plan = checked_plan(params);
      const BlockSample sample(plan);
      REQUIRE(sample.blocks.size() + sample.rest.size() == plan.blocks.size());
      std::vector<PacketScratch> scratch;
      scratch.emplace_back(plan);
      RateControl rate(plan, scratch);

      std::mt19937_64 random(seed);
      Listed listed{static_cast<uint32_t>(plan.blocks.size()),
                    static_cast<uint32_t>(plan.components.size()),
                    {},
                    {},
                    {},
                    {}};
      std::vector<CodedBlock> blocks(plan.blocks.size());
      for (const CodeBlock& block : plan.blocks) {
        Tier1Job job{};
        job.component = block.component;
        listed.jobs.push_back(job);
      }
      for (uint32_t f = 0; f < kFrames; ++f) {
        for (size_t i = 0; i < sample.blocks.size(); ++i) {
          listed.numbers.push_back(f * listed.num_blocks + sample.blocks[i]);
          listed.weights.push_back(sample.weights[i]);
          listed.hulls.push_back(random_hull(random));
        }
      }
      OnDevice device(gpu, listed);
      const std::vector<uint16_t> actual = device.predict(same_for_all(rate.prediction_targets()));
      for (uint32_t f = 0; f < kFrames; ++f) {
        for (size_t i = 0; i < sample.blocks.size(); ++i) {
          const Hull& hull = listed.hulls[f * sample.blocks.size() + i];
          CodedBlock& block = blocks[sample.blocks[i]];
          block.hull = hull.points.data();
          block.num_hull = static_cast<uint8_t>(hull.points.size());
        }
        SlopeHistogram histogram(plan.components.size());
        const SlopeThresholds expected =
            predict_thresholds(plan, blocks.data(), sample.blocks, sample.weights,
                               rate.prediction_targets(), histogram);
        for (uint32_t c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
          INFO("frame ", f, " component ", c, " caps ", frame_cap, " ", component_cap);
          REQUIRE(actual[f * CJ2K_MAX_COMPONENTS + c] == expected[c]);
        }
        differ += expected[0] != expected[1];
      }
    }
    CHECK(differ > 0);
  });
}

/// A GOP whose blocks are coded plane by plane, on the device and on the host.
class Planes {
 public:
  static constexpr uint32_t kBlocks = 150, kMaxPlanes = 7, kPasses = 3 * kMaxPlanes - 2;

  Planes(Gpu& gpu, uint32_t num_components, bool by_slope, uint64_t seed)
      : gpu_(gpu), num_components_(num_components), by_slope_(by_slope) {
    std::mt19937_64 random(seed);
    for (uint32_t b = 0; b < kBlocks; ++b) {
      Tier1Job job{};
      job.component = static_cast<uint8_t>(random() % num_components);
      job.weight = 0.25 * static_cast<double>(1 + random() % 40);
      // Slopes over all of their range.
      if (num_components == 4) job.weight = std::ldexp(job.weight, int(random() % 200) - 100);
      job.first_pass = b * kPasses;
      jobs_.push_back(job);
    }
    for (uint32_t i = 0; i < kFrames * kBlocks; ++i) {
      const uint32_t planes = random() % (kMaxPlanes + 1);
      magnitudes_.push_back(planes == 0 ? 0
                                        : (1u << (planes - 1)) | (random() % (1u << (planes - 1))));
      uint32_t length = 0;
      for (uint32_t p = 0; p < kPasses; ++p) {
        length += random() % (random() % 3 == 0 ? 3 : 90);
        const auto plane = static_cast<uint8_t>(planes - 1 - std::min((p + 2) / 3, planes - 1));
        // Now and then a pass removes nothing, or as much as the one before it adds.
        int64_t distortion = (static_cast<int64_t>(random() % 60000) - 9000)
                             << (planes == 0 ? 0 : plane);
        if (random() % 8 == 0) distortion = 0;
        if (p > 0 && passes_.back().plane == plane && random() % 8 == 0)
          distortion = -passes_.back().distortion;
        passes_.push_back({length, plane, distortion});
      }
    }
    states_.resize(kFrames * kBlocks);
    stopped_.resize(kFrames * kBlocks);
    before_.resize(kFrames * kBlocks);
    slopes_.resize(kFrames * kBlocks);
    d_jobs_ = gpu.upload(jobs_);
    d_magnitudes_ = gpu.upload(magnitudes_);
    d_passes_ = gpu.upload(passes_);
    d_states_ = gpu.upload(states_);
    d_records_ = gpu.upload(std::vector<PlaneRecord>(states_.size()));
    num_bytes_ = kFrames * (by_slope ? num_components * kSlopeEntries : CJ2K_MAX_COMPONENTS);
    d_bytes_ = gpu.upload(std::vector<uint64_t>(num_bytes_));
    d_thresholds_ = gpu.upload(std::vector<uint16_t>(kFrames * CJ2K_MAX_COMPONENTS));
    buffers_.jobs = d_jobs_.as<Tier1Job>();
    buffers_.shared_jobs = buffers_.num_blocks = kBlocks;
    buffers_.planes.magnitudes = d_magnitudes_.as<uint32_t>();
    buffers_.frame_passes = kBlocks * kPasses;
    buffers_.passes = d_passes_.as<CodingPass>();
    buffers_.states = d_states_.as<Tier1State>();
  }

  struct Totals {
    size_t stopped = 0, active = 0, thresholds = 0;
  };

  void plane(uint32_t plane, const FrameTargets& targets, Totals& totals) {
    // Stands in for block coding.
    for (uint32_t i = 0; i < states_.size(); ++i) {
      const auto planes = static_cast<uint32_t>(std::bit_width(magnitudes_[i]));
      if (stopped_[i] || planes <= plane) continue;
      states_[i].num_passes = static_cast<uint8_t>(num_passes_of(static_cast<int>(planes - plane)));
      states_[i].num_bytes = passes_[size_t{i} * kPasses + states_[i].num_passes - 1u].length_bytes;
      states_[i].finished = plane == 0;
      states_[i].paused = plane != 0;
    }
    REQUIRE(gpu_.stream.upload(d_states_.as<void>(), states_.data(),
                               states_.size() * sizeof(Tier1State)) == Status::kOk);
    const PlaneDecisions decisions{d_records_.as<PlaneRecord>(), d_bytes_.as<uint64_t>(),
                                   d_thresholds_.as<uint16_t>(), num_components_};
    REQUIRE((by_slope_ ? stop_by_slope_bytes : stop_by_bytes)(gpu_.stream, buffers_, kFrames, plane,
                                                              targets, decisions) == Status::kOk);
    for (uint32_t f = 0; f < kFrames; ++f) {
      if (by_slope_) {
        decide_by_slope(f, plane, targets.of[f], totals);
      } else {
        decide_by_bytes(f, plane, targets.of[f], totals);
      }
    }
    compare(totals);
  }

 private:
  struct Step {
    uint16_t slope;
    uint32_t bytes;
  };
  bool active(uint32_t i, uint32_t plane) const {
    return !stopped_[i] && static_cast<uint32_t>(std::bit_width(magnitudes_[i])) > plane;
  }
  Step step(uint32_t i) {
    const CodingPass* passes = passes_.data() + size_t{i} * kPasses;
    const uint32_t bytes = states_[i].num_bytes - before_[i];
    before_[i] = states_[i].num_bytes;
    const uint16_t slope = last_hull_slope([&](int pass) { return passes[pass]; },
                                           states_[i].num_passes, jobs_[i % kBlocks].weight);
    slopes_[i] = slope;
    return {slope, bytes};
  }

  void decide_by_slope(uint32_t f, uint32_t plane, const ByteTargets& targets, Totals& totals) {
    std::vector<std::pair<uint32_t, Step>> steps;
    for (uint32_t i = f * kBlocks; i < (f + 1) * kBlocks; ++i) {
      if (!active(i, plane)) continue;
      steps.emplace_back(i, step(i));
      all_[f].add(steps.back().second.slope, steps.back().second.bytes);
      own_[f][jobs_[i % kBlocks].component].add(steps.back().second.slope,
                                                steps.back().second.bytes);
    }
    for (uint32_t c = 0; c < num_components_; ++c) {
      thresholds_[f][c] =
          std::max(all_[f].threshold(targets.frame), own_[f][c].threshold(targets.component[c]));
    }
    for (const auto& [i, s] : steps) {
      stopped_[i] = may_pause(s.slope, s.bytes, thresholds_[f][jobs_[i % kBlocks].component]);
    }
    totals.active += steps.size();
  }

  void decide_by_bytes(uint32_t f, uint32_t plane, const ByteTargets& targets, Totals& totals) {
    std::vector<uint32_t> steps;
    for (uint32_t i = f * kBlocks; i < (f + 1) * kBlocks; ++i) {
      if (!active(i, plane)) continue;
      steps.push_back(i);
      sums_[f][jobs_[i % kBlocks].component] += step(i).bytes;
    }
    const uint64_t all = std::accumulate(sums_[f].begin(), sums_[f].end(), uint64_t{0});
    for (const uint32_t i : steps) {
      const uint32_t c = jobs_[i % kBlocks].component;
      stopped_[i] = sums_[f][c] > targets.component[c];
    }
    if (all > targets.frame) std::fill_n(stopped_.begin() + f * kBlocks, kBlocks, uint8_t{1});
    totals.active += steps.size();
  }

  void compare(Totals& totals) {
    const auto states = gpu_.download<Tier1State>(d_states_, states_.size());
    totals.stopped = 0;
    for (size_t i = 0; i < states.size(); ++i) {
      INFO("block ", i, by_slope_ ? " psb" : " bpi");
      REQUIRE((states[i].stopped != 0) == (stopped_[i] != 0));
      states_[i].stopped = states[i].stopped;
      REQUIRE(std::memcmp(&states[i], &states_[i], sizeof states[i]) == 0);
      totals.stopped += stopped_[i];
    }
    const auto records = gpu_.download<PlaneRecord>(d_records_, states.size());
    for (size_t i = 0; i < records.size(); ++i) {
      REQUIRE(records[i].num_bytes == before_[i]);
      if (by_slope_ && records[i].active != 0) REQUIRE(records[i].slope == slopes_[i]);
    }
    const auto bytes = gpu_.download<uint64_t>(d_bytes_, num_bytes_);
    const auto thresholds = gpu_.download<uint16_t>(d_thresholds_, kFrames * CJ2K_MAX_COMPONENTS);
    for (uint32_t f = 0; f < kFrames; ++f) {
      for (uint32_t c = 0; c < num_components_; ++c) {
        INFO("frame ", f, " component ", c);
        if (!by_slope_) {
          REQUIRE(bytes[f * CJ2K_MAX_COMPONENTS + c] == sums_[f][c]);
          continue;
        }
        const size_t row = (f * num_components_ + c) * kSlopeEntries;
        REQUIRE(std::equal(own_[f][c].bytes().begin(), own_[f][c].bytes().end(),
                           bytes.begin() + static_cast<ptrdiff_t>(row)));
        REQUIRE(thresholds[f * CJ2K_MAX_COMPONENTS + c] == thresholds_[f][c]);
        totals.thresholds += thresholds_[f][c] != 0;
      }
    }
  }

  Gpu& gpu_;
  const uint32_t num_components_;
  const bool by_slope_;
  std::vector<Tier1Job> jobs_;
  std::vector<uint32_t> magnitudes_, before_;
  std::vector<CodingPass> passes_;
  std::vector<Tier1State> states_;
  std::vector<uint8_t> stopped_;
  std::vector<uint16_t> slopes_;  ///< of the last hull segment of each block
  std::array<SlopeByteTable, kFrames> all_;
  std::array<std::array<SlopeByteTable, CJ2K_MAX_COMPONENTS>, kFrames> own_;
  std::array<std::array<uint16_t, CJ2K_MAX_COMPONENTS>, kFrames> thresholds_{};
  std::array<std::array<uint64_t, CJ2K_MAX_COMPONENTS>, kFrames> sums_{};
  size_t num_bytes_ = 0;
  simt::DeviceBuffer d_jobs_, d_magnitudes_, d_passes_, d_states_, d_records_, d_bytes_,
      d_thresholds_;
  Tier1Buffers buffers_{};
};

TEST_CASE("plane by plane: tables, thresholds and who stops, psb and bpi") {
  for (const bool by_slope : {true, false}) {
    Planes::Totals totals;
    size_t none = 0, some = 0;
    for_each_seed(by_slope ? "psb" : "bpi", [&](Gpu& gpu, uint64_t seed) {
      struct Case {
        uint32_t num_components;
        uint64_t frame, component;
      };
      // Without a limit no block stops. With a limit of zero, all blocks that cost bytes stop.
      for (const Case& c :
           {Case{1, 20000, kNoTarget}, Case{3, 30000, 12000}, Case{4, kNoTarget, 4000},
            Case{4, 40000, kNoTarget}, Case{3, 0, 0}, Case{3, kNoTarget, kNoTarget}}) {
        INFO(c.num_components, " components, targets ", c.frame, " ", c.component);
        const FrameTargets targets =
            halved({c.frame, {c.component, c.component, c.component, c.component}, 0});
        Planes planes(gpu, c.num_components, by_slope, seed * 7 + c.frame);
        for (uint32_t plane = Planes::kMaxPlanes; plane-- > 0;)
          planes.plane(plane, targets, totals);
        if (c.frame == kNoTarget && c.component == kNoTarget) {
          CHECK(totals.stopped == 0);
          ++none;
        } else {
          CHECK(totals.stopped > 0);
          ++some;
        }
      }
    });
    CHECK(none > 0);
    CHECK(some > 0);
    if (by_slope) CHECK(totals.thresholds > 0);
    MESSAGE((by_slope ? "psb: " : "bpi: ") << totals.active << " planes of blocks");
  }
}

}  // namespace
}  // namespace cj2k::cuda
