"""Packs what the browser's Python loads: two wheels, an archive for later, and a lock file that names packages by hash.

A wheel is sent compressed as a whole, which makes it a fifth smaller than entry by entry: modules are alike.

The lock file that comes with Pyodide lists hundreds of packages. Ours lists the book's library and live runtime, which
a start loads, and the `packages` of mkdocs.yml, which an import loads. A package whose hash differs is refused by the
browser.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from pyodide_lock import PackageSpec

import explorable
from explorable.book import Book, current
from explorable.live.build.lean import lean
from explorable.live.build.packages import Package
from explorable.live.library.bytecode import archived, packed, packed_as_one
from explorable.shared.cache import fingerprint

PACKED = ".packed"
"""The end of the name of an archive that is compressed as a whole: a start unpacks it before Python gets it.

No server knows the name. Of `.gz` some say that it is compressed on its way, and then a browser unpacks it unasked.
"""
LOCK_FILE = "pyodide-lock.json"
"""What Pyodide's npm package calls the list of all packages of its distribution."""
EXPLORABLE = Path(__file__).parents[2]


@dataclass(frozen=True, eq=False)
class Wheel:
    """A pure Python wheel: the distribution's name and version, its top-level module, its file name and its files.

    Of a wheel that did not change there is one, so that what is made of it can be kept with it.
    """

    name: str
    number: str
    module: str
    filename: str
    files: Mapping[str, bytes]

    @cached_property
    def data(self) -> bytes:
        """The wheel, as Python unpacks it. Its entries are not compressed."""
        return archived(self.files)

    @cached_property
    def sent(self) -> bytes:
        """The wheel as a site has it: `PACKED` stands behind its name there."""
        return packed_as_one(self.files)

    @cached_property
    def sha256(self) -> str:
        """The hash under which the lock file lists it, which is checked before it is unpacked."""
        return hashlib.sha256(self.sent).hexdigest()

    @property
    def version(self) -> str:
        """The version with a fingerprint of the content: what a reader's ledger names as its engine."""
        return f"{self.number}+{self.sha256[:8]}"

    @property
    def path(self) -> str:
        """Where it lies beside the lock file: in a folder of its own, so that new content has a new address."""
        return f"{self.sha256[:16]}/{self.filename}"


def build_wheels(package: Path = EXPLORABLE, book: Book | None = None) -> tuple[Wheel, ...]:
    """Build the wheels of the live runtime and, first, of the book's library. Equal sources give equal bytes.

    Args:
        package: the folder of this package.
        book: by default the one that this process builds.
    """
    book = book or current()
    name = package.name
    runtime = (f"{name}/__init__.py", f"{name}/live/__init__.py", f"{name}/live/runtime")
    fields = {f"{name}/live/runtime/ledger.json": json.dumps(book.ledger_fields(), sort_keys=True)}
    if book.library is not None:
        fields[f"{name}/live/runtime/library.txt"] = book.library.name
    texts = tuple(fields.items())
    made = _Contents(package.parent, "explorable-live", explorable.__version__, name, runtime, texts).wheel()
    if book.library is None:
        return (made,)
    library = book.library
    later = tuple(name.replace(".", "/") for name in book.later if name.startswith(f"{library.name}."))
    own = _Contents(library.parent, library.name, book.version, library.name, (library.name,), exclude=later)
    return (own.wheel(), made)


def later_archive(book: Book | None = None) -> bytes | None:
    """The modules that a start leaves out, as an archive for Python's path; None for a book that names none."""
    book = book or current()
    if not book.later:
        return None
    files = {
        f"{name.replace('.', '/')}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for name, folder in sorted(book.later.items())
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".json"))
    }
    return packed(files)


def lock(wheels: Sequence[Wheel], distribution: Path, packages: Sequence[Package] = ()) -> bytes:
    """The site's lock file.

    Args:
        wheels: what every start loads; they lie beside the lock file.
        distribution: the folder of Pyodide's npm package.
        packages: what a snippet may import.
    """
    original = json.loads((distribution / LOCK_FILE).read_text(encoding="utf-8"))
    listed = {package.name: package.locked for package in packages} | {wheel.name: _spec(wheel) for wheel in wheels}
    return json.dumps({"info": original["info"], "packages": listed}, indent=1, sort_keys=True).encode()


def pyodide_version(distribution: Path) -> str:
    """The version of the installed npm package."""
    return str(json.loads((distribution / "package.json").read_text(encoding="utf-8"))["version"])


def distribution_url(distribution: Path) -> str:
    """Where Pyodide serves the packages of this version."""
    return f"https://cdn.jsdelivr.net/pyodide/v{pyodide_version(distribution)}/full/"


def _spec(wheel: Wheel) -> dict[str, Any]:
    spec = PackageSpec(
        name=wheel.name,
        version=wheel.number,
        file_name=wheel.path,
        install_dir="site",
        sha256=wheel.sha256,
        package_type="package",
        imports=[wheel.module],
    )
    return spec.model_dump()


@dataclass(frozen=True)
class _Contents:
    """What `include` names below `root`, not `exclude`, and `texts`: path in the wheel and content."""

    root: Path
    name: str
    version: str
    module: str
    include: tuple[str, ...]
    texts: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] = ()

    def wheel(self) -> Wheel:
        """The wheel with these contents. A server builds it again only when a file has changed."""
        return _built(self, fingerprint(self.root / part for part in self.include))


@lru_cache(maxsize=4)
def _built(contents: _Contents, _files: str) -> Wheel:
    root, name, version = str(contents.root), contents.name, contents.version
    with tempfile.TemporaryDirectory() as folder:
        forced = {}
        for number, (place, text) in enumerate(contents.texts):
            file = Path(folder) / str(number)
            file.write_text(text, encoding="utf-8")
            forced[str(file)] = place
        config = {
            "project": {"name": name, "version": version, "requires-python": ">=3.11"},
            "tool": {"hatch": {"build": {"targets": {"wheel": {
                "only-include": [*contents.include],
                "exclude": [f"/{part}/" for part in contents.exclude],
                "force-include": forced,
            }}}}},
        }  # fmt: skip
        builder = WheelBuilder(root, config=config, metadata=ProjectMetadata(root, None, config))
        path = Path(next(iter(builder.build(directory=folder, versions=["standard"]))))
        return Wheel(name, version, contents.module, path.name, _lean(path))


NOT_RUN = (".pyi", "py.typed", "__main__.py", ".dist-info/licenses/LICENSE")
"""Ends of names of files that no program of a page reads. The licenses stand in the site's own list."""


def _lean(wheel: Path) -> Mapping[str, bytes]:
    """The files of a wheel that readers download: what the page's Python runs and may be asked.

    Its own list of files is empty, because the lock file has the hash of the whole.
    """
    files = {}
    with zipfile.ZipFile(wheel) as whole:
        for name in whole.namelist():
            if not name.endswith(NOT_RUN):
                content = b"" if name.endswith(".dist-info/RECORD") else whole.read(name)
                files[name] = lean(content, package=name.endswith("/__init__.py")) if name.endswith(".py") else content
    return files
