#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""One budget for a film whose segments are encoded apart:

    film.py BITS_PER_SECOND FRAMES_PER_SECOND LEAST_BITS_PER_SECOND NAME...

Reads the logs of pass 1 of all segments, NAME-1.log, in their order (libcj2k/film/film_log.h, in base64 as FFmpeg has it), and gives
each frame its bytes as pass 2 of the whole film does (libcj2k/film/allocate.cc, with power 1; tests/cluster compares them). For each
segment it writes NAME-0.log, a log whose pass 2 gives its frames just these: their curves have the same bytes at all slopes. What
the rate of a segment has beyond them goes to one more frame at the end, which is never encoded. NAME.rate has that rate and the
cap of each frame, in bits per second.
"""

import base64
import fractions
import struct
import sys

HEAD = struct.Struct("<8sIIQIIQQQ")  # magic, version, points, hash of the parameters, width, height, frames, cap, hash
POINTS = 72
CURVE = struct.Struct(f"<{POINTS}I{POINTS}f")
STEP = 128 * 256  # levels from point to point
TOP = (POINTS - 1) * STEP


class Failure(Exception):
    """Said to the user."""


def read_log(name):
    """Its head, without the hash, and the bytes over slope of each frame."""
    with open(f"{name}-1.log", "rb") as file:
        log = base64.b64decode(file.read(), validate=True)
    *head, _ = HEAD.unpack_from(log)
    if head[:3] != [b"CJ2KFILM", 1, POINTS] or len(log) != HEAD.size + head[6] * CURVE.size:
        raise Failure(f"{name}-1.log is no log of pass 1")
    return head, [CURVE.unpack_from(log, at)[:POINTS] for at in range(HEAD.size, len(log), CURVE.size)]


def write_log(name, head, curves):
    """`curves` are the bytes over slope of each frame. Errors do not count with power 1."""
    head = list(head)
    head[6] = len(curves)
    body = b"".join(CURVE.pack(*curve, *[0.0] * POINTS) for curve in curves)
    value = 0xCBF29CE484222325  # FNV-1a
    for byte in HEAD.pack(*head, 0)[:-8] + body:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    with open(f"{name}-0.log", "wb") as file:
        file.write(base64.b64encode(HEAD.pack(*head, value) + body))


def allocate(curves, total, cap, least):
    """The bytes of each frame."""
    cap = min(cap or total, total)
    floors = [max(least, curve[-1]) for curve in curves]
    if max(floors) > cap or sum(floors) > total:
        raise Failure(f"{total} bytes for {len(curves)} frames of at most {cap} are too few: they need {sum(floors)}, "
                      f"and one of them {max(floors)}")

    def at(level):
        if level < 0:
            return [cap] * len(curves)
        if level > TOP:
            return floors
        point, rest = divmod(level, STEP)
        below = min(point + 1, POINTS - 1)
        return [min(max(curve[point] - (curve[point] - curve[below]) * rest // STEP, floor), cap)
                for curve, floor in zip(curves, floors)]

    total = min(total, cap * len(curves))
    low, high = -1, TOP + 1
    while low < high:
        middle = (low + high) // 2
        if sum(at(middle)) <= total:
            high = middle
        else:
            low = middle + 1
    targets = at(low)
    left = total - sum(targets)
    if left == 0:
        return targets
    rooms = [more - target for more, target in zip(at(low - 1), targets)]
    room, passed, given, spread = sum(rooms), 0, 0, []
    for target, more in zip(targets, rooms):
        passed += more
        spread.append(target + passed * left // room - given)
        given = passed * left // room
    return spread


def bits_for(size, frames, rate):
    """The lowest rate whose bytes for `frames` are `size` or more."""
    return -(-size * 8 * rate.numerator // (frames * rate.denominator))


def main():
    bits, rate, least = int(sys.argv[1]), fractions.Fraction(sys.argv[2]), int(sys.argv[3])
    names = sys.argv[4:]
    logs = [read_log(name) for name in names]
    heads = [head for head, _ in logs]
    for name, head in zip(names, heads):
        if head[:6] + head[7:] != heads[0][:6] + heads[0][7:]:
            raise Failure(f"{name}-1.log is of other pictures or parameters than {names[0]}-1.log")
    curves = [curve for _, part in logs for curve in part]
    cap, least = heads[0][7], int(least / rate) // 8
    total = bits * len(curves) * rate.denominator // (8 * rate.numerator)
    targets = allocate(curves, total, cap, least)
    print(f"budget      {sum(targets)} of {total} bytes, each frame at most {cap}")
    for name, head in zip(names, heads):
        own, targets = targets[:head[6]], targets[head[6]:]
        whole = bits_for(sum(own) + least + 1, len(own) + 1, rate)
        if whole * (len(own) + 1) * rate.denominator // (8 * rate.numerator) - sum(own) >= cap:
            raise Failure(f"a cap of {cap} bytes leaves no room between -minrate and -maxrate")
        write_log(name, head, [(size,) * POINTS for size in own] + [[cap * (POINTS - 1 - i) // (POINTS - 1) for i in range(POINTS)]])
        with open(f"{name}.rate", "w", encoding="ascii") as file:
            file.write(f"{whole} {bits_for(cap, 1, rate)}\n")


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError, ValueError, struct.error) as reason:
        sys.exit(f"film.py: {reason}")
