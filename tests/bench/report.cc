// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "bench/report.h"

#include <algorithm>

namespace cj2k::bench {
namespace {

/// [cj2k_stage]
constexpr const char* kStages[CJ2K_NUM_STAGES] = {"ingest", "dwt", "tier1", "rate", "packets"};

struct Sums {
  double frames = 0, bytes = 0, cpu_seconds = 0, coded = 0, included = 0,
         stage_ms[CJ2K_NUM_STAGES] = {};
};

Sums sums(const Row& row) {
  Sums s;
  for (const Round& round : row.rounds) {
    s.frames += static_cast<double>(round.frames);
    s.bytes += static_cast<double>(round.bytes);
    s.cpu_seconds += round.cpu_seconds;
    s.coded += static_cast<double>(round.coded);
    s.included += static_cast<double>(round.included);
    for (int i = 0; i < 5; ++i)
      s.stage_ms[i] += round.stage_ms[i] * static_cast<double>(round.frames);
  }
  return s;
}

std::string number(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string psnr_text(const Row& row, int digits) {
  if (!row.psnr) return "-";
  if (*row.psnr >= 999) return "inf";
  return number(*row.psnr, digits);
}

}  // namespace

Spread frames_per_second(const Row& row) {
  std::vector<double> rates;
  for (const Round& round : row.rounds) rates.push_back(round.steady_fps);
  if (rates.empty()) return {};
  std::sort(rates.begin(), rates.end());
  const size_t n = rates.size();
  return {(rates[(n - 1) / 2] + rates[n / 2]) / 2, rates.front(), rates.back()};
}

void print_table(std::FILE* file, const Facts& facts, const std::vector<Row>& rows) {
  for (const auto& [name, value] : facts)
    std::fprintf(file, "%-12s %s\n", (name + ":").c_str(), value.c_str());
  std::fprintf(
      file,
      "gop: frames of a GOP x GOPs in flight. fps: median (min-max) of the rounds, pipeline "
      "full. MB/fr: device memory per frame in flight. ms per frame: %s, %s, %s, %s, %s.\n"
      "PSNR: ~ is the encoder's estimate, others are decoded by opj_decompress.\n",
      kStages[CJ2K_STAGE_INGEST], kStages[CJ2K_STAGE_TRANSFORM], kStages[CJ2K_STAGE_BLOCKS],
      kStages[CJ2K_STAGE_RATE], kStages[CJ2K_STAGE_PACKETS]);
  const Task* task = nullptr;
  for (const Row& row : rows) {
    if (row.task != task) {
      task = row.task;
      const Clip& clip = *task->clip;
      std::fprintf(file, "\n%s: %s %dx%d, %d bit, ", task->name.c_str(), clip.name.c_str(),
                   clip.width, clip.height, clip.depth);
      if (task->lossless) {
        std::fprintf(file, "lossless");
      } else {
        std::fprintf(file, "%lld bytes, stop %s", static_cast<long long>(task->target_bytes),
                     task->stop.c_str());
      }
      std::fprintf(file, ", blocks %dx%d, %d levels\n", task->cblk, task->cblk, task->levels);
      std::fprintf(file, "  %-34s %-7s %5s %-9s %8s %17s %10s %8s %7s %8s %6s %7s  %s\n", "encoder",
                   "tier1", "gop", "boundary", "fps", "min-max", "bytes", "PSNR dB", "J/frame",
                   "dev MB", "MB/fr", "CPU ms", "ms per frame");
    }
    std::fprintf(file, "  %-34s %-7s %5s %-9s ", row.encoder.c_str(), row.tier1.c_str(),
                 row.gop.c_str(), boundary_name(row.boundary));
    if (!row.error.empty()) {
      std::fprintf(file, "-- %s\n", row.error.c_str());
      continue;
    }
    const Spread fps = frames_per_second(row);
    const Sums s = sums(row);
    const double device_mb = static_cast<double>(row.device_bytes) / 1e6;
    std::fprintf(
        file, "%8s %17s %10s %8s %7s %8s %6s %7s ", number(fps.median, 1).c_str(),
        (number(fps.low, 1) + "-" + number(fps.high, 1)).c_str(),
        number(s.bytes / s.frames, 0).c_str(),
        psnr_text(row, 2).insert(0, row.psnr && !row.psnr_decoded ? 1 : 0, '~').c_str(),
        row.joules ? number(*row.joules / s.frames, 3).c_str() : "-",
        row.device_bytes > 0 ? number(device_mb, 0).c_str() : "-",
        row.device_bytes > 0
            ? number(device_mb / static_cast<double>(std::max<int64_t>(1, row.frames_in_flight)), 1)
                  .c_str()
            : "-",
        number(s.cpu_seconds * 1000 / s.frames, 2).c_str());
    for (const double stage : s.stage_ms) {
      if (s.coded > 0) std::fprintf(file, " %s", number(stage / s.frames, 3).c_str());
    }
    std::fprintf(file, "%s\n", row.check.empty() ? "" : ("  <-- " + row.check).c_str());
  }
}

void print_tsv(std::FILE* file, const Facts& facts, const std::vector<Row>& rows) {
  for (const auto& [name, value] : facts)
    std::fprintf(file, "# %s\t%s\n", name.c_str(), value.c_str());
  std::fprintf(file,
               "workload\tclip\tencoder\ttier1\tgop\tboundary\tstop\tfps_median\tfps_min\tfps_max\t"
               "rounds\tframes\tbytes_per_frame\tpsnr_db\tpsnr_from\tjoules_per_frame\t"
               "device_bytes\tframes_in_flight\tpinned_bytes\thost_bytes\tcpu_ms_per_frame\t"
               "passes_coded_per_frame\tpasses_included_per_frame");
  for (const char* stage : kStages) std::fprintf(file, "\t%s_ms", stage);
  std::fprintf(file, "\thash\tcheck\n");
  for (const Row& row : rows) {
    const Spread fps = frames_per_second(row);
    const Sums s = sums(row);
    const double frames = std::max(1.0, s.frames);
    std::fprintf(file, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%zu\t%.0f\t%.1f\t%s\t%s\t%s",
                 row.task->name.c_str(), row.task->clip->name.c_str(), row.encoder.c_str(),
                 row.tier1.c_str(), row.gop.c_str(), boundary_name(row.boundary),
                 row.task->lossless ? "-" : row.task->stop.c_str(), fps.median, fps.low, fps.high,
                 row.rounds.size(), s.frames, s.bytes / frames, psnr_text(row, 4).c_str(),
                 !row.psnr          ? "-"
                 : row.psnr_decoded ? "opj_decompress"
                                    : "estimate",
                 row.joules ? number(*row.joules / frames, 5).c_str() : "-");
    std::fprintf(file, "\t%lld\t%lld\t%lld\t%lld\t%.4f\t%.1f\t%.1f",
                 static_cast<long long>(row.device_bytes),
                 static_cast<long long>(row.frames_in_flight),
                 static_cast<long long>(row.pinned_bytes), static_cast<long long>(row.host_bytes),
                 s.cpu_seconds * 1000 / frames, s.coded / frames, s.included / frames);
    for (const double stage : s.stage_ms) std::fprintf(file, "\t%.5f", stage / frames);
    std::fprintf(file, "\t%016llx\t%s\n", static_cast<unsigned long long>(row.hash),
                 !row.error.empty()  ? row.error.c_str()
                 : row.check.empty() ? "ok"
                                     : row.check.c_str());
  }
}

}  // namespace cj2k::bench
