// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context modelling (tier1_model-inl.h) pass by pass, and MQ coding: of two blocks in turn
// (mq_pairs-inl.h), or of many blocks in lanes (mq_lanes.h).
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "coders/ebcot/segment_coder.h"
#include "coders/ebcot/tier1.h"
#include "coders/ebcot/tier1_lanes.h"
#include "core/distortion.h"
#include "core/ebcot/expected_pause.h"
#include "core/ebcot/segments.h"
#include "core/stop.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ebcot/tier1_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "coders/ebcot/mq_pairs-inl.h"
#include "coders/ebcot/tier1_model-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

/// Models one block, pass by pass. For each pass, in order: model, advance.
class Modeller {
 public:
  /// @param plane  the first one to model, 0 or more; those above it are coded
  Modeller(const Tier1Block& block, int plane, Tier1Scratch::Impl& z)
      : block_(block), z_(z), plane_(plane) {
    const int top = block_.bit_planes - 1;
    layout_.words_wide = (block_.width + 15) / 16;
    layout_.pitch = layout_.words_wide + 1;
    layout_.stripes = (block_.height + 3) / 4;
    layout_.begin = 1 + layout_.pitch;
    layout_.end = layout_.begin + layout_.stripes * layout_.pitch;
    pass_ = num_passes_of(top - plane_);
    load_planes(block_, layout_, z_);
    if (plane_ < top) restore_significance(block_, layout_, plane_, z_);
  }

  int plane() const { return plane_; }  ///< of the pass; -1: there are no more
  PassKind kind() const { return pass_kind(pass_); }
  int64_t distortion() const { return distortion_; }

  /// Models the pass. @return its symbols
  size_t model(mq::Symbol* symbols) {
    const bool vsc = (block_.style & CJ2K_STYLE_VSC) != 0;
    const uint64_t* bits = z_.planes[plane_];
    size_t count = 0;
    switch (kind()) {
      case PassKind::kSignificance:
        grow_significance(layout_, vsc, bits, z_);
        model_significance(layout_, block_.orientation, vsc, pass_is_raw(block_.style, pass_), z_);
        count = emit_pass(layout_, z_, bits, z_.members, z_.n, symbols);
        sums_ = plane_sums<false>(layout_, z_, plane_);
        distortion_ =
            significance_distortion(plane_, block_.reversible, sums_.found, sums_.found_low);
        break;
      case PassKind::kRefinement:
        model_refinement(layout_, vsc, z_);
        count = emit_pass(layout_, z_, bits, z_.s, nullptr, symbols);
        distortion_ = refinement_distortion(plane_, block_.reversible, sums_.ones, sums_.zeros,
                                            sums_.refined_low_difference);
        break;
      case PassKind::kCleanup:
        model_cleanup(layout_, block_.orientation, vsc, bits, z_);
        count = emit_cleanup(layout_, z_, bits, (block_.style & CJ2K_STYLE_SEGSYM) != 0, symbols);
        if (pass_ == 0) sums_ = plane_sums<true>(layout_, z_, plane_);
        distortion_ =
            significance_distortion(plane_, block_.reversible, sums_.cleaned, sums_.cleaned_low);
        break;
    }
    return count;
  }

  void advance() {
    if (kind() == PassKind::kCleanup) {
      for (int i = layout_.begin; i < layout_.end; ++i) z_.s[i] = z_.a[i] = z_.e[i];
      --plane_;
    }
    ++pass_;
  }

 private:
  const Tier1Block block_;
  Tier1Scratch::Impl& z_;
  Layout layout_;
  int plane_;
  int pass_;        ///< number in the block
  PlaneSums sums_;  ///< of plane_
  int64_t distortion_ = 0;
};

/// The first plane to code now; -1: there is none.
int first_plane(const Tier1Task& task) {
  const bool resumes = task.stop != nullptr && task.stop->resume != nullptr;
  return task.block.bit_planes - 1 - (resumes ? num_planes_coded(task.out->num_passes) : 0);
}
void begin(const Tier1Task& task, SegmentCoder& coder) {
  if (task.stop == nullptr) return;
  task.stop->paused = false;
  if (task.stop->resume != nullptr) coder.resume(*task.stop->resume);
}
/// Whether the block pauses after the clean-up pass of `plane`, which is not the last one.
bool pauses(const Tier1Task& task, int plane) {
  const Tier1Stop* stop = task.stop;
  if (stop == nullptr || num_planes_coded(task.out->num_passes) <= stop->planes_before)
    return false;
  if (plane <= stop->last_plane) return true;
  const auto pass = [&](int i) { return task.out->passes[i]; };
  return stop->threshold != 0 &&
         may_pause_after(pass, task.out->num_passes, stop->weight, stop->threshold);
}

/// Codes one block of a pair.
class BlockCoder {
 public:
  BlockCoder(const Tier1Task& task, Tier1Scratch::Impl& z)
      : task_(task), z_(z), coder_(task.block.style, *task.out) {
    begin(task_, coder_);
    const int plane = first_plane(task_);
    if (plane >= 0) model_.emplace(task_.block, plane, z_);
  }

  /// Models the next pass that has MQ decisions: `left` of them at `symbols`. Passes without MQ
  /// decisions (raw or empty passes) are coded here.
  /// @return false: the block is finished or has paused
  bool next_pass() {
    while (model_) {
      const size_t count = model_->model(z_.symbols);
      if (coder_.begin_pass(z_.symbols, count) && count > 0) {
        symbols = z_.symbols;
        left = count;
        return true;
      }
      end_pass();
    }
    return false;
  }
  /// To be called when all symbols of the pass have been coded.
  void end_pass() {
    const int plane = model_->plane();
    const bool ends_plane = model_->kind() == PassKind::kCleanup;
    coder_.end_pass(plane, model_->distortion(), ends_plane && plane == 0);
    model_->advance();
    if (!ends_plane) return;
    if (plane == 0) {
      model_.reset();
    } else if (pauses(task_, plane)) {
      coder_.pause(*task_.stop->saved);
      task_.stop->paused = true;
      model_.reset();
    }
  }

  PairHalf half() { return {coder_.registers(), coder_.contexts(), symbols}; }

  const mq::Symbol* symbols = nullptr;
  size_t left = 0;

 private:
  const Tier1Task task_;
  Tier1Scratch::Impl& z_;
  SegmentCoder coder_;
  std::optional<Modeller> model_;  ///< none: finished or paused
};

void EncodeBlocks(Tier1Queue& queue, Tier1Scratch* scratch) {
  std::optional<BlockCoder> blocks[kTier1Lanes];
  /// Gets the lane's next decisions. @return whether there are any
  const auto refill = [&](int lane) {
    std::optional<BlockCoder>& block = blocks[lane];
    if (block && block->left > 0) return true;
    if (block) block->end_pass();
    while (true) {
      if (block) {
        if (block->next_pass()) return true;
        block.reset();
        queue.done(lane);
      }
      Tier1Task task;
      if (!queue.next(lane, &task)) return false;
      block.emplace(task, scratch[lane].impl());
    }
  };
  bool runs[kTier1Lanes] = {refill(0), refill(1)};
  while (runs[0] && runs[1]) {
    const size_t count = HWY_MIN(blocks[0]->left, blocks[1]->left);
    code_decisions(blocks[0]->half(), blocks[1]->half(), count);
    for (int lane : {0, 1}) {
      blocks[lane]->symbols += count;
      blocks[lane]->left -= count;
      runs[lane] = refill(lane);
    }
  }
  for (int lane : {0, 1}) {
    while (runs[lane]) {
      const PairHalf half = blocks[lane]->half();
      code_decisions(half.coder, half.contexts, half.symbols, blocks[lane]->left);
      blocks[lane]->left = 0;
      runs[lane] = refill(lane);
    }
  }
}

/// Models blocks for the lanes of MQ coding, all passes of a block at once: up to the plane after
/// which it is expected to pause. If it does not pause there, the next planes are modelled then.
class LaneModeller final : public LaneSource {
 public:
  LaneModeller(Tier1Queue& queue, Tier1Scratch::Impl& z, Tier1Lanes::Impl& lanes)
      : queue_(queue), z_(z), lanes_(lanes) {}

  bool start(int lane, LanePass* pass) override {
    Tier1Task task;
    while (queue_.next(lane, &task)) {
      LaneBlock& block = lanes_.blocks[lane].emplace(task);
      begin(task, block.coder);
      block.plane = first_plane(task);
      if (next_pass(lane, nullptr, pass)) {
        pass->registers = &block.coder.registers();
        pass->contexts = block.coder.contexts();
        return true;
      }
      queue_.done(lane);
    }
    return false;
  }
  bool pass_end(int lane, const mq::Coder& registers, const LaneContexts& contexts,
                LanePass* pass) override {
    LaneBlock& block = *lanes_.blocks[lane];
    block.coder.registers() = registers;
    if (end_pass(block, &contexts) && next_pass(lane, &contexts, pass)) return true;
    queue_.done(lane);
    return false;
  }

 private:
  /// Goes to the next pass with MQ decisions. Raw and empty passes are coded here.
  /// @param contexts  of the lane; null: those of the block's coder are current
  /// @return false: the block is finished or has paused
  bool next_pass(int lane, const LaneContexts* contexts, LanePass* next) {
    LaneBlock& block = *lanes_.blocks[lane];
    const uint32_t style = block.task.block.style;
    while (true) {
      if (block.next == block.num_passes) {
        if (block.plane < 0) return false;
        model(lane);
      }
      const LaneBlock::Pass& pass = block.passes[block.next];
      const mq::Symbol* symbols = lanes_.symbols_of(lane) + pass.begin;
      if (block.coder.begin_pass(symbols, pass.count) && pass.count > 0) {
        *next = {symbols, pass.count, has_segments(style) ? &block.coder.registers() : nullptr,
                 (style & CJ2K_STYLE_RESET) != 0 ? block.coder.contexts() : nullptr};
        return true;
      }
      if (!end_pass(block, contexts)) return false;
    }
  }

  /// @return false: the block is finished or has paused
  bool end_pass(LaneBlock& block, const LaneContexts* contexts) {
    const LaneBlock::Pass& pass = block.passes[block.next++];
    const bool ends_plane = pass.kind == PassKind::kCleanup;
    block.coder.end_pass(pass.plane, pass.distortion, ends_plane && pass.plane == 0);
    if (!ends_plane) return true;
    if (pass.plane == 0) return false;
    if (!pauses(block.task, pass.plane)) return true;
    if (contexts != nullptr) contexts->copy_to(block.coder.contexts());
    block.coder.pause(*block.task.stop->saved);
    block.task.stop->paused = true;
    return false;
  }

  void model(int lane) {
    LaneBlock& block = *lanes_.blocks[lane];
    const Tier1Stop* stop = block.task.stop;
    ExpectedPause expected(stop != nullptr ? stop->weight : 0,
                           stop != nullptr ? stop->threshold : uint16_t{0});
    Modeller modeller(block.task.block, block.plane, z_);
    block.num_passes = block.next = 0;
    mq::Symbol* const symbols = lanes_.symbols_of(lane);
    uint32_t begin = 0;
    bool ends = false;
    while (modeller.plane() >= 0 && !ends) {
      const auto count = static_cast<uint32_t>(modeller.model(symbols + begin));
      const PassKind kind = modeller.kind();
      const int plane = modeller.plane();
      const int64_t distortion = modeller.distortion();
      block.passes[block.num_passes++] = {begin, count, distortion, static_cast<uint8_t>(plane),
                                          kind};
      std::memset(symbols + begin + count, kLaneIdle, kLaneChunk);
      begin += (count + kLaneChunk - 1) / kLaneChunk * kLaneChunk;
      ends = expected.add(kind, count, distortion, plane) ||
             (kind == PassKind::kCleanup && stop != nullptr && plane <= stop->last_plane);
      modeller.advance();
    }
    block.plane = modeller.plane();
  }

  Tier1Queue& queue_;
  Tier1Scratch::Impl& z_;
  Tier1Lanes::Impl& lanes_;
};

void EncodeInLanes(Tier1Queue& queue, Tier1Scratch& scratch, Tier1Lanes& lanes) {
  LaneModeller source(queue, scratch.impl(), lanes.impl());
  simd::code_lanes(source, lanes.impl().mq);
}

}  // namespace

HWY_DLLEXPORT void Tier1EncodeBlocks(Tier1Queue& queue, Tier1Scratch* scratch) {
  EncodeBlocks(queue, scratch);
}

HWY_DLLEXPORT void Tier1EncodeInLanes(Tier1Queue& queue, Tier1Scratch& scratch, Tier1Lanes& lanes) {
  EncodeInLanes(queue, scratch, lanes);
}

HWY_DLLEXPORT int64_t Tier1Target() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k {
HWY_EXPORT(Tier1EncodeBlocks);
HWY_EXPORT(Tier1EncodeInLanes);
HWY_EXPORT(Tier1Target);

Tier1Scratch::Tier1Scratch() : impl_(new Impl()) {}
Tier1Scratch::~Tier1Scratch() { delete impl_; }
Tier1Scratch::Tier1Scratch(Tier1Scratch&& other) noexcept : impl_(other.impl_) {
  other.impl_ = nullptr;
}

Tier1Lanes::Tier1Lanes(size_t samples, int bit_planes) : impl_(new Impl(samples, bit_planes)) {}
Tier1Lanes::~Tier1Lanes() { delete impl_; }

namespace simd {
int64_t tier1_target() { return HWY_DYNAMIC_DISPATCH(Tier1Target)(); }

void encode_blocks(Tier1Queue& queue, Tier1Scratch* scratch) {
  HWY_DYNAMIC_DISPATCH(Tier1EncodeBlocks)(queue, scratch);
}

void encode_in_lanes(Tier1Queue& queue, Tier1Scratch& scratch, Tier1Lanes& lanes) {
  HWY_DYNAMIC_DISPATCH(Tier1EncodeInLanes)(queue, scratch, lanes);
}

void encode_block(const Tier1Block& block, Tier1Scratch& scratch, Tier1Output& out,
                  Tier1Stop* stop) {
  /// A queue of one block, for lane 0.
  class One final : public Tier1Queue {
   public:
    explicit One(const Tier1Task& task) : task_(task) {}
    bool next(int lane, Tier1Task* task) override {
      *task = task_;
      return lane == 0 && std::exchange(is_there_, false);
    }
    void done(int) override {}

   private:
    const Tier1Task task_;
    bool is_there_ = true;
  };
  One queue({block, &out, stop});
  encode_blocks(queue, &scratch);
}
}  // namespace simd
}  // namespace cj2k
#endif  // HWY_ONCE
