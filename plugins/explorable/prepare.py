"""`explorable prepare`: converts the pages that hold a construct, for a generator that runs no program of ours.

All that they show is computed here. The extension `explorable.prepared` then gives the generator the pages, and
`explorable finish` gives the site what it needs besides.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markdown import Markdown

from explorable import prepared
from explorable.build import Build
from explorable.config import Configuration, Heading
from explorable.finish import publish
from explorable.manifest import CACHE, FILE, Manifest, PageFacts, Prepared, PreparedPage
from explorable.measured import wrong
from explorable.shared.cache import write_atomically
from explorable.shared.errors import UnbuildableError
from explorable.shared.locate import source_path
from explorable.shared.scan import scan
from explorable.site import Offer, Page

FILES = f"{CACHE}/files"


def prepare(config: Configuration) -> int:
    """Prepare a book. What is wrong with it is said by warnings. Returns how many of its pages were prepared.

    Raises:
        UnbuildableError: It cannot be prepared.
    """
    if config.options is None:
        raise UnbuildableError(f"{config.file}: 'explorable' is not among the plugins; name it there, with its options")
    if prepared.NAME not in config.extensions:
        raise UnbuildableError(f"{config.file}: '{prepared.NAME}' is not among the markdown_extensions; add it")
    build = Build(config.options, config.root)
    if "notebooks" in build.parts:
        raise UnbuildableError(f"{config.file}: notebooks: Zensical makes pages of Markdown alone; leave them out")
    about = Manifest(
        name=config.text("site_name"),
        short_name=str(config.extra.get("short_name") or ""),
        description=config.text("site_description"),
        address=config.text("site_url"),
    )
    try:
        offers = list(build.begin(about, config.docs, config.theme))
        pages = _pages(config, build)
        assets = build.files(list(pages.values()))
        build.number([pages[one.source] for one in config.headings if one.source in pages])
        known = build.site.located.known
        names = known.fences, known.blocks, known.roles
        chosen = [page for page in pages.values() if prepared.holds(scan(page.written), *names)]
        converter = _converter(config, offers)
        release = {name: value for offer in offers for name, value in offer.extra.items()}
        converted = {page.source: _converted(page, build, converter, config, release) for page in chosen}
        assets += build.made()
    finally:
        build.end()
    files = config.root / FILES
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir(parents=True)
    publish(files, assets)
    made = Prepared(
        converted,
        *names,
        files=FILES,
        styles=[uri for offer in offers for uri in offer.styles],
        modules=[uri for offer in offers for uri in offer.modules],
        scripts=[uri for offer in offers for uri in offer.scripts],
        unpublished=[build.acts().acts_dir] if "live" in build.parts else [],
    )
    manifest = replace(build.manifest(_facts(config, pages), [*made.modules, *made.scripts]), prepared=made)
    _write_later(config.root / FILE, manifest.text().encode())
    return len(converted)


def _write_later(file: Path, content: bytes) -> None:
    """Write a file, and date it in a later second than it was: Zensical compares the seconds of what it watches."""
    before = int(file.stat().st_mtime) if file.is_file() else 0
    write_atomically(file, content)
    if (seconds := before + 1) > file.stat().st_mtime:
        os.utime(file, (seconds, seconds))


def _pages(config: Configuration, build: Build) -> dict[str, Page]:
    """The pages by their source."""
    found = {}
    docs = config.docs
    for path in sorted(docs.rglob("*.md")):
        source = path.relative_to(docs).as_posix()
        if not build.publishes(source, path) or "/." in f"/{source}" or build.undecodable(path):
            continue
        written = path.read_text(encoding="utf-8-sig")
        url = _address(source, folders=config.folders)
        report = wrong.form_of(config.extra, posixpath.join(config.text("site_url"), url))
        found[source] = Page(source, path, url, written, scan(written).title, report)
    return found


def _address(source: str, *, folders: bool) -> str:
    """The address of a page below the site's root."""
    stem = source.removesuffix(".md")
    folder, name = posixpath.split(stem)
    if name in ("index", "README"):
        return f"{folder}/" if folder else ""
    return f"{stem}/" if folders else f"{stem}.html"


def _file(url: str) -> str:
    return f"{url}index.html" if url[-1:] in ("", "/") else url


def _converter(config: Configuration, offers: Sequence[Offer]) -> Markdown:
    given = {name: dict(options) for name, options in config.extensions.items() if name != prepared.NAME}
    ours = [extension for offer in offers for extension in offer.extensions]
    try:
        return Markdown(extensions=[*given, *ours], extension_configs=given)
    except (ImportError, TypeError, KeyError) as error:
        raise UnbuildableError(f"{config.file}: markdown_extensions: {error}") from None


def _converted(
    page: Page, build: Build, converter: Markdown, config: Configuration, extra: Mapping[str, Any]
) -> PreparedPage:
    read = scan(page.written)
    text = "\n".join(read.lines[read.body :]).lstrip("\n")
    markdown, _ = build.enter(page, text)
    converter.reset()
    html = converter.convert(markdown)
    contents: list[Mapping[str, Any]] = getattr(converter, "toc_tokens", [])
    return PreparedPage(prepared.digest_of(text.split("\n")), html, contents, _file(page.url))


def _facts(config: Configuration, pages: Mapping[str, Page]) -> dict[str, PageFacts]:
    """What the manifest says of each page, by its file below the site."""
    headings = {heading.source: heading for heading in config.headings}
    facts = {}
    for page in pages.values():
        heading = headings.get(page.source, Heading(page.source, "", ""))
        title = heading.title or page.title or scan(page.written).heading
        facts[_file(page.url)] = PageFacts(source_path(page.path or page.source, config.root), title, heading.section)
    return facts
