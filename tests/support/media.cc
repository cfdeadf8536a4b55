// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/media.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/image_io.h"
#include "support/process.h"

namespace cj2k::test {

std::optional<Picture> load_media(const std::string& name, int depth) {
  const char* folder = std::getenv("CJ2K_TEST_MEDIA");
  const std::filesystem::path root =
      folder != nullptr ? folder
                        : std::filesystem::path(CJ2K_SOURCE_DIR) / ".." / "shared" / "media";
  const std::filesystem::path path = root / name;
  if (!std::filesystem::exists(path)) {
    std::printf("SKIPPED: no test picture %s (CJ2K_TEST_MEDIA names the folder)\n", name.c_str());
    return std::nullopt;
  }
  const TempDir dir;
  const std::string output = (dir / "picture.ppm").string();
  const ProcessResult run =
      run_process({"ffmpeg", "-v", "error", "-nostdin", "-i", path.string(), "-frames:v", "1",
                   "-pix_fmt", depth > 8 ? "rgb48be" : "rgb24", "-y", output});
  std::optional<Picture> picture = read_pnm(output);
  if (!picture) {
    std::printf("SKIPPED: ffmpeg cannot read %s: %s\n", name.c_str(), run.output.c_str());
    return std::nullopt;
  }
  if (depth > 8) {
    for (ComponentPlane& plane : picture->components) {
      for (int32_t& sample : plane.samples) sample >>= 16 - depth;
      plane.depth = depth;
    }
  }
  return picture;
}

}  // namespace cj2k::test
