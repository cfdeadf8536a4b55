#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""make_man.py PROGRAM [VERSION [DATE]]: prints a man page made of what `PROGRAM --help` says.

The text has headings in capitals at the margin, groups two columns in ("  Rate:"), and paragraphs four columns in. There,
"-x, --name VALUE   what it does" is an option; lines further in belong to the one above. SYNOPSIS, EXAMPLES and EXIT STATUS
keep their lines. So a man page has no text of its own, and cannot differ from the help.
"""
import pathlib
import re
import subprocess
import sys

AS_THEY_ARE = ("SYNOPSIS", "EXAMPLES", "EXIT STATUS")


def escaped(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("^", r"\(ha").replace("~", r"\(ti").replace("`", r"\(ga")
    text = text.replace("'", r"\(aq")
    return "\\&" + text if text[:1] in (".", "'") else text


def sections(text):
    """Yields (heading, lines) of a help text."""
    heading, lines = None, []
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][A-Z ]+", line):
            if heading:
                yield heading, lines
            heading, lines = line, []
        else:
            lines.append(line)
    yield heading, lines


def body(lines):
    """Paragraphs, groups and options."""
    out, tag_open = [], False
    new_paragraph = True
    for line in lines:
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        if not words:
            new_paragraph = True
        elif indent == 2:
            out += [f".SS {escaped(words.rstrip(':'))}"]
            tag_open = new_paragraph = False
        elif indent == 4 and words.startswith("-"):
            name, _, what = words.partition("  ")
            out += [".TP", f".B {escaped(name)}"] + ([escaped(what.strip())] if what.strip() else [])
            tag_open = True
            new_paragraph = False
        else:
            if (new_paragraph or tag_open) and indent == 4 and out:
                out.append(".PP")
                tag_open = False
            out.append(escaped(words))
            new_paragraph = False
    return out


def page(program, version, date):
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    name = pathlib.Path(program).name
    out = [r'.\" Made by scripts/make_man.py of what --help says.', f'.TH {name.upper()} 1 "{date}" "libcj2k {version}"']
    for heading, lines in sections(text):
        out.append(f".SH {escaped(heading)}")
        if heading in AS_THEY_ARE:
            kept = "\n".join(lines).strip("\n").splitlines()
            out += [".EX"] + [escaped(line[4:]) for line in kept] + [".EE"]
        else:
            out += body(lines)
    other = {"cj2k": "cj2k\\-check", "cj2k-check": "cj2k"}.get(name)
    if other:
        out += [".SH SEE ALSO", f".BR {other} (1)"]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sys.stdout.write(page(sys.argv[1], *(sys.argv[2:] + ["", ""])[:2]))
