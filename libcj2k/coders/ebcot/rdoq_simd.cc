// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ with windows of significance in machine words: core/ebcot/rdoq_trial.h.
#include <algorithm>
#include <bit>
#include <cstring>

#include "coders/ebcot/rdoq.h"
#include "coders/ebcot/rdoq_maps.h"
#include "coders/ebcot/rdoq_model.h"
#include "coders/ebcot/rdoq_words.h"

namespace cj2k::simd {
namespace {

using namespace rdoq;
using namespace rdoq_maps;

class Rdoq {
 public:
  Rdoq(const RdoqBlock& block, RdoqScratch& z)
      : b_(block),
        z_(z),
        model_(rdoq::model_of(block, block.bit_planes)),
        pitch_((block.width + kChunk - 1) / kChunk * kChunkBytes + kMarginBytes),
        stripes_((block.height + 3) / 4),
        row_words_((block.width + 63) / 64),
        visible_((block.style & CJ2K_STYLE_VSC) != 0 ? ~kRowBelow : ~uint32_t{0}) {}

  void run(RdoqResult* result) {
    rdoq_words::load(b_, z_);
    *result = {};
    int planes = b_.bit_planes;
    bool changed = false;
    for (int round = 0; round < b_.rounds && planes > b_.plane; ++round) {
      if (!begin_round(planes, round == 0)) break;
      rdoq_words::set_targets(b_, model_, z_);
      rdoq_words::find_candidates(b_, model_, z_);
      if (round == 0 && b_.rounds > 1) std::fill_n(z_.changed, b_.height * row_words_, uint64_t{0});
      const bool any = visit_all(round == 0);
      planes = rdoq::count_planes(b_);
      changed |= any;
      if (!any) break;
    }
    result->bit_planes = planes;
    if (!changed) return;
    model_ = rdoq::model_of(b_, planes);
    rdoq::correct(
        b_, z_, model_, [&](int x, int y, int up) { return is_early(x, y, up); }, result);
  }

 private:
  /// The byte of `map` where column x - 2 of a stripe begins, and the bit in it.
  uint8_t* place(int map, int x, int stripe, int* shift) {
    const int bit = kColumnBits * (x - 2) + kLeftBits;
    *shift = bit & 7;
    return z_.maps[map] + (stripe + 1) * pitch_ + (bit >> 3);
  }
  /// The five columns around column x.
  uint32_t columns(int map, int x, int stripe) {
    int shift;
    const uint8_t* from = place(map, x, stripe, &shift);
    return static_cast<uint32_t>(load8(from) >> shift) & kAll;
  }
  uint32_t& sample(int x, int y) { return b_.samples[y * b_.stride + x]; }
  int32_t value(int x, int y) const { return z_.value[y * b_.width + x]; }
  bool is_negative(int x, int y) const { return z_.before[y * b_.width + x] >> 31 != 0; }
  int32_t target(int x, int y) const;
  bool is_early(int x, int y, int up) { return (columns(kEarly + up, x, y / 4) & centre(y)) != 0; }

  bool begin_round(int planes, bool is_first);
  void fill_maps();
  void fill_map(int map);
  void set_costs(const rdoq::Costs& costs);
  void replace(int map, int x, int stripe, uint32_t mask, uint32_t bits);
  void set_sample(int x, int y, uint32_t m);
  Window window(int up, int x, int stripe);

  void add_errors(int up, rdoq::PassCounts& counts);

  bool visit_all(bool is_first);
  bool visit(const Trials& trials, int x, int y);
  void note_change(int x, int y);
  bool try_change(const Trials& trials, int x, int y, int32_t target, uint32_t m);
  void keep(int x, const Region& region, const Outcome& found);

  struct At;

  RdoqBlock b_;
  RdoqScratch& z_;
  Model model_;
  Costs costs_;
  const int pitch_, stripes_, row_words_;
  const uint32_t visible_;  ///< what the contexts of a window see: not the row below with VSC
};

/// Replaces the bits of `mask` in a map, also where they stand in the stripes beside their own.
/// @param mask, bits  of a window around column x, rows 0 .. 3
void Rdoq::replace(int map, int x, int stripe, uint32_t mask, uint32_t bits) {
  int shift;
  uint8_t* own = place(map, x, stripe, &shift);
  const auto put = [shift](uint8_t* to, uint64_t clear, uint64_t set) {
    store8(to, (load8(to) & ~(clear << shift)) | set << shift);
  };
  put(own, mask, bits);
  constexpr uint32_t kTop = kRowAbove << 1, kBottom = kRowAbove << 4;
  if ((mask & kTop) != 0) put(own - pitch_, uint64_t{mask & kTop} << 4, uint64_t{bits & kTop} << 4);
  if ((mask & kBottom) != 0) put(own + pitch_, (mask & kBottom) >> 4, (bits & kBottom) >> 4);
}

int32_t Rdoq::target(int x, int y) const {
  const int16_t* error = rdoq_words::errors_of(b_, z_, y) + x;
  const int pitch = b_.width + 4;
  return target_of(b_.overlaps, value(x, y), is_negative(x, y), [&](int dx, int dy) {
    return y + dy < 0 || y + dy >= b_.height ? 0 : int32_t{error[dx + dy * pitch]};
  });
}

void Rdoq::set_sample(int x, int y, uint32_t m) {
  const uint32_t old = sample(x, y) & kMagnitude;
  sample(x, y) = m == 0 ? 0 : m | (z_.before[y * b_.width + x] & ~kMagnitude);
  rdoq_words::errors_of(b_, z_, y)[x] =
      static_cast<int16_t>(model_.error(value(x, y), m, is_negative(x, y)));
  const uint32_t bit = centre(y);
  for (int up = 0; up < model_.tracked; ++up) {
    if (((old ^ m) >> (b_.plane + up) & 1) != 0)
      replace(kOne + up, x, y / 4, bit, (m >> (b_.plane + up) & 1) != 0 ? bit : 0);
  }
  for (int up = 0; up < model_.tracked + 2; ++up) {
    const bool was = old >> (b_.plane + up) != 0, is = m >> (b_.plane + up) != 0;
    if (was != is) replace(kReached + up, x, y / 4, bit, is ? bit : 0);
  }
}

/// Makes a map of its words.
void Rdoq::fill_map(int map) {
  const rdoq_words::Words words(b_);
  const uint64_t* from = rdoq_words::mask_of(z_, map);
  const auto bytes = static_cast<size_t>((stripes_ + 2) * pitch_) + sizeof(uint64_t);
  std::memset(z_.maps[map], 0, bytes);
  constexpr uint64_t kTop = 0x82082082082, kBottom = kTop << 3;
  for (int stripe = 0; stripe < stripes_; ++stripe) {
    uint8_t* to = z_.maps[map] + (stripe + 1) * pitch_ + kLeftBits / 8;
    for (int i = 0; i < words.wide; ++i) {
      uint64_t left = from[words.at(i, stripe)];
      for (uint8_t* at = to + 2 * i * kChunkBytes; left != 0; left >>= 32, at += kChunkBytes) {
        const uint64_t bits = spread_columns(static_cast<uint32_t>(left));
        store8(at, load8(at) | bits);
        store8(at - pitch_, load8(at - pitch_) | (bits & kTop) << 4);
        store8(at + pitch_, load8(at + pitch_) | (bits & kBottom) >> 4);
      }
    }
  }
}

void Rdoq::fill_maps() {
  fill_map(kSign);
  for (int up = 0; up < model_.tracked; ++up) {
    fill_map(kOne + up);
    fill_map(kEarly + up);
  }
  for (int up = 0; up < model_.tracked + 2; ++up) fill_map(kReached + up);
}

/// @return whether the block may pay
bool Rdoq::begin_round(int planes, bool is_first) {
  if (!is_first && planes == model_.planes) return true;
  model_ = rdoq::model_of(b_, planes);
  rdoq::PassCounts counts[kTrackedPlanes] = {};
  rdoq_words::count(b_, model_, z_, counts);
  const rdoq::Costs costs = rdoq::costs_of(counts);
  if (is_first && rdoq::may_ask(model_)) {
    for (int up = 0; up < model_.tracked; ++up) add_errors(up, counts[up]);
    if (!rdoq::may_pay(model_, costs, counts)) return false;
  }
  fill_maps();
  set_costs(costs);
  return true;
}

/// Adds the changes of D in one plane.
void Rdoq::add_errors(int up, rdoq::PassCounts& counts) {
  const rdoq_words::Words words(b_);
  const uint64_t* early = rdoq_words::mask_of(z_, kEarly + up);
  const uint64_t* reached = rdoq_words::mask_of(z_, kReached + up);
  const uint64_t* higher = rdoq_words::mask_of(z_, kReached + up + 1);
  for (int stripe = 0; stripe < stripes_; ++stripe) {
    for (int i = 0; i < words.wide; ++i) {
      const int word = words.at(i, stripe);
      for (uint64_t left = reached[word]; left != 0; left &= left - 1) {
        const int bit = std::countr_zero(left);
        const int x = rdoq_words::kWordColumns * i + bit / 4, y = 4 * stripe + bit % 4;
        if ((higher[word] >> bit & 1) != 0)
          counts.error[1] += model_.refined(value(x, y), sample(x, y) & kMagnitude, up);
        else
          counts.error[(early[word] >> bit & 1) != 0 ? 0 : 2] +=
              model_.significant(value(x, y), up);
      }
    }
  }
}

void Rdoq::set_costs(const rdoq::Costs& costs) {
  costs_ = costs;
  // Both bits at once.
  uint32_t pairs[mq::kNumContexts], swapped[mq::kNumContexts];
  for (unsigned c = 0; c < mq::kNumContexts; ++c) {
    pairs[c] = cost_pair(costs.bits[c], 0);
    swapped[c] = cost_pair(costs.bits[c], 1);
  }
  const uint8_t* labels = kLabels.zero[b_.orientation];
  for (unsigned w = 0; w < 512; ++w) z_.zero_cost[w] = pairs[labels[w & kNeighbours]];
  for (unsigned w = 0; w < 256; ++w) {
    const uint8_t label = kLabels.sign[w];
    z_.sign_cost[w] = ((label & 1) != 0 ? swapped : pairs)[label >> 1];
  }
}

/// Five columns around column x.
Window Rdoq::window(int up, int x, int stripe) {
  Window w;
  w.higher = columns(kReached + up + 1, x, stripe);
  w.now = columns(kReached + up, x, stripe) & ~w.higher;
  w.early = columns(kEarly + up, x, stripe);
  w.sign = columns(kSign, x, stripe);
  w.second = w.higher & ~columns(kReached + up + 2, x, stripe);
  w.one = columns(kOne + up, x, stripe);
  return w;
}

/// Where a trial is.
struct Rdoq::At {
  Rdoq& r;
  const int x, y, first;  ///< first: stripe of the region
  const int32_t target;

  Window window(int up, int i) const { return r.window(up, x, first + i); }
  Window own_window(int up) const { return r.window(up, x, y / 4); }
  uint32_t reached(int up) const { return r.columns(kReached + up, x, y / 4); }
  int32_t value(int column, int row) const {
    return column == x && row == y ? target : r.value(column, row);
  }
};

void Rdoq::keep(int x, const Region& region, const Outcome& found) {
  for (int up = 0; up < found.planes; ++up) {
    for (int i = 0; i < region.count; ++i)
      replace(kEarly + up, x, region.first + i, region.near[i], early_of(found, region, up, i));
  }
}

/// Changes the magnitude of a sample to m if that lowers J. @return whether it does
bool Rdoq::try_change(const Trials& trials, int x, int y, int32_t target, uint32_t m) {
  Region region{};  // set by a trial
  const Outcome found = trials.try_change(At{*this, x, y, std::max(y - 1, 0) / 4, target}, x, y,
                                          sample(x, y) & kMagnitude, m, &region);
  if (!found.is_better) return false;
  set_sample(x, y, m);
  keep(x, region, found);
  return true;
}

void Rdoq::note_change(int x, int y) {
  const int first = std::max(x - 1, 0), last = std::min(x + 1, b_.width - 1);
  for (int j = std::max(y - 1, 0); j <= std::min(y + 1, b_.height - 1); ++j) {
    for (int i = first; i <= last; ++i)
      z_.changed[j * row_words_ + i / 64] |= uint64_t{1} << i % 64;
  }
}

bool Rdoq::visit(const Trials& trials, int x, int y) {
  const int32_t now = target(x, y);
  bool any = false;
  for (int up = 0; up < model_.num_shifts(); ++up) {
    const uint32_t m = sample(x, y) & kMagnitude;
    const uint32_t other = model_.changed(now, m, up);
    if (other == m || !try_change(trials, x, y, now, other)) continue;
    if (b_.rounds > 1) note_change(x, y);
    any = true;
  }
  return any;
}

/// After the first round, samples whose neighbours and own value have not changed are left alone.
bool Rdoq::visit_all(bool is_first) {
  constexpr uint64_t kFourth = 0x1111111111111111;  // every fourth column
  const Trials trials(model_, {&costs_, z_.zero_cost, z_.sign_cost}, visible_, b_.width, b_.height,
                      b_.rounds, is_first);
  bool any = false;
  for (int group = 0; group < kRdoqRows * kRdoqColumns; ++group) {
    for (int y = group / kRdoqColumns; y < b_.height; y += kRdoqRows) {
      for (int i = 0; i < row_words_; ++i) {
        const int word = y * row_words_ + i;
        uint64_t left = z_.candidates[word] & kFourth << group % kRdoqColumns;
        if (!is_first) left &= z_.changed[word];
        if (b_.rounds > 1) z_.changed[word] &= ~left;
        for (; left != 0; left &= left - 1)
          any |= visit(trials, 64 * i + std::countr_zero(left), y);
      }
    }
  }
  return any;
}

}  // namespace

void rdoq_block(const RdoqBlock& block, RdoqScratch& scratch, RdoqResult* result) {
  Rdoq(block, scratch).run(result);
}

}  // namespace cj2k::simd
