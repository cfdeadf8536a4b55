// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MQ coding of one block, and of two blocks in turn. Each decision needs the registers, and often the
// context, that the decision before it left. The processor fills this wait with the decisions of the
// other block. Here, so that it uses the shifts and the leading-zero count of the target.
//
// This file is included once per instruction set (Highway's foreach_target.h).
#include <cstring>

#include "core/ebcot/mq.h"

#if defined(CJ2K_MQ_PAIRS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CJ2K_MQ_PAIRS_INL
#undef CJ2K_MQ_PAIRS_INL
#else
#define CJ2K_MQ_PAIRS_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cj2k {
namespace HWY_NAMESPACE {
namespace {

/// Codes `count` decisions of a block.
HWY_MAYBE_UNUSED HWY_ATTR void code_decisions(mq::Coder& coder, mq::State* contexts,
                                              const mq::Symbol* symbols, size_t count) {
  mq::Coder registers = coder;
  for (size_t i = 0; i < count; ++i) mq::encode(registers, contexts, symbols[i]);
  coder = registers;
}

/// The decisions of one of two blocks.
struct PairHalf {
  mq::Coder& coder;
  mq::State* contexts;
  const mq::Symbol* symbols;
};

/// Codes `count` decisions of each block.
HWY_MAYBE_UNUSED HWY_ATTR void code_decisions(const PairHalf& block0, const PairHalf& block1,
                                              size_t count) {
  mq::Coder registers0 = block0.coder, registers1 = block1.coder;
  // Copies on the stack have a fixed address, so no register is needed for a pointer.
  mq::State contexts0[mq::kNumContexts], contexts1[mq::kNumContexts];
  std::memcpy(contexts0, block0.contexts, sizeof contexts0);
  std::memcpy(contexts1, block1.contexts, sizeof contexts1);
  const mq::Symbol *symbols0 = block0.symbols, *symbols1 = block1.symbols;
  for (size_t i = 0; i < count; ++i) {
    mq::encode(registers0, contexts0, symbols0[i]);
    mq::encode(registers1, contexts1, symbols1[i]);
  }
  std::memcpy(block0.contexts, contexts0, sizeof contexts0);
  std::memcpy(block1.contexts, contexts1, sizeof contexts1);
  block0.coder = registers0;
  block1.coder = registers1;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cj2k
HWY_AFTER_NAMESPACE();
#endif
