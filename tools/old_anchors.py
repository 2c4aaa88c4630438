"""Write the addresses that a built site had, of pages, places in them, and downloads: `tests/docs/old_anchors.json`.

    python -m tools.old_anchors SITE COMMIT

Readers have links to them. Tests ask that each still leads somewhere. A page's title is left out: it is the top of the
page, where an anchor that is not there leads too. So are places to which only a page's own links lead, as references.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urljoin

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests/docs/old_anchors.json"
_ARTICLE = re.compile(r"<article.*?</article>", re.DOTALL)
_DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)
_PLACE = re.compile(
    r'<(?:h[2-6]|figure|div|tr|live-act)\s(?:[^>]*\s)?id="(?!act-[\w-]+-(?:title|predict|reveal|explore|reflect|moves)")([^"]+)"'
)
"""Headings, what has a number, claims, acts; not the headings within an act."""
_LINK = re.compile(r'<a\s(?:[^>]*\s)?href="([^"#]+\.(?!html)\w+)"')
_START = re.compile(r".*#(?:[a-z_]+\.)*|.*/")
"""A page and the module of an object in it, or the folder of a file."""
_WIDTH = 180
_SITE = "https://site/"


def addresses(site: Path) -> Iterator[str]:
    """Of each page with `#`, of the places in its text, and of the files it links to; from the site's root."""
    for file in sorted(site.rglob("index.html")):
        page = file.relative_to(site).as_posix().removesuffix("index.html")
        html = file.read_text("utf-8")
        yield f"{page}#"
        yield from (
            f"{page}#{place}"
            for article in _ARTICLE.findall(html)
            for place in _PLACE.findall(_DRAWING.sub("", article))
        )
        linked = (urljoin(_SITE + page, link) for link in _LINK.findall(html))
        yield from (link.removeprefix(_SITE) for link in linked if link.startswith(_SITE))


def written(commit: str, found: Iterable[str]) -> str:
    """The list as JSON: how addresses begin -> how they go on, many in a line."""
    starts: dict[str, list[str]] = {}
    for address in dict.fromkeys(found):
        start = match[0] if (match := _START.match(address)) else ""
        starts.setdefault(start, []).extend(filter(None, [address.removeprefix(start)]))
    lines = []
    for start, ends in sorted(starts.items()):
        texts = textwrap.wrap(" ".join(ends), _WIDTH, break_on_hyphens=False, break_long_words=False)
        lines.append(f"  {json.dumps(start)}: [" + ",\n   ".join(map(json.dumps, texts)) + "]")
    return f'{{\n "commit": {json.dumps(commit)},\n "addresses": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def read(text: str) -> list[str]:
    """The addresses of a list."""
    starts: dict[str, list[str]] = json.loads(text)["addresses"]
    ends = {start: " ".join(lines).split() for start, lines in starts.items()}
    return [start + end for start in ends for end in [*([""] if start.endswith("#") else []), *ends[start]]]


def main(arguments: list[str]) -> int:
    """Write the list; 2 for a folder that holds no site."""
    if len(arguments) != 2 or not Path(arguments[0], "index.html").is_file():
        print("old_anchors: give the folder of a built site, and its commit", file=sys.stderr)
        return 2
    LIST.write_text(written(arguments[1], addresses(Path(arguments[0]))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
