/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program compiled with a future cj2k.h, whose structs have more fields than the library's. */
#include <cj2k.h>
#include <string.h>

#include "other_headers.h"

#define NEWER(type)        \
  struct {                 \
    type s;                \
    int64_t new_fields[3]; \
  }

#define CHECK(condition) \
  if (!(condition)) return __LINE__

/* In a struct that the library fills, it sets the fields that it does not know to 0. */
#define CHECK_FILLED(x)                                                                       \
  CHECK((x).s.struct_size == sizeof(x) && (x).new_fields[0] == 0 && (x).new_fields[1] == 0 && \
        (x).new_fields[2] == 0)
#define START(x) (memset(&(x), 0xA5, sizeof(x)), (x).s.struct_size = sizeof(x))

static int has(const cj2k_encoder* encoder, const char* words) {
  return strstr(cj2k_encoder_last_error(encoder), words) != NULL;
}

static int encode(cj2k_encoder* encoder, const unsigned char* samples,
                  void (*take)(const uint8_t*, size_t)) {
  NEWER(cj2k_frame) frame;
  NEWER(cj2k_packet) packet;
  NEWER(cj2k_stats) stats;
  memset(&frame, 0, sizeof frame);
  frame.s.struct_size = sizeof frame;
  frame.s.width = OTHER_WIDTH;
  frame.s.height = OTHER_HEIGHT;
  frame.s.components[0] = (cj2k_component_view){samples, OTHER_WIDTH, 1, 1, 0};
  frame.s.pts = 4711;
  frame.new_fields[1] = 1;
  CHECK(cj2k_encoder_send_frame(encoder, &frame.s) == CJ2K_INVALID);
  CHECK(has(encoder, "frame: struct_size") && has(encoder, "newer cj2k.h"));
  frame.new_fields[1] = 0;
  CHECK(cj2k_encoder_send_frame(encoder, &frame.s) == CJ2K_OK);
  CHECK(cj2k_encoder_send_frame(encoder, NULL) == CJ2K_OK);
  START(packet);
  CHECK(cj2k_encoder_receive_packet(encoder, &packet.s) == CJ2K_OK && packet.s.pts == 4711);
  CHECK_FILLED(packet);
  START(stats);
  CHECK(cj2k_packet_stats(&packet.s, &stats.s) == CJ2K_OK);
  CHECK(stats.s.bytes == (int64_t)packet.s.size);
  CHECK_FILLED(stats);
  take(packet.s.data, packet.s.size);
  cj2k_packet_release(&packet.s);
  return 0;
}

int run_newer_program(const unsigned char* samples, void (*take)(const uint8_t*, size_t)) {
  NEWER(cj2k_params) params;
  NEWER(cj2k_info) info;
  NEWER(cj2k_param_info) row;
  char text[64];
  cj2k_encoder* encoder = NULL;
  int result;

  START(params);
  CHECK(cj2k_params_init(&params.s, sizeof params) == CJ2K_OK);
  CHECK_FILLED(params);
  params.s.width = OTHER_WIDTH;
  params.s.height = OTHER_HEIGHT;
  params.s.num_components = 1;
  params.new_fields[2] = 7;
  CHECK(cj2k_params_set(&params.s, "levels", "3") == CJ2K_INVALID && params.s.levels == -1);
  CHECK(has(NULL, "params: struct_size") && has(NULL, "newer cj2k.h"));
  CHECK(cj2k_params_get(&params.s, "levels", text, sizeof text) == CJ2K_INVALID);
  CHECK(cj2k_encoder_open(&params.s, &encoder) == CJ2K_INVALID && encoder == NULL);
  params.new_fields[2] = 0;
  CHECK(cj2k_params_set(&params.s, "levels", "3") == CJ2K_OK && params.s.levels == 3);
  CHECK(cj2k_params_get(&params.s, "levels", text, sizeof text) == CJ2K_OK && !strcmp(text, "3"));
  CHECK_FILLED(params);
  START(row);
  CHECK(cj2k_params_describe(0, &row.s) == CJ2K_OK && !strcmp(row.s.name, "width"));
  CHECK_FILLED(row);
  START(info);
  CHECK(cj2k_params_info(&params.s, &info.s) == CJ2K_OK && info.s.gop == 1);
  CHECK_FILLED(info);
  CHECK(cj2k_encoder_open(&params.s, &encoder) == CJ2K_OK);
  START(info);
  CHECK(cj2k_encoder_info(encoder, &info.s) == CJ2K_OK && info.s.gop == 1);
  CHECK_FILLED(info);
  START(params);
  CHECK(cj2k_encoder_params(encoder, &params.s) == CJ2K_OK && params.s.levels == 3);
  CHECK_FILLED(params);
  result = encode(encoder, samples, take);
  cj2k_encoder_close(encoder);
  return result;
}
