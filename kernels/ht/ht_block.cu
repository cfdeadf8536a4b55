// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ht/ht_block.cuh"
#include "kernels/ht/ht_hulls.cuh"
#include "kernels/ht/ht_items.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(ht_peaks_53, cj2k::cuda::ht::Peaks<true>)
CJ2K_KERNEL(ht_peaks_97, cj2k::cuda::ht::Peaks<false>)
CJ2K_KERNEL(ht_items_53, cj2k::cuda::ht::Items<true>)
CJ2K_KERNEL(ht_items_97, cj2k::cuda::ht::Items<false>)
CJ2K_KERNEL(ht_count_53, cj2k::cuda::ht::Count<true>)
CJ2K_KERNEL(ht_count_97, cj2k::cuda::ht::Count<false>)
CJ2K_KERNEL(ht_choose_53, cj2k::cuda::ht::Choose<true>)
CJ2K_KERNEL(ht_choose_97, cj2k::cuda::ht::Choose<false>)
CJ2K_KERNEL(ht_change_53, cj2k::cuda::ht::Change<true>)
CJ2K_KERNEL(ht_change_97, cj2k::cuda::ht::Change<false>)
CJ2K_KERNEL(ht_hulls, cj2k::cuda::ht::Hulls)
CJ2K_KERNEL(ht_lossless, cj2k::cuda::ht::Encode<true, false>)
CJ2K_KERNEL(ht_53, cj2k::cuda::ht::Encode<true, true>)
CJ2K_KERNEL(ht_97, cj2k::cuda::ht::Encode<false, true>)
CJ2K_KERNEL(ht_changed_53, cj2k::cuda::ht::Encode<true, true, true>)
CJ2K_KERNEL(ht_changed_97, cj2k::cuda::ht::Encode<false, true, true>)

namespace cj2k::cuda {
namespace {

template <typename Kernel>
Status launch_peaks(simt::Stream& stream, const HtBlocks& blocks, uint32_t* peaks) {
  constexpr uint32_t kWarps = Kernel::kThreads / 32;
  return simt::launch<Kernel>(
      stream, {(blocks.num_blocks + kWarps - 1) / kWarps, blocks.samples.num_frames},
      {blocks.jobs, blocks.num_blocks, static_cast<const uint32_t*>(blocks.samples.data),
       blocks.samples.frame_samples, peaks});
}

template <typename Kernel>
Status launch_items(simt::Stream& stream, const ht::ItemsParams& params) {
  constexpr uint32_t kThreads = Kernel::kThreads;
  return simt::launch<Kernel>(stream, {(params.count + kThreads - 1) / kThreads}, params);
}

ht::Source source_of(const HtBlocks& blocks) {
  return {blocks.jobs, blocks.num_blocks, static_cast<const uint32_t*>(blocks.samples.data),
          blocks.samples.frame_samples};
}

template <bool kReversible>
Status launch_choose(simt::Stream& stream, const HtBlocks& blocks, HtTask* tasks,
                     const HtChoice* choices, uint32_t count, HtResult* results,
                     const HtTaskLists& lists) {
  using Count = ht::Count<kReversible>;
  using Choose = ht::Choose<kReversible>;
  constexpr uint32_t kWarps = Count::kThreads / 32;
  CJ2K_TRY(simt::launch<Count>(stream, {(count + kWarps - 1) / kWarps},
                               {source_of(blocks), tasks, choices, count, results}));
  return simt::launch<Choose>(
      stream, {(count + Choose::kThreads - 1) / Choose::kThreads},
      {blocks.jobs, blocks.num_blocks, tasks, choices, count, results, lists});
}

template <typename Kernel>
Status launch_change(simt::Stream& stream, const ht::ChangeParams& params) {
  constexpr uint32_t kWarps = Kernel::kThreads / 32;
  const uint32_t codings = params.num_choices * kMostHtRdoqPlanes;
  return simt::launch<Kernel>(stream, {(codings + kWarps - 1) / kWarps}, params);
}

template <typename Kernel>
Status launch_encode(simt::Stream& stream, const HtBlocks& blocks, const HtWork& work,
                     uint8_t* bytes, HtResult* results) {
  constexpr uint32_t kWarps = Kernel::kThreads / 32;
  return simt::launch<Kernel>(stream, {(work.most + kWarps - 1) / kWarps},
                              {source_of(blocks), blocks.words, work, bytes, results});
}

/// As HtCleanupStreams::put_u_pair has it. There are no extensions, because magnitudes have at most 30
/// bits.
ht::Bits uvlc_pair(uint32_t u0, uint32_t u1, bool is_first) {
  UVlcWord a = uvlc_word(u0), b = uvlc_word(u1);
  if (is_first && u0 > 2 && u1 > 2) {
    a = uvlc_word(u0 - 2);
    b = uvlc_word(u1 - 2);
  } else if (is_first && u0 > 2 && u1 > 0) {
    b = {static_cast<uint8_t>(u1 - 1), 1, 0, 0, 0, 0};
  }
  ht::Bits pair;
  pair.add(a.prefix, a.prefix_bits);
  pair.add(b.prefix, b.prefix_bits);
  pair.add(a.suffix, a.suffix_bits);
  pair.add(b.suffix, b.suffix_bits);
  return pair;
}

struct MelCoder {
  uint32_t state, zeros;
  /// Its number, where those of a state follow each other.
  uint32_t number() const {
    uint32_t before = 0;
    for (uint32_t s = 0; s < state; ++s) before += 1u << kMelExponents[s];
    return before + zeros;
  }
};
/// @param events  the highest bit that is set stands above them
uint32_t mel_step(MelCoder coder, uint32_t events) {
  ht::Bits bits;
  const bool is_last = events < 16;
  for (; events > 1; events >>= 1) {
    const uint32_t exponent = kMelExponents[coder.state];
    if ((events & 1) != 0) {
      bits.add(0, 1);
      for (uint32_t k = exponent; k-- > 0;) bits.add(coder.zeros >> k & 1, 1);
      coder = {coder.state - (coder.state > 0 ? 1u : 0u), 0};
    } else if (++coder.zeros == 1u << exponent) {
      bits.add(1, 1);
      coder = {coder.state + (coder.state + 1 < kMelStates ? 1u : 0u), 0};
    }
  }
  // If the last run is not over, the decoder may see more zeros than there are.
  if (is_last && coder.zeros > 0) bits.add(1, 1);
  return bits.bits | bits.count << kHtMelCount | coder.number() << kHtMelState;
}

}  // namespace

Status ht_peaks(simt::Stream& stream, const HtBlocks& blocks, bool reversible, uint32_t* peaks) {
  return reversible ? launch_peaks<ht::Peaks<true>>(stream, blocks, peaks)
                    : launch_peaks<ht::Peaks<false>>(stream, blocks, peaks);
}

Status ht_items(simt::Stream& stream, const HtBlockTable& table, const HtOrders& orders,
                const uint32_t* peaks, bool reversible, const uint32_t* list, uint32_t count,
                HtChoice* choices, HtTask* tasks, uint32_t* num_tasks) {
  const auto launch = reversible ? launch_items<ht::Items<true>> : launch_items<ht::Items<false>>;
  return launch(stream, {table, orders, peaks, list, count, choices, tasks, num_tasks});
}

Status ht_choose(simt::Stream& stream, const HtBlocks& blocks, HtTask* tasks,
                 const HtChoice* choices, uint32_t count, bool reversible, HtResult* results,
                 const HtTaskLists& lists) {
  const auto launch = reversible ? launch_choose<true> : launch_choose<false>;
  return launch(stream, blocks, tasks, choices, count, results, lists);
}

Status ht_change(simt::Stream& stream, const HtBlocks& blocks, const HtBlockTable& table,
                 const HtOrders& orders, HtTask* tasks, const HtChoice* choices, uint32_t count,
                 bool reversible, HtResult* results, const HtTaskLists& lists,
                 const HtChanges& changes) {
  const auto launch =
      reversible ? launch_change<ht::Change<true>> : launch_change<ht::Change<false>>;
  return launch(stream, {source_of(blocks), blocks.words, table, orders, tasks, choices, count,
                         results, lists, changes});
}

Status ht_encode(simt::Stream& stream, const HtBlocks& blocks, const HtWork& work, uint8_t* bytes,
                 HtResult* results) {
  const bool changes = work.changes.bytes != nullptr;
  const auto launch = work.lossless ? launch_encode<ht::Encode<true, false>>
                      : changes     ? work.reversible ? launch_encode<ht::Encode<true, true, true>>
                                                      : launch_encode<ht::Encode<false, true, true>>
                      : work.reversible ? launch_encode<ht::Encode<true, true>>
                                        : launch_encode<ht::Encode<false, true>>;
  return launch(stream, blocks, work, bytes, results);
}

Status ht_hulls(simt::Stream& stream, const HtTask* tasks, const HtChoice* choices,
                const uint32_t* list, uint32_t count, bool reversible, const HtResult* results,
                HullPoint* hulls, const HtHulls& by_block) {
  constexpr uint32_t kThreads = ht::Hulls::kThreads;
  return simt::launch<ht::Hulls>(
      stream, {(count + kThreads - 1) / kThreads},
      {reversible, tasks, choices, list, count, results, hulls, by_block});
}

std::vector<uint16_t> ht_vlc_words() {
  std::vector<uint16_t> words;
  for (const CxtVlcTable* table : {&kCxtVlcFirst, &kCxtVlcOther}) {
    for (const CxtVlcWord& word : *table)
      words.push_back(static_cast<uint16_t>(word.codeword | word.length << 7 | word.known << 10));
  }
  const auto add = [&words](uint32_t word) {
    words.push_back(static_cast<uint16_t>(word));
    words.push_back(static_cast<uint16_t>(word >> 16));
  };
  for (uint32_t i = 0; i < 2 * 1024; ++i) {
    const ht::Bits pair = uvlc_pair(i & 31, i >> 5 & 31, i >= 1024);
    add(pair.bits | pair.count << 16);
  }
  std::vector<uint32_t> steps;
  for (uint32_t state = 0; state < kMelStates; ++state) {
    for (uint32_t zeros = 0; zeros < 1u << kMelExponents[state]; ++zeros) {
      steps.push_back(0);
      for (uint32_t i = 1; i < 32; ++i) steps.push_back(mel_step({state, zeros}, i));
    }
  }
  for (const uint32_t step : steps) add(step);
  const auto next = [&steps](uint32_t state, uint32_t events) {
    return steps[state << 5 | 16 | (events & 15)] >> kHtMelState;
  };
  for (uint32_t i = 0; i < steps.size() / 32 * 256; i += 2) {
    const uint32_t low = next(next(i >> 8, i), i >> 4), high = next(next(i >> 8, i + 1), i >> 4);
    words.push_back(static_cast<uint16_t>(low | high << 8));
  }
  return words;
}

}  // namespace cj2k::cuda
