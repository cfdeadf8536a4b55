// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "scan/coding.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "support/decoders.h"
#include "support/encode.h"

namespace cj2k::test {
namespace {

bool is_ht(const Coding& coding) {
  return std::find(coding.settings.begin(), coding.settings.end(),
                   std::pair<std::string, std::string>("coder", "ht")) != coding.settings.end();
}

Settings settings_of(const Subject& subject, const Coding& coding, const Limits& limits) {
  Settings all = coding.settings;
  all.emplace_back("cblk", is_ht(coding) ? subject.ht_cblk : subject.cblk);
  all.insert(all.end(), subject.shared.begin(), subject.shared.end());
  for (const auto& setting : limits.settings()) all.push_back(setting);
  return all;
}

cj2k_params params_of(const Subject& subject, const Coding& coding, const Limits& limits) {
  const Picture& picture = *subject.picture;
  cj2k_params p =
      make_params(picture.width, picture.height, static_cast<int32_t>(picture.components.size()),
                  picture.components[0].depth);
  for (const auto& [key, value] : settings_of(subject, coding, limits)) set(p, key.c_str(), value);
  set(p, "device", "cpu");
  p.threads = p.gop = p.async_depth = 1;
  p.measure_mse = 1;
  return p;
}

double psnr_of(double squared_error, double samples, int32_t depth) {
  const double peak = static_cast<double>((1 << depth) - 1);
  return squared_error == 0 ? 999 : 10 * std::log10(peak * peak * samples / squared_error);
}

/// The only place that reads the library's statistics.
Point point_of(const Encoded& encoded, const Picture& picture) {
  Point point;
  if (encoded.status != CJ2K_OK) {
    point.error = encoded.log.empty() ? cj2k_status_string(encoded.status) : encoded.log;
    return point;
  }
  const cj2k_stats& stats = encoded.stats;
  for (size_t c = 0; c < picture.components.size(); ++c) {
    const double samples = static_cast<double>(picture.components[c].samples.size());
    point.squared_error += stats.mse[c] * samples;
    point.samples += samples;
    point.most_component_bytes = std::max(point.most_component_bytes, stats.component_bytes[c]);
  }
  point.psnr = psnr_of(point.squared_error, point.samples, picture.components[0].depth);
  point.bytes = static_cast<int64_t>(encoded.bytes.size());
  point.passes_coded = stats.passes_coded;
  point.coding_ms = stats.stage_ms[CJ2K_STAGE_BLOCKS] + stats.stage_ms[CJ2K_STAGE_RATE];
  return point;
}

/// Rising values from `low` to `high`, equally spaced in their logarithm but for the jitter.
std::vector<double> log_spaced(double low, double high, int count, Random& random) {
  std::vector<double> values;
  const double step = std::log(high / low) / std::max(1, count - 1);
  for (int i = 0; i < count; ++i) {
    const double jitter = i == 0 || i == count - 1 ? 0 : random.range(-400, 400) / 1000.0;
    values.push_back(low * std::exp(step * (i + jitter)));
  }
  return values;
}

struct Range {
  double least, most;
  int64_t least_of_component;
};

/// From the smallest caps that are taken to all that EBCOT makes of the picture.
Range bytes_range(const Subject& subject) {
  Limits all;
  all.target_bytes = subject.picture->raw_bits() / 4 + 10000;
  const Coding& none = scan_coding("effort1_none");
  const Point most = code(subject, none, all);
  REQUIRE(most.error == "");
  cj2k_info info = {};
  info.struct_size = sizeof info;
  const cj2k_params p = params_of(subject, none, all);
  REQUIRE(cj2k_params_info(&p, &info) == CJ2K_OK);
  const double least = static_cast<double>(info.least_frame_bytes) + 40;
  const double high = std::max(1.03 * static_cast<double>(most.bytes), 2 * least);
  return {std::max(least, high / 600), high, info.least_component_bytes + 20};
}

std::vector<Limits> component_limits(const Subject& subject, const std::vector<double>& bytes,
                                     int64_t least, Random& random) {
  const bool is_grey = subject.picture->components.size() == 1;
  const double share = is_grey ? 0.8 : random.pick<double>({0.115, 0.2, 0.34, 0.4, 0.5, 0.7});
  std::vector<Limits> all;
  for (const double b : bytes) {
    // Below a third the components cannot fill the target, so the target lies above what is drawn.
    const double of_component = share < 1.0 / 3 ? b / 2.5 : b * share;
    Limits limits;
    limits.target_bytes = static_cast<int64_t>(std::max(b, of_component / share));
    limits.max_component_bytes = std::max(least, static_cast<int64_t>(of_component));
    all.push_back(limits);
  }
  return all;
}

/// Two qualities, each under rising caps, and a sweep of qualities under a cap that does not bind.
std::vector<Limits> quality_limits(const Subject& subject, Range range, int count, Random& random) {
  std::vector<Limits> all;
  const auto text_as_number = [](double q) { return std::round(q * 1000) / 1000; };
  for (int curve = 0; curve < 2; ++curve) {
    Limits limits;
    limits.curve = curve;
    limits.quality = text_as_number(curve == 0 ? random.pick<double>({0.7, 1, 1.5, 2, 3})
                                               : random.pick<double>({4, 6, 8, 12, 20}));
    const Point open = code(subject, scan_coding("effort1_none"), limits);
    REQUIRE(open.error == "");
    const double high = std::max(1.1 * static_cast<double>(open.bytes), 1.2 * range.least);
    for (const double b : log_spaced(range.least, high, count / 3, random)) {
      limits.max_frame_bytes = static_cast<int64_t>(b);
      all.push_back(limits);
    }
  }
  Limits sweep;
  sweep.curve = 2;
  sweep.max_frame_bytes = static_cast<int64_t>(3 * range.most) + 10000;
  std::vector<double> qualities = log_spaced(0.25, 64, count - 2 * (count / 3), random);
  std::reverse(qualities.begin(), qualities.end());
  for (const double q : qualities) {
    sweep.quality = text_as_number(q);
    all.push_back(sweep);
  }
  return all;
}

}  // namespace

const std::vector<Coding>& scan_codings() {
  static const std::vector<Coding> codings = [] {
    std::vector<Coding> all;
    const auto add = [&all](const std::string& name, const Settings& settings) {
      all.push_back({name, settings});
    };
    add("effort0", {{"effort", "0"}});
    add("effort1", {});
    add("effort1_none", {{"stop", "none"}});
    for (const char* effort : {"2", "3"}) {
      const std::string name = std::string("effort") + effort;
      add(name, {{"effort", effort}});
      add(name + "_steps0", {{"effort", effort}, {"frame_steps", "0"}});
      add(name + "_none", {{"effort", effort}, {"frame_steps", "0"}, {"stop", "none"}});
    }
    add("planted_bpi", {{"stop", "bpi"}});
    add("ht", {{"coder", "ht"}});
    add("ht_steps0", {{"coder", "ht"}, {"frame_steps", "0"}});
    add("ht_none", {{"coder", "ht"}, {"frame_steps", "0"}, {"stop", "none"}});
    add("ht_effort2", {{"coder", "ht"}, {"effort", "2"}});
    add("ht_effort2_steps0", {{"coder", "ht"}, {"effort", "2"}, {"frame_steps", "0"}});
    add("ht_effort2_none",
        {{"coder", "ht"}, {"effort", "2"}, {"frame_steps", "0"}, {"stop", "none"}});
    add("visual", {{"tune", "visual"}});
    add("visual_none", {{"tune", "visual"}, {"stop", "none"}});
    const Settings visual_ht = {{"tune", "visual"}, {"coder", "ht"}};
    add("visual_ht", visual_ht);
    Settings steps0 = visual_ht;
    steps0.emplace_back("frame_steps", "0");
    add("visual_ht_steps0", steps0);
    steps0.emplace_back("stop", "none");
    add("visual_ht_none", steps0);
    const Settings visual_efforts[] = {
        {{"effort", "2"}}, {{"effort", "3"}}, {{"effort", "2"}, {"coder", "ht"}}};
    for (Settings settings : visual_efforts) {
      const std::string name = std::string("visual_") + (settings.size() > 1 ? "ht_" : "") +
                               "effort" + settings[0].second;
      settings.emplace_back("tune", "visual");
      add(name, settings);
      settings.emplace_back("frame_steps", "0");
      add(name + "_steps0", settings);
      settings.emplace_back("stop", "none");
      add(name + "_none", settings);
    }
    return all;
  }();
  return codings;
}

const Coding& scan_coding(std::string_view name) {
  const auto& all = scan_codings();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Coding& c) { return c.name == name; });
  REQUIRE_MESSAGE(found != all.end(), "no coding ", name);
  return *found;
}

const char* limit_kind_name(LimitKind kind) {
  switch (kind) {
    case LimitKind::kTarget:
      return "target";
    case LimitKind::kComponent:
      return "component";
    case LimitKind::kQuality:
      return "quality";
  }
  return "?";
}

Settings Limits::settings() const {
  Settings all;
  if (target_bytes > 0) all.emplace_back("target_bytes", std::to_string(target_bytes));
  if (max_frame_bytes > 0) all.emplace_back("max_frame_bytes", std::to_string(max_frame_bytes));
  if (max_component_bytes > 0)
    all.emplace_back("max_component_bytes", std::to_string(max_component_bytes));
  if (quality > 0) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", quality);
    all.emplace_back("quality", text);
  }
  return all;
}

double Limits::place() const {
  const int64_t bytes = target_bytes > 0 ? target_bytes : max_frame_bytes;
  // A sweep of qualities has one cap.
  return std::log(static_cast<double>(bytes)) - (quality > 0 ? std::log(quality) : 0);
}

std::string options(const Subject& subject, const Coding& coding, const Limits& limits) {
  std::string text;
  for (const auto& [key, value] : settings_of(subject, coding, limits))
    text += (text.empty() ? "--" : " --") + key + " " + value;
  return text;
}

Point code(const Subject& subject, const Coding& coding, const Limits& limits,
           std::vector<uint8_t>* codestream) {
  const cj2k_params params = params_of(subject, coding, limits);
  Encoded encoded = encode(params, *subject.picture);
  Point point = point_of(encoded, *subject.picture);
  point.is_visual = params.tune == CJ2K_TUNE_VISUAL;
  if (codestream != nullptr) *codestream = std::move(encoded.bytes);
  return point;
}

double decoded_psnr(const Subject& subject, const Coding& coding, const Limits& limits,
                    const std::vector<uint8_t>& codestream) {
  const Decoded decoded =
      decode(Decoder::kOpenJpeg, codestream, params_of(subject, coding, limits));
  if (!decoded.picture) return -1;
  double squared_error = 0, samples = 0;
  for (size_t c = 0; c < subject.picture->components.size(); ++c) {
    const ComponentPlane& plane = subject.picture->components[c];
    const double count = static_cast<double>(plane.samples.size());
    squared_error += count * mean_squared_error(plane, decoded.picture->components[c]);
    samples += count;
  }
  return psnr_of(squared_error, samples, subject.picture->components[0].depth);
}

std::vector<Limits> draw_limits(const Subject& subject, LimitKind kind, int count, uint64_t seed) {
  Random random(seed);
  const Range range = bytes_range(subject);
  if (kind == LimitKind::kQuality) return quality_limits(subject, range, count, random);
  const std::vector<double> bytes = log_spaced(range.least, range.most, count, random);
  if (kind == LimitKind::kComponent)
    return component_limits(subject, bytes, range.least_of_component, random);
  std::vector<Limits> all;
  for (const double b : bytes) {
    Limits limits;
    limits.target_bytes = static_cast<int64_t>(b);
    all.push_back(limits);
  }
  return all;
}

}  // namespace cj2k::test
