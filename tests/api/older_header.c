/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program compiled with an older cj2k.h, whose structs end earlier. It knows only the
 * declarations below. The library must not touch memory behind the older structs: each struct is
 * followed by bytes that the library must not read (they are not zero) and must not write. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "other_headers.h"

#define OK 0
#define END 2
#define INVALID (-1)

/* As in today's cj2k.h, up to `quant_step`. */
typedef struct old_params {
  size_t struct_size;
  int32_t width, height, image_offset_x, image_offset_y;
  int32_t tile_width, tile_height, tile_offset_x, tile_offset_y;
  int32_t num_components;
  int32_t depth[4], is_signed[4], dx[4], dy[4];
  int32_t colorspace, alpha, source_depth[4], low_bits, xyz;
  double xyz_gamma;
  int32_t lossless, wavelet, mct, levels, guard_bits;
} old_params;

typedef struct old_view {
  const void* data;
  ptrdiff_t stride_bytes;
  int32_t step_bytes, word_bytes, shift;
} old_view;

/* Up to `duration`. */
typedef struct old_frame {
  size_t struct_size;
  int32_t memory, width, height;
  old_view components[4];
  int64_t pts;
} old_frame;

typedef struct old_packet {
  size_t struct_size;
  const uint8_t* data;
  size_t size;
  int64_t pts, duration;
  void* opaque;
  void* slot;
} old_packet;

/* Up to `component_bytes`. */
typedef struct old_stats {
  size_t struct_size;
  int64_t bytes;
} old_stats;

/* Up to `async_depth`. */
typedef struct old_info {
  size_t struct_size;
  const char* backend;
  const char* simd;
  int32_t threads, gop;
} old_info;

/* Up to `min`. */
typedef struct old_param_info {
  size_t struct_size;
  const char* name;
  int32_t type;
} old_param_info;

struct cj2k_encoder;
int cj2k_params_init(old_params* p, size_t struct_size);
int cj2k_params_set(old_params* p, const char* key, const char* value);
int cj2k_params_get(const old_params* p, const char* key, char* buffer, size_t size);
int cj2k_params_describe(int index, old_param_info* info);
int cj2k_params_info(const old_params* p, old_info* info);
int cj2k_encoder_open(const old_params* p, struct cj2k_encoder** encoder);
int cj2k_encoder_info(const struct cj2k_encoder* encoder, old_info* info);
int cj2k_encoder_params(const struct cj2k_encoder* encoder, old_params* p);
int cj2k_encoder_send_frame(struct cj2k_encoder* encoder, const old_frame* frame);
int cj2k_encoder_receive_packet(struct cj2k_encoder* encoder, old_packet* packet);
int cj2k_packet_stats(const old_packet* packet, old_stats* stats);
void cj2k_packet_release(old_packet* packet);
void cj2k_encoder_close(struct cj2k_encoder* encoder);

#define GUARDED(type)         \
  struct {                    \
    type s;                   \
    unsigned char guard[128]; \
  }
#define FILL(g) memset(&(g), 0xA5, sizeof(g))

static int untouched(const unsigned char* guard) {
  for (int i = 0; i < 128; ++i) {
    if (guard[i] != 0xA5) return 0;
  }
  return 1;
}

#define CHECK(condition) \
  if (!(condition)) return __LINE__

static int encode(struct cj2k_encoder* encoder, const unsigned char* samples,
                  void (*take)(const uint8_t*, size_t)) {
  GUARDED(old_frame) frame;
  GUARDED(old_packet) packet;
  GUARDED(old_stats) stats;
  FILL(frame);
  memset(&frame.s, 0, sizeof frame.s);
  frame.s.struct_size = sizeof frame.s;
  frame.s.width = OTHER_WIDTH;
  frame.s.height = OTHER_HEIGHT;
  frame.s.components[0] = (old_view){samples, OTHER_WIDTH, 1, 1, 0};
  frame.s.pts = 4711;
  /* The struct has no `release`, so it is NULL: the call reads the samples. */
  CHECK(cj2k_encoder_send_frame(encoder, &frame.s) == OK);
  CHECK(cj2k_encoder_send_frame(encoder, NULL) == OK);
  FILL(packet);
  packet.s.struct_size = sizeof packet.s;
  CHECK(cj2k_encoder_receive_packet(encoder, &packet.s) == OK);
  CHECK(packet.s.struct_size == sizeof packet.s && packet.s.pts == 4711);
  CHECK(packet.s.duration == 0 && packet.s.opaque == NULL);
  CHECK(untouched(packet.guard));
  FILL(stats);
  stats.s.struct_size = sizeof stats.s;
  CHECK(cj2k_packet_stats(&packet.s, &stats.s) == OK);
  CHECK(stats.s.struct_size == sizeof stats.s && stats.s.bytes == (int64_t)packet.s.size);
  CHECK(untouched(stats.guard));
  take(packet.s.data, packet.s.size);
  cj2k_packet_release(&packet.s);
  CHECK(packet.s.data == NULL && untouched(packet.guard));
  CHECK(cj2k_encoder_receive_packet(encoder, &packet.s) == END);
  return 0;
}

int run_older_program(const unsigned char* samples, void (*take)(const uint8_t*, size_t)) {
  GUARDED(old_params) params;
  GUARDED(old_info) info;
  GUARDED(old_param_info) row;
  char text[64];
  struct cj2k_encoder* encoder = NULL;
  int result;

  FILL(params);
  CHECK(cj2k_params_init(&params.s, sizeof params.s) == OK);
  CHECK(params.s.struct_size == sizeof params.s && params.s.levels == -1);
  params.s.width = OTHER_WIDTH;
  params.s.height = OTHER_HEIGHT;
  params.s.num_components = 1;
  CHECK(cj2k_params_set(&params.s, "levels", "3") == OK && params.s.levels == 3);
  CHECK(cj2k_params_set(&params.s, "levels", "33") == INVALID && params.s.levels == 3);
  CHECK(cj2k_params_get(&params.s, "levels", text, sizeof text) == OK && !strcmp(text, "3"));
  /* A parameter that the struct has no room for has its default. */
  CHECK(cj2k_params_get(&params.s, "cblk", text, sizeof text) == OK && !strcmp(text, "auto"));
  CHECK(untouched(params.guard));

  FILL(row);
  row.s.struct_size = sizeof row.s;
  CHECK(cj2k_params_describe(0, &row.s) == OK && !strcmp(row.s.name, "width"));
  CHECK(row.s.struct_size == sizeof row.s && untouched(row.guard));

  FILL(info);
  info.s.struct_size = sizeof info.s;
  CHECK(cj2k_params_info(&params.s, &info.s) == OK);
  CHECK(info.s.gop == 1 && untouched(info.guard));

  CHECK(cj2k_encoder_open(&params.s, &encoder) == OK);
  FILL(info);
  info.s.struct_size = sizeof info.s;
  CHECK(cj2k_encoder_info(encoder, &info.s) == OK);
  CHECK(info.s.gop == 1 && info.s.threads >= 1 && untouched(info.guard));
  FILL(params);
  params.s.struct_size = sizeof params.s;
  CHECK(cj2k_encoder_params(encoder, &params.s) == OK);
  CHECK(params.s.struct_size == sizeof params.s && params.s.tile_width == OTHER_WIDTH);
  CHECK(untouched(params.guard));
  result = encode(encoder, samples, take);
  cj2k_encoder_close(encoder);
  return result;
}
