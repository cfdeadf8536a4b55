// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "verify.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "failure.h"
#include "frames.h"
#include "picture.h"

namespace cj2k_tool {
namespace {

constexpr const char* kHelp = R"(usage: cj2k verify [--psnr DB] [--ext EXT] [--trc NAME] IN OUT

Decodes what `cj2k -i IN -o OUT` has written, through FFmpeg's libavcodec, and compares each sample
with the source. IN and OUT are files, folders or patterns, as for -i and -o; either can be JPEG 2000.
libavcodec before FFmpeg 6.1 does not know HTJ2K, so a file of it first becomes one of Part 1 with the
same coefficients (cj2k transcode).

    --psnr DB     pictures that differ pass if their PSNR is at least DB
    --ext EXT     extension of the files where OUT is a folder; default j2k
    --trc NAME    as it was encoded, for EXR

EXIT STATUS
    0  all are equal, or pass    1  one differs, or cannot be read    2  wrong usage
)";

struct Arguments {
  FrameSelection frames;
  std::string trc;
  double psnr = std::numeric_limits<double>::infinity();
  bool help = false;
};

void set_value(Arguments& out, const std::string& name, const std::string& value) {
  if (name == "--ext") {
    out.frames.extension = value;
  } else if (name == "--trc") {
    out.trc = value;
  } else {
    char* end = nullptr;
    out.psnr = std::strtod(value.c_str(), &end);
    if (*end != '\0' || !(out.psnr > 0 && out.psnr <= 200))
      throw UsageError("verify: --psnr " + value + " is not above 0 and at most 200");
  }
}

Arguments parse(int argc, char** argv) {
  Arguments out;
  const CommandLine line = parse_command(
      "verify", argc, argv, {"--psnr=", "--ext=", "--trc="},
      [&out](const std::string& name, const std::string& value) { set_value(out, name, value); });
  out.help = line.help;
  if (out.help) return out;
  if (line.names.size() != 2)
    throw UsageError("verify: IN and OUT, not " + std::to_string(line.names.size()) +
                     " names (cj2k verify --help)");
  out.frames.inputs = {line.names[0]};
  out.frames.output = line.names[1];
  return out;
}

/// The samples of a picture in memory.
std::unique_ptr<Picture> read(const std::string& path, int page, const std::string& trc) {
  std::unique_ptr<Picture> picture = read_coded(path);
  if (picture == nullptr) picture = read_picture({0, path, "", page, ""}, trc);
  if (picture->source != nullptr) read_samples(*picture);
  return picture;
}

uint32_t sample(const cj2k_component_view& view, int x, int y) {
  const auto* const at =
      static_cast<const uint8_t*>(view.data) + y * view.stride_bytes + x * view.step_bytes;
  uint16_t word = *at;
  if (view.word_bytes == 2) std::memcpy(&word, at, 2);
  return word >> view.shift;
}

struct Difference {
  int64_t samples = 0, differ = 0;
  int64_t most = 0;
  double squares = 0;

  double psnr(int depth) const {
    if (differ == 0) return std::numeric_limits<double>::infinity();
    const double peak = std::exp2(depth) - 1;
    return 10 * std::log10(peak * peak * static_cast<double>(samples) / squares);
  }
};

void check_format(const PictureFormat& a, const PictureFormat& b, const std::string& names) {
  const auto check = [&names](const char* what, int of_a, int of_b) {
    if (of_a != of_b)
      throw Failure(names + ": " + what + " " + std::to_string(of_a) + " and " +
                    std::to_string(of_b));
  };
  check("width", a.width, b.width);
  check("height", a.height, b.height);
  check("components", a.num_components, b.num_components);
  check("bits", a.depth, b.depth);
  check("signed", a.is_signed, b.is_signed);
  for (int c = 0; c < a.num_components; ++c) {
    check("dx", a.dx[c], b.dx[c]);
    check("dy", a.dy[c], b.dy[c]);
  }
}

Difference compare(const Picture& a, const Picture& b) {
  Difference out;
  const uint32_t mask = (1U << a.format.depth) - 1;
  const uint32_t sign = a.format.is_signed ? (mask + 1) / 2 : 0;
  for (int c = 0; c < a.format.num_components; ++c) {
    const int width = (a.format.width - 1) / a.format.dx[c] + 1;
    const int height = (a.format.height - 1) / a.format.dy[c] + 1;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const auto of_a = static_cast<int64_t>((sample(a.views[c], x, y) & mask) ^ sign);
        const auto of_b = static_cast<int64_t>((sample(b.views[c], x, y) & mask) ^ sign);
        const int64_t off = std::abs(of_a - of_b);
        out.differ += off != 0;
        out.most = std::max(out.most, off);
        out.squares += static_cast<double>(off) * static_cast<double>(off);
      }
    }
    out.samples += int64_t{width} * height;
  }
  return out;
}

}  // namespace

int run_verify(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  if (arguments.help) {
    std::fputs(kHelp, stdout);
    return kDone;
  }
  size_t passed = 0;
  const std::vector<Frame> frames = list_frames(arguments.frames);
  for (const Frame& frame : frames) {
    const std::string names = frame.input + " and " + frame.output;
    const std::unique_ptr<Picture> a = read(frame.input, frame.page, arguments.trc);
    const std::unique_ptr<Picture> b = read(frame.output, 0, arguments.trc);
    check_format(a->format, b->format, names);
    const Difference difference = compare(*a, *b);
    const double psnr = difference.psnr(a->format.depth);
    passed += psnr >= arguments.psnr;
    if (difference.differ == 0) {
      std::printf("%s: equal\n", names.c_str());
    } else {
      std::printf("%s: %lld of %lld samples differ, by %lld at most; PSNR %.2f dB\n", names.c_str(),
                  static_cast<long long>(difference.differ),
                  static_cast<long long>(difference.samples),
                  static_cast<long long>(difference.most), psnr);
    }
  }
  if (passed < frames.size())
    throw Failure("verify: " + std::to_string(frames.size() - passed) + " of " +
                  std::to_string(frames.size()) + " differ");
  return kDone;
}

}  // namespace cj2k_tool
