// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The kernels of a PTX text.
#include <cstring>

#include "decode.h"
#include "text.h"

namespace cj2k::ptx {
namespace {

/// .extern .shared .align N .b8 NAME[]
ExternShared extern_shared(std::string_view line) {
  const size_t bracket = line.find('['), align = line.find(".align");
  if (line.find(".shared") == std::string_view::npos || bracket == std::string_view::npos ||
      align == std::string_view::npos) {
    throw Failure{"what extern: " + std::string(line)};
  }
  const size_t space = line.find_last_of(" \t", bracket);
  std::string_view rest = line.substr(align + 6);
  return {line.substr(space + 1, bracket - space - 1),
          static_cast<uint32_t>(number_of(take_word(rest)))};
}

/// The name of a kernel's parameter, one struct, and room for its bytes. Empty: it has none.
std::string_view declare_param(std::string_view list, Function& f) {
  list = trim(list);
  if (list.empty()) return {};
  const size_t bracket = list.find('[');
  if (list.find(',') != std::string_view::npos || bracket == std::string_view::npos) {
    throw Failure{f.name + ": the parameter is not one struct"};
  }
  constexpr size_t kAlign = 16;  // of the struct; operator new gives it
  f.param_bytes = number_of(list.substr(bracket + 1, list.find(']') - bracket - 1));
  f.params.resize(f.param_bytes + kAlign);
  const size_t space = list.find_last_of(" \t", bracket);
  return list.substr(space + 1, bracket - space - 1);
}

/// Past the brace that closes the one at `open`.
size_t end_of_body(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  throw Failure{"a kernel without an end"};
}

}  // namespace

std::unique_ptr<Module> parse_module(const std::string& ptx) {
  const std::string source = without_comments(ptx);
  const std::string_view text = source;
  auto module = std::make_unique<Module>();
  std::vector<ExternShared> externs;
  const auto starts = [&](size_t at, std::string_view word) {
    return text.substr(at, word.size()) == word;
  };
  for (size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at)) {
    if (starts(at, ".extern")) {
      const size_t end = text.find(';', at);
      externs.push_back(extern_shared(text.substr(at, end - at)));
      at = end;
    } else if (starts(at, ".entry")) {
      const size_t open = text.find('(', at), close = text.find(')', open);
      auto f = std::make_unique<Function>();
      f->name = trim(text.substr(at + 6, open - at - 6));
      const std::string_view param = declare_param(text.substr(open + 1, close - open - 1), *f);
      const size_t body = text.find('{', close), end = end_of_body(text, body);
      Decoder(*f, param, externs).decode(text.substr(body + 1, end - body - 2));
      module->functions[f->name] = std::move(f);
      at = end;
    } else if (starts(at, ".func") || starts(at, ".global") || starts(at, ".const")) {
      throw Failure{"functions and variables of a module are unknown"};
    } else {
      ++at;
    }
  }
  return module;
}

}  // namespace cj2k::ptx
