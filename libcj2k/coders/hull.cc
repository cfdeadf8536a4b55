// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "coders/hull.h"

#include "core/hull.h"

namespace cj2k {

int build_hull(const CodingPass* passes, int num_passes, double weight, bool keep_all,
               HullPoint* hull, double* total) {
  HullBuilder<HullArray> builder{{hull}};
  for (int pass = 0; pass < num_passes; ++pass) builder.push(passes[pass], pass, weight);
  *total = weighted(builder.removed, weight);
  return builder.finish(weight, keep_all);
}

}  // namespace cj2k
