// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the files of a run, from what -i and -o name.
#ifndef CJ2K_TOOLS_FRAMES_H_
#define CJ2K_TOOLS_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cj2k_tool {

struct Frame {
  // In the name of the input where that is a pattern; that of the page where it is one file of several; else its place from 0.
  int64_t number;
  std::string input, output;
  int page = 0;  // of the input, from 1; 0: the only one
  std::string
      raw;  // the input is raw samples of this layout, as parse_raw() takes it; "": it says what it is
};

struct FrameSelection {
  std::vector<std::string> inputs;
  std::string output;
  std::string extension;  // of the output in a folder, without the dot; "" = j2k
  std::optional<int64_t> first, last, start;
  int64_t page = 0;       // 0: all
  std::string raw;        // as Frame has it
  bool is_coded = false;  // the inputs are JPEG 2000; in a folder, outputs have their extensions
};

/// The frames of a run in their order, each with its output. Throws Failure.
std::vector<Frame> list_frames(FrameSelection selection);

/// Makes the folder of the outputs, if the name ends with a slash. Throws Failure.
void make_folder(const std::string& name);

/// Whether the one input is a numbered sequence, such as frames_%06d.dpx, and no file that has this name.
bool is_sequence(const FrameSelection& selection);

/// The extension in lower case, without the dot.
std::string extension_of(const std::string& path);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_FRAMES_H_
