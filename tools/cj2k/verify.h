// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k verify: decodes files through libavcodec and compares them with their source.
#ifndef CJ2K_TOOLS_VERIFY_H_
#define CJ2K_TOOLS_VERIFY_H_

namespace cj2k_tool {

/// @param argv  [argc] what follows "verify"
/// @return the exit status. Throws Failure.
int run_verify(int argc, char** argv);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_VERIFY_H_
