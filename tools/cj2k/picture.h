// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: reads pictures: TIFF through libtiff (tiff.h), all others through libavcodec. Of the readers that Debian has, it gives
// samples as the file has them: 10 and 12 bits of DPX without padding, the depth of PNM, float of EXR, PAM, alpha as it is.
#ifndef CJ2K_TOOLS_PICTURE_H_
#define CJ2K_TOOLS_PICTURE_H_

#include <cj2k.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frames.h"
#include "metadata.h"

struct AVFrame;

namespace cj2k_tool {

/// What must be the same for all frames of one encoder.
struct PictureFormat {
  int width = 0, height = 0, num_components = 0;
  int depth = 0;  // bits of a sample, the same for all components
  int alpha = 0;  // as cj2k_params::alpha
  int dx[CJ2K_MAX_COMPONENTS] = {}, dy[CJ2K_MAX_COMPONENTS] = {};
  bool is_signed = false, is_yuv = false, is_cmyk = false;
  bool is_linear = false;    // linear light, of EXR
  std::vector<uint8_t> icc;  // profile in the file; empty: none
  Metadata metadata;
  bool operator==(const PictureFormat&) const = default;
};

/// Samples that are read when the encoder asks for them.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// As cj2k_read_fn. One call at a time. Throws Failure, std::bad_alloc.
  virtual void read(const cj2k_read_part* parts) = 0;
};

struct Picture {
  PictureFormat format;
  /// With a source: word_bytes and shift alone.
  cj2k_component_view views[CJ2K_MAX_COMPONENTS] = {};
  int64_t clipped = 0;  // samples of EXR below 0, above 1, or not a number
  std::string note;     // what of the file is not in the picture; empty: nothing

  std::shared_ptr<AVFrame> frame;        // samples that libavcodec has read
  std::vector<uint8_t> samples;          // or those made from them
  std::shared_ptr<uint8_t> file;         // or the file, if it has them as they are coded
  std::unique_ptr<SampleSource> source;  // or where they are to be had
};

/// Reads one file, or a page of it. Thread-safe. Throws Failure.
/// @param trc  EXR: the transfer function that samples go through, by its name in FFmpeg; "" = linear
std::unique_ptr<Picture> read_picture(const Frame& frame, const std::string& trc);

/// Reads a JPEG 2000 file, which read_picture() does not take, at the depth of its codestream. Thread-safe.
/// Throws Failure.
/// @return null: the file is none
std::unique_ptr<Picture> read_coded(const std::string& path);

/// Pages of a file. Throws Failure.
int count_pages(const Frame& frame);

/// Big-endian samples of 16 bits become those of this machine.
void swap_words(uint8_t* samples, size_t bytes);

/// Reads a picture of few samples, in words of one or two bytes. Of many it keeps the source.
/// @param picture  has a format
void take_source(std::unique_ptr<SampleSource> source, Picture& picture);

/// Reads all samples of a picture that has a source into its memory.
void read_samples(Picture& picture);

/// What to say of an orientation that is not the usual one, which is not applied; else "".
std::string note_of_orientation(int orientation, int usual);

/// Whether a file of a folder is taken for a picture, by its extension.
bool is_picture_name(const std::string& path);
/// The extensions, for messages.
std::string picture_names();

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_PICTURE_H_
