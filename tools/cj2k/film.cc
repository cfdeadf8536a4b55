// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "film.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "failure.h"
#include "session.h"

namespace cj2k_tool {
namespace {

/// The cap of a frame over the mean, unless another is given or the profile has one.
constexpr int64_t kMostOverMean = 2;

const char* option_name(const Options& options) {
  return options.film_bytes != 0 ? "--film-bytes" : "--film-rate";
}

}  // namespace

bool is_film(const Options& options) { return options.film_bytes != 0 || options.film_rate != 0; }

void check_film_options(const Options& options) {
  if (!is_film(options)) {
    if (!options.film_log.empty() || options.film_power != 0)
      throw UsageError(std::string(options.film_power != 0 ? "--film-power" : "--film-log") +
                       " needs --film-bytes or --film-rate");
    return;
  }
  const std::string name = option_name(options);
  if (options.film_bytes != 0 && options.film_rate != 0)
    throw UsageError("--film-bytes with --film-rate: one of them is the budget");
  if (options.skip_existing)
    throw UsageError(name + " with --skip-existing: the budget is of all frames");
  if (options.bitrate != 0) throw UsageError(name + " with --bitrate: one of them is the rate");
  for (const char* other : {"target_bytes", "lossless", "quality", "qfactor", "layer_rates"}) {
    const std::string* value = options.param(other);
    if (value != nullptr && *value != "0")
      throw UsageError(name + " with --" + other + " " + *value + ": one of them is the rate");
  }
}

int64_t film_bytes(const Options& options, size_t num_frames) {
  if (options.film_bytes != 0) return options.film_bytes;
  cj2k_params p;
  cj2k_params_init(&p, sizeof p);
  const std::string* rate = options.param("frame_rate");
  if (rate == nullptr || cj2k_params_set(&p, "frame_rate", rate->c_str()) != CJ2K_OK ||
      p.frame_rate_num == 0)
    throw UsageError("--film-rate needs --fps");
  return static_cast<int64_t>(std::floor(static_cast<long double>(options.film_rate) *
                                         static_cast<long double>(num_frames) * p.frame_rate_den /
                                         8 / p.frame_rate_num));
}

Options film_options(const Options& options, size_t num_frames, cj2k_params like) {
  Options out = options;
  const std::string* asked = options.param("max_frame_bytes");
  if (asked != nullptr && *asked != "0") return out;
  const auto frames = static_cast<int64_t>(num_frames);
  const int64_t mean = (film_bytes(options, num_frames) + frames - 1) / frames;
  cj2k_info info = {};
  info.struct_size = sizeof info;
  like.log = nullptr;  // what is wrong, open will say
  (void)cj2k_params_info(&like, &info);
  const int64_t cap = info.most_frame_bytes != 0 ? info.most_frame_bytes : kMostOverMean * mean;
  out.params.emplace_back("max_frame_bytes", std::to_string(cap));
  return out;
}

bool read_log(const std::string& name, const cj2k_params& p, size_t num_frames, Film& film) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr && errno == ENOENT) return false;
  if (file == nullptr) throw Failure(name + ": " + std::strerror(errno));
  // One byte more than the log of this film tells a longer one.
  std::vector<uint8_t> bytes(cj2k_film_log_size(num_frames) + 1);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) throw Failure(name + ": " + std::strerror(errno));
  film.curves.resize(num_frames);
  size_t frames = num_frames;
  if (cj2k_film_log_read(&p, bytes.data(), bytes.size(), film.curves.data(), &frames) != CJ2K_OK)
    throw Failure(name + ": " + cj2k_encoder_last_error(nullptr));
  if (frames != num_frames)
    throw Failure(name + ": it has " + std::to_string(frames) + " frames, and the film " +
                  std::to_string(num_frames));
  return true;
}

void write_log(const std::string& name, const cj2k_params& p, const Film& film) {
  std::vector<uint8_t> bytes(cj2k_film_log_size(film.curves.size()));
  if (cj2k_film_log_write(&p, film.curves.data(), film.curves.size(), bytes.data()) != CJ2K_OK)
    throw Failure(name + ": " + cj2k_encoder_last_error(nullptr));
  write_file(name, bytes.data(), bytes.size());
}

int64_t allocate(const Options& options, const cj2k_params& p, Film& film) {
  cj2k_film budget = {};
  budget.struct_size = sizeof budget;
  budget.total_bytes = film_bytes(options, film.curves.size());
  budget.max_frame_bytes = p.max_frame_bytes;
  budget.min_frame_bytes = p.min_frame_bytes;
  budget.power = options.film_power;
  std::vector<int64_t> targets(film.curves.size());
  if (cj2k_film_allocate(&budget, film.curves.data(), film.curves.size(), nullptr, nullptr,
                         targets.data()) != CJ2K_OK)
    throw UsageError(std::string(option_name(options)) + ": " + cj2k_encoder_last_error(nullptr));
  film.targets = std::move(targets);
  return std::accumulate(film.targets.begin(), film.targets.end(), int64_t{0});
}

}  // namespace cj2k_tool
