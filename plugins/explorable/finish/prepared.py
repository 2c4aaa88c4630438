"""What a site needs that was prepared, and that its generator cannot give it: files, programs and styles.

It can be done again: what an earlier time put into a page is replaced.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from explorable.manifest import FILE, Manifest, Prepared
from explorable.shared import intake
from explorable.shared.log import logger

log = logger("prepare")

_BEGIN, _END = "<!-- explorable: programs -->", "<!-- end -->"
OTHER = f"the site has another state of this page. Name '{FILE}' under `watch` of the configuration, and build again"
_OURS = re.compile(f"{_BEGIN}.*?{_END}", re.DOTALL)


def unfit(site: Path, manifest: Manifest, prepared: Prepared) -> Iterator[str]:
    """Why a site cannot get the files that were prepared: they are gone, or the site has something else there."""
    files = Path(manifest.root, prepared.files)
    if not files.is_dir():
        yield f"{files}: there is no such folder; run `python -m explorable prepare`"
    for name, addresses in (("styles", prepared.styles), ("modules", prepared.modules), ("scripts", prepared.scripts)):
        if "" in addresses:
            yield f"{FILE}: prepared.{name} has an empty address; prepare the book again"
    within = (folder for folder in (files, *files.parents) if Path(manifest.root) in folder.parents)
    for link in (*(folder for folder in within if folder.is_symlink()), *intake.links(files)):
        yield f"{link}: it is a symbolic link to '{link.readlink()}', which is not followed; prepare the book again"
    for path in sorted(files.rglob("*")):
        place = site / path.relative_to(files)
        if place.exists() and place.is_dir() != path.is_dir():
            yield f"{place}: it must be a {'folder' if path.is_dir() else 'file'}; build the site again"


def complete(site: Path, manifest: Manifest, prepared: Prepared) -> None:
    """Complete a built site. A page that was built from another state than the prepared one is told as a warning."""
    for page in prepared.pages.values():
        built = site / page.file
        if not built.is_file() or page.mark not in built.read_text(encoding="utf-8"):
            log.warning("%s: %s", manifest.source(page.file)[0], OTHER)
    for folder in prepared.unpublished:
        if site.resolve() in (site / folder).resolve().parents:
            shutil.rmtree(site / folder, ignore_errors=True)
    shutil.copytree(Path(manifest.root, prepared.files), site, dirs_exist_ok=True)
    for file in site.rglob("*.html"):
        # The page for what is not found is shown under any address, so nothing can be named from it.
        if file != site / "404.html":
            text = _OURS.sub("", file.read_text(encoding="utf-8"))
            head = _head(posixpath.dirname(file.relative_to(site).as_posix()) or ".", prepared)
            file.write_text(text.replace("</head>", f"{head}</head>", 1), encoding="utf-8")


def _head(folder: str, prepared: Prepared) -> str:
    """What a page in a folder of the site loads."""
    lines = [f'<link rel="stylesheet" href="{posixpath.relpath(uri, folder)}">' for uri in prepared.styles]
    lines += [f'<script type="module" src="{posixpath.relpath(uri, folder)}"></script>' for uri in prepared.modules]
    lines += [f'<script defer src="{posixpath.relpath(uri, folder)}"></script>' for uri in prepared.scripts]
    return "".join([_BEGIN, *lines, _END])
