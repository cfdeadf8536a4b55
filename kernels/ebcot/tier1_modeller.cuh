// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context modelling with all samples of a bit-plane in parallel. The method is that of
// coders/ebcot/tier1_model-inl.h, which explains it, and so are the letters of the masks:
//   S  samples significant before the plane      N  samples that the significance pass finds
//   B  bits of the plane                         C  samples that the clean-up pass finds
//   A = S | N                                    E = A | C
//
// A thread owns a cell: 8 columns of one stripe as a 32-bit word, bit 4 * column + row. Bits in
// ascending order are in the order of a coding pass. Threads are in that order, too: cells of a
// stripe from left to right, stripes from top to bottom.
//
// Other threads read S, A and E of a cell from shared memory, where one zero cell follows each
// stripe and a zero stripe stands above and below the block:
//   index(stripe, cell) = 1 + (stripe + 1) * pitch + cell,   pitch = cells_wide + 1
#pragma once

#include "core/distortion.h"
#include "core/ebcot/mq.h"
#include "core/ebcot/segments.h"
#include "core/orientation.h"
#include "kernels/ebcot/tier1_block.cuh"
#include "kernels/simt/kernel.h"

namespace cj2k::cuda::tier1 {

inline constexpr uint32_t kRow0 = 0x11111111u, kRow3 = 0x88888888u;

/// Shared memory of a Group: one total per warp.
template <uint32_t kWarps>
struct GroupScratch {
  uint32_t totals[kWarps];
};
template <>
struct GroupScratch<1> {};

/// The warps that work on one code-block: the first kWarps warps of a thread block, or any warp
/// where kWarps is 1. A single warp synchronises on its own. Several warps use the barrier of the
/// thread block where they are all of it (kAlone), else the named barrier kGroupBarrier.
inline constexpr uint32_t kGroupBarrier = 1;
template <typename T, uint32_t kWarps, bool kAlone>
class Group {
 public:
  static constexpr uint32_t kThreads = kWarps * 32;
  CJ2K_KERNEL_FN Group(T& t, GroupScratch<kWarps>& scratch) : t_(t), scratch_(scratch) {}

  CJ2K_KERNEL_FN uint32_t thread() const { return kWarps == 1 ? t_.lane() : t_.thread(); }
  /// Waits for the group and orders its accesses to shared memory. The shuffles and votes of a warp
  /// do not order them.
  CJ2K_KERNEL_FN void sync() {
    if constexpr (kWarps == 1) {
      t_.sync_warp();
    } else if constexpr (kAlone) {
      t_.sync();
    } else {
      t_.sync_named(kGroupBarrier, kThreads);
    }
  }
  /// Whether any thread has `predicate` set. Orders shared memory, too.
  CJ2K_KERNEL_FN bool any(bool predicate) {
    const bool of_warp = t_.any(predicate);
    if constexpr (kWarps == 1) {
      t_.sync_warp();
      return of_warp;
    } else {
      return exchange(of_warp ? 1u : 0u).total != 0;
    }
  }
  CJ2K_KERNEL_FN uint32_t exclusive_add(uint32_t value, uint32_t* total) {
    const uint32_t sum = t_.warp_inclusive_add(value);
    if constexpr (kWarps == 1) {
      *total = t_.shuffle(sum, 31);
      return sum - value;
    } else {
      const Totals totals = exchange(t_.shuffle(sum, 31));
      *total = totals.total;
      return totals.before + sum - value;
    }
  }
  CJ2K_KERNEL_FN int32_t reduce_add(int32_t value) {
    const int32_t of_warp = t_.warp_reduce_add(value);
    if constexpr (kWarps == 1) {
      return of_warp;
    } else {
      return static_cast<int32_t>(exchange(static_cast<uint32_t>(of_warp)).total);
    }
  }
  /// Sum over the group, |value| < 2^40. A GPU adds 32-bit values over a warp in one instruction,
  /// so a 64-bit value is added in two halves.
  CJ2K_KERNEL_FN int64_t reduce_add(int64_t value) {
    constexpr int kLowBits = 18;
    static_assert(kThreads <= 256);
    const int32_t high = reduce_add(static_cast<int32_t>(value >> kLowBits));
    const int32_t low = reduce_add(static_cast<int32_t>(value & ((1 << kLowBits) - 1)));
    return int64_t{high} * (1 << kLowBits) + low;
  }

 private:
  struct Totals {
    uint32_t before, total;
  };
  /// Sums the values of the warps: those of the warps before this one, and of all. Two barriers.
  CJ2K_KERNEL_FN Totals exchange(uint32_t of_warp) {
    if (t_.lane() == 0) t_.sstore(scratch_.totals[t_.warp()], of_warp);
    sync();
    Totals totals{0, 0};
    CJ2K_UNROLL
    for (uint32_t i = 0; i < kWarps; ++i) {
      const uint32_t value = t_.sload(scratch_.totals[i]);
      if (i < t_.warp()) totals.before += value;
      totals.total += value;
    }
    sync();
    return totals;
  }

  T& t_;
  GroupScratch<kWarps>& scratch_;
};

/// A state of a cell, and of the cells around it that come before it in the scan.
struct Before {
  uint32_t own, left, up, up_left, up_right;
};
/// A state of a cell, and of the cells around it that come after it in the scan.
struct After {
  uint32_t own, right, down, down_left, down_right;
};

/// For each sample the sample to its left (right).
CJ2K_KERNEL_FN uint32_t left_column(uint32_t own, uint32_t left) { return own << 4 | left >> 28; }
CJ2K_KERNEL_FN uint32_t right_column(uint32_t own, uint32_t right) {
  return own >> 4 | right << 28;
}
/// For each sample the sample above (below) it: in the same cell, or at the edge of the cell in the
/// stripe above (below).
CJ2K_KERNEL_FN uint32_t above(uint32_t own, uint32_t up) {
  return (own << 1 & ~kRow0) | (up >> 3 & kRow0);
}
CJ2K_KERNEL_FN uint32_t below(uint32_t own, uint32_t down, uint32_t row3_open) {
  return (own >> 1 & ~kRow3) | (down << 3 & row3_open);
}

/// Significance of the eight neighbours of each sample. Neighbours that precede the sample in the
/// scan come from `pre`, the others from `post`.
struct Neighbours {
  uint32_t left, right, up, down, left_up, left_down, right_up, right_down;

  /// @param row3_open  kRow3; 0 with VSC: then the samples below row 3 count as insignificant
  CJ2K_KERNEL_FN Neighbours(const Before& pre, const After& post, uint32_t row3_open)
      : left(left_column(pre.own, pre.left)),
        right(right_column(post.own, post.right)),
        up(above(pre.own, pre.up)),
        down(below(post.own, post.down, row3_open)),
        left_up(above(left, left_column(pre.up, pre.up_left))),
        left_down(below(left, left_column(post.down, post.down_left), row3_open)),
        right_up(above(right, right_column(pre.up, pre.up_right))),
        right_down(below(right, right_column(post.down, post.down_right), row3_open)) {}

  CJ2K_KERNEL_FN uint32_t any() const {
    return left | right | up | down | left_up | left_down | right_up | right_down;
  }
};

/// The decisions of a pass in one cell. All members are masks of samples; label[i] and
/// sign_label[i] hold bit i of the context labels.
struct Decisions {
  uint32_t coded = 0;      ///< samples that code a bit (run mode: the stripe column's first sample)
  uint32_t signs = 0;      ///< samples that code a sign
  uint32_t breaks = 0;     ///< the first one-bit of each interrupted run
  uint32_t label[4];       ///< context of the bit: zero coding, run or refinement
  uint32_t sign_label[3];  ///< context of the sign
  uint32_t sign_bit;       ///< decision of the sign

  template <typename T>
  CJ2K_KERNEL_FN uint32_t count() const {
    return T::popcount(coded) + T::popcount(signs) + 3 * T::popcount(breaks);
  }
};

/// Zero-coding contexts, T.800 table D.1, for all samples of a cell. x1: exactly one of the two
/// neighbours is significant, x2: both are. p and q: the diagonal neighbours above and below.
CJ2K_KERNEL_FN void zero_labels(const Neighbours& n, uint32_t orientation, uint32_t* label) {
  uint32_t h1 = n.left ^ n.right, h2 = n.left & n.right;
  uint32_t v1 = n.up ^ n.down, v2 = n.up & n.down;
  const uint32_t p2 = n.left_up & n.right_up, p = n.left_up | n.right_up;
  const uint32_t q2 = n.left_down & n.right_down, q = n.left_down | n.right_down;
  const uint32_t d_any = p | q;
  const uint32_t d_two = p2 | q2 | (p & q);
  if (orientation == kHH) {
    const uint32_t d_three = (p2 & q) | (q2 & p);
    const uint32_t h = h1 | h2, v = v1 | v2;
    const uint32_t any = h | v, two = h2 | v2 | (h & v);
    const uint32_t d_one = d_any & ~d_two, d_exact_two = d_two & ~d_three;
    // 8: d >= 3; 7, 6: d = 2; 5, 4, 3: d = 1; 2, 1, 0: d = 0
    label[3] = d_three;
    label[2] = d_exact_two | (d_one & any);
    label[1] = d_exact_two | (d_one & ~any) | (two & ~d_any);
    label[0] = (d_exact_two & any) | (d_one & (two | ~any)) | (any & ~(d_any | two));
    return;
  }
  if (orientation == kHL) {
    const uint32_t t1 = h1, t2 = h2;
    h1 = v1, h2 = v2, v1 = t1, v2 = t2;
  }
  const uint32_t h = h1 | h2, v = v1 | v2;
  // 8: h = 2; 7: h = 1, v; 6: h = 1, d; 5: h = 1; 4: v = 2; 3: v = 1; 2: d >= 2; 1: d = 1
  label[3] = h2;
  label[2] = h1 | (v2 & ~h);
  label[1] = (h1 & (v | d_any)) | (~h & (v1 | (d_two & ~v)));
  label[0] = (h1 & (v | ~d_any)) | (~h & (v1 | (d_any & ~d_two & ~v)));
}

/// Signs of the samples and of their four neighbours; 1: negative.
struct Signs {
  uint32_t own, left, right, up, down;
};

/// Sign-coding contexts and decisions, T.800 tables D.2 and D.3, for all samples of a cell.
CJ2K_KERNEL_FN void sign_labels(const Neighbours& n, const Signs& x, Decisions& d) {
  const uint32_t l_minus = n.left & x.left, l_plus = n.left & ~x.left;
  const uint32_t r_minus = n.right & x.right, r_plus = n.right & ~x.right;
  const uint32_t u_minus = n.up & x.up, u_plus = n.up & ~x.up;
  const uint32_t d_minus = n.down & x.down, d_plus = n.down & ~x.down;
  const uint32_t h_plus = (l_plus & ~r_minus) | (r_plus & ~l_minus);
  const uint32_t h_minus = (l_minus & ~r_plus) | (r_minus & ~l_plus);
  const uint32_t v_plus = (u_plus & ~d_minus) | (d_plus & ~u_minus);
  const uint32_t v_minus = (u_minus & ~d_plus) | (d_minus & ~u_plus);
  const uint32_t h = h_plus | h_minus, v = v_plus | v_minus;
  const uint32_t alike = (h_plus & v_plus) | (h_minus & v_minus);
  // 4: h and v have the same sign; 3: only h is not 0; 2: opposite signs; 1: only v is not 0
  d.sign_label[2] = alike;
  d.sign_label[1] = h & ~alike;
  d.sign_label[0] = h ^ v;
  d.sign_bit = x.own ^ (h_minus | (v_minus & ~h));
}

/// The samples and their neighbours above and below within the stripe column.
CJ2K_KERNEL_FN uint32_t spread_rows(uint32_t column) {
  return column | (column << 1 & ~kRow0) | (column >> 1 & ~kRow3);
}

/// The decisions of the clean-up pass.
/// @param left_over  samples that the two other passes have not coded
/// @param ones       samples of left_over whose bit is 1
/// @param e_up       row 0: E of the sample above, which lies in the stripe above
/// @param a_down     row 3: A of the sample below, which lies in the stripe below; 0 with VSC
CJ2K_KERNEL_FN Decisions cleanup_decisions(const Neighbours& n, uint32_t orientation,
                                           const Signs& x, uint32_t left_over, uint32_t ones,
                                           uint32_t e_up, uint32_t a_down) {
  Decisions d;
  zero_labels(n, orientation, d.label);
  sign_labels(n, x, d);
  // Run mode (D.3.4): all four samples of a stripe column are left over, and no sample around them
  // is significant when the scan reaches the column. No sample inside the column is significant at
  // that moment, so within the column only the samples in the stripes above and below count.
  const uint32_t around =
      n.left | n.right | e_up | a_down | n.left_up | n.left_down | n.right_up | n.right_down;
  const uint32_t quiet = left_over & ~around;
  const uint32_t quiet2 = quiet & quiet >> 1;
  const uint32_t run0 = quiet2 & quiet2 >> 2 & kRow0;
  const uint32_t run = run0 * 15;
  // Rows below the first one-bit of a column. In a run that this bit breaks all of them code a bit.
  const uint32_t after1 = ones << 1 & ~kRow0;
  const uint32_t after2 = after1 | (after1 << 1 & ~kRow0);
  const uint32_t after = after2 | (after2 << 1 & ~kRow0);
  const uint32_t ones2 = ones | ones >> 1;
  const uint32_t whole_run = run0 & ~(ones2 | ones2 >> 2);  // no one-bit in it: one decision
  d.coded = (left_over & ~run) | (run & after) | whole_run;
  d.signs = ones;
  d.breaks = run & ones & ~after;
  // kRun = 12 = 1100b. All label bits of such a sample are 0 so far.
  d.label[2] |= whole_run;
  d.label[3] |= whole_run;
  return d;
}

/// Writes the decisions of a cell to out[0] and up, in the order of the scan. A symbol is put
/// together from its highest bit on: a shift brings the sample's bit of a mask to the top, a funnel
/// shift moves it into the symbol.
/// @param bits  bits of the plane
template <typename T>
CJ2K_KERNEL_FN void emit(T& t, const Decisions& d, uint32_t bits, uint8_t* out) {
  const auto put = [&](uint32_t symbol) { t.sstore(*out++, static_cast<uint8_t>(symbol)); };
  for (uint32_t rest = d.coded | d.signs; rest != 0; rest &= rest - 1) {
    const uint32_t k = T::ctz(rest), up = 31 - k;
    const auto is_set = [up](uint32_t word) { return static_cast<int32_t>(word << up) < 0; };
    const auto append = [up](uint32_t symbol, uint32_t word) {
      return T::funnel_left(word << up, symbol, 1);
    };
    if (is_set(d.breaks)) {
      put(mq::symbol(mq::kRun, 1));
      put(mq::symbol(mq::kUniform, k >> 1 & 1));
      put(mq::symbol(mq::kUniform, k & 1));
    }
    if (is_set(d.coded)) {
      uint32_t symbol = append(0, d.label[3]);
      symbol = append(append(symbol, d.label[2]), d.label[1]);
      put(append(append(symbol, d.label[0]), bits));
    }
    if (is_set(d.signs)) {
      uint32_t symbol = append(mq::kSign >> 3, d.sign_label[2]);
      symbol = append(append(symbol, d.sign_label[1]), d.sign_label[0]);
      put(append(symbol, d.sign_bit));
    }
  }
}

/// The same for a refinement pass, which has no signs and no runs. The symbols of a stripe column are
/// put together side by side, a byte each: some 40 instructions, where emit has 22 for a decision.
template <typename T>
CJ2K_KERNEL_FN void emit_refinement(T& t, const Decisions& d, uint32_t bits, uint8_t* out) {
  // Bits 0 to 3 of a word go to bit `to` of four bytes.
  const auto spread = [](uint32_t word, uint32_t to) {
    return (word & 15) * (0x00204081u << to) & 0x01010101u << to;
  };
  constexpr uint32_t kFour = 0x01010101u * mq::symbol(mq::kRefine & ~3, 0);
  uint32_t coded = d.coded, label1 = d.label[1], label0 = d.label[0];
  while (coded != 0) {
    const uint32_t column = T::ctz(coded) & ~3u;
    coded >>= column, label1 >>= column, label0 >>= column, bits >>= column;
    const uint32_t symbols = kFour | spread(label1, 2) | spread(label0, 1) | spread(bits, 0);
    CJ2K_UNROLL
    for (uint32_t row = 0; row < 4; ++row) {
      if ((coded >> row & 1) != 0) t.sstore(*out++, static_cast<uint8_t>(symbols >> 8 * row));
    }
    coded &= ~15u;
  }
}

/// Shared memory of a Modeller.
template <uint32_t kWarps>
struct ModelScratch {
  /// (stripes + 2) * (cells_wide + 1) + 1 is at most 100 (one row of 32 cells), 388 (one row of
  /// 128) and 517 (one column of 256 cells, or 2 rows of 128).
  static constexpr uint32_t kCells = kWarps == 8 ? 520 : kWarps == 4 ? 388 : 100;
  uint32_t state[3][kCells];
  GroupScratch<kWarps> group;
};
/// Maximum number of samples of a block that `warps` warps model.
constexpr uint32_t model_samples(uint32_t warps) { return warps == 1 ? 1024 : 4096; }

/// The decisions of the passes of one plane of one block, by the threads of a group G; an object is
/// one thread's cell. All threads of the group call its functions together.
template <typename T, typename G, uint32_t kWarps>
class CellModel {
 public:
  CJ2K_KERNEL_FN CellModel(T& t, ModelScratch<kWarps>& scratch, uint32_t width, uint32_t height,
                           uint32_t orientation, uint32_t style)
      : t_(t), group_(t, scratch.group), scratch_(scratch), orientation_(orientation) {
    const uint32_t cells_wide = (width + 7u) / 8, stripes = (height + 3u) / 4;
    pitch_ = cells_wide + 1;
    const uint32_t thread = group_.thread();
    active_ = thread < cells_wide * stripes;
    const uint32_t cell = active_ ? thread : 0;
    stripe_ = cell / cells_wide, column_ = cell % cells_wide;
    index_ = 1 + (stripe_ + 1) * pitch_ + column_;
    const uint32_t rows = height - 4 * stripe_, columns = width - 8 * column_;
    valid_ = rows >= 4 ? 0xFFFFFFFFu : kRow0 * ((1u << rows) - 1);
    if (columns < 8) valid_ &= (1u << 4 * columns) - 1;
    if (!active_) valid_ = 0;
    row3_open_ = (style & CJ2K_STYLE_VSC) != 0 ? 0 : kRow3;
    num_cells_ = (stripes + 2) * pitch_ + 1;
  }

 protected:
  /// Reads a state of the cell at `offset` from the own cell.
  CJ2K_KERNEL_FN uint32_t see(uint32_t state, int32_t offset) {
    return t_.sload(scratch_.state[state][static_cast<int32_t>(index_) + offset]);
  }
  CJ2K_KERNEL_FN Before see_before(uint32_t state) {
    const int32_t pitch = static_cast<int32_t>(pitch_);
    return {see(state, 0), see(state, -1), see(state, -pitch), see(state, -pitch - 1),
            see(state, -pitch + 1)};
  }
  CJ2K_KERNEL_FN After see_after(uint32_t state) {
    const int32_t pitch = static_cast<int32_t>(pitch_);
    return {see(state, 0), see(state, 1), see(state, pitch), see(state, pitch - 1),
            see(state, pitch + 1)};
  }
  /// Writes a state of the own cell.
  CJ2K_KERNEL_FN void show(uint32_t state, uint32_t value) {
    if (active_) t_.sstore(scratch_.state[state][index_], value);
  }

  CJ2K_KERNEL_FN void clear() {
    for (uint32_t i = group_.thread(); i < num_cells_; i += G::kThreads) {
      CJ2K_UNROLL
      for (uint32_t state = 0; state < 3; ++state) t_.sstore(scratch_.state[state][i], 0);
    }
    group_.sync();
  }
  /// @param own  of the cell's samples; the cells are cleared
  CJ2K_KERNEL_FN void set_signs(uint32_t own) {
    show(kA, own);
    group_.sync();
    const Before before = see_before(kA);
    const After after = see_after(kA);
    signs_ = {own, left_column(own, before.left), right_column(own, after.right),
              above(own, before.up), below(own, after.down, kRow3)};
    group_.sync();
  }
  /// Begins with a plane. @param refined, significant  what is significant one plane before, and now
  CJ2K_KERNEL_FN void set_significance(uint32_t refined, uint32_t significant) {
    refined_ = refined;
    significant_ = significant;
    s_ = 0;
    show(s_, significant_);
    show(kA, significant_);
  }

  /// Grows N: a sample whose bit is 1 joins N when a neighbour is in S, or when a neighbour that
  /// precedes it in the scan is in N. Repeats until no cell of the block changes. Leaves A in
  /// shared memory.
  /// @param members  set to the samples that the significance pass codes
  /// @return N
  CJ2K_KERNEL_FN uint32_t grow(uint32_t* members) {
    const uint32_t near = Neighbours(see_before(s_), see_after(s_), row3_open_).any();
    const uint32_t insignificant = valid_ & ~significant_;
    const uint32_t candidates = insignificant & bits_;
    uint32_t found = candidates & near;
    const auto reach = [](uint32_t from) { return spread_rows(from << 4) | (from << 1 & ~kRow0); };
    uint32_t incoming;
    while (true) {
      show(kA, significant_ | found);
      group_.sync();
      const Before before = see_before(kA);
      const uint32_t left = before.left >> 28;
      const uint32_t up = before.up | left_column(before.up, before.up_left) |
                          right_column(before.up, before.up_right);
      incoming = ((left | left << 1 | left >> 1) & 0xF) | (up >> 3 & kRow0);
      uint32_t grown = found | (candidates & incoming);
      uint32_t last;
      do {
        last = grown;
        grown |= candidates & reach(grown);
      } while (grown != last);
      const bool changed = grown != found;
      found = grown;
      if (!group_.any(changed)) break;
    }
    *members = insignificant & (near | incoming | reach(found));
    return found;
  }

  /// The significance pass, after grow.
  CJ2K_KERNEL_FN Decisions significance_pass(uint32_t members, uint32_t found) {
    Decisions d;
    const Neighbours n(see_before(kA), see_after(s_), row3_open_);
    zero_labels(n, orientation_, d.label);
    sign_labels(n, signs_, d);
    d.coded = members;
    d.signs = found;
    return d;
  }
  CJ2K_KERNEL_FN Decisions refinement_pass() {
    Decisions r;
    const uint32_t any = Neighbours(see_before(kA), see_after(kA), row3_open_).any();
    // 1001b (kRefine = 9): first refinement, no significant neighbour; 1010b: first refinement
    // with one; 1011b: refined before
    r.label[3] = significant_;
    r.label[2] = 0;
    r.label[1] = refined_ | any;
    r.label[0] = refined_ | ~any;
    r.sign_label[0] = r.sign_label[1] = r.sign_label[2] = r.sign_bit = 0;
    r.coded = significant_;
    return r;
  }
  /// @param left_over  samples that the other passes have not coded
  /// @param ones       those whose bit is 1
  /// @param e          E
  CJ2K_KERNEL_FN Decisions cleanup_pass(uint32_t left_over, uint32_t ones, uint32_t e) {
    const uint32_t e_state = s_ ^ 1;
    show(e_state, e);
    group_.sync();
    const Before before = see_before(e_state);
    const After after = see_after(kA);
    return cleanup_decisions(Neighbours(before, after, row3_open_), orientation_, signs_, left_over,
                             ones, before.up >> 3 & kRow0, after.down << 3 & row3_open_);
  }
  CJ2K_KERNEL_FN void end_plane(uint32_t e) {
    refined_ = significant_;
    significant_ = e;
    s_ ^= 1;
  }

  static constexpr uint32_t kA = 2;  ///< index of the state A; S and E take turns in 0 and 1

  T& t_;
  G group_;
  ModelScratch<kWarps>& scratch_;
  const uint32_t orientation_;
  uint32_t pitch_, num_cells_;
  uint32_t stripe_, column_;  ///< of the cell
  uint32_t index_, valid_, row3_open_;
  bool active_;
  Signs signs_;
  uint32_t s_;  ///< index of the state S: 0 or 1
  uint32_t significant_, refined_, bits_;
};

/// Context modelling of one block by the threads of a group G; an object is one thread's part. The
/// decisions of each pass go to a `Sink`. All threads of the group call its functions together:
///   uint8_t* place(uint32_t count)
///       returns where to write `count` decisions, in shared memory, with room to a multiple of 16
///   void publish(uint32_t count, int64_t distortion, int plane)
///       the decisions of the pass are written, but the group has not synchronised since
///   void end_plane()
///       all passes of the plane are published
///   bool goes_on(int plane)
///       whether the planes below this one are wanted
template <typename T, typename G, uint32_t kWarps, typename Sink>
class Modeller : private CellModel<T, G, kWarps> {
  using Cells = CellModel<T, G, kWarps>;

 public:
  CJ2K_KERNEL_FN Modeller(T& t, ModelScratch<kWarps>& scratch, const Tier1Buffers& buffers,
                          const Tier1Job& job, uint32_t block, uint32_t style, bool reversible,
                          Sink& sink)
      : Cells(t, scratch, job.width, job.height, job.orientation, style),
        sink_(sink),
        style_(style),
        reversible_(reversible) {
    const uint32_t frame = block / buffers.num_blocks;
    words_ = reinterpret_cast<const uint32_t*>(buffers.planes.words +
                                               frame * buffers.planes.frame_words + job.first_word);
    bit_planes_ = bit_planes(t, buffers, block);
    const uint32_t row_cells = (job.width + 15u) / 16 * 2;
    plane_cells_ = row_cells * ((job.height + 3u) / 4);
    cell_ = this->stripe_ * row_cells + this->column_;
  }

  /// Models the planes from `plane` down to `last_plane`; no plane where last_plane > plane.
  CJ2K_KERNEL_FN void planes(int plane, int last_plane) {
    if (plane < last_plane) return;
    begin(plane);
    while (true) {
      code_plane(plane);
      if (plane == last_plane || !sink_.goes_on(plane)) break;
      bits_ = load_plane(--plane);
    }
  }

 private:
  using Cells::bits_;
  using Cells::group_;
  using Cells::refined_;
  using Cells::significant_;
  using Cells::signs_;
  using Cells::t_;
  using Cells::valid_;

  CJ2K_KERNEL_FN uint32_t load(int64_t plane_cells) {
    return valid_ == 0 ? 0 : t_.gload_ro(words_ + plane_cells + cell_) & valid_;
  }
  CJ2K_KERNEL_FN uint32_t load_plane(int plane) {
    return load(static_cast<int64_t>(plane_cells_) * (bit_planes_ - plane));
  }

  /// Loads the signs and the bits of `plane`, and computes S from the planes above it.
  CJ2K_KERNEL_FN void begin(int plane) {
    const int top = bit_planes_ - 1;
    this->clear();
    this->set_signs(load(0));

    uint32_t refined = 0;
    for (int above_it = top; above_it > plane + 1; --above_it) refined |= load_plane(above_it);
    this->set_significance(refined, refined | (plane < top ? load_plane(plane + 1) : 0));
    bits_ = load_plane(plane);
    group_.sync();

    pass_ = static_cast<uint32_t>(num_passes_of(top - plane));
  }

  CJ2K_KERNEL_FN void code_plane(int plane) {
    uint32_t members = 0, found = 0;
    if (plane != bit_planes_ - 1) found = this->grow(&members);
    const uint32_t a = significant_ | found;
    const uint32_t left_over = valid_ & ~(significant_ | members);
    const uint32_t ones = left_over & bits_;
    const LowSums low = low_sums(plane, found, ones);
    if (plane != bit_planes_ - 1) {
      Decisions d = this->significance_pass(members, found);
      if (pass_is_raw(style_, static_cast<int>(pass_))) d.sign_bit = signs_.own;
      finish_pass(d, plane, new_distortion(plane, found, low.found), 0);
      finish_pass<true>(this->refinement_pass(), plane, refined_distortion(plane, low.differ), 0);
    }

    const uint32_t e = a | ones;
    const Decisions d = this->cleanup_pass(left_over, ones, e);
    const bool segsym = (style_ & CJ2K_STYLE_SEGSYM) != 0;
    finish_pass(d, plane, new_distortion(plane, ones, low.cleaned), segsym ? 4 : 0);
    this->end_plane(e);
    sink_.end_plane();
  }

  /// Sums of the bits below a plane, each bit with the weight 2^(its plane). found, cleaned: over
  /// the samples that the significance pass and the clean-up pass find. differ: over the refined
  /// samples, of the bits that are not equal to the sample's bit in the plane.
  struct LowSums {
    uint64_t found = 0, cleaned = 0, differ = 0;
  };
  CJ2K_KERNEL_FN LowSums low_sums(int plane, uint32_t found, uint32_t cleaned) {
    LowSums sums;
    if ((significant_ | found | cleaned) == 0) return sums;
    for (int below = plane - 1; below >= 0; --below) {
      const uint32_t low = load_plane(below);
      const uint64_t weight = uint64_t{1} << below;
      sums.found += weight * T::popcount(found & low);
      sums.cleaned += weight * T::popcount(cleaned & low);
      sums.differ += weight * T::popcount(significant_ & (bits_ ^ low));
    }
    return sums;
  }
  // Both distortions are linear in counts and sums, so they can be computed per cell and added.
  CJ2K_KERNEL_FN int64_t new_distortion(int plane, uint32_t set, uint64_t low_sum) const {
    return significance_distortion(plane, reversible_, static_cast<int32_t>(T::popcount(set)),
                                   static_cast<int64_t>(low_sum));
  }
  CJ2K_KERNEL_FN int64_t refined_distortion(int plane, uint64_t differ_low) const {
    const auto ones = static_cast<int32_t>(T::popcount(significant_ & bits_));
    const auto zeros = static_cast<int32_t>(T::popcount(significant_ & ~bits_));
    // The same formula as in plane_sums of coders/ebcot/tier1_model-inl.h.
    const int64_t difference =
        ((int64_t{1} << plane) - 1) * ones - static_cast<int64_t>(differ_low);
    return refinement_distortion(plane, reversible_, ones, zeros, difference);
  }

  /// Writes the decisions of all cells followed by `extra` decisions of SEGSYM. Fills the last 16
  /// bytes with kIdleSymbol.
  template <bool kRefinement = false>
  CJ2K_KERNEL_FN void finish_pass(const Decisions& d, int plane, int64_t distortion,
                                  uint32_t extra) {
    uint32_t total;
    const uint32_t offset = group_.exclusive_add(d.template count<T>(), &total);
    distortion = group_.reduce_add(distortion);
    uint8_t* out = sink_.place(total + extra);
    // Columns pay where most of them have several decisions: a mean of 8 for a cell of 8 columns.
    if (kRefinement && total >= 8 * G::kThreads) {
      emit_refinement(t_, d, bits_, out + offset);
    } else {
      emit(t_, d, bits_, out + offset);
    }
    if (group_.thread() < extra) {
      t_.sstore(out[total + group_.thread()], mq::symbol(mq::kUniform, ~group_.thread() & 1));
    }
    if (group_.thread() < (0 - total - extra) % 16) {
      t_.sstore(out[total + extra + group_.thread()], kIdleSymbol);
    }
    sink_.publish(total + extra, distortion, plane);
    ++pass_;
  }

  Sink& sink_;
  const uint32_t style_;
  const bool reversible_;
  const uint32_t* words_;
  int bit_planes_;
  uint32_t plane_cells_, cell_;
  uint32_t pass_;
};

}  // namespace cj2k::cuda::tier1
