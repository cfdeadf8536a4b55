// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "frames.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "failure.h"
#include "picture.h"
#include "system.h"

namespace cj2k_tool {
namespace {

namespace fs = std::filesystem;

/// A name with one %d: what stands before and after it, and the digits that %0Nd asks for.
struct Pattern {
  std::string before, after;
  size_t digits = 1;

  std::string name(int64_t number) const {
    std::string text = std::to_string(number);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return before + text + after;
  }
};

/// @return whether `name` is a pattern, which is then in `out`
bool parse_pattern(const std::string& name, Pattern& out) {
  bool found = false;
  for (size_t i = 0; i < name.size(); ++i) {
    std::string& part = found ? out.after : out.before;
    if (name[i] != '%') {
      part += name[i];
      continue;
    }
    if (name.compare(i, 2, "%%") == 0) {
      part += name[i++];
      continue;
    }
    size_t end = i + 1;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    const bool padded = end > i + 1;
    if (found || end == name.size() || name[end] != 'd' || (padded && name[i + 1] != '0') ||
        end - i > 4)
      throw UsageError(name + ": a pattern has one %d or %0Nd, and %% for a percent sign");
    if (padded) out.digits = std::max(1, std::atoi(name.substr(i + 1, end - i - 1).c_str()));
    found = true;
    i = end;
  }
  return found;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(to_path(path), ignored);
}
bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(to_path(path), ignored);
}

/// The frames that a pattern names, by number.
std::vector<Frame> frames_of_pattern(const std::string& input, const Pattern& pattern) {
  const size_t name_begin = pattern.before.rfind('/') + 1;  // 0 without a folder
  const std::string folder = pattern.before.substr(0, name_begin);
  const std::string stem = pattern.before.substr(name_begin);
  std::vector<Frame> frames;
  if (pattern.after.find('/') != std::string::npos)
    throw UsageError(input + ": the %d must be in the last part of the name");
  for (const std::string& name : names_in(folder.empty() ? "." : folder)) {
    if (name.size() < stem.size() + pattern.after.size() + 1 || !name.starts_with(stem) ||
        !name.ends_with(pattern.after))
      continue;
    const char* begin = name.data() + stem.size();
    const char* end = name.data() + name.size() - pattern.after.size();
    int64_t number = 0;
    const auto [stop, status] = std::from_chars(begin, end, number);
    // The number must be written as the pattern writes it: 7 is no %06d.
    if (status != std::errc() || stop != end || number < 0) continue;
    if (pattern.name(number).substr(name_begin) != name) continue;
    frames.push_back({number, pattern.name(number), "", 0, ""});
  }
  if (frames.empty()) throw Failure(input + ": no file has such a name");
  std::sort(frames.begin(), frames.end(),
            [](const Frame& a, const Frame& b) { return a.number < b.number; });
  return frames;
}

std::vector<Frame> frames_of_names(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::vector<Frame> frames;
  for (std::string& name : names)
    frames.push_back({static_cast<int64_t>(frames.size()), std::move(name), "", 0, ""});
  return frames;
}

bool is_coded_name(const std::string& name) {
  const std::string extension = extension_of(name);
  return extension == "j2k" || extension == "j2c" || extension == "jpc" || extension == "jhc" ||
         extension == "jp2" || extension == "jph";
}

std::vector<Frame> frames_of_folder(const std::string& input, bool is_coded) {
  std::vector<std::string> names;
  for (const std::string& name : names_in(input)) {
    const fs::path path = to_path(input) / to_path(name);
    std::error_code ignored;
    if ((is_coded ? is_coded_name(name) : is_picture_name(name)) &&
        fs::is_regular_file(path, ignored))
      names.push_back(to_name(path));
  }
  if (names.empty())
    throw Failure(input + ": no picture in this folder: " +
                  (is_coded ? ".j2k, .j2c, .jpc, .jhc, .jp2, .jph" : picture_names()));
  return frames_of_names(std::move(names));
}

std::vector<Frame> frames_of_glob(const std::string& input) {
  std::vector<std::string> names = names_like(input);
  std::erase_if(names, is_folder);
  if (names.empty()) throw Failure(input + ": no file has such a name");
  return frames_of_names(std::move(names));
}

std::vector<Frame> find_inputs(const std::string& input, bool is_coded) {
  if (input == "-" && !is_coded) return frames_of_names({input});  // the standard input
  if (is_folder(input)) return frames_of_folder(input, is_coded);
  if (is_there(input)) return frames_of_names({input});  // by any name, with a % or * too
  Pattern pattern;
  if (input.find('%') != std::string::npos && parse_pattern(input, pattern))
    return frames_of_pattern(input, pattern);
  if (input.find_first_of("*?[") != std::string::npos) return frames_of_glob(input);
  throw Failure(input + ": there is no such file");
}

/// Makes a frame of each page; of a sequence that a pattern names each file is one.
void split_pages(const FrameSelection& s, std::vector<Frame>& frames) {
  if (s.page != 0) {
    for (Frame& frame : frames) frame.page = static_cast<int>(s.page);
    return;
  }
  if (is_sequence(s)) return;
  std::vector<Frame> all;
  const bool is_one_file = frames.size() == 1;
  for (const Frame& frame : frames) {
    const int pages = std::max(count_pages(frame), 1);
    for (int page = 1; page <= pages; ++page) {
      Frame& one = all.emplace_back(frame);
      one.number = is_one_file && pages > 1 ? page : static_cast<int64_t>(all.size()) - 1;
      if (pages > 1) one.page = page;
    }
  }
  frames = std::move(all);
}

void keep_range(const FrameSelection& s, std::vector<Frame>& frames) {
  const std::string all =
      std::to_string(frames.front().number) + " to " + std::to_string(frames.back().number);
  std::erase_if(frames, [&s](const Frame& frame) {
    return (s.first && frame.number < *s.first) || (s.last && frame.number > *s.last);
  });
  if (frames.empty())
    throw UsageError(s.inputs[0] + ": its frames are " + all +
                     ", none of them between --first and --last");
}

/// Holds a sequence that a pattern names to be whole: a frame that lacks is an error, not a cut.
void check_gaps(const FrameSelection& s, const std::vector<Frame>& frames) {
  for (size_t i = 1; i < frames.size(); ++i)
    if (frames[i].number != frames[i - 1].number + 1)
      throw Failure(s.inputs[0] + ": frame " + std::to_string(frames[i - 1].number + 1) +
                    " is missing, between " + frames[i - 1].input + " and " + frames[i].input);
}

void name_outputs(const FrameSelection& s, std::vector<Frame>& frames) {
  Pattern pattern;
  const bool into_folder = s.output.ends_with('/') || is_folder(s.output);
  if (!into_folder && parse_pattern(s.output, pattern)) {
    const int64_t shift = s.start ? *s.start - frames.front().number : 0;
    for (Frame& frame : frames) frame.output = pattern.name(frame.number + shift);
    return;
  }
  if (s.start) throw UsageError("--start needs a pattern as frames_%06d.j2c in -o");
  if (!into_folder) {
    if (frames.size() > 1)
      throw UsageError("-o " + s.output + " is one file for " + std::to_string(frames.size()) +
                       " frames: give a folder (FOLDER/) or a pattern (NAME_%06d.j2k)" +
                       (frames[0].page != 0 ? "; --page takes one page" : ""));
    frames[0].output = pattern.before;  // s.output, with % for each %%
    return;
  }
  for (Frame& frame : frames) {
    const std::string end = !s.extension.empty() ? s.extension
                            : s.is_coded         ? extension_of(frame.input)
                                                 : "j2k";
    frame.output = to_name(to_path(s.output) / to_path(frame.input).stem()) +
                   (frame.page != 0 && s.page == 0 ? "-" + std::to_string(frame.page) : "") + "." +
                   end;
  }
}

}  // namespace

bool is_sequence(const FrameSelection& selection) {
  const std::string& input = selection.inputs[0];
  return selection.inputs.size() == 1 && !is_there(input) && input.find('%') != std::string::npos;
}

std::string extension_of(const std::string& path) {
  std::string extension = to_name(to_path(path).extension());
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return extension.empty() ? "" : extension.substr(1);
}

void make_folder(const std::string& name) {
  const std::string output = with_slashes(name);
  if (!output.ends_with('/')) return;
  std::error_code error;
  fs::create_directories(to_path(output), error);
  if (error) throw Failure(output + ": " + error.message());
}

std::vector<Frame> list_frames(FrameSelection selection) {
  selection.output = with_slashes(selection.output);
  std::vector<Frame> frames;
  for (std::string& input : selection.inputs) {
    input = with_slashes(input);
    for (Frame& frame : find_inputs(input, selection.is_coded)) frames.push_back(std::move(frame));
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    if (selection.inputs.size() > 1) frames[i].number = static_cast<int64_t>(i);
    frames[i].raw = selection.raw;
  }
  if (!selection.is_coded) split_pages(selection, frames);
  keep_range(selection, frames);
  if (is_sequence(selection)) check_gaps(selection, frames);
  name_outputs(selection, frames);
  std::map<std::string, std::string> inputs;
  for (const Frame& frame : frames) {
    const auto [place, is_new] = inputs.emplace(frame.output, frame.input);
    if (!is_new)
      throw UsageError(place->second + " and " + frame.input + ": both would be " + frame.output);
    std::error_code absent;
    if (fs::equivalent(to_path(frame.input), to_path(frame.output), absent))
      throw UsageError(frame.input + ": input and output are the same file");
  }
  return frames;
}

}  // namespace cj2k_tool
