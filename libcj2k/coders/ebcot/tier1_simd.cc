// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Context modelling (tier1_model-inl.h) pass by pass, and MQ coding of two blocks in turn. Each
// decision needs the registers, and often the context, that the decision before it left. The
// processor fills this wait with the decisions of the other block.
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "coders/ebcot/segment_coder.h"
#include "coders/ebcot/tier1.h"
#include "core/distortion.h"
#include "core/ebcot/segments.h"
#include "core/stop.h"
#include "pixels/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coders/ebcot/tier1_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "coders/ebcot/tier1_model-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

/// Codes one block, pass by pass.
class BlockCoder {
 public:
  BlockCoder(const Tier1Task& task, Tier1Scratch::Impl& z)
      : block_(task.block), z_(z), out_(*task.out), stop_(task.stop), coder_(block_.style, out_) {
    plane_ = block_.bit_planes - 1;
    if (stop_ != nullptr) stop_->paused = false;
    if (stop_ != nullptr && stop_->resume != nullptr) {
      coder_.resume(*stop_->resume);
      plane_ -= num_planes_coded(out_.num_passes);
    }
    if (plane_ < 0) return;
    layout_.words_wide = (block_.width + 15) / 16;
    layout_.pitch = layout_.words_wide + 1;
    layout_.stripes = (block_.height + 3) / 4;
    layout_.begin = 1 + layout_.pitch;
    layout_.end = layout_.begin + layout_.stripes * layout_.pitch;
    load_planes(block_, layout_, z_);
    if (plane_ < block_.bit_planes - 1) restore_significance(block_, layout_, plane_, z_);
    step_ = plane_ == block_.bit_planes - 1 ? Step::kCleanup : Step::kSignificance;
  }

  /// Models the next pass that has MQ decisions: `left` of them at `symbols`. Passes without MQ
  /// decisions (raw or empty passes) are coded here.
  /// @return false: the block is finished or has paused
  bool next_pass() {
    while (plane_ >= 0) {
      const size_t count = model();
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
    coder_.end_pass(plane_, distortion_, step_ == Step::kCleanup && plane_ == 0);
    if (step_ == Step::kCleanup) {
      end_plane();
      step_ = Step::kSignificance;
    } else {
      step_ = step_ == Step::kSignificance ? Step::kRefinement : Step::kCleanup;
    }
  }

  mq::Coder& registers() { return coder_.registers(); }
  mq::State* contexts() { return coder_.contexts(); }

  const mq::Symbol* symbols = nullptr;
  size_t left = 0;

 private:
  enum class Step { kSignificance, kRefinement, kCleanup };

  /// Models the pass `step_` of the plane. @return its symbols
  size_t model() {
    const bool vsc = (block_.style & CJ2K_STYLE_VSC) != 0;
    const uint64_t* bits = z_.planes[plane_];
    size_t symbols_made = 0;
    switch (step_) {
      case Step::kSignificance: {
        const bool raw = pass_is_raw(block_.style, out_.num_passes);
        grow_significance(layout_, vsc, bits, z_);
        model_significance(layout_, block_.orientation, vsc, raw, z_);
        symbols_made = emit_pass(layout_, z_, bits, z_.members, z_.n);
        sums_ = plane_sums<false>(layout_, z_, plane_);
        distortion_ =
            significance_distortion(plane_, block_.reversible, sums_.found, sums_.found_low);
        break;
      }
      case Step::kRefinement: {
        model_refinement(layout_, vsc, z_);
        symbols_made = emit_pass(layout_, z_, bits, z_.s, nullptr);
        distortion_ = refinement_distortion(plane_, block_.reversible, sums_.ones, sums_.zeros,
                                            sums_.refined_low_difference);
        break;
      }
      case Step::kCleanup:
        model_cleanup(layout_, block_.orientation, vsc, bits, z_);
        symbols_made = emit_cleanup(layout_, z_, bits, (block_.style & CJ2K_STYLE_SEGSYM) != 0);
        if (plane_ == block_.bit_planes - 1) sums_ = plane_sums<true>(layout_, z_, plane_);
        distortion_ =
            significance_distortion(plane_, block_.reversible, sums_.cleaned, sums_.cleaned_low);
        break;
    }
    return symbols_made;
  }

  void end_plane() {
    for (int i = layout_.begin; i < layout_.end; ++i) z_.s[i] = z_.a[i] = z_.e[i];
    if (plane_ > 0 && pauses()) {
      coder_.pause(*stop_->saved);
      stop_->paused = true;
      plane_ = 0;
    }
    --plane_;
  }
  bool pauses() const {
    if (stop_ == nullptr) return false;
    if (plane_ <= stop_->last_plane) return true;
    const auto pass = [&](int i) { return out_.passes[i]; };
    return stop_->threshold != 0 &&
           may_pause_after(pass, out_.num_passes, stop_->weight, stop_->threshold);
  }

  const Tier1Block block_;
  Tier1Scratch::Impl& z_;
  Tier1Output& out_;
  Tier1Stop* const stop_;
  SegmentCoder coder_;
  Layout layout_;
  int plane_;
  Step step_;
  PlaneSums sums_;  ///< of plane_
  int64_t distortion_ = 0;
};

/// Codes the decisions that are left of a pass. Here, so that it uses the shifts and the
/// leading-zero count of this target.
HWY_ATTR void code_decisions(BlockCoder& block) {
  mq::Coder registers = block.registers();
  mq::State* contexts = block.contexts();
  for (size_t i = 0; i < block.left; ++i) mq::encode(registers, contexts, block.symbols[i]);
  block.registers() = registers;
  block.left = 0;
}

/// Codes the same number of decisions of both blocks, until one of them has none left.
HWY_ATTR void code_decisions(BlockCoder& block0, BlockCoder& block1) {
  const size_t count = HWY_MIN(block0.left, block1.left);
  mq::Coder registers0 = block0.registers(), registers1 = block1.registers();
  // Copies on the stack have a fixed address, so no register is needed for a pointer.
  mq::State contexts0[mq::kNumContexts], contexts1[mq::kNumContexts];
  std::memcpy(contexts0, block0.contexts(), sizeof contexts0);
  std::memcpy(contexts1, block1.contexts(), sizeof contexts1);
  const mq::Symbol *symbols0 = block0.symbols, *symbols1 = block1.symbols;
  for (size_t i = 0; i < count; ++i) {
    mq::encode(registers0, contexts0, symbols0[i]);
    mq::encode(registers1, contexts1, symbols1[i]);
  }
  std::memcpy(block0.contexts(), contexts0, sizeof contexts0);
  std::memcpy(block1.contexts(), contexts1, sizeof contexts1);
  block0.registers() = registers0;
  block1.registers() = registers1;
  block0.symbols += count;
  block1.symbols += count;
  block0.left -= count;
  block1.left -= count;
}

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
    code_decisions(*blocks[0], *blocks[1]);
    for (int lane : {0, 1}) runs[lane] = refill(lane);
  }
  for (int lane : {0, 1}) {
    while (runs[lane]) {
      code_decisions(*blocks[lane]);
      runs[lane] = refill(lane);
    }
  }
}

}  // namespace

HWY_DLLEXPORT void Tier1EncodeBlocks(Tier1Queue& queue, Tier1Scratch* scratch) {
  EncodeBlocks(queue, scratch);
}

HWY_DLLEXPORT int64_t Tier1Target() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cj2k {
HWY_EXPORT(Tier1EncodeBlocks);
HWY_EXPORT(Tier1Target);

Tier1Scratch::Tier1Scratch() : impl_(new Impl()) {}
Tier1Scratch::~Tier1Scratch() { delete impl_; }
Tier1Scratch::Tier1Scratch(Tier1Scratch&& other) noexcept : impl_(other.impl_) {
  other.impl_ = nullptr;
}

namespace simd {
int64_t tier1_target() { return HWY_DYNAMIC_DISPATCH(Tier1Target)(); }

void encode_blocks(Tier1Queue& queue, Tier1Scratch* scratch) {
  HWY_DYNAMIC_DISPATCH(Tier1EncodeBlocks)(queue, scratch);
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
