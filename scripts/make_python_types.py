#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Prints python/cj2k/_values.py, the types of the parameters, from the table of the package cj2k:

    PYTHONPATH=build/release/python scripts/make_python_types.py > python/cj2k/_values.py
"""

import textwrap

import cj2k

HEAD = '''# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The types of the parameters; made by scripts/make_python_types.py."""

from typing import Any, Literal, Optional, Sequence, SupportsFloat, SupportsIndex, Tuple, TypedDict, Union

_Int = Optional[SupportsIndex]
_Float = Union[None, SupportsFloat, SupportsIndex]
_Size = Union[None, str, SupportsIndex, Sequence[SupportsIndex]]
_List = Union[None, str, SupportsFloat, SupportsIndex, Sequence[Any]]
_Flags = Union[None, str, SupportsIndex, Sequence[str]]
_Ratio = Union[None, str, SupportsFloat, SupportsIndex, Tuple[SupportsIndex, SupportsIndex]]


class ParamValues(TypedDict, total=False):
    """Parameters of the library, as encode takes them."""

'''
TAIL = '''

class EncoderValues(ParamValues, total=False):
    """Parameters that Encoder and Film take."""

    subsampling: Any
    colour: Optional[str]
    icc_profile: Optional[bytes]
    jp2_boxes: Optional[bytes]
    cuda_context: int
    cuda_stream: int
'''
TYPES = {"bool": "_Int", "int": "_Int", "float": "_Float", "size": "_Size", "list": "_List", "records": "_List",
         "flags": "_Flags", "ratio": "_Ratio", "text": "Optional[str]"}


def type_of(param):
    names = f"Literal[{', '.join(map(repr, param.values))}]".replace("'", '"')
    if param.type == "enum":
        return f"Optional[{names}]"
    if param.type in ("int", "float") and param.values:
        return f"Union[{TYPES[param.type]}, {names}]"
    return TYPES[param.type]


def text():
    """The module."""
    rows = [f"    {p.name}: {type_of(p)}" for p in cj2k.params().values() if p.name not in ("width", "height")]
    rows = [textwrap.fill(row, 118, subsequent_indent=" " * 8, break_on_hyphens=False) for row in rows]
    return HEAD + "\n".join(rows) + "\n" + TAIL


if __name__ == "__main__":
    print(text(), end="")
