// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "film/allocate.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <vector>

#include "core/slope.h"
#include "film/curve.h"

namespace cj2k {
namespace {

/// Sums of caps, and their products with what is left over, need more than 64 bits.
__extension__ using Wide = __int128;

constexpr int64_t kMostTotal = int64_t{1} << 50;
constexpr size_t kMostFrames = size_t{1} << 24;
constexpr double kMostPower = 8;
/// Levels at which frames are cut are in 256ths of a log-slope step.
constexpr int kLevelsPerStep = 256;

/// A frame as the allocation sees it: bytes over the level at which all frames are cut.
struct FilmFrame {
  const cj2k_curve* curve;
  int64_t floor, cap;
  /// [i] level at which the frame is cut at point i of its curve: the slope at which its error^power
  /// falls per byte. Rising.
  std::array<int64_t, CJ2K_CURVE_POINTS> levels;
};

void set_levels(double power, FilmFrame& frame) {
  for (int i = 0; i < CJ2K_CURVE_POINTS; ++i) {
    // A frame without error weighs as one that has hardly any.
    const double error = std::max<double>(frame.curve->error[i], 1e-6);
    const double level = curve_slope(i) + (power - 1) * (log_slope(error, 1) - kSlopeUnit);
    frame.levels[static_cast<size_t>(i)] = static_cast<int64_t>(level * kLevelsPerStep);
  }
}

/// Bytes of a frame where all are cut at a level; between points of its curve on a straight line.
int64_t bytes_at(const FilmFrame& frame, int64_t level) {
  const auto above = std::upper_bound(frame.levels.begin(), frame.levels.end(), level);
  const auto i = static_cast<size_t>(above - frame.levels.begin());
  const uint32_t* const bytes = frame.curve->bytes;
  int64_t value = bytes[i == 0 ? 0 : i - 1];
  if (i > 0 && i < frame.levels.size()) {
    const int64_t below = frame.levels[i - 1];
    const int64_t fall = int64_t{bytes[i - 1]} - bytes[i];
    value -= fall * (level - below) / (frame.levels[i] - below);
  }
  return std::clamp(value, frame.floor, frame.cap);
}

/// The level below all levels, where each frame has its cap, is `lowest` - 1; above `highest` each has
/// its floor.
struct Film {
  std::vector<FilmFrame> frames;
  int64_t lowest = INT64_MAX, highest = INT64_MIN;

  void add(const FilmFrame& frame) {
    lowest = std::min(lowest, frame.levels.front());
    highest = std::max(highest, frame.levels.back());
    frames.push_back(frame);
  }
  int64_t bytes(size_t f, int64_t level) const {
    if (level < lowest) return frames[f].cap;
    return level > highest ? frames[f].floor : bytes_at(frames[f], level);
  }
  Wide sum(int64_t level) const {
    Wide all = 0;
    for (size_t f = 0; f < frames.size(); ++f) all += bytes(f, level);
    return all;
  }
  /// The lowest level whose sum is within `total`.
  int64_t level_for(int64_t total) const {
    int64_t low = lowest - 1, high = highest + 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (sum(middle) <= total)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
};

Status check_film(const cj2k_film& film, size_t frames, const Log& log) {
  if (frames == 0 || frames > kMostFrames)
    return log.fail(Status::kInvalid, "film: %zu frames, not in [1, %zu]", frames, kMostFrames);
  if (film.total_bytes < 1 || film.total_bytes > kMostTotal) {
    return log.fail(Status::kInvalid, "film: total_bytes %" PRId64 " not in [1, %" PRId64 "]",
                    film.total_bytes, kMostTotal);
  }
  if (film.max_frame_bytes < 0 || film.min_frame_bytes < 0) {
    return log.fail(Status::kInvalid,
                    "film: max_frame_bytes %" PRId64 " and min_frame_bytes %" PRId64
                    " must not be negative",
                    film.max_frame_bytes, film.min_frame_bytes);
  }
  if (!(film.power == 0 || (film.power >= 1 && film.power <= kMostPower))) {
    return log.fail(Status::kInvalid, "film: power %g not in [1, %g]", film.power, kMostPower);
  }
  return Status::kOk;
}

/// The least of the caps and the largest of the floors of a frame.
Status set_bounds(const cj2k_film& film, int64_t cap, int64_t floor, size_t number, const Log& log,
                  FilmFrame* frame) {
  if (cap < 0 || floor < 0) {
    return log.fail(Status::kInvalid,
                    "film: frame %zu: cap %" PRId64 " and floor %" PRId64 " must not be negative",
                    number, cap, floor);
  }
  // More than the total is none.
  frame->cap = film.total_bytes;
  for (const int64_t other : {film.max_frame_bytes, cap})
    if (other > 0) frame->cap = std::min(frame->cap, other);
  frame->floor =
      std::max({film.min_frame_bytes, floor, int64_t{frame->curve->bytes[CJ2K_CURVE_POINTS - 1]}});
  frame->floor = std::min(frame->floor, film.total_bytes + 1);
  if (frame->floor > frame->cap && film.total_bytes > frame->cap) {
    return log.fail(Status::kInvalid,
                    "film: frame %zu: its floor of %" PRId64 " bytes is above its cap, %" PRId64,
                    number, frame->floor, frame->cap);
  }
  return Status::kOk;
}

/// Gives the frames their bytes at the level for `total`. What is left over is spread over what they
/// take one level further down.
void spread(const Film& film, int64_t total, std::span<int64_t> targets) {
  const int64_t level = film.level_for(total);
  const Wide left = total - film.sum(level);
  const Wide room = left > 0 ? film.sum(level - 1) - film.sum(level) : 1;
  Wide passed = 0, given = 0;
  for (size_t f = 0; f < targets.size(); ++f) {
    targets[f] = film.bytes(f, level);
    if (left == 0) continue;
    passed += film.bytes(f, level - 1) - targets[f];
    const Wide share = passed * left / room;
    targets[f] += static_cast<int64_t>(share - given);
    given = share;
  }
}

/// Bytes of `frames` frames at the mean rate.
int64_t allowed(const Lookahead& film, int64_t frames) {
  return bytes_at_rate(film.bits_per_second, film.frame_rate_num, film.frame_rate_den, frames);
}

}  // namespace

int64_t bytes_at_rate(int64_t bits_per_second, int64_t rate_num, int64_t rate_den, int64_t frames) {
  const Wide bytes = Wide{bits_per_second} * rate_den * frames / (Wide{8} * rate_num);
  return static_cast<int64_t>(std::min<Wide>(bytes, INT64_MAX));
}

Status check_curve(const cj2k_curve& curve, size_t frame, const Log& log) {
  for (int i = 0; i < CJ2K_CURVE_POINTS; ++i) {
    const bool is_error = curve.error[i] >= 0 && curve.error[i] < 1e30F;
    const bool goes_on =
        i == 0 || (curve.bytes[i] <= curve.bytes[i - 1] && curve.error[i] >= curve.error[i - 1]);
    if (is_error && goes_on) continue;
    return log.fail(Status::kInvalid,
                    "film: frame %zu: point %d of its curve (%" PRIu32
                    " bytes, error %g) cannot be",
                    frame, i, curve.bytes[i], static_cast<double>(curve.error[i]));
  }
  return Status::kOk;
}

Status allocate_film(const cj2k_film& asked, std::span<const cj2k_curve> curves,
                     std::span<const int64_t> caps, std::span<const int64_t> floors, const Log& log,
                     std::span<int64_t> targets) {
  CJ2K_TRY(check_film(asked, curves.size(), log));
  const double power = asked.power == 0 ? 1 : asked.power;
  Film film;
  film.frames.reserve(curves.size());
  int64_t least = 0, most = 0;
  for (size_t f = 0; f < curves.size(); ++f) {
    FilmFrame frame{&curves[f], 0, 0, {}};
    CJ2K_TRY(check_curve(curves[f], f, log));
    CJ2K_TRY(set_bounds(asked, caps.empty() ? 0 : caps[f], floors.empty() ? 0 : floors[f], f, log,
                        &frame));
    set_levels(power, frame);
    film.add(frame);
    least = std::min(least + frame.floor, kMostTotal + 1);
    most = std::min(most + std::min(frame.cap, asked.total_bytes), asked.total_bytes);
  }
  if (least > asked.total_bytes) {
    return log.fail(Status::kInvalid,
                    "film: total_bytes %" PRId64 " is below what %zu frames need, %" PRId64,
                    asked.total_bytes, curves.size(), least);
  }
  spread(film, most, targets);
  return Status::kOk;
}

Status next_target(std::span<const cj2k_curve> curves, size_t before, const Log& log,
                   Lookahead* state, int64_t* target) {
  const Lookahead& film = *state;
  const int64_t mean = allowed(film, film.frames + 1) - allowed(film, film.frames);
  const int64_t available = film.saved_bytes + mean;
  if (film.min_frame_bytes > mean) {
    return log.fail(Status::kInvalid,
                    "film: min_frame_bytes %" PRId64 " is above the mean of a frame, %" PRId64,
                    film.min_frame_bytes, mean);
  }
  Film all, ahead;
  all.frames.reserve(curves.size());
  ahead.frames.reserve(curves.size() - before);
  for (size_t f = 0; f < curves.size(); ++f) {
    FilmFrame frame{
        &curves[f], 0, film.max_frame_bytes != 0 ? film.max_frame_bytes : kMostTotal, {}};
    // The last point of a curve is that of the headers, or still a picture where it is of 16 bits.
    const int64_t last = curves[f].bytes[CJ2K_CURVE_POINTS - 1];
    frame.floor = std::max(film.min_frame_bytes, std::min({last, frame.cap, mean}));
    set_levels(1, frame);
    all.add(frame);
    if (f >= before) ahead.add(frame);
  }
  const FilmFrame& frame = ahead.frames[0];
  // All frames that are seen have the mean at one slope. That is where this one is cut, unless the frames
  // ahead would then take more than there is, or less than their mean: for frames that nobody has seen
  // nothing is saved but what others cannot use.
  const int64_t of_ahead = allowed(film, film.frames + static_cast<int64_t>(ahead.frames.size())) -
                           allowed(film, film.frames);
  const int64_t usual = all.level_for(allowed(film, static_cast<int64_t>(curves.size())));
  const int64_t lowest = ahead.level_for(of_ahead + film.saved_bytes);
  const int64_t highest = ahead.level_for(of_ahead);
  const int64_t level = film.ended != 0 ? lowest : std::clamp(usual, lowest, highest);
  const int64_t most = std::min({available, frame.cap, int64_t{frame.curve->bytes[0]}});
  // What the reservoir cannot take is spent where it can be.
  const int64_t surplus = available - film.reservoir_bytes;
  *target = std::max(std::clamp(ahead.bytes(0, level), std::min(surplus, most), most), frame.floor);
  state->saved_bytes = std::min(available - *target, film.reservoir_bytes);
  ++state->frames;
  return Status::kOk;
}

}  // namespace cj2k
