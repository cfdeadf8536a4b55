// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Coded blocks of random frames, and the same frames in device memory, for the checks of rate control
// and packets.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "device/kernel_check.h"

// The headers of what is tested.
#include "core/ebcot/coding_passes.h"
#include "core/slope.h"
#include "cuda/rate_tables.h"
#include "kernels/rate/allocate.h"
#include "kernels/rate/frame_memory.cuh"
#include "kernels/rate/packets.h"
#include "packets/packet_writer.h"
#include "rate/rate.h"

namespace cj2k::cuda {

using namespace cj2k::simt::test;
using Settings = std::vector<std::pair<const char*, const char*>>;

inline Plan plan_of(const Settings& settings) {
  cj2k_params params;
  cj2k_params_init(&params, sizeof params);
  for (const auto& [key, value] : settings)
    REQUIRE(cj2k_params_set(&params, key, value) == CJ2K_OK);
  return checked_plan(params);
}

/// The coded blocks of a frame.
struct Frame {
  std::vector<CodedBlock> blocks;
  std::vector<std::vector<HullPoint>> hulls;
  std::vector<std::vector<uint8_t>> data;  ///< [blocks] CodedBlock::data; empty: none has bytes
  std::vector<std::vector<PointCode>> codes = {};  ///< [blocks] with HT
};

/// Makes a frame one of HT: the points of a block get planes and bytes of their own.
inline void make_ht(const Plan& plan, uint64_t seed, Frame& frame) {
  std::mt19937_64 random(seed);
  frame.codes.assign(plan.blocks.size(), {});
  frame.data.resize(plan.blocks.size());
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    std::vector<HullPoint>& hull = frame.hulls[b];
    const int planes = plan.subbands[plan.blocks[b].subband].max_bit_planes;
    std::vector<uint8_t>& data = frame.data[b];
    data.clear();
    std::vector<std::pair<size_t, size_t>> places;
    for (HullPoint& point : hull) {
      point.length_bytes += 3;
      point.passes = static_cast<uint16_t>(1 + random() % 3);
      const uint32_t first = point.passes == 1
                                 ? point.length_bytes
                                 : 2 + static_cast<uint32_t>(random() % (point.length_bytes - 2));
      const uint8_t zero = static_cast<uint8_t>(random() % static_cast<uint64_t>(planes));
      frame.codes[b].push_back({nullptr, nullptr, first, zero});
      const size_t begin = data.size(), rest = begin + (first + 15) / 16 * 16;
      places.emplace_back(begin, rest);
      data.resize(rest + (point.length_bytes - first + 15) / 16 * 16);
    }
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
    for (size_t i = 0; i < hull.size(); ++i) {
      frame.codes[b][i].first = data.data() + places[i].first;
      frame.codes[b][i].rest = data.data() + places[i].second;
    }
    CodedBlock& coded = frame.blocks[b];
    coded.zero_bit_planes = 0;
    coded.codes = hull.empty() ? nullptr : frame.codes[b].data();
    coded.planes_left = static_cast<uint8_t>(random() % 5);
    if (!hull.empty()) coded.num_bytes = hull.back().length_bytes;
  }
}
inline bool is_ht(const Plan& plan) { return plan.params.coder == CJ2K_CODER_HT; }
/// The code of a chosen point.
inline const PointCode* code_of(const Frame& frame, size_t block, int points) {
  return points > 0 ? &frame.codes[block][static_cast<size_t>(points) - 1] : nullptr;
}

/// Hulls like those of pictures: slopes fall, also by one step at a time, and many blocks have points
/// of the same slopes. Where `most_bytes` is small, headers are as long as the bodies.
inline Frame random_frame(const Plan& plan, uint64_t seed, uint32_t most_bytes) {
  std::mt19937_64 random(seed);
  Frame frame{std::vector<CodedBlock>(plan.blocks.size()), {}, {}};
  frame.hulls.resize(plan.blocks.size());
  const uint32_t empty_share = 1 + static_cast<uint32_t>(random() % 4);
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const CodeBlock& block = plan.blocks[b];
    CodedBlock& coded = frame.blocks[b];
    const int most = block.max_bit_planes;
    const int planes = random() % 5 < empty_share
                           ? 0
                           : static_cast<int>(random() % static_cast<uint64_t>(most + 1));
    coded.zero_bit_planes = static_cast<uint8_t>(most - planes + block.planes_above);
    if (planes == 0) continue;
    const int passes = num_passes_of(planes);
    int slope = kSlopeUnit + 2000 + static_cast<int>(random() % 64) * 40, pass = 0;
    uint32_t length = 0;
    while ((pass += 1 + static_cast<int>(random() % 3)) <= passes && slope > 0) {
      length += 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 3 : most_bytes));
      frame.hulls[b].push_back(
          {length, static_cast<uint16_t>(pass), static_cast<uint16_t>(slope), 1.0 * length});
      slope -= 1 + static_cast<int>(random() % (random() % 4 == 0 ? 3 : 500));
    }
    coded.hull = frame.hulls[b].data();
    coded.num_hull = static_cast<uint8_t>(frame.hulls[b].size());
    coded.num_passes = static_cast<uint8_t>(passes);
  }
  if (is_ht(plan)) make_ht(plan, seed, frame);
  return frame;
}

/// The frames are moved, not copied: their blocks point to their hulls.
inline std::vector<Frame> two_frames(const Plan& plan) {
  std::vector<Frame> frames;
  for (const uint64_t seed : {1, 2}) frames.push_back(random_frame(plan, seed, 50));
  return frames;
}

/// Bytes of the frame when everything goes in.
inline uint64_t all_bytes(const Plan& plan, const Frame& frame) {
  uint64_t bytes = fixed_bytes(plan);
  for (const CodedBlock& block : frame.blocks)
    bytes += block.num_hull > 0 ? block.hull[block.num_hull - 1].length_bytes + 4 : 1;
  return bytes;
}

/// A cap for about half of it.
inline RateLimits half_of(const Plan& plan, const Frame& frame) {
  return {(smallest_bytes(plan).frame + all_bytes(plan, frame)) / 2, kNoTarget, 0};
}

inline FrameRate rate_of(const RateLimits& limits) {
  return {limits.frame_bytes, limits.component_bytes, limits.slope};
}

/// The frames of a GOP, on the device.
class OnDevice {
 public:
  OnDevice(Gpu& gpu, const Plan& plan, const std::vector<Frame>& frames)
      : gpu_(gpu), plan_(plan), frames_(frames), tables_(plan, 150 * num_blocks()) {
    std::vector<uint8_t> image(tables_.bytes());
    tables_.store(image.data());
    table_memory_ = gpu.upload(image);
    upload_bytes();
    std::vector<Tier1Result> results;
    std::vector<HullPoint> hull(5);
    std::vector<HtPointCode> codes(5);
    std::vector<double> weights;
    for (const Frame& frame : frames) {
      for (size_t b = 0; b < num_blocks(); ++b) {
        if (is_ht(plan)) add_codes(frame, b, codes, weights);
        Tier1Result result{};
        result.first_hull = static_cast<uint32_t>(hull.size());
        result.num_hull = frame.blocks[b].num_hull;
        result.bit_planes =
            static_cast<uint8_t>(plan.blocks[b].max_bit_planes + plan.blocks[b].planes_above -
                                 frame.blocks[b].zero_bit_planes);
        result.num_bytes = frame.blocks[b].num_bytes;
        result.planes_left = frame.blocks[b].planes_left;
        result.num_passes = frame.blocks[b].num_passes;
        result.total_distortion = frame.blocks[b].total_distortion;
        result.left_distortion = 0.5 * frame.blocks[b].num_bytes;
        results.push_back(result);
        hull.insert(hull.end(), frame.hulls[b].begin(), frame.hulls[b].end());
      }
    }
    results_ = gpu.upload(results);
    hull_ = gpu.upload(hull);
    if (is_ht(plan)) {
      codes_ = gpu.upload(codes);
      weights_ = gpu.upload(weights);
    }
    rate_plan_ = tables_.on_device(table_memory_.as<void>(), jobs_.as<Tier1Job>());
    scratch_ = gpu.make<uint8_t>(frames.size() * rate_scratch_bytes(rate_plan_));
    chosen_ = gpu.make<ChosenBlock>(frames.size() * num_blocks());
    outcomes_ = gpu.make<RateOutcome>(frames.size());
  }

  RatePlan& rate_plan() { return rate_plan_; }
  /// Gives the packet headers no room.
  void take_header_room() {
    for (RatePrecinct& precinct : tables_.precincts) precinct.num_words = 2;
    std::vector<uint8_t> image(tables_.bytes());
    tables_.store(image.data());
    table_memory_ = gpu_.upload(image);
    rate_plan_ = tables_.on_device(table_memory_.as<void>(), jobs_.as<Tier1Job>());
  }

  void allocate(const std::vector<RateLimits>& limits, bool again = false,
                uint64_t mask = UINT64_MAX) {
    FrameRates rates{};
    for (size_t f = 0; f < limits.size(); ++f) rates.of[f] = rate_of(limits[f]);
    rates.frames = mask;
    REQUIRE(allocate_rate(gpu_.stream, rate_plan_, static_cast<uint32_t>(frames_.size()), rates,
                          again,
                          {results_.as<Tier1Result>(), hull_.as<HullPoint>(),
                           codes_.as<HtPointCode>(), weights_.as<double>()},
                          scratch_.as<void>(),
                          {chosen_.as<ChosenBlock>(), outcomes_.as<RateOutcome>()}) == Status::kOk);
    chosen = gpu_.download<ChosenBlock>(chosen_, frames_.size() * num_blocks());
    outcomes = gpu_.download<RateOutcome>(outcomes_, frames_.size());
  }
  void set_outcomes(const std::vector<RateOutcome>& values) { outcomes_ = gpu_.upload(values); }
  std::vector<Tier1Result> results() {
    return gpu_.download<Tier1Result>(results_, frames_.size() * num_blocks());
  }

  /// What write_packets has written.
  struct Written {
    std::vector<uint8_t> bytes;
    std::vector<double> left;
    uint32_t units;
  };
  /// After `allocate`.
  /// @param room    in units of 16 bytes
  /// @param paused  [blocks] or empty
  Written write(uint32_t room, uint64_t mask, const std::vector<uint8_t>& paused) {
    const size_t count = frames_.size() * num_blocks();
    const auto d_paused = gpu_.upload(paused.empty() ? std::vector<uint8_t>(1) : paused);
    const auto left = gpu_.upload(std::vector<double>(count, -1));
    const auto parts = gpu_.make<uint32_t>(frames_.size() * rate_plan_.num_parts);
    const auto packets = gpu_.make<uint32_t>(frames_.size() * rate_plan_.num_precincts);
    const auto places = gpu_.make<uint32_t>(count);
    const auto bytes = gpu_.make<uint8_t>(size_t{16} * std::max(room, 1u));
    const auto total = gpu_.upload(std::vector<uint32_t>(1, UINT32_MAX));
    spoil_nodes();
    REQUIRE(write_packets(
                gpu_.stream, rate_plan_, static_cast<uint32_t>(frames_.size()),
                {bytes_.as<uint8_t>(), frame_bytes_, results_.as<Tier1Result>(),
                 codes_.as<HtPointCode>(), chosen_.as<ChosenBlock>(),
                 paused.empty() ? nullptr : d_paused.as<uint8_t>(), scratch_.as<uint8_t>(), mask},
                {outcomes_.as<RateOutcome>(), left.as<double>(), parts.as<uint32_t>(),
                 packets.as<uint32_t>(), places.as<uint32_t>(), bytes.as<uint8_t>(), room,
                 total.as<uint32_t>()}) == Status::kOk);
    outcomes = gpu_.download<RateOutcome>(outcomes_, frames_.size());
    return {gpu_.download<uint8_t>(bytes, size_t{16} * room), gpu_.download<double>(left, count),
            gpu_.download<uint32_t>(total, 1)[0]};
  }

  uint32_t num_blocks() const { return static_cast<uint32_t>(plan_.blocks.size()); }

  std::vector<ChosenBlock> chosen;
  std::vector<RateOutcome> outcomes;

 private:
  void add_codes(const Frame& frame, size_t block, std::vector<HtPointCode>& codes,
                 std::vector<double>& weights) const {
    const auto f = static_cast<size_t>(&frame - frames_.data());
    const CodeBlock& of = plan_.blocks[block];
    const int planes = plan_.subbands[of.subband].max_bit_planes;
    weights.push_back(distortion_weight(plan_, of));
    for (const PointCode& code : frame.codes[block]) {
      const auto at = static_cast<uint64_t>(code.first - frame.data[block].data());
      codes.push_back({f * frame_bytes_ + offsets_[block] + at, code.first_bytes,
                       static_cast<uint16_t>((code.rest - code.first) / 16), code.zero_bit_planes,
                       static_cast<uint8_t>(planes - 1 - code.zero_bit_planes)});
    }
  }
  /// Tag trees are made for each packet anew, so what rate control has left of them does not matter.
  void spoil_nodes() {
    const rate::ScratchLayout layout(rate_plan_);
    for (size_t f = 0; f < frames_.size(); ++f) {
      REQUIRE(gpu_.stream.fill(scratch_.as<uint8_t>() + f * layout.bytes + layout.nodes, 0x11,
                               layout.words - layout.nodes) == Status::kOk);
    }
  }
  /// Room for the longest block of all frames, for each block.
  void upload_bytes() {
    std::vector<Tier1Job> jobs(num_blocks());
    frame_bytes_ = 0;
    for (size_t b = 0; b < jobs.size(); ++b) {
      jobs[b].bytes_capacity = 1 << 20;
      jobs[b].bytes_offset = frame_bytes_;
      offsets_.push_back(frame_bytes_);
      size_t most = 0;
      for (const Frame& frame : frames_)
        most = std::max(most, frame.data.empty() ? 0 : frame.data[b].size());
      frame_bytes_ += (most + 15) / 16 * 16;
    }
    jobs_ = gpu_.upload(jobs);
    std::vector<uint8_t> bytes(frames_.size() * frame_bytes_ + 16);
    for (size_t f = 0; f < frames_.size(); ++f) {
      for (size_t b = 0; b < frames_[f].data.size(); ++b) {
        std::copy(frames_[f].data[b].begin(), frames_[f].data[b].end(),
                  bytes.begin() + static_cast<ptrdiff_t>(f * frame_bytes_ + jobs[b].bytes_offset));
      }
    }
    bytes_ = gpu_.upload(bytes);
  }

  Gpu& gpu_;
  const Plan& plan_;
  const std::vector<Frame>& frames_;
  RateTables tables_;
  simt::DeviceBuffer table_memory_, jobs_, bytes_, results_, hull_, codes_, weights_, scratch_,
      chosen_, outcomes_;
  std::vector<uint64_t> offsets_;  ///< [blocks] in a frame's bytes
  uint64_t frame_bytes_ = 0;
  RatePlan rate_plan_{};
};

/// Caps from almost nothing to more than everything, of the frame, of the components, of both, with
/// and without a quality.
inline std::vector<RateLimits> limits_of(const Plan& plan, const Frame& frame,
                                         std::mt19937_64& random) {
  const SmallestBytes least = smallest_bytes(plan);
  const uint64_t all = all_bytes(plan, frame);
  const uint64_t more = all > least.frame ? all - least.frame : 1;
  const uint64_t part = least.frame + random() % more;
  const uint64_t own = least.component + random() % more / plan.components.size();
  const uint16_t quality = static_cast<uint16_t>(kSlopeUnit + 1000 + random() % 2500);
  return {{least.frame, kNoTarget, 0},
          {least.frame + more / 50 + random() % 40, kNoTarget, 0},
          {part, kNoTarget, 0},
          {part, kNoTarget, quality},
          {2 * all, kNoTarget, 0},
          {kNoTarget, kNoTarget, quality},
          {part, own, 0},
          {kNoTarget, own, quality},
          {part, least.component, 0}};
}

/// Random frames, and for each of them the limits of limits_of.
struct RandomGop {
  std::vector<Frame> frames;
  std::vector<std::vector<RateLimits>> limits;  ///< [frames]

  /// @param make_frame  (seed) -> Frame
  template <typename MakeFrame>
  RandomGop(const Plan& plan, size_t num_frames, std::mt19937_64& random,
            const MakeFrame& make_frame) {
    for (size_t f = 0; f < num_frames; ++f) {
      frames.push_back(make_frame(random()));
      limits.push_back(limits_of(plan, frames.back(), random));
    }
  }
  size_t num_rounds() const { return limits[0].size() / frames.size(); }
  /// The limits of the frames in a round. Over all rounds each limit has its turn.
  std::vector<RateLimits> of_round(size_t round) const {
    std::vector<RateLimits> of;
    for (size_t f = 0; f < frames.size(); ++f)
      of.push_back(limits[f][(round * frames.size() + f) % limits[f].size()]);
    return of;
  }
};

}  // namespace cj2k::cuda
