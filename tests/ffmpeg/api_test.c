/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests of the encoder j2k_cuda that the ffmpeg program cannot make: bad frames in mid-stream,
 * flushing, opaque data, closing with frames in flight, who owns the memory of packets, and each
 * option against its parameter. ffmpeg-patch/build.sh builds it inside the FFmpeg tree,
 * test_errors.py runs it. Prints what failed.
 */
#include <cj2k.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavcodec/avcodec.h"
#include "libavutil/frame.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/opt.h"

enum {
  kWidth = 320,
  kHeight = 240,
  kBitRate = 2400000,
  kRate = 24,
  kMaxBytes = kBitRate / 8 / kRate
};

static int failures;

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      failures++;                                    \
    }                                                \
  } while (0)

/* Counts each frame until nobody holds the frame or its opaque data any more. */
static int live_frames;

static void frame_gone(void *opaque, uint8_t *data) {
  (void)opaque;
  (void)data;
  live_frames--;
}

static AVFrame *make_frame(int width, int height, enum AVPixelFormat format, int64_t pts) {
  AVFrame *frame = av_frame_alloc();
  frame->width = width;
  frame->height = height;
  frame->format = format;
  frame->pts = pts;
  if (av_frame_get_buffer(frame, 0) < 0) return frame;
  for (int p = 0; p < 3 && frame->data[p]; p++) {
    const int rows = p && format == AV_PIX_FMT_YUV420P ? height / 2 : height;
    for (int i = 0; i < rows * frame->linesize[p]; i++)
      frame->data[p][i] = (uint8_t)((unsigned)(i + 1) * 2654435761u >> (17 + pts % 3));
  }
  static uint8_t byte;
  frame->opaque_ref = av_buffer_create(&byte, 1, frame_gone, NULL, 0);
  live_frames++;
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
  frame->opaque = (void *)(intptr_t)(pts + 77);
#else
  frame->reordered_opaque = pts + 77;
#endif
#ifdef AV_CODEC_FLAG_FRAME_DURATION
  frame->duration = 1000 + pts;
#endif
  return frame;
}

static int send(AVCodecContext *encoder, AVFrame *frame) {
  const int ret = avcodec_send_frame(encoder, frame);
  av_frame_free(&frame);
  return ret;
}

/* Receives every packet that is due. Their time stamps continue from `pts`. */
static int receive(AVCodecContext *encoder, int64_t *pts) {
  const int most = encoder->rc_max_rate > 0 ? (int)(encoder->rc_max_rate / 8 / kRate) : kMaxBytes;
  AVPacket *packet = av_packet_alloc();
  int count = 0;
  while (avcodec_receive_packet(encoder, packet) >= 0) {
    CHECK(packet->flags & AV_PKT_FLAG_KEY);
    CHECK(packet->dts == packet->pts);
    CHECK(packet->size > 100 && packet->size <= most);
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    CHECK(packet->opaque == (void *)(intptr_t)(packet->pts + 77));
    CHECK(packet->opaque_ref);
#else
    CHECK(encoder->reordered_opaque == packet->pts + 77);
#endif
#ifdef AV_CODEC_FLAG_FRAME_DURATION
    CHECK(packet->duration == 1000 + packet->pts);
#endif
    pts[count++] = packet->pts;
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
  return count;
}

static AVCodecContext *open_encoder(const char *key, const char *value, AVRational frame_rate) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  encoder->width = kWidth;
  encoder->height = kHeight;
  encoder->pix_fmt = AV_PIX_FMT_YUV420P;
  encoder->time_base = (AVRational){1, kRate};
  encoder->framerate = frame_rate;
  encoder->bit_rate = kBitRate;
  encoder->thread_count = 2;
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
  encoder->flags |= AV_CODEC_FLAG_COPY_OPAQUE;
#endif
#ifdef AV_CODEC_FLAG_FRAME_DURATION
  encoder->flags |= AV_CODEC_FLAG_FRAME_DURATION;
#endif
  if (av_opt_set(encoder, key, value, AV_OPT_SEARCH_CHILDREN) < 0 || avcodec_open2(encoder, NULL, NULL) < 0)
    avcodec_free_context(&encoder);
  return encoder;
}

/* Two bad frames among ten: each of them gives an error, the other frames give their packets. */
static void bad_frames(AVCodecContext *encoder) {
  static const int64_t want[] = {0, 1, 2, 3, 4, 6, 8, 9};
  int64_t pts[16];
  int count = 0, errors = 0;
  for (int i = 0; i < 10; i++) {
    AVFrame *frame = i == 5   ? make_frame(160, 120, AV_PIX_FMT_YUV420P, i)
                     : i == 7 ? make_frame(kWidth, kHeight, AV_PIX_FMT_YUV444P, i)
                              : make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, i);
    if (send(encoder, frame) < 0) {
      CHECK(i == 5 || i == 7);
      errors++;
    }
    count += receive(encoder, pts + count);
  }
  CHECK(errors == 2);
  CHECK(avcodec_send_frame(encoder, NULL) >= 0);
  count += receive(encoder, pts + count);
  CHECK(count == 8);
  for (int i = 0; i < count && i < 8; i++) CHECK(pts[i] == want[i]);
}

/* A flush drops the frames in flight, and a drained encoder starts again. */
static void flushing(AVCodecContext *encoder) {
  int64_t pts[16];
  avcodec_flush_buffers(encoder);
  for (int i = 0; i < 3; i++)
    CHECK(send(encoder, make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, i)) >= 0);
  avcodec_flush_buffers(encoder);
  for (int i = 20; i < 23; i++)
    CHECK(send(encoder, make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, i)) >= 0);
  CHECK(avcodec_send_frame(encoder, NULL) >= 0);
  CHECK(receive(encoder, pts) == 3 && pts[0] == 20 && pts[2] == 22);
  CHECK(live_frames == 0);
}

/* Packets outlive the encoder. They are padded, and their holder may write to them. */
static void kept_packets(void) {
  enum { kKept = 5 };
  AVPacket *kept[kKept], *copy[kKept];
  int count = 0;
  AVCodecContext *encoder = open_encoder("async_depth", "2", (AVRational){kRate, 1});
  CHECK(encoder);
  if (!encoder) return;
  for (int i = 0; i <= kKept; i++) {
    CHECK((i < kKept ? send(encoder, make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, i))
                     : avcodec_send_frame(encoder, NULL)) >= 0);
    AVPacket *packet = av_packet_alloc();
    while (count < kKept && avcodec_receive_packet(encoder, packet) >= 0) {
      kept[count] = av_packet_clone(packet);
      copy[count] = av_packet_alloc();
      CHECK(av_new_packet(copy[count], packet->size) >= 0);
      memcpy(copy[count]->data, packet->data, packet->size);
      CHECK(kept[count]->data == packet->data); /* one more reference, no copy */
      CHECK(packet->buf->size >= (size_t)packet->size + AV_INPUT_BUFFER_PADDING_SIZE);
      av_packet_unref(packet);
      CHECK(av_buffer_is_writable(kept[count]->buf));
      count++;
    }
    av_packet_free(&packet);
  }
  CHECK(count == kKept);
  avcodec_free_context(&encoder);
  for (int i = 0; i < count; i++) {
    CHECK(kept[i]->size == copy[i]->size && !memcmp(kept[i]->data, copy[i]->data, copy[i]->size));
    for (int k = 0; k < AV_INPUT_BUFFER_PADDING_SIZE; k++) CHECK(!kept[i]->data[kept[i]->size + k]);
    CHECK(av_packet_make_writable(kept[i]) >= 0);
    CHECK(av_grow_packet(kept[i], 1000) >= 0); /* moves it to a buffer of FFmpeg */
    CHECK(!memcmp(kept[i]->data, copy[i]->data, copy[i]->size));
    av_packet_free(&kept[i]);
    av_packet_free(&copy[i]);
  }
  CHECK(live_frames == 0);
}

/* The buffers of an application that allocates them itself. */
static int buffers_asked_for, own_buffers;
static uint8_t own_memory[1 << 20];

static void own_buffer_gone(void *opaque, uint8_t *data) {
  (void)opaque;
  CHECK(data == own_memory);
  own_buffers--;
}

static int get_own_buffer(AVCodecContext *encoder, AVPacket *packet, int flags) {
  (void)encoder;
  (void)flags;
  CHECK(packet->size + AV_INPUT_BUFFER_PADDING_SIZE <= (int)sizeof own_memory);
  packet->buf = av_buffer_create(own_memory, sizeof own_memory, own_buffer_gone, NULL, 0);
  packet->data = own_memory;
  buffers_asked_for++;
  own_buffers++;
  return packet->buf ? 0 : AVERROR(ENOMEM);
}

static int encode_one(AVCodecContext *encoder, AVPacket *packet) {
  if (!encoder || send(encoder, make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, 0)) < 0) return -1;
  avcodec_send_frame(encoder, NULL);
  return avcodec_receive_packet(encoder, packet);
}

static void own_buffer(void) {
  AVPacket *own = av_packet_alloc(), *library = av_packet_alloc();
  AVCodecContext *encoder = open_encoder("async_depth", "1", (AVRational){kRate, 1});
  if (encoder) encoder->get_encode_buffer = get_own_buffer;
  CHECK(encode_one(encoder, own) >= 0);
  CHECK(own->data == own_memory && buffers_asked_for == 1);
  avcodec_free_context(&encoder);
  encoder = open_encoder("async_depth", "1", (AVRational){kRate, 1});
  CHECK(encode_one(encoder, library) >= 0);
  avcodec_free_context(&encoder);
  CHECK(own->size == library->size && !memcmp(own->data, library->data, own->size));
  CHECK(buffers_asked_for == 1);
  av_packet_free(&own);
  av_packet_free(&library);
  CHECK(own_buffers == 0);
}

/* build.sh links this in place of av_frame_alloc. */
static int frames_allocated;
AVFrame *__real_av_frame_alloc(void);
AVFrame *__wrap_av_frame_alloc(void);

AVFrame *__wrap_av_frame_alloc(void) {
  frames_allocated++;
  return __real_av_frame_alloc();
}

/* build.sh links this in place of the library's: the frame with this opaque has no packet. */
static void *failing = (void *)-1;
cj2k_status __real_cj2k_encoder_receive_packet(cj2k_encoder *encoder, cj2k_packet *packet);
cj2k_status __wrap_cj2k_encoder_receive_packet(cj2k_encoder *encoder, cj2k_packet *packet);

cj2k_status __wrap_cj2k_encoder_receive_packet(cj2k_encoder *encoder, cj2k_packet *packet) {
  const cj2k_status status = __real_cj2k_encoder_receive_packet(encoder, packet);
  if (status != CJ2K_OK || packet->opaque != failing) return status;
  cj2k_packet_release(packet);
  packet->data = NULL;
  packet->size = 0;
  cj2k_encoder_headline(encoder, 3, NULL, 0); /* an error that the encoder keeps */
  return CJ2K_INTERNAL;
}

/* Frame 2 of 4 fails. The others have side data and, in `path`, statistics. */
static void failed_frame(const char *path) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  AVPacket *packet = av_packet_alloc();
  uint64_t sum = 0;
  int packets = 0, errors = 0;
  encoder->width = kWidth;
  encoder->height = kHeight;
  encoder->pix_fmt = AV_PIX_FMT_YUV420P;
  encoder->time_base = (AVRational){1, kRate};
  encoder->bit_rate = kBitRate;
  encoder->flags |= AV_CODEC_FLAG_PSNR;
  CHECK(av_opt_set(encoder->priv_data, "stats_file", path, 0) >= 0);
  CHECK(avcodec_open2(encoder, NULL, NULL) >= 0);
  failing = (void *)2;
  for (int i = 0; i < 5; i++) {
    /* lavc asks for a packet in this call, too. */
    const int sent = i < 4 ? send(encoder, make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, 100 + i))
                           : avcodec_send_frame(encoder, NULL);
    CHECK(sent >= 0 || sent == AVERROR_EXTERNAL);
    errors += sent < 0;
    for (;;) {
      const int ret = avcodec_receive_packet(encoder, packet);
      if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF) break;
      if (ret < 0) {
        CHECK(ret == AVERROR_EXTERNAL);
        errors++;
        continue;
      }
      size_t size = 0;
      const uint8_t *data = av_packet_get_side_data(packet, AV_PKT_DATA_QUALITY_STATS, &size);
      CHECK(data && size == 8 + 3 * 8 && data[4] == AV_PICTURE_TYPE_I && data[5] == 3);
      if (data && size == 8 + 3 * 8) {
        CHECK(AV_RL32(data) > 0 && AV_RL64(data + 8) > 0 && AV_RL64(data + 16) > 0);
        sum += AV_RL64(data + 8);
      }
      packets++;
      av_packet_unref(packet);
    }
  }
  CHECK(packets == 3 && errors == 1 && encoder->error[0] == sum);
  failing = (void *)-1;
  av_packet_free(&packet);
  avcodec_free_context(&encoder);
}

/* An encoder that has no frame is asked for packets again and again. */
static void asking_costs_nothing(void) {
  AVCodecContext *encoder = open_encoder("async_depth", "4", (AVRational){kRate, 1});
  AVPacket *packet = av_packet_alloc();
  CHECK(encoder);
  if (encoder) {
    CHECK(avcodec_receive_packet(encoder, packet) == AVERROR(EAGAIN));
    const int before = frames_allocated;
    CHECK(before > 0);
    for (int i = 0; i < 10; i++) CHECK(avcodec_receive_packet(encoder, packet) == AVERROR(EAGAIN));
    CHECK(frames_allocated == before);
  }
  av_packet_free(&packet);
  avcodec_free_context(&encoder);
}

/* A time base that is a clock says nothing of the frame rate. */
static void time_bases(void) {
  static const struct {
    AVRational time_base, frame_rate;
    int bit_rate, opens;
  } cases[] = {
      {{1, 24}, {0, 1}, kBitRate, 1},       {{1001, 24000}, {0, 1}, kBitRate, 1},
      {{1, 300}, {0, 1}, 100000000, 1},     {{1, 600}, {0, 1}, 100000000, 0},
      {{1, 1000}, {0, 1}, 100000000, 0},
      {{1, 90000}, {0, 1}, kBitRate, 0},    {{1, 90000}, {24, 1}, kBitRate, 1},
      {{1, 90000}, {0, 1}, 0, 1}, /* no rate: the encoder asks for no frame rate */
      {{1, 1200}, {1200, 1}, 100000000, 1},
  };
  for (int i = 0; i < FF_ARRAY_ELEMS(cases); i++) {
    AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
    encoder->width = kWidth;
    encoder->height = kHeight;
    encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder->time_base = cases[i].time_base;
    encoder->framerate = cases[i].frame_rate;
    encoder->bit_rate = cases[i].bit_rate;
    const int ret = avcodec_open2(encoder, NULL, NULL);
    if (ret != (cases[i].opens ? 0 : AVERROR(EINVAL))) {
      printf("time base case %d: %d\n", i, ret);
      failures++;
    }
    avcodec_free_context(&encoder);
  }
}

/* Steps that are legal JPEG 2000 and that the library cannot code. */
static void not_supported(void) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  encoder->width = kWidth;
  encoder->height = kHeight;
  encoder->pix_fmt = AV_PIX_FMT_GRAY8;
  encoder->time_base = (AVRational){1, kRate};
  CHECK(av_opt_set(encoder->priv_data, "cj2k-params", "quant_step=1024", 0) >= 0);
  CHECK(av_opt_set(encoder->priv_data, "levels", "0", 0) >= 0);
  CHECK(avcodec_open2(encoder, NULL, NULL) == AVERROR(ENOSYS));
  avcodec_free_context(&encoder);
}

/* A device format needs the pool of the frames, which gives their layout. */
static void cuda_without_frames(void) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  encoder->width = kWidth;
  encoder->height = kHeight;
  encoder->pix_fmt = AV_PIX_FMT_CUDA;
  encoder->time_base = (AVRational){1, kRate};
  CHECK(avcodec_open2(encoder, NULL, NULL) == AVERROR(EINVAL));
  avcodec_free_context(&encoder);
}

/* Parameters that are options of the same name with the value `auto`, which the parameter has not, and
 * their defaults. */
static const char *const kWithAuto[][2] = {{"format", "auto"}, {"xyz", "off"}};

/* Options that are not parameters. */
static const char *const kNoParameters[][2] = {
    {"max_component_rate"}, {"cj2k-params"}, {"stats_file"}, {"rc-lookahead"},
    {"crf"}, {"qp"}, {"preset"}, /* refused */
};

/* Whether the option has `auto`, and the default of kWithAuto. */
static int has_auto(void *options, const AVOption *option) {
  for (int i = 0; option && i < FF_ARRAY_ELEMS(kWithAuto); i++) {
    const AVOption *c = av_opt_find(options, kWithAuto[i][1], option->unit, 0, 0);
    if (strcmp(kWithAuto[i][0], option->name)) continue;
    return c && c->default_val.i64 == option->default_val.i64 &&
           av_opt_find(options, "auto", option->unit, 0, 0);
  }
  return 0;
}

static int is_listed(const char *const list[][2], int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(list[i][0], name)) return 1;
  return 0;
}

/* The option has one constant for each name of an ENUM or FLAGS parameter, in the same order. */
static int has_values(void *options, const AVOption *option, const cj2k_param_info *info) {
  const char *name = info->values;
  int count = 0, constants = 0;
  for (; *name; count++) {
    char text[64];
    const size_t bytes = strcspn(name, "|");
    snprintf(text, sizeof text, "%.*s", (int)bytes, name);
    const AVOption *constant = av_opt_find(options, text, option->unit, 0, 0);
    const int value = info->type == CJ2K_PARAM_FLAGS ? 1 << count : (int)info->min + count;
    if (!constant || !constant->help) return 0;
    /* The names of an INT are of single values. */
    if (constant->default_val.i64 != value && info->type != CJ2K_PARAM_INT) return 0;
    name += bytes + (name[bytes] == '|');
  }
  for (const AVOption *o = NULL; (o = av_opt_next(options, o));)
    constants += o->type == AV_OPT_TYPE_CONST && !strcmp(o->unit, option->name);
  return constants == count;
}

/* The default of a number, which may be one of its named values. */
static double default_of(void *options, const AVOption *option, const cj2k_param_info *info) {
  const AVOption *c =
      option->unit ? av_opt_find(options, info->default_value, option->unit, 0, 0) : NULL;
  return c ? c->default_val.i64 : strtod(info->default_value, NULL);
}

static int has_default(void *options, const AVOption *option, const cj2k_param_info *info) {
  switch (info->type) {
    case CJ2K_PARAM_DOUBLE:
      return option->default_val.dbl == strtod(info->default_value, NULL);
    case CJ2K_PARAM_ENUM: {
      const AVOption *c = av_opt_find(options, info->default_value, option->unit, 0, 0);
      return c && c->default_val.i64 == option->default_val.i64;
    }
    case CJ2K_PARAM_INT:
    case CJ2K_PARAM_BOOL:
    case CJ2K_PARAM_FLAGS:
      return option->default_val.i64 == default_of(options, option, info);
    default: /* that of the library */
      return !option->default_val.str;
  }
}

static int has_type_and_range(void *options, const AVOption *option, const cj2k_param_info *info) {
  const double value = default_of(options, option, info);
  int type = AV_OPT_TYPE_STRING;
  if (info->type == CJ2K_PARAM_BOOL) type = AV_OPT_TYPE_BOOL;
  if (info->type == CJ2K_PARAM_DOUBLE) type = AV_OPT_TYPE_DOUBLE;
  if (info->type == CJ2K_PARAM_FLAGS) type = AV_OPT_TYPE_FLAGS;
  if (info->type == CJ2K_PARAM_ENUM) type = AV_OPT_TYPE_INT;
  if (info->type == CJ2K_PARAM_INT)
    type = info->max > INT32_MAX ? AV_OPT_TYPE_INT64 : AV_OPT_TYPE_INT;
  if ((int)option->type != type) return 0;
  if (type == AV_OPT_TYPE_STRING) return 1;
  const double min = info->type != CJ2K_PARAM_ENUM && value < info->min ? value : info->min;
  return option->min == min && option->max == info->max;
}

static int describe(const char *name, cj2k_param_info *info) {
  for (int i = 0; cj2k_params_describe(i, info) == CJ2K_OK; i++)
    if (!strcmp(info->name, name)) return 1;
  return 0;
}

/* Except for the lists above, each option is a parameter, with its type, range, default and values. No
 * option but `profile` hides a general option of FFmpeg. Both names of the encoder have the same options. */
static void options_are_parameters(void) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  void *options = encoder->priv_data;
  cj2k_param_info info = {.struct_size = sizeof info};
  int names = 0;
  for (const AVOption *o = NULL; (o = av_opt_next(options, o));) {
    CHECK(o->help && strlen(o->help) > 2);
    if (o->type == AV_OPT_TYPE_CONST) continue;
    names++;
    if (is_listed(kNoParameters, FF_ARRAY_ELEMS(kNoParameters), o->name)) {
      CHECK(!describe(o->name, &info));
    } else if (is_listed(kWithAuto, FF_ARRAY_ELEMS(kWithAuto), o->name)) {
      CHECK(describe(o->name, &info) && has_auto(options, o));
    } else if (!strcmp(o->name, "tune")) { /* has also psnr, which is mse, and ssim, which is refused */
      CHECK(describe(o->name, &info) && o->max == info.max + 1 && has_default(options, o, &info));
    } else if (!describe(o->name, &info) || !has_type_and_range(options, o, &info) ||
               !has_default(options, o, &info) || !has_values(options, o, &info)) {
      printf("the option %s is not as the parameter\n", o->name);
      failures++;
    }
    /* As in libopenjpeg, `profile` takes names that the general option has not. */
    if (av_opt_find(encoder, o->name, NULL, 0, 0) && strcmp(o->name, "profile")) {
      printf("the option %s hides the general one\n", o->name);
      failures++;
    }
  }
  CHECK(names > 20 && names < 33);
  CHECK(avcodec_find_encoder_by_name("libcj2k")->priv_class == encoder->codec->priv_class);
  avcodec_free_context(&encoder);
}

/* Opens an encoder with these values of AVCodecContext, and gives those after open; the profile is -1
 * if it cannot be opened. */
static void open_profile(const char *option, enum AVPixelFormat format, int *profile, int *level) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  encoder->width = kWidth;
  encoder->height = kHeight;
  encoder->pix_fmt = format;
  encoder->time_base = (AVRational){1, 25};
  encoder->framerate = (AVRational){25, 1};
  encoder->color_primaries = AVCOL_PRI_BT709; /* IMF asks for them */
  encoder->color_trc = AVCOL_TRC_BT709;
  encoder->colorspace = AVCOL_SPC_BT709;
  encoder->profile = *profile;
  encoder->level = *level;
  *profile = -1;
  if (av_opt_set(encoder->priv_data, "profile", option, 0) >= 0 &&
      avcodec_open2(encoder, NULL, NULL) >= 0) {
    *profile = encoder->profile;
    *level = encoder->level;
  }
  avcodec_free_context(&encoder);
}

/* AVCodecContext.profile is Rsiz. It chooses a profile, and tells the one that was written. */
static void profiles(void) {
  static const struct {
    const char *option;
    enum AVPixelFormat format;
    int profile, level, profile_after, level_after;
  } rows[] = {
      {"none", AV_PIX_FMT_XYZ12, -99, -99, 0x8000, -99},
      {"none", AV_PIX_FMT_XYZ12, 0x8000, -99, 0x8000, -99},
      {"none", AV_PIX_FMT_XYZ12, 3, -99, 3, -99},
      {"cinema2k", AV_PIX_FMT_XYZ12, -99, -99, 3, -99},
      {"cinema2k", AV_PIX_FMT_XYZ12, 4, -99, -1, 0},
      {"cinema2k", AV_PIX_FMT_XYZ12, -99, 2, -1, 0},
      {"none", AV_PIX_FMT_YUV422P10, 0x425, -99, 0x425, 5},
      {"imf_2k", AV_PIX_FMT_YUV422P10, -99, 4, 0x424, 4},
      {"none", AV_PIX_FMT_YUV422P10, 0x103, -99, 0x103, 3},
      {"none", AV_PIX_FMT_YUV422P10, 0x40f, -99, -1, 0},
      {"none", AV_PIX_FMT_YUV422P10, 0x4003, -99, -1, 0},
  };
  for (int i = 0; i < FF_ARRAY_ELEMS(rows); i++) {
    int profile = rows[i].profile, level = rows[i].level;
    open_profile(rows[i].option, rows[i].format, &profile, &level);
    if (profile != rows[i].profile_after || (profile >= 0 && level != rows[i].level_after)) {
      printf("profiles, row %d: profile 0x%x level %d\n", i, profile, level);
      failures++;
    }
  }
}

int main(int argc, char **argv) {
  const AVRational no_rate = {0, 1}, rate = {kRate, 1};
  AVCodecContext *encoder;
  for (int lookahead = 0; lookahead < 2; lookahead++) {
    encoder = open_encoder(lookahead ? "maxrate" : "async_depth", lookahead ? "20M" : "4",
                           no_rate); /* the rate comes from the time base */
    CHECK(encoder);
    if (encoder) {
      CHECK(encoder->bits_per_raw_sample == 8);
      bad_frames(encoder);
      flushing(encoder);
    }
    avcodec_free_context(&encoder);
  }

  CHECK(!open_encoder("cblk", "5x5", rate));
  CHECK(!open_encoder("device", "cuda:7,7", rate));
  cuda_without_frames();
  options_are_parameters();
  profiles();
  encoder = open_encoder("gop", "2", rate); /* closed without a frame */
  CHECK(encoder);
  avcodec_free_context(&encoder);
  encoder = open_encoder("async_depth", "8", rate); /* closed with frames in flight */
  CHECK(encoder);
  for (int i = 0; i < 3 && encoder; i++)
    CHECK(send(encoder, make_frame(kWidth, kHeight, AV_PIX_FMT_YUV420P, i)) >= 0);
  avcodec_free_context(&encoder);
  CHECK(live_frames == 0);
  kept_packets();
  own_buffer();
  asking_costs_nothing();
  time_bases();
  not_supported();
  failed_frame(argc > 1 ? argv[1] : "/dev/null");

  printf("%d failures\n", failures);
  return failures != 0;
}
