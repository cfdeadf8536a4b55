// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A kernel's PTX, decoded once: instructions with a function that executes each for some lanes of a
// warp, and operands that are offsets into the warp's registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cj2k::ptx {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = ~0u;

enum class Type : uint8_t {
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF32,
  kF64,
  kPred,
  kNone  // clang-format off
};  // clang-format on

/// Bytes of a value; 1 for predicates, of which a register has one bit for each lane.
unsigned bytes_of(Type type);
bool is_signed(Type type);

/// What is wrong with PTX, or with what a kernel does. Thrown, and caught by the driver's functions.
struct Failure {
  std::string text;
};

class Warp;
struct Insn;
/// Executes an instruction for these lanes, at least one.
using Execute = void (*)(Warp& warp, const Insn& insn, uint32_t lanes);

/// What the scheduler does with an instruction.
enum class Flow : uint8_t {
  kPlain,     ///< calls Insn::execute
  kTogether,  ///< calls Insn::execute when all lanes of the mask, the last operand, have arrived
  kBranch,
  kReturn,
  kSleep,  ///< another group of lanes, or another warp, runs first
  kBarSync,
  kBarArrive,
};

enum class Space : uint8_t { kGlobal, kShared, kParam, kGeneric };

struct Insn {
  static constexpr int kMaxOperands = 6;
  Execute execute = nullptr;
  int64_t offset = 0;                  ///< of an address
  int32_t operand[kMaxOperands] = {};  ///< those that are written come first
  int32_t target = -1;                 ///< of a branch
  int32_t guard = -1;                  ///< predicate; -1: none
  Flow flow = Flow::kPlain;
  uint8_t num_operands = 0, num_written = 0;
  uint8_t vector = 1;    ///< values of a load or store
  uint8_t to_bytes = 8;  ///< of the register that cvt writes
  Space space = Space::kGeneric;
  bool guard_not = false;
  uint8_t from_bytes = 8;  ///< of the register of the address, or that cvt reads
};

/// What an instruction asked of global memory: a request is what the lanes of a warp ask at once.
struct Traffic {
  uint64_t requests = 0;
  uint64_t sectors = 0;  ///< pieces of 32 bytes that were touched
  uint64_t best = 0;     ///< pieces of 32 bytes that as many different bytes fill
  void add(const Traffic& t) {
    requests += t.requests;
    sectors += t.sectors;
    best += t.best;
  }
};

struct Function {
  std::string name;
  std::vector<Insn> code;
  std::vector<std::string> text;         ///< of each instruction
  std::vector<uint64_t> executed;        ///< of each instruction: how often a warp was there
  std::vector<Traffic> traffic;          ///< of each instruction; empty without CJ2K_PTX_SECTORS
  std::vector<unsigned char> constants;  ///< a value for each lane
  size_t register_bytes = 0;             ///< of one warp
  std::vector<std::pair<int, int32_t>> specials;  ///< kind (index in kSpecialNames), operand
  std::vector<unsigned char> params;
  size_t param_bytes = 0;
  uint32_t smem_static = 0, smem_dynamic_align = 1;
  uint64_t launches = 0, blocks = 0, warp_insns = 0, lane_insns = 0;

  /// Where dynamic shared memory begins.
  uint32_t smem_dynamic_offset() const {
    return (smem_static + smem_dynamic_align - 1) / smem_dynamic_align * smem_dynamic_align;
  }
};

inline constexpr const char* kSpecialNames[] = {
    "%tid.x",   "%tid.y",   "%tid.z",    "%ntid.x",   "%ntid.y",   "%ntid.z", "%ctaid.x",
    "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid"};
inline constexpr int kNumSpecials = 14;

struct Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
};

/// Decodes all kernels of a PTX text. Throws Failure for what it does not know.
std::unique_ptr<Module> parse_module(const std::string& ptx);

/// A register or constant while a kernel is being decoded. Operands are numbers of registers, or
/// ~number of a constant, until assign_registers has run.
struct Virtual {
  uint8_t bytes;  ///< 1: a predicate
  uint64_t value = 0;
};
/// Gives registers places, which those that are never needed at the same time share, and replaces
/// the operands.
void assign_registers(Function& function, const std::vector<Virtual>& registers,
                      const std::vector<Virtual>& constants);

}  // namespace cj2k::ptx
