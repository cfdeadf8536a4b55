# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The choice of the device, with and without a GPU."""

import re

from pictures import H, W, noise


def test_cuda_encodes_or_says_why_not(ff):
    why = ff.why_no_cuda
    if not why:
        ff.check_same(("-device", "cuda"), ("-device", "cuda:0"), ("-device", "cpu"), frames=noise("rgb24", W, H, 5))
        ff.check_refused("-device", "cuda:255", says=["CUDA device 255 not in [0, "])
        return
    assert re.search("CUDA|libcuda", why), why
    for device in ("cuda", "cuda:0", "CUDA:0,1", "cuda:GPU-01234567-89ab-cdef-0123-456789abcdef"):
        log = ff.check_refused("-device", device, says=["CUDA" if "without CUDA" in why else "CUDA d"])
        assert "device auto takes the CPU" not in log, log


def test_auto_falls_back_with_one_line(ff):
    why = ff.why_no_cuda
    frames = noise("rgb24", W, H, 2)
    encoded = ff.encode("-device", "auto", frames=frames, log="info")
    assert encoded.packets == ff.packets("-device", "cpu", frames=frames)
    lines = [line for line in encoded.log.splitlines() if "device auto takes the CPU" in line]
    if why and "without CUDA" not in why:
        assert len(lines) == 1, encoded.log
        assert lines[0].split("takes the CPU: ")[1] == why.split("] ")[1]
    else:
        assert not lines, encoded.log
