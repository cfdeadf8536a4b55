// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// One level of the wavelet transform in one pass over memory: a warp walks down a strip of columns
// with the vertical lifting steps in registers and lifts each finished row across its lanes.
// The first level reads the words of a frame (dwt_first_level.cuh), the others a plane.
#pragma once

#include <type_traits>

#include "kernels/pixels/core.h"
#include "kernels/pixels/dwt_tiling.h"
#include "kernels/pixels/ingest_words.cuh"
#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

/// The steps of core/lifting.h on a stream of pairs (s = sample at an even coordinate, d = at the
/// odd one behind it), for one column.
struct Lifting97 {
  using Sample = float;
  static constexpr int kDelay = 1;   ///< a step finishes the pair this many before it
  static constexpr int kWarmUp = 2;  ///< steps before the first pair that comes out right

  struct State {
    float s0;      ///< of the next pair
    float d1, s1;  ///< after alpha and beta, of the pair before
    float d2;      ///< after gamma, of the one before that
  };
  /// d is the pair's, s_next the next pair's.
  CJ2K_KERNEL_FN static void step(State& state, float d, float s_next, float* low, float* high) {
    const float d1 = lift97(d, kAlpha97, state.s0, s_next);
    const float s1 = lift97(state.s0, kBeta97, state.d1, d1);
    const float d2 = lift97(state.d1, kGamma97, state.s1, s1);
    const float s2 = lift97(state.s1, kDelta97, state.d2, d2);
    state = {s_next, d1, s1, d2};
    *low = s2 * kLowScale97;
    *high = d2 * kHighScale97;
  }

  /// Four columns per lane: x[0], x[2] at even coordinates. Right in lanes 1 to 30.
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

/// The rows of a rectangle of a plane, four columns a lane. Small, as Target: both live in
/// registers all the way.
template <typename Lifting>
class PlaneRows {
 public:
  using Sample = typename Lifting::Sample;
  static constexpr int kThreads = 128;
  /// 9/7: 96 registers, 5/3: 72; with one block more sm_90 spills.
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
  const Sample* first_;  ///< column in row 0
  uint32_t stride_;
  FourColumns columns_;
};

/// Symmetric extension (T.800 F.4.7) is done by what is loaded: beyond a border a warp loads the
/// mirrored row or column, and lifting those gives the mirrored results, bit for bit (a + b is
/// b + a).
/// `Rows` says where rows come from and how the kernel is tuned to that: PlaneRows, or for the
/// first level FirstLevelRows (dwt_first_level.cuh).
///
/// Grid: x = parts / warps of a block, y = frame. Block: 3 or 4 warps, each on its own; a warp
/// makes one part: 120 columns and up to 72 rows, both halves of both directions. Shared: none.
/// Barriers: none.
///
/// Global per sample: 4 bytes read (PlaneRows), times 128/120 for the halo columns (which the
/// neighbour warp has in L1) and 79/72 for the overlapping rows (9/7; 75/72 for 5/3); 4 bytes
/// written. 16-byte accesses where the rectangle begins at a multiple of four samples with an even
/// coordinate (loads) and a half of it so, too (stores: after an exchange of two lanes each has
/// four neighbours of one half).
template <typename Lifting, typename Rows>
struct Dwt {
  using Sample = typename Lifting::Sample;
  using Raw = typename Rows::Raw;
  static constexpr int kThreads = Rows::kThreads;
  static constexpr int kMinBlocks = Rows::kMinBlocks;
  static constexpr int32_t kAhead = Rows::kAhead;  ///< steps whose rows are loaded in advance

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

  /// The index that symmetric extension of n samples gives for index i; few rounds for i near them.
  CJ2K_KERNEL_FN static int32_t mirrored(int32_t i, int32_t n) {
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
  }

  CJ2K_KERNEL_FN static FourColumns columns_of(const DwtJob& job, uint32_t strip, uint32_t lane) {
    const int32_t begin = static_cast<int32_t>(strip) * kDwtStripColumns - kDwtHaloColumns +
                          4 * static_cast<int32_t>(lane) - job.parity_x;
    // Beyond what any lifting step reaches every column will do.
    const int32_t reach = job.width + kDwtHaloColumns;
    const int32_t first = mirrored(begin < reach ? begin : reach, job.width);
    FourColumns columns{first, 0, begin >= 0 && begin + 4 <= job.width};
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

  /// What a lane stores of a row: four neighbours of one half.
  struct Target {
    static constexpr uint32_t kVector = 16;  ///< all four, aligned
    static constexpr uint32_t kSingle =
        32;  ///< the row is one sample (F.4.8: nothing to lift with),
    static constexpr uint32_t kDoubled = 64;  ///< at an odd coordinate
    uint64_t offset;                          ///< of the first in row 0, in the samples
    uint32_t flags;                           ///< bit i: sample i exists; the bits above
  };

  /// Lanes 2m - 1 and 2m share eight columns: the first takes their low half, the other the high.
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

  /// The horizontal transform of one row, and its store. The whole warp calls.
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

    if (job.height == 1) {  // F.4.8: no neighbours to lift with
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
