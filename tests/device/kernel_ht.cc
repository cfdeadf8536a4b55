// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The HT kernels against coders/ht/ht_block.h: every block size, dense and sparse, every plane; and the
// choice of passes against core/ht/plane_choice.h.
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <span>

#include "coders/coded_before.h"
#include "coders/ht/ht_block.h"
#include "coders/ht/ht_points.h"
#include "core/ht/plane_choice.h"
#include "core/quantizer.h"
#include "device/kernel_check.h"
#include "kernels/ht/ht_block.h"
#include "pixels/quantize.h"

using namespace cj2k;
using namespace cj2k::simt::test;

namespace {

struct Size {
  uint16_t width, height;
};
constexpr Size kSizes[] = {
    {1, 1},    {2, 2},    {1, 5},   {5, 1},    {3, 3},    {4, 4},    {4, 5},   {5, 7},
    {7, 9},    {9, 4},    {8, 8},   {13, 16},  {16, 16},  {17, 19},  {32, 32}, {33, 31},
    {64, 64},  {64, 61},  {63, 64}, {57, 3},   {4, 1024}, {3, 999},  {1, 333}, {2, 510},
    {1024, 4}, {1023, 3}, {700, 1}, {128, 32}, {100, 30}, {256, 16}, {16, 250}};
/// In one byte guard zones that no task may touch.
constexpr uint8_t kGuard = 0xA5;
constexpr uint64_t kGuardBytes = 16;

/// Blocks side by side in one frame, with the same contents in another order in the second frame.
struct Blocks {
  std::vector<cuda::QuantizeJob> jobs;
  std::vector<uint32_t> samples;  ///< of all frames
  uint64_t frame_samples = 0;
  uint32_t num_frames = 2;

  void place(std::span<const Size> sizes, uint32_t salt) {
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      cuda::QuantizeJob job{};
      const uint32_t skew = (i + salt) % 3 == 0 ? 1 + i % 3 : 0;
      job.source = (frame_samples + 3) / 4 * 4 + skew;
      job.stride = (sizes[i].width + 3u) / 4 * 4 + (i % 5 == 4 ? 1 : 0);
      job.width = sizes[i].width;
      job.height = sizes[i].height;
      job.max_bit_planes = static_cast<uint8_t>((i * 7 + salt) % 29 + 2);
      frame_samples = job.source + uint64_t{job.stride} * (job.height - 1u) + job.width;
      jobs.push_back(job);
    }
    frame_samples = (frame_samples + 31) / 32 * 32;
    samples.assign(frame_samples * num_frames, 0x7FFFFFFF);
  }
  uint32_t* of(uint32_t frame, size_t job) {
    return samples.data() + frame * frame_samples + jobs[job].source;
  }
};

/// One magnitude of a block: density 0: one sample in 64 is not 0; 1: most are small; 2: Laplace-like
/// over all planes; 3: all are as large as they can be, which stuffs many bits.
uint32_t magnitude(std::mt19937_64& random, uint32_t density, uint32_t planes) {
  const uint64_t r = random();
  const auto all = static_cast<uint32_t>((uint64_t{1} << planes) - 1);
  switch (density) {
    case 0:
      return r % 64 == 0 ? static_cast<uint32_t>(r >> 8) & all : 0;
    case 1:
      return static_cast<uint32_t>(r >> 8) & all >> r % (planes + 1);
    case 2:
      return static_cast<uint32_t>(r >> 8) & all;
    default:
      return r % 16 == 0 ? all >> 1 : all;
  }
}

using cuda::Tier1Result;
constexpr Tier1Result kNotWritten{0, 0, 0, 0x55555555, 0, 0, 0, 0, 0};

struct Task {
  cuda::HtTask task;
  uint32_t cleanup_room, refinement_room;
  int passes;  ///< that are coded
};

class Check {
 public:
  Check(Gpu& gpu, bool reversible, bool lossless, bool causal)
      : gpu_(gpu), reversible_(reversible), lossless_(lossless), causal_(causal) {}
  /// Lets most blocks choose among the passes of two planes. `random` must outlive the check.
  void choose_by(std::mt19937_64& random) { random_ = &random; }

  void run(Blocks& blocks, const std::vector<float>& inverse_steps) {
    const auto num_jobs = static_cast<uint32_t>(blocks.jobs.size());
    std::vector<std::vector<uint32_t>> quantised;
    std::vector<uint32_t> peaks;
    for (uint32_t f = 0; f < blocks.num_frames; ++f) {
      for (uint32_t i = 0; i < num_jobs; ++i) {
        add_block(blocks, f, i, inverse_steps[i], quantised, peaks);
      }
    }
    const simt::DeviceBuffer jobs = gpu_.upload(blocks.jobs), samples = gpu_.upload(blocks.samples);
    const simt::DeviceBuffer words = gpu_.upload(cuda::ht_vlc_words());
    const cuda::HtBlocks on_device{jobs.as<cuda::QuantizeJob>(),
                                   num_jobs,
                                   {samples.as<void>(), blocks.frame_samples, blocks.num_frames},
                                   words.as<uint16_t>()};
    const simt::DeviceBuffer device_peaks = gpu_.make<uint32_t>(peaks.size());
    REQUIRE(cuda::ht_peaks(gpu_.stream, on_device, reversible_, device_peaks.as<uint32_t>()) ==
            Status::kOk);
    REQUIRE(first_difference(gpu_.download<uint32_t>(device_peaks, peaks.size()), peaks) == -1);

    std::vector<cuda::HtTask> list;
    for (const Task& task : tasks_) list.push_back(task.task);
    const simt::DeviceBuffer device_tasks = gpu_.upload(list);
    const simt::DeviceBuffer bytes =
        gpu_.upload(std::vector<uint8_t>(static_cast<size_t>(num_bytes_), kGuard));
    auto work_tasks = device_tasks.as<cuda::HtTask>();
    const auto num_tasks = static_cast<uint32_t>(list.size());
    const simt::DeviceBuffer on_device_tasks = gpu_.upload(std::vector<uint32_t>{num_tasks});
    // The host knows a bound.
    const simt::DeviceBuffer results = gpu_.make<cuda::HtResult>(num_tasks + 9);
    cuda::HtWork work{work_tasks,
                      num_tasks + 9,
                      on_device_tasks.as<uint32_t>(),
                      {},
                      reversible_,
                      lossless_,
                      causal_,
                      {}};
    const simt::DeviceBuffer choices = gpu_.upload(choices_);
    const simt::DeviceBuffer lists = gpu_.make<uint32_t>(list.size() * cuda::kHtKinds);
    const simt::DeviceBuffer counts = gpu_.upload(std::vector<uint32_t>(cuda::kHtKinds));
    if (random_ != nullptr) {
      work.lists = {lists.as<uint32_t>(), counts.as<uint32_t>(), num_tasks};
      REQUIRE(cuda::ht_choose(gpu_.stream, on_device, work_tasks, choices.as<cuda::HtChoice>(),
                              static_cast<uint32_t>(choices_.size()), reversible_,
                              results.as<cuda::HtResult>(), work.lists) == Status::kOk);
      std::vector<uint32_t> expected(cuda::kHtKinds);
      for (const Task& task : tasks_) {
        if (task.passes > 0 || !task.task.is_counted) ++expected[static_cast<size_t>(task.passes)];
      }
      REQUIRE(gpu_.download<uint32_t>(counts, cuda::kHtKinds) == expected);
    }
    REQUIRE(cuda::ht_encode(gpu_.stream, on_device, work, bytes.as<uint8_t>(),
                            results.as<cuda::HtResult>()) == Status::kOk);
    const auto actual = gpu_.download<uint8_t>(bytes, static_cast<size_t>(num_bytes_));
    const auto numbers = gpu_.download<cuda::HtResult>(results, list.size());
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const cuda::QuantizeJob& job = blocks.jobs[list[i].block % num_jobs];
      check(tasks_[i], job, quantised[list[i].block], actual, numbers[i]);
    }
    check_hulls(blocks, work_tasks, results.as<cuda::HtResult>(), numbers);
  }
  size_t tasks() const { return tasks_.size(); }
  size_t hulls() const { return hulls_; }
  size_t long_hulls() const { return long_hulls_; }
  /// Passes that blocks have chosen: 4 * of the plane above + of the lowest plane; 16 more where they
  /// have one plane.
  const std::set<int>& chosen() const { return chosen_; }

 private:
  /// Makes the hulls of the tasks, and checks them.
  void check_hulls(const Blocks& blocks, const cuda::HtTask* work_tasks,
                   const cuda::HtResult* results, const std::vector<cuda::HtResult>& numbers) {
    const auto num_jobs = static_cast<uint32_t>(blocks.jobs.size());
    const simt::DeviceBuffer choices = gpu_.upload(choices_);
    const simt::DeviceBuffer hulls = gpu_.make<HullPoint>(choices_.size() * cuda::kMostHtHull + 1);
    // Of three blocks, one has room for all its points, one for those of kHtNearPlanes.
    std::vector<uint32_t> first_points = {0};
    for (uint32_t i = 0; i < num_jobs; ++i)
      first_points.push_back(first_points[i] + (i % 3 == 0 ? 3 * 31 : cuda::kMostHtHull));
    const simt::DeviceBuffer device_list = gpu_.upload(numbers_);
    const size_t num_points = first_points[num_jobs] * blocks.num_frames;
    const simt::DeviceBuffer first = gpu_.upload(first_points);
    const simt::DeviceBuffer coded =
        gpu_.upload(std::vector<Tier1Result>(choices_.size(), kNotWritten));
    const simt::DeviceBuffer hull = gpu_.make<HullPoint>(num_points);
    const simt::DeviceBuffer codes = gpu_.make<cuda::HtPointCode>(num_points);
    const simt::DeviceBuffer weights = gpu_.make<double>(choices_.size());
    const cuda::HtHulls by_block{first.as<uint32_t>(),   num_jobs,
                                 first_points[num_jobs], coded.as<Tier1Result>(),
                                 hull.as<HullPoint>(),   codes.as<cuda::HtPointCode>(),
                                 weights.as<double>()};
    for (const bool in_order : {false, true}) {
      REQUIRE(cuda::ht_hulls(gpu_.stream, work_tasks, choices.as<cuda::HtChoice>(),
                             device_list.as<uint32_t>(), static_cast<uint32_t>(choices_.size()),
                             reversible_, results, in_order ? hulls.as<HullPoint>() : nullptr,
                             in_order ? cuda::HtHulls{} : by_block) == Status::kOk);
    }
    const auto points = gpu_.download<HullPoint>(hulls, choices_.size() * cuda::kMostHtHull);
    const ByBlock blocks_of{gpu_.download<Tier1Result>(coded, choices_.size()),
                            gpu_.download<HullPoint>(hull, num_points),
                            gpu_.download<cuda::HtPointCode>(codes, num_points),
                            gpu_.download<double>(weights, choices_.size())};
    for (size_t i = 0; i < choices_.size(); ++i) {
      const cuda::HtChoice& choice = choices_[i];
      if (choice.has_hull) check_hull(choice, numbers, points.data() + i * cuda::kMostHtHull);
      const uint32_t number = numbers_[i], index = number % num_jobs;
      const uint32_t room = first_points[index + 1] - first_points[index];
      if (choice.num_tasks > kHtNearPlanes && 3 * choice.num_tasks > room) {
        REQUIRE(blocks_of.coded[number].num_bytes == kNotWritten.num_bytes);
        continue;
      }
      const uint32_t at = number / num_jobs * first_points[num_jobs] + first_points[index];
      check_by_block(number, choice, numbers, blocks_of, at);
    }
  }
  void add_block(Blocks& blocks, uint32_t frame, uint32_t index, float inverse_step,
                 std::vector<std::vector<uint32_t>>& quantised, std::vector<uint32_t>& peaks) {
    const cuda::QuantizeJob& job = blocks.jobs[index];
    const uint32_t* source = blocks.of(frame, index);
    const auto max_bit_planes = static_cast<uint8_t>(job.max_bit_planes - index % 2);
    // About a twelfth of the step, or none.
    const float unit =
        reversible_ || index % 3 == 0 ? 0 : std::ldexp(1.0f, -4 - std::ilogb(inverse_step));
    const uint32_t rounder = std::bit_cast<uint32_t>(quantizer_rounder(unit));
    REQUIRE(float_of_upper_half(static_cast<uint16_t>(rounder >> 16)) == quantizer_rounder(unit));
    std::vector<uint32_t> block(size_t{job.width} * job.height);
    uint32_t all = 0, peak = 0;
    if (reversible_) {
      all = ref::quantize_53(reinterpret_cast<const int32_t*>(source), job.stride, job.width,
                             job.height, block.data(), job.width);
    } else {
      all = ref::quantize_97(reinterpret_cast<const float*>(source), job.stride, job.width,
                             job.height, {inverse_step, unit, (1u << max_bit_planes) - 1},
                             block.data(), job.width);
    }
    for (uint32_t y = 0; y < job.height; ++y) {
      for (uint32_t x = 0; x < job.width; ++x) {
        const uint32_t c = source[size_t{y} * job.stride + x];
        const auto v = static_cast<int32_t>(c);
        peak = std::max(peak, reversible_ ? static_cast<uint32_t>(std::abs(v)) : c & 0x7FFFFFFF);
      }
    }
    peaks.push_back(peak);
    const auto bit_planes = static_cast<uint8_t>(std::bit_width(all));
    const auto number = static_cast<uint32_t>(quantised.size());
    numbers_.push_back(number);
    quantised.push_back(std::move(block));
    const auto first_task = static_cast<uint32_t>(tasks_.size());
    const cuda::HtTask task{0,
                            0,
                            0,
                            number,
                            inverse_step,
                            cuda::kHtNoPlane,
                            bit_planes,
                            max_bit_planes,
                            0,
                            false,
                            0,
                            static_cast<uint16_t>(rounder >> 16)};
    if (random_ != nullptr && index % 4 != 3 && bit_planes > 0) {
      add_choice(quantised.back(), job, task);
      return;
    }
    const int planes = lossless_ ? std::min<int>(bit_planes, 1) : bit_planes;
    for (int plane = planes - 1; plane >= 0; --plane) {
      add_task(task, job, plane, plane % 2 == 0 ? bit_planes : 0,
               plane % 8 == 7   ? 1
               : plane % 8 == 5 ? 0
               : plane == 0     ? 1
                                : 2 + plane % 2);
    }
    if (bit_planes > 0) tasks_.push_back({task, 0, 0, 0});
    choices_.push_back({1.0, cuda::kHtNoChoice, first_task,
                        static_cast<uint8_t>(tasks_.size() - first_task), bit_planes, 0,
                        static_cast<uint8_t>(planes), false,
                        bit_planes > 0 && tasks_.size() - first_task <= kHtNearPlanes, kAllHtPasses,
                        HtPoints::kAll});
  }
  void add_task(cuda::HtTask task, const cuda::QuantizeJob& job, int plane, int bit_planes,
                int passes) {
    const auto guard = static_cast<uint32_t>(kGuardBytes);
    const uint32_t room = cuda::ht_cleanup_room(job.width, job.height, task.bit_planes - plane);
    const uint32_t refinement_room = cuda::ht_refinement_room(job.width, job.height);
    task.cleanup = num_bytes_;
    task.rest = room + guard;
    task.both = room + refinement_room + 2 * guard;
    task.plane = static_cast<uint8_t>(plane);
    task.bit_planes = static_cast<uint8_t>(bit_planes);
    task.passes = static_cast<uint8_t>(passes);
    num_bytes_ += room + 2 * refinement_room + 3 * guard;
    tasks_.push_back({task, room, refinement_room, passes});
  }
  /// Adds a block that chooses, at a slope near one of those by which it does.
  void add_choice(const std::vector<uint32_t>& block, const cuda::QuantizeJob& job,
                  cuda::HtTask task) {
    const int bit_planes = task.bit_planes;
    const int lowest = static_cast<int>((*random_)() % static_cast<uint64_t>(bit_planes));
    const int planes = std::min(kHtNearPlanes, bit_planes - lowest);
    const double weight = std::ldexp(1.3, static_cast<int>((*random_)() % 40) - 20);
    double left[kHtNearPlanes] = {};
    const HtSamples samples{block.data(), job.width, job.width, job.height};
    const HtCounts counts = ref::ht_count(samples, lowest, bit_planes, reversible_);
    for (int k = 0; k < planes; ++k)
      left[k] = ht_left_error(reversible_, weight, lowest + k, counts.left[k]);
    const double total = ht_left_error(reversible_, weight, bit_planes, counts.total);
    const HtBlockSums sums = ht_block_sums(uint32_t{job.width} * job.height, weight, lowest, planes,
                                           total, left, counts.significant);
    // The slopes of each plane, and from one to the other.
    const auto step = [&](int to, int from) {
      return std::pair(sums.removed[to] - (from < planes ? sums.removed[from] : 0),
                       ht_plane_bits(sums.significant[to],
                                     from < planes ? sums.significant[from] : 0, sums.samples));
    };
    const std::array steps = {step(0, 3), step(1, 3), step(2, 3), step(0, 1), step(1, 2)};
    const auto& [gain, bits] = steps[(*random_)() % steps.size()];
    const int near = gain > 0 ? log_slope(gain, bits / 128 + 1) : 30000;
    constexpr int kAway[] = {-251, -250, -249, -201, -200, -199, -100, 0, 199, 200, 201, 400};
    const int slope = std::max(1, near + kAway[(*random_)() % std::size(kAway)]);
    const int most = (*random_)() % 4 == 0 ? 1 : 3;
    const HtPasses passes = ht_passes_near(sums, slope, lowest, planes, most);
    choices_.push_back({weight, slope, static_cast<uint32_t>(tasks_.size()),
                        static_cast<uint8_t>(planes), task.bit_planes, static_cast<uint8_t>(lowest),
                        static_cast<uint8_t>(lowest + planes), false, true,
                        static_cast<uint8_t>(most), HtPoints::kNearSlope});
    chosen_.insert(64 * planes + 16 * passes.of[2] + 4 * passes.of[1] + passes.of[0]);
    task.is_counted = true;
    for (int k = planes - 1; k >= 0; --k) {
      // The rooms are those of the block's planes.
      task.bit_planes = static_cast<uint8_t>(bit_planes);
      add_task(task, job, lowest + k, k == planes - 1 ? bit_planes : 0, 3);
      tasks_.back().passes = passes.of[k];
    }
  }
  uint64_t left_sum(const std::vector<uint32_t>& block, const cuda::QuantizeJob& job,
                    int planes) const {
    if (planes == 0) return static_cast<uint64_t>(std::count(block.begin(), block.end(), 0u));
    return ref::left_distortion(block.data(), job.width, job.width, job.height, planes,
                                reversible_);
  }

  /// HtHulls, on the host.
  struct ByBlock {
    std::vector<Tier1Result> coded;
    std::vector<HullPoint> hull;
    std::vector<cuda::HtPointCode> codes;
    std::vector<double> weights;
  };
  /// The hull that the host makes, and CodedBlock's numbers.
  struct HostHull {
    HullPoint hull[kMaxHtPoints];
    PointCode codes[kMaxHtPoints];
    int size;
    CodedBlock coded;
  };
  HostHull host_hull(const cuda::HtChoice& choice,
                     const std::vector<cuda::HtResult>& results) const {
    HostHull host{};
    Subband band{};
    band.max_bit_planes = 31;
    HtPoint points[kMaxHtPoints];
    int count = 0;
    const double total = choice.bit_planes == 0
                             ? 0
                             : ht_left_error(reversible_, choice.weight, choice.bit_planes,
                                             results[choice.first_task].total_left);
    host.coded.total_distortion = total;
    for (uint32_t i = 0; i < choice.num_tasks; ++i) {
      const cuda::HtResult& result = results[choice.first_task + i];
      if (result.passes == 0) continue;
      HtPlane plane{};
      plane.plane = tasks_[choice.first_task + i].task.plane;
      plane.passes = result.passes;
      plane.cleanup_bytes = result.cleanup_bytes;
      plane.left = ht_left_error(reversible_, choice.weight, plane.plane, result.left);
      plane.refinement = {result.sig_prop_bytes, result.both_bytes, result.sig_prop_distortion,
                          result.mag_ref_distortion};
      count_ht_passes(plane, host.coded);
      count += make_ht_points(plane, band, choice.weight, total, points + count);
    }
    host.size = build_ht_hull(points, count, choice.weight, {host.hull, host.codes, nullptr});
    return host;
  }
  void check_by_block(uint32_t number, const cuda::HtChoice& choice,
                      const std::vector<cuda::HtResult>& results, const ByBlock& actual,
                      uint32_t first) {
    const HostHull host = host_hull(choice, results);
    const Tier1Result& coded = actual.coded[number];
    REQUIRE(coded.first_hull == first);
    REQUIRE(coded.num_hull == host.size);
    REQUIRE(coded.total_distortion == host.coded.total_distortion);
    REQUIRE(coded.left_distortion == 0);
    REQUIRE(coded.num_bytes == host.coded.num_bytes);
    REQUIRE(coded.num_passes == host.coded.num_passes);
    REQUIRE(coded.planes_left == ht_planes_left(choice.planes(), choice.bit_planes));
    REQUIRE(actual.weights[number] == choice.weight);
    for (int i = 0; i < host.size; ++i) {
      const size_t at = first + static_cast<size_t>(i);
      const HullPoint& point = actual.hull[at];
      const cuda::HtPointCode& code = actual.codes[at];
      REQUIRE(point.length_bytes == host.hull[i].length_bytes);
      REQUIRE(point.slope == host.hull[i].slope);
      REQUIRE(point.distortion == host.hull[i].distortion);
      REQUIRE(point.passes == host.hull[i].passes);
      REQUIRE(code.first_bytes == host.codes[i].first_bytes);
      REQUIRE(code.plane == 30 - host.codes[i].zero_bit_planes);
      const auto task = std::find_if(tasks_.begin() + choice.first_task, tasks_.end(),
                                     [&](const Task& of) { return of.task.plane == code.plane; });
      REQUIRE(code.zero_bit_planes ==
              static_cast<uint8_t>(task->task.max_bit_planes - 1 - code.plane));
      REQUIRE(code.from == task->task.cleanup);
      const uint32_t rest = point.passes == 2 ? task->task.rest : task->task.both;
      REQUIRE(uint32_t{16} * code.rest == rest);
    }
    long_hulls_ += choice.num_tasks > kHtNearPlanes && host.size > 3 ? 1 : 0;
  }
  /// Against the hull that the host makes.
  void check_hull(const cuda::HtChoice& choice, const std::vector<cuda::HtResult>& results,
                  const HullPoint* actual) {
    const HostHull host = host_hull(choice, results);
    const auto& [hull, codes, size, coded] = host;
    for (int i = 0; i < size; ++i) {
      REQUIRE(actual[i].length_bytes == hull[i].length_bytes);
      REQUIRE(actual[i].slope == hull[i].slope);
      REQUIRE(actual[i].distortion == hull[i].distortion);
      const uint32_t task = actual[i].passes >> cuda::kHtHullTaskShift;
      REQUIRE((actual[i].passes & 0xFF) == hull[i].passes);
      REQUIRE(30 - tasks_[choice.first_task + task].task.plane == codes[i].zero_bit_planes);
    }
    if (size < static_cast<int>(cuda::kMostHtHull)) REQUIRE(actual[size].slope == 0);
    hulls_ += size > 2 ? 1 : 0;
  }

  void check_segment(const std::vector<uint8_t>& actual, uint64_t at, uint32_t room,
                     const uint8_t* expected, uint32_t expected_bytes, uint32_t bytes) const {
    REQUIRE(bytes == expected_bytes);
    REQUIRE(bytes <= room);
    REQUIRE(std::equal(expected, expected + bytes, actual.begin() + static_cast<ptrdiff_t>(at)));
    for (uint64_t i = 0; i < kGuardBytes; ++i) REQUIRE(actual[at + room + i] == kGuard);
  }

  void check(const Task& task, const cuda::QuantizeJob& job, const std::vector<uint32_t>& block,
             const std::vector<uint8_t>& actual, cuda::HtResult result) const {
    const int plane = task.task.plane;
    INFO(job.width, "x", job.height, " plane ", plane, " of ", int{job.max_bit_planes});
    const HtSamples samples{block.data(), job.width, job.width, job.height};
    if (task.task.bit_planes > 0)
      REQUIRE(result.total_left == left_sum(block, job, task.task.bit_planes));
    if (plane == cuda::kHtNoPlane) return;
    const int passes = task.passes;
    REQUIRE(result.passes == passes);
    for (size_t i = 0; passes == 0 && i < task.cleanup_room; ++i)
      REQUIRE(actual[static_cast<size_t>(task.task.cleanup) + i] == kGuard);
    std::vector<uint8_t> expected(kMaxHtCleanupBytes);
    check_segment(actual, task.task.cleanup, task.cleanup_room, expected.data(),
                  passes > 0 ? ref::ht_cleanup(samples, plane, expected.data()) : 0,
                  result.cleanup_bytes);
    REQUIRE(result.left == left_sum(block, job, plane));
    REQUIRE(result.significant ==
            ref::ht_count(samples, plane, task.task.bit_planes, reversible_).significant[0]);
    if (passes == 0 && !task.task.is_counted) {
      const HalfCounts halves =
          reversible_ ? HalfCounts{}
                      : ref::count_halves(block.data(), job.width, job.width, job.height, plane);
      REQUIRE(result.near_half() == halves.near_half);
      REQUIRE(result.near_middle() == halves.near_middle);
      result.sig_prop_bytes = result.both_bytes = 0;
    }
    HtRefinement refinement{};
    std::vector<uint8_t> sig_prop(kMaxHtRefinementBytes), both(kMaxHtRefinementBytes);
    if (passes > 1)
      refinement =
          ref::ht_refinement(samples, plane, causal_, reversible_, sig_prop.data(), both.data());
    if (passes < 3) refinement.both_bytes = 0;
    if (passes < 3) refinement.mag_ref_distortion = 0;
    if (passes == 3 && refinement.sig_prop_bytes > 0)
      REQUIRE(result.sig_prop_last == both[refinement.sig_prop_bytes - 1]);
    REQUIRE(result.sig_prop_distortion == refinement.sig_prop_distortion);
    REQUIRE(result.mag_ref_distortion == refinement.mag_ref_distortion);
    check_segment(actual, task.task.cleanup + task.task.rest, task.refinement_room, sig_prop.data(),
                  refinement.sig_prop_bytes, result.sig_prop_bytes);
    check_segment(actual, task.task.cleanup + task.task.both, task.refinement_room, both.data(),
                  refinement.both_bytes, result.both_bytes);
  }

  Gpu& gpu_;
  const bool reversible_, lossless_, causal_;
  std::mt19937_64* random_ = nullptr;
  std::vector<Task> tasks_;
  std::vector<cuda::HtChoice> choices_;
  std::vector<uint32_t> numbers_;  ///< of the choices' blocks
  std::set<int> chosen_;
  size_t hulls_ = 0;       ///< of more than two points
  size_t long_hulls_ = 0;  ///< of more than kHtNearPlanes planes and three points
  uint64_t num_bytes_ = 0;
};

/// Fills blocks of at most `most_planes` bit-planes. @return the inverse step of each
std::vector<float> fill(Blocks& blocks, std::mt19937_64& random, uint32_t salt, bool reversible,
                        uint32_t most_planes) {
  std::vector<float> inverse_steps;
  for (uint32_t i = 0; i < blocks.jobs.size(); ++i) {
    cuda::QuantizeJob& job = blocks.jobs[i];
    job.max_bit_planes = static_cast<uint8_t>(std::min<uint32_t>(job.max_bit_planes, most_planes));
    // The job's own step is that of another step set.
    job.inverse_step = 7.5f;
    inverse_steps.push_back(std::ldexp(0.7f, static_cast<int>(i % 9) - 4));
    for (uint32_t f = 0; f < blocks.num_frames; ++f) {
      const uint32_t density = (i + f + salt) % 4;
      for (uint32_t y = 0; y < job.height; ++y) {
        for (uint32_t x = 0; x < job.width; ++x) {
          const uint32_t m = magnitude(random, density, job.max_bit_planes);
          const bool is_negative = (random() & 1) != 0;
          uint32_t& to = blocks.of(f, i)[size_t{y} * job.stride + x];
          if (reversible) {
            to = is_negative ? 0u - m : m;
          } else {
            const float c = (static_cast<float>(m) + 0.4f) / inverse_steps.back();
            to = std::bit_cast<uint32_t>(is_negative ? -c : c);
          }
        }
      }
    }
  }
  return inverse_steps;
}

/// Blocks of some sizes, with `most_planes` bit-planes at most.
void check_sizes(Gpu& gpu, std::span<const Size> sizes, uint32_t salt, bool reversible,
                 bool lossless, uint32_t most_planes) {
  Blocks blocks;
  blocks.place(sizes, salt);
  std::mt19937_64 random(salt);
  const std::vector<float> inverse_steps = fill(blocks, random, salt, reversible, most_planes);
  Check check(gpu, reversible, lossless, salt % 2 == 1);
  check.run(blocks, inverse_steps);
  REQUIRE(check.tasks() > (lossless ? 40u : 100u));
}

TEST_CASE("HT kernels: lossless") {
  for_each_seed("HT 5/3, plane 0", [](Gpu& gpu, uint64_t seed) {
    check_sizes(gpu, kSizes, static_cast<uint32_t>(seed % 1000), true, true, 30);
  });
}
TEST_CASE("HT kernels: 5/3, every plane") {
  for_each_seed("HT 5/3", [](Gpu& gpu, uint64_t seed) {
    check_sizes(gpu, kSizes, static_cast<uint32_t>(seed % 1000), true, false, 9);
  });
}
TEST_CASE("HT kernels: 9/7, every plane") {
  for_each_seed("HT 9/7", [](Gpu& gpu, uint64_t seed) {
    check_sizes(gpu, kSizes, static_cast<uint32_t>(seed % 1000) + 1, false, false, 9);
  });
}
TEST_CASE("HT kernels: the passes that a slope can choose") {
  std::set<int> chosen;
  for_each_seed("HT, choice of passes", [&](Gpu& gpu, uint64_t seed) {
    for (const bool reversible : {false, true}) {
      std::mt19937_64 random(seed);
      std::vector<Size> sizes(std::begin(kSizes), std::end(kSizes));
      for (int i = 0; i < 60; ++i)
        sizes.push_back(
            {static_cast<uint16_t>(random() % 16 + 1), static_cast<uint16_t>(random() % 16 + 1)});
      Blocks blocks;
      blocks.place(sizes, static_cast<uint32_t>(seed % 1000));
      const std::vector<float> steps =
          fill(blocks, random, static_cast<uint32_t>(seed % 1000), reversible, 14);
      Check check(gpu, reversible, false, seed % 2 == 1);
      check.choose_by(random);
      check.run(blocks, steps);
      chosen.insert(check.chosen().begin(), check.chosen().end());
      CHECK(check.hulls() > 10);
      CHECK(check.long_hulls() > 0);
    }
  });
  // Many combinations, of each number of planes: none, and one, two and three planes of it.
  CHECK(chosen.size() > 30);
  for (int planes = 1; planes <= kHtNearPlanes; ++planes) {
    CHECK(chosen.count(64 * planes) == 1);
    if (std::size(kCheckSeeds) > 1) CHECK(chosen.count(64 * planes + 1) == 1);
  }
}
/// The ends of streams: all numbers of bits in the last bytes, dense and sparse.
TEST_CASE("HT kernels: many tiny blocks") {
  for_each_seed("HT, tiny blocks", [](Gpu& gpu, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Size> sizes;
    for (int i = 0; i < 150; ++i)
      sizes.push_back(
          {static_cast<uint16_t>(random() % 9 + 1), static_cast<uint16_t>(random() % 9 + 1)});
    check_sizes(gpu, sizes, static_cast<uint32_t>(seed % 1000), true, false, 30);
  });
}
/// Every sample of a block has its turn to be the largest.
TEST_CASE("HT kernels: the peak anywhere in a block") {
  for_each_seed("HT, peaks", [](Gpu& gpu, uint64_t seed) {
    std::vector<Size> sizes;
    std::vector<uint32_t> places;
    for (const Size& size : {Size{5, 7}, {37, 9}, {1, 70}, {8, 16}, {128, 2}}) {
      for (uint32_t i = 0; i < uint32_t{size.width} * size.height; ++i) {
        sizes.push_back(size);
        places.push_back(i);
      }
    }
    Blocks blocks;
    blocks.num_frames = 1;
    blocks.place(sizes, static_cast<uint32_t>(seed % 1000));
    for (const bool reversible : {true, false}) {
      std::vector<uint32_t> expected;
      for (size_t b = 0; b < sizes.size(); ++b) {
        uint32_t* const samples = blocks.of(0, b);
        const size_t stride = blocks.jobs[b].stride, width = sizes[b].width;
        for (size_t i = 0; i < width * sizes[b].height; ++i) {
          const uint32_t m = i == places[b] ? 1000 + static_cast<uint32_t>(b) : 3;
          uint32_t& to = samples[i / width * stride + i % width];
          to = reversible ? (i % 2 == 0 ? m : 0u - m)
                          : std::bit_cast<uint32_t>(static_cast<float>(m)) |
                                static_cast<uint32_t>(i % 2) << 31;
          if (i == places[b]) expected.push_back(reversible ? m : to & 0x7FFFFFFF);
        }
      }
      const simt::DeviceBuffer jobs = gpu.upload(blocks.jobs),
                               on_device = gpu.upload(blocks.samples);
      const simt::DeviceBuffer peaks = gpu.make<uint32_t>(sizes.size());
      REQUIRE(cuda::ht_peaks(gpu.stream,
                             {jobs.as<cuda::QuantizeJob>(),
                              static_cast<uint32_t>(sizes.size()),
                              {on_device.as<void>(), blocks.frame_samples, 1},
                              nullptr},
                             reversible, peaks.as<uint32_t>()) == Status::kOk);
      REQUIRE(first_difference(gpu.download<uint32_t>(peaks, sizes.size()), expected) == -1);
    }
  });
}
/// SigProp is one byte 0xFF, and MagRef whole bytes: a byte must stand between.
TEST_CASE("HT kernels: SigProp ends with 0xFF") {
  for_each_seed("HT, SigProp of one byte", [](Gpu& gpu, uint64_t) {
    Blocks blocks;
    const Size size{4, 3};
    blocks.place({&size, 1}, 1);
    blocks.jobs[0].max_bit_planes = 3;
    for (uint32_t f = 0; f < blocks.num_frames; ++f) {
      for (uint32_t i = 0; i < 12; ++i)
        blocks.of(f, 0)[size_t{i / 4} * blocks.jobs[0].stride + i % 4] = i < 8 ? 2 : 0u - 1;
    }
    Check(gpu, true, false, false).run(blocks, {1.0f});
  });
}

}  // namespace
