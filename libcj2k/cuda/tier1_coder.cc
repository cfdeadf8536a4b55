// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/tier1_coder.h"

#include <algorithm>
#include <memory>

#include "kernels/ebcot/tier1_launch.h"
#include "kernels/simt/device.h"

namespace cj2k::cuda {
namespace {

using tier1::MqParams;
using tier1::PlaneLists;

MqParams mq_params(const Tier1Buffers& buffers, const Tier1List& list, const Tier1Limits& limits,
                   uint32_t style) {
  MqParams params{};
  params.buffers = buffers;
  params.list = list;
  params.stop = limits;
  params.style = style;
  params.states = mq::kStates;
  return params;
}

/// Models the planes that the blocks have left to code, then codes them, sorted by their decisions.
/// With an early stop it models those that are expected to be coded. Then it models and codes the rest
/// of the blocks that did not pause there.
///
/// Modelling of many blocks has a stream of its own, with a low priority: it fills the device, and MQ
/// coding of other GOPs, which waits for memory and for its own results, runs beside it.
class ClassicCoder final : public Tier1Coder {
 public:
  ClassicCoder(uint32_t style, bool reversible) : style_(style), reversible_(reversible) {}

  Status create(simt::Context& context) {
    CJ2K_TRY(model_stream_.create(context, simt::Priority::kLow));
    CJ2K_TRY(to_model_.create(context));
    return modelled_.create(context);
  }

  uint64_t scratch_bytes(uint32_t max_blocks) const override {
    return (2 * tier1::kSortBuckets + 2 * uint64_t{max_blocks}) * sizeof(uint32_t);
  }

  Status code(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
              const Tier1Limits& limits, void* scratch) override {
    if (list.count() == 0) return Status::kOk;
    // The sample of blocks is fewer: its GOP waits for it.
    const bool are_many = list.count() > buffers.num_blocks / 2;
    simt::Stream& modelling = are_many ? model_stream_ : stream;
    Tier1Limits part = limits;
    if (limits.thresholds == nullptr)
      return code_part(stream, modelling, buffers, list, part, scratch);
    part.modelled = Tier1Limits::Modelled::kExpected;
    CJ2K_TRY(code_part(stream, modelling, buffers, list, part, scratch));
    part.modelled = Tier1Limits::Modelled::kOpen;
    return code_part(stream, stream, buffers, list, part, scratch);
  }

 private:
  Status code_part(simt::Stream& stream, simt::Stream& modelling, const Tier1Buffers& buffers,
                   const Tier1List& list, const Tier1Limits& limits, void* scratch) {
    if (&modelling != &stream) {
      CJ2K_TRY(stream.record(to_model_));
      CJ2K_TRY(modelling.wait(to_model_));
    }
    uint32_t first = 0;
    for (int size = 0; size < kTier1Sizes; ++size) {
      const uint32_t count = list.counts[size];
      if (count == 0) continue;
      CJ2K_TRY(tier1::tier1_model(modelling,
                                  {buffers, list.blocks + first, nullptr, count, style_,
                                   tier1::kPlanesLeft, limits, reversible_},
                                  size));
      first += count;
    }
    if (&modelling != &stream) {
      CJ2K_TRY(modelling.record(modelled_));
      CJ2K_TRY(stream.wait(modelled_));
    }
    auto* const counts = static_cast<uint32_t*>(scratch);
    uint32_t* const buckets = counts + 2 * tier1::kSortBuckets;
    uint32_t* const sorted = buckets + list.count();
    CJ2K_TRY(stream.fill_u32(counts, 0, 2 * tier1::kSortBuckets));
    CJ2K_TRY(tier1::tier1_sort(
        stream, {buffers, list, limits, counts, counts + tier1::kSortBuckets, buckets, sorted}));
    MqParams params = mq_params(buffers, list, limits, style_);
    params.list.blocks = sorted;
    return tier1::tier1_mq(stream, params);
  }

  const uint32_t style_;
  const bool reversible_;
  simt::Stream model_stream_;
  simt::Event to_model_, modelled_;
};

/// Codes plane by plane, beginning with the highest plane of the plan. Each plane has one list of
/// blocks for each of the two kernels. The lists are made on the device, so the host need not know
/// which blocks are still active. What the MQ coder gets is sorted by its decisions (tier1_sort.cuh):
///
///   caller's stream   start            sort p  MQ p        sort p-1  MQ p-1
///   own stream                model p          model p-1             model p-2
///
/// The model kernel of plane p - 1 runs beside the MQ coder of plane p, which may let more blocks
/// pause. It writes to the half of a block's room that the MQ coder of plane p + 1 has read. So its
/// list has the blocks that go on after plane p + 1, and the blocks that start at plane p or p - 1.
///
/// code_planes lists the blocks anew for each plane, after it is known which of them have stopped:
///
///   caller's stream   list p           sort p  MQ p       who stops  list p-1  sort p-1  MQ p-1
///   own stream                model p          model p-1                                 model p-2
///
/// What stops after plane p is modelled in plane p - 1 in vain, as in section 5 of Martinez-del-Amor
/// et al. (2017).
///
/// Calls on several streams are correct, but they take turns on the coder's own stream.
class CiboCoder final : public Tier1Coder {
 public:
  CiboCoder(const Tier1Layout& layout, uint32_t style, bool reversible)
      : max_planes_(layout.max_bit_planes), style_(style), reversible_(reversible) {}

  Status create(simt::Context& context) {
    CJ2K_TRY(model_stream_.create(context));
    CJ2K_TRY(listed_.create(context));
    return modelled_.create(context);
  }

  uint64_t scratch_bytes(uint32_t max_blocks) const override {
    return 2 * (counts() + uint64_t{max_planes_} * max_blocks) * sizeof(uint32_t);
  }

  Status code(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
              const Tier1Limits& limits, void* scratch) override {
    if (list.count() == 0) return Status::kOk;
    MqParams params{};
    CJ2K_TRY(begin(stream, buffers, list, limits, scratch, &params));
    CJ2K_TRY(tier1::tier1_start(stream,
                                {buffers, list, limits, params.to_code, params.to_model, false}));
    const int top =
        std::min(static_cast<int>(max_planes_) - 1, static_cast<int>(limits.first_plane));
    const auto last = static_cast<int>(limits.last_plane);
    if (top < last) return Status::kOk;
    CJ2K_TRY(stream.record(listed_));
    CJ2K_TRY(model(buffers, list, params.to_model, top));
    for (int plane = top; plane >= last; --plane) {
      CJ2K_TRY(code_plane(stream, list, params, plane, last));
    }
    return Status::kOk;
  }

  Status code_planes(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
                     uint32_t num_planes, const AfterPlane& after_plane, void* scratch) override {
    if (list.count() == 0) {
      return Tier1Coder::code_planes(stream, buffers, list, num_planes, after_plane, scratch);
    }
    MqParams params{};
    CJ2K_TRY(begin(stream, buffers, list, {}, scratch, &params));
    const int top = static_cast<int>(num_planes) - 1;
    for (int plane = top; plane >= 0; --plane) {
      params.stop.last_plane = static_cast<uint32_t>(plane);
      CJ2K_TRY(tier1::tier1_start(
          stream, {buffers, list, params.stop, params.to_code, params.to_model, true}));
      if (plane == top) {
        CJ2K_TRY(stream.record(listed_));
        CJ2K_TRY(model(buffers, list, params.to_code, plane));
      }
      CJ2K_TRY(code_plane(stream, list, params, plane, 0));
      CJ2K_TRY(after_plane(stream, params.stop.last_plane));
    }
    return Status::kOk;
  }

 private:
  /// Empties the lists of planes.
  Status begin(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
               const Tier1Limits& limits, void* scratch, MqParams* params) const {
    auto* counters = static_cast<uint32_t*>(scratch);
    uint32_t* blocks = counters + 2 * counts();
    const uint32_t first1 = list.counts[0], first2 = first1 + list.counts[1];
    *params = mq_params(buffers, list, limits, style_);
    params->to_code = {counters, blocks, list.count(), {0, first1, first2}};
    params->to_model = {counters + counts(),
                        blocks + uint64_t{max_planes_} * list.count(),
                        list.count(),
                        {0, first1, first2}};
    return max_planes_ > 0 ? stream.fill_u32(counters, 0, 2 * counts()) : Status::kOk;
  }

  /// Number of counters of one of the two sets of lists, rounded up for alignment.
  uint64_t counts() const { return (uint64_t{max_planes_} * kTier1Sizes + 31) / 32 * 32; }

  /// Codes a plane that is or will be modelled, and models the plane below meanwhile, if it is not
  /// below `last`.
  Status code_plane(simt::Stream& stream, const Tier1List& list, MqParams& params, int plane,
                    int last) {
    params.plane = plane;
    CJ2K_TRY(stream.wait(modelled_));
    CJ2K_TRY(tier1::tier1_sort_plane(stream, {params.buffers, params.to_code, plane}, list.counts));
    // Here, so that the launch above need not wait until modelling leaves room for it.
    CJ2K_TRY(stream.record(listed_));
    CJ2K_TRY(tier1::tier1_mq_plane(stream, params));
    return plane > last ? model(params.buffers, list, params.to_model, plane - 1) : Status::kOk;
  }

  /// Models a plane after listed_, and records modelled_ behind it.
  Status model(const Tier1Buffers& buffers, const Tier1List& list, const PlaneLists& to_model,
               int plane) {
    CJ2K_TRY(model_stream_.wait(listed_));
    for (int size = 0; size < kTier1Sizes; ++size) {
      if (list.counts[size] == 0) continue;
      const auto row = static_cast<uint64_t>(plane);
      const tier1::ModelParams params{
          buffers,
          to_model.blocks + row * to_model.stride + to_model.first_of[size],
          to_model.counts + row * kTier1Sizes + static_cast<uint64_t>(size),
          list.counts[size],
          style_,
          plane,
          {},
          reversible_};
      CJ2K_TRY(tier1::tier1_model(model_stream_, params, size));
    }
    return model_stream_.record(modelled_);
  }

  const uint32_t max_planes_, style_;
  const bool reversible_;
  simt::Stream model_stream_;
  simt::Event listed_;  ///< what is modelled next is known, and nobody reads its room any more
  simt::Event modelled_;
};

/// Scratch of the fused form, for any list: one counter of taken entries per tier1_size.
constexpr uint64_t kFusedScratchBytes = kTier1Sizes * sizeof(uint32_t);

/// Models and codes the blocks of each size in one kernel, then ends their codewords.
class FusedCoder final : public Tier1Coder {
 public:
  FusedCoder(uint32_t style, bool reversible, uint32_t max_thread_blocks)
      : style_(style), reversible_(reversible), max_thread_blocks_(max_thread_blocks) {}

  uint64_t scratch_bytes(uint32_t) const override { return kFusedScratchBytes; }

  Status code(simt::Stream& stream, const Tier1Buffers& buffers, const Tier1List& list,
              const Tier1Limits& limits, void* scratch) override {
    if (list.count() == 0) return Status::kOk;
    auto* taken = static_cast<uint32_t*>(scratch);
    CJ2K_TRY(stream.fill_u32(taken, 0, kTier1Sizes));
    uint32_t first = 0;
    for (int size = 0; size < kTier1Sizes; ++size) {
      const uint32_t count = list.counts[size];
      CJ2K_TRY(tier1::tier1_fused(stream,
                                  {buffers, list.blocks + first, count, style_, limits,
                                   taken + size, 0, reversible_, mq::kStates},
                                  size, max_thread_blocks_));
      first += count;
    }
    return tier1::tier1_close(stream, buffers, list, style_);
  }

 private:
  const uint32_t style_;
  const bool reversible_;
  const uint32_t max_thread_blocks_;
};

}  // namespace

Status Tier1Coder::code_planes(simt::Stream& stream, const Tier1Buffers& buffers,
                               const Tier1List& list, uint32_t num_planes,
                               const AfterPlane& after_plane, void* scratch) {
  for (uint32_t plane = num_planes; plane-- > 0;) {
    CJ2K_TRY(code(stream, buffers, list, {nullptr, plane, plane}, scratch));
    CJ2K_TRY(after_plane(stream, plane));
  }
  return Status::kOk;
}

std::unique_ptr<Tier1Coder> make_fused_coder(uint32_t style, bool reversible,
                                             uint32_t max_thread_blocks) {
  return std::make_unique<FusedCoder>(style, reversible, max_thread_blocks);
}

uint64_t tier1_scratch_bytes(Tier1Form form, const Tier1Layout& layout, uint32_t max_blocks) {
  switch (form) {
    case Tier1Form::kClassic:
      return ClassicCoder(0, false).scratch_bytes(max_blocks);
    case Tier1Form::kCibo:
      return CiboCoder(layout, 0, false).scratch_bytes(max_blocks);
    case Tier1Form::kFused:
      break;
  }
  return kFusedScratchBytes;
}

Status make_tier1_coder(simt::Context& context, Tier1Form form, const Tier1Layout& layout,
                        uint32_t style, bool reversible, std::unique_ptr<Tier1Coder>* coder) {
  switch (form) {
    case Tier1Form::kClassic: {
      auto classic = std::make_unique<ClassicCoder>(style, reversible);
      CJ2K_TRY(classic->create(context));
      *coder = std::move(classic);
      return Status::kOk;
    }
    case Tier1Form::kCibo: {
      auto cibo = std::make_unique<CiboCoder>(layout, style, reversible);
      CJ2K_TRY(cibo->create(context));
      *coder = std::move(cibo);
      return Status::kOk;
    }
    case Tier1Form::kFused:
      *coder = make_fused_coder(style, reversible);
      return Status::kOk;
  }
  return Status::kNotSupported;
}

}  // namespace cj2k::cuda
