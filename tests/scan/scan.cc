// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "scan/scan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "support/image_io.h"

namespace cj2k::test {

/// Two codings that get the same limits.
struct Comparison {
  int rule;
  const char* coding;
  const char* against;
  double most_loss;  ///< dB
};

namespace {

constexpr Comparison kComparisons[] = {{1, "effort0", "effort1_none", 0.01},
                                       {1, "effort1", "effort1_none", 0.01},
                                       {1, "visual", "visual_none", 0.01},
                                       {2, "effort2_steps0", "effort2_none", 0.02},
                                       {2, "effort3_steps0", "effort3_none", 0.02},
                                       {2, "effort2", "effort2_none", 0.1},
                                       {2, "effort3", "effort3_none", 0.1},
                                       {2, "ht_steps0", "ht_none", 0.02},
                                       {2, "ht", "ht_none", 0.1},
                                       {2, "visual_ht_steps0", "visual_ht_none", 0.02},
                                       {2, "visual_ht", "visual_ht_none", 0.1},
                                       {3, "effort2", "effort1", 0.02},
                                       {3, "effort3", "effort1", 0.02},
                                       {3, "effort2_steps0", "effort1", 0.02},
                                       {3, "effort3_steps0", "effort1", 0.02}};
constexpr double kMostFall = 0.05;     // rule 4, dB
constexpr double kMostBytes = 1.003;   // rule 5
constexpr double kMostWrongDb = 0.05;  // what is measured against what OpenJPEG shows

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> list(const char* name) {
  std::vector<std::string> items;
  std::stringstream text(environment(name));
  for (std::string item; std::getline(text, item, ',');) items.push_back(item);
  return items;
}

/// Whether the environment asks for it, or for nothing.
bool is_asked(const char* name, const std::string& item) {
  const std::vector<std::string> asked = list(name);
  return asked.empty() || std::find(asked.begin(), asked.end(), item) != asked.end();
}

uint64_t seed_of(const std::string& text) {
  return hash_bytes(std::vector<uint8_t>(text.begin(), text.end()));
}

/// dB by which `point` is worse than `other`; negative where it is better.
double loss_of(const Point& point, const Point& other) {
  return 10 * std::log10(std::max(point.squared_error, 1.0) / std::max(other.squared_error, 1.0));
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

struct Scan::Row {
  Subject subject;
  LimitKind kind;
  ScanSize size;
  std::vector<Limits> limits;
  std::map<std::pair<std::string, size_t>, Point> points;

  std::string name() const { return subject.name + " " + limit_kind_name(kind); }
};

Scan::Scan() : tsv_(environment("CJ2K_SCAN_TSV")) {
  if (tsv_.empty()) return;
  if (std::FILE* file = std::fopen(tsv_.c_str(), "w")) {
    std::fputs(
        "rule\tpicture\tcoding\tagainst\tloss\tmost\tbroken\tbytes\tagainst_bytes\tdb\t"
        "against_db\tpasses\tagainst_passes\toptions\n",
        file);
    std::fclose(file);
  }
}

void Scan::count(int rule, const Row& row, const std::string& coding, size_t limits, double loss,
                 double most, const Point& point, const std::string& against, const Point& other) {
  Tally& tally = tallies_[{rule, coding + " : " + against}];
  const bool is_broken = loss > most;
  const std::string text = options(row.subject, scan_coding(coding), row.limits[limits]);
  ++tally.pairs;
  tally.broken += is_broken;
  if (loss > tally.worst || tally.where.empty()) {
    tally.worst = loss;
    tally.where = row.name() + " " + text;
  }
  if (tsv_.empty()) return;
  if (std::FILE* file = std::fopen(tsv_.c_str(), "a")) {
    std::fprintf(file, "%d\t%s\t%s\t%s\t%.4f\t%.4f\t%d\t%lld\t%lld\t%.4f\t%.4f\t%lld\t%lld\t%s\n",
                 rule, row.name().c_str(), coding.c_str(), against.c_str(), loss, most, is_broken,
                 static_cast<long long>(point.bytes), static_cast<long long>(other.bytes),
                 point.psnr, other.psnr, static_cast<long long>(point.passes_coded),
                 static_cast<long long>(other.passes_coded), text.c_str());
    std::fclose(file);
  }
}

void Scan::confirm(Row& row, const std::string& coding, size_t limits, const Point& point,
                   const std::vector<uint8_t>& codestream) {
  const double shown =
      decoded_psnr(row.subject, scan_coding(coding), row.limits[limits], codestream);
  ++decoded_;
  // Decoders round differently where nearly all samples are right.
  if (shown > 80 && point.psnr > 80) return;
  if (std::abs(shown - point.psnr) <= kMostWrongDb) return;
  char text[96];
  std::snprintf(text, sizeof text, ": measured %.3f dB, OpenJPEG %.3f dB", point.psnr, shown);
  wrong_measures_.push_back(row.name() + " " +
                            options(row.subject, scan_coding(coding), row.limits[limits]) + text);
}

const Point& Scan::point(Row& row, const std::string& coding, size_t limits) {
  const auto [at, is_new] = row.points.try_emplace({coding, limits});
  if (!is_new) return at->second;
  const uint64_t draw = seed_of(row.name() + coding + std::to_string(limits));
  const bool is_decoded = draw % static_cast<uint64_t>(row.size.decoded_in) == 0;
  std::vector<uint8_t> codestream;
  at->second = code(row.subject, scan_coding(coding), row.limits[limits],
                    is_decoded ? &codestream : nullptr);
  ++codings_;
  const Point& point = at->second;
  if (!point.error.empty()) {
    errors_.push_back(row.name() + " " +
                      options(row.subject, scan_coding(coding), row.limits[limits]) + ": " +
                      point.error);
    return point;
  }
  judge_caps(row, coding, limits, point);
  if (is_decoded) confirm(row, coding, limits, point, codestream);
  return point;
}

void Scan::judge_caps(Row& row, const std::string& coding, size_t limits, const Point& point) {
  const Limits& l = row.limits[limits];
  const auto over = [](int64_t bytes, int64_t cap) {
    return cap == 0 ? -100.0 : 100.0 * static_cast<double>(bytes - cap) / static_cast<double>(cap);
  };
  const double most =
      std::max({over(point.bytes, l.target_bytes), over(point.bytes, l.max_frame_bytes),
                over(point.most_component_bytes, l.max_component_bytes)});
  count(5, row, coding, limits, most, 0, point, "cap", point);
}

void Scan::judge_pair(Row& row, const Comparison& comparison, size_t limits) {
  const Point& mine = point(row, comparison.coding, limits);
  const Point& other = point(row, comparison.against, limits);
  if (!mine.error.empty() || !other.error.empty()) return;
  const Limits& l = row.limits[limits];
  // Efforts differ in where constant quality ends, so they are compared where a cap was filled.
  const auto fills = [&l](const Point& p) { return p.bytes * 1000 > l.max_frame_bytes * 995; };
  if (comparison.rule == 3 && l.quality > 0 && !(fills(mine) && fills(other))) return;
  count(comparison.rule, row, comparison.coding, limits, loss_of(mine, other), comparison.most_loss,
        mine, comparison.against, other);
  if (comparison.rule == 3) return;
  auto& passes = passes_[comparison.coding];
  passes.first += static_cast<double>(mine.passes_coded);
  passes.second += static_cast<double>(other.passes_coded);
  if (l.quality == 0) return;
  const double more = static_cast<double>(mine.bytes) / static_cast<double>(other.bytes);
  count(5, row, comparison.coding, limits, 100 * (more - 1), 100 * (kMostBytes - 1), mine,
        comparison.against, other);
}

void Scan::judge_curves(Row& row, const std::string& coding) {
  const Point* best = nullptr;
  int curve = -1;
  for (size_t i = 0; i < row.limits.size(); ++i) {
    const auto at = row.points.find({coding, i});
    if (at == row.points.end() || !at->second.error.empty()) continue;
    if (row.limits[i].curve != curve) best = nullptr;
    curve = row.limits[i].curve;
    if (best != nullptr)
      count(4, row, coding, i, loss_of(at->second, *best), kMostFall, at->second, "less", *best);
    if (best == nullptr || at->second.squared_error < best->squared_error) best = &at->second;
  }
}

void Scan::run(const ScanPicture& of, LimitKind kind, const ScanSize& size) {
  if (!is_asked("CJ2K_SCAN_PICTURE", of.name) || !is_asked("CJ2K_SCAN_KIND", limit_kind_name(kind)))
    return;
  const std::optional<Picture> picture = scan_picture(of, size.width, size.height, 1);
  if (!picture) return;
  const std::string folder = environment("CJ2K_SCAN_WRITE");
  if (!folder.empty()) write_pnm(folder + "/" + of.name + (of.is_grey ? ".pgm" : ".ppm"), *picture);
  Row row;
  const bool is_small = size.width < 1000;
  const std::string block = is_small ? (of.is_grey ? "8x8" : "16x16") : "32x32";
  Random random(seed_of(of.name + limit_kind_name(kind)));
  row.subject = {of.name, &*picture, block, random.pick<std::string>({block, "32x32", "64x64"})};
  row.kind = kind;
  row.size = size;
  row.limits = draw_limits(row.subject, kind, size.limits, random.next());
  const std::vector<std::string> bytes = list("CJ2K_SCAN_BYTES");
  if (!bytes.empty()) row.limits.resize(bytes.size(), row.limits.back());
  for (size_t i = 0; i < bytes.size(); ++i) {
    Limits& l = row.limits[i];
    const int64_t before = l.target_bytes;
    (kind == LimitKind::kQuality ? l.max_frame_bytes : l.target_bytes) =
        std::atoll(bytes[i].c_str());
    if (before > 0) l.max_component_bytes = l.max_component_bytes * l.target_bytes / before;
  }
  for (const Comparison& comparison : kComparisons) {
    if (!is_asked("CJ2K_SCAN_CODING", comparison.coding)) continue;
    const uint64_t group = seed_of(row.name() + comparison.against);
    for (size_t i = 0; i < row.limits.size(); ++i) {
      if (Random(group + i).chance(size.percent)) judge_pair(row, comparison, i);
    }
  }
  for (const Coding& coding : scan_codings()) {
    if (!ends_with(coding.name, "_none")) judge_curves(row, coding.name);
  }
}

void Scan::print() const {
  std::printf("\n%-5s%-32s%8s%8s%9s  %s\n", "rule", "coding : against", "pairs", "broken", "worst",
              "where");
  for (const auto& [key, tally] : tallies_) {
    std::printf("%-5d%-32s%8lld%8lld%9.3f  %s\n", key.first, key.second.c_str(),
                static_cast<long long>(tally.pairs), static_cast<long long>(tally.broken),
                tally.worst, tally.where.c_str());
  }
  std::printf("\n%-20s passes coded, of those with none\n", "coding");
  for (const auto& [coding, passes] : passes_)
    std::printf("%-20s %5.1f %%\n", coding.c_str(),
                100 * passes.first / std::max(1.0, passes.second));
  std::printf("%lld codings, %lld decoded by OpenJPEG, %zu measured wrongly\n",
              static_cast<long long>(codings_), static_cast<long long>(decoded_),
              wrong_measures_.size());
}

}  // namespace cj2k::test
