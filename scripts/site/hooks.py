# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Hooks of mkdocs.yml.

The pages link to files outside of docs/, as they do in the repository: other Markdown files, results, scripts. The site has
those below project/, source files as pages with their text. Figures are put into the page, so that they take its colours.
Pages of docs/ that the navigation does not name are added to it.
"""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUTSIDE = "project/"
LINK = re.compile(r"(\]\(|^\[[^\]]+\]:\s+)([^)#\s]+)", re.MULTILINE)
LANGUAGES = {".sh": "bash", ".py": "python", ".cc": "cpp", ".h": "cpp", ".c": "c", ".cu": "cpp", ".yaml": "yaml", ".json": "json"}
FIGURE = re.compile(r'<img alt="([^"]*)" src="(?:\.\./)*figures/([\w-]+\.svg)" ?/?>')
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
FIGURES = re.compile(rf"<p>((?:{FIGURE.pattern}\s*)+)</p>")


def path_of(src_uri):
    """The place in the repository of a page of the site."""
    if src_uri.startswith(OUTSIDE):
        path = src_uri.removeprefix(OUTSIDE)
        return path if (ROOT / path).exists() else path.removesuffix(".md")
    return "docs/" + src_uri


def target_of(path, link):
    """The file of the repository outside of docs/ that `link` in the file `path` names; None: something else."""
    if "://" in link or link.startswith(("/", "mailto:")):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    if (ROOT / target / "README.md").is_file():
        target = posixpath.join(target, "README.md")
    return target if (ROOT / target).is_file() else None


def uri_of(target):
    """The place on the site of a file of the repository."""
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return OUTSIDE + target + ("" if target.endswith((".md", ".png", ".svg")) else ".md")


def page_of(config, target, inclusion=InclusionLevel.NOT_IN_NAV):
    uri = uri_of(target)
    if target.endswith((".png", ".svg")):
        return File.generated(config, uri, abs_src_path=str(ROOT / target), inclusion=InclusionLevel.NOT_IN_NAV)
    text = (ROOT / target).read_text(encoding="utf-8")
    if not target.endswith(".md"):
        fence = "````" if "```" in text else "```"
        language = LANGUAGES.get(pathlib.PurePath(target).suffix, "text")
        text = f"# {target}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
    return File.generated(config, uri, content=text, inclusion=inclusion)


def on_config(config):
    named = set(re.findall(r"[\w-]+\.md", str(config.nav)))
    others = sorted(page.name for page in DOCS.glob("*.md") if page.name not in named)
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    reference += others
    return config


def on_files(files, config):
    """Adds what the pages link to outside of docs/, and what that links to."""
    todo = [path_of(file.src_uri) for file in files.documentation_pages()]
    for uri in re.findall(rf"{OUTSIDE}[\w/-]+\.md", str(config.nav)):
        target = uri.removeprefix(OUTSIDE)
        files.append(page_of(config, target, InclusionLevel.INCLUDED))
        todo.append(target)
    while todo:
        path = todo.pop()
        for _, link in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
            target = target_of(path, link)
            if target and not target.startswith("docs/") and not files.get_file_from_path(uri_of(target)):
                files.append(page_of(config, target))
                if target.endswith(".md"):
                    todo.append(target)
    return files


def on_page_markdown(markdown, page, config, files):
    path = path_of(page.file.src_uri)
    if not path.endswith(".md"):
        return markdown

    def replaced(match):
        target = target_of(path, match[2])
        if not target:
            return match[0]
        return match[1] + posixpath.relpath(uri_of(target), posixpath.dirname(page.file.src_uri) or ".")

    return LINK.sub(replaced, markdown)


def labelled(table):
    """Each cell with the heading of its column, which site.css shows where a wide table does not fit."""
    headings = [re.sub(r"<[^>]+>", "", heading) for heading in re.findall(r"<th[^>]*>(.*?)</th>", table)]
    if len(headings) < 3:
        return table

    def row(match):
        cells = iter(headings)
        return re.sub(r"<td", lambda _: f'<td data-label="{next(cells, "")}"', match[0])

    return re.sub(r"<tr>.*?</tr>", row, table, flags=re.DOTALL)


def on_page_content(html, page, config, files):
    def inlined(match):
        svg = (DOCS / "figures" / match[2]).read_text(encoding="utf-8")
        return f'<div class="figure" role="img" aria-label="{match[1]}">{svg}</div>'

    html = TABLE.sub(lambda match: labelled(match[0]), html)
    return FIGURES.sub(lambda match: f'<div class="figures">{FIGURE.sub(inlined, match[1])}</div>', html)
