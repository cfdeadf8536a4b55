// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/media.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/image_io.h"
#include "support/process.h"

namespace cj2k::test {

std::vector<Picture> load_media_clip(const std::string& name, int depth, int most_frames,
                                     int32_t width, int32_t height) {
  const char* folder = std::getenv("CJ2K_TEST_MEDIA");
  const std::filesystem::path root =
      folder != nullptr ? folder
                        : std::filesystem::path(CJ2K_SOURCE_DIR) / ".." / "shared" / "media";
  const std::filesystem::path path = root / name;
  std::vector<Picture> clip;
  if (!std::filesystem::exists(path)) {
    std::printf("SKIPPED: no test picture %s (CJ2K_TEST_MEDIA names the folder)\n", name.c_str());
    return clip;
  }
  const TempDir dir;
  std::vector<std::string> command = {
      "ffmpeg", "-v",          "error",     "-nostdin",
      "-i",     path.string(), "-frames:v", std::to_string(most_frames)};
  if (width > 0) {
    command.insert(command.end(),
                   {"-vf", "crop=" + std::to_string(width) + ":" + std::to_string(height)});
  }
  command.insert(command.end(), {"-pix_fmt", depth > 8 ? "rgb48be" : "rgb24", "-start_number", "0",
                                 "-y", (dir / "%d.ppm").string()});
  const ProcessResult run = run_process(command);
  for (int f = 0; f < most_frames; ++f) {
    std::optional<Picture> picture = read_pnm(dir / (std::to_string(f) + ".ppm"));
    if (!picture) break;
    if (depth > 8) {
      for (ComponentPlane& plane : picture->components) {
        for (int32_t& sample : plane.samples) sample >>= 16 - depth;
        plane.depth = depth;
      }
    }
    clip.push_back(std::move(*picture));
  }
  if (clip.empty())
    std::printf("SKIPPED: ffmpeg cannot read %s: %s\n", name.c_str(), run.output.c_str());
  return clip;
}

std::optional<Picture> load_media(const std::string& name, int depth) {
  std::vector<Picture> clip = load_media_clip(name, depth, 1);
  if (clip.empty()) return std::nullopt;
  return std::move(clip[0]);
}

}  // namespace cj2k::test
