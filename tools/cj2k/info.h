// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k info: the facts of JPEG 2000 files.
#ifndef CJ2K_TOOLS_INFO_H_
#define CJ2K_TOOLS_INFO_H_

namespace cj2k_tool {

/// @param argv  what follows "info". Throws Failure, UsageError.
/// @return the exit status
int run_info(int argc, char** argv);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_INFO_H_
