// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k transcode: from one block coder to the other.
#ifndef CJ2K_TOOLS_TRANSCODE_H_
#define CJ2K_TOOLS_TRANSCODE_H_

namespace cj2k_tool {

/// @param argv  what follows "transcode". Throws Failure, UsageError.
/// @return the exit status
int run_transcode(int argc, char** argv);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_TRANSCODE_H_
