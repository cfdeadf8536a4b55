#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds the documentation as a site, build/site/index.html, with links and anchors checked:
#
#     scripts/build_site.sh [--serve]        --serve: on http://127.0.0.1:8000, anew after each change
#
# The first run installs MkDocs and its theme from PyPI into build/site-python, in the versions of scripts/site/requirements.txt.
# Later ones need no network, and the site loads nothing from elsewhere. The figures are drawn by scripts/site/figures.py.
# Exit status: 0 built; 1 an error, such as a link to nowhere; 75 PyPI cannot be reached.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=/usr/bin/python3 # Debian's; another one may come first in PATH
[ -x "$python" ] || python=python3
packages=$root/build/site-python
requirements=scripts/site/requirements.txt

install_packages() {
  rm -rf "$packages"
  "$python" -m pip install -q --root-user-action=ignore --disable-pip-version-check --target "$packages" -r "$requirements" &&
    cp "$requirements" "$packages/installed"
}

if ! cmp -s "$requirements" "$packages/installed"; then
  log=$(mktemp)
  if ! install_packages > "$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "no site: MkDocs cannot be installed from PyPI (pip: see above)"
    exit 75
  fi
  rm -f "$log"
fi

export PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1
if [ "${1:-}" = --serve ]; then
  exec "$python" -m mkdocs serve
elif [ $# -gt 0 ]; then
  sed -n '5,12p' "${BASH_SOURCE[0]}" | cut -c3- >&2
  exit 2
fi
"$python" scripts/site/figures.py --check
"$python" -m mkdocs build --strict
echo "build/site/index.html"
