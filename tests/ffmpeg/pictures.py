# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Pictures made from a seed. A picture is one list of samples per component, rows without padding."""

import random

import pixfmt

W, H = 96, 64  # if a test gives no size


def noise(fmt_name, width, height, num_frames, seed=1):
    """Random samples over the full range, so that every bit of every component is exercised."""
    fmt = pixfmt.parse(fmt_name)
    rng = random.Random(f"{fmt_name} {seed}")
    frames = []
    for _ in range(num_frames):
        samples = []
        for component in range(fmt.num_components):
            w, h = fmt.size(component, width, height)
            samples.append([rng.getrandbits(fmt.depth) for _ in range(w * h)])
        frames.append(samples)
    return frames


def smooth(fmt_name, width, height, num_frames):
    """Ramps with a little noise, whose size falls with the quality."""
    fmt = pixfmt.parse(fmt_name)
    rng = random.Random(f"smooth {fmt_name}")
    top = (1 << fmt.depth) - 1

    def sample(n, component, x, y):
        ramp = (x * (component + 3) + y * 5 + 7 * n) % 61 / 61
        return min(top, max(0, int(top * (0.5 + 0.35 * (ramp - 0.5) + rng.gauss(0, 0.02)))))

    frames = []
    for n in range(num_frames):
        samples = []
        for component in range(fmt.num_components):
            w, h = fmt.size(component, width, height)
            samples.append([sample(n, component, x, y) for y in range(h) for x in range(w)])
        frames.append(samples)
    return frames


def packed(fmt_name, width, height, frames):
    """Raw video of `frames`."""
    fmt = pixfmt.parse(fmt_name)
    return b"".join(fmt.pack(samples, width, height) for samples in frames)
