/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * encode INPUT OUTPUT [NAME=VALUE ...] encodes one picture (binary PGM or PPM, or PAM) to a JPEG
 * 2000 codestream, or to a JP2 file if OUTPUT ends in .jp2. The names are those of cj2k_params_set,
 * as in docs/options.md:
 *
 *     encode in.ppm out.j2k target_bytes=100000 cblk=32x32 progression=cprl
 */
#include <cj2k.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Picture {
  int width, height, components, depth;
  int word_bytes; /* bytes of a sample; the components are interleaved */
  void* samples;
} Picture;

/* Reads the next word of a PNM or PAM header. Skips comments. */
static int read_word(FILE* file, char word[32]) {
  int c = getc(file), n = 0;
  while (isspace(c) || c == '#') {
    if (c == '#') {
      while (c != '\n' && c != EOF) c = getc(file);
    }
    c = getc(file);
  }
  for (; c != EOF && !isspace(c) && n < 31; c = getc(file)) word[n++] = (char)c;
  word[n] = '\0';
  return n > 0;
}

static int read_number(FILE* file) {
  char word[32];
  return read_word(file, word) ? atoi(word) : 0;
}

static int read_picture(const char* path, Picture* p) {
  char word[32];
  long maxval = 0;
  FILE* file = fopen(path, "rb");
  if (file == NULL || !read_word(file, word)) return 0;
  memset(p, 0, sizeof *p);
  if (strcmp(word, "P5") == 0 || strcmp(word, "P6") == 0) {
    p->components = word[1] == '5' ? 1 : 3;
    p->width = read_number(file);
    p->height = read_number(file);
    maxval = read_number(file);
  } else if (strcmp(word, "P7") == 0) {
    while (read_word(file, word) && strcmp(word, "ENDHDR") != 0) {
      if (strcmp(word, "WIDTH") == 0) p->width = read_number(file);
      if (strcmp(word, "HEIGHT") == 0) p->height = read_number(file);
      if (strcmp(word, "DEPTH") == 0) p->components = read_number(file);
      if (strcmp(word, "MAXVAL") == 0) maxval = read_number(file);
      if (strcmp(word, "TUPLTYPE") == 0) read_word(file, word);
    }
  }
  if (p->width < 1 || p->height < 1 || p->components < 1 || p->components > CJ2K_MAX_COMPONENTS ||
      maxval < 1 || maxval > 65535) {
    fclose(file);
    return 0;
  }
  while (maxval >> p->depth) ++p->depth;
  p->word_bytes = p->depth > 8 ? 2 : 1;
  size_t count = (size_t)p->width * p->height * p->components;
  unsigned char* bytes = malloc(count * p->word_bytes);
  int complete = bytes != NULL && fread(bytes, p->word_bytes, count, file) == count;
  fclose(file);
  if (complete &&
      p->word_bytes == 2) { /* big-endian in the file, the host's order in the library */
    for (size_t i = 0; i < count; ++i) {
      unsigned short sample = (unsigned short)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
      memcpy(bytes + 2 * i, &sample, 2);
    }
  }
  p->samples = bytes;
  return complete;
}

static int fail(const char* what) {
  fprintf(stderr, "encode: %s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  Picture picture;
  cj2k_params params;
  cj2k_encoder* encoder;
  if (argc < 3) return fail("usage: encode INPUT.ppm|pgm|pam OUTPUT.j2k|jp2 [NAME=VALUE ...]");
  if (!read_picture(argv[1], &picture)) return fail("INPUT is no complete PGM, PPM or PAM file");

  cj2k_params_init(&params, sizeof params);
  params.log = cj2k_log_stderr; /* says why a call failed */
  params.width = picture.width;
  params.height = picture.height;
  params.num_components = picture.components;
  for (int c = 0; c < picture.components; ++c) params.depth[c] = picture.depth;
  params.alpha = picture.components == 2 || picture.components == 4;
  size_t length = strlen(argv[2]);
  if (length > 4 && strcmp(argv[2] + length - 4, ".jp2") == 0) params.format = CJ2K_FORMAT_JP2;
  for (int i = 3; i < argc; ++i) {
    char* equals = strchr(argv[i], '=');
    if (equals == NULL) return fail("options are NAME=VALUE");
    *equals = '\0';
    if (cj2k_params_set(&params, argv[i], equals + 1) != CJ2K_OK) return 1;
  }
  if (cj2k_encoder_open(&params, &encoder) != CJ2K_OK) return 1;

  cj2k_frame frame = {
      .struct_size = sizeof frame, .width = picture.width, .height = picture.height};
  for (int c = 0; c < picture.components; ++c) {
    cj2k_component_view* view = &frame.components[c];
    view->data = (unsigned char*)picture.samples + c * picture.word_bytes;
    view->step_bytes = picture.components * picture.word_bytes;
    view->stride_bytes = (ptrdiff_t)picture.width * view->step_bytes;
    view->word_bytes = picture.word_bytes;
  }
  cj2k_packet packet = {.struct_size = sizeof packet};
  if (cj2k_encoder_send_frame(encoder, &frame) != CJ2K_OK ||
      cj2k_encoder_send_frame(encoder, NULL) != CJ2K_OK ||
      cj2k_encoder_receive_packet(encoder, &packet) != CJ2K_OK)
    return 1;

  FILE* output = fopen(argv[2], "wb");
  if (output == NULL || fwrite(packet.data, 1, packet.size, output) != packet.size ||
      fclose(output) != 0)
    return fail("OUTPUT cannot be written");
  cj2k_stats stats = {.struct_size = sizeof stats};
  if (cj2k_packet_stats(&packet, &stats) != CJ2K_OK) return 1;
  printf("bytes %zu, of which headers %lld\n", packet.size, (long long)stats.header_bytes);
  printf("code-blocks %lld, coding passes %lld of %lld\n", (long long)stats.blocks,
         (long long)stats.passes_included, (long long)stats.passes_coded);
  for (int c = 0; c < picture.components; ++c)
    printf("component %d: %lld bytes, %s mse %.4f\n", c, (long long)stats.component_bytes[c],
           params.measure_mse ? "measured" : "estimated", stats.mse[c]);
  cj2k_packet_release(&packet);
  cj2k_encoder_close(encoder);
  free(picture.samples);
  return 0;
}
