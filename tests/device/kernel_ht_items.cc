// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The choices and tasks of HT blocks on the device (ht_items) against the rules of the CPU backend
// (coders/ht/ht_points.h): orders of all kinds, random slopes, step sets and largest coefficients.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "coders/ebcot/rdoq.h"
#include "coders/ht/ht_points.h"
#include "core/quantizer.h"
#include "core/slope.h"
#include "core/stop.h"
#include "cuda/ht_layout.h"
#include "depth/stop_rule.h"
#include "device/kernel_check.h"
#include "kernels/ht/ht_block.h"
#include "pixels/quantize.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;
using Settings = std::vector<std::pair<const char*, const char*>>;

constexpr uint32_t kFrames = 5;
/// In tasks that nothing may write.
constexpr uint32_t kGuard = 0xA5A5A5A5;
constexpr size_t kGuardTasks = 8;

struct Totals {
  size_t zero = 0, without_planes = 0, bound = 0, hulls = 0, few = 0;
  size_t changed[kMostHtRdoqPlanes + 1] = {};  ///< blocks, by planes with RDOQ
  std::set<std::pair<HtPoints, int>> points;   ///< with the number of planes
};

Plan plan_of(const Settings& settings) {
  cj2k_params params;
  cj2k_params_init(&params, sizeof params);
  for (const auto& [key, value] : Settings{{"coder", "ht"},
                                           {"width", "203"},
                                           {"height", "151"},
                                           {"num_components", "3"},
                                           {"levels", "3"}})
    REQUIRE(cj2k_params_set(&params, key, value) == CJ2K_OK);
  for (const auto& [key, value] : settings)
    REQUIRE(cj2k_params_set(&params, key, value) == CJ2K_OK);
  return checked_plan(params);
}

class Check {
 public:
  Check(Gpu& gpu, const Plan& plan, uint64_t seed, Totals& totals)
      : gpu_(gpu),
        plan_(plan),
        layout_(make_ht_layout(plan)),
        num_blocks_(static_cast<uint32_t>(plan.blocks.size())),
        random_(seed),
        totals_(totals) {}

  void run() {
    for (uint32_t f = 0; f < kFrames; ++f) add_order(f);
    std::vector<uint32_t> peaks, list;
    uint32_t most_tasks = 0;
    for (uint32_t number = 0; number < kFrames * num_blocks_; ++number) {
      const CodeBlock& block = plan_.blocks[number % num_blocks_];
      peaks.push_back(
          random_peak(subband_of(plan_, block, orders_[number / num_blocks_].step_set)));
      if (random_() % 8 == 0) continue;
      list.push_back(number);
      const BlockOrder& order = orders_[number / num_blocks_];
      most_tasks +=
          most_ht_tasks(layout_.blocks[number % num_blocks_], order.thresholds[block.component],
                        order.highest[block.component], order.rdoq != SlopeThresholds{});
    }
    const simt::DeviceBuffer blocks = gpu_.upload(layout_.blocks),
                             bands = gpu_.upload(layout_.bands), slots = gpu_.upload(layout_.slots),
                             device_list = gpu_.upload(list), device_peaks = gpu_.upload(peaks),
                             tasks = gpu_.upload(std::vector<uint32_t>(
                                 (most_tasks + kGuardTasks) * sizeof(HtTask) / 4, kGuard)),
                             choices = gpu_.make<HtChoice>(list.size()),
                             num_tasks = gpu_.upload(std::vector<uint32_t>{0});
    const HtBlockTable table = layout_.table(plan_, blocks.as<HtPlanBlock>(), bands.as<HtBand>(),
                                             slots.as<HtSlot>(), nullptr);
    REQUIRE(ht_items(gpu_.stream, table, on_device_, device_peaks.as<uint32_t>(), plan_.reversible,
                     device_list.as<uint32_t>(), static_cast<uint32_t>(list.size()),
                     choices.as<HtChoice>(), tasks.as<HtTask>(),
                     num_tasks.as<uint32_t>()) == Status::kOk);
    num_tasks_ = gpu_.download<uint32_t>(num_tasks, 1)[0];
    REQUIRE(num_tasks_ <= most_tasks);
    tasks_ = gpu_.download<HtTask>(tasks, most_tasks + kGuardTasks);
    for (size_t i = num_tasks_; i < tasks_.size(); ++i) REQUIRE(tasks_[i].block == kGuard);
    const auto made = gpu_.download<HtChoice>(choices, list.size());
    for (size_t i = 0; i < list.size(); ++i) check(list[i], peaks[list[i]], made[i]);
    // Each task belongs to one block.
    REQUIRE(taken_.size() == num_tasks_);
  }

 private:
  void add_order(uint32_t frame) {
    constexpr HtPoints kPoints[] = {HtPoints::kNearSlope, HtPoints::kAll, HtPoints::kEstimate};
    BlockOrder order;
    order.step_set = static_cast<uint32_t>(random_() % (plan_.finer_subbands.size() + 1));
    order.points = kPoints[frame % 3];
    order.is_trial = random_() % 2 == 0;
    for (size_t c = 0; c < plan_.components.size() && !plan_.params.lossless; ++c) {
      if (random_() % 4 == 0) continue;
      const double weight = plan_.subbands[random_() % plan_.subbands.size()].distortion_weight;
      const auto above = static_cast<int>(random_() % (12 * kHtPlaneSlopes));
      order.thresholds[c] = static_cast<uint16_t>(log_slope(weight, 1) + above);
      if (frame % 2 == 1)
        order.highest[c] = static_cast<uint16_t>(order.thresholds[c] + random_() % 2000);
      if (plan_.has_rdoq && order.points != HtPoints::kEstimate)
        order.rdoq[c] = static_cast<uint16_t>(order.thresholds[c] + random_() % 500);
    }
    on_device_.of[frame] = ht_order(order);
    orders_.push_back(order);
  }
  /// From no plane to more than there are.
  uint32_t random_peak(const Subband& band) {
    const auto planes = static_cast<int>(random_() % (band.max_bit_planes + 2u));
    const double size = std::ldexp(1 + static_cast<double>(random_() % 1000) / 1000, planes - 1);
    if (planes == 0 && random_() % 2 == 0) return 0;
    if (!plan_.reversible)
      return std::bit_cast<uint32_t>(static_cast<float>(size) / band.inverse_step);
    return static_cast<uint32_t>(std::min(size, std::ldexp(1, band.max_bit_planes) - 1));
  }
  int bit_planes_of(const Subband& band, uint32_t peak) const {
    if (plan_.reversible) return static_cast<int>(std::bit_width(peak));
    const auto c = std::bit_cast<float>(peak);
    uint32_t sample;
    return static_cast<int>(std::bit_width(ref::quantize_97(
        &c, 1, 1, 1, {band.inverse_step, band.unit, (1u << band.max_bit_planes) - 1}, &sample, 1)));
  }

  void check(uint32_t number, uint32_t peak, const HtChoice& choice) {
    const CodeBlock& block = plan_.blocks[number % num_blocks_];
    const BlockOrder& order = orders_[number / num_blocks_];
    INFO("block ", number, ", ", int{block.width}, "x", int{block.height});
    const HtRules rules = ht_rules(plan_);
    const Subband& band = subband_of(plan_, block, order.step_set);
    const double weight = distortion_weight(plan_, block, order.step_set);
    const int bit_planes = bit_planes_of(band, peak);
    const uint16_t threshold =
        pause_threshold(order.thresholds[block.component], block.orientation);
    const HtPlanes planes = ht_planes_to_code(
        rules, weight, {threshold, std::max(threshold, order.highest[block.component])},
        bit_planes);
    const HtPoints points = ht_points_to_make(threshold, planes, order.points);
    const int count = std::max(planes.end - planes.lowest, 0);
    REQUIRE(choice.weight == weight);
    REQUIRE(choice.slope == (points == HtPoints::kNearSlope ? threshold + kHtExpected : 0));
    REQUIRE(choice.num_tasks == (count == 0 && bit_planes > 0 ? 1 : count));
    REQUIRE(choice.bit_planes == bit_planes);
    REQUIRE(choice.planes().lowest == planes.lowest);
    REQUIRE(choice.planes().end == planes.end);
    REQUIRE(choice.is_all == planes.is_all);
    REQUIRE(choice.points == points);
    REQUIRE(choice.has_hull ==
            (may_have_ht_hulls(plan_) && points != HtPoints::kEstimate && count > 0 &&
             count <= kHtNearPlanes && order.rdoq[block.component] == 0));
    const bool is_few = block.width * block.height < 4;
    REQUIRE(choice.most_passes == (is_few           ? 1
                                   : order.is_trial ? kAllHtPasses
                                                    : plan_.most_ht_passes));
    REQUIRE(choice.num_tasks <= most_ht_tasks(layout_.blocks[number % num_blocks_],
                                              order.thresholds[block.component],
                                              order.highest[block.component], false));
    const uint16_t rdoq = order.rdoq[block.component];
    const double lambda = rdoq > 0 ? rdoq_lambda(rdoq, weight) : 0;
    REQUIRE(on_device_.of[number / num_blocks_].lambda(block.component, weight) == lambda);
    int changed = 0;
    for (int plane = planes.lowest; plane < planes.end; ++plane)
      changed += is_ht_rdoq_plane(lambda, plane, plan_.params.effort == 3);
    for (int k = 0; k < changed; ++k)
      REQUIRE(
          taken_.insert(choice.first_task + choice.num_tasks + static_cast<uint32_t>(k)).second);
    ++totals_.changed[changed];
    for (uint32_t i = 0; i < choice.num_tasks; ++i)
      check_task(number, band, choice, i, tasks_[choice.first_task + i]);
    totals_.zero += bit_planes == 0 ? 1 : 0;
    totals_.without_planes += bit_planes > 0 && count == 0 ? 1 : 0;
    totals_.bound += planes.is_all ? 1 : 0;
    totals_.hulls += choice.has_hull ? 1 : 0;
    totals_.few += is_few ? 1 : 0;
    totals_.points.insert({points, count});
  }
  void check_task(uint32_t number, const Subband& band, const HtChoice& choice, uint32_t i,
                  const HtTask& task) {
    REQUIRE(taken_.insert(choice.first_task + i).second);
    REQUIRE(choice.first_task + i < num_tasks_);
    REQUIRE(task.block == number);
    REQUIRE(task.inverse_step == band.inverse_step);
    REQUIRE(task.max_bit_planes == band.max_bit_planes);
    REQUIRE(float_of_upper_half(task.rounder) == quantizer_rounder(band.unit));
    REQUIRE(task.is_counted == (choice.points == HtPoints::kNearSlope));
    REQUIRE(task.bit_planes == (i == 0 ? choice.bit_planes : 0));
    const int plane = choice.end - 1 - static_cast<int>(i);
    if (plane < choice.lowest) {
      REQUIRE(task.plane == kHtNoPlane);
      REQUIRE(task.passes == 0);
      return;
    }
    REQUIRE(task.plane == plane);
    REQUIRE(task.passes ==
            (choice.points == HtPoints::kEstimate
                 ? 0
                 : ht_passes(plane, choice.lowest, choice.points, choice.most_passes)));
    const HtPlanBlock& block = layout_.blocks[number % num_blocks_];
    REQUIRE(plane < block.num_slots);
    const HtSlot& slot = layout_.slots[block.first_slot + static_cast<uint32_t>(plane)];
    REQUIRE(task.cleanup == number / num_blocks_ * layout_.frame_bytes + slot.cleanup);
    REQUIRE(task.rest == slot.rest);
    REQUIRE(task.both == slot.both);
  }

  Gpu& gpu_;
  const Plan& plan_;
  const HtLayout layout_;
  const uint32_t num_blocks_;
  std::mt19937_64 random_;
  Totals& totals_;
  std::vector<BlockOrder> orders_;
  HtOrders on_device_{};
  uint32_t num_tasks_ = 0;
  std::vector<HtTask> tasks_;
  std::set<uint32_t> taken_;  ///< tasks of blocks that were checked
};

TEST_CASE("HT kernels: the planes of blocks") {
  struct Case {
    Settings settings;
    int32_t magnitude_bound;
    bool has_region;
  };
  const Case cases[] = {
      {{{"cblk", "8x8"}, {"frame_steps", "1"}, {"stop", "exact"}, {"target_bytes", "9000"}},
       0,
       false},
      {{{"cblk", "4x4"}, {"ht_passes", "cleanup"}, {"quality", "3"}}, 0, true},
      {{{"cblk", "16x8"}, {"frame_steps", "1"}, {"layers", "2"}, {"quality", "3"}}, 6, true},
      {{{"cblk", "4x8"}, {"wavelet", "5/3"}, {"quality", "2"}}, 0, true},
      {{{"cblk", "8x8"}, {"wavelet", "5/3"}, {"ht_passes", "cleanup"}, {"quality", "2"}}, 5, false},
      {{{"cblk", "8x8"}, {"lossless", "1"}}, 0, false},
      {{{"cblk", "8x8"}, {"effort", "2"}, {"target_bytes", "9000"}}, 0, false},
      {{{"cblk", "4x4"}, {"effort", "3"}, {"wavelet", "5/3"}, {"quality", "3"}}, 5, true}};
  Totals totals;
  bool has_steps = false;
  for_each_seed("HT, planes", [&](Gpu& gpu, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const Case& c : cases) {
      Plan plan = plan_of(c.settings);
      plan.magnitude_bound = c.magnitude_bound;
      plan.region_gain = 64;
      for (CodeBlock& block : plan.blocks) block.in_region = c.has_region && random() % 2 == 0;
      has_steps |= !plan.finer_subbands.empty();
      Check(gpu, plan, random(), totals).run();
    }
  });
  CHECK(has_steps);
  CHECK(totals.zero > 100);
  CHECK(totals.without_planes > 100);
  CHECK(totals.bound > 100);
  CHECK(totals.hulls > 100);
  CHECK(totals.few > 0);
  for (const size_t blocks : totals.changed) CHECK(blocks > 100);
  for (int planes = 1; planes <= kHtNearPlanes; ++planes)
    CHECK(totals.points.count({HtPoints::kNearSlope, planes}) == 1);
  for (const HtPoints points : {HtPoints::kAll, HtPoints::kEstimate}) {
    for (int planes = 0; planes <= 9; ++planes) CHECK(totals.points.count({points, planes}) == 1);
  }
}

}  // namespace
}  // namespace cj2k::cuda
