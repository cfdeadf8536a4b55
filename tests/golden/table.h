// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Size and hash of codestreams, compared with a table. CJ2K_UPDATE_GOLDEN=1 writes the table anew;
// the change is then reviewed like code.
#pragma once

#include <string>
#include <vector>

namespace cj2k::test {

/// Encodes each configuration twice, a texture and noise, and compares with the rows of `file` in
/// this folder.
/// @param configurations  options as cj2k_params_set takes them, separated by spaces; and frames=N:
///                        size and hash are those of N packets, one after the other
void check_table(const std::string& file, const std::vector<std::string>& configurations);

}  // namespace cj2k::test
