/*
 * JPEG 2000 encoding through libcj2k
 * Copyright (c) The libcj2k authors
 *
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

/**
 * @file
 * JPEG 2000 encoder "libcj2k", which is also "j2k_cuda".
 * One file for FFmpeg 5.1, 7.1, 8.1 and 9.0.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cj2k.h>
#include <cj2k_film.h>

#include "config.h"
#if HAVE_UNISTD_H
#include <unistd.h>
#endif

#include "libavutil/avstring.h"
#include "libavutil/base64.h"
#include "libavutil/common.h"
#include "libavutil/dict.h"
#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/libm.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/version.h"
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 0, 100) /* 6.0 on */
#include "libavutil/file_open.h"
#else
#include "libavutil/internal.h"
#endif
#if CONFIG_CUDA
#include "libavutil/hwcontext_cuda_internal.h"
#endif

#include "avcodec.h"
#include "codec_internal.h"
#include "encode.h"
#include "hwconfig.h"
#include "version.h" /* LIBAVCODEC_VERSION_INT would be 0 without it */
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(62, 0, 100) /* until 7.1 */
#include "packet_internal.h"
#define ff_encode_add_stats_side_data ff_side_data_set_encoder_stats
#endif
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(60, 0, 100) /* 5.1 */
#include "internal.h"
#define ff_encode_add_cpb_side_data ff_add_cpb_side_data
#endif

#ifndef CODEC_LONG_NAME /* 5.1 */
#define CODEC_LONG_NAME(str) .p.long_name = NULL_IF_CONFIG_SMALL(str)
#endif
#ifndef CODEC_PIXFMTS_ARRAY /* 5.1, 7.1 */
#define CODEC_PIXFMTS_ARRAY(array) .p.pix_fmts = (array)
#endif
#ifndef FF_CODEC_CAP_INIT_THREADSAFE /* default from 7.1 on; now the opposite */
#define FF_CODEC_CAP_INIT_THREADSAFE 0
#endif
#ifndef FF_CODEC_CAP_ICC_PROFILES /* 5.1 */
#define FF_CODEC_CAP_ICC_PROFILES 0
#endif

/* The largest packet that ff_get_encode_buffer() gives. */
#define MAX_PACKET_BYTES (INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE)

/* The highest frame rate that is believed if it comes from time_base alone.
 * Clocks are finer: QuickTime's has 600 ticks a second, Matroska's 1000. */
#define MAX_TIME_BASE_RATE 300

/* Values of AVCodecContext.profile, which is Rsiz, and .level that are no
 * profile and no level. Not all releases have the same names for them. */
#define PROFILE_UNKNOWN        -99
#define PROFILE_NO_RESTRICTION 0x8000
#define LEVEL_UNKNOWN          -99

/* Frames that lookahead keeps. */
#define MAX_LOOKAHEAD 240

/* lavc's default of gop_size, which no user has asked for. */
#define LAVC_GOP_SIZE 12

#if CJ2K_PACKET_PADDING < AV_INPUT_BUFFER_PADDING_SIZE
#error "libcj2k does not pad its packets enough to use them without a copy"
#endif

/* The formats whose samples the library can read in place with a shift, at
 * their own depth. */
static const enum AVPixelFormat cj2k_pix_fmts[] = {
    AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P,
    AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P,
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(61, 13, 100)
    /* without color_ranges, these keep full range as it is */
    AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P,
    AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ411P,
#endif
    AV_PIX_FMT_YUV420P9,  AV_PIX_FMT_YUV422P9,  AV_PIX_FMT_YUV444P9,
    AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10,
    AV_PIX_FMT_YUV440P10,
    AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV444P12,
    AV_PIX_FMT_YUV440P12,
    AV_PIX_FMT_YUV420P14, AV_PIX_FMT_YUV422P14, AV_PIX_FMT_YUV444P14,
    AV_PIX_FMT_YUV420P16, AV_PIX_FMT_YUV422P16, AV_PIX_FMT_YUV444P16,
    AV_PIX_FMT_YUVA420P,   AV_PIX_FMT_YUVA422P,   AV_PIX_FMT_YUVA444P,
    AV_PIX_FMT_YUVA420P9,  AV_PIX_FMT_YUVA422P9,  AV_PIX_FMT_YUVA444P9,
    AV_PIX_FMT_YUVA420P10, AV_PIX_FMT_YUVA422P10, AV_PIX_FMT_YUVA444P10,
    AV_PIX_FMT_YUVA422P12, AV_PIX_FMT_YUVA444P12,
    AV_PIX_FMT_YUVA420P16, AV_PIX_FMT_YUVA422P16, AV_PIX_FMT_YUVA444P16,
    AV_PIX_FMT_NV12, AV_PIX_FMT_NV21, AV_PIX_FMT_NV16, AV_PIX_FMT_NV24,
    AV_PIX_FMT_P010, AV_PIX_FMT_P016, AV_PIX_FMT_P210, AV_PIX_FMT_P216,
    AV_PIX_FMT_P410, AV_PIX_FMT_P416,
#ifdef AV_PIX_FMT_P012
    AV_PIX_FMT_P012,
#endif
#ifdef AV_PIX_FMT_P212
    AV_PIX_FMT_P212, AV_PIX_FMT_P412,
#endif
#ifdef AV_PIX_FMT_YUV444P10MSB
    AV_PIX_FMT_YUV444P10MSB, AV_PIX_FMT_YUV444P12MSB,
#endif
    AV_PIX_FMT_NV42, AV_PIX_FMT_NV20,
    AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422, AV_PIX_FMT_YVYU422, AV_PIX_FMT_Y210,
    AV_PIX_FMT_AYUV64,
#ifdef AV_PIX_FMT_Y212 /* 6.0 */
    AV_PIX_FMT_Y212, AV_PIX_FMT_XV30, AV_PIX_FMT_XV36, AV_PIX_FMT_VUYA,
    AV_PIX_FMT_VUYX,
#endif
#ifdef AV_PIX_FMT_XV48 /* 8.0 */
    AV_PIX_FMT_AYUV, AV_PIX_FMT_UYVA, AV_PIX_FMT_VYU444, AV_PIX_FMT_V30X,
    AV_PIX_FMT_Y216, AV_PIX_FMT_XV48,
#endif
    AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24,
    AV_PIX_FMT_RGBA, AV_PIX_FMT_BGRA, AV_PIX_FMT_ARGB, AV_PIX_FMT_ABGR,
    AV_PIX_FMT_RGB0, AV_PIX_FMT_BGR0, AV_PIX_FMT_0RGB, AV_PIX_FMT_0BGR,
    AV_PIX_FMT_X2RGB10, AV_PIX_FMT_X2BGR10,
    AV_PIX_FMT_RGB48, AV_PIX_FMT_BGR48, AV_PIX_FMT_RGBA64, AV_PIX_FMT_BGRA64,
    AV_PIX_FMT_XYZ12,
    AV_PIX_FMT_GBRP, AV_PIX_FMT_GBRP9, AV_PIX_FMT_GBRP10, AV_PIX_FMT_GBRP12,
    AV_PIX_FMT_GBRP14, AV_PIX_FMT_GBRP16,
    AV_PIX_FMT_GBRAP, AV_PIX_FMT_GBRAP10, AV_PIX_FMT_GBRAP12,
    AV_PIX_FMT_GBRAP16,
#ifdef AV_PIX_FMT_GBRAP14
    AV_PIX_FMT_GBRAP14,
#endif
#ifdef AV_PIX_FMT_GBRP10MSB
    AV_PIX_FMT_GBRP10MSB, AV_PIX_FMT_GBRP12MSB,
#endif
    AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY9, AV_PIX_FMT_GRAY10, AV_PIX_FMT_GRAY12,
    AV_PIX_FMT_GRAY14, AV_PIX_FMT_GRAY16, AV_PIX_FMT_YA8, AV_PIX_FMT_YA16,
#if CONFIG_CUDA
    AV_PIX_FMT_CUDA, /* with any sw_format of this list */
#endif
    AV_PIX_FMT_NONE
};

/* What a packet gets from its frame beside the time stamps, which libcj2k
 * carries. */
typedef struct FrameProps {
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    void *opaque;
    AVBufferRef *opaque_ref;
#else
    int64_t reordered_opaque;
#endif
} FrameProps;

typedef struct CJ2KContext {
    const AVClass *class;

    cj2k_encoder *encoder;
    enum AVPixelFormat sw_format; ///< of the samples, also in CUDA frames
    const AVPixFmtDescriptor *desc; ///< descriptor of sw_format
    void *cuda_context;     ///< of the frames; NULL: in system memory
    FrameProps *props;      ///< of the frames in flight
    int num_props;          ///< frame n has the entry n % num_props
    AVFrame *frame;         ///< the next to send; empty: none
    uintptr_t frame_number; ///< number of the next frame, from 0
    int draining;
    int fields;             ///< codestreams of a frame, 1 or 2
    int bottom_first;       ///< the first field has the lines 1, 3, 5, ...
    int field;              ///< field of `frame` to send next, in order of time
    cj2k_packet first;      ///< a first field; slot NULL: none
    cj2k_stats first_stats;
    int warned_interlaced;
    int opening;            ///< errors of the library are told in other words
    cj2k_params used;       ///< parameters, with each "chosen" replaced
    FILE *stats;            ///< the open stats_file; NULL: none
    int64_t stats_bytes;    ///< bytes of the complete lines in it
    AVBufferRef *icc;       ///< ICC profile of the first frame; NULL: none
    int warned_icc;
    enum AVPixelFormat fitting[FF_ARRAY_ELEMS(cj2k_pix_fmts)];

    cj2k_params options;    ///< the options that are numbers, in their fields
    char *cblk, *tile, *precincts, *layer_rates, *comment, *device;
    char *stats_file;
    char *crf, *qp, *preset; ///< options of other encoders
    int rc_lookahead;
    int64_t max_component_rate;
    AVDictionary *cj2k_params;
} CJ2KContext;

static const struct {
    cj2k_status status;
    int averr;
} error_table[] = {
    { CJ2K_OK,            0                },
    { CJ2K_AGAIN,         AVERROR(EAGAIN)  },
    { CJ2K_EOF,           AVERROR_EOF      },
    { CJ2K_INVALID,       AVERROR(EINVAL)  },
    { CJ2K_NO_MEMORY,     AVERROR(ENOMEM)  },
    { CJ2K_NOT_SUPPORTED, AVERROR(ENOSYS)  },
    { CJ2K_DEVICE,        AVERROR(ENODEV)  },
    { CJ2K_INTERNAL,      AVERROR_EXTERNAL },
};

/* Logs nothing, because the library has already logged the reason of an error.
 */
static int map_status(cj2k_status status)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(error_table); i++)
        if (error_table[i].status == status)
            return error_table[i].averr;
    return AVERROR_EXTERNAL;
}

/* av_log() may be called from the library's worker threads. */
static void log_callback(void *avctx, cj2k_log_level level, const char *message)
{
    static const int levels[] = {
        [CJ2K_LOG_ERROR]   = AV_LOG_ERROR,
        [CJ2K_LOG_WARNING] = AV_LOG_WARNING,
        [CJ2K_LOG_INFO]    = AV_LOG_INFO,
        [CJ2K_LOG_DEBUG]   = AV_LOG_VERBOSE,
    };
    const CJ2KContext *s = ((AVCodecContext *)avctx)->priv_data;

    if (s->opening && level == CJ2K_LOG_ERROR)
        return;
    av_log(avctx,
           (unsigned)level < FF_ARRAY_ELEMS(levels) ? levels[level]
                                                    : AV_LOG_DEBUG,
           "%s\n", message);
}

static av_printf_format(2, 3) int refuse(AVCodecContext *avctx,
                                         const char *why, ...)
{
    va_list args;

    va_start(args, why);
    av_vlog(avctx, AV_LOG_ERROR, why, args);
    va_end(args);
    return AVERROR(EINVAL);
}

/* Components 1 and 2 of a YUV format can be subsampled, an alpha component
 * cannot. */
static void set_components(cj2k_params *p, const AVPixFmtDescriptor *desc)
{
    p->num_components = desc->nb_components;
    for (int c = 0; c < desc->nb_components; c++) {
        const int is_chroma = desc->nb_components >= 3 && (c == 1 || c == 2);

        p->depth[c] = desc->comp[c].depth;
        p->dx[c]    = is_chroma ? 1 << desc->log2_chroma_w : 1;
        p->dy[c]    = is_chroma ? 1 << desc->log2_chroma_h : 1;
    }
}

static int is_rgb_or_xyz(const CJ2KContext *s)
{
    return s->desc->flags & AV_PIX_FMT_FLAG_RGB ||
           s->sw_format == AV_PIX_FMT_XYZ12;
}

static int is_cinema(const cj2k_params *p)
{
    return p->profile == CJ2K_PROFILE_CINEMA_2K ||
           p->profile == CJ2K_PROFILE_CINEMA_4K;
}

/* R'G'B' in the planes of a YUV format, as decoders give it in CUDA memory,
 * which has no other planar format for it: G, B, R. */
static int is_gbr_in_yuv(const AVCodecContext *avctx)
{
    const CJ2KContext *s           = avctx->priv_data;
    const AVPixFmtDescriptor *desc = s->desc;

    return s->options.xyz && avctx->colorspace == AVCOL_SPC_RGB &&
           desc->nb_components == 3 && !(desc->flags & AV_PIX_FMT_FLAG_RGB) &&
           s->sw_format != AV_PIX_FMT_XYZ12 && !desc->log2_chroma_w &&
           !desc->log2_chroma_h;
}

/* Finds the format of the samples. For CUDA frames it is the sw_format of their
 * pool. */
static int set_format(AVCodecContext *avctx)
{
    CJ2KContext *s = avctx->priv_data;
    int known      = 0;

    s->sw_format = avctx->pix_fmt;
    if (avctx->pix_fmt == AV_PIX_FMT_CUDA) {
        if (!avctx->hw_frames_ctx)
            return refuse(avctx, "pixel format cuda needs hw_frames_ctx\n");
        s->sw_format =
            ((AVHWFramesContext *)avctx->hw_frames_ctx->data)->sw_format;
        for (int i = 0; cj2k_pix_fmts[i] != AV_PIX_FMT_NONE; i++)
            known |= cj2k_pix_fmts[i] == s->sw_format;
        if (!known) {
            const char *name = av_get_pix_fmt_name(s->sw_format);
            return refuse(avctx, "CUDA frames of format %s are not supported\n",
                          name ? name : "(unknown)");
        }
    }
    s->desc = av_pix_fmt_desc_get(s->sw_format);
    return 0;
}

/* The bits of a sample that are coded. Decoders put 9 to 15 bits into the upper
 * bits of a 16-bit format if there is no format of that depth, and say how many
 * they are. In CUDA memory, nothing could check that the other bits are free.
 */
static int coded_depth(AVCodecContext *avctx)
{
    const CJ2KContext *s = avctx->priv_data;
    const int depth      = s->desc->comp[0].depth;
    const int bits       = avctx->bits_per_raw_sample;

    if (depth != 16 || bits < 1 || bits >= depth ||
        avctx->pix_fmt == AV_PIX_FMT_CUDA)
        return depth;
    av_log(avctx, AV_LOG_INFO,
           "coding the upper %d bits of %s, as bits_per_raw_sample says "
           "(-bits_per_raw_sample %d: all)\n",
           bits, s->desc->name, depth);
    return bits;
}

static void set_picture(AVCodecContext *avctx, cj2k_params *p)
{
    const CJ2KContext *s           = avctx->priv_data;
    const AVPixFmtDescriptor *desc = s->desc;

    avctx->bits_per_raw_sample = coded_depth(avctx);
    p->width                   = avctx->width;
    p->height                  = avctx->height;
    p->alpha                   = !!(desc->flags & AV_PIX_FMT_FLAG_ALPHA);
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(62, 15, 100) /* 8.1 on */
    if (p->alpha && avctx->alpha_mode == AVALPHA_MODE_PREMULTIPLIED)
        p->alpha = 2;
#endif
    set_components(p, desc);
    for (int c = 0; c < desc->nb_components; c++) {
        p->source_depth[c] = p->depth[c];
        p->depth[c]        = FFMIN(p->depth[c], avctx->bits_per_raw_sample);
    }
    if (desc->nb_components < 3)
        p->colorspace = CJ2K_COLOR_GRAY;
    else if (s->sw_format == AV_PIX_FMT_XYZ12)
        p->colorspace = CJ2K_COLOR_XYZ;
    else
        p->colorspace = is_rgb_or_xyz(s) ? CJ2K_COLOR_SRGB : CJ2K_COLOR_SYCC;
}

/* The flag ildct makes each field a picture of its own, with half of the lines.
 * A packet holds the codestreams of both, in order of time, as SMPTE ST 422 has
 * it. */
static int set_fields(AVCodecContext *avctx, cj2k_params *p)
{
    CJ2KContext *s  = avctx->priv_data;
    const int lines = 2 << (s->desc->nb_components >= 3 ? s->desc->log2_chroma_h
                                                        : 0);

    s->fields = 1;
    if (!(avctx->flags & AV_CODEC_FLAG_INTERLACED_DCT))
        return 0;
    if (avctx->height % lines)
        return refuse(avctx, "flags +ildct codes each field: the height of %s "
                      "must be a multiple of %d, not %d\n",
                      s->desc->name, lines, avctx->height);
    s->fields       = 2;
    s->bottom_first = avctx->field_order == AV_FIELD_BB ||
                      avctx->field_order == AV_FIELD_BT;
    avctx->field_order = s->bottom_first ? AV_FIELD_BB
                                         : AV_FIELD_TT; /* as coded, as shown */
    p->height /= 2;
    return 0;
}

/* Refuses what fields cannot have, once all parameters are known. */
static int check_fields(AVCodecContext *avctx, const cj2k_params *p)
{
    const CJ2KContext *s = avctx->priv_data;

    if (s->fields == 2 && p->format == CJ2K_FORMAT_JP2)
        return refuse(avctx, "format jp2 contradicts flags +ildct: a JP2 file "
                      "has one codestream, two fields have two; use format "
                      "j2k\n");
    if (s->fields == 2 && is_cinema(p))
        return refuse(avctx, "flags +ildct contradicts the profile: digital "
                      "cinema has no fields\n");
    return 0;
}

/* The frame that a packet of the library belongs to, and which of its fields it
 * is. */
static uintptr_t frame_of(const CJ2KContext *s, const cj2k_packet *packet)
{
    return (uintptr_t)packet->opaque / s->fields;
}

static int field_of(const CJ2KContext *s, const cj2k_packet *packet)
{
    return (uintptr_t)packet->opaque % s->fields;
}

static int is_yuv444(const CJ2KContext *s)
{
    return s->desc->nb_components >= 3 && !is_rgb_or_xyz(s) &&
           !s->options.xyz && !s->desc->log2_chroma_w &&
           !s->desc->log2_chroma_h;
}

/* Chooses the format, and says what a JP2 file shall say of the colours.
 *
 * A raw codestream does not tell YUV from RGB. FFmpeg's decoder takes three or
 * four components of the same size for RGB, but believes the colour space of a
 * JP2 file. So in containers that may hold JP2 files YUV 4:4:4 is written as
 * such. AV_CODEC_FLAG_GLOBAL_HEADER tells MOV, MP4, MKV and NUT from MXF, where
 * JP2 files are wrong, and from AVI and image sequences. All else is read alike
 * from raw codestreams and from JP2 files. */
static int set_colours(AVCodecContext *avctx, cj2k_params *p)
{
    const CJ2KContext *s = avctx->priv_data;
    const char *from     = av_color_primaries_name(avctx->color_primaries);
    const char *curve    = av_color_transfer_name(avctx->color_trc);
    const char *matrix   = av_color_space_name(avctx->colorspace);
    int ret;

    p->format = s->options.format;
    if ((int)s->options.format < 0) /* an enum without negative values */
        p->format = is_yuv444(s) &&
                            avctx->flags & AV_CODEC_FLAG_GLOBAL_HEADER &&
                            s->fields == 1
                        ? CJ2K_FORMAT_JP2
                        : CJ2K_FORMAT_J2K;
    /* AVCOL_PRI_*, AVCOL_TRC_* and AVCOL_SPC_* are code points of H.273. */
    ret = map_status(cj2k_params_set_colours(
        p, avctx->color_primaries, avctx->color_trc, avctx->colorspace,
        avctx->color_range == AVCOL_RANGE_JPEG));
    if (ret < 0)
        av_log(avctx, AV_LOG_ERROR,
               "The frames are %s, color_primaries %s, color_trc %s, "
               "colorspace %s, %s range. -vf setparams= names the colours, "
               "-strict unofficial takes what a profile has not\n",
               s->desc->name, from ? from : "(unknown)",
               curve ? curve : "(unknown)", matrix ? matrix : "(unknown)",
               avctx->color_range == AVCOL_RANGE_JPEG ? "full" : "limited");
    return ret;
}

/* Warns where a reader will guess other colours than those that were meant.
 * avctx->profile is Rsiz. */
static void warn_colours(AVCodecContext *avctx, const cj2k_params *p)
{
    const CJ2KContext *s = avctx->priv_data;
    const char *name     = s->desc->name;

    if (is_yuv444(s) && p->format == CJ2K_FORMAT_J2K)
        av_log(avctx, AV_LOG_WARNING,
               "A raw codestream does not say that %s is YUV: FFmpeg and "
               "others read it as RGB from AVI and .j2k files, and without the "
               "MXF patch of j2k_cuda from MXF. For AVI and .jp2 files use "
               "-format jp2, for MXF RGB or 4:2:2\n",
               name);
    if (is_yuv444(s) && p->format == CJ2K_FORMAT_JP2 &&
        !(avctx->flags & AV_CODEC_FLAG_GLOBAL_HEADER) &&
        (avctx->color_range != AVCOL_RANGE_JPEG ||
         avctx->colorspace != AVCOL_SPC_BT470BG &&
             avctx->colorspace != AVCOL_SPC_SMPTE170M))
        av_log(avctx, AV_LOG_WARNING,
               "A JP2 file knows YUV of full range with the matrix of BT.601 "
               "alone, this is %s range with matrix %s: other readers than "
               "FFmpeg show other colours\n",
               avctx->color_range == AVCOL_RANGE_JPEG ? "full" : "limited",
               av_color_space_name(avctx->colorspace));
    if (s->desc->nb_components == 4 && p->depth[0] > 10 && p->depth[0] < 16 &&
        !is_rgb_or_xyz(s))
        av_log(avctx, AV_LOG_WARNING,
               "FFmpeg takes %s for 16 bits, too dark, or for RGB%s; 10 or 16 "
               "bits are read back\n",
               name,
               is_yuv444(s) ? ", except from MXF with the MXF patch of j2k_cuda"
                            : "");
    if (s->desc->nb_components == 3 && s->desc->comp[0].depth > 8 &&
        !s->desc->log2_chroma_w && s->desc->log2_chroma_h)
        av_log(avctx, AV_LOG_WARNING,
               "FFmpeg's decoder has no %s and refuses it\n", name);
    if (p->colorspace == CJ2K_COLOR_XYZ &&
        avctx->profile != CJ2K_PROFILE_CINEMA_2K &&
        avctx->profile != CJ2K_PROFILE_CINEMA_4K)
        av_log(avctx, AV_LOG_WARNING,
               "FFmpeg reads X'Y'Z' as RGB, except with the profile of digital "
               "cinema, and from MXF with the MXF patch of j2k_cuda\n");
    /* Nobody keeps linear light in 12 bits or less: what says so there is DPX,
     * which says it of all. */
    if (avctx->color_trc == AVCOL_TRC_LINEAR && p->xyz && p->xyz_gamma == 1)
        av_log(avctx, AV_LOG_WARNING,
               "xyz takes the frames for linear light, as they say. If they "
               "are DPX, which says so whatever it holds: -vf "
               "setparams=color_trc=bt709 for video, a LUT for log\n");
    else if (avctx->color_trc == AVCOL_TRC_LINEAR &&
             s->desc->comp[0].depth == 16)
        av_log(avctx, AV_LOG_WARNING,
               "The frames say that they are linear light, which has few steps "
               "in dark tones in 16 bits. EXR: -vf zscale=t=bt709; DPX, which "
               "says so whatever it holds: -vf setparams=color_trc=bt709 for "
               "video\n");
}

static int set_xyz(AVCodecContext *avctx, cj2k_params *p)
{
    const CJ2KContext *s           = avctx->priv_data;
    const AVPixFmtDescriptor *desc = s->desc;

    if (!s->options.xyz)
        return 0;
    if (desc->nb_components != 3 ||
        (!(desc->flags & AV_PIX_FMT_FLAG_RGB) && !is_gbr_in_yuv(avctx)) ||
        s->sw_format == AV_PIX_FMT_XYZ12)
        return refuse(avctx, "xyz needs R'G'B' frames without alpha, not %s; "
                      "%sput format=gbrp12 at the end of the filters\n",
                      desc->name,
                      s->sw_format == AV_PIX_FMT_XYZ12
                          ? "leave xyz out if they are X'Y'Z', else " : "");
    /* Samples of fewer bits in a 16-bit format are read as 16 bits: white is at
     * most 0.02 % off. */
    for (int c = 0; c < 3; c++) {
        p->depth[c]        = 12;
        p->source_depth[c] = desc->comp[c].depth;
    }
    p->colorspace              = CJ2K_COLOR_XYZ;
    avctx->bits_per_raw_sample = 12;
    return 0;
}

/* Sets what -cj2k-params has, or checks that it has nothing that the frames
 * say. */
static int set_further_params(AVCodecContext *avctx, cj2k_params *p)
{
    static const char *const of_picture[] = {
        "width", "height",       "num_components",
        "depth", "source_depth", "is_signed",
        "dx",    "dy",
    };
    const CJ2KContext *s       = avctx->priv_data;
    const AVDictionaryEntry *e = NULL;
    int ret;

    while ((e = av_dict_get(s->cj2k_params, "", e, AV_DICT_IGNORE_SUFFIX))) {
        for (int i = 0; i < FF_ARRAY_ELEMS(of_picture); i++)
            if (!strcmp(e->key, of_picture[i]))
                return refuse(avctx, "cj2k-params: %s is given by the "
                              "picture\n", e->key);
        if ((ret = map_status(cj2k_params_set(p, e->key, e->value))) < 0)
            return ret;
    }
    if (avctx->flags & AV_CODEC_FLAG_PSNR)
        p->measure_mse = 1;
    return 0;
}

/* Copies the options that are parameters. */
static int set_params(const AVCodecContext *avctx, cj2k_params *p)
{
    const CJ2KContext *s = avctx->priv_data;
    int ret              = 0;

    if (avctx->flags & AV_CODEC_FLAG_BITEXACT)
        av_strlcpy(p->comment, "libcj2k", sizeof(p->comment)); /* no version */
    for (const AVOption *o = s->class->option; o->name && ret >= 0; o++) {
        const size_t at   = o->offset - offsetof(CJ2KContext, options);
        const void *value = (const uint8_t *)s + o->offset;

        if (o->type == AV_OPT_TYPE_STRING && *(char *const *)value &&
            o->offset != offsetof(CJ2KContext, stats_file))
            ret = map_status(
                cj2k_params_set(p, o->name, *(char *const *)value));
        else if (o->type != AV_OPT_TYPE_CONST && at < sizeof(*p))
            AV_COPY32((uint8_t *)p + at, value);
    }
    p->threads = avctx->thread_count;
    if (avctx->flags & AV_CODEC_FLAG_LOW_DELAY) {
        p->gop         = p->gop ? p->gop : 1;
        p->async_depth = p->async_depth ? p->async_depth : s->fields;
    }
    return ret;
}

/* The frame rate. A program may set only time_base, to the duration of a frame.
 * @return the rate; its num is 0 if there is none */
static AVRational frame_rate(const AVCodecContext *avctx)
{
    const AVRational most = { MAX_TIME_BASE_RATE, 1 }, none = { 0, 1 };
    const AVRational rate = av_inv_q(avctx->time_base);

    if (avctx->framerate.num > 0 && avctx->framerate.den > 0)
        return avctx->framerate;
    return rate.num > 0 && rate.den > 0 && av_cmp_q(rate, most) <= 0 ? rate
                                                                     : none;
}

/* The rate of the codestreams: of the frames or of the fields. */
static AVRational codestream_rate(const AVCodecContext *avctx)
{
    const CJ2KContext *s = avctx->priv_data;

    return av_mul_q(frame_rate(avctx), av_make_q(s->fields, 1));
}

/* Sets the profile from AVCodecContext, where the options have none. */
static int set_rsiz(const AVCodecContext *avctx, cj2k_params *p)
{
    p->profile_strict = avctx->strict_std_compliance > FF_COMPLIANCE_UNOFFICIAL;
    if (avctx->profile == PROFILE_UNKNOWN ||
        avctx->profile == PROFILE_NO_RESTRICTION)
        return 0;
    return map_status(cj2k_params_set_rsiz(p, avctx->profile));
}

static int set_profile(AVCodecContext *avctx, cj2k_params *p)
{
    int ret;

    p->frame_rate_num = codestream_rate(avctx).num;
    p->frame_rate_den = codestream_rate(avctx).den;
    if ((ret = set_rsiz(avctx, p)) < 0)
        return ret;
    if (avctx->level != LEVEL_UNKNOWN) {
        if (p->main_level && avctx->level != p->main_level)
            return refuse(avctx, "level %d contradicts main_level %d\n",
                          avctx->level, p->main_level);
        p->main_level = avctx->level;
    }
    return 0;
}

/* The bytes of one codestream at `bits_per_second`, rounded down; 0 if there is
 * no such rate. */
static int64_t bytes_per_codestream(const AVCodecContext *avctx,
                                    int64_t bits_per_second)
{
    const AVRational rate = codestream_rate(avctx);
    int64_t bytes;

    if (bits_per_second <= 0 || !rate.num)
        return 0;
    bytes = av_rescale_rnd(bits_per_second, rate.den, 8LL * rate.num,
                           AV_ROUND_DOWN);
    return bytes < 0 ? INT64_MAX : FFMAX(bytes, 1); /* < 0: too many */
}

static int64_t component_samples(const cj2k_params *p, int c)
{
    return (int64_t)((p->width + p->dx[c] - 1) / p->dx[c]) *
           ((p->height + p->dy[c] - 1) / p->dy[c]);
}

static int set_rate(AVCodecContext *avctx, cj2k_params *p)
{
    const CJ2KContext *s = avctx->priv_data;
    const int64_t rate = FFMAX(avctx->bit_rate, avctx->rc_max_rate);
    const int64_t cap  = FFMAX(avctx->rc_min_rate, s->max_component_rate);

    if (FFMAX(rate, cap) > 0 && !frame_rate(avctx).num)
        return refuse(avctx, "b, maxrate, minrate and max_component_rate need "
                      "a frame rate: set framerate; time_base %d/%d is not set "
                      "or too fine to be the duration of a frame\n",
                      avctx->time_base.num, avctx->time_base.den);
    p->target_bytes        = bytes_per_codestream(avctx, avctx->bit_rate);
    p->max_frame_bytes     = bytes_per_codestream(avctx, avctx->rc_max_rate);
    p->min_frame_bytes     = bytes_per_codestream(avctx, avctx->rc_min_rate);
    p->max_component_bytes = bytes_per_codestream(avctx, s->max_component_rate);

    if (avctx->flags & AV_CODEC_FLAG_QSCALE) {
        p->quality = avctx->global_quality / (double)FF_QP2LAMBDA;
        if (p->quality <= 0) /* 0 would ask for the library's default */
            return refuse(avctx, "q %g not in [0.00390625, 256]; use "
                          "-lossless 1 for the exact picture\n", p->quality);
    }
    return 0;
}

#if CONFIG_CUDA
/* The stream that writes the frames of a device. NULL tells the library that
 * the samples are ready. In CUDA and FFmpeg, NULL is the legacy default stream;
 * its handle is CU_STREAM_LEGACY = 1. */
static void *frames_stream(const AVCUDADeviceContext *device)
{
    return device->stream ? device->stream : (void *)(uintptr_t)1;
}

/* Chooses the CUDA context. CUDA frames are encoded in the context that they
 * are in. For other frames, the device of -init_hw_device is used if the option
 * `device` is auto or cuda. */
static int set_hw_device(AVCodecContext *avctx, cj2k_params *p)
{
    CJ2KContext *s = avctx->priv_data;
    const int open = !av_strcasecmp(p->device, "auto") ||
                     !av_strcasecmp(p->device, "cuda");
    AVHWDeviceContext *device;

    if (avctx->pix_fmt == AV_PIX_FMT_CUDA)
        device = ((AVHWFramesContext *)avctx->hw_frames_ctx->data)->device_ctx;
    else if (avctx->hw_device_ctx && open)
        device = (AVHWDeviceContext *)avctx->hw_device_ctx->data;
    else
        return 0;
    if (device->type != AV_HWDEVICE_TYPE_CUDA)
        return 0;

    p->cuda_context = ((AVCUDADeviceContext *)device->hwctx)->cuda_ctx;
    if (avctx->pix_fmt == AV_PIX_FMT_CUDA) {
        if (!open)
            return refuse(avctx, "device %s: CUDA frames are encoded on the "
                          "device they are on; use auto or cuda, or hwdownload "
                          "before the encoder\n", p->device);
        av_strlcpy(p->device, "cuda", sizeof(p->device));
        s->cuda_context = p->cuda_context;
        p->cuda_stream  = frames_stream(device->hwctx);
    }
    return 0;
}
#else
static int set_hw_device(AVCodecContext *avctx, cj2k_params *p)
{
    return 0;
}
#endif

/* -pass: one budget for a film. 1 makes stats_out, which 2 takes. */
static int film_pass(const AVCodecContext *avctx)
{
    return !!(avctx->flags & AV_CODEC_FLAG_PASS1) +
           2 * !!(avctx->flags & AV_CODEC_FLAG_PASS2);
}

/* One pass with lookahead: maxrate is above b, and nothing but the rates says
 * how much of a frame is kept. */
static int has_lookahead(const AVCodecContext *avctx)
{
    const CJ2KContext *s = avctx->priv_data;

    return !film_pass(avctx) && avctx->bit_rate > 0 &&
           avctx->rc_max_rate > avctx->bit_rate && !s->options.lossless &&
           !s->options.qfactor && !s->layer_rates &&
           !(avctx->flags & AV_CODEC_FLAG_QSCALE);
}

/* Options that people know from other encoders, each with what does it here. */
static int refuse_foreign(AVCodecContext *avctx)
{
    const CJ2KContext *s = avctx->priv_data;
    const struct {
        const char *name, *value, *ours;
    } options[] = {
        { "crf", s->crf, "q is a constant quality (2 is visually lossless), "
                         "cj2k-params target_psnr=45 a PSNR" },
        { "qp", s->qp, "q is the quantiser step, in LSB of 8 bits" },
        { "preset", s->preset, "effort is the time spent, 0 to 3" },
        { "tune", s->options.tune > CJ2K_TUNE_VISUAL ? "ssim" : NULL,
          "visual is the tune for what the eye sees" },
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(options); i++)
        if (options[i].value)
            return refuse(avctx, "%s %s is not for this encoder: %s\n",
                          options[i].name, options[i].value, options[i].ours);
    return 0;
}

/* Options of FFmpeg that mean nothing to this encoder. */
static void warn_ignored(AVCodecContext *avctx)
{
    const CJ2KContext *s = avctx->priv_data;
    const int gop = avctx->gop_size == LAVC_GOP_SIZE ? 0 : avctx->gop_size;
    const struct {
        const char *name;
        int64_t value, least;
        const char *why;
    } options[] = {
        { "bufsize", has_lookahead(avctx) ? 0 : avctx->rc_buffer_size, 1,
          film_pass(avctx) ? "the film has one budget, b is its mean"
                           : "b and maxrate are caps of every single frame" },
        { "rc-lookahead", has_lookahead(avctx) ? 0 : s->rc_lookahead, 1,
          "lookahead needs maxrate above b, and no pass" },
        { "g", gop, 2, "every frame is a key frame" },
        { "bf", avctx->max_b_frames, 1, "every frame is a key frame" },
        { "slices", avctx->slices, 1,
          "JPEG 2000 has none; use tile or tile_parts" },
        { "compression_level", avctx->compression_level, 1,
          "layer_rates of twice the number is the same ratio" },
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(options); i++)
        if (options[i].value >= options[i].least)
            av_log(avctx, AV_LOG_WARNING, "%s %" PRId64 " is ignored: %s\n",
                   options[i].name, options[i].value, options[i].why);
}

/* Tells muxers which profile and level were written, and the highest bit rate.
 */
static int tell_muxers(AVCodecContext *avctx)
{
    const CJ2KContext *s  = avctx->priv_data;
    const AVRational rate = codestream_rate(avctx);
    cj2k_info info        = { .struct_size = sizeof(info) };
    AVCPBProperties *cpb;
    int ret = map_status(cj2k_encoder_info(s->encoder, &info));
    int64_t cap;

    if (ret < 0)
        return ret;
    cap            = info.most_frame_bytes;
    avctx->profile = info.rsiz ? info.rsiz : PROFILE_NO_RESTRICTION;
    avctx->level   = s->used.main_level ? s->used.main_level : LEVEL_UNKNOWN;
    if (!cap || !rate.num)
        return 0;
    cpb = ff_encode_add_cpb_side_data(avctx);
    if (!cpb)
        return AVERROR(ENOMEM);
    cpb->max_bitrate = av_rescale(8 * cap, rate.num, rate.den);
    cpb->avg_bitrate = avctx->bit_rate;
    cpb->min_bitrate = avctx->rc_min_rate;
    cpb->buffer_size = 8 * cap * s->fields;
    return 0;
}

static int open_stats_file(AVCodecContext *avctx)
{
    CJ2KContext *s = avctx->priv_data;
    int ret;

    if (!s->stats_file)
        return 0;
    s->stats = avpriv_fopen_utf8(s->stats_file, "w");
    if (!s->stats) {
        ret = AVERROR(errno);
        av_log(avctx, AV_LOG_ERROR, "stats_file %s: %s\n", s->stats_file,
               av_err2str(ret));
        return ret;
    }
    setvbuf(s->stats, NULL, _IONBF, 0); /* each line is written at once */
    return 0;
}

/* Says why the encoder could not be opened, with the option if it is a rate.
 * @return the error */
static int explain_error(AVCodecContext *avctx, int error)
{
    const CJ2KContext *s  = avctx->priv_data;
    const AVRational rate = codestream_rate(avctx);
    const struct {
        const char *option, *param;
        int64_t bits_per_second;
    } rates[] = {
        { "b", "target_bytes", avctx->bit_rate },
        { "maxrate", "max_frame_bytes", avctx->rc_max_rate },
        { "max_component_rate", "max_component_bytes", s->max_component_rate },
        { "minrate", "min_frame_bytes", avctx->rc_min_rate },
    };
    cj2k_error e   = { .struct_size = sizeof(e) };
    char least[64] = "";

    cj2k_last_error(NULL, &e);
    for (int i = 0; i < FF_ARRAY_ELEMS(rates); i++) {
        const int64_t bits  = rates[i].bits_per_second;
        const int64_t bytes = bytes_per_codestream(avctx, bits);

        /* cj2k-params can have set other bytes than those of the option. */
        if (!bytes || strcmp(e.param, rates[i].param) ||
            e.value && e.value != bytes)
            continue;
        if (e.value < e.min)
            snprintf(least, sizeof(least), "; at least %" PRId64 " bit/s",
                     av_rescale_rnd(e.min, 8LL * rate.num, rate.den,
                                    AV_ROUND_UP));
        av_log(avctx, AV_LOG_ERROR,
               "%s; %s %" PRId64 " is %s %" PRId64 " at %d/%d fps%s\n",
               e.message, rates[i].option, bits, e.param, bytes, rate.num,
               rate.den, least);
        return error;
    }
    av_log(avctx, AV_LOG_ERROR, "%s\n", e.message);
    return strcmp(e.param, "film_log") ? error : AVERROR_INVALIDDATA;
}

/* @param film  NULL: each frame for itself */
static int open_encoder(AVCodecContext *avctx, const cj2k_params *p,
                        const cj2k_film_pass *film)
{
    CJ2KContext *s = avctx->priv_data;
    int ret;

    s->opening = 1;
    ret = map_status(film ? cj2k_encoder_open_film(p, film, &s->encoder)
                          : cj2k_encoder_open(p, &s->encoder));
    s->opening = 0;
    return ret < 0 ? explain_error(avctx, ret) : 0;
}

/* The log of pass 1. One text with one hash: a log that has been cut or changed
 * anywhere is no log.
 * @return for av_free(); NULL: there is none */
static uint8_t *decode_film_log(const AVCodecContext *avctx, size_t *bytes)
{
    const char *in      = avctx->stats_in ? avctx->stats_in : "";
    const size_t length = strlen(in);
    const int size      = FFMIN(AV_BASE64_DECODE_SIZE(length), INT_MAX - 1);
    uint8_t *log        = av_malloc(size + 1LL);
    const int decoded   = log ? av_base64_decode(log, in, size) : 0;

    if (decoded <= 0 || AV_BASE64_SIZE((size_t)decoded) != length + 1)
        av_freep(&log);
    *bytes = FFMAX(decoded, 0);
    return log;
}

/* -pass and lookahead: b is the mean of the film. */
static int open_film(AVCodecContext *avctx, const cj2k_params *p)
{
    const CJ2KContext *s = avctx->priv_data;
    const int pass       = film_pass(avctx);
    const int second     = lrint(av_q2d(codestream_rate(avctx)));
    cj2k_film_pass film  = {
        .struct_size     = sizeof(film),
        .pass            = pass,
        .ahead           = s->rc_lookahead,
        .bits_per_second = avctx->bit_rate,
        .reservoir_bytes = avctx->rc_buffer_size ? avctx->rc_buffer_size / 8
                                                 : avctx->bit_rate / 4,
    };
    uint8_t *log = NULL;
    int ret;

    if (s->fields == 2 || pass != 2 && avctx->pix_fmt == AV_PIX_FMT_CUDA)
        return refuse(avctx, "%s does not go with %s\n",
                      pass ? "pass" : "lookahead, as maxrate is above b,",
                      s->fields == 2 ? "flags +ildct"
                                     : "CUDA frames; use hwdownload");
    if (pass != 1 && avctx->bit_rate <= 0)
        return refuse(avctx, "pass 2 needs b, the mean rate of the film\n");
    if (avctx->rc_buffer_size < 0)
        return refuse(avctx, "bufsize %d is negative\n", avctx->rc_buffer_size);
    if (pass == 1)
        avctx->flags &= ~AV_CODEC_FLAG_PSNR; /* there is no picture */
    if (pass == 2)
        film.log = log = decode_film_log(avctx, &film.log_bytes);
    if (pass == 2 && !log) {
        av_log(avctx, AV_LOG_ERROR,
               "pass 2: passlogfile is not a log of pass 1 of this encoder, "
               "or it is damaged\n");
        return AVERROR_INVALIDDATA;
    }
    if (film.ahead < 0)
        film.ahead = avctx->flags & AV_CODEC_FLAG_LOW_DELAY
                         ? 0 : av_clip(second, 1, MAX_LOOKAHEAD);
    ret = open_encoder(avctx, p, &film);
    av_free(log);
    return ret;
}

static av_cold int cj2k_init(AVCodecContext *avctx)
{
    CJ2KContext *s = avctx->priv_data;
    char text[CJ2K_MAX_PARAM_TEXT];
    cj2k_params p;
    int ret;

    ret = set_format(avctx);
    if (ret < 0)
        return ret;

    ret = map_status(cj2k_params_init(&p, sizeof(p)));
    if (ret < 0) {
        av_log(avctx, AV_LOG_ERROR,
               "libcj2k %s does not fit the header " CJ2K_VERSION_STRING
               " this encoder was built with\n",
               cj2k_version());
        return ret;
    }
    p.log        = log_callback;
    p.log_opaque = avctx;

    set_picture(avctx, &p);
    if ((ret = refuse_foreign(avctx)) < 0)
        return ret;
    /* The colours depend on the profile, and cj2k-params come last. */
    if ((ret = set_fields(avctx, &p)) < 0 ||
        (ret = set_params(avctx, &p)) < 0 ||
        (ret = set_xyz(avctx, &p)) < 0 ||
        (ret = set_profile(avctx, &p)) < 0 ||
        (ret = set_rate(avctx, &p)) < 0 ||
        (ret = set_further_params(avctx, &p)) < 0 ||
        (ret = set_colours(avctx, &p)) < 0 ||
        (ret = set_further_params(avctx, &p)) < 0 ||
        (ret = check_fields(avctx, &p)) < 0 ||
        (ret = set_hw_device(avctx, &p)) < 0)
        return ret;
    warn_ignored(avctx);

    ret = film_pass(avctx) || has_lookahead(avctx)
              ? open_film(avctx, &p)
              : open_encoder(avctx, &p, NULL);
    if (ret < 0)
        return ret;

    s->used.struct_size = sizeof(s->used);
    if ((ret = map_status(cj2k_encoder_params(s->encoder, &s->used))) < 0 ||
        (ret = tell_muxers(avctx)) < 0 ||
        (ret = open_stats_file(avctx)) < 0)
        return ret;
    /* In flight are async_depth and, with lookahead, the frames it keeps. */
    s->num_props = s->used.async_depth + MAX_LOOKAHEAD + 2;
    s->props     = av_calloc(s->num_props, sizeof(*s->props));
    if (!s->props)
        return AVERROR(ENOMEM);
    warn_colours(avctx, &p);
    /* Containers label the packets, not the frames. */
    if (s->used.xyz != CJ2K_XYZ_OFF) {
        avctx->color_primaries = AVCOL_PRI_SMPTE428;
        avctx->color_trc       = AVCOL_TRC_SMPTE428;
        avctx->color_range     = AVCOL_RANGE_JPEG;
    }
    ret = map_status(
        cj2k_encoder_headline(s->encoder, s->fields, text, sizeof(text)));
    if (ret >= 0)
        av_log(avctx, AV_LOG_INFO, "%s%s%s\n",
               s->fields == 1    ? ""
               : s->bottom_first ? "bottom field first, "
                                 : "top field first, ",
               text, film_pass(avctx) == 1 ? ": -f null -" : "");
    return ret;
}

/* May be called from the library's worker threads. */
static void release_frame(void *opaque)
{
    AVFrame *frame = opaque;

    av_frame_free(&frame);
}

/* For allocations of this file. The library logs its own. */
static int no_memory(AVCodecContext *avctx, uintptr_t frame_number)
{
    av_log(avctx, AV_LOG_ERROR, "Frame %" PRIuPTR ": out of memory\n",
           frame_number);
    return AVERROR(ENOMEM);
}

static int check_frame(AVCodecContext *avctx, const AVFrame *frame)
{
    CJ2KContext *s   = avctx->priv_data;
    const char *name = av_get_pix_fmt_name(frame->format);
#ifdef AV_FRAME_FLAG_INTERLACED
    const int interlaced   = frame->flags & AV_FRAME_FLAG_INTERLACED;
    const int bottom_first = !(frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST);
#else
    const int interlaced    = frame->interlaced_frame;
    const int bottom_first  = !frame->top_field_first;
#endif

    if (frame->width != avctx->width || frame->height != avctx->height ||
        frame->format != avctx->pix_fmt)
        return refuse(avctx, "Frame %" PRIuPTR " is %dx%d %s, but the encoder "
                      "was opened for %dx%d %s\n",
                      s->frame_number, frame->width, frame->height,
                      name ? name : "(unknown format)", avctx->width,
                      avctx->height, av_get_pix_fmt_name(avctx->pix_fmt));
    if (interlaced && !s->warned_interlaced && s->fields == 1) {
        s->warned_interlaced = 1;
        av_log(avctx, AV_LOG_WARNING,
               "JPEG 2000 has no interlace syntax: both fields of a frame go "
               "into one picture; -flags +ildct codes each field\n");
    }
    if (interlaced && !s->warned_interlaced && s->fields == 2 &&
        bottom_first != s->bottom_first) {
        s->warned_interlaced = 1;
        av_log(avctx, AV_LOG_WARNING,
               "Frame %" PRIuPTR " has its %s field first, but the encoder was "
               "opened for %s field first and goes on so\n",
               s->frame_number, bottom_first ? "bottom" : "top",
               s->bottom_first ? "bottom" : "top");
    }
    return 0;
}

/* JP2 files get the ICC profile of the first frame, if it is one that they may
 * contain. */
static int set_icc_profile(AVCodecContext *avctx, const AVFrame *frame)
{
    CJ2KContext *s = avctx->priv_data;
    const AVFrameSideData *side =
        av_frame_get_side_data(frame, AV_FRAME_DATA_ICC_PROFILE);
    cj2k_status status;

    if (s->used.format != CJ2K_FORMAT_JP2 ||
        s->used.colorspace != CJ2K_COLOR_SRGB &&
            s->used.colorspace != CJ2K_COLOR_GRAY)
        return 0;
    if (s->frame_number) {
        const size_t size = side ? side->size : 0;
        const int same    = size == (s->icc ? s->icc->size : 0) &&
                         (!size || !memcmp(side->data, s->icc->data, size));

        if (!same && !s->warned_icc) {
            s->warned_icc = 1;
            av_log(avctx, AV_LOG_WARNING,
                   "Frame %" PRIuPTR " has another ICC profile than the first, "
                   "whose colours are written to all\n",
                   s->frame_number);
        }
        return 0;
    }
    if (!side)
        return 0;

    s->icc = av_buffer_ref(side->buf);
    if (!s->icc)
        return no_memory(avctx, s->frame_number);
    s->opening = 1;
    status     = cj2k_encoder_set_icc(s->encoder, side->data, side->size);
    s->opening = 0;
    if (status == CJ2K_OK)
        return 0;
    av_log(avctx, status == CJ2K_INVALID ? AV_LOG_WARNING : AV_LOG_ERROR,
           "The ICC profile of the frames is not written: %s\n",
           cj2k_encoder_last_error(s->encoder));
    return status == CJ2K_INVALID ? 0 : map_status(status);
}

/* Says in which memory the samples are. CUDA frames must have the format and
 * the context of the pool that was known at init. */
static int set_memory(AVCodecContext *avctx, const AVFrame *frame,
                      cj2k_frame *out)
{
#if CONFIG_CUDA
    const CJ2KContext *s = avctx->priv_data;

    if (frame->format == AV_PIX_FMT_CUDA) {
        const AVHWFramesContext *frames =
            (const AVHWFramesContext *)(frame->hw_frames_ctx
                                            ? frame->hw_frames_ctx
                                            : avctx->hw_frames_ctx)
                ->data;
        const AVCUDADeviceContext *device = frames->device_ctx->hwctx;

        if (frames->sw_format != s->sw_format ||
            device->cuda_ctx != s->cuda_context) {
            const char *name = av_get_pix_fmt_name(frames->sw_format);
            return refuse(avctx, "Frame %" PRIuPTR " is %s in CUDA context %p, "
                          "but the encoder was opened for %s in %p\n",
                          s->frame_number, name ? name : "(unknown format)",
                          (void *)device->cuda_ctx, s->desc->name,
                          s->cuda_context);
        }
        out->memory       = CJ2K_MEMORY_CUDA;
        out->ready_stream = frames_stream(device);
        return 0;
    }
#endif
    out->memory = CJ2K_MEMORY_HOST;
    return 0;
}

/* Samples are words of one or two bytes in native byte order. If a component
 * straddles a byte boundary (x2rgb10), the descriptor gives an offset at which
 * two bytes hold it. A field is every second line. */
static void set_views(const AVCodecContext *avctx, const AVFrame *frame,
                      cj2k_frame *out)
{
    static const uint8_t gbr[] = { 2, 0, 1 };
    const CJ2KContext *s       = avctx->priv_data;
    const int is_gbr           = is_gbr_in_yuv(avctx);
    const int line             = s->fields == 2 && s->field != s->bottom_first;

    for (int c = 0; c < s->desc->nb_components; c++) {
        const AVComponentDescriptor *comp = &s->desc->comp[is_gbr ? gbr[c] : c];

        out->components[c] = (cj2k_component_view) {
            .data = frame->data[comp->plane] +
                    line * frame->linesize[comp->plane] + comp->offset,
            .stride_bytes = (ptrdiff_t)frame->linesize[comp->plane] * s->fields,
            .step_bytes   = comp->step,
            .word_bytes   = comp->shift + comp->depth > 8 ? 2 : 1,
            .shift        = comp->shift,
        };
    }
}

/* Says where the samples of `frame` or of its field are. */
static int set_samples(AVCodecContext *avctx, cj2k_frame *out)
{
    const CJ2KContext *s = avctx->priv_data;
    const int ret        = set_memory(avctx, s->frame, out);

    if (ret < 0)
        return ret;
    out->width  = s->frame->width;
    out->height = s->frame->height / s->fields;
    set_views(avctx, s->frame, out);
    return 0;
}

/* Gets the next frame and keeps its properties.
 * @return 0, AVERROR(EAGAIN) if there is no frame yet, AVERROR_EOF, or another
 * error */
static int get_frame(AVCodecContext *avctx)
{
    CJ2KContext *s        = avctx->priv_data;
    const uintptr_t number = s->frame_number;
    FrameProps *props     = &s->props[number % s->num_props];
    cj2k_frame in         = { .struct_size = sizeof(in) };
    int ret;

    /* An empty frame is kept for the next call. */
    if (!s->frame && !(s->frame = av_frame_alloc()))
        return no_memory(avctx, number);
    ret = ff_encode_get_frame(avctx, s->frame);
    if (ret < 0)
        return ret;

    if ((ret = check_frame(avctx, s->frame)) >= 0 &&
        (ret = set_icc_profile(avctx, s->frame)) >= 0)
        ret = set_memory(avctx, s->frame, &in);
    s->frame_number++;
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    if (ret >= 0 && avctx->flags & AV_CODEC_FLAG_COPY_OPAQUE) {
        props->opaque = s->frame->opaque;
        if (av_buffer_replace(&props->opaque_ref, s->frame->opaque_ref) < 0)
            ret = no_memory(avctx, number);
    }
#else
    props->reordered_opaque = s->frame->reordered_opaque;
#endif
    if (ret < 0)
        av_frame_unref(s->frame);
    return ret;
}

/* Sends the next frame or field to the library, or tells it that there are no
 * more.
 * @return 0, AVERROR(EAGAIN) if there is no frame yet, or another error */
static int send_frame(AVCodecContext *avctx)
{
    CJ2KContext *s = avctx->priv_data;
    cj2k_frame in  = { .struct_size = sizeof(in) };
    AVFrame *owner = NULL;
    int ret;

    if (!s->field && (ret = get_frame(avctx)) < 0) {
        if (ret != AVERROR_EOF)
            return ret;
        s->draining = 1;
        return map_status(cj2k_encoder_send_frame(s->encoder, NULL));
    }

    /* Each field keeps the frame by a reference of its own. */
    owner = s->field + 1 < s->fields ? av_frame_clone(s->frame) : s->frame;
    if (!owner) {
        ret = no_memory(avctx, s->frame_number - 1);
        goto fail;
    }
    if ((ret = set_samples(avctx, &in)) < 0)
        goto fail;
    in.pts = s->frame->pts;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100) /* 6.0 on */
    in.duration = s->frame->duration;
#endif
    in.opaque  = (void *)((s->frame_number - 1) * s->fields + s->field);
    in.release        = release_frame;
    in.release_opaque = owner;

    ret = map_status(cj2k_encoder_send_frame(s->encoder, &in));
    if (ret >= 0) {
        if (owner == s->frame)
            s->frame = NULL; /* release_frame() frees it */
        s->field = (s->field + 1) % s->fields;
        return 0;
    }
    if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF)
        ret = AVERROR_EXTERNAL; /* the library has asked for the frame */

fail:
    if (owner != s->frame)
        av_frame_free(&owner);
    av_frame_unref(s->frame);
    s->field = 0;
    return ret;
}

/* `st` has an entry for each codestream of the packet. */
static int add_stats(AVCodecContext *avctx, AVPacket *pkt, const cj2k_stats *st)
{
    const CJ2KContext *s                = avctx->priv_data;
    int64_t errors[CJ2K_MAX_COMPONENTS] = { 0 };
    double q                            = 0;
    int count                           = 0;

    for (int i = 0; i < s->fields; i++)
        q = FFMAX(q, st[i].q);
    /* Sums of squared errors on the scale of 8 bits, which readers expect of
     * every depth. They are measured. */
    if (avctx->flags & AV_CODEC_FLAG_PSNR) {
        for (; count < s->used.num_components; count++) {
            const double scale = 255.0 / ((1 << s->used.depth[count]) - 1);

            for (int i = 0; i < s->fields; i++)
                errors[count] += llrint(st[i].mse[count] * scale * scale *
                                        component_samples(&s->used, count));
            avctx->error[count] += errors[count];
        }
    }
    return ff_encode_add_stats_side_data(pkt,
                                         lrint(FFMIN(q, 1e6) * FF_QP2LAMBDA),
                                         errors, count, AV_PICTURE_TYPE_I);
}

/* Logs what the library tells of a frame, and writes it to stats_file. The
 * packet of a frame that failed has no bytes. A write that fails ends the file,
 * not the encoding. */
static void tell_stats(AVCodecContext *avctx, const cj2k_packet *packet)
{
    CJ2KContext *s = avctx->priv_data;
    char text[CJ2K_MAX_PARAM_TEXT], line[sizeof(text) + 96], field[16] = "",
                                                             pts[24] = "null";
    int size;

    if (cj2k_packet_json(s->encoder, packet, text, sizeof(text)) != CJ2K_OK)
        return;
    if (s->fields == 2)
        snprintf(field, sizeof(field), "\"field\":%d,", field_of(s, packet));
    if (packet->pts != AV_NOPTS_VALUE)
        snprintf(pts, sizeof(pts), "%" PRId64, packet->pts);
    size = snprintf(line, sizeof(line),
                    "{\"frame\":%" PRIuPTR ",%s\"pts\":%s,%s\n",
                    frame_of(s, packet), field, pts, text + 1);
    av_log(avctx, AV_LOG_VERBOSE, "%s", line);
    if (s->stats && fwrite(line, 1, size, s->stats) != size) {
        av_log(avctx, AV_LOG_ERROR,
               "stats_file %s: %s; it ends before frame %" PRIuPTR ", and "
               "encoding goes on\n",
               s->stats_file, av_err2str(AVERROR(errno)), frame_of(s, packet));
#if HAVE_UNISTD_H
        if (ftruncate(fileno(s->stats), s->stats_bytes) <
            0) /* no part of a line is left */
            av_log(avctx, AV_LOG_DEBUG, "stats_file %s cannot be cut\n",
                   s->stats_file);
#endif
        fclose(s->stats);
        s->stats = NULL;
    }
    s->stats_bytes += size;
}

static void free_bytes(void *opaque, uint8_t *data)
{
    cj2k_packet *packet = opaque;

    cj2k_packet_release(packet);
    av_free(packet);
}

/* Makes the bytes of the library's packet the bytes of an AVPacket, without a
 * copy. They go back to the library with the last reference, which may be after
 * the encoder is closed. */
static int wrap_bytes(AVPacket *pkt, cj2k_packet *packet)
{
    cj2k_packet *owner = av_memdup(packet, sizeof(*packet));

    if (!owner)
        return AVERROR(ENOMEM);
    pkt->buf = av_buffer_create(packet->data,
                                packet->size + AV_INPUT_BUFFER_PADDING_SIZE,
                                free_bytes, owner, 0);
    if (!pkt->buf) {
        av_free(owner);
        return AVERROR(ENOMEM);
    }
    pkt->data    = packet->data;
    pkt->size    = packet->size;
    packet->slot = NULL; /* `owner` releases it now */
    return 0;
}

/* `packets` has an entry for each codestream of the frame. */
static int set_bytes(AVCodecContext *avctx, AVPacket *pkt, cj2k_packet *packets)
{
    const CJ2KContext *s = avctx->priv_data;
    const int own_buffer = avctx->get_encode_buffer !=
                           avcodec_default_get_encode_buffer;
    size_t size = 0;
    int ret;

    for (int i = 0; i < s->fields; i++)
        size += packets[i].size;
    ret = size > MAX_PACKET_BYTES ? AVERROR(EINVAL) : 0;
    if (ret >= 0 && s->fields == 1 && !own_buffer) {
        ret = wrap_bytes(pkt, packets);
    } else if (ret >= 0) {
        /* The application gives its own buffers, or there are two codestreams:
         * a copy. */
        uint8_t *out;

        ret = ff_get_encode_buffer(avctx, pkt, size, 0);
        out = pkt->data;
        for (int i = 0; i < s->fields && ret >= 0; i++) {
            memcpy(out, packets[i].data, packets[i].size);
            out += packets[i].size;
        }
    }
    if (ret < 0)
        av_log(avctx, AV_LOG_ERROR,
               "Frame %" PRIuPTR ": no packet of %zu bytes, of at "
               "most %d: %s\n",
               frame_of(s, packets), size, MAX_PACKET_BYTES, av_err2str(ret));
    return ret;
}

static int fill_packet(AVCodecContext *avctx, AVPacket *pkt,
                       cj2k_packet *packets, const cj2k_stats *stats)
{
    CJ2KContext *s    = avctx->priv_data;
    FrameProps *props = &s->props[frame_of(s, packets) % s->num_props];
    int ret;

#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    pkt->opaque       = props->opaque;
    pkt->opaque_ref   = props->opaque_ref;
    props->opaque_ref = NULL;
#else
    avctx->reordered_opaque = props->reordered_opaque;
#endif
    if (add_stats(avctx, pkt, stats) < 0)
        return no_memory(avctx, frame_of(s, packets));
    ret = set_bytes(avctx, pkt, packets);
    if (ret < 0)
        return ret;

    pkt->pts = pkt->dts = packets->pts;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100) /* 6.0 on */
    pkt->duration = packets->duration;
#endif
    pkt->flags |= AV_PKT_FLAG_KEY;
    return 0;
}

/* Gives the log of pass 1 when the last packet is out. Programs write stats_out
 * to a file when they get AVERROR_EOF, too. */
static int encode_film_log(AVCodecContext *avctx)
{
    const CJ2KContext *s = avctx->priv_data;
    size_t bytes;
    void *log;
    int ret = map_status(cj2k_encoder_film_log(s->encoder, &log, &bytes));

    if (ret < 0)
        return ret;
    av_freep(&avctx->stats_out);
    if (bytes < INT_MAX / 2)
        avctx->stats_out = av_mallocz(AV_BASE64_SIZE(bytes));
    if (avctx->stats_out)
        av_base64_encode(avctx->stats_out, AV_BASE64_SIZE(bytes), log, bytes);
    cj2k_free(log);
    return avctx->stats_out ? 0 : AVERROR(ENOMEM);
}

/* Receives one codestream, and sends frames until there is one. */
static int receive_codestream(AVCodecContext *avctx, cj2k_packet *packet,
                              cj2k_stats *stats)
{
    CJ2KContext *s = avctx->priv_data;
    int ret, log_ret;

    /* The library gives a packet only when it has async_depth frames in flight,
     * when another packet of the same GOP has been received, or when it drains.
     * Until then, send frames. */
    while (
        (ret = map_status(cj2k_encoder_receive_packet(s->encoder, packet))) ==
        AVERROR(EAGAIN)) {
        if (s->draining)
            return AVERROR_EXTERNAL; /* and the library asks for a frame */
        ret = send_frame(avctx);
        if (ret < 0)
            return ret;
    }
    if (ret < 0) {
        if (ret != AVERROR_EOF &&
            ret != AVERROR(EINVAL)) /* EINVAL: there is no frame to it */
            tell_stats(avctx, packet);
        if (ret == AVERROR_EOF && film_pass(avctx) == 1 && s->frame_number &&
            (log_ret = encode_film_log(avctx)) < 0)
            return log_ret;
        return ret;
    }

    ret = map_status(cj2k_packet_stats(packet, stats));
    if (ret < 0) {
        cj2k_packet_release(packet);
        return ret;
    }
    tell_stats(avctx, packet);
    return 0;
}

static int cj2k_receive_packet(AVCodecContext *avctx, AVPacket *pkt)
{
    CJ2KContext *s = avctx->priv_data;

    while (1) {
        cj2k_packet packets[2] = { { .struct_size = sizeof(packets[0]) } };
        cj2k_stats stats[2]    = { { .struct_size = sizeof(stats[0]) } };
        int whole, ret = receive_codestream(avctx, packets, stats);

        if (ret < 0)
            return ret;
        if (s->fields == 2) {
            if (!field_of(s, packets)) {
                cj2k_packet_release(
                    &s->first); /* its second field has failed */
                s->first       = packets[0];
                s->first_stats = stats[0];
                continue;
            }
            packets[1] = packets[0];
            stats[1]   = stats[0];
            packets[0] = s->first;
            stats[0]   = s->first_stats;
            s->first   = (cj2k_packet) { .struct_size = sizeof(s->first) };
        }
        /* A field alone is no frame. The error of the other one has been
         * returned. */
        whole = s->fields == 1 ||
                packets[0].slot &&
                    frame_of(s, packets) == frame_of(s, &packets[1]);
        if (whole)
            ret = fill_packet(avctx, pkt, packets, stats);
        for (int i = 0; i < s->fields; i++)
            cj2k_packet_release(&packets[i]);
        if (whole)
            return ret;
    }
}

static void drop_props(CJ2KContext *s)
{
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    for (int i = 0; s->props && i < s->num_props; i++)
        av_buffer_unref(&s->props[i].opaque_ref);
#endif
}

static av_cold int cj2k_close(AVCodecContext *avctx)
{
    CJ2KContext *s = avctx->priv_data;
    char text[CJ2K_MAX_PARAM_TEXT];

    if (s->encoder &&
        cj2k_encoder_summary(s->encoder, s->fields, text, sizeof(text)) ==
            CJ2K_OK &&
        *text)
        av_log(avctx, AV_LOG_INFO, "%s\n", text);
    av_freep(&avctx->stats_out);
    if (s->stats)
        fclose(s->stats);
    s->stats = NULL;
    cj2k_packet_release(&s->first);
    cj2k_encoder_close(s->encoder);
    s->encoder = NULL;
    av_frame_free(&s->frame);
    drop_props(s);
    av_freep(&s->props);
    av_buffer_unref(&s->icc);
    return 0;
}

static void cj2k_flush(AVCodecContext *avctx)
{
    CJ2KContext *s = avctx->priv_data;

    cj2k_packet_release(&s->first);
    cj2k_encoder_flush(s->encoder);
    if (s->frame)
        av_frame_unref(s->frame);
    s->field = 0;
    drop_props(s);
    s->draining = 0;
}

#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100) /* 7.1 on */
/* The profile and what else decides over formats, as far as the options say it.
 */
static int set_restrictions(const AVCodecContext *avctx, cj2k_params *p)
{
    const CJ2KContext *s       = avctx->priv_data;
    const AVDictionaryEntry *e = NULL;

    if (cj2k_params_init(p, sizeof(*p)) != CJ2K_OK)
        return -1;
    p->profile        = s->options.profile;
    p->coder          = s->options.coder;
    p->frame_rate_num = 24;
    p->frame_rate_den = 1;
    set_rsiz(avctx, p);
    while ((e = av_dict_get(s->cj2k_params, "", e, AV_DICT_IGNORE_SUFFIX)))
        cj2k_params_set(p, e->key, e->value);
    return 0;
}

/* Whether frames of this format can be coded, whatever their size. */
static int fits(const AVCodecContext *avctx, const cj2k_params *restrictions,
                enum AVPixelFormat fmt)
{
    const CJ2KContext *s           = avctx->priv_data;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(fmt);
    cj2k_info info                 = { .struct_size = sizeof(info) };
    cj2k_params p                  = *restrictions;

    if (s->options.xyz)
        return desc->flags & AV_PIX_FMT_FLAG_RGB && desc->nb_components == 3;
    if (is_cinema(&p)) /* other colours are refused, not converted: only -xyz
                          does it right */
        return 1;
    p.width = p.height = 64;
    set_components(&p, desc);
    return cj2k_params_info(&p, &info) == CJ2K_OK;
}

/* Lists the formats that the options leave. X'Y'Z' stays, for set_colours()
 * and set_xyz() to refuse it: ffmpeg would convert it by libswscale, which has
 * another white and other curves. So ffmpeg takes YUV of 12 bits for X'Y'Z'
 * where xyz asks for R'G'B', and set_xyz() names the filter.
 * @return how many; 0 if the options leave none, and cj2k_init() will say why
 */
static int list_formats(const AVCodecContext *avctx, const cj2k_params *p)
{
    CJ2KContext *s = avctx->priv_data;
    int num = 0, any = 0;

    for (int i = 0; cj2k_pix_fmts[i] != AV_PIX_FMT_NONE; i++) {
        const enum AVPixelFormat fmt = cj2k_pix_fmts[i];
        const int stays              = fmt == AV_PIX_FMT_XYZ12 ||
                          av_pix_fmt_desc_get(fmt)->flags &
                              AV_PIX_FMT_FLAG_HWACCEL;

        if (stays || fits(avctx, p, fmt)) {
            s->fitting[num++] = fmt;
            any |= !stays;
        }
    }
    s->fitting[num] = AV_PIX_FMT_NONE;
    return any ? num : 0;
}

static int is_imf(const cj2k_params *p)
{
    return p->profile >= CJ2K_PROFILE_IMF_2K &&
               p->profile <= CJ2K_PROFILE_IMF_8K_R ||
           p->profile == CJ2K_PROFILE_IMF_HT ||
           p->profile == CJ2K_PROFILE_IMF_HT_R;
}

/* ffmpeg asks when the options are set, and inserts a scaler. When the encoder
 * opens, its pix_fmt is set, and cj2k_init() says more than "not supported". */
static int cj2k_get_supported_config(const AVCodecContext *avctx,
                                     const AVCodec *codec,
                                     enum AVCodecConfig config, unsigned flags,
                                     const void **out, int *out_num)
{
    static const enum AVColorRange limited[] = { AVCOL_RANGE_MPEG,
                                                 AVCOL_RANGE_UNSPECIFIED };
    cj2k_params p;

    if (avctx && avctx->priv_data && avctx->codec == codec &&
        set_restrictions(avctx, &p) >= 0) {
        if (config == AV_CODEC_CONFIG_PIX_FORMAT &&
            avctx->pix_fmt == AV_PIX_FMT_NONE &&
            (*out_num = list_formats(avctx, &p))) {
            *out = ((const CJ2KContext *)avctx->priv_data)->fitting;
            return 0;
        }
        if (config == AV_CODEC_CONFIG_COLOR_RANGE && is_imf(&p) &&
            p.profile_strict) {
            *out = limited; /* of Y'CbCr; R'G'B' and X'Y'Z' have no range in
                               filters */
            *out_num = 1;
            return 0;
        }
    }
    return ff_default_get_supported_config(avctx, codec, config, flags, out,
                                           out_num);
}
#endif

#define OFFSET(x) offsetof(CJ2KContext, x)
#define VE AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_ENCODING_PARAM
#define OPT(name, value, min, max, help) \
    { #name, help, OFFSET(options.name), AV_OPT_TYPE_INT, { .i64 = value }, \
      min, max, VE, .unit = #name },
#define STR(name, help) \
    { #name, help, OFFSET(name), AV_OPT_TYPE_STRING, { .str = NULL }, \
      0, 0, VE },
#define VAL(unit_name, name, value, help) \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, \
      0, 0, VE, .unit = #unit_name },
static const AVOption cj2k_options[] = {
    { "lossless", "5/3 wavelet with every bit kept", OFFSET(options.lossless),
      AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    OPT(qfactor, 0, 0, 100,
        "quality of 1 (worst) to 100, as JPEG has it (0 = none)")
    { "max_component_rate", "cap of each component in bits/s (0 = none)",
      OFFSET(max_component_rate), AV_OPT_TYPE_INT64, { .i64 = 0 },
      0, INT64_MAX, VE },
    OPT(profile, CJ2K_PROFILE_NONE, 0, CJ2K_PROFILE_DICOM_HT_RPCL,
        "profile: sets what it fixes, refuses what contradicts it")
    OPT(main_level, 0, 0, 11, "main level of IMF and broadcast")
    OPT(sub_level, -1, -1, 9, "sub level of IMF")
    OPT(cinema_rate, CJ2K_CINEMA_RATE_SAFE, 0, CJ2K_CINEMA_RATE_HFR,
        "what a cinema profile takes where no rate or quality is set")
    OPT(coder, CJ2K_CODER_AUTO, CJ2K_CODER_AUTO, CJ2K_CODER_HT, "block coder")
    OPT(effort, 1, 0, 3, "time spent for quality at the same bytes")
    OPT(tune, CJ2K_TUNE_MSE, 0, CJ2K_TUNE_VISUAL + 1,
        "what rate control keeps small")
    VAL(tune, "psnr", CJ2K_TUNE_MSE, "the same as mse")
    VAL(tune, "ssim", CJ2K_TUNE_VISUAL + 1, "refused, in favour of visual")
    STR(crf, "refused, in favour of q and target_psnr")
    STR(qp, "refused, in favour of q")
    STR(preset, "refused, in favour of effort")
    OPT(stop, CJ2K_STOP_EXACT, 0, CJ2K_STOP_BPI,
        "how far code-blocks are coded")
    OPT(levels, -1, -1, 32, "wavelet decomposition levels")
    STR(cblk,
        "code-block size, WxH (default: what the profile says, else 64x64)")
    STR(tile, "tile size, WxH (default: one tile)")
    STR(precincts, "precinct sizes, highest resolution first, WxH,WxH...")
    OPT(progression, CJ2K_PROGRESSION_AUTO, CJ2K_PROGRESSION_AUTO, CJ2K_CPRL,
        "progression order")
    OPT(layers, 1, 1, 65535, "quality layers")
    STR(layer_rates, "compression ratio of each layer, falling; sets layers")
    OPT(tile_parts, CJ2K_TILE_PARTS_AUTO, CJ2K_TILE_PARTS_AUTO,
        CJ2K_TILE_PARTS_COMPONENT, "where a new tile-part begins")
    VAL(format, "auto", -1, "JP2 file for YUV 4:4:4 in MOV, MP4, MKV and NUT, "
        "else raw codestream")
    OPT(format, -1, -1, CJ2K_FORMAT_JP2, "what a packet holds")
    VAL(xyz, "auto", CJ2K_XYZ_AUTO, "as the frames say")
    OPT(xyz, CJ2K_XYZ_OFF, CJ2K_XYZ_AUTO, CJ2K_XYZ_REC2020,
        "R'G'B' frames are coded as X'Y'Z' (SMPTE ST 428-1): the primaries of "
        "R'G'B'")
    STR(comment,
        "text of the COM marker segment (default: libcj2k and its version)")
    STR(device,
        "auto (default), cpu, cuda, or cuda: and devices separated by ','")
    OPT(gop, 0, 0, 64,
        "frames that go through each stage together (0 = chosen)")
    OPT(async_depth, 0, 0, 64,
        "frames accepted before the first packet (0 = chosen)")
    { "rc-lookahead", "with maxrate above b: frames that are looked at before "
      "one is coded (-1 = those of a second)", OFFSET(rc_lookahead),
      AV_OPT_TYPE_INT, { .i64 = -1 }, -1, MAX_LOOKAHEAD, VE },
    STR(stats_file, "write a line of JSON about each frame to this file")
    { "cj2k-params", "any parameters of libcj2k, key=value:key=value; they "
      "come last", OFFSET(cj2k_params), AV_OPT_TYPE_DICT, { 0 }, 0, 0, VE },
/* The named values of all parameters, from the library's table. */
#define CJ2K_NUMBER(...)
#define CJ2K_TEXT(...)
#define CJ2K_VALUE VAL
#include <cj2k_params.def>
    { NULL }
};

static const AVClass cj2k_class = {
    .class_name = "j2k_cuda",
    .item_name  = av_default_item_name,
    .option     = cj2k_options,
    .version    = LIBAVUTIL_VERSION_INT,
};

/* lavc's default of 200 kbit/s would look as if the user had asked for it. */
static const FFCodecDefault cj2k_defaults[] = {
    { "b", "0" },
    { NULL }
};

#if CONFIG_CUDA
static const AVCodecHWConfigInternal *const cj2k_hw_configs[] = {
    HW_CONFIG_ENCODER_FRAMES(CUDA, CUDA),
    HW_CONFIG_ENCODER_DEVICE(NONE, CUDA),
    NULL
};
#define HW_CONFIGS .hw_configs = cj2k_hw_configs,
#else
#define HW_CONFIGS
#endif
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100) /* 7.1 on */
#define CONFIG .get_supported_config = cj2k_get_supported_config, \
               .color_ranges = AVCOL_RANGE_MPEG | AVCOL_RANGE_JPEG,
#else
#define CONFIG
#endif
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(62, 15, 100) /* 8.1 on */
#define ALPHA_MODES \
    .alpha_modes = AVALPHA_MODE_STRAIGHT | AVALPHA_MODE_PREMULTIPLIED,
#else
#define ALPHA_MODES
#endif
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(61, 13, 100)
#define CONST_CODEC const
#elif LIBAVCODEC_VERSION_INT < AV_VERSION_INT(62, 0, 100) /* 7.1 writes it */
#define CONST_CODEC
#else
#define CONST_CODEC const
#endif

/* The encoder, whatever its name. */
#define CJ2K_ENCODER \
    CODEC_LONG_NAME("libcj2k JPEG 2000"), \
    .p.type         = AVMEDIA_TYPE_VIDEO, \
    .p.id           = AV_CODEC_ID_JPEG2000, \
    .p.capabilities = AV_CODEC_CAP_DR1 | AV_CODEC_CAP_DELAY | \
                      AV_CODEC_CAP_HYBRID | AV_CODEC_CAP_OTHER_THREADS | \
                      AV_CODEC_CAP_ENCODER_FLUSH | \
                      AV_CODEC_CAP_ENCODER_REORDERED_OPAQUE, \
    .caps_internal  = FF_CODEC_CAP_INIT_THREADSAFE | \
                      FF_CODEC_CAP_INIT_CLEANUP | FF_CODEC_CAP_AUTO_THREADS | \
                      FF_CODEC_CAP_ICC_PROFILES, \
    .priv_data_size = sizeof(CJ2KContext), \
    .init           = cj2k_init, \
    FF_CODEC_RECEIVE_PACKET_CB(cj2k_receive_packet), \
    .close          = cj2k_close, \
    .flush          = cj2k_flush, \
    .defaults       = cj2k_defaults, \
    CODEC_PIXFMTS_ARRAY(cj2k_pix_fmts), \
    HW_CONFIGS \
    CONFIG \
    ALPHA_MODES \
    .p.priv_class   = &cj2k_class, \
    .p.wrapper_name = "cj2k",

CONST_CODEC FFCodec ff_j2k_cuda_encoder = {
    .p.name         = "j2k_cuda",
    CJ2K_ENCODER
};

CONST_CODEC FFCodec ff_libcj2k_encoder = {
    .p.name         = "libcj2k",
    CJ2K_ENCODER
};
