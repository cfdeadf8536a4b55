/*
 * JPEG 2000 between Part 1 and HTJ2K, through libcj2k
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
 * Bitstream filter "j2k_transcode": changes the block coder of each packet, or
 * cuts it to fewer bytes, without decoding it to a picture.
 * One file for FFmpeg 5.1, 7.1, 8.1 and 9.0.
 */

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include <cj2k.h>
#include <cj2k_transcode.h>

#include "libavutil/attributes.h"
#include "libavutil/error.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/mathematics.h"
#include "libavutil/opt.h"

#include "avcodec.h"
#include "bsf.h"
#include "bsf_internal.h"
#include "bytestream.h"
#include "jpeg2000.h"

#ifndef AV_PROFILE_UNKNOWN
#define AV_PROFILE_UNKNOWN FF_PROFILE_UNKNOWN
#endif

#define RSIZ_HT 0x4000 ///< of Rsiz, which is the profile here: Part 15

typedef struct J2KTranscodeContext {
    const AVClass *class;
    int coder; ///< cj2k_coder
    int layers;
    int64_t max_bytes;
    int threads;
} J2KTranscodeContext;

/* The bytes of the first codestream. Interlaced packets have one for each field.
 * A damaged packet is for libcj2k to refuse. */
static int first_codestream(const AVPacket *pkt)
{
    GetByteContext g;

    bytestream2_init(&g, pkt->data, pkt->size);
    if (bytestream2_get_be16(&g) != JPEG2000_SOC)
        return pkt->size;
    while (bytestream2_get_bytes_left(&g) >= 4) {
        const int marker = bytestream2_get_be16u(&g);
        unsigned bytes;

        if (marker == JPEG2000_EOC)
            return bytestream2_peek_be32(&g) == ((uint32_t)JPEG2000_SOC << 16 | JPEG2000_SIZ) ?
                   bytestream2_tell(&g) : pkt->size;
        bytes = bytestream2_get_be16u(&g);
        if (marker == JPEG2000_SOT) { // Psot, which counts from the marker
            bytestream2_skip(&g, 2);
            bytes = bytestream2_get_be32(&g) - 8;
        }
        if (bytes < 2 || bytes - 2 > bytestream2_get_bytes_left(&g))
            break;
        bytestream2_skipu(&g, bytes - 2);
    }
    return pkt->size;
}

static int error_of(cj2k_status status)
{
    switch (status) {
    case CJ2K_INVALID:       return AVERROR_INVALIDDATA;
    case CJ2K_NO_MEMORY:     return AVERROR(ENOMEM);
    case CJ2K_NOT_SUPPORTED: return AVERROR_PATCHWELCOME;
    default:                 return AVERROR_EXTERNAL;
    }
}

typedef struct Transcoded {
    void *data; ///< for cj2k_free()
    size_t size;
} Transcoded;

static int transcode(AVBSFContext *ctx, const uint8_t *data, int size,
                     int64_t max_bytes, const char *which, Transcoded *out)
{
    const J2KTranscodeContext *s = ctx->priv_data;
    const cj2k_status status     = cj2k_transcode(s->coder, s->layers, max_bytes, s->threads,
                                                  data, size, &out->data, &out->size);

    if (status == CJ2K_OK)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "%s%s\n", which, cj2k_encoder_last_error(NULL));
    return error_of(status);
}

static int transcode_packet(AVBSFContext *ctx, AVPacket *pkt)
{
    const J2KTranscodeContext *s = ctx->priv_data;
    const int first   = first_codestream(pkt);
    const int second  = pkt->size - first;
    int64_t max_bytes = s->max_bytes;
    Transcoded out[2] = { { NULL } };
    AVBufferRef *buf  = NULL;
    size_t size;
    int ret;

    // Each field has its share of the cap, and the second one what the first leaves.
    if (second)
        max_bytes = av_rescale(s->max_bytes, first, pkt->size);
    if (second && s->max_bytes && !max_bytes)
        max_bytes = 1;
    ret = transcode(ctx, pkt->data, first, max_bytes, second ? "field 1: " : "", out);
    if (ret < 0)
        goto end;
    if (s->max_bytes)
        max_bytes = FFMAX(s->max_bytes - (int64_t)out[0].size, 1);
    if (second &&
        (ret = transcode(ctx, pkt->data + first, second, max_bytes, "field 2: ", &out[1])) < 0)
        goto end;

    size = out[0].size + out[1].size;
    if (size > INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE) {
        ret = AVERROR(ERANGE);
        goto end;
    }
    buf = av_buffer_alloc(size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!buf) {
        ret = AVERROR(ENOMEM);
        goto end;
    }
    memcpy(buf->data, out[0].data, out[0].size);
    if (second)
        memcpy(buf->data + out[0].size, out[1].data, out[1].size);
    memset(buf->data + size, 0, AV_INPUT_BUFFER_PADDING_SIZE);
    av_buffer_unref(&pkt->buf);
    pkt->buf  = buf;
    pkt->data = buf->data;
    pkt->size = size;
end:
    cj2k_free(out[0].data);
    cj2k_free(out[1].data);
    return ret;
}

static av_cold int j2k_transcode_init(AVBSFContext *ctx)
{
    const J2KTranscodeContext *s = ctx->priv_data;
    AVCodecParameters *par       = ctx->par_out;

    if (s->max_bytes && s->coder == CJ2K_CODER_HT) {
        av_log(ctx, AV_LOG_ERROR, "max_bytes makes codestreams of Part 1, not coder=ht\n");
        return AVERROR(EINVAL);
    }
    // Only a cut codestream of Part 1 keeps its profile.
    if (!s->max_bytes || par->profile & RSIZ_HT)
        par->profile = AV_PROFILE_UNKNOWN;
    par->bit_rate = 0;
    return 0;
}

static int j2k_transcode_filter(AVBSFContext *ctx, AVPacket *pkt)
{
    int ret = ff_bsf_get_packet_ref(ctx, pkt);

    if (ret < 0)
        return ret;
    ret = transcode_packet(ctx, pkt);
    if (ret < 0)
        av_packet_unref(pkt);
    return ret;
}

#define OFFSET(x) offsetof(J2KTranscodeContext, x)
#define FLAGS (AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_BSF_PARAM)
static const AVOption options[] = {
    { "coder", "block coder of the output", OFFSET(coder), AV_OPT_TYPE_INT, { .i64 = CJ2K_CODER_AUTO },
      CJ2K_CODER_AUTO, CJ2K_CODER_HT, FLAGS, .unit = "coder" },
        { "auto",  "the one that the input does not have; with max_bytes ebcot", 0, AV_OPT_TYPE_CONST,
          { .i64 = CJ2K_CODER_AUTO }, 0, 0, FLAGS, .unit = "coder" },
        { "ebcot", "that of Part 1", 0, AV_OPT_TYPE_CONST, { .i64 = CJ2K_CODER_EBCOT }, 0, 0, FLAGS, .unit = "coder" },
        { "ht",    "that of Part 15, HTJ2K", 0, AV_OPT_TYPE_CONST, { .i64 = CJ2K_CODER_HT }, 0, 0, FLAGS, .unit = "coder" },
    { "layers", "0: as they are; 1: all become one", OFFSET(layers), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1, FLAGS },
    { "max_bytes", "most bytes of a packet, whose code-blocks are cut; 0: they stay whole", OFFSET(max_bytes),
      AV_OPT_TYPE_INT64, { .i64 = 0 }, 0, INT64_MAX, FLAGS },
    { "threads", "0: one per core", OFFSET(threads), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1024, FLAGS },
    { NULL },
};

static const AVClass j2k_transcode_class = {
    .class_name = "j2k_transcode_bsf",
    .item_name  = av_default_item_name,
    .option     = options,
    .version    = LIBAVUTIL_VERSION_INT,
};

static const enum AVCodecID codec_ids[] = {
    AV_CODEC_ID_JPEG2000, AV_CODEC_ID_NONE,
};

const FFBitStreamFilter ff_j2k_transcode_bsf = {
    .p.name         = "j2k_transcode",
    .p.codec_ids    = codec_ids,
    .p.priv_class   = &j2k_transcode_class,
    .priv_data_size = sizeof(J2KTranscodeContext),
    .init           = j2k_transcode_init,
    .filter         = j2k_transcode_filter,
};
