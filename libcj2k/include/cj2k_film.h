/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One budget for all frames of a film. An encoder divides it in two passes, or in one with lookahead
 * (cj2k_encoder_open_film); or the caller does, with the curves of the frames (cj2k_params::curves,
 * cj2k_packet_curve, cj2k_film_allocate). The rules of cj2k.h hold for these functions too.
 */
#ifndef CJ2K_FILM_H
#define CJ2K_FILM_H

#include "cj2k.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CJ2K_CURVE_POINTS 72 /* points of a cj2k_curve */

/* What a frame costs and what it loses, over the slope at which it is cut. Point i is the slope of
 * 2^(i / 2 - 6) units of squared error (LSB^2 of the deepest component, weighted with tune = visual) per
 * byte. Bytes never rise from point to point, errors never fall. A plain record without struct_size,
 * which never changes: films keep arrays of it. */
typedef struct cj2k_curve {
  uint32_t bytes[CJ2K_CURVE_POINTS]; /* of the codestream, an estimate; under max_component_bytes */
  float error[CJ2K_CURVE_POINTS];    /* squared error of the frame, summed over its samples */
} cj2k_curve;

/* One budget for all frames of a film. */
typedef struct cj2k_film {
  size_t struct_size;
  int64_t total_bytes;     /* of all frames together, 1 .. 2^50 */
  int64_t max_frame_bytes; /* cap of each frame; 0 = none */
  int64_t min_frame_bytes; /* floor of each frame; 0 = none */
  /* The sum over the frames of error^power is made small, 1 .. 8; 0 = 1: the least mean error, with
   * one slope for all frames. Larger values favour hard frames, up to nearly equal quality. */
  double power;
} cj2k_film;

/* How an encoder divides one budget over the frames of a film. */
typedef struct cj2k_film_pass {
  size_t struct_size;
  int32_t pass; /* 1: finds the curves of the frames, for cj2k_encoder_film_log. 2: encodes with the
                              log of pass 1. 0: one pass, with lookahead */
  int32_t ahead;           /* pass 0: frames that are looked at before one is coded, 0 .. 240 */
  int64_t bits_per_second; /* the mean of the film, 1 .. 2^40; in pass 1 also 0 = not known yet */
  int64_t
      reservoir_bytes; /* pass 0: what easy frames may save up for hard ones: any n frames have at
                              most n times the mean, and this, rounded up */
  const void* log;     /* pass 2: of pass 1; open does not keep it */
  size_t log_bytes;
} cj2k_film_pass;

/* cj2k_encoder_open for a film with one budget; `film` NULL: each frame for itself. target_bytes is 0
 * or that of the mean; lossless, quality, qfactor, target_psnr, layer_rates, layer_psnr and curves are
 * not set; frame_rate is.
 * A max_frame_bytes of 0 becomes what the profile allows, or twice the mean. No frame has a
 * target_bytes of its own, and frames are counted from open and from flush.
 * Pass 1 runs on the CPU, and its packets have no bytes. In pass 2, send refuses frames beyond the
 * log. Pass 0 looks at frames on the CPU, refuses CUDA frames and frames without release, and keeps
 * `ahead` frames and those in flight. */
CJ2K_API CJ2K_NODISCARD cj2k_status cj2k_encoder_open_film(const cj2k_params* p,
                                                           const cj2k_film_pass* film,
                                                           cj2k_encoder** encoder);
/* Pass 1: the log of the frames whose packets have been received, as cj2k_film_log_read takes it.
 * CJ2K_INVALID: one of them failed. *log, of *bytes, is for cj2k_free. */
CJ2K_API cj2k_status cj2k_encoder_film_log(const cj2k_encoder* encoder, void** log, size_t* bytes);

/* Gives the curve of a packet's frame, with cj2k_params::curves; CJ2K_INVALID without. */
CJ2K_API cj2k_status cj2k_packet_curve(const cj2k_packet* packet, cj2k_curve* curve);

/* Gives each frame of a film its bytes, for cj2k_frame::target_bytes: those at one slope for all
 * frames, between each frame's floor and cap. They sum up to total_bytes exactly or, if that is less,
 * to the sum of the caps. The result depends on the arguments alone.
 * `caps` and `floors`, of each frame, may be NULL; 0 in them = none. They count beside those of `film`. No
 * frame gets less than the headers that its curve has.
 * CJ2K_INVALID: no frame, total_bytes below the sum of the floors, a floor above its cap, or a curve that
 * is none. */
CJ2K_API cj2k_status cj2k_film_allocate(const cj2k_film* film, const cj2k_curve* curves,
                                        size_t num_frames, const int64_t* caps,
                                        const int64_t* floors, int64_t* targets);
/* The log of a first pass: the curves of a film's frames as bytes, the same on every machine. */
CJ2K_API size_t cj2k_film_log_size(size_t num_frames);
/* Writes cj2k_film_log_size(num_frames) bytes. `p` are the parameters of the pass. */
CJ2K_API cj2k_status cj2k_film_log_write(const cj2k_params* p, const cj2k_curve* curves,
                                         size_t num_frames, void* log);
/* Reads a log. CJ2K_INVALID if it is no such log, damaged, of another version, or if it was made with
 * other parameters than `p`: those of the picture, the transform, the coder and the codestream, and a
 * cap per frame below that of `p`. Rates, quality, stop and how the encoder runs may differ.
 * `curves` may be NULL: then the log is only checked, and *num_frames set. Else *num_frames says how
 * many curves there is room for; CJ2K_INVALID if the log has more. */
CJ2K_API cj2k_status cj2k_film_log_read(const cj2k_params* p, const void* log, size_t bytes,
                                        cj2k_curve* curves, size_t* num_frames);

#ifdef __cplusplus
}
#endif

#endif /* CJ2K_FILM_H */
