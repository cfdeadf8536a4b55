// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Measures what follows block coding: rate control, packet headers and the codestream, in one
// thread. A frame is coded once; then these steps are repeated with its blocks.
//
//     rate_bench [--rounds N] [--rates 50,250,500] [--size WxH] [--cases NAME,...] [--pnm FILE]
//                [--final 1]
//
// With --final, what is left for the host if a device has chosen, and has written the tile-parts
// (FrameResult): the steps `rate` and `headers` do nothing. Only cases with one layer and coder = ebcot.
//
// The times are medians. For instructions, in callgrind.out.*, one file per step of the last round:
//
//     valgrind --tool=callgrind --instr-atstart=no rate_bench --rounds 2 --rates 250 --cases ebcot32
#define DOCTEST_CONFIG_IMPLEMENT  // for the test support library, which reports through doctest
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_STOP_INSTRUMENTATION (void)0
#define CALLGRIND_DUMP_STATS_AT(name) (void)0
#endif

#include "backend.h"
#include "base/clock.h"
#include "bench/clip.h"
#include "depth/early_stop.h"
#include "packets/markers.h"
#include "packets/packet_writer.h"
#include "params/params.h"
#include "rate/frame_result.h"
#include "rate/rate.h"
#include "support/encode.h"

namespace cj2k::bench {
namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "rate_bench: %s\n", message.c_str());
  std::exit(1);
}

struct Case {
  const char* name;
  bool has_component_caps;  ///< four fifths of the frame's, as in digital cinema
  int layers;
  std::vector<std::pair<const char*, const char*>> settings;
};

using Settings = std::vector<std::pair<const char*, const char*>>;
const Settings kCinema = {{"cblk", "32x32"}, {"precincts", "256x256"},
                          {"levels", "6"},   {"progression", "cprl"},
                          {"tlm", "1"},      {"tile_parts", "component"}};

const Case kCases[] = {
    {"ebcot32", false, 1, {{"cblk", "32x32"}}},
    {"ebcot64", false, 1, {{"cblk", "64x64"}}},
    {"cinema", true, 1, kCinema},
    {"ebcot32-5layers", false, 5, {{"cblk", "32x32"}}},
    {"cinema-5layers", true, 5, kCinema},
    {"ht32", false, 1, {{"coder", "ht"}, {"cblk", "32x32"}}},
    {"ht64", false, 1, {{"coder", "ht"}, {"cblk", "64x64"}}},
    {"ht64-5layers", false, 5, {{"coder", "ht"}, {"cblk", "64x64"}}},
};

struct Options {
  int rounds = 21;
  std::vector<std::string> rates = {"50", "250", "500"}, cases;
  int32_t width = 4096, height = 2160;
  std::string pnm;
  bool is_final = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--rounds") {
      o.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (name == "--rates") {
      o.rates = split(value);
    } else if (name == "--cases") {
      o.cases = split(value);
    } else if (name == "--pnm") {
      o.pnm = value;
    } else if (name == "--final") {
      o.is_final = value == "1";
    } else if (name != "--size" || std::sscanf(value.c_str(), "%dx%d", &o.width, &o.height) != 2) {
      fail("no option " + name + " " + value);
    }
  }
  if (argc % 2 == 0) fail(std::string("no value for ") + argv[argc - 1]);
  return o;
}

Plan plan_of(const Case& c, const Clip& clip, const std::string& rate) {
  const Log log(cj2k_log_stderr, nullptr);
  cj2k_params p{};
  p.struct_size = sizeof p;
  set_default_params(&p);
  p.width = clip.width;
  p.height = clip.height;
  p.num_components = Clip::kComponents;
  for (int32_t& depth : p.depth) depth = clip.depth;
  if (set_param(&p, "device", "cpu", log) != Status::kOk) fail("no CPU backend");
  for (const auto& [name, value] : c.settings) {
    if (set_param(&p, name, value, log) != Status::kOk) fail(std::string("refused: ") + name);
  }
  const int64_t bytes = static_cast<int64_t>(std::atof(rate.c_str()) * 1e6 / 8 / 24);
  p.target_bytes = bytes;
  if (c.has_component_caps) p.max_component_bytes = bytes * 4 / 5;
  p.layers = c.layers;
  p.threads = 1;
  cj2k_params resolved;
  Plan plan;
  if (resolve_params(p, log, &resolved) != Status::kOk ||
      make_plan(resolved, log, &plan) != Status::kOk)
    fail(std::string("no plan for ") + c.name);
  return plan;
}

/// Times of one step, one per round.
struct Step {
  const char* name;
  std::vector<double> ms;
  template <typename Work>
  void run(bool counted, const Work& work) {
    if (counted) CALLGRIND_START_INSTRUMENTATION;
    const auto start = Clock::now();
    work();
    ms.push_back(ms_since(start));
    if (!counted) return;
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(name);
  }
  double median() const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// Codes the blocks of the frame as gop.cc does. @return how often rate control ran
int code(const Plan& plan, Backend& backend, GopWork& work, RateControl& rate) {
  const BlockSample sample(plan);
  EarlyStop stop(plan, sample);
  stop.begin(0, rate, {});
  cj2k_stats stats{};
  const CodedBlock* blocks = nullptr;
  int runs = 0;
  do {
    BlockRequest& request = stop.request();
    if (backend.code_blocks(work, {&request, 1}, sample, &stats) != Status::kOk) fail("blocks");
    rate.set_step_set(request.step_set);
    blocks = work.blocks(0);
    rate.allocate(blocks);
    ++runs;
  } while (stop.goes_on(blocks, rate));
  return runs;
}

/// A frame that a device has written, as it hands it over.
struct Final {
  std::vector<double> left;  // CodedBlock::total_distortion less what the chosen points remove
  std::vector<uint8_t> codestream;
  std::span<const uint8_t> tile_parts;

  Final(const Plan& plan, const RateControl& rate, PacketScratch& scratch)
      : left(plan.blocks.size()) {
    const Selection& from = rate.selection();
    for (size_t b = 0; b < left.size(); ++b) {
      const CodedBlock& coded = from.blocks[b];
      left[b] = coded.total_distortion;
      if (from.final_points[b] > 0) left[b] -= coded.hull[from.final_points[b] - 1].distortion;
    }
    PacketWriter writer(plan);
    for (uint32_t p = 0; p < plan.precincts.size(); ++p) writer.encode_headers(from, p, scratch);
    codestream.resize(writer.padded_bytes(0));
    if (writer.write(from, codestream, 0) != codestream.size()) fail("wrong size");
    const size_t begin = make_main_header(plan).bytes.size();
    tile_parts = std::span(codestream).subspan(begin, codestream.size() - kEocBytes - begin);
  }
};

uint64_t hash_of(const uint8_t* bytes, size_t count) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

void measure(const Case& c, const Clip& clip, const cj2k_frame& frame, const std::string& rate_text,
             int rounds, bool is_final) {
  const Plan plan = plan_of(c, clip, rate_text);
  std::vector<PacketScratch> scratch;
  scratch.emplace_back(plan);
  const std::unique_ptr<Backend> backend = make_cpu_backend(plan);
  std::unique_ptr<GopWork> work;
  cj2k_stats stats{};
  const uint32_t number = 0;
  if (backend->make_gop_work(&work) != Status::kOk ||
      backend->ingest(frame, *work, 0, stats) != Status::kOk ||
      backend->transform(*work, {&number, 1}, &stats) != Status::kOk)
    fail("no coefficients");
  RateControl rate(plan, scratch);
  const int runs = code(plan, *backend, *work, rate);
  const FetchRequest fetch{0, rate.selection().final_points};
  if (backend->fetch(*work, {&fetch, 1}, &stats) != Status::kOk) fail("fetch");

  PacketWriter writer(plan);
  std::vector<uint8_t> out;
  Step steps[] = {{"rate", {}}, {"headers", {}}, {"write", {}}, {"stats", {}}};
  std::optional<Final> final;
  if (is_final) final.emplace(plan, rate, scratch[0]);
  uint64_t bytes = 0;
  for (int round = 0; round < rounds; ++round) {
    const bool counted = round + 1 == rounds;
    steps[0].run(counted, [&] {
      if (!final.has_value()) rate.allocate(work->blocks(0));
    });
    steps[1].run(counted, [&] {
      if (final.has_value()) {
        writer.set_tile_parts(final->tile_parts);
        return;
      }
      for (uint32_t p = 0; p < plan.precincts.size(); ++p)
        writer.encode_headers(rate.selection(), p, scratch[0]);
    });
    out.resize(writer.padded_bytes(0));
    steps[2].run(counted, [&] { bytes = writer.write(rate.selection(), out, 0); });
    FrameResult result;
    steps[3].run(counted, [&] {
      if (final.has_value()) {
        for (size_t b = 0; b < plan.blocks.size(); ++b)
          result.add_error(plan, plan.blocks[b], 0, final->left[b]);
      } else {
        result = host_result(plan, rate);
      }
    });
    if (result.squared_error[0] <= 0) fail("no error");
  }
  if (bytes != out.size()) fail("wrong size");
  std::printf("%-16s %4s %8zu %6zu %9llu %016llx %d", c.name, rate_text.c_str(), plan.blocks.size(),
              plan.precincts.size(), static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(hash_of(out.data(), bytes)), runs);
  for (const Step& step : steps) std::printf(" %8.3f", step.median());
  std::printf("\n");
  std::fflush(stdout);
}

int run(const Options& o) {
  Clip clip;
  if (o.pnm.empty()) {
    clip = make_scene(o.width, o.height, 12, 1);
  } else {
    std::optional<Clip> read = make_clip_from(o.pnm, o.width, o.height, 8, 1);
    if (!read) fail("cannot read " + o.pnm + ", or it is too small");
    clip = std::move(*read);
  }
  const test::FrameMemory memory(clip.picture(0));
  std::printf("%-16s %4s %8s %6s %9s %16s %s %8s %8s %8s %8s\n", "case", "Mb/s", "blocks", "prec.",
              "bytes", "FNV-1a", "n", "rate", "headers", "write", "stats");
  for (const Case& c : kCases) {
    if (!o.cases.empty() && std::find(o.cases.begin(), o.cases.end(), c.name) == o.cases.end())
      continue;
    const bool is_ht = c.settings[0].second == std::string("ht");
    if (o.is_final && (c.layers > 1 || is_ht)) continue;
    for (const std::string& rate : o.rates)
      measure(c, clip, memory.frame, rate, o.rounds, o.is_final);
  }
  return 0;
}

}  // namespace
}  // namespace cj2k::bench

int main(int argc, char** argv) {
  const cj2k::bench::Options options = cj2k::bench::parse(argc, argv);
  return cj2k::bench::run(options);
}
