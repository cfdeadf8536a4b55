// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode.h"

#include <cj2k.h>
#include <cj2k_transcode.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "failure.h"
#include "frames.h"
#include "session.h"
#include "system.h"

namespace cj2k_tool {
namespace {

constexpr const char* kHelp =
    R"(usage: cj2k transcode [OPTION]... IN OUT

Changes the block coder of a codestream, or of a JP2 or JPH file: from Part 1 to HTJ2K, or back. Each
code-block is decoded to its quantised coefficients and coded again, so the picture stays, without a
loss and without a wavelet. OUT is of the kind of IN: a codestream, or a file with the same boxes. IN
may be a pattern as frames_%06d.j2k, a folder, or a glob in quotes; then OUT is a pattern or a folder.

Stay: size, tiles, precincts, code-blocks, wavelet, quantisation, regions of interest, progression,
layers, tile-parts, SOP, EPH, comments, boxes; TLM and PLT are written anew. Rsiz says no profile, and
code-block styles other than vsc end. HT code-blocks are whole in the first layer that had a part.

    --coder NAME   ht or ebcot; default: the other one
    --one-layer    for decoders of HT that read the first layer alone
    --recap BYTES  the most bytes of OUT, a file of Part 1: code-blocks end earlier, all at one slope
                   of error over bytes, so nothing is transformed or quantised again; Rsiz stays
    --ext EXT      extension of the files where OUT is a folder; default: that of IN
    --threads N    default: one per core

EXIT STATUS
    0  OUT is written    1  IN is damaged, is not supported, or OUT not written    2  wrong usage
)";

/// A file and what it is called.
struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

[[noreturn]] void fail(const std::string& name) {
  throw Failure(name + ": " + std::strerror(errno));
}

std::vector<uint8_t> read(const std::string& name) {
  const File file(std::fopen(name.c_str(), "rb"));
  if (file == nullptr) fail(name);
  std::vector<uint8_t> bytes;
  for (size_t count = 1; count > 0;) {
    constexpr size_t kChunk = size_t{1} << 20;
    const size_t before = bytes.size();
    bytes.resize(before + std::max(kChunk, before));
    count = std::fread(bytes.data() + before, 1, bytes.size() - before, file.get());
    bytes.resize(before + count);
  }
  if (std::ferror(file.get()) != 0) fail(name);
  return bytes;
}

bool has_boxes(const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kSignature("\0\0\0\x0CjP  ", 8);
  return bytes.size() >= kSignature.size() &&
         std::equal(kSignature.begin(), kSignature.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

/// The name says whether there are boxes, where it says something.
void check_name(const std::string& name, bool boxes) {
  const std::string extension = to_name(to_path(name).extension());
  const bool is_file = extension == ".jp2" || extension == ".jph";
  const bool is_stream =
      extension == ".j2k" || extension == ".j2c" || extension == ".jpc" || extension == ".jhc";
  if (is_file && !boxes) throw UsageError("transcode: " + name + ", but the input has no boxes");
  if (is_stream && boxes)
    throw UsageError("transcode: " + name +
                     " is a codestream, but the input has boxes, with its colours");
}

struct Arguments {
  FrameSelection frames;
  cj2k_coder coder = CJ2K_CODER_AUTO;
  int layers = 0;  ///< 0: as they are
  int64_t recap = 0;
  int threads = 0;
  bool help = false;
};

/// A number in 1 to `most`.
template <typename Number>
void set_number(const std::string& name, const std::string& value, Number most, Number& out) {
  const char* const end = value.data() + value.size();
  const auto [next, status] = std::from_chars(value.data(), end, out);
  if (status != std::errc() || next != end || out < 1 || out > most)
    throw UsageError("transcode: " + name + " " + value + " is not in 1 to " +
                     std::to_string(most));
}

void set_value(Arguments& out, const std::string& name, const std::string& value) {
  if (name == "--coder") {
    if (value != "ht" && value != "ebcot")
      throw UsageError("transcode: --coder " + value + " is not ht or ebcot");
    out.coder = value == "ht" ? CJ2K_CODER_HT : CJ2K_CODER_EBCOT;
    return;
  }
  if (name == "--one-layer") {
    out.layers = 1;
    return;
  }
  if (name == "--ext") {
    out.frames.extension = value;
    return;
  }
  if (name == "--recap")
    set_number(name, value, int64_t{1} << 50, out.recap);
  else
    set_number(name, value, 1024, out.threads);
}

Arguments parse(int argc, char** argv) {
  Arguments out;
  const CommandLine line = parse_command(
      "transcode", argc, argv, {"--coder=", "--one-layer", "--recap=", "--ext=", "--threads="},
      [&out](const std::string& name, const std::string& value) { set_value(out, name, value); });
  out.help = line.help;
  if (out.recap > 0 && out.coder == CJ2K_CODER_HT)
    throw UsageError("transcode: --recap makes files of Part 1, not --coder ht");
  if (out.help) return out;
  if (line.names.size() != 2)
    throw UsageError("transcode: IN and OUT, not " + std::to_string(line.names.size()) +
                     " names (cj2k transcode --help)");
  out.frames.inputs = {line.names[0]};
  out.frames.output = line.names[1];
  out.frames.is_coded = true;
  return out;
}

void transcode(const Arguments& arguments, const Frame& frame) {
  const std::vector<uint8_t> bytes = read(frame.input);
  check_name(frame.output, has_boxes(bytes));
  void* out = nullptr;
  size_t out_bytes = 0;
  const cj2k_status status =
      cj2k_transcode(arguments.coder, arguments.layers, arguments.recap, arguments.threads,
                     bytes.data(), bytes.size(), &out, &out_bytes);
  if (status != CJ2K_OK) throw Failure(frame.input + ": " + cj2k_encoder_last_error(nullptr));
  const std::unique_ptr<void, decltype(&cj2k_free)> owner(out, cj2k_free);
  write_file(frame.output, out, out_bytes);
}

}  // namespace

int run_transcode(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  if (arguments.help) {
    std::fputs(kHelp, stdout);
    return kDone;
  }
  const std::vector<Frame> frames = list_frames(arguments.frames);
  make_folder(arguments.frames.output);
  const bool shows = frames.size() > 1 && is_terminal(stderr);
  for (size_t i = 0; i < frames.size(); ++i) {
    transcode(arguments, frames[i]);
    if (shows) std::fprintf(stderr, "\rcj2k: %zu of %zu files", i + 1, frames.size());
  }
  if (shows) std::fputs("\n", stderr);
  return kDone;
}

}  // namespace cj2k_tool
