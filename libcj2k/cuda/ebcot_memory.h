// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the EBCOT block coder of a GOP has in memory beside GopMemory and PinnedLayout, in this order. An
// array in brackets may be empty. Those marked P are in page-locked memory, too, the others are not.
//
//   of the samples   | words | magnitudes |
//   of decisions     | [symbols] | [pass_symbols] |                    classic, CIBO
//   of the passes    | passes | [tails] | snapshots | states |         written by tier-1
//   what is coded    | list P | resumed_list P | thresholds P |
//   for the host     | results P | hull | [segments] | [hull_tails] | totals P | packed P |
//   of tier-1        | scratch |
//   of a stop rule   | [weights P] | [records] | [stop_counters] |
//   of rate control  | [next_thresholds] | [paused_passes P] |        where it runs on the device
//   of RDOQ          | [jobs] | [rdoq_frames P] | [removed] | [total_removed] | [last_planes] | [votes P] |
//                    | [shifted] |
//
// Entries are by frame and then by block or pass of the plan, but for those that follow a list.
#pragma once

#include "cuda/carver.h"
#include "cuda/rate_tables.h"
#include "cuda/tier1_coder.h"
#include "kernels/ebcot/rdoq.h"
#include "kernels/rate/slopes.h"
#include "plan/plan.h"

namespace cj2k::cuda {

struct PlanTables;

struct EbcotMemory {
  EbcotMemory() = default;
  EbcotMemory(const Plan& plan, const PlanTables& tables, bool on_device, Carver& carver);

  Span<uint64_t> words;
  Span<uint32_t> magnitudes;
  Span<uint8_t> symbols;
  Span<PassSymbols> pass_symbols;
  Span<CodingPass> passes;
  Span<PassTail> tails;  ///< with PTERM
  Span<Tier1Snapshot> snapshots;
  Span<Tier1State> states;
  Span<uint32_t> list, resumed_list;
  Span<uint16_t> thresholds;
  Span<Tier1Result> results;
  Span<HullPoint> hull;
  Span<SegmentEnd> segments;  ///< where codewords have more than one
  Span<PassTail> hull_tails;  ///< with PTERM
  Span<uint32_t> totals;
  Span<PackedBytes> packed;
  Span<uint8_t> scratch;
  Span<uint32_t> weights;        ///< exact
  Span<PlaneRecord> records;     ///< psb, bpi
  Span<uint64_t> stop_counters;  ///< coded bytes: by slope (exact, psb) or by component (bpi)
  // Rate control on the device.
  Span<uint16_t> next_thresholds;  ///< that blocks which resume are coded to
  Span<uint8_t> paused_passes;     ///< of each block, coded before any resumed
  // RDOQ.
  Span<Tier1Job> jobs;  ///< of each block, with the steps that its frame has
  Span<RdoqFrame> rdoq_frames;
  Span<int64_t> removed;       ///< RdoqOutput
  Span<double> total_removed;  ///< RdoqOutput::totals
  Span<uint8_t> last_planes;   ///< RdoqOutput
  Span<uint8_t> votes;         ///< StepVote of each block of the list
  Span<float> shifted;  ///< RdoqParams::shifted: planes of component 0, where colours are coupled
};

}  // namespace cj2k::cuda
