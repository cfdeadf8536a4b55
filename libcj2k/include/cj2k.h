/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libcj2k: a JPEG 2000 (ITU-T T.800 | ISO/IEC 15444-1) encoder for moving pictures with an exact
 * byte cap per frame.
 *
 *     cj2k_params p;
 *     cj2k_params_init(&p, sizeof p);
 *     p.width = 3840; p.height = 2160; p.num_components = 3;
 *     p.depth[0] = p.depth[1] = p.depth[2] = 12;
 *     p.target_bytes = 1302083;                       // 250 Mbit/s at 24 frames/s
 *     cj2k_encoder* e;
 *     if (cj2k_encoder_open(&p, &e) != CJ2K_OK) puts(cj2k_encoder_last_error(NULL));
 *     cj2k_packet packet = {.struct_size = sizeof packet};
 *     for each picture:
 *         cj2k_encoder_send_frame(e, &frame);
 *         while (cj2k_encoder_receive_packet(e, &packet) == CJ2K_OK) {
 *             write(packet.data, packet.size);
 *             cj2k_packet_release(&packet);
 *         }
 *     cj2k_encoder_send_frame(e, NULL);               // drain: receive until CJ2K_EOF
 *     cj2k_encoder_close(e);
 *
 * Films with one budget for all frames: cj2k_film.h. From one block coder to the other:
 * cj2k_transcode.h.
 *
 * The states of an encoder, and what send and receive return in each:
 *
 *          cj2k_encoder_open
 *                  |
 *                  v
 *     +-------> RUNNING     send(frame): OK, or AGAIN: full, receive a packet first
 *     |            |        receive:     OK, or AGAIN: no packet is due, send a frame first
 *     |            | send(NULL): OK
 *     |            v
 *   flush       DRAINING    send:        EOF
 *     |            |        receive:     OK
 *     |            | receive: EOF
 *     |            v
 *     +-------- DRAINED     send:        EOF
 *                           receive:     EOF
 *
 * Flush leads from every state back to RUNNING. An error changes no state. After an error of send,
 * the frame has not been taken. An error of receive takes the place of one frame's packet.
 *
 * Rules that hold for every function:
 *
 * - The codestream depends only on the frames and the parameters, not on threads, SIMD level,
 *   device or timing.
 * - Different encoders are independent. For one encoder, one thread may send while another
 *   receives; any thread may release packets at any time. Two calls of send wait for each other,
 *   and so do two of receive. During a flush or close no other call for the encoder may run.
 * - The library may call the caller's functions `log`, `release` and `read` from any thread, and
 *   from several at a time. They must not call functions for the same encoder.
 * - No function throws or aborts. A call that fails gives the reason in one line, to
 *   cj2k_params::log and through cj2k_encoder_last_error.
 * - A struct begins with `struct_size`, its size in bytes in the caller's header. Its _init
 *   function or the caller sets it. The library may be older or newer than that header:
 *   - If the caller's struct is smaller than the library's, the missing fields have their defaults
 *     (cj2k_params) or are 0 (cj2k_frame). The library never writes missing fields.
 *   - If a cj2k_params or cj2k_frame is larger, the bytes that the library does not know must be 0,
 *     or the call returns CJ2K_INVALID. If a struct that the library fills is larger, the library
 *     sets those bytes to 0.
 *   - If the size is above 65536 or does not contain the first fields, the call returns
 *     CJ2K_INVALID.
 */
#ifndef CJ2K_H
#define CJ2K_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ2K_VERSION_MAJOR 0
#define CJ2K_VERSION_MINOR 1
#define CJ2K_VERSION_PATCH 0
#define CJ2K_VERSION_STRING "0.1.0"
/* One number that grows with each version, for #if. */
#define CJ2K_VERSION (CJ2K_VERSION_MAJOR << 16 | CJ2K_VERSION_MINOR << 8 | CJ2K_VERSION_PATCH)

#define CJ2K_MAX_COMPONENTS 4
#define CJ2K_MAX_RESOLUTIONS 33 /* levels 0..32, T.800 Table A.15 */
#define CJ2K_MAX_LAYER_RATES 64
#define CJ2K_MAX_PROGRESSIONS 32
#define CJ2K_MAX_REGIONS 16
#define CJ2K_MAX_PARAM_TEXT 4096 /* bytes of the longest value as text, with its final zero */
#define CJ2K_MAX_STAGES 8        /* entries of cj2k_stats::stage_ms */
#define CJ2K_PACKET_PADDING 64   /* zero bytes after the bytes of a packet */

#if defined(_WIN32) && defined(CJ2K_DLL) /* set it to use the library as a DLL */
#define CJ2K_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define CJ2K_API __attribute__((visibility("default")))
#else
#define CJ2K_API
#endif
#if defined(__GNUC__)
#define CJ2K_NODISCARD __attribute__((warn_unused_result))
#else
#define CJ2K_NODISCARD
#endif

/* Opaque; one per sequence of frames. */
typedef struct cj2k_encoder cj2k_encoder;

/* Zero is success, positive values are states of a healthy encoder, negative values are errors. */
typedef enum cj2k_status {
  CJ2K_OK = 0,
  CJ2K_AGAIN = 1,          /* not now: see the states above */
  CJ2K_EOF = 2,            /* no more packets come, or no more frames are taken */
  CJ2K_INVALID = -1,       /* a parameter or frame is wrong; the encoder stays usable */
  CJ2K_NO_MEMORY = -2,     /* an allocation failed; the encoder stays usable */
  CJ2K_NOT_SUPPORTED = -3, /* legal JPEG 2000, but not in this library or build */
  CJ2K_DEVICE = -4,        /* the device failed or is absent; after a loss, later calls fail too */
  CJ2K_INTERNAL = -5,      /* a bug in the library; the encoder can only be closed */
  CJ2K_READ = -6           /* cj2k_frame::read has failed; the encoder stays usable */
} cj2k_status;

typedef enum cj2k_log_level {
  CJ2K_LOG_ERROR = 0,
  CJ2K_LOG_WARNING = 1,
  CJ2K_LOG_INFO = 2,
  CJ2K_LOG_DEBUG = 3
} cj2k_log_level;

/* `message` is one line of UTF-8 without control characters, valid during the call. */
typedef void (*cj2k_log_fn)(void* opaque, cj2k_log_level level, const char* message);

typedef enum cj2k_wavelet {
  CJ2K_WAVELET_AUTO = -1, /* 5/3 with lossless = 1, else what the profile says, else 9/7 */
  CJ2K_WAVELET_97 = 0,    /* irreversible 9/7, with ICT (T.800 F.4.8.2, G.3) */
  CJ2K_WAVELET_53 = 1     /* reversible 5/3, with RCT (T.800 F.4.8.1, G.2) */
} cj2k_wavelet;

/* T.800 Table A.16, same numbers. */
typedef enum cj2k_progression {
  CJ2K_PROGRESSION_AUTO = -1, /* what the profile says, else LRCP */
  CJ2K_LRCP = 0,
  CJ2K_RLCP = 1,
  CJ2K_RPCL = 2,
  CJ2K_PCRL = 3,
  CJ2K_CPRL = 4
} cj2k_progression;

/* One entry of a POC marker segment, T.800 Table A.32: the packets of these resolutions, components
 * and layers that no entry before has, in this order (B.12.2). */
typedef struct cj2k_progression_change {
  int32_t resolution_begin, component_begin; /* RSpoc, CSpoc; >= 0 */
  int32_t layer_end;                         /* LYEpoc; 1 .. layers */
  int32_t resolution_end;                    /* REpoc; above resolution_begin, at most levels + 1 */
  int32_t component_end;        /* CEpoc; above component_begin, at most num_components */
  cj2k_progression progression; /* Ppoc */
} cj2k_progression_change;

/* A rectangle of the region of interest, on the reference grid. */
typedef struct cj2k_region {
  int32_t x, y;          /* >= 0 */
  int32_t width, height; /* >= 1 */
  int32_t shift;         /* SPrgn; 0 = chosen: the least that is safe. The largest of all counts */
} cj2k_region;

/* What turns a code-block into bytes. */
typedef enum cj2k_coder {
  CJ2K_CODER_AUTO = -1, /* what the profile says, else EBCOT */
  CJ2K_CODER_EBCOT = 0, /* bit-planes and the MQ coder, T.800 Annexes C and D */
  CJ2K_CODER_HT = 1     /* the high-throughput block coder of T.814 (JPEG 2000 Part 15, HTJ2K) */
} cj2k_coder;

/* The passes of an HT code-block, T.814 clause 7. */
typedef enum cj2k_ht_passes {
  CJ2K_HT_PASSES_ALL = 0,    /* cleanup, SigProp and MagRef */
  CJ2K_HT_PASSES_CLEANUP = 1 /* cleanup alone, for decoders that read nothing more */
} cj2k_ht_passes;

/* Code-block style, T.800 Table A.19, same bits. */
typedef enum cj2k_cblk_style {
  CJ2K_STYLE_BYPASS = 1,  /* selective arithmetic coding bypass, D.6 */
  CJ2K_STYLE_RESET = 2,   /* reset context probabilities on pass boundaries, D.4 */
  CJ2K_STYLE_TERMALL = 4, /* terminate on each coding pass, D.4.2 */
  CJ2K_STYLE_VSC = 8,     /* vertically (stripe-)causal context, D.7 */
  CJ2K_STYLE_PTERM = 16,  /* predictable termination, D.4.2 */
  CJ2K_STYLE_SEGSYM = 32  /* segmentation symbols, D.5 */
} cj2k_cblk_style;

/* Frames of R'G'B' are coded as X'Y'Z' of digital cinema (SMPTE ST 428-1): the primaries and the
 * white of R'G'B'. */
typedef enum cj2k_xyz {
  CJ2K_XYZ_AUTO = -1, /* only for cj2k_params_set_colours, which replaces it */
  CJ2K_XYZ_OFF = 0,
  CJ2K_XYZ_REC709 = 1, /* ITU-R BT.709, white D65 */
  CJ2K_XYZ_P3D65 = 2,  /* SMPTE EG 432-1, white D65 */
  CJ2K_XYZ_P3DCI = 3,  /* SMPTE RP 431-2, white of DCI projectors */
  CJ2K_XYZ_REC2020 = 4 /* ITU-R BT.2020, white D65 */
} cj2k_xyz;
/* What becomes of the low bits if the samples of the frames have more bits than `depth`. */
typedef enum cj2k_low_bits {
  CJ2K_LOW_BITS_REFUSE = 0, /* a frame whose low bits add something is refused */
  CJ2K_LOW_BITS_ROUND = 1,  /* samples are rounded to the nearest value, halves up */
  CJ2K_LOW_BITS_CUT = 2     /* the low bits are dropped, whatever they are */
} cj2k_low_bits;
typedef enum cj2k_mct { CJ2K_MCT_AUTO = 0, CJ2K_MCT_OFF = 1, CJ2K_MCT_ON = 2 } cj2k_mct;
typedef enum cj2k_tile_parts {
  CJ2K_TILE_PARTS_AUTO = -1, /* what the profile says, else none */
  CJ2K_TILE_PARTS_NONE = 0,
  CJ2K_TILE_PARTS_RESOLUTION = 1,
  CJ2K_TILE_PARTS_COMPONENT = 2
} cj2k_tile_parts;
typedef enum cj2k_format { CJ2K_FORMAT_J2K = 0, CJ2K_FORMAT_JP2 = 1 } cj2k_format;
/* Enumerated colour space of a JP2 file (T.800 I.5.3.3). sRGB and sYCC describe the first three
 * components; opacity does not count. AUTO: grey if there are fewer than three, sYCC if they have
 * different subsampling, else sRGB. */
typedef enum cj2k_colorspace {
  CJ2K_COLOR_AUTO = 0,
  CJ2K_COLOR_SRGB = 1,
  CJ2K_COLOR_GRAY = 2,
  CJ2K_COLOR_SYCC = 3,
  CJ2K_COLOR_XYZ = 4
} cj2k_colorspace;
typedef enum cj2k_primaries {
  CJ2K_PRIMARIES_REC709 = 0,
  CJ2K_PRIMARIES_REC2020 = 1,
  CJ2K_PRIMARIES_P3D65 = 2,
  CJ2K_PRIMARIES_P3DCI = 3,
  CJ2K_PRIMARIES_REC601_625 = 4,
  CJ2K_PRIMARIES_REC601_525 = 5
} cj2k_primaries;
typedef enum cj2k_transfer {
  CJ2K_TRANSFER_SRGB = 0,
  CJ2K_TRANSFER_LINEAR = 1,
  CJ2K_TRANSFER_GAMMA22 = 2,
  CJ2K_TRANSFER_GAMMA24 = 3,
  CJ2K_TRANSFER_GAMMA26 = 4,
  CJ2K_TRANSFER_GAMMA28 = 5,
  CJ2K_TRANSFER_PQ = 6,
  CJ2K_TRANSFER_HLG = 7
} cj2k_transfer;
/* How far code-blocks are coded if a cap or `quality` limits how much of each block is kept. */
typedef enum cj2k_stop {
  CJ2K_STOP_NONE = 0,  /* every bit-plane */
  CJ2K_STOP_EXACT = 1, /* as far as rate control looks, in a fraction of the time: meant to equal
                          NONE; docs/stop.md has the rule and the measurements */
  CJ2K_STOP_PST = 2,   /* to the slope threshold of the GOP before, less stop_margin; loses
                          decibels at scene cuts */
  CJ2K_STOP_PSB = 3,   /* to the slope at which a table of the frame's passes fills the cap */
  CJ2K_STOP_BPI = 4    /* all blocks of a frame to the same bit-plane */
} cj2k_stop;
/* How block coding is divided into kernels on a GPU. effort 2 and 3 have the classic form alone. */
typedef enum cj2k_tier1 {
  CJ2K_TIER1_AUTO = 0,    /* classic */
  CJ2K_TIER1_CLASSIC = 1, /* context modelling of the bit-planes, then the MQ coder */
  CJ2K_TIER1_CIBO = 2,    /* bit-plane by bit-plane, modelling and MQ coder side by side */
  CJ2K_TIER1_FUSED = 3    /* one kernel for both */
} cj2k_tier1;

/* Whether each packet has the curve of its frame (cj2k_packet_curve, cj2k_film.h). */
typedef enum cj2k_curves {
  CJ2K_CURVES_OFF = 0,
  CJ2K_CURVES_WITH = 1, /* beside the codestream, as far down as blocks were coded for it: with
                           stop = exact to where the frame was cut, with stop = none all of it */
  CJ2K_CURVES_ONLY = 2  /* packets have no bytes. Magnitudes are counted, and a model says what bytes they
                           take at all slopes; LL alone is coded */
} cj2k_curves;

/* Profiles of T.800 A.10. The first five have the numbers of Rsiz. Profiles with HT have the block
 * coder of Part 15 (HTJ2K): they are sets of rules of SMPTE ST 2067-21 and DICOM PS3.5, and Rsiz says
 * only Part 15. */
typedef enum cj2k_profile {
  CJ2K_PROFILE_NONE = 0,
  CJ2K_PROFILE_0 = 1,
  CJ2K_PROFILE_1 = 2,
  CJ2K_PROFILE_CINEMA_2K = 3,
  CJ2K_PROFILE_CINEMA_4K = 4,
  CJ2K_PROFILE_IMF_2K = 5, /* 9/7, one tile */
  CJ2K_PROFILE_IMF_4K = 6,
  CJ2K_PROFILE_IMF_8K = 7,
  CJ2K_PROFILE_IMF_2K_R = 8, /* 5/3, one tile or many */
  CJ2K_PROFILE_IMF_4K_R = 9,
  CJ2K_PROFILE_IMF_8K_R = 10,
  CJ2K_PROFILE_BROADCAST_SINGLE = 11,
  CJ2K_PROFILE_BROADCAST_MULTI = 12,
  CJ2K_PROFILE_BROADCAST_MULTI_R = 13,
  CJ2K_PROFILE_IMF_HT = 14,       /* 9/7, ST 2067-21 APP2.HT.IRV */
  CJ2K_PROFILE_IMF_HT_R = 15,     /* 5/3, ST 2067-21 APP2.HT.REV */
  CJ2K_PROFILE_DICOM_HT = 16,     /* lossy or lossless, UID 1.2.840.10008.1.2.4.203 */
  CJ2K_PROFILE_DICOM_HT_R = 17,   /* lossless, UID 1.2.840.10008.1.2.4.201 */
  CJ2K_PROFILE_DICOM_HT_RPCL = 18 /* lossless, RPCL, UID 1.2.840.10008.1.2.4.202 */
} cj2k_profile;
/* What rate control keeps small at the bytes it has. */
typedef enum cj2k_tune {
  CJ2K_TUNE_MSE = 0,   /* the squared error */
  CJ2K_TUNE_VISUAL = 1 /* the squared error weighted by contrast sensitivity, for each component and
                          wavelet level. cj2k_stats::mse is without the weights */
} cj2k_tune;

/* How many bytes a cinema profile allows, and takes if no rate or quality is set. */
typedef enum cj2k_cinema_rate {
  CJ2K_CINEMA_RATE_SAFE = 0, /* takes 230 Mbit/s; a rate that is set may have up to 250 Mbit/s */
  CJ2K_CINEMA_RATE_FULL = 1, /* takes 250 Mbit/s */
  CJ2K_CINEMA_RATE_HFR = 2   /* takes 500 Mbit/s; above 30 frames/s only */
} cj2k_cinema_rate;

/* The parameters of an encoder. Every field except those marked (*) can be set from text with
 * cj2k_params_set and read as text with cj2k_params_get. The key is the name of the field; fields
 * that form a pair or list have one key: image_offset, tile, tile_offset, cblk, precincts,
 * layer_rates, poc, roi. cj2k_params_describe lists names, ranges and defaults. */
typedef struct cj2k_params {
  size_t struct_size; /* (*) */

  /* The picture. Sizes are on the reference grid of T.800 B.2. The image covers its columns
   * [left, right), with left = image_offset_x and right = left + width. Component c has
   * ceil(right / dx[c]) - ceil(left / dx[c]) columns. The same rule gives the rows. */
  int32_t width, height;                  /* 1 .. 2^31-1 less the offset; required */
  int32_t image_offset_x, image_offset_y; /* XOsiz, YOsiz; default 0 */
  int32_t tile_width, tile_height; /* XTsiz, YTsiz; 0 (default) = one tile over the whole image */
  int32_t tile_offset_x, tile_offset_y;   /* XTOsiz, YTOsiz; <= image offset; default 0 */
  int32_t num_components;                 /* 1 .. 4; default 3 */
  int32_t depth[CJ2K_MAX_COMPONENTS];     /* bits per sample, 1 .. 16; default 8 */
  int32_t is_signed[CJ2K_MAX_COMPONENTS]; /* 0 (default) or 1 */
  int32_t dx[CJ2K_MAX_COMPONENTS];        /* XRsiz: 1 (default), 2 or 4 */
  int32_t dy[CJ2K_MAX_COMPONENTS];        /* YRsiz: 1 (default), 2 or 4 */
  cj2k_colorspace colorspace;             /* only written to JP2 files */
  int32_t alpha; /* the last component is opacity (JP2 cdef box): 1, or 2 if the colours are
                    multiplied by it; default 0 */
  /* Bits per sample in the frames, if they have more than are coded; 0 (default) = depth; depth ..
   * 16. The coded sample is the upper `depth` bits. */
  int32_t source_depth[CJ2K_MAX_COMPONENTS];
  /* The bits of a sample below the coded ones. refuse (default): they must be 0, or repeat the
   * upper bits, as scaling to the full range leaves them; then the upper bits alone are the whole
   * sample. A frame with other low bits is refused. */
  cj2k_low_bits low_bits;
  /* Not OFF (default): the frames are full-range R'G'B' of source_depth bits (8 .. 16), and are
   * coded as X'Y'Z' of 12 bits. Needs three components alike and depth 12. */
  cj2k_xyz xyz;
  /* xyz: linear light is R'G'B' to this power, 1 .. 4; 0 (default) = chosen: 2.4 for rec709 and
   * rec2020 (ITU-R BT.1886), 2.6 for p3d65 and p3dci (SMPTE RP 431-2). */
  double xyz_gamma;

  /* Transform and quantisation. */
  int32_t lossless; /* 1: 5/3, every bit-plane kept; excludes target_bytes, max_*_bytes, quality;
                       default 0 */
  cj2k_wavelet wavelet; /* default auto */
  cj2k_mct mct;         /* RCT or ICT on components 0..2; AUTO (default): on if they are alike and
                           all are colour, but not for sYCC */
  int32_t levels; /* decomposition levels, 0 .. 32; -1 (default) = auto: what the profile says,
                           else 5, or 6 for the 9/7 of more than 2048 samples along a side of a tile */
  int32_t
      guard_bits;    /* G of T.800 E.1, 1 .. 7; 0 (default) = auto: what the profile says, else 2 */
  double quant_step; /* 9/7: error-normalised base step, in LSB of the deepest component; 2^-6 ..
                           2^10; default 0 = chosen: 1, or 0.5 at 8 bits and fewer, or half of
                           `quality` if finer */
  int32_t num_roi;   /* entries used below; 0 (default) = no region of interest */
  /* The region of interest, coded by the max-shift method (T.800 Annex H): all code-blocks that hold
   * a coefficient which a rectangle needs. In rate control it comes before the rest. */
  cj2k_region roi[CJ2K_MAX_REGIONS];

  /* Code-blocks, precincts, tier-2. */
  cj2k_coder coder;                /* default: auto */
  cj2k_ht_passes ht_passes;        /* coder = ht: passes that may be coded; default all */
  int32_t frame_steps;             /* coder = ht, or effort 2 and 3 without region of
                                      interest, with the 9/7. 1: the steps of a frame are
                                      those of quant_step over 2^(n/8), n = 0 .. 7, with the n that
                                      suits its bytes best, so QCD differs from frame to frame
                                      (with EBCOT and a profile: as 0).
                                      0: they are those of quant_step, up to 0.2 dB worse.
                                      2: n is that of the first frame after open and after flush.
                                      -1 (default) = auto: 0 if the profile says so, else 1 */
  int32_t cblk_width, cblk_height; /* powers of two 4 .. 1024, product at most 4096 (T.800 Table
                                      A.18); 0x0 (default) = auto: what the profile says, else
                                      64x64 */
  int32_t cblk_style;              /* sum of CJ2K_STYLE_*; default 0 */
  /* Entries used below. 0 (default): what the profile says, else one precinct of 2^15 per
   * resolution. */
  int32_t num_precincts;
  /* Powers of two 1 .. 32768 (>= 2 above the lowest resolution). Entry 0 is for the highest
   * resolution, the last entry also for all resolutions below. */
  int32_t precinct_width[CJ2K_MAX_RESOLUTIONS];
  int32_t precinct_height[CJ2K_MAX_RESOLUTIONS];
  cj2k_progression progression; /* default auto */
  int32_t layers;               /* quality layers, 1 .. 65535; default 1 */
  int32_t num_layer_rates;      /* entries used below; 0 (default) = evenly spaced in log(bytes) */
  double layer_rates[CJ2K_MAX_LAYER_RATES]; /* compression ratio of each layer, falling; >= 1;
                                               cj2k_params_set sets `layers` too */
  int32_t num_poc; /* entries used below; 0 (default) = no progression order changes */
  /* The order of packets, in place of `progression`. Every packet must be in an entry. */
  cj2k_progression_change poc[CJ2K_MAX_PROGRESSIONS];
  cj2k_tile_parts tile_parts; /* a tile-part begins where this index or the entry of `poc` changes;
                                 default auto */
  int32_t sop, eph, tlm, plt; /* marker segments of T.800 A.8, A.7: 0 or 1; default 0, 0, 1, 0 */
  char comment[256];  /* COM marker text (ISO/IEC 8859-15), "" = none; default: name and version */
  cj2k_format format; /* raw codestream (default) or JP2 file (T.800 Annex I) per packet */

  /* The colour specification of JP2 files, which raw codestreams do not have. colorspace srgb with
   * the defaults is enumerated colour space 16, gray 17, sycc 18 (whatever the primaries and the
   * transfer are). All else is a restricted ICC profile that the library makes, and PQ and HLG are
   * refused, because such a profile cannot say them. xyz has its own primaries and transfer. */
  cj2k_primaries primaries; /* of srgb; default rec709 */
  cj2k_transfer transfer;   /* of srgb and gray; default srgb, also for what BT.709 encodes */
  /* (*) The caller's restricted ICC profile (T.800 I.5.3.3: input or display, a matrix and curves)
   * instead, for colorspace srgb or gray; NULL (default) = none. It is checked and copied by open
   * and cj2k_params_info. */
  const void* icc_profile;
  size_t icc_profile_bytes; /* (*) 132 .. 2^20; 0 (default) = none */

  /* What JP2 files say of the picture beside its colours; raw codestreams do not. */
  double resolution_x, resolution_y; /* samples per metre of the original (T.800 I.5.3.7, capture
                                        resolution), 0.001 .. 1e9; 300 per inch are 11811.0236. 0
                                        (default) = x: not written; y: the same as x */
  /* (*) Whole uuid, xml and uinf boxes (I.7), such as XMP and IPTC, for the place before the
   * codestream; NULL (default) = none. They are checked and copied by open and cj2k_params_info. */
  const void* jp2_boxes;
  size_t jp2_boxes_bytes; /* (*) 8 .. 2^26; 0 (default) = none */

  /* Profile. It sets every parameter that it fixes and that is not set, and refuses values that
   * contradict it. */
  cj2k_profile profile; /* default none */
  int32_t main_level; /* IMF and broadcast: 1 .. 11; 0 (default) = auto: the lowest for the picture,
                           frame_rate and bytes */
  int32_t sub_level;  /* IMF: 0 .. 9; -1 (default) = auto: the lowest for the bytes */
  int32_t frame_rate_num, frame_rate_den; /* frames/s, which caps in bits/s and levels need; 0
                                             (default) = unknown */
  cj2k_cinema_rate cinema_rate;           /* default safe */
  int32_t profile_strict; /* 0: what contradicts the profile is a warning, and the codestream does
                             not claim the profile (Rsiz 0); default 1: an error */

  /* Rate. Bytes count the whole codestream with all marker segments and packet headers, and with
   * format = JP2 the boxes too. */
  int64_t target_bytes;        /* bytes per frame to fill and never exceed; 0 (default) = none */
  int64_t max_frame_bytes;     /* cap per frame; 0 (default) = none */
  int64_t max_component_bytes; /* cap on the packets of each component, and if tile_parts =
                                  component on its tile-part headers too; 0 (default) = none */
  int64_t min_frame_bytes; /* shorter codestreams are padded to this with COM segments; 0 (default)
                              = none */
  double quality; /* constant quality: the step, in LSB of an 8-bit sample, of the uniform quantiser
                     with the same rate-distortion slope; 2^-8 .. 2^8, smaller is better; 0
                     (default): 2 if none of lossless, target_bytes, layer_rates, qfactor and
                     target_psnr is set, else no limit */
  double target_psnr; /* dB, 1 .. 200: each frame is cut at the highest rate-distortion slope at which
                         its PSNR, over all samples and as decoders show it, is at least this. Blocks
                         are coded in full. Caps come first: cj2k_stats::psnr says what is reached.
                         Sets measure_mse. Excludes lossless, quality, qfactor, curves, effort 2 and 3,
                         and stop pst, psb and bpi. 0 (default): none */
  int32_t qfactor; /* quality of 1 (worst) to 100, on a scale like JPEG's: fixes the quantiser
                      steps of the 9/7, by what the eye sees of each subband and component. Blocks
                      are coded in full; max_frame_bytes and max_component_bytes remain caps.
                      Excludes lossless, quality, quant_step, target_bytes, layer_rates and the 5/3;
                      frame_steps is then 0. 0 (default): none */
  cj2k_tune tune;  /* what rate control keeps small; default mse. lossless = 1 sets it to mse */
  double visual_strength; /* tune = visual: the weights (amplitudes) to this power, 2^-4 .. 4; 0
                             (default) = chosen: 0.5 */
  double visual_distance; /* tune = visual: viewing distance in picture heights, 0.1 .. 100; 0
                             (default) = 1700 samples, whatever the picture's size */
  cj2k_stop stop;         /* how far code-blocks are coded; default exact */
  int32_t effort; /* time spent for picture quality at the same bytes, 0 .. 3; default 1.
                          0: the same as 1. 2 and 3: rate-distortion optimised quantisation
                          (docs/effort.md), with stop exact or none.
                          lossless ignores it */
  int32_t stop_margin; /* PST: how far coding goes below the threshold of the GOP before, in 1/256
                          octave of slope; 0 .. 4096; default 128 */

  /* How it runs. None of these changes a byte of the codestream, except `gop` with stop = pst. */
  int32_t threads; /* CPU threads; 0 (default) = one per core; 1 .. 1024. All are started by open,
                      which warns and works with fewer if the system refuses some */
  int32_t gop;     /* frames that go through each stage together; 0 (default) = chosen: 1 on the CPU
                      and with stop = pst, on a GPU by the number of code-blocks; 1 .. 64 */
  int32_t async_depth; /* frames accepted before the first packet must be taken, rounded up to whole
                          GOPs; 0 (default) = chosen: on the CPU 1 with one thread, else 2; on a GPU
                          eight GOPs (four, of more than 8 frames), or down to two where its
                          memory is short; 1 .. 64 */
  cj2k_tier1 tier1;    /* used only on a GPU; default auto */
  int32_t measure_mse; /* 1: cj2k_stats::mse is measured on the frame as a decoder shows it; 0
                          (default): estimated */
  int32_t verify;      /* 1: each codestream is read back before it leaves: headers, packets and blocks,
                          and with lossless the caller's samples, if they are in host memory; a
                          frame that differs is CJ2K_INTERNAL. cj2k_stats::verified says how much was
                          proved. 0 (default): no */
  cj2k_curves curves;  /* (*) default off. Otherwise device = auto is the CPU, and cuda and lossless
                         are refused */
  /* "auto" (default), "cpu", "cuda" (= "cuda:0"), or "cuda:" and up to 8 devices separated by ',',
   * each by its number or as "GPU-uuid" in full. Several devices take GOPs in turn. auto: CUDA
   * device 0 if this library has the CUDA backend, the device is usable (driver, compute capability
   * 7.5, memory) and the parameters are supported there; else the CPU, and an INFO line says why,
   * a WARNING where the device is usable. cuda never falls back to the CPU. */
  char device[128];
  void* cuda_context; /* (*) the application's CUcontext; its device is used, whatever number
                         `device` has; NULL (default) = the device's primary context */
  void* cuda_stream;  /* (*) the application's CUstream that writes frames in device memory; NULL
                         (default) = none */

  cj2k_log_fn log;  /* (*) NULL (default) = silent; cj2k_log_stderr prints */
  void* log_opaque; /* (*) */

  /* More of the codestream. */
  int32_t num_layer_psnr; /* entries used below: 0 (default), or layers - 1 */
  /* dB, 1 .. 200, rising: entry l is the least PSNR of layers 0 .. l together, over all samples and as
   * decoders show it. A layer holds all points of its slope, so the PSNR is a little higher. The last
   * layer has the rest of the frame, by any rate, quality, lossless or target_psnr.
   * cj2k_params_set sets `layers` too. Sets measure_mse. Excludes layer_rates, curves, effort 2 and 3,
   * and coder = ht. */
  double layer_psnr[CJ2K_MAX_LAYER_RATES];
} cj2k_params;

typedef enum cj2k_param_type {
  CJ2K_PARAM_INT =
      0, /* int32_t; int64_t where `max` needs it; `values` has names of single values */
  CJ2K_PARAM_BOOL = 1, /* 0 or 1 */
  CJ2K_PARAM_DOUBLE = 2,
  CJ2K_PARAM_ENUM = 3,  /* one of `values`, names separated by '|'; the first has value `min` */
  CJ2K_PARAM_FLAGS = 4, /* a sum: names of `values` joined by '+', or a number; first = bit 0 */
  CJ2K_PARAM_SIZE = 5,  /* "WxH", or "N" for NxN */
  CJ2K_PARAM_LIST = 6,  /* numbers or sizes separated by ',' */
  CJ2K_PARAM_TEXT = 7,
  CJ2K_PARAM_RECORDS = 8, /* records separated by '/', each of numbers and names separated by ',' */
  CJ2K_PARAM_RATIO = 9    /* "N" or "N/D" */
} cj2k_param_type;

typedef struct cj2k_param_info {
  size_t struct_size;
  const char* name; /* as taken by cj2k_params_set */
  cj2k_param_type type;
  double min, max;           /* allowed range of each number */
  const char* default_value; /* as text */
  const char* unit;          /* "" where it has none */
  const char* values;        /* names of values, separated by '|'; "" if there are none */
  const char* clause;        /* of T.800; "" if the parameter is not of T.800 */
  const char* help;          /* one line */
} cj2k_param_info;

/* Where the samples of one component lie. To read sample (x, y), take the word of `word_bytes`
 * bytes (1, 2 or 4; host byte order) at data + y * stride_bytes + x * step_bytes and shift it right
 * by `shift`. Its low `depth` bits (with source_depth: as many as that) are the sample. Examples:
 *
 *     planar 8-bit samples           {p, pitch, 1, 1, 0}
 *     green of packed 16-bit RGB     {p + 2, pitch, 6, 2, 0}
 *     luma of P010                   {p, pitch, 2, 2, 6}
 *
 * The stride is negative if the picture is stored bottom-up. |stride_bytes| must be at least the
 * bytes of a row. Words may be unaligned. */
typedef struct cj2k_component_view {
  const void* data;
  ptrdiff_t stride_bytes;
  int32_t step_bytes;
  int32_t word_bytes;
  int32_t shift;
} cj2k_component_view;

typedef enum cj2k_memory {
  CJ2K_MEMORY_HOST = 0,
  CJ2K_MEMORY_CUDA = 1 /* the views hold addresses on the encoder's CUDA device; the encoder must
                          have only one */
} cj2k_memory;

/* A rectangle of one component that cj2k_frame::read is asked for. A plain record without
 * struct_size, which never changes. */
typedef struct cj2k_read_part {
  void* data;             /* where sample (x, y) goes; it is the library's, for the call */
  ptrdiff_t stride_bytes; /* from row to row; samples are word_bytes apart */
  int32_t x, y;           /* samples of the component; (0, 0) is its first */
  int32_t width, height;  /* >= 1 */
} cj2k_read_part;

/* Writes samples as words of `word_bytes` and `shift` of cj2k_frame::components, in host byte order.
 * @param parts  [num_components]
 * @return 0, or a number that the frame's error names */
typedef int (*cj2k_read_fn)(void* read_opaque, const cj2k_read_part* parts);

typedef struct cj2k_frame {
  size_t struct_size;
  cj2k_memory memory;
  int32_t width, height; /* must equal the parameters' */
  cj2k_component_view components[CJ2K_MAX_COMPONENTS];
  int64_t pts, duration; /* returned with the packet, not looked at */
  void* opaque;          /* returned with the packet, not looked at */
  /* If send returns CJ2K_OK, the samples belong to the encoder until it calls this function. It
   * calls it exactly once, possibly from a worker thread, possibly before send returns. With many
   * tiles it may come only when the GOP is full, or the encoder drains. NULL: the samples are read
   * before send returns. */
  void (*release)(void* release_opaque);
  void* release_opaque;
  /* CJ2K_MEMORY_CUDA: the CUstream that writes the samples. They are read after the work that is in
   * the stream when send is called. A default stream is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD.
   * NULL: cj2k_params::cuda_stream; if that is NULL too, the samples must be ready. */
  void* ready_stream;
  /* Values that replace the parameters of the same name for this frame; 0: the parameter holds.
   * Refused with lossless. If the caller has set no `quality` in the parameters, a frame with its
   * own target_bytes has no quality limit. stop = pst, psb and bpi need a cap in the parameters;
   * without one they are `exact`. */
  int64_t target_bytes, max_frame_bytes, max_component_bytes;
  double quality;
  /* Not NULL: the samples are not in memory, and the library calls this function for them, a
   * rectangle at a time. Of `components` only word_bytes and shift count, and data must be NULL.
   *
   * - With tiles, `release` and the CPU, and more than 4 to 64 M samples, the library asks for a few
   *   tiles at a time, so the picture need not fit in memory. The rectangles of one component are
   *   then of whole tiles in a row, or of whole rows of tiles. Else it asks once, for everything:
   *   without `release` in send; on a GPU; with verify, measure_mse, curves = only, stop = psb or bpi.
   * - It may ask for the same samples again, in any order, until it calls `release`: with a cap or
   *   `quality`, and stop = exact, two to six times or more. Each time they must be the same.
   * - The calls for one frame come one after the other, each from any thread; those for different
   *   frames may come at the same time.
   * - If the function does not return 0, no more calls for the frame come. The frame fails with
   *   CJ2K_READ; other frames do not.
   *
   * Refused with CUDA memory, and where low_bits = refuse would have to look. */
  cj2k_read_fn read;
  void* read_opaque;
} cj2k_frame;

/* The stages of a frame, the same on every backend. */
typedef enum cj2k_stage {
  CJ2K_STAGE_INGEST = 0,    /* reading the samples, colour, the first wavelet level; on the CPU with
                               one thread all levels */
  CJ2K_STAGE_TRANSFORM = 1, /* the other wavelet levels */
  CJ2K_STAGE_BLOCKS = 2,    /* quantisation and block coding */
  CJ2K_STAGE_RATE = 3,      /* rate control */
  CJ2K_STAGE_PACKETS = 4,   /* headers and packets; with measure_mse also the measurement */
  CJ2K_NUM_STAGES = 5
} cj2k_stage;

/* What the encoder knows about the frame of a packet. */
typedef struct cj2k_stats {
  size_t struct_size;
  int64_t bytes;                                /* = packet size */
  int64_t component_bytes[CJ2K_MAX_COMPONENTS]; /* packets of that component */
  int64_t header_bytes;                         /* everything but code-block data */
  int64_t blocks;                               /* code-blocks of the frame */
  int64_t passes_coded;                         /* coding passes made by tier-1 */
  int64_t passes_included;                      /* coding passes in the codestream */
  int32_t slope_threshold; /* slope of the last included coding passes: 24576 + 256 *
                              log2(weighted squared error removed per byte), in 16 bits; 0 =
                              everything is included */
  int32_t frame_in_gop;    /* 0 .. gop - 1 */
  /* Mean squared error in LSB^2, never negative. measure_mse = 1: of each component as decoders
   * show it. Else an estimate without their rounding and clipping: entry c is what coded component
   * c (after the colour transform) adds to the sum of the errors of the picture's components. */
  double mse[CJ2K_MAX_COMPONENTS];
  double stage_ms[CJ2K_MAX_STAGES]; /* wall time of each cj2k_stage; the other entries are 0 */
  int64_t passes_resumed; /* those of passes_coded that were coded after a block resumed */
  int64_t bytes_coded;    /* code-block bytes made by tier-1 */
  int64_t passes_left;    /* not coded because of `stop`; none codes passes_coded + passes_left */
  double saved_ms;        /* estimate: tier-1 time of passes_left, at the frame's time per pass */
  int64_t rounds; /* with stop = exact: times that blocks were coded further, or again, because
                             rate control ended where they lacked points (docs/stop.md) */
  /* Of `mse`, in dB; infinity: no error. Of an estimate with a colour transform, each of the first
   * three components has their mean. */
  double psnr;                                /* of all samples together */
  double component_psnr[CJ2K_MAX_COMPONENTS]; /* of each component */
  double q; /* the value of `quality` that has the slope of this frame; 0: everything is included */
  int32_t verified; /* verify = 1: 1 = the code-blocks were decoded and are what was coded; 2 = and the
                       frame decodes to the samples that were sent. Else 0 */
} cj2k_stats;

/* The codestream of one frame, or a frame that failed and has none. */
typedef struct cj2k_packet {
  size_t struct_size;
  uint8_t* data; /* the caller may read and change it until cj2k_packet_release;
                    CJ2K_PACKET_PADDING zero bytes follow */
  size_t size;
  int64_t pts, duration; /* of the frame */
  void* opaque;          /* of the frame */
  void* slot;            /* for the library only: the memory of `data` */
} cj2k_packet;

typedef struct cj2k_info {
  size_t struct_size;
  const char* backend; /* "cpu", "cuda" */
  const char* simd;    /* instruction set in use, e.g. "AVX2" */
  int32_t threads, gop, async_depth;
  int64_t num_tiles, num_blocks, num_packets;
  int64_t host_bytes;      /* planned host memory, all frames in flight; without copies of frames
                              that have no release */
  int64_t header_bytes;    /* main and tile-part headers of every codestream */
  const char* device_name; /* "" on the CPU; the names of several devices are joined by ", " */
  int64_t device_bytes;    /* device memory reserved, per device; 0 on the CPU */
  int64_t pinned_bytes;    /* host memory that is page-locked for copies; 0 on the CPU */
  const char*
      tier1;    /* in use on the GPU, "classic", "cibo" or "fused"; "" on the CPU and with HT */
  int32_t rsiz; /* the codestream's claim (T.800 Table A.10); 0 without a profile */
  int64_t least_frame_bytes;     /* the smallest target_bytes and max_frame_bytes that open takes */
  int64_t least_component_bytes; /* the smallest max_component_bytes */
  int64_t most_frame_bytes;      /* the cap of a frame by the parameters but layer_rates, and the
                                    profile; 0: none */
} cj2k_info;

/* A call that failed, for programs. */
typedef struct cj2k_error {
  size_t struct_size;
  cj2k_status status;  /* CJ2K_OK: no call has failed */
  char param[32];      /* the parameter that must be changed, by its name or that of its field; ""
                          if it is not known, or not one */
  double value;        /* of `param`; 0 where that is no single number */
  double min, max;     /* the range of `value` beside the other parameters; min > max: none */
  char message[1024];  /* one line for people, as from cj2k_encoder_last_error */
} cj2k_error;

/* A CUDA device, for the parameter `device`. */
typedef struct cj2k_device_info {
  size_t struct_size;
  int32_t index;        /* "cuda:<index>" */
  int32_t usable;       /* 1: this library can use it; 0: `reason` says why not */
  char name[128];       /* product name */
  char uuid[48];        /* "GPU-" and 36 characters: "cuda:<uuid>" */
  int64_t memory_bytes; /* total, free or not */
  int32_t compute_major, compute_minor;
  char reason[256]; /* one line; "" if the device is usable */
} cj2k_device_info;

CJ2K_API const char* cj2k_version(void);
CJ2K_API int cj2k_version_number(void); /* CJ2K_VERSION of the library */
CJ2K_API const char* cj2k_status_string(cj2k_status status);
CJ2K_API void cj2k_log_stderr(void* opaque, cj2k_log_level level, const char* message);

/* Fills `p` with the defaults. */
CJ2K_API cj2k_status cj2k_params_init(cj2k_params* p, size_t struct_size);
/* Sets one parameter from text. An error leaves `p` as it was. `comment` is taken as UTF-8 and
 * becomes ISO/IEC 8859-15, of which it must be; what is not UTF-8 stays as it is. */
CJ2K_API cj2k_status cj2k_params_set(cj2k_params* p, const char* key, const char* value);
/* Sets `profile`, `main_level`, `sub_level` and `coder` to what a value of Rsiz (T.800 Table A.10)
 * says, each where it is not set. CJ2K_INVALID: the value is of no profile of the library, or
 * contradicts `profile`. */
CJ2K_API cj2k_status cj2k_params_set_rsiz(cj2k_params* p, int rsiz);
/* Says what the colours of the frames are, in code points of ITU-T H.273 (2: not known). Sets
 * `primaries` and `transfer` and, unless `xyz` is OFF, xyz_gamma to the exponent of the transfer (0,
 * chosen, if it names none), and an `xyz` that is AUTO to the primaries. Set format, colorspace, xyz
 * and profile before. An error says that a JP2 file or X'Y'Z' has no place for the colours, or that
 * the profile has others, or digital cinema another frame rate; with profile_strict = 0 that is a
 * warning, and the codestream claims the profile all the same. */
CJ2K_API cj2k_status cj2k_params_set_colours(cj2k_params* p, int primaries, int transfer, int matrix,
                                             int full_range);
/* Writes the value of one parameter as text that cj2k_params_set takes. CJ2K_MAX_PARAM_TEXT bytes
 * are enough for every value; CJ2K_INVALID if `size` is too small for this one. */
CJ2K_API cj2k_status cj2k_params_get(const cj2k_params* p, const char* key, char* buffer,
                                     size_t size);
/* Describes row `index` of the parameter table; CJ2K_EOF after the last. The strings are static. */
CJ2K_API cj2k_status cj2k_params_describe(int index, cj2k_param_info* info);
/* Says what an encoder with these parameters would reserve, without opening it or touching a
 * device. `device_name` is empty. With device = auto, `backend` is empty too, and the figures are
 * those of the CPU. */
CJ2K_API cj2k_status cj2k_params_info(const cj2k_params* p, cj2k_info* info);
/* Describes CUDA device `index`, usable or not; CJ2K_EOF after the last. Without a CUDA backend or
 * a driver there are no devices. The call loads the driver, but makes no context on a device. */
CJ2K_API cj2k_status cj2k_device_describe(int index, cj2k_device_info* info);

/* Checks `p`, plans, reserves all memory and starts the threads. The encoder keeps no pointer into
 * `p`. On failure *encoder = NULL. */
CJ2K_API CJ2K_NODISCARD cj2k_status cj2k_encoder_open(const cj2k_params* p, cj2k_encoder** encoder);
/* Sets cj2k_params::icc_profile before the first frame is taken; NULL, 0: without one. CJ2K_INVALID: a
 * frame or the end has been taken, or the profile is not one that a JP2 file may have; the encoder
 * stays as it was. After any other error the encoder can only be closed. */
CJ2K_API cj2k_status cj2k_encoder_set_icc(cj2k_encoder* encoder, const void* profile, size_t bytes);
CJ2K_API cj2k_status cj2k_encoder_info(const cj2k_encoder* encoder, cj2k_info* info);
/* Gives the parameters, with each "chosen" and "auto" replaced by its value. `log`, `log_opaque`,
 * `icc_profile` and `jp2_boxes` are NULL. async_depth is rounded up to whole GOPs and can be above its range. */
CJ2K_API cj2k_status cj2k_encoder_params(const cj2k_encoder* encoder, cj2k_params* p);
/* One line that says why the last failed call for this encoder failed, in whichever thread; "" if
 * no call has failed. With NULL: the same for the last failed call without an encoder in this
 * thread, such as cj2k_params_set or cj2k_encoder_open. The text is valid until this thread calls
 * cj2k_encoder_last_error again. */
CJ2K_API const char* cj2k_encoder_last_error(const cj2k_encoder* encoder);
/* The same call as data. With NULL in place of `error`, and with a wrong struct_size: CJ2K_INVALID. */
CJ2K_API cj2k_status cj2k_last_error(const cj2k_encoder* encoder, cj2k_error* error);
/* One line for people: the profile, the quality, the most bytes that a codestream can have, or the budget
 * of a film, and what it runs on. `fields`: 1, or 2 if each field of a frame has a codestream, so that frame_rate counts
 * fields. CJ2K_MAX_PARAM_TEXT bytes are enough for this text and those below; CJ2K_INVALID if `size`
 * is too small. */
CJ2K_API cj2k_status cj2k_encoder_headline(const cj2k_encoder* encoder, int fields, char* text,
                                           size_t size);
/* One line for people about all packets received since open: their number and bytes, the PSNR of all
 * together and of the worst, and the time in each stage. "" if there was none. */
CJ2K_API cj2k_status cj2k_encoder_summary(const cj2k_encoder* encoder, int fields, char* text,
                                          size_t size);
/* What cj2k_packet_stats tells of a packet, as a JSON object in one line (docs/library.md names
 * its members). If receive has returned the error of a frame, the object says why: {"error":"..."}. */
CJ2K_API cj2k_status cj2k_packet_json(const cj2k_encoder* encoder, const cj2k_packet* packet,
                                      char* text, size_t size);
/* Takes one frame, or NULL to drain. */
CJ2K_API CJ2K_NODISCARD cj2k_status cj2k_encoder_send_frame(cj2k_encoder* encoder,
                                                            const cj2k_frame* frame);
/* Gives the packet of the next frame, in the order of the frames. A packet is due when
 * `async_depth` frames are in flight, when another frame of its GOP has been received, and while
 * the encoder drains. The call waits for a packet that is due. If a frame failed, its error is
 * returned once, and `packet` has the frame's pts, duration and opaque, data = NULL and size = 0.
 * CJ2K_INVALID is never the error of a frame: it says that `packet` is wrong. With CJ2K_INVALID,
 * CJ2K_AGAIN and CJ2K_EOF, `packet` is not written. */
CJ2K_API CJ2K_NODISCARD cj2k_status cj2k_encoder_receive_packet(cj2k_encoder* encoder,
                                                                cj2k_packet* packet);
/* The same, but the call gives a packet as soon as it is ready, due or not. It waits at most
 * `timeout_ms`, also for a frame that another thread sends; CJ2K_AGAIN: no packet was ready in that
 * time. 0: no wait. Negative: no limit. */
CJ2K_API CJ2K_NODISCARD cj2k_status cj2k_encoder_receive_packet_timed(cj2k_encoder* encoder,
                                                                      cj2k_packet* packet,
                                                                      int timeout_ms);
/* Gives the statistics of a packet that has been received and not released. */
CJ2K_API cj2k_status cj2k_packet_stats(const cj2k_packet* packet, cj2k_stats* stats);
/* Gives the bytes back to the library. A packet that is not released uses memory, but does not
 * count as a frame in flight, and stays valid after flush and close. NULL and a packet that was
 * released before are allowed. */
CJ2K_API void cj2k_packet_release(cj2k_packet* packet);
/* Calls `release` of all frames in flight and drops them. The encoder is then ready for a new
 * sequence. */
CJ2K_API cj2k_status cj2k_encoder_flush(cj2k_encoder* encoder);
/* Waits for the work in flight and frees everything except packets that have not been released.
 * NULL is allowed. */
CJ2K_API void cj2k_encoder_close(cj2k_encoder* encoder);

/* Frees bytes that the library has returned as `void** out`. NULL is allowed. */
CJ2K_API void cj2k_free(void* out);

#ifdef __cplusplus
}
#endif

#endif /* CJ2K_H */
