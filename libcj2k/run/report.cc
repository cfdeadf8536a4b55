// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "params/params.h"
#include "params/params_rules.h"

namespace cj2k {
namespace {

constexpr const char* kStages[CJ2K_NUM_STAGES] = {"ingest", "transform", "blocks", "rate",
                                                  "packets"};

/// A number with a point, whatever the locale is. What is not finite becomes null, as in JSON.
std::string number(double value, int digits, std::chars_format format = std::chars_format::fixed) {
  if (!std::isfinite(value)) return "null";
  char text[400];
  return {text, std::to_chars(text, std::end(text), value, format, digits).ptr};
}
std::string general(double value) { return number(value, 6, std::chars_format::general); }

std::string text_of(const cj2k_params& p, const char* key) {
  char text[CJ2K_MAX_PARAM_TEXT] = "";
  (void)get_param(p, key, text, sizeof text, Log());
  return text;
}

int64_t samples_of(const cj2k_params& p, int c) {
  const auto count = [](int64_t offset, int64_t size, int64_t d) {
    return (offset + size + d - 1) / d - (offset + d - 1) / d;
  };
  return count(p.image_offset_x, p.width, p.dx[c]) * count(p.image_offset_y, p.height, p.dy[c]);
}

double psnr(double error) { return -10 * std::log10(error); }

const char* picture_of(int fields) { return fields == 2 ? "field" : "frame"; }

/// Members of a JSON object, each behind a comma.
class Json {
 public:
  void member(const char* name, const std::string& value) {
    text_ += text_.empty() ? "{\"" : ",\"";
    text_ += std::string(name) + "\":" + value;
  }
  void member(const char* name, int64_t value) { member(name, std::to_string(value)); }
  template <typename Value>
  void list(const char* name, int count, const Value& value) {
    std::string all;
    for (int i = 0; i < count; ++i) all += std::string(i == 0 ? "[" : ",") + value(i);
    member(name, all + "]");
  }
  std::string end() const { return text_ + "}"; }

 private:
  std::string text_;
};

/// The mean squared error of component c over the square of its largest value. Estimates are of the
/// coded components. If these are the result of a colour transform, the sum of the first three is
/// known, and not how it is spread over the components of the picture.
double component_error(const cj2k_params& p, const cj2k_stats& stats, int c) {
  const double peak = std::ldexp(1.0, p.depth[c]) - 1;
  const bool mixed = p.mct == CJ2K_MCT_ON && p.measure_mse == 0 && c < 3;
  const double mse = mixed ? (stats.mse[0] + stats.mse[1] + stats.mse[2]) / 3 : stats.mse[c];
  return mse / (peak * peak);
}

/// The mean over all samples.
double frame_error(const cj2k_params& p, const cj2k_stats& stats) {
  double error = 0, samples = 0;
  for (int c = 0; c < p.num_components; ++c) {
    const auto count = static_cast<double>(samples_of(p, c));
    error += component_error(p, stats, c) * count;
    samples += count;
  }
  return error / samples;
}

}  // namespace

double frame_psnr(const cj2k_params& p, const cj2k_stats& stats) {
  return psnr(frame_error(p, stats));
}

/// The slope of a uniform quantiser is 16 ln 2 / 12 step^2 per byte.
double Report::equivalent_q(const cj2k_stats& stats) const {
  if (stats.slope_threshold == 0) return 0;
  const int depth = *std::max_element(p_.depth, p_.depth + p_.num_components);
  const double slope = std::exp2((stats.slope_threshold - 24576) / 256.0);
  return std::ldexp(std::sqrt(slope * 12 / (16 * std::log(2.0))), 8 - depth);
}

void Report::add(cj2k_stats* stats) {
  const double error = frame_error(p_, *stats);
  stats->psnr = psnr(error);
  for (int c = 0; c < p_.num_components; ++c)
    stats->component_psnr[c] = psnr(component_error(p_, *stats, c));
  stats->q = equivalent_q(*stats);

  const std::lock_guard lock(mutex_);
  if (frames_ == 0 || error > worst_error_) {
    worst_error_ = error;
    worst_ = number_;
  }
  ++number_;
  ++frames_;
  if (stats->psnr < p_.target_psnr) ++short_;
  is_cut_ = is_cut_ || stats->slope_threshold > 0;
  error_ += error;
  bytes_ += stats->bytes;
  least_proof_ = std::min(least_proof_, stats->verified);
  largest_bytes_ = std::max(largest_bytes_, stats->bytes);
  for (int i = 0; i < CJ2K_NUM_STAGES; ++i) stage_ms_[i] += stats->stage_ms[i];
}

void Report::add_failed() {
  const std::lock_guard lock(mutex_);
  ++number_;
}

std::string Report::headline(const cj2k_info& info, int fields) const {
  const int64_t cap = byte_cap(p_);
  const std::string end = cap != 0 ? " within " : ", ";
  std::string line;
  if (p_.profile != CJ2K_PROFILE_NONE) line += text_of(p_, "profile") + ", ";
  if (p_.lossless) line += "lossless, ";
  if (p_.qfactor > 0) line += "qfactor " + std::to_string(p_.qfactor) + end;
  if (p_.quality > 0) line += "quality " + general(p_.quality) + end;
  if (p_.target_psnr > 0) line += "target_psnr " + general(p_.target_psnr) + end;
  if (cap != 0) line += std::to_string(cap) + " bytes a " + picture_of(fields);
  if (cap != 0 && p_.frame_rate_num != 0) {
    const int64_t den = int64_t{p_.frame_rate_den} * fields;
    const int64_t divisor = std::gcd(int64_t{p_.frame_rate_num}, den);
    line += " at " + std::to_string(p_.frame_rate_num / divisor) + "/" +
            std::to_string(den / divisor) + " fps (" +
            number(8e-6 * static_cast<double>(cap) * p_.frame_rate_num / p_.frame_rate_den, 1) +
            " Mbit/s)";
  }
  if (cap != 0) line += ", ";
  if (p_.num_layer_rates > 0) line += "layer_rates " + text_of(p_, "layer_rates") + ", ";
  if (p_.num_layer_psnr > 0) line += "layer_psnr " + text_of(p_, "layer_psnr") + ", ";
  line += info.backend;
  if (info.device_name[0] != '\0') line += std::string(" on ") + info.device_name;
  return line + ", " + std::to_string(info.threads) + (info.threads == 1 ? " thread" : " threads");
}

std::string Report::summary(int fields) const {
  const std::lock_guard lock(mutex_);
  if (frames_ == 0 || p_.curves == CJ2K_CURVES_ONLY) return "";
  const auto count = static_cast<double>(frames_);
  const int64_t cap = byte_cap(p_);
  const auto share = [cap](double bytes) {
    return cap == 0 ? std::string()
                    : std::string(" (") + number(100 * bytes / static_cast<double>(cap), 2) +
                          " % of the cap)";
  };
  const std::string picture = picture_of(fields);
  const double mean = static_cast<double>(bytes_) / count;
  std::string line = std::to_string(frames_) + " " + picture + (frames_ == 1 ? "" : "s") + " of " +
                     number(mean, 0) + " bytes on average" + share(mean) + ", " +
                     std::to_string(largest_bytes_) + " at most" +
                     share(static_cast<double>(largest_bytes_)) + "; ";
  if (p_.lossless) {
    line += "lossless";
  } else {
    line += "PSNR " + number(psnr(error_ / count), 2) + " dB, " + number(psnr(worst_error_), 2) +
            " dB at worst (frame " + std::to_string(worst_ / fields) + "), " +
            (p_.measure_mse ? "measured" : "estimated before rounding and clipping");
    if (short_ > 0)
      line += "; " + std::to_string(short_) + " below target_psnr " + general(p_.target_psnr);
  }
  if (cap != 0 && !is_cut_ && !has_quality(p_))
    line += p_.wavelet == CJ2K_WAVELET_53
                ? "; no frame needs the cap: nothing is lost"
                : "; no frame needs the cap: a finer quant_step would use more of it";
  if (p_.verify) line += least_proof_ == 2 ? "; verified down to the samples" : "; verified";
  line += "; ms per " + picture + ":";
  for (int i = 0; i < CJ2K_NUM_STAGES; ++i)
    line += (i == 0 ? " " : ", ") + std::string(kStages[i]) + " " + number(stage_ms_[i] / count, 2);
  return line;
}

std::string Report::json(const cj2k_stats& stats) const {
  const int64_t cap = byte_cap(p_);
  const int n = p_.num_components;
  Json json;
  json.member("bytes", stats.bytes);
  json.member("cap", cap == 0 ? "null" : std::to_string(cap));
  json.member("header_bytes", stats.header_bytes);
  json.member("slope_threshold", stats.slope_threshold);
  json.member("verified", stats.verified);
  json.member("q", number(stats.q, 4));
  json.member("measured", p_.measure_mse ? "true" : "false");
  json.member("psnr", number(stats.psnr, 4));
  json.list("component_psnr", n, [&](int c) { return number(stats.component_psnr[c], 4); });
  json.list("mse", n, [&](int c) { return general(stats.mse[c]); });
  json.list("component_bytes", n, [&](int c) { return std::to_string(stats.component_bytes[c]); });
  json.member("passes_coded", stats.passes_coded);
  json.member("passes_included", stats.passes_included);
  json.member("passes_left", stats.passes_left);
  json.member("passes_resumed", stats.passes_resumed);
  json.member("bytes_coded", stats.bytes_coded);
  json.member("frame_in_gop", stats.frame_in_gop);
  Json ms;
  for (int i = 0; i < CJ2K_NUM_STAGES; ++i) ms.member(kStages[i], number(stats.stage_ms[i], 3));
  ms.member("saved", number(stats.saved_ms, 3));
  json.member("ms", ms.end());
  return json.end();
}

std::string json_error(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;  // messages are UTF-8 without control characters
  }
  Json json;
  json.member("error", quoted + '"');
  return json.end();
}

}  // namespace cj2k
