// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pieces of PTX text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program.h"

namespace cj2k::ptx {

std::string_view trim(std::string_view text);
/// The parts between separators outside of brackets, trimmed. An empty text has no parts.
std::vector<std::string_view> split(std::string_view text, char separator);
/// kNone: not the name of a type.
Type type_of(std::string_view name);
/// The first word, which is taken off the text.
std::string_view take_word(std::string_view& text);
/// An integer with a sign, or the bits of 0f... or 0d.... Throws Failure.
uint64_t number_of(std::string_view text);
/// The text without comments.
std::string without_comments(std::string_view text);

}  // namespace cj2k::ptx
