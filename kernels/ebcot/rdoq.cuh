// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel that quantises code-blocks with RDOQ (coders/ebcot/rdoq.h has the model): the changes of
// the CPU backend, in its order.
//
// The samples of a group do not see each other's trials, so all threads try at once. A trial reads cells
// of columns x - 2 .. x + 2 in four stripes, and writes those of columns x - 1 .. x + 1 in the stripes of
// rows y - 1 .. y + 1. A cell that one sample of a group writes, another one may read for the rows next to
// its own. So all threads read before any writes.
#pragma once

#include <bit>

#include "core/ebcot/rdoq_trial.h"
#include "core/stop.h"
#include "kernels/ebcot/quantize.cuh"
#include "kernels/ebcot/rdoq.h"
#include "kernels/ebcot/rdoq_cells.cuh"

namespace cj2k::cuda::tier1 {

/// RDOQ of one block by the threads of a thread block.
template <typename T, uint32_t kWarps>
class Optimiser {
  using G = Group<T, kWarps, true>;

 public:
  CJ2K_KERNEL_FN Optimiser(T& t, RdoqSmem<kWarps>& s, const Tier1Job& job,
                           const QuantizeJob& source, const Coefficients& coefficients,
                           const RdoqParams& params)
      : t_(t),
        group_(t, s.model.group),
        s_(s),
        job_(job),
        of_(coefficients),
        params_(params),
        width_(job.width),
        height_(job.height),
        stripes_((job.height + 3) / 4),
        words_wide_(source.words_wide),
        word_groups_(job.width > 12 ? 4 : (job.width + 3u) / 4) {}

  /// @param plane, kind, lambda  RdoqBlock
  /// @param magnitudes           bitwise OR of all; also after the changes
  CJ2K_KERNEL_FN void run(int plane, PassKind kind, double lambda, uint32_t* magnitudes) {
    of_.scale = std::bit_cast<float>(static_cast<uint32_t>(127 + kRdoqFraction - plane) << 23);
    const auto model_of = [&](int planes) {
      return rdoq::Model(plane, planes, kind, of_.reversible, params_.style, lambda);
    };
    bool changed = false;
    int planes = rdoq::bit_width(*magnitudes);
    rdoq::Model model = model_of(planes);
    CJ2K_HD_ROLLED
    for (int round = 0; round < params_.rounds && planes > plane; ++round) {
      if (round == 0 || planes != model.planes) {
        model = model_of(planes);
        if (!begin_round(model, round == 0)) break;
      }
      mark_candidates(model);
      if (!visit_all(model, round == 0)) break;
      changed = true;
      *magnitudes = all_magnitudes();
      planes = rdoq::bit_width(*magnitudes);
    }
    if (changed) correct(model_of(planes));
  }

 private:
  CJ2K_KERNEL_FN uint32_t& sample(int x, int y) const {
    const auto column = static_cast<uint32_t>(x), row = static_cast<uint32_t>(y);
    const uint32_t word = row / 4 * words_wide_ + column / 16;
    const uint32_t place = (word * word_groups_ + column % 16 / 4) * 4 + row % 4;
    return reinterpret_cast<uint32_t*>(s_.samples)[4 * place + column % 4];
  }
  CJ2K_KERNEL_FN uint64_t& cell(int x, int y) const { return s_.cells[y / 4 * width_ + x]; }

  CJ2K_KERNEL_FN int rows_of(int stripe) const {
    return height_ - 4 * stripe < 4 ? height_ - 4 * stripe : 4;
  }

  /// Calls visit(uint64_t& cell, int x, int stripe) for each cell; a thread has the same ones each time.
  template <typename Visit>
  CJ2K_KERNEL_FN void each_cell(const Visit& visit) {
    const int count = width_ * stripes_;
    CJ2K_HD_ROLLED
    for (int i = static_cast<int>(group_.thread()); i < count; i += static_cast<int>(G::kThreads))
      visit(s_.cells[i], i % width_, i / width_);
  }
  template <typename Visit>
  CJ2K_KERNEL_FN void each_sample(const Visit& visit) {
    each_cell([&](uint64_t& cell, int x, int stripe) {
      CJ2K_HD_ROLLED
      for (int row = 0; row < rows_of(stripe); ++row) visit(cell, x, 4 * stripe + row);
    });
  }
  CJ2K_KERNEL_FN void add_to(int64_t* sum, int64_t value) {
    t_.atomic_add(reinterpret_cast<uint64_t*>(sum), static_cast<uint64_t>(value));
  }
  /// Adds the values of all threads.
  CJ2K_KERNEL_FN void reduce_to(int64_t* sum, int64_t value) {
    const uint64_t of_warp = t_.warp_reduce_add(static_cast<uint64_t>(value));
    if (t_.lane() == 0) add_to(sum, static_cast<int64_t>(of_warp));
  }

  /// @return whether the block may pay
  CJ2K_KERNEL_FN bool begin_round(const rdoq::Model& model, bool is_first) {
    fill_cells(model.plane, is_first);
    CJ2K_HD_ROLLED
    for (uint32_t i = group_.thread(); i < sizeof s_.counts / 4; i += G::kThreads)
      t_.sstore(reinterpret_cast<uint32_t*>(s_.counts)[i], 0);
    group_.sync();
    DecisionCounter<T, G, kWarps>(t_, s_, job_, params_.style).run(model, s_.counts);
    const bool asks = is_first && rdoq::may_ask(model);
    if (asks) add_errors(model);
    group_.sync();
    if (group_.thread() < mq::kNumContexts)
      rdoq::set_costs_of(s_.counts, group_.thread(), &s_.costs);
    group_.sync();
    if (asks) {
      CJ2K_HD_ROLLED
      for (uint32_t i = group_.thread(); i < 3 * kTrackedPlanes; i += G::kThreads) {
        const rdoq::PassCounts& of = s_.counts[i / 3];
        const int64_t rate = rdoq::rate_of(s_.costs, of.of(static_cast<int>(i % 3)));
        t_.sstore(s_.sums[i / 3][i % 3], model.lambda * rate + of.error[i % 3]);
      }
      group_.sync();
      if (!rdoq::may_pay(model, [&](int up, int pass) { return t_.sload(s_.sums[up][pass]); }))
        return false;
    }
    const auto orientation = static_cast<Orientation>(job_.orientation);
    CJ2K_HD_ROLLED
    for (uint32_t i = group_.thread(); i < 512; i += G::kThreads) {
      const unsigned label = rdoq::zero_label(orientation, i & rdoq::kNeighbours);
      s_.zero_cost[i] = rdoq::cost_pair(s_.costs.bits[label], 0);
    }
    CJ2K_HD_ROLLED
    for (uint32_t i = group_.thread(); i < 256; i += G::kThreads) {
      const ebcot::SignContext label = rdoq::sign_label(i);
      s_.sign_cost[i] = rdoq::cost_pair(s_.costs.bits[label.context], label.flip);
    }
    group_.sync();
    return true;
  }
  CJ2K_KERNEL_FN void fill_cells(int plane, bool is_first) {
    each_cell([&](uint64_t& cell, int x, int stripe) {
      uint64_t bits = is_first ? 0 : t_.sload(cell) & uint64_t{15} << 4 * kChanged;
      CJ2K_HD_ROLLED
      for (int row = 0; row < rows_of(stripe); ++row) {
        const uint32_t of = t_.sload(sample(x, 4 * stripe + row));
        bits |= (magnitude_maps(of >> 1 >> plane) | (of & 1)) << row;
      }
      t_.sstore(cell, bits);
    });
  }
  /// Adds the changes of D in each pass.
  CJ2K_KERNEL_FN void add_errors(const rdoq::Model& model) {
    group_.sync();
    CJ2K_HD_ROLLED
    for (int up = 0; up < model.tracked; ++up) {
      int64_t found = 0, refined = 0, cleaned = 0;
      each_sample([&](uint64_t& cell, int x, int y) {
        const uint64_t row = t_.sload(cell) >> (y & 3);
        if ((row >> 4 * (rdoq::kReached + up) & 1) == 0) return;
        const int32_t v = value(x, y);
        if ((row >> 4 * (rdoq::kReached + up + 1) & 1) != 0) {
          refined += model.refined(v, t_.sload(sample(x, y)) >> 1, up);
        } else if ((row >> 4 * (rdoq::kEarly + up) & 1) != 0) {
          found += model.significant(v, up);
        } else {
          cleaned += model.significant(v, up);
        }
      });
      reduce_to(&s_.counts[up].error[0], found);
      reduce_to(&s_.counts[up].error[1], refined);
      reduce_to(&s_.counts[up].error[2], cleaned);
    }
  }
  CJ2K_KERNEL_FN int32_t value(int x, int y) const { return of_.value(bits_at(x, y)); }

  CJ2K_KERNEL_FN uint32_t bits_at(int x, int y) const {
    return of_.bits(t_, static_cast<uint32_t>(x), static_cast<uint32_t>(y));
  }
  /// @param bits  of the coefficient
  CJ2K_KERNEL_FN int32_t target(const rdoq::Model& model, int x, int y, uint32_t bits) const {
    return target_of(t_.sload(s_.overlaps), of_.value(bits), bits >> 31 != 0, [&](int dx, int dy) {
      const int column = x + dx, row = y + dy;
      if (static_cast<uint32_t>(column) >= static_cast<uint32_t>(width_) ||
          static_cast<uint32_t>(row) >= static_cast<uint32_t>(height_))
        return 0;
      const uint32_t at = bits_at(column, row);
      return model.error(of_.value(at), t_.sload(sample(column, row)) >> 1, at >> 31 != 0);
    });
  }

  /// The target of the sample that the thread visits. Memory holds it, where registers are few.
  CJ2K_KERNEL_FN int32_t own_target() const { return t_.sload(s_.targets[group_.thread()]); }

  /// Marks the samples to which Model::changed gives another magnitude by their targets, with their signs.
  CJ2K_KERNEL_FN void mark_candidates(const rdoq::Model& model) {
    each_cell([&](uint64_t& cell, int x, int stripe) {
      uint64_t now = t_.sload(cell) & ~(uint64_t{15} << 4 * kCandidate);
      CJ2K_HD_ROLLED
      for (int row = 0; row < rows_of(stripe); ++row) {
        const int y = 4 * stripe + row;
        const uint32_t bits = bits_at(x, y);
        const int32_t v = target(model, x, y, bits);
        if (v < kLeastValue) continue;
        const uint32_t m = t_.sload(sample(x, y)) >> 1;
        bool may_change = model.changed(v, m, 0) != m;
        if (model.num_shifts() > 1) may_change |= model.changed(v, m, 1) != m;
        if (!may_change) continue;
        now |= cell_bit(kCandidate, row);
        if (bits >> 31 != 0) now |= cell_bit(rdoq::kSign, row);
      }
      t_.sstore(cell, now);
    });
    group_.sync();
  }

  /// @return whether any sample has changed
  CJ2K_KERNEL_FN bool visit_all(const rdoq::Model& model, bool is_first) {
    const uint32_t visible =
        (params_.style & CJ2K_STYLE_VSC) != 0 ? ~rdoq::kRowBelow : ~uint32_t{0};
    const rdoq::Trials trials(model, {&s_.costs, s_.zero_cost, s_.sign_cost}, visible, width_,
                              height_, params_.rounds, is_first);
    bool any = false;
    CJ2K_HD_ROLLED
    for (int group = 0; group < kRdoqRows * kRdoqColumns; ++group) {
      const uint32_t count = list_group(group, is_first);
      CJ2K_HD_ROLLED
      for (uint32_t i = group_.thread(); i - group_.thread() < count; i += G::kThreads) {
        const bool has = i < count;
        const uint32_t place = has ? t_.sload(s_.places[i]) : 0;
        const int x = static_cast<int>(place & 0xFFFF), y = static_cast<int>(place >> 16);
        CJ2K_HD_ROLLED
        for (int up = 0; up < model.num_shifts(); ++up) any |= visit(trials, model, has, x, y, up);
      }
    }
    return group_.any(any);
  }
  /// Lists the candidates of a group. @return their number
  CJ2K_KERNEL_FN uint32_t list_group(int group, bool is_first) {
    const int left = group % kRdoqColumns, top = group / kRdoqColumns;
    if (left >= width_ || top >= height_) return 0;
    const int wide = (width_ - left + kRdoqColumns - 1) / kRdoqColumns;
    const int total = wide * ((height_ - top + kRdoqRows - 1) / kRdoqRows);
    uint32_t count = 0;
    CJ2K_HD_ROLLED
    for (int first = 0; first < total; first += static_cast<int>(G::kThreads)) {
      const int i = first + static_cast<int>(group_.thread());
      const int x = left + kRdoqColumns * (i % wide), y = top + kRdoqRows * (i / wide);
      bool wanted = false;
      if (i < total) {
        const uint64_t row = t_.sload(cell(x, y)) >> (y & 3);
        wanted = (row >> 4 * kCandidate & 1) != 0 && (is_first || (row >> 4 * kChanged & 1) != 0);
      }
      uint32_t added;
      const uint32_t at = count + group_.exclusive_add(wanted ? 1 : 0, &added);
      if (wanted) t_.sstore(s_.places[at], static_cast<uint32_t>(x | y << 16));
      count += added;
    }
    if (count > 0) group_.sync();
    return count;
  }

  /// rdoq::Trials has what this is.
  struct At {
    const Optimiser& block;
    const NearCells& near;
    const int own, x, y;

    CJ2K_KERNEL_FN rdoq::Window window(int up, int i) const {
      rdoq::Window w;
      w.higher = near.columns(rdoq::kReached + up + 1, i);
      w.now = near.columns(rdoq::kReached + up, i) & ~w.higher;
      w.early = near.columns(rdoq::kEarly + up, i);
      w.sign = near.columns(rdoq::kSign, i);
      w.second = w.higher & ~near.columns(rdoq::kReached + up + 2, i);
      w.one = near.columns(rdoq::kOne + up, i);
      return w;
    }
    CJ2K_KERNEL_FN rdoq::Window own_window(int up) const {
      return own == 0 ? window(up, 0) : window(up, 1);
    }
    CJ2K_KERNEL_FN uint32_t reached(int up) const {
      const int map = rdoq::kReached + up;
      return own == 0 ? near.columns(map, 0) : near.columns(map, 1);
    }
    CJ2K_KERNEL_FN int32_t value(int column, int row) const {
      return column == x && row == y ? block.own_target() : block.value(column, row);
    }
  };

  /// One change of one sample for each thread. All threads of the group call together.
  /// @param has  the thread has a sample
  CJ2K_KERNEL_FN bool visit(const rdoq::Trials& trials, const rdoq::Model& model, bool has, int x,
                            int y, int up) {
    rdoq::Region region = rdoq::region_of(x, y, width_, height_);
    NearCells near;
    uint32_t m = 0, other = 0;
    if (has) {
      m = t_.sload(sample(x, y)) >> 1;
      const int32_t now = target(model, x, y, bits_at(x, y));
      t_.sstore(s_.targets[group_.thread()], now);
      other = model.changed(now, m, up);
      near.load(t_, s_.cells, x, region.first, width_, stripes_);
    }
    group_.sync();
    rdoq::Outcome found{false, 0, 0};
    if (has) {
      if (up == 0) {
        uint64_t& own = cell(x, y);
        t_.sstore(own, t_.sload(own) & ~cell_bit(kChanged, y & 3));
      }
      if (other != m) {
        const At at{*this, near, region.own, x, y};
        found = trials.try_change(at, x, y, m, other, &region);
      }
      if (found.is_better) keep(x, y, other, model.plane, region, found);
    }
    group_.sync();
    return found.is_better;
  }
  /// Gives a sample its new magnitude, with what its trial has found.
  CJ2K_KERNEL_FN void keep(int x, int y, uint32_t m, int plane, const rdoq::Region& region,
                           const rdoq::Outcome& found) {
    CJ2K_UNROLL
    for (int i = 0; i < 2; ++i) {
      if (i >= region.count) break;
      CJ2K_HD_ROLLED
      for (int c = 1; c <= 3; ++c) {
        const int shift = rdoq::kColumnBits * c + 1;
        const uint64_t near = region.near[i] >> shift & 15;
        if (near == 0) continue;
        uint64_t& at = cell(x - 2 + c, 4 * (region.first + i));
        uint64_t cell = t_.sload(at) | near << 4 * kChanged;
        CJ2K_HD_ROLLED
        for (int up = 0; up < found.planes; ++up) {
          const int map = 4 * (rdoq::kEarly + up);
          const uint64_t early = rdoq::early_of(found, region, up, i) >> shift & 15;
          cell = (cell & ~(near << map)) | early << map;
        }
        t_.sstore(at, cell);
      }
    }
    uint64_t& own = cell(x, y);
    const uint64_t old = t_.sload(own);
    const int row = y & 3;
    t_.sstore(own, (old & ~(kMagnitudeMaps << row)) | magnitude_maps(m >> plane) << row);
    const auto sign = static_cast<uint32_t>(old >> (4 * rdoq::kSign + row) & 1);
    t_.sstore(sample(x, y), m == 0 ? 0 : m << 1 | sign);
  }

  CJ2K_KERNEL_FN uint32_t all_magnitudes() {
    uint32_t all = 0;
    each_sample([&](uint64_t&, int x, int y) { all |= t_.sload(sample(x, y)); });
    return simt::block_reduce_or(t_, s_.scratch, all) >> 1;
  }

  /// Adds up what RDOQ removes.
  CJ2K_KERNEL_FN void correct(const rdoq::Model& model) {
    int64_t sum = 0;
    each_sample([&](uint64_t& cell, int x, int y) {
      const uint32_t m = t_.sload(sample(x, y)) >> 1;
      const uint32_t bits = bits_at(x, y);
      if (m == of_.magnitude(bits)) return;
      const int up = rdoq::bit_width(m) - 1 - model.plane;
      const bool early = up >= 0 && up < model.tracked &&
                         (t_.sload(cell) & cell_bit(rdoq::kEarly + up, y & 3)) != 0;
      const rdoq::Correction of(model, of_.value(bits), m);
      sum += of.total();
      of.each_pass(early, [&](int pass, int64_t more) { add_to(&s_.removed[pass], more); });
    });
    reduce_to(&s_.total, sum);
    group_.sync();
    if (group_.thread() == 0) {
      const double total = rdoq::total_of(model, t_.sload(s_.total),
                                          [&](int pass) { return t_.sload(s_.removed[pass]); });
      t_.sstore(s_.total, std::bit_cast<int64_t>(total));
    }
    group_.sync();
  }

  T& t_;
  G group_;
  RdoqSmem<kWarps>& s_;
  const Tier1Job& job_;
  Coefficients of_;
  const RdoqParams& params_;
  const int width_, height_, stripes_;
  const uint32_t words_wide_, word_groups_;
};

struct RdoqQuantizeParams {
  Tier1Buffers buffers;
  const uint32_t* blocks;  ///< of one tier1_size
  RdoqParams rdoq;
  RdoqOutput output;
};

/// Quantises blocks of one size with RDOQ, and makes their bit-planes.
///
/// Grid: x = code-block. Block: kWarps warps, which do one code-block; as Tier1Model has them.
/// Shared bytes: 15,344, 37,392 and 39,520: samples 4 bytes each, cells 2 bytes per sample, tables of
///   costs 3 KB, counts and states of the model.
/// Global traffic: reads each coefficient once to quantise, nine times for the targets of each round,
///   once for the corrections, and those near changes again, mostly from the caches; writes
///   bit-planes as quantize.cuh does, 8 bytes per pass, and 128 per block.
/// Barriers: those of Tier1Model for three planes, then for each of the 32 groups and rounds 3 for each
///   shift, and those of a scan. With kWarps = 1 all barriers are of one warp.
template <uint32_t kWarps>
struct RdoqQuantize {
  using Params = RdoqQuantizeParams;
  using Smem = RdoqSmem<kWarps>;
  static constexpr int kThreads = static_cast<int>(kWarps * 32);
  using Planes = SamplePlanes<kThreads>;
  static constexpr int kMinBlocks = kWarps == 1 ? 12 : kWarps == 4 ? 3 : 1;

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem& s, const Params& p) {
    const uint32_t number = t.gload_ro(p.blocks + t.block_x());
    const uint32_t frame = number / p.buffers.num_blocks, index = number % p.buffers.num_blocks;
    const RdoqFrame* const order = p.rdoq.frames + frame;
    if (t.gload_ro(&order->slope[0]) == 0) return;
    const Tier1Job job = t.gload(p.buffers.job_of(number));
    const QuantizeJob source = t.gload(
        p.rdoq.quantize + (uint64_t{t.gload_ro(&order->step_set)} * p.buffers.num_blocks + index));
    const uint32_t* from =
        p.rdoq.shifted != nullptr
            ? reinterpret_cast<const uint32_t*>(p.rdoq.shifted + frame * p.rdoq.shifted_samples)
            : static_cast<const uint32_t*>(p.rdoq.samples.data) +
                  frame * p.rdoq.samples.frame_samples;
    from += source.source;

    CJ2K_HD_ROLLED
    for (uint32_t i = t.thread(); i < kMaxPasses; i += kThreads) t.sstore(s.removed[i], 0);
    if (t.thread() == 0) {
      t.sstore(s.total, 0);
      t.sstore(s.overlaps, t.gload_ro(p.rdoq.overlaps + index));
    }
    const auto block = Planes::block_of(t, source);
    const uint32_t all =
        p.rdoq.reversible ? Planes::template load_samples<true>(t, s.samples, block, source, from)
                          : Planes::template load_samples<false>(t, s.samples, block, source, from);
    uint32_t magnitudes = simt::block_reduce_or(t, s.scratch, all) >> 1;

    const Cut cut = cut_of(t, p, *order, job, index, rdoq::bit_width(magnitudes));
    if (t.thread() == 0)
      t.gstore(p.output.last_planes + number, static_cast<uint8_t>(cut.last_plane));
    if (cut.changes) {
      const Coefficients coefficients{from,
                                      source.stride,
                                      p.rdoq.reversible,
                                      (1u << source.max_bit_planes) - 1,
                                      source.inverse_step,
                                      0};
      Optimiser<T, kWarps>(t, s, job, source, coefficients, p.rdoq)
          .run(cut.plane, cut.kind, cut.lambda, &magnitudes);
    }
    store(t, s, p, magnitudes);
  }

 private:
  /// Writes the results. The records of the block are read again, which takes no registers meanwhile.
  template <typename T>
  CJ2K_KERNEL_FN static void store(T& t, Smem& s, const Params& p, uint32_t magnitudes) {
    const uint32_t number = t.gload_ro(p.blocks + t.block_x());
    const uint32_t frame = number / p.buffers.num_blocks, index = number % p.buffers.num_blocks;
    if (t.thread() == 0) {
      t.gstore(p.buffers.planes.magnitudes + number, magnitudes);
      t.gstore(p.output.totals + number, std::bit_cast<double>(t.sload(s.total)));
    }
    auto* const state = reinterpret_cast<simt::U32x4*>(p.buffers.states + number);
    CJ2K_HD_ROLLED
    for (uint32_t i = t.thread(); i < sizeof(Tier1State) / sizeof *state; i += kThreads)
      t.gstore(state + i, simt::U32x4{0, 0, 0, 0});
    const QuantizeJob job = t.gload(
        p.rdoq.quantize +
        (uint64_t{t.gload_ro(&p.rdoq.frames[frame].step_set)} * p.buffers.num_blocks + index));
    // As in Quantize: more cannot occur.
    int planes = rdoq::bit_width(magnitudes);
    if (planes > job.max_bit_planes) planes = job.max_bit_planes;
    int64_t* const removed = p.output.removed + (uint64_t{frame} * p.buffers.frame_passes +
                                                 t.gload_ro(&p.buffers.job_of(number)->first_pass));
    CJ2K_HD_ROLLED
    for (uint32_t i = t.thread(); i < static_cast<uint32_t>(num_passes_of(planes)); i += kThreads)
      t.gstore(removed + i, t.sload(s.removed[i]));
    if (planes == 0) return;
    Planes::store_planes(
        t, s.samples, Planes::block_of(t, job), static_cast<uint32_t>(planes),
        p.buffers.planes.words + frame * p.buffers.planes.frame_words + job.first_word);
  }

  /// Where a block is cut.
  struct Cut {
    bool changes;  ///< RDOQ may change samples
    int plane;
    PassKind kind;
    double lambda;
    int last_plane;
  };
  template <typename T>
  CJ2K_KERNEL_FN static Cut cut_of(T& t, const Params& p, const RdoqFrame& order,
                                   const Tier1Job& job, uint32_t index, int planes) {
    Cut cut{false, 0, PassKind::kCleanup, 0, 0};
    const uint16_t slope = t.gload_ro(&order.slope[job.component]);
    if (slope == 0 || planes == 0 || best_slope_left(job.weight, planes) < slope) return cut;
    cut.lambda = t.gload_ro(&order.error[job.component]) / job.weight;
    cut.plane = rdoq_plane(cut.lambda, p.rdoq.reversible, &cut.kind);
    if (cut.plane >= planes) return cut;
    if (t.gload_ro(&order.pauses[job.component]) && job.orientation != kLL && index % 2 != 0) {
      PassKind lowest;
      cut.last_plane = rdoq_plane(t.gload_ro(&order.lower_error[job.component]) / job.weight,
                                  p.rdoq.reversible, &lowest);
    }
    // One pass hardly ever pays.
    cut.changes = cut.plane != planes - 1;
    return cut;
  }
};

}  // namespace cj2k::cuda::tier1
