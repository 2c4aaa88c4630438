"""Write the anchors that the pages of a commit had, of headings and of numbered things: `tests/docs/old_anchors.json`.

    python -m tools.old_anchors COMMIT

Readers have links to them. Tests ask that each still leads somewhere. A page's title is left out: it is the
top of the page, where an anchor that is not there leads too.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown.extensions.toc import slugify, unique

from explorable.shared.scan import scan

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests/docs/old_anchors.json"
PREFIXES = {"figure": "fig", "table": "tab", "equation": "eq"}
_HEADING = re.compile(r"#{2,6} +(.+?)(?: +\{[^}]*?#([\w.-]+)[^}]*\})? *#*")
_MARKUP = re.compile(r"[`*]|\{[\w-]+\} |\[([^]]*)\]\([^)]*\)")


def anchors(text: str) -> Iterator[str]:
    """The anchors of a page's Markdown, in its order; those that only a build knows are left out."""
    used: set[str] = set()
    page = scan(text)
    blocks = {block.line: block for block in page.blocks if block.name in PREFIXES}
    for number, line in enumerate(page.prose, 1):
        if heading := _HEADING.fullmatch(line):
            title = _MARKUP.sub(r"\1", heading[1])
            # A number in a heading is known to the build alone.
            if heading[2] or "`{" not in heading[1]:
                yield heading[2] or unique(slugify(title, "-"), used)
        elif block := blocks.get(number):
            yield f"{PREFIXES[block.name]}-{block.argument}"


def pages(commit: str) -> dict[str, list[str]]:
    """Page, as its address -> its anchors.

    Raises:
        subprocess.CalledProcessError: there is no such commit.
    """
    found = {}
    for path in _git("ls-tree", "-r", "--name-only", commit, "docs").splitlines():
        # What lies beside an act is a part of its page.
        if path.endswith(".md") and not path.startswith("docs/acts/"):
            address = re.sub(r"(^|/)index$", r"\1", path.removeprefix("docs/").removesuffix(".md"))
            address += "/" if address and not address.endswith("/") else ""
            found[address] = list(dict.fromkeys(anchors(_git("show", f"{commit}:{path}"))))
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main(arguments: list[str]) -> int:
    """Write the list; 2 for a commit that is not there."""
    if len(arguments) != 1:
        print("old_anchors: give one commit", file=sys.stderr)
        return 2
    try:
        found = pages(arguments[0])
    except subprocess.CalledProcessError as error:
        print(f"old_anchors: {error.stderr.strip().splitlines()[0]}", file=sys.stderr)
        return 2
    LIST.write_text(json.dumps({"commit": arguments[0], "pages": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
