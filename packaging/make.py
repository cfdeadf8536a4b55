#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""make.py OUT [URL]

Writes the source of the last commit, OUT/cj2k-VERSION.tar.gz, and the recipes of this folder with its version and hashes. URL is
where users get the archive; without it, the file in OUT."""

import gzip
import hashlib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
RECIPES = ["vcpkg/vcpkg.json", "vcpkg/portfile.cmake", "conan/conanfile.py", "homebrew/cj2k.rb", "conda-forge/recipe.yaml",
           "rpm/cj2k.spec"]


def version():
    return re.search(r'CJ2K_VERSION_STRING "([^"]+)"', (ROOT / "libcj2k/include/cj2k.h").read_text())[1]


def fill(out, archive, url):
    """Writes the recipes for an archive."""
    data = archive.read_bytes()
    values = {"VERSION": version(), "URL": url, "SHA256": hashlib.sha256(data).hexdigest(),
              "SHA512": hashlib.sha512(data).hexdigest()}
    for name in RECIPES:
        text = re.sub(r"@(\w+)@", lambda found: values[found[1]], (HERE / name).read_text(encoding="utf-8"))
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def main(out, url=None):
    out = pathlib.Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    name = f"cj2k-{version()}"
    tar = subprocess.run(["git", "-C", ROOT, "archive", f"--prefix={name}/", "HEAD"], check=True, stdout=subprocess.PIPE).stdout
    archive = out / f"{name}.tar.gz"
    archive.write_bytes(gzip.compress(tar, mtime=0))
    fill(out, archive, url or archive.as_uri())
    print(archive)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
