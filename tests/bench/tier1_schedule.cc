// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Simulates how the lanes of a GPU share the MQ coding of a GOP, from the decisions of each pass of
// each block, which the CPU encoder counts. It knows warps, multiprocessors and how many warps fit;
// it does not know memory. Its figures compare schedules; they are not times of a GPU.
#define DOCTEST_CONFIG_IMPLEMENT  // for the test support library, which reports through doctest
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "bench/clip.h"
#include "bench/tier1_counts.h"
#include "core/ebcot/expected_pause.h"
#include "kernels/ebcot/tier1_launch.h"
#include "support/media.h"

namespace cj2k::bench {
namespace {

constexpr const char* kUsage = R"(tier1_schedule --clip CLIP [OPTION]...
  --clip scene:WxH:DEPTH       a generated scene under a moving camera
         media:NAME:DEPTH      a picture or film of the test media (tests/support/media.h)
  --frames N                   coded frames; default 1. A longer GOP takes them in turn
  --gop A,B,...                default 1,8,16
  --set KEY=VALUE              any parameter of the encoder, may be repeated
  --multiprocessors N          default 132
  --blocks N                   thread blocks of 64 lanes on a multiprocessor; default 12
  --step N                     warp instructions of a decision; default 56
  --pass N                     warp instructions of the end of a pass; default 200
  --block N                    warp instructions of the begin and end of a block; default 600
  --latency N                  cycles of a decision of a lone warp; default 180
  --sort N                     cycles of a launch that sorts a plane for cibo; default 7000
)";

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "tier1_schedule: %s\n", message.c_str());
  std::exit(1);
}

struct Options {
  std::string clip;
  int frames = 1, multiprocessors = 132, blocks = 12, step = 56, pass = 200, block = 600,
      latency = 180, sort = 7000;
  std::vector<int> gops = {1, 8, 16};
  std::vector<std::pair<std::string, std::string>> settings = {{"cblk", "32x32"}};
};

/// The passes that one lane codes in one launch.
struct Work {
  const uint16_t* passes;
  int count;
  uint32_t key;  ///< what the list is sorted by
};

constexpr uint32_t kWarpLanes = 32, kBlockWarps = 2, kChunk = 16;
/// Warp instructions of tier1_sort_plane, counted in PTX: for a tile, and for each 32 blocks of it.
constexpr double kTileInstructions = 3500, kGroupInstructions = 96;

/// How a launch gives blocks to lanes.
enum class Key : uint8_t {
  kNone,      ///< not sorted
  kModelled,  ///< decisions that are modelled
  kExpected,  ///< those before the plane after which the block is expected to pause
  kCoded,     ///< those that will be coded, which nobody knows before
  kRounds,    ///< rounds of 16 decisions, as in tier1_sort_plane
};
struct Scheme {
  const char* name;
  bool by_plane;    ///< a launch for each plane
  Key key;          ///< of a counting sort of 256 buckets, most decisions first
  uint32_t tile;    ///< blocks that are sorted together (tier1_sort.cuh); 0: all
  bool persistent;  ///< as many warps as fit; a lane takes a block after the other
  bool gated;       ///< lanes end their passes together, every 4 chunks
};
constexpr Scheme kSchemes[] = {
    {"classic, not sorted", false, Key::kNone, 0, false, false},
    {"classic, by what is modelled", false, Key::kModelled, 0, false, false},
    {"classic, by what is modelled, persistent", false, Key::kModelled, 0, true, false},
    {"classic", false, Key::kExpected, 0, false, false},
    {"classic, pass ends together", false, Key::kExpected, 0, false, true},
    {"classic, persistent", false, Key::kExpected, 0, true, false},
    {"classic, by what is coded", false, Key::kCoded, 0, false, false},
    {"cibo, not sorted", true, Key::kNone, 0, false, false},
    {"cibo", true, Key::kRounds, cuda::tier1::kSortTile, false, false},
    {"cibo, tiles of 1024", true, Key::kRounds, 1024, false, false},
    {"cibo, sorted as a whole", true, Key::kRounds, 0, false, false},
};

struct Result {
  double decisions = 0;     ///< of all lanes
  double steps = 0;         ///< of warps: a decision in up to 32 lanes
  double instructions = 0;  ///< of warps
  double cycles = 0;        ///< from the first to the last instruction
};

/// One launch. Warps advance a chunk of 16 decisions at a time.
class Launch {
 public:
  Launch(const Options& o, const Scheme& scheme, std::vector<Work> list)
      : o_(o), scheme_(scheme), list_(std::move(list)), active_(o.multiprocessors) {
    if (scheme.key == Key::kNone || list_.empty()) return;
    if (scheme.key == Key::kRounds) {
      sort_tiles();
      return;
    }
    const auto most =
        std::max_element(list_.begin(), list_.end(), [](const Work& a, const Work& b) {
          return a.key < b.key;
        })->key;
    std::stable_sort(list_.begin(), list_.end(), [most](const Work& a, const Work& b) {
      return bucket(a.key, most) > bucket(b.key, most);
    });
  }

  void run(Result& result) {
    const auto per_block = kBlockWarps * kWarpLanes;
    size_t num_blocks = (list_.size() + per_block - 1) / per_block;
    const size_t fit = static_cast<size_t>(o_.multiprocessors) * o_.blocks;
    if (scheme_.persistent) num_blocks = std::min(num_blocks, fit);
    if (scheme_.key == Key::kRounds) {
      result.cycles += o_.sort;
      result.instructions += static_cast<double>(num_tiles()) * kTileInstructions +
                             static_cast<double>(list_.size()) / kWarpLanes * kGroupInstructions;
    }
    const double begin = result.cycles;
    for (size_t b = 0; b < std::min(num_blocks, fit); ++b) {
      start_block(static_cast<int>(b % o_.multiprocessors), begin);
    }
    while (!events_.empty()) {
      const auto [time, warp] = events_.top();
      events_.pop();
      const double after = time + advance(warps_[warp], result);
      if (after > time) {
        events_.emplace(after, warp);
        continue;
      }
      result.cycles = std::max(result.cycles, time);
      --active_[warps_[warp].multiprocessor];
      if (--blocks_left_[warp / kBlockWarps] == 0 && started_ < num_blocks) {
        start_block(warps_[warp].multiprocessor, time);
      }
    }
  }

 private:
  struct Lane {
    const Work* work = nullptr;
    int pass = 0;
    uint32_t left = 0;
  };
  struct Warp {
    int multiprocessor;
    uint32_t round = 0;
    Lane lanes[kWarpLanes];
  };

  size_t num_tiles() const {
    const size_t tile = scheme_.tile == 0 ? list_.size() : scheme_.tile;
    return (list_.size() + tile - 1) / tile;
  }
  /// Tier1SortPlane.
  void sort_tiles() {
    const size_t num = num_tiles();
    std::vector<size_t> places;
    std::vector<Work> tile;
    for (size_t i = 0; i < num; ++i) {
      places.clear();
      tile.clear();
      for (size_t group = i; group * kWarpLanes < list_.size(); group += num) {
        const size_t end = std::min((group + 1) * kWarpLanes, list_.size());
        for (size_t at = group * kWarpLanes; at < end; ++at) places.push_back(at);
      }
      for (const size_t at : places) tile.push_back(list_[at]);
      std::stable_sort(tile.begin(), tile.end(),
                       [](const Work& a, const Work& b) { return a.key > b.key; });
      for (size_t k = 0; k < tile.size(); ++k) list_[places[k]] = tile[k];
    }
  }

  static uint32_t bucket(uint32_t key, uint32_t most) {
    return static_cast<uint32_t>(uint64_t{key} * 255 / std::max(most, 1u));
  }

  void start_block(int multiprocessor, double time) {
    for (uint32_t w = 0; w < kBlockWarps; ++w) {
      Warp& warp = warps_.emplace_back();
      warp.multiprocessor = multiprocessor;
      for (Lane& lane : warp.lanes) {
        if (next_ < list_.size()) take(lane);
      }
      ++active_[multiprocessor];
      events_.emplace(time, warps_.size() - 1);
    }
    blocks_left_.push_back(kBlockWarps);
    ++started_;
  }
  void take(Lane& lane) {
    lane = {&list_[next_++], 0, 0};
    lane.left = lane.work->count > 0 ? lane.work->passes[0] : 0;
  }

  /// One round of a warp. @return its cycles; 0: no lane has work
  double advance(Warp& warp, Result& result) {
    bool any = false, any_left = false, ended = false, changed = false;
    for (const Lane& lane : warp.lanes) {
      any |= lane.work != nullptr;
      any_left |= lane.left > 0;
    }
    if (!any) return 0;
    uint32_t steps = 0;
    const bool turn = !scheme_.gated || !any_left || warp.round++ % 4 == 0;
    for (Lane& lane : warp.lanes) {
      if (turn && lane.work != nullptr && lane.left == 0) {
        ended = true;
        while (++lane.pass < lane.work->count && lane.work->passes[lane.pass] == 0) continue;
        if (lane.pass < lane.work->count) {
          lane.left = lane.work->passes[lane.pass];
        } else {
          changed = true;
          lane.work = nullptr;
          if (scheme_.persistent && next_ < list_.size()) take(lane);
        }
      }
      const uint32_t now = std::min(lane.left, kChunk);
      steps = std::max(steps, now);
      lane.left -= now;
      result.decisions += now;
    }
    const double instructions =
        static_cast<double>(steps) * o_.step + (ended ? o_.pass : 0) + (changed ? o_.block : 0) + 1;
    result.steps += steps;
    result.instructions += instructions;
    // Four schedulers share the warps of a multiprocessor; each issues one instruction a cycle.
    const double alone = instructions * o_.latency / o_.step;
    return std::max(alone, instructions * active_[warp.multiprocessor] / 4);
  }

  const Options& o_;
  const Scheme& scheme_;
  std::vector<Work> list_;
  std::vector<int> active_;  ///< [multiprocessor] warps on it
  std::vector<int> blocks_left_;
  std::vector<Warp> warps_;
  size_t next_ = 0, started_ = 0;
  using Event = std::pair<double, size_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

/// Decisions up to the plane after which the block is expected to pause, as in tier1_sort.cuh.
uint32_t expected_decisions(const BlockCounts& block) {
  ExpectedPause expected(block.weight, block.sampled ? uint16_t{0} : block.threshold);
  uint32_t sum = 0;
  for (size_t i = 0; i < block.passes.size(); ++i) {
    sum += block.passes[i];
    const CodingPass& pass = block.coding[i];
    if (expected.add(pass_kind(static_cast<int>(i)), block.passes[i], pass.distortion,
                     pass.plane)) {
      break;
    }
  }
  return sum;
}

uint32_t sum_of(const BlockCounts& block, int first, int count) {
  return std::accumulate(block.passes.data() + first, block.passes.data() + first + count, 0u);
}

uint32_t rounds_of(const BlockCounts& block, int first, int count) {
  const auto rounds = [](uint32_t sum, uint16_t decisions) {
    return sum + (decisions + kChunk - 1) / kChunk;
  };
  return std::accumulate(block.passes.data() + first, block.passes.data() + first + count, 0u,
                         rounds);
}

Result simulate(const Options& o, const Scheme& scheme, const std::vector<FrameCounts>& frames,
                int gop) {
  // The sample of stop = exact comes first.
  std::vector<std::vector<Work>> launches(2);
  const auto add = [&](size_t launch, const BlockCounts& block, int first, int count,
                       uint32_t key) {
    if (launches.size() <= launch) launches.resize(launch + 1);
    launches[launch].push_back({block.passes.data() + first, count, key});
  };
  for (int f = 0; f < gop; ++f) {
    for (const BlockCounts& block : frames[static_cast<size_t>(f) % frames.size()]) {
      const int coded = block.num_coded, all = static_cast<int>(block.passes.size());
      if (!scheme.by_plane) {
        add(block.sampled ? 0 : 1, block, 0, coded,
            coded == 0 ? 0
            : scheme.key == Key::kExpected
                ? expected_decisions(block)
                : sum_of(block, 0, scheme.key == Key::kCoded ? coded : all));
        continue;
      }
      for (int first = 0; first < coded; first += first == 0 ? 1 : 3) {
        const int plane = (all - first - 1) / 3, count = first == 0 ? 1 : 3;
        add(static_cast<size_t>(31 - plane + (block.sampled ? 0 : 32)), block, first, count,
            scheme.key == Key::kRounds ? rounds_of(block, first, count)
                                       : sum_of(block, first, count));
      }
    }
  }
  Result result;
  for (std::vector<Work>& list : launches) {
    if (!list.empty()) Launch(o, scheme, std::move(list)).run(result);
  }
  return result;
}

std::vector<test::Picture> load(const Options& o) {
  const size_t first = o.clip.find(':'), last = o.clip.rfind(':');
  if (first == std::string::npos || last == first) fail("not a clip: " + o.clip);
  const std::string kind = o.clip.substr(0, first),
                    name = o.clip.substr(first + 1, last - first - 1);
  const int depth = std::atoi(o.clip.c_str() + last + 1);
  if (depth < 1 || depth > 16) fail("depth not in [1, 16]: " + o.clip);
  std::vector<test::Picture> pictures;
  int32_t width = 0, height = 0;
  if (kind == "media") {
    pictures = test::load_media_clip(name, depth, o.frames);
  } else if (kind == "scene" && std::sscanf(name.c_str(), "%dx%d", &width, &height) == 2) {
    const Clip clip = make_scene(width, height, depth, o.frames);
    for (int f = 0; f < o.frames; ++f) pictures.push_back(clip.picture(f));
  }
  if (pictures.empty()) fail("not a clip: " + o.clip);
  return pictures;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--help" || i + 1 == argc) {
      std::fputs(kUsage, option == "--help" ? stdout : stderr);
      std::exit(option == "--help" ? 0 : 1);
    }
    const std::string value = argv[i + 1];
    const struct {
      const char* name;
      int* value;
    } numbers[] = {{"--frames", &o.frames},   {"--multiprocessors", &o.multiprocessors},
                   {"--blocks", &o.blocks},   {"--step", &o.step},
                   {"--pass", &o.pass},       {"--block", &o.block},
                   {"--latency", &o.latency}, {"--sort", &o.sort}};
    const auto* number = std::find_if(std::begin(numbers), std::end(numbers),
                                      [&](const auto& n) { return option == n.name; });
    if (number != std::end(numbers)) {
      *number->value = std::atoi(value.c_str());
      if (*number->value < 1) fail(option + " " + value + " is below 1");
    } else if (option == "--clip") {
      o.clip = value;
    } else if (option == "--gop") {
      o.gops.clear();
      for (size_t at = 0; at < value.size();
           at = std::min(value.find(',', at), value.size() - 1) + 1) {
        o.gops.push_back(std::max(1, std::atoi(value.c_str() + at)));
      }
    } else if (option == "--set" && value.find('=') != std::string::npos) {
      const size_t equals = value.find('=');
      o.settings.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    } else {
      fail("no option: " + option + " " + value);
    }
  }
  if (o.clip.empty()) fail("no --clip; --help lists the options");
  return o;
}

int run(const Options& o) {
  const std::vector<FrameCounts> frames = count_decisions(load(o), o.settings);
  std::printf(
      "| GOP | schedule | decisions, M | busy lanes | warp instructions per 32 decisions | "
      "issue slots used | cycles, M |\n|---|---|---|---|---|---|---|\n");
  int status = 0;
  for (const int gop : o.gops) {
    double decisions = 0;
    for (const Scheme& scheme : kSchemes) {
      const Result r = simulate(o, scheme, frames, gop);
      const double slots = r.cycles * o.multiprocessors * 4;
      std::printf("| %d | %s | %.1f | %.1f %% | %.1f | %.1f %% | %.3f |\n", gop, scheme.name,
                  r.decisions * 1e-6, 100 * r.decisions / (kWarpLanes * r.steps),
                  r.instructions * kWarpLanes / r.decisions, 100 * r.instructions / slots,
                  r.cycles * 1e-6);
      // Every schedule codes the same decisions, and nothing is faster than it can be.
      if (decisions == 0) decisions = r.decisions;
      if (r.decisions != decisions || r.decisions > kWarpLanes * r.steps ||
          r.instructions > slots * 1.001) {
        std::printf("WRONG: the schedule contradicts itself\n");
        status = 1;
      }
    }
  }
  return status;
}

}  // namespace
}  // namespace cj2k::bench

int main(int argc, char** argv) {
  doctest::Context context;  // for the checks of the test support library
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler([](const doctest::AssertData& failed) {
    if (!failed.m_failed) return;
    std::fprintf(stderr, "%s:%d: %s\n", failed.m_file, failed.m_line, failed.m_expr);
    std::exit(1);
  });
  return cj2k::bench::run(cj2k::bench::parse(argc, argv));
}
