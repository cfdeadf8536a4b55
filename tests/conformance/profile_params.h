// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The parameters of each profile, set by hand from its rules, so that the tests of the checker do
// not depend on the library's own table of profiles. Rsiz is patched into the codestream.
#pragma once

#include <string>
#include <vector>

#include "conformance/editor.h"
#include "support/encode.h"

namespace cj2k::test {

struct HandMade {
  const char* profile;
  uint16_t rsiz;
  int32_t width, height, depth;
  bool chroma_422 = false;
};

inline cj2k_params hand_made_params(const HandMade& h) {
  cj2k_params p = make_params(h.width, h.height, 3, h.depth);
  const std::string name = h.profile;
  if (name == "none") return p;
  if (name == "profile0" || name == "profile1") return p;
  set(p, "cblk", "32x32");
  set(p, "progression", "cprl");
  set(p, "tile_parts", "component");
  const bool is_4k = name == "cinema4k";
  p.levels = is_4k ? 6 : 5;
  std::string precincts;
  for (int r = 0; r < p.levels; ++r) precincts += "256x256,";
  set(p, "precincts", precincts + "128x128");
  if (name == "cinema2k") set(p, "guard_bits", "1");
  if (name == "cinema2k" || is_4k) set(p, "mct", "on");
  if (is_4k) set(p, "poc", "0,0,1,6,3,cprl/6,0,1,7,3,cprl");
  if (name.size() > 2 && name.substr(name.size() - 2) == "_r") {
    p.lossless = 1;
    p.levels = h.width < 2048 ? 4 : 5;
    set(p, "precincts",
        h.width < 2048 ? "256x256,256x256,256x256,256x256,128x128"
                       : "256x256,256x256,256x256,256x256,256x256,128x128");
  }
  if (h.chroma_422) {
    p.dx[1] = p.dx[2] = 2;
    set(p, "mct", "off");
  }
  return p;
}

/// Encodes one picture and writes Rsiz.
inline std::vector<uint8_t> hand_made(const HandMade& h, cj2k_params p,
                                      Content content = Content::kTexture) {
  const Encoded result = encode(p, make_picture(p, content, 3));
  if (result.status != CJ2K_OK) return {};
  Editor editor(result.bytes);
  editor.put(6, 2, h.rsiz);
  return editor.bytes;
}

}  // namespace cj2k::test
