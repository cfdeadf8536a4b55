// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the text of --help, of which the man page is made (scripts/make_man.py).
#ifndef CJ2K_TOOLS_HELP_H_
#define CJ2K_TOOLS_HELP_H_

#include <string>

namespace cj2k_tool {

std::string help_text();

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_HELP_H_
