// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ for HT on the device (ht_change) against coders/ht/ht_rdoq.h: every block size, planes that may
// change and others, passes that are not coded; which samples change, the error, the tasks and the lists.
// And ht_encode of the changed samples.
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "coders/ht/ht_rdoq.h"
#include "core/quantizer.h"
#include "device/kernel_check.h"
#include "kernels/ht/ht_block.h"
#include "pixels/quantize.h"

namespace cj2k::cuda {
namespace {

using namespace cj2k::simt::test;

struct Size {
  uint16_t width, height;
};
constexpr Size kSizes[] = {{1, 1},   {2, 2},   {1, 5},   {5, 1},    {4, 4},    {5, 7},    {13, 16},
                           {17, 19}, {32, 32}, {33, 31}, {64, 64},  {64, 61},  {63, 64},  {4, 1024},
                           {3, 999}, {1, 333}, {2, 510}, {1024, 4}, {1023, 3}, {128, 32}, {7, 9}};
constexpr uint32_t kNumBlocks = std::size(kSizes), kFrames = 2;
constexpr uint32_t kStride = kMostHtChangeBytes;
constexpr uint8_t kMaxBitPlanes = 20;
constexpr uint8_t kGuard = 0xA5;

struct Totals {
  int wanted = 0, same = 0, empty = 0, not_coded = 0, second = 0;
};

/// The blocks of two frames. Each has choices and tasks as ht_items and ht_choose leave them.
class Check {
 public:
  Check(Gpu& gpu, bool reversible, bool both, uint64_t seed, Totals& totals)
      : gpu_(gpu), reversible_(reversible), both_(both), random_(seed), totals_(totals) {}

  void run() {
    uint64_t frame_samples = 0;
    std::vector<HtPlanBlock> plan_blocks;
    std::vector<HtSlot> slots;
    for (const Size& size : kSizes) {
      QuantizeJob job{};
      job.source = frame_samples + frame_samples % 3;
      job.stride = size.width + frame_samples % 5;
      job.width = size.width;
      job.height = size.height;
      jobs_.push_back(job);
      frame_samples = (job.source + uint64_t{job.stride} * job.height + 31) / 32 * 32;
      HtPlanBlock block{};
      block.first_slot = static_cast<uint32_t>(slots.size());
      block.num_slots = kMaxBitPlanes;
      plan_blocks.push_back(block);
      const uint32_t room = ht_cleanup_room(size.width, size.height, kMaxBitPlanes);
      const uint32_t rest = ht_refinement_room(size.width, size.height);
      for (uint32_t i = 0; i < kMaxBitPlanes + kMostHtRdoqPlanes; ++i) {
        slots.push_back({frame_bytes_, room, room + rest});
        frame_bytes_ += room + 2 * rest;
      }
    }
    make_overlaps();
    samples_.resize(frame_samples * kFrames);
    for (uint32_t b = 0; b < kFrames * kNumBlocks; ++b) add_block(b, frame_samples);

    const simt::DeviceBuffer jobs = gpu_.upload(jobs_), samples = gpu_.upload(samples_),
                             words = gpu_.upload(ht_vlc_words()),
                             device_blocks = gpu_.upload(plan_blocks),
                             device_slots = gpu_.upload(slots),
                             device_overlaps = gpu_.upload(overlaps_), tasks = gpu_.upload(tasks_),
                             choices = gpu_.upload(choices_),
                             results = gpu_.upload(std::vector<HtResult>(tasks_.size())),
                             counts = gpu_.upload(std::vector<uint32_t>(kHtKinds)),
                             lists = gpu_.make<uint32_t>(tasks_.size() * kHtKinds),
                             changes = gpu_.make<uint8_t>(uint64_t{kFrames} * kNumBlocks *
                                                          kMostHtRdoqPlanes * kStride);
    const HtBlocks blocks{jobs.as<QuantizeJob>(),
                          kNumBlocks,
                          {samples.as<void>(), frame_samples, kFrames},
                          words.as<uint16_t>()};
    HtBlockTable table{};
    table.blocks = device_blocks.as<HtPlanBlock>();
    table.num_blocks = kNumBlocks;
    table.slots = device_slots.as<HtSlot>();
    table.overlaps = device_overlaps.as<Overlaps>();
    table.frame_bytes = frame_bytes_;
    table.rules.both_rdoq_planes = both_;
    HtOrders orders{};
    for (HtOrder& order : orders.of) std::fill_n(order.rdoq, CJ2K_MAX_COMPONENTS, 1.0);
    const auto capacity = static_cast<uint32_t>(tasks_.size());
    REQUIRE(ht_change(gpu_.stream, blocks, table, orders, tasks.as<HtTask>(),
                      choices.as<HtChoice>(), static_cast<uint32_t>(choices_.size()), reversible_,
                      results.as<HtResult>(),
                      {lists.as<uint32_t>(), counts.as<uint32_t>(), capacity},
                      {changes.as<uint8_t>(), kStride}) == Status::kOk);
    made_ = gpu_.download<HtTask>(tasks, tasks_.size());
    results_ = gpu_.download<HtResult>(results, tasks_.size());
    encode(blocks, tasks.as<HtTask>(), results,
           {lists.as<uint32_t>(), counts.as<uint32_t>(), capacity},
           {changes.as<uint8_t>(), kStride});
    changes_ = gpu_.download<uint8_t>(changes,
                                      uint64_t{kFrames} * kNumBlocks * kMostHtRdoqPlanes * kStride);
    std::vector<uint32_t> listed[kHtKinds];
    for (uint32_t b = 0; b < kFrames * kNumBlocks; ++b) check_block(b, slots, listed);
    const auto made_counts = gpu_.download<uint32_t>(counts, kHtKinds);
    auto made_lists = gpu_.download<uint32_t>(lists, tasks_.size() * kHtKinds);
    for (uint32_t kind = 0; kind < kHtKinds; ++kind) {
      REQUIRE(made_counts[kind] == listed[kind].size());
      auto list = made_lists.begin() + kind * capacity;
      std::sort(list, list + made_counts[kind]);
      REQUIRE(std::equal(listed[kind].begin(), listed[kind].end(), list));
    }
  }

 private:
  /// Codes what is listed: the second codings alone.
  void encode(const HtBlocks& blocks, const HtTask* tasks, const simt::DeviceBuffer& results,
              const HtTaskLists& lists, const HtChanges& changes) {
    const simt::DeviceBuffer bytes =
        gpu_.upload(std::vector<uint8_t>(static_cast<size_t>(frame_bytes_ * kFrames), kGuard));
    const HtWork work{
        tasks,  static_cast<uint32_t>(tasks_.size()), nullptr, lists, reversible_, false, causal_,
        changes};
    REQUIRE(ht_encode(gpu_.stream, blocks, work, bytes.as<uint8_t>(), results.as<HtResult>()) ==
            Status::kOk);
    bytes_ = gpu_.download<uint8_t>(bytes, static_cast<size_t>(frame_bytes_ * kFrames));
    coded_ = gpu_.download<HtResult>(results, tasks_.size());
  }
  struct Block {
    std::vector<uint32_t> samples;
    std::vector<float> coefficients;
    float inverse_step;
  };

  /// Laplacian coefficients, some of them far larger.
  void add_block(uint32_t number, uint64_t frame_samples) {
    const QuantizeJob& job = jobs_[number % kNumBlocks];
    const int plane = static_cast<int>(random_() % 6);
    Block block;
    block.inverse_step = reversible_ ? 1 : 0.5f + static_cast<float>(random_() % 8);
    block.samples.resize(size_t{job.width} * job.height);
    const double mean = std::ldexp(0.2 + static_cast<double>(random_() % 4), plane);
    uint32_t* const source = samples_.data() + number / kNumBlocks * frame_samples + job.source;
    for (uint32_t i = 0; i < block.samples.size(); ++i) {
      const double u = (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
      const double size =
          std::log(u) * (random_() % 64 == 0 ? 3000 * mean : mean) * (random_() % 2 == 0 ? 1 : -1);
      uint32_t& bits = source[i / job.width * job.stride + i % job.width];
      if (reversible_) {
        const auto c = static_cast<int32_t>(std::clamp(size, -1e6, 1e6));
        bits = static_cast<uint32_t>(c);
        ref::quantize_53(&c, 1, 1, 1, &block.samples[i], 1);
      } else {
        const float c = static_cast<float>(size) / block.inverse_step;
        bits = std::bit_cast<uint32_t>(c);
        block.coefficients.push_back(c);
        ref::quantize_97(&c, 1, 1, 1, {block.inverse_step, 0, (1u << kMaxBitPlanes) - 1},
                         &block.samples[i], 1);
      }
    }
    uint32_t all = 0;
    for (const uint32_t sample : block.samples) all |= sample & ~kSignBit;
    const int planes = static_cast<int>(std::bit_width(all));
    HtChoice choice{};
    choice.end = static_cast<uint8_t>(planes);
    choice.bit_planes = choice.end;
    choice.lowest = static_cast<uint8_t>(std::max(0, std::min(plane, planes) - 2));
    choice.num_tasks = static_cast<uint8_t>(choice.end - choice.lowest);
    choice.first_task = static_cast<uint32_t>(tasks_.size());
    const double scale = random_() % 8 == 0 ? 0.0 : random_() % 4 == 0 ? 8.0 : 0.2;
    // Rate control ends at 1 for all.
    choice.weight = scale > 0 ? 1 / std::ldexp(scale, 2 * plane) : 1e9;
    lambdas_.push_back(1 / choice.weight);
    choices_.push_back(choice);
    HtTask task{};
    task.block = number;
    task.inverse_step = block.inverse_step;
    task.max_bit_planes = kMaxBitPlanes;
    for (int p = choice.end - 1; p >= choice.lowest; --p) {
      task.plane = static_cast<uint8_t>(p);
      task.passes = static_cast<uint8_t>(p == 0 ? random_() % 2 : random_() % 4);
      task.bit_planes = p == choice.end - 1 ? choice.bit_planes : 0;
      tasks_.push_back(task);
    }
    tasks_.resize(tasks_.size() + kMostHtRdoqPlanes);
    blocks_.push_back(std::move(block));
  }

  void check_block(uint32_t number, const std::vector<HtSlot>& slots,
                   std::vector<uint32_t>* listed) {
    const HtChoice& choice = choices_[number];
    uint32_t k = 0;
    for (int plane = choice.end - 1; plane >= choice.lowest; --plane) {
      if (!is_ht_rdoq_plane(lambdas_[number], plane, both_)) continue;
      const uint32_t from = choice.first_task + static_cast<uint32_t>(choice.end - 1 - plane);
      const uint32_t to = choice.first_task + choice.num_tasks + k++;
      totals_.second += k > 1 ? 1 : 0;
      if (check_coding(number, plane, tasks_[from].passes, k, results_[to])) {
        check_task(tasks_[from], k, slots, made_[to]);
        check_bytes(number, made_[to], coded_[to]);
        listed[tasks_[from].passes].push_back(to);
      }
    }
    for (uint32_t i = 0; i < choice.num_tasks; ++i)
      REQUIRE(std::memcmp(&made_[choice.first_task + i], &tasks_[choice.first_task + i],
                          sizeof(HtTask)) == 0);
  }
  void make_overlaps() {
    const auto factor = [this] {
      return static_cast<int8_t>(static_cast<int>(random_() % 129) - 64);
    };
    for (uint32_t b = 0; b < kNumBlocks; ++b)
      overlaps_.push_back({{factor(), factor()}, {factor(), factor()}});
  }
  /// @param coding  1, or 2 for the second plane
  /// @return whether it is coded
  bool check_coding(uint32_t number, int plane, int passes, uint32_t coding,
                    const HtResult& result) {
    const Block& block = blocks_[number];
    const QuantizeJob& job = jobs_[number % kNumBlocks];
    CAPTURE(job.width);
    CAPTURE(job.height);
    CAPTURE(plane);
    CAPTURE(lambdas_[number]);
    if (passes == 0) {
      ++totals_.not_coded;
      REQUIRE(result.passes == 0);
      return false;
    }
    const HtRdoqBlock rdoq{{block.samples.data(), job.width, job.width, job.height},
                           plane,
                           reversible_ ? nullptr : block.coefficients.data(),
                           job.width,
                           block.inverse_step,
                           lambdas_[number],
                           overlaps_[number % kNumBlocks]};
    std::vector<uint32_t> out(block.samples.size());
    std::vector<uint8_t> changes(kMostHtChangeBytes);
    const HtRdoqResult expected = cj2k::ht_rdoq(rdoq, *scratch_, out.data(), changes.data());
    const bool is_wanted = expected.changes > 0 && !expected.is_empty;
    ++(is_wanted ? totals_.wanted : expected.changes > 0 ? totals_.empty : totals_.same);
    REQUIRE(result.passes == (is_wanted ? passes : 0));
    if (!is_wanted) return false;
    REQUIRE(added_ht_error(result.added_error(), plane) == expected.added);
    const uint8_t* const made = HtChanges{changes_.data(), kStride}.of(number, coding);
    const uint32_t bytes = ht_change_bytes(job.width, job.height);
    REQUIRE(std::equal(made, made + bytes, changes.begin()));
    std::vector<uint32_t>& changed = changed_ = block.samples;
    apply_ht_changes(made, plane, job.width, job.height, rdoq.coefficients, job.width,
                     changed.data());
    REQUIRE(changed == out);
    return true;
  }
  void check_task(const HtTask& plain, uint32_t coding, const std::vector<HtSlot>& slots,
                  const HtTask& task) {
    const uint32_t index = plain.block % kNumBlocks;
    const HtSlot& slot =
        slots[index * (kMaxBitPlanes + kMostHtRdoqPlanes) + kMaxBitPlanes + coding - 1];
    REQUIRE(task.cleanup == plain.block / kNumBlocks * frame_bytes_ + slot.cleanup);
    REQUIRE(task.rest == slot.rest);
    REQUIRE(task.both == slot.both);
    REQUIRE(task.block == plain.block);
    REQUIRE(task.plane == plain.plane);
    REQUIRE(task.passes == plain.passes);
    REQUIRE(task.inverse_step == plain.inverse_step);
    REQUIRE(task.is_counted);
    REQUIRE(task.coding == coding);
  }

  /// The segments of the samples that check_coding has changed.
  void check_bytes(uint32_t number, const HtTask& task, const HtResult& result) {
    const QuantizeJob& job = jobs_[number % kNumBlocks];
    const HtSamples samples{changed_.data(), job.width, job.width, job.height};
    std::vector<uint8_t> cleanup(kMaxHtCleanupBytes), rest(kMaxHtRefinementBytes),
        both(kMaxHtRefinementBytes);
    const auto check = [&](const std::vector<uint8_t>& expected, uint32_t count, uint64_t at) {
      CAPTURE(at);
      CAPTURE(count);
      CAPTURE(task.rest);
      CAPTURE(task.plane);
      CAPTURE(int{task.passes});
      CAPTURE(job.width);
      CAPTURE(job.height);
      REQUIRE(std::equal(expected.begin(), expected.begin() + count,
                         bytes_.begin() + static_cast<ptrdiff_t>(task.cleanup + at)));
    };
    const uint32_t cleanup_bytes = ref::ht_cleanup(samples, task.plane, cleanup.data());
    REQUIRE(result.cleanup_bytes == cleanup_bytes);
    check(cleanup, cleanup_bytes, 0);
    REQUIRE(result.passes == task.passes);
    if (task.passes == 1 || task.plane == 0) return;
    const HtRefinement expected =
        ref::ht_refinement(samples, task.plane, causal_, reversible_, rest.data(),
                           task.passes > 2 ? both.data() : nullptr);
    REQUIRE(result.sig_prop_bytes == expected.sig_prop_bytes);
    REQUIRE(result.both_bytes == expected.both_bytes);
    REQUIRE(result.sig_prop_distortion == expected.sig_prop_distortion);
    check(rest, expected.sig_prop_bytes, task.rest);
    if (task.passes < 3) return;
    REQUIRE(result.mag_ref_distortion == expected.mag_ref_distortion);
    check(both, expected.both_bytes, task.both);
  }

  Gpu& gpu_;
  const bool reversible_, both_;
  std::mt19937_64 random_;
  Totals& totals_;
  const std::unique_ptr<HtRdoqScratch> scratch_ = std::make_unique<HtRdoqScratch>();
  std::vector<QuantizeJob> jobs_;
  std::vector<uint32_t> samples_;
  std::vector<Block> blocks_;
  std::vector<HtChoice> choices_;
  std::vector<Overlaps> overlaps_;  ///< of each block of a frame
  std::vector<double> lambdas_;     ///< of each choice
  std::vector<HtTask> tasks_, made_;
  std::vector<HtResult> results_, coded_;
  std::vector<uint32_t> changed_;
  std::vector<uint8_t> bytes_;
  uint64_t frame_bytes_ = 0;
  const bool causal_ = both_;
  std::vector<uint8_t> changes_;
};

TEST_CASE("HT kernels: RDOQ") {
  Totals totals;
  for_each_seed("HT, RDOQ", [&](Gpu& gpu, uint64_t seed) {
    for (const bool reversible : {false, true}) {
      for (const bool both : {false, true}) Check(gpu, reversible, both, seed + both, totals).run();
    }
  });
  CHECK(totals.wanted > 100);
  CHECK(totals.same > 0);
  CHECK(totals.empty > 0);
  CHECK(totals.not_coded > 30);
  CHECK(totals.second > 30);
}

}  // namespace
}  // namespace cj2k::cuda
