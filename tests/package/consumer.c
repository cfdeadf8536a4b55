/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause */
#include <cj2k_transcode.h> /* each header includes cj2k.h */
#include <cj2k_film.h>
#include <stdio.h>
#include <string.h>

/* The parameter table is plain C. */
static const struct {
  const char* name;
  double min, max;
} table[] = {
#define CJ2K_NUMBER(name, kind, min, max, value, unit, clause, help) {#name, min, max},
#define CJ2K_TEXT(name, kind, min, max, value, unit, clause, help) {#name, min, max},
#include <cj2k_params.def>
};

static int table_is_right(void) {
  const int rows = (int)(sizeof table / sizeof table[0]);
  cj2k_param_info info = {0};
  info.struct_size = sizeof info;
  for (int i = 0; i < rows; ++i) {
    if (cj2k_params_describe(i, &info) != CJ2K_OK) return 0;
    if (strcmp(info.name, table[i].name) != 0) return 0;
    if (info.min != table[i].min || info.max != table[i].max) return 0;
  }
  return cj2k_params_describe(rows, &info) == CJ2K_EOF;
}

int main(void) {
  static unsigned char samples[64 * 48];
  cj2k_params params;
  cj2k_encoder* encoder = NULL;
  cj2k_frame frame;
  cj2k_packet packet;
  void* other;
  size_t bytes;

  if (strcmp(cj2k_version(), CJ2K_VERSION_STRING) != 0) return 1;
  if (!table_is_right()) return 7;
  if (cj2k_params_init(&params, sizeof params) != CJ2K_OK) return 2;
  params.width = 64;
  params.height = 48;
  params.num_components = 1;
  params.log = cj2k_log_stderr;
  if (cj2k_encoder_open(&params, &encoder) != CJ2K_OK) return 3;
  memset(&frame, 0, sizeof frame);
  frame.struct_size = sizeof frame;
  frame.width = 64;
  frame.height = 48;
  frame.components[0].data = samples;
  frame.components[0].stride_bytes = 64;
  frame.components[0].step_bytes = 1;
  frame.components[0].word_bytes = 1;
  if (cj2k_encoder_send_frame(encoder, &frame) != CJ2K_OK) return 4;
  if (cj2k_encoder_send_frame(encoder, NULL) != CJ2K_OK) return 5;
  memset(&packet, 0, sizeof packet);
  packet.struct_size = sizeof packet;
  if (cj2k_encoder_receive_packet(encoder, &packet) != CJ2K_OK) return 6;
  if (cj2k_transcode(CJ2K_CODER_HT, 0, 0, 1, packet.data, packet.size, &other, &bytes) != CJ2K_OK)
    return 8;
  cj2k_free(other);
  if (cj2k_film_log_size(2) <= cj2k_film_log_size(1)) return 9;
  printf("libcj2k %s: %lu bytes\n", cj2k_version(), (unsigned long)packet.size);
  cj2k_packet_release(&packet);
  cj2k_encoder_close(encoder);
  return 0;
}
