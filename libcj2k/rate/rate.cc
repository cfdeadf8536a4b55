// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "rate/rate.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "base/parallel.h"
#include "packets/packet_writer.h"

namespace cj2k {
namespace {

/// Precincts per task: a precinct of the lowest resolutions takes well under a microsecond.
constexpr size_t kPrecinctGrain = 8;
/// With fewer precincts each one is a task: the largest have thousands of blocks.
constexpr size_t kManyPrecincts = 256;
/// Blocks per task.
constexpr size_t kBlockGrain = 4096;
std::vector<PrecinctBytes> measure_empty(const Plan& plan) {
  const std::vector<CodedBlock> blocks(plan.blocks.size());
  const std::vector<uint8_t> points(plan.blocks.size(), 0);
  const uint32_t layers = static_cast<uint32_t>(plan.params.layers);
  const std::vector<uint16_t> slopes(layers - 1, kMaxSlope);
  const Selection selection{blocks.data(), points.data(), slopes.data(), layers};
  PacketScratch scratch(plan);
  std::vector<PrecinctBytes> bytes;
  bytes.reserve(plan.precincts.size());
  for (uint32_t p = 0; p < plan.precincts.size(); ++p)
    bytes.push_back(measure_precinct(plan, selection, p, scratch));
  return bytes;
}

/// Whether blocks have CodedBlock::cuts.
bool has_layer_cuts(const Plan& plan) {
  return plan.params.coder == CJ2K_CODER_HT && plan.params.layers > 1;
}

}  // namespace

SmallestBytes smallest_bytes(const Plan& plan) {
  std::array<uint64_t, CJ2K_MAX_COMPONENTS> components{};
  for (uint32_t c = 0; c < plan.components.size(); ++c)
    components[c] = component_fixed_bytes(plan, c);
  uint64_t frame = fixed_bytes(plan);
  const std::vector<PrecinctBytes> bytes = measure_empty(plan);
  for (size_t p = 0; p < bytes.size(); ++p) {
    frame += bytes[p].header + bytes[p].body;
    components[plan.precincts[p].component] += bytes[p].header + bytes[p].body;
  }
  return {frame, *std::max_element(components.begin(), components.end())};
}

RateControl::RateControl(const Plan& plan, std::vector<PacketScratch>& scratch)
    : plan_(plan),
      one_layer_(plan.params.layers == 1),
      scratch_(scratch),
      fixed_bytes_(fixed_bytes(plan)),
      limits_(rate_limits(plan, plan.params)),
      histogram_(plan.components.size()),
      layer_histogram_(has_layer_cuts(plan) ? plan.components.size() : 0),
      limit_(plan.blocks.size()),
      final_points_(plan.blocks.size()),
      cuts_(plan.blocks.size()),
      contributions_(one_layer_ ? plan.blocks.size() : 0),
      layer_slopes_(static_cast<size_t>(plan.params.layers - 1)),
      precincts_(plan.precincts.size()),
      precinct_bytes_(plan.precincts.size()) {
  candidates_.reserve(4 * plan.blocks.size());
  candidate_bits_.reserve(4 * plan.blocks.size() + 1);
  selection_ = {nullptr, final_points_.data(), layer_slopes_.data(),
                static_cast<uint32_t>(plan.params.layers)};
  if (one_layer_) selection_.contributions = contributions_.data();
}

uint64_t RateControl::component_bytes(uint32_t component) const {
  return measured_bytes({component, component + 1, 0, 0});
}

uint64_t RateControl::body_bytes() const {
  return measured_body({0, static_cast<uint32_t>(plan_.components.size()), 0, 0});
}

uint64_t RateControl::frame_bytes() const {
  return measured_bytes({0, static_cast<uint32_t>(plan_.components.size()), 0, fixed_bytes_});
}

uint64_t RateControl::measured_body(const Scope& scope) const {
  uint64_t total = 0;
  for (size_t p = 0; p < precinct_bytes_.size(); ++p) {
    if (scope.has(plan_.precincts[p].component)) total += precinct_bytes_[p].body;
  }
  return total;
}

uint64_t RateControl::measured_bytes(const Scope& scope) const {
  uint64_t total = scope.fixed;
  for (size_t p = 0; p < precinct_bytes_.size(); ++p) {
    if (scope.has(plan_.precincts[p].component))
      total += precinct_bytes_[p].header + precinct_bytes_[p].body;
  }
  return total;
}

/// The bytes of the scope that are not code-block data, with one layer. After a measurement, what
/// has changed since then is added.
uint64_t RateControl::estimated_overhead(const Scope& scope) const {
  int64_t bits = 0;
  for (size_t p = 0; p < precincts_.size(); ++p) {
    if (!scope.has(plan_.precincts[p].component)) continue;
    bits += static_cast<int64_t>(8 * precinct_bytes_[p].header) + precincts_[p].header_bits -
            precincts_[p].measured_bits;
  }
  return scope.fixed + static_cast<uint64_t>(std::max<int64_t>(0, bits)) / 8;
}

/// Takes all points away, and forgets all measurements.
void RateControl::clear_selection() {
  std::fill(final_points_.begin(), final_points_.end(), uint8_t{0});
  std::fill(cuts_.begin(), cuts_.end(), Cut{});
  std::fill(contributions_.begin(), contributions_.end(), Contribution{});
  std::fill(precincts_.begin(), precincts_.end(), PrecinctState{});
  std::fill(precinct_bytes_.begin(), precinct_bytes_.end(), PrecinctBytes{1, 0});
}

/// @param precinct  that of the block
void RateControl::set_points(uint32_t block, PrecinctState& precinct, uint8_t points) {
  const HullPoint* const hull = blocks_[block].hull;
  cuts_[block] = {points > 0 ? hull[points - 1].slope : kMaxSlope,
                  points < limit_[block] ? hull[points].slope : uint16_t{0}};
  if (final_points_[block] == points) return;
  final_points_[block] = points;
  precinct.is_changed = true;
  if (!one_layer_) return;
  Contribution& now = contributions_[block];
  const Contribution before = now;
  now = contribution_of(blocks_[block], points);
  precinct.body += uint64_t{now.bytes} - before.bytes;
  precinct.header_bits +=
      int{now.bits} - int{before.bits} + kTreeBits * (int{now.bits > 0} - int{before.bits > 0});
}

/// Calls work(precinct) for all precincts of the scope, in parallel.
template <typename Work>
void RateControl::for_precincts(const Scope& scope, const Work& work) const {
  const size_t grain = plan_.precincts.size() > kManyPrecincts ? kPrecinctGrain : 1;
  parallel_for(plan_.precincts.size(), grain, [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      if (scope.has(plan_.precincts[p].component)) work(static_cast<uint32_t>(p));
    }
  });
}

void RateControl::allocate(const CodedBlock* blocks) {
  blocks_ = blocks;
  selection_.blocks = blocks;
  const uint64_t component_cap = limits_.component_bytes;
  std::array<uint64_t, CJ2K_MAX_COMPONENTS> caps;
  caps.fill(component_cap);
  if (component_cap == kNoTarget) {
    allocate_under(caps);
    return;
  }
  // The choice for the frame moves the layer thresholds. This changes the headers of a component by
  // a few bytes and may put it over its cap; then the allocation is repeated with that much less
  // for it. With one layer the frame's choice only takes points away, but this can make a header
  // longer too: a raw segment that is cut from two passes to one may need a larger Lblock, and so
  // longer length fields for all segments of the block (B.10.7.1).
  constexpr int kTries = 6;
  constexpr uint64_t kSpareBytes = 8;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    allocate_under(caps);
    bool over = false;
    for (uint32_t c = 0; c < plan_.components.size(); ++c) {
      const uint64_t bytes = measured_bytes({c, c + 1, 0, component_fixed_bytes(plan_, c)});
      if (bytes <= component_cap) continue;
      over = true;
      const uint64_t less = (bytes - component_cap + kSpareBytes) << attempt;
      caps[c] -= std::min(caps[c], less);
    }
    if (!over) return;
  }
  // Headers alone are never over the cap (checked at open), so a component without code-block data
  // always fits.
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const Scope scope{c, c + 1, component_cap, component_fixed_bytes(plan_, c)};
    if (measured_bytes(scope) > component_cap) select(scope, kAboveAllSlopes);
  }
  measure({0, static_cast<uint32_t>(plan_.components.size()), 0, 0});
}

void RateControl::allocate_under(const std::array<uint64_t, CJ2K_MAX_COMPONENTS>& component_caps) {
  const uint32_t num_components = static_cast<uint32_t>(plan_.components.size());
  parallel_for(plan_.blocks.size(), kBlockGrain, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      uint8_t n = blocks_[b].num_hull;
      while (n > 0 && blocks_[b].hull[n - 1].slope < limits_.slope) --n;
      limit_[b] = n;
    }
  });
  fill_histogram();
  clear_selection();
  exhausted_.fill(limits_.slope);
  RateSearch<RateControl> search(*this);
  bool fits = false;  // what the components may take, with one layer
  const Scope frame{0, num_components, limits_.frame_bytes, fixed_bytes_};
  if (component_caps[0] != kNoTarget) {
    for (uint32_t c = 0; c < num_components; ++c) {
      const uint16_t slope =
          search.fill({c, c + 1, component_caps[c], component_fixed_bytes(plan_, c)});
      exhausted_[c] = std::max(exhausted_[c], slope);
    }
    limit_ = final_points_;
    for (Cut& cut : cuts_) cut.next = 0;
    fits = one_layer_ && measured_bytes(frame) <= frame.cap;
    if (!fits) fill_histogram();
  }
  const uint16_t frame_slope = fits ? uint16_t{0} : search.fill(frame);
  for (uint32_t c = 0; c < num_components; ++c)
    exhausted_[c] = std::max(exhausted_[c], frame_slope);
  threshold_ = *std::min_element(exhausted_.begin(), exhausted_.begin() + num_components);
}

bool RateControl::has_cap() const {
  return limits_.frame_bytes != kNoTarget || limits_.component_bytes != kNoTarget;
}

bool RateControl::has_limit() const {
  return !plan_.params.lossless && (has_cap() || limits_.slope > 0);
}

uint16_t RateControl::unused_cap_steps() const {
  if (!has_cap()) return 0;
  const uint64_t bytes = frame_bytes();
  uint64_t cap = limits_.frame_bytes;
  if (cap == kNoTarget) cap = limits_.component_bytes * plan_.components.size();
  return unused_steps(cap, bytes);
}

ByteTargets RateControl::prediction_targets() const {
  ByteTargets targets{body_target(limits_.frame_bytes, fixed_bytes_), {}, limits_.slope};
  for (uint32_t c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    targets.component[c] =
        c < plan_.components.size()
            ? body_target(limits_.component_bytes, component_fixed_bytes(plan_, c))
            : kNoTarget;
  }
  return targets;
}

ByteTargets RateControl::caps() const {
  ByteTargets targets{limits_.frame_bytes, {}, 0};
  std::fill(std::begin(targets.component), std::end(targets.component), limits_.component_bytes);
  return targets;
}

/// Fills the histogram with all points within limit_.
void RateControl::fill_histogram() {
  histogram_.clear();
  for (uint32_t b = 0; b < plan_.blocks.size(); ++b)
    histogram_.add(plan_.blocks[b].component, blocks_[b], limit_[b], 1);
  histogram_.sum();
}

uint64_t RateControl::histogram_bytes(const Scope& scope, uint32_t slope) const {
  return histogram_.bytes_at_least(scope.first_component, scope.end_component, slope);
}

/// @return the lowest slope at which the segments of the scope take at most `bytes`
uint32_t RateControl::slope_for(const Scope& scope, uint64_t bytes) const {
  return histogram_.lowest_slope(scope.first_component, scope.end_component, bytes);
}

/// Selects the points of the scope at `slope` and above.
void RateControl::select(const Scope& scope, uint32_t slope) {
  for_precincts(scope, [&](uint32_t p) {
    const uint32_t first = plan_.precincts[p].first_block;
    for (uint32_t b = first; b < first + plan_.precincts[p].num_blocks; ++b) {
      if (slope <= cuts_[b].last && slope > cuts_[b].next) continue;
      const HullPoint* const hull = blocks_[b].hull;
      const uint8_t limit = limit_[b];
      // From the points selected before: most thresholds are near the one before.
      uint8_t n = final_points_[b] > 0 && final_points_[b] < limit ? final_points_[b] : limit;
      while (n < limit && hull[n].slope >= slope) ++n;
      while (n > 0 && hull[n - 1].slope < slope) --n;
      set_points(b, precincts_[p], n);
    }
  });
}

/// Fills layer_histogram_ where it is used. @return bytes of the points chosen
uint64_t RateControl::gather_layer_bytes() {
  const bool has_cuts = has_layer_cuts(plan_);
  if (has_cuts) layer_histogram_.clear();
  uint64_t body = 0;
  for (size_t b = 0; b < plan_.blocks.size(); ++b) {
    if (final_points_[b] == 0) continue;
    const CodedBlock& block = blocks_[b];
    const HullPoint& last = block.hull[final_points_[b] - 1];
    body += last.length_bytes;
    if (has_cuts) {
      layer_histogram_.add(plan_.blocks[b].component, block.cuts[final_points_[b] - 1],
                           last.passes);
    }
  }
  if (has_cuts) layer_histogram_.sum();
  return body;
}

/// A layer ends where the histogram reaches the layer's share of the code-block data. The shares
/// follow params.layer_rates if given. Otherwise they are even in log(bytes): with many layers from
/// 1/1024 of the data on, with few layers (up to 11) each layer doubles the bytes.
void RateControl::choose_layers() {
  const size_t layers = selection_.layers;
  if (layers == 1 || has_layer_slopes_) return;
  const uint64_t body = gather_layer_bytes();
  const SlopeHistogram& histogram = has_layer_cuts(plan_) ? layer_histogram_ : histogram_;
  const auto num_components = static_cast<uint32_t>(plan_.components.size());
  const double octaves = std::min(1.0, 10.0 / static_cast<double>(layers - 1));
  uint16_t previous = kMaxSlope;
  bool is_changed = false;
  for (size_t l = 0; l + 1 < layers; ++l) {
    uint64_t share;
    if (plan_.params.num_layer_rates > 0) {
      const double bytes =
          static_cast<double>(raw_frame_bytes(plan_)) / plan_.params.layer_rates[l];
      share = static_cast<uint64_t>(bytes) > fixed_bytes_
                  ? static_cast<uint64_t>(bytes) - fixed_bytes_
                  : 0;
    } else {
      // 2^-x, linear between whole octaves: exp2 of libm does not give the same bits everywhere.
      const double x = octaves * static_cast<double>(layers - 1 - l);
      const int whole = static_cast<int>(x);
      share = static_cast<uint64_t>(
          std::ldexp(static_cast<double>(body) * (1.0 - (x - whole) / 2), -whole));
    }
    const uint32_t slope = histogram.lowest_slope(0, num_components, share);
    previous = std::min(previous,
                        static_cast<uint16_t>(std::clamp<uint32_t>(slope, kMinSlope, kMaxSlope)));
    is_changed = is_changed || layer_slopes_[l] != previous;
    layer_slopes_[l] = previous;
  }
  if (is_changed) ++layers_version_;
}

void RateControl::set_layer_slopes(std::span<const uint16_t> slopes) {
  has_layer_slopes_ = !slopes.empty();
  if (!has_layer_slopes_) return;
  std::copy(slopes.begin(), slopes.end(), layer_slopes_.begin());
  ++layers_version_;
}

void RateControl::measure_one(uint32_t precinct) {
  PrecinctState& state = precincts_[precinct];
  precinct_bytes_[precinct] =
      measure_precinct(plan_, selection_, precinct, scratch_[worker_index()]);
  state.is_changed = false;
  state.measured_layers = layers_version_;
  state.measured_bits = state.header_bits;
}

/// Measures the exact bytes of the scope at the current selection.
uint64_t RateControl::measure(const Scope& scope) {
  for_precincts(scope, [&](uint32_t p) {
    if (precincts_[p].is_changed || precincts_[p].measured_layers != layers_version_)
      measure_one(p);
  });
  return measured_bytes(scope);
}

uint64_t RateControl::num_blocks(const Scope& scope) const {
  uint64_t blocks = 0;
  for (const Precinct& precinct : plan_.precincts) {
    if (scope.has(precinct.component)) blocks += precinct.num_blocks;
  }
  return blocks;
}

/// Collects the points of a block that follow those selected, down to slope `lowest`.
void RateControl::collect_from(uint32_t block, uint32_t lowest) {
  const CodedBlock& coded = blocks_[block];
  uint32_t i = final_points_[block];
  uint32_t before = i > 0 ? coded.hull[i - 1].length_bytes : 0;
  int bits = one_layer_ ? contribution_of(coded, i).bits : 0;
  for (; i < limit_[block] && coded.hull[i].slope >= lowest; ++i) {
    const uint32_t length = coded.hull[i].length_bytes;
    int more_bits = 0;
    if (one_layer_) {
      const int with = contribution_of(coded, i + 1).bits;
      more_bits = with - bits + (i == 0 ? kTreeBits : 0);
      bits = with;
    }
    candidates_.push_back({coded.hull[i].slope, static_cast<uint8_t>(i + 1),
                           static_cast<int16_t>(more_bits), block, length - before});
    before = length;
  }
}

/// Collects and sorts the candidates. @return their number
size_t RateControl::collect(const Scope& scope, uint32_t lowest) {
  taken_ = 0;
  candidates_.clear();
  for (size_t p = 0; p < plan_.precincts.size(); ++p) {
    const Precinct& precinct = plan_.precincts[p];
    if (!scope.has(precinct.component)) continue;
    for (uint32_t b = precinct.first_block; b < precinct.first_block + precinct.num_blocks; ++b) {
      if (cuts_[b].next >= lowest) collect_from(b, lowest);
    }
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    if (a.slope != b.slope) return a.slope > b.slope;
    return a.block != b.block ? a.block < b.block : a.points < b.points;
  });
  std::vector<uint64_t>& bits = candidate_bits_;
  bits.assign(candidates_.size() + 1, 0);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const int64_t more = int64_t{8} * candidates_[i].bytes + candidates_[i].header_bits;
    bits[i + 1] = bits[i] + static_cast<uint64_t>(std::max<int64_t>(1, more));
  }
  return candidates_.size();
}

/// Selects the points from before the candidates, and the first `count` candidates.
void RateControl::take(size_t count) {
  const auto precinct_of = [&](const Candidate& candidate) -> PrecinctState& {
    return precincts_[plan_.blocks[candidate.block].precinct];
  };
  for (; taken_ < count; ++taken_) {
    const Candidate& next = candidates_[taken_];
    set_points(next.block, precinct_of(next), next.points);
  }
  for (; taken_ > count; --taken_) {
    const Candidate& last = candidates_[taken_ - 1];
    set_points(last.block, precinct_of(last), static_cast<uint8_t>(last.points - 1));
  }
  choose_layers();
}

bool RateControl::is_next(size_t i) const {
  return candidates_[i].points == final_points_[candidates_[i].block] + 1;
}

void RateControl::begin_try(size_t i) {
  const Candidate& candidate = candidates_[i];
  const uint32_t precinct = plan_.blocks[candidate.block].precinct;
  trial_ = {i, precincts_[precinct], precinct_bytes_[precinct]};
  set_points(candidate.block, precincts_[precinct], candidate.points);
}

/// Measures the precinct of the trial alone.
/// @param total  bytes of the scope before the trial. @return those with it
uint64_t RateControl::measure_trial(uint64_t total) {
  const uint32_t precinct = plan_.blocks[candidates_[trial_.candidate].block].precinct;
  measure_one(precinct);
  const PrecinctBytes& after = precinct_bytes_[precinct];
  return total - trial_.bytes.header - trial_.bytes.body + after.header + after.body;
}

void RateControl::undo_try() {
  const Candidate& candidate = candidates_[trial_.candidate];
  const uint32_t precinct = plan_.blocks[candidate.block].precinct;
  set_points(candidate.block, precincts_[precinct], static_cast<uint8_t>(candidate.points - 1));
  precincts_[precinct] = trial_.state;
  precinct_bytes_[precinct] = trial_.bytes;
}

}  // namespace cj2k
