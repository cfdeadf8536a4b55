// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: the functions of libavcodec and libavutil. A program that is linked with them loads a hundred libraries, which takes as long as a
// picture of a megapixel. So they are loaded with the first picture that needs them; binary PGM and PPM, TIFF, Y4M and raw samples do not.
// With CJ2K_LIBAV_LINKED they are linked, because they are static libraries.
#ifndef CJ2K_TOOLS_LIBAV_H_
#define CJ2K_TOOLS_LIBAV_H_

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

#define CJ2K_LIBAV_FUNCTIONS(F) \
  F(av_buffer_create)           \
  F(av_dict_free)               \
  F(av_dict_set)                \
  F(av_frame_alloc)             \
  F(av_frame_free)              \
  F(av_frame_get_side_data)     \
  F(av_frame_make_writable)     \
  F(av_log_format_line2)        \
  F(av_log_set_callback)        \
  F(av_packet_alloc)            \
  F(av_packet_free)             \
  F(av_pix_fmt_count_planes)    \
  F(av_pix_fmt_desc_get)        \
  F(av_strerror)                \
  F(avcodec_alloc_context3)     \
  F(avcodec_find_decoder)       \
  F(avcodec_free_context)       \
  F(avcodec_get_name)           \
  F(avcodec_open2)              \
  F(avcodec_receive_frame)      \
  F(avcodec_send_packet)

namespace cj2k_tool {

struct Libav {
#define CJ2K_LIBAV_POINTER(name) decltype(&::name) name;
  CJ2K_LIBAV_FUNCTIONS(CJ2K_LIBAV_POINTER)
#undef CJ2K_LIBAV_POINTER
};

/// Thread-safe. Throws Failure: they are not there.
const Libav& libav();

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_LIBAV_H_
