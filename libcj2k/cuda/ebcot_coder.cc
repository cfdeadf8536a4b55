// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The EBCOT block coder of the CUDA backend: quantisation to bit-planes, tier-1, the stop rules and
// the hulls. Their kernels are in kernels/ebcot and kernels/rate.
#include <algorithm>
#include <memory>
#include <vector>

#include "cuda/block_coder.h"
#include "cuda/block_lists.h"
#include "cuda/tier1_coder.h"
#include "kernels/ebcot/quantize.h"
#include "kernels/ebcot/tier1.h"
#include "kernels/rate/slopes.h"

namespace cj2k::cuda {
namespace {

FrameTargets targets_of(std::span<const BlockRequest> requests) {
  FrameTargets targets{};
  for (const BlockRequest& request : requests) targets.of[request.frame] = request.targets;
  return targets;
}

class DeviceEbcot final : public DeviceBlockCoder {
 public:
  explicit DeviceEbcot(const DeviceCoderSetup& setup) : s_(setup) {}
  Status create() {
    return make_tier1_coder(s_.context, s_.form, s_.tables.tier1, style(), s_.plan.reversible,
                            &coder_);
  }

  Status begin(CudaGopWork& work, const Samples& samples) override;
  Status code(CudaGopWork& work, std::span<BlockRequest> requests,
              const BlockSample& sample) override;
  /// All points are prefixes of the block's bytes.
  uint32_t pieces(CudaGopWork& work, uint32_t number, uint32_t points,
                  BlockPiece* pieces) override {
    const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
    const Tier1Job& job = s_.tables.tier1.jobs[number % num_blocks];
    pieces[0] = {number / num_blocks * s_.tables.tier1.frame_bytes + job.bytes_offset,
                 work.block(number).hull[points - 1].length_bytes};
    return 1;
  }
  void set_bytes(CudaGopWork& work, uint32_t number, uint32_t, uint32_t, uint8_t* bytes) override {
    work.block(number).data = bytes;
  }

 private:
  Status code_to_thresholds(CudaGopWork& work, std::span<const BlockRequest> requests);
  Status code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                        const BlockSample& sample);
  Status code_planes(CudaGopWork& work, std::span<const BlockRequest> requests);
  Tier1Buffers buffers(const CudaGopWork& work) const;
  Tier1Output output(const CudaGopWork& work) const;
  Status upload_list(CudaGopWork& work, uint32_t count);
  Status make_hulls(CudaGopWork& work, const Tier1List& list);
  Status bring_results(CudaGopWork& work, const Tier1List& list);
  Status bring_hulls(CudaGopWork& work, ListOutput* result);
  uint32_t style() const { return static_cast<uint32_t>(s_.plan.params.cblk_style); }

  const DeviceCoderSetup s_;
  std::unique_ptr<Tier1Coder> coder_;
};

Status DeviceEbcot::begin(CudaGopWork& work, const Samples& samples) {
  simt::Stream& stream = work.stream;
  const BitPlanes planes = buffers(work).planes;
  const auto* jobs = s_.table_memory.as<QuantizeJob>(s_.tables.quantize_offset);
  const auto count = static_cast<uint32_t>(s_.tables.quantize.size());
  CJ2K_TRY((s_.plan.reversible ? quantize53 : quantize97)(stream, jobs, count, samples, planes));
  return stream.fill(work.device.as<void>(s_.memory.states), 0,
                     work.num_blocks() * sizeof(Tier1State));
}

Status DeviceEbcot::code(CudaGopWork& work, std::span<BlockRequest> requests,
                         const BlockSample& sample) {
  CJ2K_TRY(work.stream.record(work.begin));
  switch (requests[0].rule) {
    case StopRule::kThresholds:
      return code_to_thresholds(work, requests);
    case StopRule::kPredicted:
      return code_predicted(work, requests, sample);
    case StopRule::kSlopeBytes:
    case StopRule::kBytes:
      break;
  }
  return code_planes(work, requests);
}

Status DeviceEbcot::upload_list(CudaGopWork& work, uint32_t count) {
  return work.stream.upload(work.device.as<void>(s_.memory.list),
                            work.pinned.as<void>(s_.pinned.list), count * sizeof(uint32_t));
}

Status DeviceEbcot::code_to_thresholds(CudaGopWork& work, std::span<const BlockRequest> requests) {
  const simt::DeviceBuffer& d = work.device;
  const Tier1List list = list_blocks(s_.tables.tier1, requests, d.as<uint32_t>(s_.memory.list),
                                     work.pinned.as<uint32_t>(s_.pinned.list));
  // With PTERM blocks do not pause: each pass has its own ending, and these are not kept.
  const bool may_pause = (style() & CJ2K_STYLE_PTERM) == 0;
  auto* thresholds = work.pinned.as<uint16_t>(s_.pinned.thresholds);
  const size_t num_thresholds =
      static_cast<size_t>(s_.plan.params.gop) * size_t{CJ2K_MAX_COMPONENTS};
  std::fill_n(thresholds, num_thresholds, uint16_t{0});
  for (const BlockRequest& request : requests) {
    if (!may_pause) break;
    std::copy(request.thresholds.begin(), request.thresholds.end(),
              thresholds + request.frame * CJ2K_MAX_COMPONENTS);
  }
  CJ2K_TRY(upload_list(work, list.count()));
  CJ2K_TRY(work.stream.upload(d.as<void>(s_.memory.thresholds), thresholds,
                              num_thresholds * sizeof(uint16_t)));
  CJ2K_TRY(coder_->code(work.stream, buffers(work), list, {d.as<uint16_t>(s_.memory.thresholds)},
                        d.as<void>(s_.memory.scratch)));
  return bring_results(work, list);
}

/// Codes the sample of blocks, makes their hulls, counts bytes by slope, predicts the thresholds
/// and codes the remaining blocks to them, all on the device without a wait in between.
Status DeviceEbcot::code_predicted(CudaGopWork& work, std::span<BlockRequest> requests,
                                   const BlockSample& sample) {
  std::vector<uint32_t>& frames = work.coded_frames;
  frames.clear();
  for (const BlockRequest& request : requests) frames.push_back(request.frame);
  const uint32_t num_frames = frames.back() + 1;
  // The two lists follow one another in one piece of memory.
  auto* const numbers = work.pinned.as<uint32_t>(s_.pinned.list);
  auto* const weights = work.pinned.as<uint32_t>(s_.pinned.weights);
  const simt::DeviceBuffer& d = work.device;
  auto* const list = d.as<uint32_t>(s_.memory.list);
  const Tier1List first =
      list_blocks(s_.tables.tier1, frames, sample.blocks, sample.weights, list, numbers, weights);
  const uint32_t behind = first.count();
  const Tier1List rest = list_blocks(s_.tables.tier1, frames, sample.rest, {}, list + behind,
                                     numbers + behind, nullptr);
  const uint32_t count = first.count() + rest.count();
  const Tier1Buffers b = buffers(work);
  const SlopeTables tables{d.as<uint64_t>(s_.memory.stop_counters),
                           static_cast<uint32_t>(s_.plan.components.size())};
  auto* const decided = d.as<uint16_t>(s_.memory.thresholds);
  void* const scratch = d.as<void>(s_.memory.scratch);
  simt::Stream& stream = work.stream;
  CJ2K_TRY(upload_list(work, count));
  CJ2K_TRY(stream.upload(d.as<void>(s_.memory.weights), weights, first.count() * sizeof(uint32_t)));
  CJ2K_TRY(stream.fill(tables.bytes, 0, s_.memory.stop_counters_bytes));
  CJ2K_TRY(coder_->code(stream, b, first, {nullptr}, scratch));
  CJ2K_TRY(make_hulls(work, first));
  CJ2K_TRY(
      slopes_accumulate(stream, b, first, output(work), d.as<uint32_t>(s_.memory.weights), tables));
  CJ2K_TRY(slopes_predict(stream, tables, num_frames, targets_of(requests), decided));
  CJ2K_TRY(coder_->code(stream, b, rest, {decided}, scratch));
  auto* const predicted = work.pinned.as<uint16_t>(s_.pinned.thresholds);
  CJ2K_TRY(stream.download(predicted, decided,
                           num_frames * size_t{CJ2K_MAX_COMPONENTS} * sizeof(uint16_t)));
  // Hulls do not depend on block sizes, so one list serves.
  CJ2K_TRY(bring_results(work, {list, {count, 0, 0}}));
  for (BlockRequest& request : requests) {
    std::copy_n(predicted + request.frame * CJ2K_MAX_COMPONENTS, CJ2K_MAX_COMPONENTS,
                request.thresholds.begin());
  }
  return Status::kOk;
}

/// Codes all planes one after the other, also planes in which no block is left to code.
Status DeviceEbcot::code_planes(CudaGopWork& work, std::span<const BlockRequest> requests) {
  const simt::DeviceBuffer& d = work.device;
  const Tier1List list = list_blocks(s_.tables.tier1, requests, d.as<uint32_t>(s_.memory.list),
                                     work.pinned.as<uint32_t>(s_.pinned.list));
  const Tier1Buffers b = buffers(work);
  const PlaneDecisions decisions{
      d.as<PlaneRecord>(s_.memory.records), d.as<uint64_t>(s_.memory.stop_counters),
      d.as<uint16_t>(s_.memory.thresholds), static_cast<uint32_t>(s_.plan.components.size())};
  const uint32_t num_frames = requests.back().frame + 1;
  const auto stop = requests[0].rule == StopRule::kSlopeBytes ? stop_by_slope_bytes : stop_by_bytes;
  const FrameTargets targets = targets_of(requests);
  simt::Stream& stream = work.stream;
  CJ2K_TRY(upload_list(work, list.count()));
  CJ2K_TRY(stream.fill(decisions.records, 0, s_.memory.records_bytes));
  CJ2K_TRY(stream.fill(decisions.bytes, 0, s_.memory.stop_counters_bytes));
  for (uint32_t plane = s_.tables.tier1.max_bit_planes; plane-- > 0;) {
    CJ2K_TRY(coder_->code(stream, b, list, {nullptr, plane, plane}, d.as<void>(s_.memory.scratch)));
    CJ2K_TRY(stop(stream, b, num_frames, plane, targets, decisions));
  }
  CJ2K_TRY(bring_results(work, list));
  // A block resumed for every plane after its first.
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  for (const BlockRequest& request : requests) {
    for (const uint32_t index : request.blocks) {
      CodedBlock& coded = work.block(request.frame * num_blocks + index);
      coded.num_passes_resumed =
          static_cast<uint8_t>(coded.num_passes > 0 ? coded.num_passes - 1 : 0);
    }
  }
  return Status::kOk;
}

Tier1Buffers DeviceEbcot::buffers(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  Tier1Buffers b{};
  b.jobs = s_.table_memory.as<Tier1Job>(s_.tables.tier1_offset);
  b.num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  b.planes = {d.as<uint64_t>(s_.memory.words), s_.tables.frame_words,
              d.as<uint32_t>(s_.memory.magnitudes)};
  b.frame_symbols = s_.tables.tier1.frame_symbols;
  b.frame_bytes = s_.tables.tier1.frame_bytes;
  b.frame_passes = s_.tables.tier1.frame_passes;
  if (s_.form != Tier1Form::kFused) {
    b.symbols = d.as<uint8_t>(s_.memory.symbols);
    b.pass_symbols = d.as<PassSymbols>(s_.memory.pass_symbols);
  }
  b.bytes = d.as<uint8_t>(s_.memory.coded);
  b.passes = d.as<CodingPass>(s_.memory.passes);
  if (style() & CJ2K_STYLE_PTERM) b.tails = d.as<PassTail>(s_.memory.tails);
  b.snapshots = d.as<Tier1Snapshot>(s_.memory.snapshots);
  b.states = d.as<Tier1State>(s_.memory.states);
  return b;
}

Tier1Output DeviceEbcot::output(const CudaGopWork& work) const {
  const simt::DeviceBuffer& d = work.device;
  const bool has_tails = (style() & CJ2K_STYLE_PTERM) != 0;
  return {d.as<Tier1Result>(s_.memory.results), d.as<HullPoint>(s_.memory.hull),
          has_segments(style()) ? d.as<SegmentEnd>(s_.memory.segments) : nullptr,
          has_tails ? d.as<PassTail>(s_.memory.hull_tails) : nullptr,
          d.as<uint32_t>(s_.memory.totals)};
}

Status DeviceEbcot::make_hulls(CudaGopWork& work, const Tier1List& list) {
  return tier1_hull(work.stream, buffers(work), list, style(), s_.plan.reversible,
                    s_.plan.params.lossless != 0, output(work));
}

/// Makes the hulls, downloads them with the results, and fills the CodedBlocks.
Status DeviceEbcot::bring_results(CudaGopWork& work, const Tier1List& list) {
  simt::Stream& stream = work.stream;
  CJ2K_TRY(make_hulls(work, list));
  auto* results = work.pinned.as<Tier1Result>(s_.pinned.results);
  CJ2K_TRY(stream.download(results, output(work).results, list.count() * sizeof(Tier1Result)));
  ListOutput from_device;
  CJ2K_TRY(bring_hulls(work, &from_device));
  const auto* numbers = work.pinned.as<uint32_t>(s_.pinned.list);
  for (uint32_t i = 0; i < list.count(); ++i) {
    const Tier1Result& r = results[i];
    const uint32_t index = numbers[i] % static_cast<uint32_t>(s_.plan.blocks.size());
    const Tier1Job& job = s_.tables.tier1.jobs[index];
    if (r.num_bytes > job.bytes_capacity) {
      return s_.context.log().fail(
          Status::kInternal,
          "code-block %u takes %u bytes, but only %u are reserved; use device=cpu", index,
          r.num_bytes, job.bytes_capacity);
    }
    CodedBlock& coded = work.block(numbers[i]);
    coded = coded_block(job, style(), r, from_device, coded);
    coded.zero_bit_planes += s_.plan.blocks[index].planes_above;
  }
  return Status::kOk;
}

/// Downloads the hull points, tails and segments. Waits twice: for their numbers, then for the
/// data.
Status DeviceEbcot::bring_hulls(CudaGopWork& work, ListOutput* result) {
  simt::Stream& stream = work.stream;
  const Tier1Output from = output(work);
  auto* totals = work.pinned.as<uint32_t>(s_.pinned.totals);
  CJ2K_TRY(stream.download(totals, from.totals, 2 * sizeof(uint32_t)));
  CJ2K_TRY(stream.record(work.end));
  CJ2K_TRY(work.end.synchronize());
  *result = {};
  const auto bring = [&](const auto* entries, uint32_t count, const auto** to) {
    if (entries == nullptr || count == 0) return Status::kOk;
    uint8_t* memory = nullptr;
    CJ2K_TRY(work.hulls.take(count * sizeof *entries, &memory));
    *to = reinterpret_cast<std::remove_reference_t<decltype(*to)>>(memory);
    return stream.download(memory, entries, count * sizeof *entries);
  };
  CJ2K_TRY(bring(from.hull, totals[0], &result->hulls));
  CJ2K_TRY(bring(from.tails, totals[0], &result->tails));
  CJ2K_TRY(bring(from.segments, totals[1], &result->segments));
  CJ2K_TRY(stream.record(work.end));
  return work.end.synchronize();
}

}  // namespace

Status make_device_ebcot(const DeviceCoderSetup& setup, std::unique_ptr<DeviceBlockCoder>* coder) {
  auto ebcot = std::make_unique<DeviceEbcot>(setup);
  CJ2K_TRY(ebcot->create());
  *coder = std::move(ebcot);
  return Status::kOk;
}

}  // namespace cj2k::cuda
