// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One level of the wavelet transform in one pass over memory. A warp walks down a strip of columns.
// It keeps the state of the vertical lifting in registers and lifts each finished row horizontally,
// across its lanes. The first level reads the stored words of a frame (dwt_first_level.cuh), all
// other levels read a plane of samples.
#pragma once

#include <type_traits>

#include "kernels/pixels/core.h"
#include "kernels/pixels/dwt_tiling.h"
#include "kernels/pixels/ingest_words.cuh"
#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// The lifting steps of core/lifting.h for one column, on a stream of pairs. In a pair, s is the
/// sample at an even coordinate and d the sample at the odd coordinate after it.
struct Lifting97 {
  using Sample = float;
  static constexpr int kDelay = 1;   ///< step n finishes pair n - kDelay
  static constexpr int kWarmUp = 2;  ///< a part begins this many steps before its first pair

  struct State {
    float s0;      ///< s of the current pair, not lifted
    float d1, s1;  ///< d after alpha and s after beta, of the pair before
    float d2;      ///< d after gamma, of the pair before that
  };
  /// Runs one step of the current pair.
  /// @param d       d of the current pair
  /// @param s_next  s of the next pair
  CJ2K_KERNEL_FN static void step(State& state, float d, float s_next, float* low, float* high) {
    const float d1 = lift97(d, kAlpha97, state.s0, s_next);
    const float s1 = lift97(state.s0, kBeta97, state.d1, d1);
    const float d2 = lift97(state.d1, kGamma97, state.s1, s1);
    const float s2 = lift97(state.s1, kDelta97, state.d2, d2);
    state = {s_next, d1, s1, d2};
    *low = s2 * kLowScale97;
    *high = d2 * kHighScale97;
  }

  /// Lifts a row across the warp, four columns per lane; x[0] and x[2] are at even coordinates.
  /// Lanes 1 to 30 are valid.
  template <typename T>
  CJ2K_KERNEL_FN static void across(T& t, float* x) {
    x[1] = lift97(x[1], kAlpha97, x[0], x[2]);
    x[3] = lift97(x[3], kAlpha97, x[2], t.shuffle_down(x[0], 1));
    x[0] = lift97(x[0], kBeta97, t.shuffle_up(x[3], 1), x[1]);
    x[2] = lift97(x[2], kBeta97, x[1], x[3]);
    x[1] = lift97(x[1], kGamma97, x[0], x[2]);
    x[3] = lift97(x[3], kGamma97, x[2], t.shuffle_down(x[0], 1));
    x[0] = lift97(x[0], kDelta97, t.shuffle_up(x[3], 1), x[1]);
    x[2] = lift97(x[2], kDelta97, x[1], x[3]);
    x[0] *= kLowScale97;
    x[1] *= kHighScale97;
    x[2] *= kLowScale97;
    x[3] *= kHighScale97;
  }
};

struct Lifting53 {
  using Sample = int32_t;
  static constexpr int kDelay = 0;
  static constexpr int kWarmUp = 1;

  struct State {
    int32_t s0;
    int32_t d1;
  };
  CJ2K_KERNEL_FN static void step(State& state, int32_t d, int32_t s_next, int32_t* low,
                                  int32_t* high) {
    const int32_t d1 = lift53_high(d, state.s0, s_next);
    *low = lift53_low(state.s0, state.d1, d1);
    *high = d1;
    state = {s_next, d1};
  }

  template <typename T>
  CJ2K_KERNEL_FN static void across(T& t, int32_t* x) {
    x[1] = lift53_high(x[1], x[0], x[2]);
    x[3] = lift53_high(x[3], x[2], t.shuffle_down(x[0], 1));
    x[0] = lift53_low(x[0], t.shuffle_up(x[3], 1), x[1]);
    x[2] = lift53_low(x[2], x[1], x[3]);
  }
};

/// The `Rows` of Dwt for all levels but the first: rows of a rectangle of a plane, four columns per
/// lane. The object is small, like Target, because both stay in registers for the whole kernel.
template <typename Lifting>
class PlaneRows {
 public:
  using Sample = typename Lifting::Sample;
  static constexpr int kThreads = 128;
  /// Registers: 96 with 9/7, 72 with 5/3. With one more block per multiprocessor sm_90 spills.
  static constexpr int kMinBlocks = std::is_same_v<Sample, float> ? 5 : 7;
  static constexpr int32_t kAhead = 2;

  struct Params {
    const Sample* samples;
    uint64_t frame_samples;
  };
  struct alignas(16) Raw {
    Sample x[4];
  };

  CJ2K_KERNEL_FN PlaneRows(const Params& p, const DwtJob& job, uint32_t frame,
                           const FourColumns& columns)
      : first_(p.samples + frame * p.frame_samples + job.source + columns.first),
        stride_(job.source_stride),
        columns_(columns) {
    columns_.are_neighbours &= job.parity_x == 0 && ((job.source | job.source_stride) & 3) == 0;
  }

  template <typename T>
  CJ2K_KERNEL_FN Raw load(T& t, const Params&, int32_t y) const {
    const Sample* from = first_ + uint64_t{stride_} * static_cast<uint32_t>(y);
    if (columns_.are_neighbours) return t.gload_ro(reinterpret_cast<const Raw*>(from));
    return {{t.gload_ro(from), t.gload_ro(from + columns_.offset(1)),
             t.gload_ro(from + columns_.offset(2)), t.gload_ro(from + columns_.offset(3))}};
  }

  template <typename T>
  CJ2K_KERNEL_FN void samples(T&, const Params&, const Raw& raw, Sample* out) const {
    CJ2K_UNROLL
    for (int i = 0; i < 4; ++i) out[i] = raw.x[i];
  }

 private:
  const Sample* first_;  ///< the first column in row 0
  uint32_t stride_;
  FourColumns columns_;
};

/// The kernel of one wavelet level. Symmetric extension (T.800 F.4.7) needs no code of its own in
/// the lifting: beyond a border a warp loads the mirrored row or column, and lifting the mirrored
/// input gives the mirrored results, bit for bit, because a + b equals b + a.
/// `Rows` says where rows come from, and holds the tuning for that source: PlaneRows, or for the
/// first level FirstLevelRows (dwt_first_level.cuh).
///
/// Grid: x = parts / warps per block, y = frame. Block: 3 or 4 independent warps. A warp makes one
/// part: 120 columns and up to 72 rows, low-pass and high-pass halves of both directions.
/// Shared bytes: none. Barriers: none.
///
/// Global traffic per sample: 4 bytes read (PlaneRows), times 128/120 for the halo columns (which
/// the neighbour warp has in L1) and times 79/72 for the overlapping rows (9/7; 75/72 for 5/3); 4
/// bytes written. Loads are 16-byte accesses where the rectangle begins at a multiple of four
/// samples and at an even coordinate. Stores are 16-byte accesses where the half begins at a
/// multiple of four samples: two lanes exchange samples, and each then has four neighbours of one
/// half.
template <typename Lifting, typename Rows>
struct Dwt {
  using Sample = typename Lifting::Sample;
  using Raw = typename Rows::Raw;
  static constexpr int kThreads = Rows::kThreads;
  static constexpr int kMinBlocks = Rows::kMinBlocks;
  static constexpr int32_t kAhead = Rows::kAhead;  ///< number of steps loaded in advance

  struct Params {
    const DwtJob* jobs;
    const DwtPart* parts;
    uint32_t num_parts;
    Sample* samples;
    uint64_t frame_samples;
    typename Rows::Params rows;
  };
  struct Smem {};
  struct alignas(16) Four {
    Sample x[4];
  };

  /// Maps index i to [0, n) by symmetric extension of n samples. The loop runs once for each
  /// reflection, so only a few times for an i near the range.
  CJ2K_KERNEL_FN static int32_t mirrored(int32_t i, int32_t n) {
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
  }

  CJ2K_KERNEL_FN static FourColumns columns_of(const DwtJob& job, uint32_t strip, uint32_t lane) {
    const int32_t begin = static_cast<int32_t>(strip) * kDwtStripColumns - kDwtHaloColumns +
                          4 * static_cast<int32_t>(lane) - job.parity_x;
    // No lifting step reaches columns beyond `reach`, so any column may stand in for them.
    const int32_t reach = job.width + kDwtHaloColumns;
    const int32_t first = mirrored(begin < reach ? begin : reach, job.width);
    FourColumns columns{first, 0, begin >= 0 && begin + 4 <= job.width,
                        begin >= 4 && begin + 8 <= job.width};
    CJ2K_UNROLL
    for (int i = 1; i < 4; ++i) {
      const int32_t column = mirrored(begin + i < reach ? begin + i : reach, job.width);
      columns.others |= (static_cast<uint32_t>(column - first) & 0xFF) << (8 * i);
    }
    return columns;
  }

  template <typename T>
  CJ2K_KERNEL_FN static Raw load_row(T& t, const Params& p, const Rows& rows, const DwtJob& job,
                                     int32_t v) {
    return rows.load(t, p.rows, mirrored(v - job.parity_y, job.height));
  }

  /// What a lane stores of each row: up to four neighbouring samples of one half.
  struct Target {
    static constexpr uint32_t kVector = 16;   ///< all four samples exist, and are aligned
    static constexpr uint32_t kSingle = 32;   ///< the row has one sample: no lifting (F.4.8)
    static constexpr uint32_t kDoubled = 64;  ///< that sample is at an odd coordinate: doubled
    uint64_t offset;                          ///< of the lane's first sample in row 0, in samples
    uint32_t flags;                           ///< bit i (0 to 3): sample i exists; and the flags
  };

  /// Lanes 2m - 1 and 2m share eight columns: lane 2m - 1 stores their low-pass half, lane 2m their
  /// high-pass half.
  CJ2K_KERNEL_FN static Target target_of(const DwtJob& job, uint64_t frame, uint32_t strip,
                                         uint32_t lane) {
    const int32_t num_low = lifting_low_count(job.width, job.parity_x);
    const bool takes_low = (lane & 1) != 0;
    const int32_t pair = static_cast<int32_t>(strip) * (kDwtStripColumns / 2) +
                         4 * (static_cast<int32_t>(lane + 1) / 2 - 1);
    const int32_t first = takes_low ? pair - job.parity_x : pair;
    const int32_t count = takes_low ? num_low : job.width - num_low;
    const int64_t offset = static_cast<int64_t>(job.target) + (takes_low ? 0 : num_low) + first;
    Target target{frame + static_cast<uint64_t>(offset), 0};
    if (lane != 0 && lane != 31) {
      CJ2K_UNROLL
      for (int32_t i = 0; i < 4; ++i) {
        if (first + i >= 0 && first + i < count) target.flags |= 1u << i;
      }
      if (target.flags == 15 && ((offset | job.target_stride) & 3) == 0) {
        target.flags |= Target::kVector;
      }
    }
    if (job.width == 1) {
      target.flags |= job.parity_x == 1 ? Target::kSingle | Target::kDoubled : Target::kSingle;
    }
    return target;
  }

  /// Transforms one row horizontally and stores it. All lanes of the warp must call.
  template <typename T>
  CJ2K_KERNEL_FN static void finish_row(T& t, Sample* samples, const DwtJob& job,
                                        const Target& target, int32_t row, Sample* x) {
    if ((target.flags & Target::kSingle) == 0) {
      Lifting::across(t, x);
    } else if ((target.flags & Target::kDoubled) != 0) {
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) x[i] *= 2;
    }
    const bool takes_low = (t.lane() & 1) != 0;
    const uint32_t partner = takes_low ? t.lane() + 1 : t.lane() - 1;
    const Sample first = t.shuffle(takes_low ? x[1] : x[0], partner & 31);
    const Sample second = t.shuffle(takes_low ? x[3] : x[2], partner & 31);
    const Four out =
        takes_low ? Four{{x[0], x[2], first, second}} : Four{{first, second, x[1], x[3]}};
    Sample* to =
        samples + (target.offset + uint64_t{job.target_stride} * static_cast<uint32_t>(row));
    if ((target.flags & Target::kVector) != 0) {
      t.gstore(reinterpret_cast<Four*>(to), out);
      return;
    }
    CJ2K_UNROLL
    for (int32_t i = 0; i < 4; ++i) {
      if ((target.flags >> i & 1) != 0) t.gstore(to + i, out.x[i]);
    }
  }

  template <typename T>
  CJ2K_KERNEL_FN static void run(T& t, Smem&, const Params& p) {
    const uint32_t index = t.block_x() * (kThreads / 32) + t.warp();
    if (index >= p.num_parts) return;
    const DwtPart part = t.gload(p.parts + index);
    const DwtJob job = t.gload(p.jobs + part.job);
    const uint64_t frame = t.block_y() * p.frame_samples;
    const Rows rows(p.rows, job, t.block_y(), columns_of(job, part.strip, t.lane()));
    const Target target = target_of(job, frame, part.strip, t.lane());
    const int32_t num_low = lifting_low_count(job.height, job.parity_y);

    if (job.height == 1) {  // F.4.8: one row is not lifted; at an odd coordinate it is doubled
      Sample x[4];
      rows.samples(t, p.rows, load_row(t, p, rows, job, 0), x);
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) x[i] *= job.parity_y == 1 ? 2 : 1;
      finish_row(t, p.samples, job, target, 0, x);
      return;
    }

    const int32_t begin = static_cast<int32_t>(part.segment) * job.segment_pairs;
    const int32_t num_pairs = (job.height + job.parity_y + 1) / 2;
    const int32_t end =
        num_pairs - begin < job.segment_pairs ? num_pairs : begin + job.segment_pairs;
    int32_t step = begin - Lifting::kWarmUp;

    typename Lifting::State state[4] = {};
    {
      Sample s[4];
      rows.samples(t, p.rows, load_row(t, p, rows, job, 2 * step), s);
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) state[i].s0 = s[i];
    }
    Raw d[kAhead], s[kAhead];
    CJ2K_UNROLL
    for (int32_t a = 0; a < kAhead; ++a) {
      d[a] = load_row(t, p, rows, job, 2 * (step + a) + 1);
      s[a] = load_row(t, p, rows, job, 2 * (step + a) + 2);
    }
    while (step < end + Lifting::kDelay) {
      CJ2K_UNROLL
      for (int32_t a = 0; a < kAhead; ++a, ++step) {
        Sample odd[4], even[4], low[4], high[4];
        rows.samples(t, p.rows, d[a], odd);
        rows.samples(t, p.rows, s[a], even);
        CJ2K_UNROLL
        for (int i = 0; i < 4; ++i) {
          Lifting::step(state[i], odd[i], even[i], &low[i], &high[i]);
        }
        if (step + kAhead < end + Lifting::kDelay) {
          d[a] = load_row(t, p, rows, job, 2 * (step + kAhead) + 1);
          s[a] = load_row(t, p, rows, job, 2 * (step + kAhead) + 2);
        }
        const int32_t pair = step - Lifting::kDelay;
        if (pair < begin || pair >= end) continue;
        const int32_t low_row = pair - job.parity_y;
        if (low_row >= 0 && low_row < num_low) {
          finish_row(t, p.samples, job, target, low_row, low);
        }
        if (pair < job.height - num_low) {
          finish_row(t, p.samples, job, target, num_low + pair, high);
        }
      }
    }
  }
};

}  // namespace cj2k::cuda
