// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/ht/ht_block.cuh"
#include "kernels/ht/ht_hulls.cuh"
#include "kernels/simt/launch.h"

CJ2K_KERNEL(ht_peaks_53, cj2k::cuda::ht::Peaks<true>)
CJ2K_KERNEL(ht_peaks_97, cj2k::cuda::ht::Peaks<false>)
CJ2K_KERNEL(ht_count_53, cj2k::cuda::ht::Count<true>)
CJ2K_KERNEL(ht_count_97, cj2k::cuda::ht::Count<false>)
CJ2K_KERNEL(ht_choose_53, cj2k::cuda::ht::Choose<true>)
CJ2K_KERNEL(ht_choose_97, cj2k::cuda::ht::Choose<false>)
CJ2K_KERNEL(ht_hulls, cj2k::cuda::ht::Hulls)
CJ2K_KERNEL(ht_lossless, cj2k::cuda::ht::Encode<true, false>)
CJ2K_KERNEL(ht_53, cj2k::cuda::ht::Encode<true, true>)
CJ2K_KERNEL(ht_97, cj2k::cuda::ht::Encode<false, true>)

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
Status launch_encode(simt::Stream& stream, const HtBlocks& blocks, const HtWork& work,
                     uint8_t* bytes, HtResult* results) {
  constexpr uint32_t kWarps = Kernel::kThreads / 32;
  return simt::launch<Kernel>(stream, {(work.count + kWarps - 1) / kWarps},
                              {source_of(blocks), blocks.words, work, bytes, results});
}

}  // namespace

Status ht_peaks(simt::Stream& stream, const HtBlocks& blocks, bool reversible, uint32_t* peaks) {
  return reversible ? launch_peaks<ht::Peaks<true>>(stream, blocks, peaks)
                    : launch_peaks<ht::Peaks<false>>(stream, blocks, peaks);
}

Status ht_choose(simt::Stream& stream, const HtBlocks& blocks, HtTask* tasks,
                 const HtChoice* choices, uint32_t count, bool reversible, HtResult* results,
                 const HtTaskLists& lists) {
  const auto launch = reversible ? launch_choose<true> : launch_choose<false>;
  return launch(stream, blocks, tasks, choices, count, results, lists);
}

Status ht_encode(simt::Stream& stream, const HtBlocks& blocks, const HtWork& work, uint8_t* bytes,
                 HtResult* results) {
  const auto launch = work.lossless     ? launch_encode<ht::Encode<true, false>>
                      : work.reversible ? launch_encode<ht::Encode<true, true>>
                                        : launch_encode<ht::Encode<false, true>>;
  return launch(stream, blocks, work, bytes, results);
}

Status ht_hulls(simt::Stream& stream, const HtTask* tasks, const HtChoice* choices, uint32_t count,
                bool reversible, const HtResult* results, HullPoint* hulls) {
  constexpr uint32_t kThreads = ht::Hulls::kThreads;
  return simt::launch<ht::Hulls>(stream, {(count + kThreads - 1) / kThreads},
                                 {reversible, tasks, choices, count, results, hulls});
}

std::vector<uint16_t> ht_vlc_words() {
  std::vector<uint16_t> words;
  for (const CxtVlcTable* table : {&kCxtVlcFirst, &kCxtVlcOther}) {
    for (const CxtVlcWord& word : *table)
      words.push_back(static_cast<uint16_t>(word.codeword | word.length << 7 | word.known << 10));
  }
  return words;
}

}  // namespace cj2k::cuda
