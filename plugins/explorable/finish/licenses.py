"""`LICENSES.txt`, made from what is really in the built site.

Every file under `assets/` belongs to a component of the book's `components.toml`, or the strict build fails.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from explorable.finish.offline import LANGUAGES
from explorable.live.build.assets import DIST, PYODIDE
from explorable.live.build.runner import LIVE
from explorable.shared.log import logger

log = logger("licenses")

COMPONENTS = "components.toml"
RULE = "=" * 78
_IN_WHEEL = LIVE.parent / "licenses/npm.txt"
"""Where `hatch_build.py` puts the texts of those packages."""
_LICENSE = re.compile(r"(^|/)(licen[cs]e|copying|notice)[^/]*$", re.IGNORECASE)


def write(site: Path, folder: Path, root: Path) -> None:
    """Write `LICENSES.txt` into the built site.

    Args:
        site: the built site.
        folder: the book's folder with `components.toml` and texts.
        root: the folder that messages name files from.
    """
    # What the theme brings for other languages no page loads, and it has licenses of its own.
    shutil.rmtree(site / LANGUAGES, ignore_errors=True)
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
    known = components(folder)
    shown = folder.relative_to(root) if folder.is_relative_to(root) else folder
    for name in unknown(names, known):
        log.warning("no license is known for %s: name it in %s", name, shown / COMPONENTS)
    for problem in outdated(folder, known):
        log.warning("%s/%s", shown, problem)
    (site / "LICENSES.txt").write_text(text(site, names, folder), encoding="utf-8")


def components(folder: Path) -> list[dict[str, Any]]:
    """What of others may be in the site, as the book lists it."""
    found: list[dict[str, Any]] = tomllib.loads((folder / COMPONENTS).read_text(encoding="utf-8"))["component"]
    return found


def unknown(names: Sequence[str], components: Sequence[Mapping[str, Any]]) -> list[str]:
    """The site's assets that belong to no component."""
    patterns = [pattern for component in components for pattern in component["files"]]
    return [name for name in names if name.startswith("assets/") and not _matches(name, patterns)]


def outdated(folder: Path, components: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each text of a folder that was collected from another version than is in the site."""
    for component in components:
        if "version" not in component:
            continue
        said = (folder / component["text"]).read_text(encoding="utf-8").partition("\n")[0]
        present = vl_convert.get_vega_version() if component["version"] == "vega" else _version(component["version"])
        if said.partition("@")[2] != present:
            yield f"{component['text']} is of {said}, and the site has {present}: collect it again"


def text(site: Path, names: Sequence[str], folder: Path) -> str:
    """What is in the site and whose it is: a list, then the texts."""
    lines = ["What is in this site, and under which licenses.", ""]
    parts = []
    for component in components(folder):
        if not any(_matches(name, component["files"]) for name in names):
            continue
        found = "\n\n".join(f"{title}\n\n{body.strip()}" for title, body in _texts(component, site, names, folder))
        if not found:
            continue
        source = f"\n  {component['source']}" if component["source"] else ""
        lines.append(f"{component['name']}\n  {component['license']}{source}")
        parts.append(f"{RULE}\n{component['name']}\n{RULE}\n\n{found}")
    return "\n".join(lines) + "\n\n" + "\n\n".join(parts) + "\n"


def _texts(component: Mapping[str, Any], site: Path, names: Sequence[str], folder: Path) -> Iterator[tuple[str, str]]:
    if "text" in component:
        yield component["license"], (folder / component["text"]).read_text(encoding="utf-8")
    elif component.get("npm"):
        yield from _of_npm(folder)
    elif component.get("wheels"):
        yield from _of_wheels(site, [name for name in names if fnmatch(name, "assets/live/wheels/*.whl")])
    else:
        yield from _of_distribution(component["distribution"], component.get("path"))


def _of_npm(copies: Path) -> Iterator[tuple[str, str]]:
    """The licenses of the packages that the bundler put into the browser code."""
    if _IN_WHEEL.is_file():
        yield "npm", _IN_WHEEL.read_text(encoding="utf-8")
        return
    for name in json.loads((DIST / "manifest.json").read_text(encoding="utf-8"))["packages"]:
        folder = PYODIDE.parent / name
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        title = f"{name} {about['version']} ({about['license']})"
        bodies = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if _LICENSE.search(path.name)]
        # For a package that is published without its repository's license, the book has a copy.
        if not bodies and (copy := copies / f"{name}.txt").is_file():
            bodies = [copy.read_text(encoding="utf-8")]
        if not bodies:
            log.warning("the npm package %s brings no license text", name)
        yield title, "\n".join(bodies)


def _of_wheels(site: Path, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The licenses that wheels bring."""
    for name in names:
        with zipfile.ZipFile(site / name) as wheel:
            inside = [one for one in wheel.namelist() if ".dist-info/" in one and _LICENSE.search(one)]
            yield (
                name.rpartition("/")[2],
                "\n".join(wheel.read(one).decode("utf-8", "replace") for one in inside) or "(as its project says)",
            )


@cache
def _of_distribution(name: str, path: str | None) -> tuple[tuple[str, str], ...]:
    """The licenses of an installed distribution, or the one at a path in it. A server looks for them only once."""
    found = [
        file
        for file in importlib.metadata.files(name) or []
        if (str(file) == path if path else ".dist-info/" in str(file) and _LICENSE.search(str(file)))
    ]
    if not found:
        log.warning("the distribution %s brings no license text%s", name, f" at {path}" if path else "")
    return tuple((f"{name} {_version(name)}", Path(str(file.locate())).read_text(encoding="utf-8")) for file in found)


def _version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)
