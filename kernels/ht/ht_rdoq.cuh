// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// RDOQ for cleanup passes by a warp (coders/ht/ht_rdoq.h has the model): the changes of the CPU backend,
// in its order (core/ht/rdoq.h).
#pragma once

#include <bit>

#include "core/ht/rdoq.h"
#include "core/overlaps.h"
#include "kernels/ht/ht_samples.cuh"

namespace cj2k::cuda::ht {

inline constexpr uint32_t kMostQuads = 1024;  ///< of a block of 4,096 samples

/// The quads of a block in shared memory, a word each: of each sample a byte with its exponent, and what
/// follows.
inline constexpr uint32_t kExponents = 0x3F * ht_rdoq_model::kEachByte;
inline constexpr uint32_t kIsChanged = 0x40;  ///< the sample has changed
inline constexpr uint32_t kIsTried = 0x80;    ///< its change is tried

/// RDOQ of a cleanup pass.
template <typename T, bool kReversible>
class Changer {
  using QuadBytes = ht_rdoq_model::QuadBytes;

 public:
  /// @param overlaps  HtRdoqBlock
  /// @param words     ht_vlc_words
  /// @param quads     [kMostQuads] in shared memory
  CJ2K_KERNEL_FN Changer(T& t, const BlockReader<kReversible>& block, int plane, double lambda,
                         const Overlaps& overlaps, const uint16_t* words, uint32_t* quads)
      : t_(t),
        block_(block),
        overlaps_(overlaps),
        words_(words),
        quads_(quads),
        plane_(plane),
        wide_(static_cast<int>(block.width + 1) / 2),
        high_(static_cast<int>(block.height + 1) / 2),
        scale_(block.inverse_step *
               std::bit_cast<float>((127u + ht_rdoq_model::kFraction - static_cast<uint32_t>(plane))
                                    << 23)),
        half_(ht_rdoq_model::shown_half(kReversible, plane)),
        lambda_(ht_rdoq_model::lambda_units(lambda, plane)) {}

  CJ2K_KERNEL_FN void run() {
    read();
    t_.sync_warp();
    count_events();
    for (int group = 0; group < ht_rdoq_model::kGroups; ++group) {
      visit_group(ht_rdoq_model::first_column(group), ht_rdoq_model::first_row(group));
      t_.sync_warp();
    }
    changes_ = t_.warp_reduce_add(changes_);
    significant_ = t_.warp_reduce_add(significant_);
    added_ = static_cast<int64_t>(t_.warp_reduce_add(static_cast<uint64_t>(added_)));
  }
  /// Whether the pass changes, and codes samples.
  CJ2K_KERNEL_FN bool is_wanted() const { return changes_ > 0 && significant_ > 0; }
  CJ2K_KERNEL_FN int64_t added_error() const { return added_; }
  /// @param changes  HtChanges
  CJ2K_KERNEL_FN void store(uint8_t* changes) const {
    const uint32_t pairs_wide = block_.pairs_wide(), num_pairs = block_.num_pairs();
    PairPlace place(t_.lane(), pairs_wide);
    for (; !place.ends(num_pairs); place.step()) {
      const int x = static_cast<int>(2 * place.x), y = static_cast<int>(place.y);
      uint32_t changed = changed_of(x, y);
      if (x + 1 < wide_) changed |= changed_of(x + 1, y) << 4;
      t_.gstore(changes + place.index, static_cast<uint8_t>(changed));
    }
  }

 private:
  CJ2K_KERNEL_FN uint32_t* at(int x, int y) const { return quads_ + (y * wide_ + x); }
  CJ2K_KERNEL_FN QuadBytes exponents(int x, int y) const {
    return t_.sload(*at(x, y)) & kExponents;
  }
  CJ2K_KERNEL_FN uint32_t changed_of(int x, int y) const {
    return ht_rdoq_model::low_bits(t_.sload(*at(x, y)) / kIsChanged);
  }

  CJ2K_KERNEL_FN void read() {
    const uint32_t num_pairs = block_.num_pairs();
    PairPlace place(t_.lane(), block_.pairs_wide());
    for (; !place.ends(num_pairs); place.step()) {
      uint32_t bits[8];
      block_.read_bits(t_, place.x, place.y, bits);
      uint32_t quads[2] = {};
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) quads[i / 4] |= byte_of_sample(bits[i]) << 8 * (i & 3);
      const int x = static_cast<int>(2 * place.x), y = static_cast<int>(place.y);
      t_.sstore(*at(x, y), quads[0]);
      if (x + 1 < wide_) t_.sstore(*at(x + 1, y), quads[1]);
    }
  }
  CJ2K_KERNEL_FN uint32_t byte_of_sample(uint32_t bits) {
    const uint32_t magnitude = block_.magnitude(bits) >> plane_;
    if (magnitude == 0) return value_of(bits) > 1u << (ht_rdoq_model::kFraction - 1) ? kIsTried : 0;
    ++significant_;
    const uint32_t below = magnitude - 1;
    const bool falls = (below & (below - 1)) == 0 && magnitude <= ht_rdoq_model::kMostMagnitude;
    return 32 - t_.clz(2 * magnitude - 1) + (falls ? kIsTried : 0);
  }
  /// |coefficient| in 2^p / 2^kFraction.
  CJ2K_KERNEL_FN uint32_t value_of(uint32_t bits) const {
    constexpr int kFraction = ht_rdoq_model::kFraction;
    if constexpr (kReversible) {
      const uint32_t whole = block_.magnitude(bits);
      return plane_ <= kFraction ? whole << (kFraction - plane_) : whole >> (plane_ - kFraction);
    } else {
      constexpr auto kMost = static_cast<float>(kMostValue);
      const float value = std::bit_cast<float>(bits & 0x7FFFFFFF) * scale_;
      return static_cast<uint32_t>(static_cast<int32_t>(value < kMost ? value : kMost));
    }
  }

  CJ2K_KERNEL_FN uint32_t bits_at(int x, int y) const {
    return t_.gload_ro(block_.source + (uint64_t{static_cast<uint32_t>(y)} * block_.stride +
                                        static_cast<uint32_t>(x)));
  }
  /// The target of a sample.
  CJ2K_KERNEL_FN uint32_t target(int x, int y) const {
    const uint32_t own = bits_at(x, y);
    const auto error_at = [&](int dx, int dy) {
      const auto column = static_cast<uint32_t>(x + dx), row = static_cast<uint32_t>(y + dy);
      if (column >= block_.width || row >= block_.height) return 0;
      const uint32_t bits = bits_at(x + dx, y + dy);
      const uint32_t magnitude = block_.magnitude(bits) >> plane_;
      const int64_t shown =
          magnitude == 0 ? 0 : (int64_t{magnitude} << ht_rdoq_model::kFraction) + half_;
      return signed_error(static_cast<int32_t>(value_of(bits)), shown, bits >> 31 != 0);
    };
    return static_cast<uint32_t>(
        target_of(overlaps_, static_cast<int32_t>(value_of(own)), own >> 31 != 0, error_at));
  }

  /// What the codewords of a quad depend on beside its own samples.
  CJ2K_KERNEL_FN ht_rdoq_model::Around around(int x, int y) const {
    const uint32_t left = x > 0 ? ht_rdoq_model::nonzero_bytes(exponents(x - 1, y)) : 0;
    if (y == 0) return ht_rdoq_model::around_in_first_row(left);
    const QuadBytes above_left = x > 0 ? exponents(x - 1, y - 1) : 0;
    const QuadBytes above = exponents(x, y - 1);
    const QuadBytes above_right = x + 1 < wide_ ? exponents(x + 1, y - 1) : 0;
    return ht_rdoq_model::around_below(left, above_left >> 24, above >> 8 & 0xFF, above >> 24,
                                       above_right >> 8 & 0xFF);
  }
  /// R of a quad with these exponents.
  CJ2K_KERNEL_FN int32_t cost(const ht_rdoq_model::Around& around, QuadBytes exponents,
                              bool first) const {
    const ht_rdoq_model::QuadWords of = ht_rdoq_model::quad_words(around, exponents);
    const uint32_t word = t_.gload_ro(words_ + ((first ? 0 : 2048) + of.index));
    const int bits = static_cast<int>(word >> 7 & 7) -
                     static_cast<int>(t_.popcount(word >> 10 & of.rho)) +
                     ht_rdoq_model::u_bits(of.u) + of.value_bits();
    const int32_t mel = around.context != 0 ? 0 : exponents != 0 ? mel_one_ : mel_zero_;
    return ht_rdoq_model::kBitCost * bits + mel;
  }
  CJ2K_KERNEL_FN int32_t cost_at(int x, int y) const {
    return cost(around(x, y), exponents(x, y), y == 0);
  }
  CJ2K_KERNEL_FN void count_events() {
    uint32_t events[2] = {0, 0};
    PairPlace place(t_.lane(), static_cast<uint32_t>(wide_));
    for (; !place.ends(static_cast<uint32_t>(wide_ * high_)); place.step()) {
      const int x = static_cast<int>(place.x), y = static_cast<int>(place.y);
      if (around(x, y).context != 0) continue;
      const bool one = exponents(x, y) != 0;
      events[0] += one ? 0 : 1;
      events[1] += one ? 1 : 0;
    }
    events[0] = t_.warp_reduce_add(events[0]);
    events[1] = t_.warp_reduce_add(events[1]);
    mel_zero_ = ht_rdoq_model::mel_cost(events, 0);
    mel_one_ = ht_rdoq_model::mel_cost(events, 1);
    t_.sync_warp();  // all have read
  }

  /// The quads of a group: none of them sees what another one writes.
  CJ2K_KERNEL_FN void visit_group(int first_x, int first_y) {
    const int columns = (wide_ - first_x + ht_rdoq_model::kColumns - 1) / ht_rdoq_model::kColumns;
    const int rows = (high_ - first_y + ht_rdoq_model::kRows - 1) / ht_rdoq_model::kRows;
    if (columns <= 0 || rows <= 0) return;
    PairPlace place(t_.lane(), static_cast<uint32_t>(columns));
    for (; !place.ends(static_cast<uint32_t>(columns * rows)); place.step()) {
      visit(first_x + ht_rdoq_model::kColumns * static_cast<int>(place.x),
            first_y + ht_rdoq_model::kRows * static_cast<int>(place.y));
    }
  }
  /// Tries the changes of a quad.
  CJ2K_KERNEL_FN void visit(int x, int y) {
    const uint32_t tried = t_.sload(*at(x, y)) & kIsTried * ht_rdoq_model::kEachByte;
    if (tried == 0) return;
    const ht_rdoq_model::Around near = around(x, y);
    int32_t before = cost(near, exponents(x, y), y == 0);
    for (uint32_t left = tried; left != 0; left &= left - 1) {
      const uint32_t k = t_.ctz(left) / 8;
      const QuadBytes old = exponents(x, y);
      const uint32_t exponent = old >> 8 * k & 0xFF;
      const uint32_t from = exponent < 2 ? exponent : (1u << (exponent - 2)) + 1;
      const uint32_t aim =
          target(2 * x + static_cast<int>(k >> 1), 2 * y + static_cast<int>(k & 1));
      const int64_t added =
          ht_rdoq_model::added_error(from, ht_rdoq_model::changed_magnitude(from), half_, aim);
      if (added >= lambda_ * ht_rdoq_model::kMostSaved) continue;
      const uint32_t one = 1u << 8 * k;
      const QuadBytes changed = from == 0 ? old + one : old - one;
      const int32_t bits = cost(near, changed, y == 0);
      if (added + lambda_ * (bits - before - ht_rdoq_model::kNearSaved) >= 0) continue;
      if (!try_change(x, y, k, changed, bits - before, added)) continue;
      before = bits;
      ++changes_;
      significant_ += from == 0 ? 1u : exponent == 1 ? ~0u : 0u;
      added_ += added;
    }
  }
  /// Gives a quad other exponents, of which sample k differs, if that lowers D + lambda R.
  /// @param more   R of the quad itself
  /// @param added  to D
  CJ2K_KERNEL_FN bool try_change(int x, int y, uint32_t k, QuadBytes changed, int32_t more,
                                 int64_t added) {
    uint32_t* const quad = at(x, y);
    const uint32_t before = t_.sload(*quad);
    const bool is_right = (k & 2) != 0;
    const bool rho_changes =
        ht_rdoq_model::nonzero_bytes(before & kExponents) != ht_rdoq_model::nonzero_bytes(changed);
    // The quads whose bits may change. Only the lower samples are seen from below, two quads see each.
    const bool beside = rho_changes && (y == 0 || is_right) && x + 1 < wide_;
    const bool below = (k & 1) != 0 && y + 1 < high_;
    const int other = is_right ? x + 1 : x - 1;
    const bool below_other = below && other >= 0 && other < wide_;
    const auto near = [&] {
      return (beside ? cost_at(x + 1, y) : 0) + (below ? cost_at(x, y + 1) : 0) +
             (below_other ? cost_at(other, y + 1) : 0);
    };
    more -= near();
    t_.sstore(*quad, (before & ~kExponents) | changed | kIsChanged << 8 * k);
    more += near();
    if (added + lambda_ * more < 0) return true;
    t_.sstore(*quad, before);
    return false;
  }

  T& t_;
  const BlockReader<kReversible>& block_;
  const Overlaps overlaps_;
  const uint16_t* const words_;
  uint32_t* const quads_;
  const int plane_;
  const int wide_, high_;               ///< quads
  const float scale_;                   ///< of coefficients
  const int32_t half_;                  ///< from a magnitude to what a decoder shows
  const int64_t lambda_;                ///< D for each unit of R
  int32_t mel_zero_ = 0, mel_one_ = 0;  ///< R of the events
  uint32_t significant_ = 0, changes_ = 0;
  int64_t added_ = 0;  ///< to D
};

struct ChangeParams {
  Source source;
  const uint16_t* words;
  HtBlockTable table;
  HtOrders orders;
  HtTask* tasks;
  const HtChoice* choices;
  uint32_t num_choices;
  HtResult* results;
  HtTaskLists lists;
  HtChanges changes;
};

/// RDOQ for the planes of blocks: makes the tasks of their second coding, and lists them.
///
/// Grid: x = kMostHtRdoqPlanes * blocks / warps per thread block. Block: a warp per coding, warps
///   independent. A warp takes its place in a list by an atomic add, so the order of the lists varies,
///   and nothing depends on it.
/// Shared bytes: 4 KB per warp. Barriers: none but those of a warp.
/// Global traffic: reads each coefficient once, and those that are tried with eight around them, mostly from
///   the caches; writes a byte for 8 samples.
template <bool kReversible>
struct Change {
  using Params = ChangeParams;
  static constexpr int kThreads = 128;
  static constexpr int kMinBlocks = 5;
  struct Smem {
    uint32_t quads[kThreads / 32][kMostQuads];
  };

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t coding = t.block_x() * (kThreads / 32) + t.warp();
    const uint32_t entry = coding / kMostHtRdoqPlanes, k = coding % kMostHtRdoqPlanes;
    if (entry >= p.num_choices) return;
    const HtChoice choice = t.gload(p.choices + entry);
    if (choice.num_tasks == 0) return;
    const uint32_t number = t.gload(&p.tasks[choice.first_task].block);
    const HtPlanBlock of_plan = t.gload_ro(p.table.blocks + number % p.table.num_blocks);
    const double lambda =
        p.orders.of[number / p.table.num_blocks].lambda(of_plan.component, choice.weight);
    const HtRdoqPlanes planes =
        ht_rdoq_planes(lambda, choice.planes(), p.table.rules.both_rdoq_planes);
    if (k >= static_cast<uint32_t>(planes.count)) return;
    const int plane = planes.first - static_cast<int>(k);
    HtTask task = t.gload(p.tasks + choice.first_task + (choice.end - 1 - plane));
    const uint32_t to = choice.first_task + choice.num_tasks + k;
    bool is_wanted = task.passes > 0;
    if (is_wanted) {
      const auto block = read_block<kReversible>(t, p.source, task);
      const Overlaps overlaps = t.gload_ro(p.table.overlaps + number % p.table.num_blocks);
      Changer<T, kReversible> changer(t, block, plane, lambda, overlaps, p.words,
                                      s.quads[t.warp()]);
      changer.run();
      is_wanted = changer.is_wanted();
      if (is_wanted) changer.store(p.changes.of(task.block, 1 + k));
      if (t.lane() == 0)
        t.gstore(&p.results[to].total_left, static_cast<uint64_t>(changer.added_error()));
    }
    if (t.lane() != 0) return;
    t.gstore(&p.results[to].passes, is_wanted ? task.passes : uint8_t{0});
    if (!is_wanted) return;
    const HtSlot slot = t.gload_ro(p.table.slots + of_plan.first_slot + of_plan.num_slots + k);
    task.cleanup = number / p.table.num_blocks * p.table.frame_bytes + slot.cleanup;
    task.rest = slot.rest;
    task.both = slot.both;
    task.bit_planes = 0;
    task.is_counted = true;
    task.coding = static_cast<uint8_t>(1 + k);
    t.gstore(p.tasks + to, task);
    const uint32_t at = t.atomic_add(p.lists.counts + task.passes, 1u);
    t.gstore(p.lists.tasks + uint64_t{task.passes} * p.lists.capacity + at, to);
  }
};

}  // namespace cj2k::cuda::ht
