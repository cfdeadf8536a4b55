// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel of allocate.h. A thread block does the rate control of a frame: all its threads follow
// the search (core/rate_search.h), which decides by numbers that all of them know, and share the
// work on blocks, precincts and points.
#pragma once

#include "core/contribution_code.h"
#include "core/rate_search.h"
#include "kernels/rate/allocate.h"
#include "kernels/rate/candidates.cuh"
#include "kernels/rate/frame_memory.cuh"
#include "kernels/rate/precinct_bytes.cuh"
#include "kernels/simt/block.h"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::rate {

/// Precincts of more blocks are measured by all threads of the block, others by a warp.
inline constexpr uint32_t kWarpBlocks = 256;

/// The Ops of RateSearch. All functions are called by all threads, with the same arguments, and give
/// all of them the same result. Memory that they write has been seen by a barrier when they return.
/// @tparam kHt  hull points have bytes of their own (RateInput::codes)
template <typename T, bool kHt>
class FrameRateControl {
 public:
  CJ2K_KERNEL_FN FrameRateControl(T& t, AllocateSmem& s, const AllocateParams& p, uint32_t frame)
      : t_(t), s_(s), p_(p), frame_(frame), m_(p.layout, p.scratch, frame), order_(t, s, m_) {}

  /// RateControl::allocate. There is one place for the steps of the search, so that its code is there
  /// once.
  CJ2K_KERNEL_FN void allocate() {
    const uint64_t component_cap = rate().component_bytes;
    const uint32_t num_components = p_.plan.num_components;
    const bool has_caps = component_cap != kNoTarget;
    RateSearch<FrameRateControl> search(*this);
    clear();
    for (uint32_t k = has_caps ? 0 : num_components; k <= num_components; ++k) {
      const bool is_frame = k == num_components;
      const RateScope scope = scope_of(k, is_frame ? rate().frame_bytes : component_cap);
      if (is_frame && has_caps) {
        keep_selection();
        if (measured_bytes(scope) <= scope.cap) break;
      }
      // Without a cap everything fits, and the histogram stays empty.
      if (scope.cap != kNoTarget && (is_frame || k == 0)) fill_histogram();
      search.begin(scope);
      while (search.step()) {
      }
      raise_exhausted(scope, search.slope());
    }
    if (has_caps && t_.thread() < num_components &&
        measured_bytes(scope_of(t_.thread(), component_cap)) > component_cap)
      t_.atomic_or(&s_.flags, kRateOverCap);
    t_.sync();
  }

  // ---- for RateSearch ----

  CJ2K_KERNEL_FN static constexpr bool has_one_layer() { return true; }
  CJ2K_KERNEL_FN void choose_layers() {}
  CJ2K_KERNEL_FN uint64_t num_blocks(const RateScope& scope) {
    uint64_t blocks = 0;
    for (uint32_t c = scope.first_component; c < scope.end_component; ++c)
      blocks += p_.plan.component_blocks[c];
    return blocks;
  }

  CJ2K_KERNEL_FN uint64_t histogram_bytes(const RateScope& scope, uint32_t slope) {
    const uint32_t lowest = t_.sload(s_.lowest), end = t_.sload(s_.end);
    if (slope >= end) return 0;
    const uint64_t* const at = m_.histogram() + (slope > lowest ? slope : lowest);
    uint64_t bytes = 0;
    for (uint32_t c = scope.first_component; c < scope.end_component; ++c)
      bytes += t_.gload(at + c * kAboveAllSlopes);
    return bytes;
  }

  /// SlopeHistogram::lowest_slope, in two steps: in each the threads divide the range.
  CJ2K_KERNEL_FN uint32_t slope_for(const RateScope& scope, uint64_t bytes) {
    constexpr uint32_t kStep = kAboveAllSlopes / kRateThreads;
    static_assert(kStep <= kRateThreads);
    const uint32_t over = count(histogram_bytes(scope, t_.thread() * kStep) > bytes);
    if (over == 0) return 0;
    const uint32_t first = (over - 1) * kStep + 1;
    return first +
           count(t_.thread() < kStep - 1 && histogram_bytes(scope, first + t_.thread()) > bytes);
  }

  CJ2K_KERNEL_FN void select(const RateScope& scope, uint32_t slope) {
    for (uint32_t b = t_.thread(); b < p_.plan.num_blocks; b += kRateThreads) {
      const RateBlock block = t_.gload_ro(p_.plan.blocks + b);
      if (!scope.has(block.component)) continue;
      const BlockRecord record = t_.gload(m_.blocks() + b);
      const HullPoint* const hull = p_.input.hull + record.first_hull;
      // From the points selected before: most thresholds are near the one before.
      uint32_t n = record.points > 0 && record.points < record.limit ? record.points : record.limit;
      while (n < record.limit && t_.gload(&hull[n].slope) >= slope) ++n;
      while (n > 0 && t_.gload(&hull[n - 1].slope) < slope) --n;
      if (n == record.points) continue;
      t_.gstore(&m_.blocks()[b].points, n);
      set_code(b, block.precinct, block.planes, record.first_hull, n);
    }
    t_.sync();
  }

  /// Measures the precincts of the scope that have changed.
  CJ2K_KERNEL_FN uint64_t measure(const RateScope& scope, bool, uint64_t) {
    list_changed(scope);
    const uint32_t changed = t_.sload(s_.num_listed);
    for (uint32_t i = t_.warp(); i < changed; i += kRateThreads / 32) {
      const uint32_t precinct = t_.gload(m_.list() + i);
      if (!is_large(precinct)) measure_by_warp(precinct);
    }
    t_.sync();
    for (uint32_t i = 0; i < changed; ++i) {
      const uint32_t precinct = t_.gload(m_.list() + i);
      if (is_large(precinct)) place_by_block(precinct);
    }
    t_.sync();
    for (uint32_t i = t_.warp(); i < changed; i += kRateThreads / 32) {
      const uint32_t precinct = t_.gload(m_.list() + i);
      if (is_large(precinct)) stuff_by_warp(precinct);
    }
    t_.sync();
    return measured_bytes(scope);
  }
  CJ2K_KERNEL_FN uint64_t measured_body(const RateScope& scope) {
    uint64_t bytes = 0;
    for (uint32_t c = scope.first_component; c < scope.end_component; ++c)
      bytes += t_.sload(s_.measured.body[c]);
    return bytes;
  }
  CJ2K_KERNEL_FN uint64_t measured_bytes(const RateScope& scope) {
    uint64_t bytes = scope.fixed + measured_body(scope);
    for (uint32_t c = scope.first_component; c < scope.end_component; ++c)
      bytes += t_.sload(s_.measured.header[c]);
    return bytes;
  }

  CJ2K_KERNEL_FN uint64_t estimated_overhead(const RateScope& scope) {
    int64_t bits = 0;
    for (uint32_t i = t_.thread(); i < p_.plan.num_precincts; i += kRateThreads) {
      const PrecinctRecord record = t_.gload(m_.precincts() + i);
      if (!scope.has(record.component)) continue;
      bits += int64_t{8} * record.header + record.header_bits - record.measured_bits;
    }
    bits = static_cast<int64_t>(simt::block_reduce_add(t_, s_.wide, static_cast<uint64_t>(bits)));
    return scope.fixed + static_cast<uint64_t>(bits > 0 ? bits : 0) / 8;
  }

  CJ2K_KERNEL_FN size_t collect(const RateScope& scope, uint32_t lowest) {
    taken_ = 0;
    uint32_t total = 0;
    for (uint32_t first = 0; first < p_.plan.num_blocks; first += kRateThreads) {
      const uint32_t b = first + t_.thread();
      BlockRecord record{};
      uint32_t end = 0;
      if (b < p_.plan.num_blocks && scope.has(t_.gload_ro(&p_.plan.blocks[b].component))) {
        record = t_.gload(m_.blocks() + b);
        end = record.points;
        while (end < record.limit && hull_slope(record, end) >= lowest) ++end;
      }
      uint32_t more = 0;
      const uint32_t points = end > record.points ? end - record.points : 0;
      const uint32_t at = total + simt::block_exclusive_add(t_, s_.narrow, points, &more);
      total += more;
      if (at + points <= p_.plan.max_candidates) {
        store_candidates(b, record, end, at);
      } else {
        t_.atomic_or(&s_.flags, kRateManyPoints);
      }
    }
    t_.sync();
    // What is not stored does not count: the frame is the host's then.
    if ((t_.sload(s_.flags) & kRateManyPoints) != 0) total = 0;
    order_.sort_by_slope(total);
    order_.sum_bits(total);
    return total;
  }
  CJ2K_KERNEL_FN uint64_t candidate_bits(size_t i) { return t_.gload(m_.candidate_bits() + i); }
  CJ2K_KERNEL_FN uint16_t candidate_slope(size_t i) {
    return static_cast<uint16_t>(t_.gload(&m_.candidates()[i].slope));
  }
  CJ2K_KERNEL_FN uint32_t candidate_bytes(size_t i) { return t_.gload(&m_.candidates()[i].bytes); }

  /// Points of a block are in one order, so the largest that is taken holds, or the smallest that is
  /// given back.
  CJ2K_KERNEL_FN void take(size_t end) {
    const bool is_more = end > taken_;
    const auto low = static_cast<uint32_t>(is_more ? taken_ : end);
    const auto high = static_cast<uint32_t>(is_more ? end : taken_);
    for (uint32_t i = low + t_.thread(); i < high; i += kRateThreads) {
      const Candidate candidate = t_.gload(m_.candidates() + i);
      uint32_t* const points = &m_.blocks()[candidate.block].points;
      if (is_more) {
        t_.atomic_max(points, candidate.points);
      } else {
        t_.atomic_min(points, candidate.points - 1u);
      }
    }
    t_.sync();
    for (uint32_t i = low + t_.thread(); i < high; i += kRateThreads) {
      const Candidate candidate = t_.gload(m_.candidates() + i);
      const uint32_t points = candidate.points - (is_more ? 0u : 1u);
      const BlockRecord record = t_.gload(m_.blocks() + candidate.block);
      if (record.points == points) update_code(candidate.block, record.first_hull, points);
    }
    taken_ = end;
    t_.sync();
  }

  CJ2K_KERNEL_FN bool is_next(size_t i) {
    const Candidate candidate = t_.gload(m_.candidates() + i);
    return candidate.points == t_.gload(&m_.blocks()[candidate.block].points) + 1;
  }

  CJ2K_KERNEL_FN void begin_try(size_t i) {
    t_.sync();  // all have seen that it is the next point
    if (t_.thread() == 0) {
      const Candidate candidate = t_.gload(m_.candidates() + i);
      const uint32_t precinct = t_.gload_ro(&p_.plan.blocks[candidate.block].precinct);
      BlockRecord* const block = m_.blocks() + candidate.block;
      t_.sstore(s_.trial, candidate);
      t_.sstore(s_.trial_code, t_.gload(m_.codes() + candidate.block));
      t_.sstore(s_.trial_precinct, t_.gload(m_.precincts() + precinct));
      t_.gstore(&block->points, candidate.points);
      update_code(candidate.block, t_.gload(&block->first_hull), candidate.points);
    }
    t_.sync();
  }
  CJ2K_KERNEL_FN void undo_try() {
    t_.sync();  // all have read what was measured
    if (t_.thread() == 0) {
      const Candidate candidate = t_.sload(s_.trial);
      const PrecinctRecord before = t_.sload(s_.trial_precinct);
      PrecinctRecord* const record =
          m_.precincts() + t_.gload_ro(&p_.plan.blocks[candidate.block].precinct);
      const PrecinctRecord after = t_.gload(record);
      t_.gstore(&m_.blocks()[candidate.block].points, candidate.points - 1);
      t_.gstore(m_.codes() + candidate.block, t_.sload(s_.trial_code));
      t_.gstore(record, before);
      t_.atomic_add(&s_.measured.header[before.component], before.header - after.header);
      t_.atomic_add(&s_.measured.body[before.component], before.body - after.body);
    }
    t_.sync();
  }

  /// The components' scopes, and the frame's as the last.
  CJ2K_KERNEL_FN RateScope scope_of(uint32_t index, uint64_t cap) {
    if (index < p_.plan.num_components)
      return {index, index + 1, cap, p_.plan.component_fixed_bytes[index]};
    return {0, p_.plan.num_components, cap, p_.plan.fixed_bytes};
  }
  CJ2K_KERNEL_FN const FrameRate& rate() const { return p_.rates.of[frame_]; }
  CJ2K_KERNEL_FN const FrameMemory& memory() const { return m_; }

 private:
  CJ2K_KERNEL_FN uint32_t count(bool is) {
    return simt::block_reduce_add(t_, s_.narrow, is ? 1u : 0u);
  }
  CJ2K_KERNEL_FN uint16_t hull_slope(const BlockRecord& record, uint32_t point) {
    return t_.gload(&p_.input.hull[record.first_hull + point].slope);
  }

  CJ2K_KERNEL_FN void raise_exhausted(const RateScope& scope, uint16_t slope) {
    if (scope.has(t_.thread())) {
      uint16_t& exhausted = s_.exhausted[t_.thread()];
      if (slope > t_.sload(exhausted)) t_.sstore(exhausted, slope);
    }
    t_.sync();
  }

  CJ2K_KERNEL_FN bool has_cap() const {
    return rate().frame_bytes != kNoTarget || rate().component_bytes != kNoTarget;
  }

  /// Begins with nothing selected or measured, and finds the points within the quality.
  CJ2K_KERNEL_FN void clear() {
    const uint32_t entries = has_cap() ? p_.plan.num_components * kAboveAllSlopes : 0;
    auto* const histogram = reinterpret_cast<simt::U32x4*>(m_.histogram());
    for (uint32_t i = t_.thread(); i < entries / 2; i += kRateThreads)
      t_.gstore(histogram + i, simt::U32x4{0, 0, 0, 0});
    for (uint32_t i = t_.thread(); i < p_.plan.num_words; i += kRateThreads)
      t_.gstore(m_.words() + i, 0);
    for (uint32_t b = t_.thread(); b < p_.plan.num_blocks; b += kRateThreads) {
      const Tier1Result* const result = results() + b;
      BlockRecord record{t_.gload(&result->first_hull), t_.gload(&result->num_hull), 0, 0};
      while (record.limit > 0 && hull_slope(record, record.limit - 1) < rate().slope)
        --record.limit;
      t_.gstore(m_.blocks() + b, record);
      t_.gstore(m_.codes() + b, BlockCode{});
    }
    for (uint32_t i = t_.thread(); i < p_.plan.num_precincts; i += kRateThreads) {
      const uint32_t component = t_.gload_ro(&p_.plan.precincts[i].component);
      t_.gstore(m_.precincts() + i, {0, 1, 1, 0, 0, component, 0});
    }
    if (t_.thread() < p_.plan.num_components) {
      t_.sstore(s_.exhausted[t_.thread()], rate().slope);
      t_.sstore(s_.measured.header[t_.thread()], p_.plan.component_precincts[t_.thread()]);
      t_.sstore(s_.measured.body[t_.thread()], 0);
    }
    if (t_.thread() == 0) {
      t_.sstore(s_.lowest, kAboveAllSlopes);
      t_.sstore(s_.end, 0);
    }
    t_.sync();
  }

  /// What the components may take limits what the frame may.
  CJ2K_KERNEL_FN void keep_selection() {
    for (uint32_t b = t_.thread(); b < p_.plan.num_blocks; b += kRateThreads) {
      BlockRecord* const record = m_.blocks() + b;
      t_.gstore(&record->limit, t_.gload(&record->points));
    }
    t_.sync();
  }

  CJ2K_KERNEL_FN const Tier1Result* results() const {
    return p_.input.results + uint64_t{frame_} * p_.plan.num_blocks;
  }

  /// Bytes of all points within the limits, at each slope and above.
  CJ2K_KERNEL_FN void fill_histogram() {
    const uint32_t lowest = t_.sload(s_.lowest), end = t_.sload(s_.end);
    for (uint32_t c = 0; c < p_.plan.num_components; ++c) {
      for (uint32_t i = lowest + t_.thread(); i < end; i += kRateThreads)
        t_.gstore(m_.histogram() + c * kAboveAllSlopes + i, 0);
    }
    t_.sync();
    if (t_.thread() == 0) {
      t_.sstore(s_.lowest, kAboveAllSlopes);
      t_.sstore(s_.end, 0);
    }
    t_.sync();
    uint32_t least = kAboveAllSlopes, most = 0;
    for (uint32_t b = t_.thread(); b < p_.plan.num_blocks; b += kRateThreads) {
      const BlockRecord record = t_.gload(m_.blocks() + b);
      const uint32_t component = t_.gload_ro(&p_.plan.blocks[b].component);
      uint64_t* const table = m_.histogram() + component * kAboveAllSlopes;
      uint32_t before = 0;
      for (uint32_t i = 0; i < record.limit; ++i) {
        const HullPoint* const point = p_.input.hull + record.first_hull + i;
        const uint32_t length = t_.gload(&point->length_bytes), slope = t_.gload(&point->slope);
        t_.atomic_add(table + slope, length - before);
        before = length;
        least = slope < least ? slope : least;
        most = slope + 1 > most ? slope + 1 : most;
      }
    }
    t_.atomic_min(&s_.lowest, least);
    t_.atomic_max(&s_.end, most);
    t_.sync();
    for (uint32_t c = 0; c < p_.plan.num_components; ++c)
      order_.sum_histogram(c, t_.sload(s_.lowest), t_.sload(s_.end));
  }

  /// Makes the code of a block whose points have changed.
  CJ2K_KERNEL_FN void set_code(uint32_t block, uint32_t precinct, uint32_t planes,
                               uint32_t first_hull, uint32_t points) {
    const uint32_t before = t_.gload(&m_.codes()[block].bits);
    BlockCode now{};
    if (points > 0) {
      const HullPoint* const point = p_.input.hull + first_hull + points - 1;
      now.bytes = t_.gload(&point->length_bytes);
      const CodeBits code = code_of(first_hull + points - 1);
      now.code = code.value;
      now.bits = static_cast<uint8_t>(code.count);
      if constexpr (kHt) {
        now.zero_planes = t_.gload(&p_.input.codes[first_hull + points - 1].zero_bit_planes);
      } else {
        now.zero_planes = static_cast<uint8_t>(planes - t_.gload(&results()[block].bit_planes));
      }
      if (code.count > 64 || now.bytes == 0) t_.atomic_or(&s_.flags, kRateLongCode);
    }
    t_.gstore(m_.codes() + block, now);
    PrecinctRecord* const record = m_.precincts() + precinct;
    const int more = now.bits - static_cast<int>(before) +
                     kTreeBits * ((now.bits > 0 ? 1 : 0) - (before > 0 ? 1 : 0));
    t_.atomic_add(reinterpret_cast<uint32_t*>(&record->header_bits), static_cast<uint32_t>(more));
    t_.gstore(&record->is_changed, 1);
  }
  CJ2K_KERNEL_FN void update_code(uint32_t block, uint32_t first_hull, uint32_t points) {
    const RateBlock of = t_.gload_ro(p_.plan.blocks + block);
    set_code(block, of.precinct, of.planes, first_hull, points);
  }

  /// contribution_of (packets/contribution.h). @param index  in RateInput::hull
  CJ2K_KERNEL_FN CodeBits code_of(uint32_t index) {
    const uint32_t length = t_.gload(&p_.input.hull[index].length_bytes);
    const uint32_t passes = t_.gload(&p_.input.hull[index].passes);
    if constexpr (kHt) {
      const uint32_t first = t_.gload(&p_.input.codes[index].first_bytes);
      if (passes > 1) return contribution_code(first, 1, length - first, passes - 1);
    }
    return contribution_code(length, passes);
  }

  /// Stores the points of a block from those selected to `end`.
  CJ2K_KERNEL_FN void store_candidates(uint32_t block, const BlockRecord& record, uint32_t end,
                                       uint32_t at) {
    const HullPoint* const hull = p_.input.hull + record.first_hull;
    uint32_t before = 0, bits = 0;
    if (record.points < end && record.points > 0) {
      before = t_.gload(&hull[record.points - 1].length_bytes);
      bits = static_cast<uint32_t>(code_of(record.first_hull + record.points - 1).count);
    }
    for (uint32_t i = record.points; i < end; ++i, ++at) {
      const uint32_t length = t_.gload(&hull[i].length_bytes);
      const auto with = static_cast<uint32_t>(code_of(record.first_hull + i).count);
      const int more = static_cast<int>(with - bits) + (i == 0 ? kTreeBits : 0);
      t_.gstore(m_.candidates() + at, {block, length - before, t_.gload(&hull[i].slope),
                                       static_cast<uint8_t>(i + 1), static_cast<int8_t>(more), 0});
      before = length;
      bits = with;
    }
  }

  CJ2K_KERNEL_FN void list_changed(const RateScope& scope) {
    if (t_.thread() == 0) t_.sstore(s_.num_listed, 0);
    t_.sync();
    for (uint32_t i = t_.thread(); i < p_.plan.num_precincts; i += kRateThreads) {
      const PrecinctRecord record = t_.gload(m_.precincts() + i);
      if (record.is_changed != 0 && scope.has(record.component))
        t_.gstore(m_.list() + t_.atomic_add(&s_.num_listed, 1), i);
    }
    t_.sync();
  }

  CJ2K_KERNEL_FN bool is_large(uint32_t precinct) {
    return t_.gload_ro(&p_.plan.precincts[precinct].num_blocks) > kWarpBlocks;
  }
  /// measure_precinct of packets/packets.h.
  CJ2K_KERNEL_FN void measure_by_warp(uint32_t number) {
    const RatePrecinct precinct = t_.gload(p_.plan.precincts + number);
    auto packet = packet_of(WarpGroup<T>{t_});
    const uint64_t body = packet.body_bytes(precinct);
    const uint32_t header = body > 0 ? packet.make(precinct, NoBytes{}) : 1;
    if (t_.lane() == 0) {
      store_body(number, body);
      store_header(number, header);
    }
    t_.sync_warp();
  }
  /// The same in two steps, because one warp alone can stuff a header: all warps join the bits of a
  /// large precinct, then each warp stuffs those of another one.
  CJ2K_KERNEL_FN void place_by_block(uint32_t number) {
    const RatePrecinct precinct = t_.gload(p_.plan.precincts + number);
    auto packet = packet_of(BlockGroup<T, kRateThreads>{t_, s_.wide, s_.narrow});
    const uint64_t body = packet.body_bytes(precinct);
    const uint32_t bits = body > 0 ? packet.place(precinct) : 0;
    if (t_.thread() != 0) return;
    store_body(number, body);
    t_.gstore(&m_.precincts()[number].placed_bits, bits);
  }
  CJ2K_KERNEL_FN void stuff_by_warp(uint32_t number) {
    const RatePrecinct precinct = t_.gload(p_.plan.precincts + number);
    const uint32_t bits = t_.gload(&m_.precincts()[number].placed_bits);
    const uint32_t header =
        bits > 0 ? packet_of(WarpGroup<T>{t_}).stuff(precinct, bits, NoBytes{}) : 1;
    if (t_.lane() == 0) store_header(number, header);
    t_.sync_warp();
  }
  template <typename Group>
  CJ2K_KERNEL_FN PacketHeader<T, Group> packet_of(Group group) {
    return {t_, group, {p_.plan.bands, m_.codes(), m_.nodes(), m_.words(), &s_.flags}};
  }
  CJ2K_KERNEL_FN void store_body(uint32_t precinct, uint64_t body) {
    PrecinctRecord* const record = m_.precincts() + precinct;
    t_.atomic_add(&s_.measured.body[t_.gload(&record->component)], body - t_.gload(&record->body));
    t_.gstore(&record->body, body);
  }
  /// @param bytes  without SOP and EPH
  CJ2K_KERNEL_FN void store_header(uint32_t precinct, uint32_t bytes) {
    PrecinctRecord record = t_.gload(m_.precincts() + precinct);
    const uint32_t header = bytes + p_.plan.packet_marker_bytes;
    t_.atomic_add(&s_.measured.header[record.component], header - record.header);
    record.header = header;
    record.is_changed = 0;
    record.measured_bits = record.header_bits;
    t_.gstore(m_.precincts() + precinct, record);
  }

  T& t_;
  AllocateSmem& s_;
  const AllocateParams& p_;
  const uint32_t frame_;
  const FrameMemory m_;
  CandidateOrder<T> order_;
  size_t taken_ = 0;  ///< candidates that are selected
};

}  // namespace cj2k::cuda::rate
