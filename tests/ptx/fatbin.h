// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The PTX inside of what nvcc makes.
#pragma once

#include <string>

namespace cj2k::ptx {

/// @param image         a fat binary, or PTX text with a zero at its end
/// @param architecture  such as 90; the PTX of the highest one up to it is taken
/// @return empty: there is none. Throws Failure if it cannot be unpacked.
std::string find_ptx(const void* image, unsigned architecture);

}  // namespace cj2k::ptx
