// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Checks the frames of files, and what must be equal in all frames of a sequence.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container.h"
#include "profiles.h"

namespace cj2k_check {

struct Options {
  std::string profile = "auto";
  std::optional<FrameRate> fps;  ///< none: from the file, else 24
  uint64_t cinema_megabits = 250;
  bool sequence = false;  ///< all files are one sequence
  Limits limits;
};

/// What was seen, beside violations. Numbers of frames, bytes and refined blocks are of the whole file.
struct Facts {
  std::string kind, profile, fps;
  uint64_t frames = 0, smallest = 0, largest = 0, total = 0;
  uint64_t refined_blocks = 0;  ///< TilePart::refined_blocks
  // Of the first frame:
  Siz siz;
  std::optional<Cod> cod;
  uint32_t guard_bits = 0;
  uint64_t tile_parts = 0, packets = 0;
  uint32_t pcap = 0;
  std::vector<uint16_t> ccap;
  // Of a JP2 file, as FrameSource has them:
  double across = 0, down = 0;
  std::vector<std::string> metadata;
};

/// The marker segments that must stay as they are in the first frame.
using SequenceState = std::map<uint16_t, std::vector<uint8_t>>;

struct FileResult {
  std::string path;
  std::string error;  ///< why the file cannot be read
  Facts facts;
  Report report;
};

FileResult check_file(const std::string& path, const Options& options, SequenceState& sequence);
/// The same for bytes in memory.
FileResult check_bytes(Bytes bytes, const Options& options);

std::string describe(const FileResult& result, bool quiet);
std::string describe_json(const std::vector<FileResult>& results);

}  // namespace cj2k_check
