# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Numbers from the environment. README.md lists them."""

import os
import sys


def numbers(name: str, default: str, least: float, most: float) -> list[float]:
    """The numbers of a list such as 10,60,300. Ends the program with one line if one of them is none, or out of range."""
    text = os.environ.get(name) or default
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(least <= value <= most for value in values):
        sys.exit(f"{name} {text!r} is not {'a number' if ',' not in default else 'a list of numbers'} "
                 f"from {least:g} to {most:g}")
    return values


def number(name: str, default: float, least: float, most: float) -> float:
    values = numbers(name, f"{default:g}", least, most)
    if len(values) > 1:
        sys.exit(f"{name} {os.environ[name]!r} is not a number from {least:g} to {most:g}")
    return values[0]
