# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The built site, build/site (scripts/build_site.sh): links, anchors, pictures, and nothing loaded from elsewhere."""

import html.parser
import json
import pathlib
import re
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build/site"
PAGES = sorted(path for path in SITE.rglob("*.html") if path.name != "404.html")
# What a browser fetches by itself.
FETCHED = {"img": "src", "script": "src", "source": "src", "iframe": "src", "object": "data"}


class Page(html.parser.HTMLParser):
    """The links, anchors, fetched files and pictures of a page."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.ids, self.fetched, self.pictures = path, [], set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "img":
            self.pictures.append(values.get("alt"))
        if "figure" in (values.get("class") or "").split():
            self.pictures.append(values.get("aria-label"))
        if values.get(FETCHED.get(tag)):
            self.fetched.append(values[FETCHED[tag]])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.fetched.append(values["href"])


@pytest.fixture(scope="module")
def site():
    return {path: Page(path) for path in PAGES}


def test_every_page_is_there(site):
    for page in (ROOT / "docs").glob("*.md"):
        assert SITE / f"{page.stem}.html" in site, page.name
    index = site[SITE / "index.html"]
    missing = {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")} - set(index.links) - {"index.html"}
    assert not missing, f"not in the navigation: {missing}"


def test_links_lead_somewhere(site):
    lost = []
    for path, page in site.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                lost.append(f"{path.relative_to(SITE)}: {link}")
            elif parts.fragment and target in site and urllib.parse.unquote(parts.fragment) not in site[target].ids:
                lost.append(f"{path.relative_to(SITE)}: {link}")
    assert not lost, lost


def test_nothing_comes_from_elsewhere(site):
    outside = [f"{path.name}: {name}" for path, page in site.items() for name in page.fetched
               if re.match(r"(\w+:)?//", name) or not (path.parent / name.split("?")[0]).is_file()]
    for path in SITE.rglob("*.css"):
        outside += [f"{path.name}: {url}" for url in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", path.read_text())]
    assert not outside, outside


def test_pictures_say_what_they_show(site):
    assert sum(len(page.pictures) for page in site.values()) > 8
    short = [f"{path.name}: {text}" for path, page in site.items() for text in page.pictures if not text or len(text) < 5]
    assert not short, short


def test_figures_are_in_their_pages(site):
    """Inline, so that they follow the switch between light and dark."""
    for path in site:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'<img[^>]*figures/\w+\.svg', text) or "project" in path.parts, path.name
    assert "<svg" in (SITE / "benchmarks.html").read_text(encoding="utf-8").split('<div class="figures">', 1)[1][:400]


def test_search_knows_the_options():
    index = json.loads((SITE / "search/search_index.json").read_text(encoding="utf-8"))
    assert any("max_component_bytes" in entry["text"] for entry in index["docs"] if entry["location"].startswith("options.html"))
