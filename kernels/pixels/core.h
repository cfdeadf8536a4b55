// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Includes the pixel arithmetic of libcj2k/core that the kernels use.
#pragma once

#include "core/colour.h"
#include "core/lifting.h"
#include "core/quantizer.h"
#include "core/sample.h"
#include "core/xyz.h"
#include "kernels/simt/kernel.h"
