// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the codestreams in raw files, JP2 files, MXF files and pipes, one frame at a time.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codestream.h"
#include "profiles.h"

namespace cj2k_check {

/// A longer frame is an error: memory stays bounded.
inline constexpr uint64_t kMostFrameBytes = uint64_t{1} << 30;

/// A file or a pipe, read once from front to end.
class Input {
 public:
  /// "-": the standard input. Null if the file cannot be opened; errno says why.
  static std::unique_ptr<Input> open(const std::string& path);
  /// Bytes in memory, which must outlive the input.
  static std::unique_ptr<Input> over(Bytes bytes);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Appends up to `bytes` bytes. Returns how many there were.
  uint64_t take(uint64_t bytes, std::vector<uint8_t>& out);
  /// The next bytes, at most `count`, which stay where they are.
  Bytes peek(size_t count);
  uint64_t skip(uint64_t bytes);
  uint64_t offset() const { return offset_; }
  bool failed() const { return failed_; }

 private:
  Input() = default;
  bool fill(size_t count);

  std::FILE* file_ = nullptr;
  Bytes memory_;
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;
  uint64_t offset_ = 0;
  bool failed_ = false;
};

struct Frame {
  std::vector<uint8_t> bytes;
  uint64_t offset = 0;  ///< in the file
};

/// What the header boxes of a JP2 file say of the codestream (T.800 I.5.3.1).
struct ImageHeader {
  uint32_t height = 0, width = 0;
  uint16_t components = 0;
  uint8_t depth = 0;  ///< BPC
  uint64_t offset = 0;
};

/// What the picture descriptor of an MXF file says of colour (SMPTE ST 377-1 G.2). Labels are the
/// byte that tells them apart (ST 400: byte 14); 0: not said.
struct PictureColour {
  uint64_t offset = 0;
  bool ycbcr = false;      ///< a CDCI descriptor
  std::string components;  ///< letters of PixelLayout; "XYZ" is X'Y'Z'; "": not said
  uint8_t primaries = 0, transfer = 0, matrix = 0;
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// False: no more frames, or an error, which `error` describes.
  virtual bool next(Frame& frame, Report& report) = 0;
  virtual const char* kind() const = 0;
  std::string error;
  std::optional<FrameRate> fps;  ///< from the file
  uint32_t fields = 1;           ///< codestreams of a frame: 2 if each field has its own
  std::optional<ImageHeader> image_header;
  std::optional<PictureColour> colour;
  double across = 0, down = 0;        ///< samples per metre, of a capture resolution box
  std::vector<std::string> metadata;  ///< of uuid and xml boxes before the codestream
};

/// Chooses by the first bytes. The source owns the input.
std::unique_ptr<FrameSource> make_source(std::unique_ptr<Input> input);

/// Reads one codestream: markers, and tile-parts by their lengths. Where they lead nowhere, all
/// that is left is taken.
void take_codestream(Input& input, std::vector<uint8_t>& out);
std::unique_ptr<FrameSource> make_mxf_source(std::unique_ptr<Input> input);

}  // namespace cj2k_check
