// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the samples of a frame of libavcodec, where they are or as what is coded: floats become integers, and so on.
#ifndef CJ2K_TOOLS_AV_SAMPLES_H_
#define CJ2K_TOOLS_AV_SAMPLES_H_

#include <string>

#include "libav.h"
#include "picture.h"

namespace cj2k_tool {

/// Views of planes of samples in Picture::samples.
void view_samples(Picture& picture, int word_bytes);

/// What the frame says of itself.
/// @param trc  as read_picture has it
void set_format(const AVFrame& frame, AVCodecID id, const std::string& trc, PictureFormat& format);

/// Views of the samples of Picture::frame, or of what they become. Throws Failure.
/// @param path   for messages
/// @param depth  bits of a sample if the file says so; they are the upper ones. 0: it does not
void take_samples(const std::string& path, int depth, Picture& picture);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_AV_SAMPLES_H_
