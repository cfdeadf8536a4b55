// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Statements of a kernel: declarations, labels, instructions.
#include "decode.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "settings.h"
#include "text.h"

namespace cj2k::ptx {

Decoder::Decoder(Function& function, std::string_view param_name,
                 const std::vector<ExternShared>& extern_shared)
    : function_(function), scopes_(1), extern_shared_(extern_shared) {
  if (!param_name.empty()) {
    symbols_[param_name] = reinterpret_cast<uint64_t>(function.params.data());
  }
  for (const ExternShared& e : extern_shared) function.smem_dynamic_align = e.align;
}

void Decoder::fail(std::string_view what) const {
  throw Failure{function_.name + ": " + std::string(what) + ": " + std::string(text_)};
}

void Decoder::decode(std::string_view body) {
  size_t at = 0;
  while (at < body.size()) {
    const char c = body[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
    } else if (c == '{') {
      scopes_.emplace_back();
      ++at;
    } else if (c == '}') {
      scopes_.pop_back();
      ++at;
    } else {
      const size_t end = body.find_first_of(";:", at);
      text_ = trim(body.substr(at, end - at));
      if (end == std::string_view::npos) fail("a statement without an end");
      if (body[end] == ':') {
        labels_[text_] = static_cast<int>(function_.code.size());
      } else {
        statement(text_);
      }
      at = end + 1;
    }
  }
  add_end();
  resolve_branches();
  assign_registers(function_, registers_, constants_);
}

/// A return behind the last instruction, if a lane could get there.
void Decoder::add_end() {
  auto& code = function_.code;
  bool needed = code.empty() || code.back().flow != Flow::kReturn || code.back().guard >= 0;
  for (const auto& [name, index] : labels_)
    needed = needed || index == static_cast<int>(code.size());
  if (!needed) return;
  Insn end;
  end.flow = Flow::kReturn;
  code.push_back(end);
  function_.text.emplace_back("the end");
}

void Decoder::resolve_branches() {
  for (const auto& [index, label] : branches_) {
    const auto found = labels_.find(label);
    text_ = label;
    if (found == labels_.end()) fail("no label");
    function_.code[index].target = found->second;
  }
}

void Decoder::statement(std::string_view text) {
  if (text.empty()) return;
  if (text[0] != '.') {
    instruction(text);
    return;
  }
  const std::string_view directive = take_word(text);
  if (directive == ".pragma" || directive == ".loc") return;
  if (directive == ".reg") {
    declare_registers(text);
  } else if (directive == ".shared") {
    declare_shared(text);
  } else {
    fail("what directive");
  }
}

int Decoder::new_register(unsigned bytes) {
  registers_.push_back({.bytes = static_cast<uint8_t>(bytes)});
  return static_cast<int>(registers_.size()) - 1;
}

void Decoder::declare_registers(std::string_view text) {
  const Type type = type_of(take_word(text).substr(1));
  if (type == Type::kNone) fail("what type of registers");
  for (const std::string_view name : split(text, ',')) {
    const size_t angle = name.find('<');
    Named named = {static_cast<int>(registers_.size()), 0};
    if (angle != std::string_view::npos) {
      named.count = static_cast<int>(number_of(name.substr(angle + 1, name.size() - angle - 2)));
    }
    for (int k = 0; k < std::max(named.count, 1); ++k) new_register(bytes_of(type));
    scopes_.back()[name.substr(0, angle)] = named;
  }
}

/// .shared .align N .TYPE NAME[COUNT]
void Decoder::declare_shared(std::string_view text) {
  uint32_t align = 1, element = 1;
  std::string_view name;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    if (word == ".align") {
      align = static_cast<uint32_t>(number_of(take_word(text)));
    } else if (word[0] == '.') {
      element = bytes_of(type_of(word.substr(1)));
    } else {
      name = word;
    }
  }
  const size_t bracket = name.find('[');
  uint64_t count = 1;
  if (bracket != std::string_view::npos) {
    count = number_of(name.substr(bracket + 1, name.size() - bracket - 2));
  }
  uint32_t& bytes = function_.smem_static;
  bytes = (bytes + align - 1) / align * align;
  symbols_[name.substr(0, bracket)] = bytes;
  bytes += static_cast<uint32_t>(count) * element;
}

int Decoder::find_register(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) --digits;
  for (size_t s = scopes_.size(); s-- > 0;) {
    const auto whole = scopes_[s].find(name);
    if (whole != scopes_[s].end() && whole->second.count == 0) return whole->second.first;
    const auto numbered = scopes_[s].find(name.substr(0, digits));
    if (digits == name.size() || numbered == scopes_[s].end()) continue;
    const int number = static_cast<int>(number_of(name.substr(digits)));
    if (number < numbered->second.count) return numbered->second.first + number;
  }
  for (int k = 0; k < kNumSpecials; ++k) {
    if (name != kSpecialNames[k]) continue;
    const int reg = new_register(4);
    function_.specials.emplace_back(k, reg);
    scopes_[0][kSpecialNames[k]] = {reg, 0};
    return reg;
  }
  fail("no register " + std::string(name));
}

int Decoder::constant(uint64_t value, unsigned bytes) {
  const auto [found, is_new] =
      constant_index_[bytes].try_emplace(value, static_cast<int>(constants_.size()));
  if (is_new) constants_.push_back({static_cast<uint8_t>(bytes), value});
  return ~found->second;
}

/// Of a number, or the address of a symbol.
uint64_t Decoder::value_of(std::string_view text) {
  if (text[0] == '-' || std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
    return number_of(text);
  }
  const auto found = symbols_.find(text);
  if (found != symbols_.end()) return found->second;
  for (const ExternShared& e : extern_shared_) {
    if (e.name == text) return function_.smem_dynamic_offset();
  }
  fail("no symbol " + std::string(text));
}

int Decoder::operand(std::string_view text, unsigned bytes) {
  if (text.empty()) fail("an operand is missing");
  if (text == "_") return new_register(bytes != 0 ? bytes : 8);
  if (text[0] != '%' && scopes_.size() == 1) return constant(value_of(text), bytes);
  if (text[0] != '%' && scopes_.back().count(text) == 0) return constant(value_of(text), bytes);
  const int reg = find_register(text);
  if (bytes != 0 && registers_[static_cast<size_t>(reg)].bytes != bytes) {
    fail("a register of another width than " + std::to_string(bytes) + " bytes");
  }
  return reg;
}

void Decoder::add(Insn& insn, int operand) {
  if (insn.num_operands == Insn::kMaxOperands) fail("too many operands");
  insn.operand[insn.num_operands++] = operand;
}

void Decoder::add_address(std::string_view text, Insn& insn) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') fail("not an address");
  text = trim(text.substr(1, text.size() - 2));
  const size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    insn.offset = static_cast<int64_t>(number_of(trim(text.substr(plus + 1))));
    text = trim(text.substr(0, plus));
  }
  const int o = operand(text, text[0] == '%' ? 0 : 8);
  insn.from_bytes = o < 0 ? 8 : registers_[static_cast<size_t>(o)].bytes;
  add(insn, o);
}

void Decoder::guard(std::string_view& text, Insn& insn) {
  if (text[0] != '@') return;
  std::string_view name = take_word(text).substr(1);
  if (name[0] == '!') {
    insn.guard_not = true;
    name.remove_prefix(1);
  }
  insn.guard = operand(name, 1);
}

void Decoder::instruction(std::string_view text) {
  const Settings::Mutant& mutant = settings().mutant;
  if (function_.name == mutant.kernel && function_.code.size() == mutant.index) {
    std::fprintf(stderr, "ptx: %s: %s instead of %s\n", function_.name.c_str(), mutant.text.c_str(),
                 std::string(text).c_str());
    text_ = text = mutant.text;
  }
  Insn insn;
  guard(text, insn);
  const auto words = split(take_word(text), '.');
  Mnemonic m;
  m.base = words[0];
  m.modifiers.assign(words.begin() + 1, words.end());
  for (size_t k = words.size(); k-- > 1;) {
    const Type type = type_of(words[k]);
    if (type == Type::kNone) continue;
    (m.source == Type::kNone ? m.source : m.type) = type;
  }
  if (m.type == Type::kNone) m.type = m.source;
  auto operands = split(text, ',');
  dispatch(m, operands, insn);
  function_.code.push_back(insn);
  function_.text.emplace_back(text_);
}

void Decoder::dispatch(const Mnemonic& m, std::vector<std::string_view>& operands, Insn& insn) {
  if (m.base == "bra") {
    insn.flow = Flow::kBranch;
    branches_.emplace_back(function_.code.size(), operands.at(0));
  } else if (m.base == "ret" || m.base == "exit") {
    insn.flow = Flow::kReturn;
  } else if (m.base == "nanosleep") {
    insn.flow = Flow::kSleep;
  } else if (m.base == "membar" || m.base == "fence") {
    // Memory is one and in order.
    insn.execute = [](Warp&, const Insn&, uint32_t) {};
  } else if (m.base == "bar" || m.base == "barrier") {
    barrier(m, operands, insn);
  } else if (m.base == "ld" || m.base == "st" || m.base == "ldu") {
    access(m, operands, insn);
  } else if (m.base == "atom" || m.base == "red") {
    atomic(m, operands, insn);
  } else if (m.base == "cvt") {
    convert(m, operands, insn);
  } else if (m.base == "mov" && (operands.at(0)[0] == '{' || operands.at(1)[0] == '{')) {
    move_parts(m, operands, insn);
  } else if (m.base == "cvta" && m.has("shared")) {
    insn.execute = find_shared_address(m.has("to"));
    insn.num_written = 1;
    add(insn, operand(operands.at(0), 8));
    add(insn, operand(operands.at(1), 8));
  } else {
    from_row(m, operands, insn);
  }
}

void Decoder::from_row(const Mnemonic& m, std::vector<std::string_view>& operands, Insn& insn) {
  const Row* row = find_row(m);
  if (row == nullptr) fail("an unknown instruction");
  for (const std::string_view modifier : m.modifiers) {
    if (type_of(modifier) != Type::kNone || modifier == row->must) continue;
    bool allowed = false;
    for (const std::string_view a : split(row->allowed, ' ')) allowed = allowed || a == modifier;
    if (!allowed) fail("modifier ." + std::string(modifier) + " is unknown");
  }
  insn.flow = row->flow;
  insn.num_written = row->num_written;
  insn.execute = row->find(m);
  if (insn.execute == nullptr) fail("a type that is unknown here");
  if (m.base == "shfl") {  // d|p
    const size_t bar = operands.at(0).find('|');
    const std::string_view both = operands[0];
    operands[0] = trim(both.substr(0, bar));
    operands.insert(operands.begin() + 1,
                    bar == std::string_view::npos ? "_" : trim(both.substr(bar + 1)));
  }
  if (operands.size() != row->operands.size()) fail("the number of operands");
  const unsigned bytes = bytes_of(m.type);
  for (size_t k = 0; k < operands.size(); ++k) {
    const char kind = row->operands[k];
    const unsigned width = kind == '2' ? 2 * bytes : kind == 'w' ? 4 : kind == 'p' ? 1 : bytes;
    add(insn, operand(operands[k], width));
  }
}

void Decoder::convert(const Mnemonic& m, const std::vector<std::string_view>& operands,
                      Insn& insn) {
  if (operands.size() != 2) fail("the number of operands");
  for (const std::string_view modifier : m.modifiers) {
    if (type_of(modifier) == Type::kNone && modifier != "rn" && modifier != "rzi" &&
        modifier != "rni") {
      fail("an unknown modifier");
    }
  }
  const int to = operand(operands[0], 0);
  const bool from_register = operands[1][0] == '%';
  const int from = operand(operands[1], from_register ? 0 : 8);
  add(insn, to);
  add(insn, from);
  insn.num_written = 1;
  insn.to_bytes = registers_[static_cast<size_t>(to)].bytes;
  insn.from_bytes = from < 0 ? 8 : registers_[static_cast<size_t>(from)].bytes;
  insn.execute = find_conversion(m, insn.to_bytes, insn.from_bytes);
  if (insn.execute == nullptr) fail("an unknown conversion");
}

void Decoder::move_parts(const Mnemonic& m, const std::vector<std::string_view>& operands,
                         Insn& insn) {
  const bool unpacks = operands[0][0] == '{';
  const std::string_view list = operands[unpacks ? 0 : 1];
  const auto parts = split(list.substr(1, list.size() - 2), ',');
  const int count = static_cast<int>(parts.size());
  const unsigned bytes = bytes_of(m.type);
  insn.execute = unpacks ? find_unpack(bytes, count) : find_pack(bytes, count);
  if (insn.execute == nullptr) fail("an unknown mov");
  insn.num_written = static_cast<uint8_t>(unpacks ? count : 1);
  if (!unpacks) add(insn, operand(operands[0], bytes));
  for (const std::string_view part : parts) {
    add(insn, operand(part, bytes / static_cast<unsigned>(count)));
  }
  if (unpacks) add(insn, operand(operands[1], bytes));
}

void Decoder::access(const Mnemonic& m, const std::vector<std::string_view>& operands, Insn& insn) {
  static constexpr std::string_view kKnown[] = {"global", "shared",  "param",    "nc",      "v2",
                                                "v4",     "acquire", "release",  "relaxed", "cta",
                                                "gpu",    "sys",     "volatile", "weak"};
  for (const std::string_view modifier : m.modifiers) {
    bool known = type_of(modifier) != Type::kNone;
    for (const std::string_view k : kKnown) known = known || modifier == k;
    if (!known) fail("modifier ." + std::string(modifier) + " is unknown");
  }
  if (operands.size() != 2) fail("the number of operands");
  const bool stores = m.base == "st";
  insn.space = m.has("global")   ? Space::kGlobal
               : m.has("shared") ? Space::kShared
               : m.has("param")  ? Space::kParam
                                 : Space::kGeneric;
  insn.vector = m.has("v4") ? 4 : m.has("v2") ? 2 : 1;
  const std::string_view list = operands[stores ? 1 : 0];
  const auto values = list[0] == '{' ? split(list.substr(1, list.size() - 2), ',')
                                     : std::vector<std::string_view>{list};
  if (values.size() != insn.vector) fail("the number of values");
  // All registers of a vector have one width; immediates take it.
  unsigned width = 0;
  for (const std::string_view v : values) {
    if (v[0] != '%') continue;
    const unsigned w = registers_[static_cast<size_t>(find_register(v))].bytes;
    if (width != 0 && w != width) fail("registers of several widths");
    width = w;
  }
  if (width == 0) width = std::max(2u, bytes_of(m.type));
  if (stores) add_address(operands[0], insn);
  for (const std::string_view v : values) add(insn, operand(v, width));
  if (!stores) add_address(operands[1], insn);
  insn.num_written = stores ? 0 : insn.vector;
  insn.execute = stores ? find_store(m.type, width) : find_load(m.type, width);
  if (insn.execute == nullptr) fail("an unknown access");
}

void Decoder::atomic(const Mnemonic& m, std::vector<std::string_view>& operands, Insn& insn) {
  if (m.base == "red") operands.insert(operands.begin(), "_");
  if (operands.size() < 3 || operands.size() > 4) fail("the number of operands");
  insn.space = m.has("global")   ? Space::kGlobal
               : m.has("shared") ? Space::kShared
                                 : Space::kGeneric;
  insn.num_written = 1;
  insn.execute = find_atomic(m);
  if (insn.execute == nullptr) fail("an unknown atomic");
  const unsigned bytes = bytes_of(m.type);
  add(insn, operand(operands[0], bytes));
  add_address(operands[1], insn);
  for (size_t k = 2; k < operands.size(); ++k) add(insn, operand(operands[k], bytes));
}

void Decoder::barrier(const Mnemonic& m, const std::vector<std::string_view>& operands,
                      Insn& insn) {
  if (!m.has("sync") && !m.has("arrive")) fail("an unknown barrier");
  insn.flow = m.has("warp") ? Flow::kTogether : m.has("arrive") ? Flow::kBarArrive : Flow::kBarSync;
  if (operands.empty() || operands.size() > (m.has("warp") ? 1u : 2u)) {
    fail("the number of operands");
  }
  for (const std::string_view o : operands) add(insn, operand(o, 4));
}

}  // namespace cj2k::ptx
