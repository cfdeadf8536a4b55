/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Codestreams from one block coder to the other, without an encoder. The rules of cj2k.h hold for this
 * function too.
 */
#ifndef CJ2K_TRANSCODE_H
#define CJ2K_TRANSCODE_H

#include "cj2k.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes the block coder of a codestream, or of a JP2 or JPH file, to a cj2k_coder (AUTO: the other
 * one), without a wavelet: each code-block is decoded to its quantised coefficients and coded again,
 * so all of them stay as they are, and the picture with them. The result has no profile
 * (docs/archive.md says what stays).
 * layers: 0, as they are, or 1, all become one, for decoders of HT that read no more.
 * max_bytes: 0, or the most bytes of the result, whose code-blocks then end earlier, all at one slope;
 * `coder` is EBCOT or AUTO, and Part 1 keeps its profile.
 * threads: 0 = one per core; the bytes do not depend on it.
 * *out, of *out_bytes, is for cj2k_free. CJ2K_INVALID: `in` is damaged, or no JPEG 2000, or its headers
 * take more than max_bytes; CJ2K_NOT_SUPPORTED: Part 2, and what HT has no place for.
 * cj2k_last_error(NULL) has the text. */
CJ2K_API cj2k_status cj2k_transcode(int coder, int layers, int64_t max_bytes, int threads,
                                    const void* in, size_t in_bytes, void** out, size_t* out_bytes);

#ifdef __cplusplus
}
#endif

#endif /* CJ2K_TRANSCODE_H */
