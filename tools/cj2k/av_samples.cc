// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "av_samples.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "libav.h"

namespace cj2k_tool {
namespace {

/// swap_words for all planes.
void swap_frame(AVFrame* frame, int planes) {
  if (libav().av_frame_make_writable(frame) < 0) throw std::bad_alloc();
  for (int p = 0; p < planes; ++p)
    for (int y = 0; y < frame->height; ++y)
      swap_words(frame->data[p] + static_cast<ptrdiff_t>(y) * frame->linesize[p],
                 static_cast<size_t>(std::abs(frame->linesize[p])));
}

/// A half float (IEEE 754 binary16), in whose range infinity is large enough.
float value_of_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude > 0x7c00) return NAN;
  const uint32_t bits = (half & 0x8000u) << 16 | magnitude << 13;
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v * 0x1p112f;  // the exponent of a float is 112 more
}

float float_at(const uint8_t* from, bool is_half) {
  if (!is_half) {
    float v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  uint16_t half;
  std::memcpy(&half, from, sizeof half);
  return value_of_half(half);
}

/// Linear light becomes integers of 16 bits: 0 .. 1 is 0 .. 65535.
void convert_float(const AVFrame& frame, const AVPixFmtDescriptor& desc, Picture& picture) {
  PictureFormat& f = picture.format;
  f.depth = 16;
  picture.samples.resize(size_t{2} * f.width * f.height * f.num_components);
  view_samples(picture, 2);
  auto* out = reinterpret_cast<uint16_t*>(picture.samples.data());
  for (int c = 0; c < f.num_components; ++c) {
    const AVComponentDescriptor& comp = desc.comp[c];
    for (int y = 0; y < f.height; ++y) {
      const uint8_t* row = frame.data[comp.plane] +
                           static_cast<ptrdiff_t>(y) * frame.linesize[comp.plane] + comp.offset;
      for (int x = 0; x < f.width; ++x) {
        float v = float_at(row + static_cast<ptrdiff_t>(x) * comp.step, comp.depth == 16);
        if (!(v >= 0 && v <= 1)) {
          ++picture.clipped;
          v = v > 1 ? 1 : 0;
        }
        *out++ = static_cast<uint16_t>(std::lrint(v * 65535.0));
      }
    }
  }
}

void convert_palette(const AVFrame& frame, Picture& picture) {
  PictureFormat& f = picture.format;
  uint32_t palette[256];
  std::memcpy(palette, frame.data[1], sizeof palette);
  bool opaque = true;
  for (int y = 0; y < f.height; ++y)
    for (int x = 0; x < f.width; ++x)
      opaque &=
          palette[frame.data[0][static_cast<ptrdiff_t>(y) * frame.linesize[0] + x]] >> 24 == 255;
  f.num_components = opaque ? 3 : 4;
  f.alpha = opaque ? 0 : 1;
  f.depth = 8;
  picture.samples.resize(size_t{1} * f.width * f.height * f.num_components);
  view_samples(picture, 1);
  uint8_t* out = picture.samples.data();
  constexpr int kShifts[] = {16, 8, 0, 24};
  for (int c = 0; c < f.num_components; ++c) {
    for (int y = 0; y < f.height; ++y)
      for (int x = 0; x < f.width; ++x)
        *out++ = static_cast<uint8_t>(
            (palette[frame.data[0][static_cast<ptrdiff_t>(y) * frame.linesize[0] + x]] >>
             kShifts[c]) &
            255);
  }
}

/// One bit a sample, eight in a byte; 1 is white in the codestream.
void convert_bits(const AVFrame& frame, bool one_is_black, Picture& picture) {
  PictureFormat& f = picture.format;
  f.depth = 1;
  picture.samples.resize(size_t{1} * f.width * f.height);
  view_samples(picture, 1);
  uint8_t* out = picture.samples.data();
  for (int y = 0; y < f.height; ++y) {
    const uint8_t* row = frame.data[0] + static_cast<ptrdiff_t>(y) * frame.linesize[0];
    for (int x = 0; x < f.width; ++x)
      *out++ = static_cast<uint8_t>(((row[x / 8] >> (7 - x % 8)) & 1) ^ (one_is_black ? 1 : 0));
  }
}

/// Views of samples as libavcodec has them.
/// @param depth  bits of a sample if the file says so; they are the upper ones
void view_frame(const AVPixFmtDescriptor& desc, int depth, Picture& picture) {
  AVFrame* frame = picture.frame.get();
  const int stored = desc.comp[0].depth;
  if (stored > 8 && (desc.flags & AV_PIX_FMT_FLAG_BE))
    swap_frame(frame, libav().av_pix_fmt_count_planes(static_cast<AVPixelFormat>(frame->format)));
  if (depth == 0 || depth > stored) depth = stored;
  picture.format.depth = depth;
  for (int c = 0; c < picture.format.num_components; ++c) {
    const AVComponentDescriptor& comp = desc.comp[c];
    picture.views[c] = {frame->data[comp.plane] + comp.offset, frame->linesize[comp.plane],
                        comp.step, comp.shift + comp.depth > 8 ? 2 : 1,
                        comp.shift + stored - depth};
  }
}

const AVPixFmtDescriptor& kind_of(const AVFrame& frame) {
  return *libav().av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
}

}  // namespace

void view_samples(Picture& picture, int word_bytes) {
  const PictureFormat& f = picture.format;
  const ptrdiff_t stride = static_cast<ptrdiff_t>(f.width) * word_bytes;
  for (int c = 0; c < f.num_components; ++c)
    picture.views[c] = {picture.samples.data() + c * stride * f.height, stride, word_bytes,
                        word_bytes, 0};
}

void set_format(const AVFrame& frame, AVCodecID id, const std::string& trc, PictureFormat& f) {
  const AVPixFmtDescriptor& desc = kind_of(frame);
  f.width = frame.width;
  f.height = frame.height;
  f.num_components = desc.nb_components;
  f.is_yuv = desc.nb_components >= 3 && !(desc.flags & AV_PIX_FMT_FLAG_RGB);
  if (desc.flags & AV_PIX_FMT_FLAG_ALPHA) f.alpha = id == AV_CODEC_ID_EXR ? 2 : 1;
  f.is_linear = id == AV_CODEC_ID_EXR && (trc.empty() || trc == "linear");
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    const bool chroma = f.is_yuv && (c == 1 || c == 2);
    f.dx[c] = chroma ? 1 << desc.log2_chroma_w : 1;
    f.dy[c] = chroma ? 1 << desc.log2_chroma_h : 1;
  }
  const AVFrameSideData* icc = libav().av_frame_get_side_data(&frame, AV_FRAME_DATA_ICC_PROFILE);
  if (icc != nullptr) f.icc.assign(icc->data, icc->data + icc->size);
}

void take_samples(const std::string& path, int depth, Picture& picture) {
  const AVFrame& frame = *picture.frame;
  const AVPixFmtDescriptor& desc = kind_of(frame);
  const auto pixels = static_cast<AVPixelFormat>(frame.format);
  if (desc.flags & AV_PIX_FMT_FLAG_PAL) {
    convert_palette(frame, picture);
  } else if (pixels == AV_PIX_FMT_MONOBLACK || pixels == AV_PIX_FMT_MONOWHITE) {
    convert_bits(frame, pixels == AV_PIX_FMT_MONOWHITE, picture);
  } else if ((desc.flags & AV_PIX_FMT_FLAG_FLOAT) && desc.comp[0].depth <= 32 &&
             !(desc.flags & AV_PIX_FMT_FLAG_BE)) {
    convert_float(frame, desc, picture);
  } else if (desc.comp[0].depth > 16 || desc.comp[0].depth < 8 ||
             (desc.flags & (AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT |
                            AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER))) {
    throw Failure(path + ": samples of the kind " + desc.name + " are not supported");
  } else {
    view_frame(desc, depth, picture);
  }
  if (!picture.samples.empty()) picture.frame.reset();
}

}  // namespace cj2k_tool
