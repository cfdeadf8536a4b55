# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The parameters, as the library describes them, and their values as text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Dict, NamedTuple, Tuple

from . import _cj2k


class Param(NamedTuple):
    """A parameter of libcj2k."""

    name: str
    #: "int", "bool", "float", "enum", "flags", "size", "list", "text", "records" or "ratio"
    type: str
    #: The range of each number.
    min: float
    max: float
    #: As text.
    default: str
    #: The names of values.
    values: Tuple[str, ...]
    unit: str
    #: The clause of T.800; "" if the parameter is not of T.800.
    clause: str
    help: str

    def range_text(self) -> str:
        """What the parameter takes, in a few words."""
        numbers = f"{self.min:.15g} .. {self.max:.15g}"
        if self.type == "bool":
            return "0, 1"
        if self.type == "text":
            return "text"
        if self.type == "flags":
            return " + ".join(self.values)
        if self.type == "enum":
            return ", ".join(self.values)
        return ", ".join((*self.values, numbers))


def _describe() -> Dict[str, Param]:
    table = {}
    for name, kind, low, high, default, values, unit, clause, text in _cj2k.describe():
        names = tuple(values.split("|")) if values else ()
        table[name] = Param(name, kind, low, high, default, names, unit, clause, text)
    return table


_TABLE = _describe()
# What separates the parts of a value that is not one number.
_SEPARATORS = {"size": "x", "list": ",", "flags": "+", "ratio": "/", "records": "/"}


def params() -> Dict[str, Param]:
    """The parameters that `encode` and `Encoder` take, by name, as the library describes them."""
    return dict(_TABLE)


def docstring(text: str) -> str:
    """`text` with the table of parameters below."""
    rows = []
    for p in _TABLE.values():
        unit = f" {p.unit}" if p.unit else ""
        default = f", default {p.default}" if p.default else ""
        rows.append(f"{p.name}: {p.range_text()}{unit}{default}\n    {p.help}")
    return text.rstrip() + "\n\nParameters of the library:\n\n" + "\n".join(rows) + "\n"


def _part(name: str, value: Any, inner: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # bool_: NumPy's
        return "1" if value else "0"
    if isinstance(value, (tuple, list)):
        return inner.join(_part(name, part, inner) for part in value)
    if isinstance(value, float):
        return repr(value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{name}: {type(value).__name__} is not a number, text, tuple or list")


def to_text(name: str, value: Any) -> str:
    """A value as cj2k_params_set takes it: (256, 128) is "256x128" for a size, "256,128" for a list."""
    kind = _TABLE[name].type if name in _TABLE else "text"
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}" if kind == "ratio" else repr(float(value))
    inner = "," if kind == "records" else "x"  # of [(256, 256), (128, 128)]
    if isinstance(value, (tuple, list)):
        separator = _SEPARATORS.get(kind, ",")
        if kind == "records" and value and not isinstance(value[0], (tuple, list, str)):
            separator = ","  # a single record
        return separator.join(_part(name, part, inner) for part in value)
    return _part(name, value, inner)


def fill(raw: _cj2k.Params, values: Dict[str, Any]) -> None:
    """Sets parameters in the order of the table, which is the order that rules count on; None: not set."""
    order = {name: i for i, name in enumerate(_TABLE)}
    for name in sorted(values, key=lambda n: order.get(n, -1)):
        if values[name] is None:
            continue
        text = to_text(name, values[name])
        if "\0" in text:
            raise ValueError(f"{name}: a text ends at its NUL, which is at {text.index(chr(0))}")
        raw.set(name, text)
