"""The options of the part `live`; `schema.json` describes them for editors."""

from __future__ import annotations

from dataclasses import dataclass

from explorable.shared.errors import UnbuildableError, require_within


@dataclass(frozen=True)
class LiveOptions:
    """Options of snippets and acts. Paths are relative to the book's folder unless something else is said.

    enabled: off, live fences stay plain text.
    cache, cache_dir: whether and where results are kept between builds.
    time_limit_s: the most seconds a snippet, or a function of an act, may take at build.
    acts_dir: the folder of the acts, inside the docs folder. It is not published.
    home: the folder of the pages where acts are at home. An act may stand on other pages too; the reader's progress and
        ledger lead to this one.
    packages: what snippets may import beside the standard library, by its name in Pyodide's distribution. The build
        fetches the wheels, and those of what they depend on, and the site serves them.
    packages_lock, packages_url: the lock file that names the wheels, and where they lie; empty: Pyodide's.
    records: the folder of the records that acts may show.
    """

    enabled: bool = True
    cache: bool = True
    cache_dir: str = ".cache/live"
    time_limit_s: float = 10
    acts_dir: str = "acts"
    home: str = "lab"
    packages: tuple[str, ...] = ()
    packages_lock: str = ""
    packages_url: str = ""
    records: str = "records"

    def __post_init__(self) -> None:
        """Raise `UnbuildableError` for a limit in which nothing can run, and for acts outside the docs folder."""
        require_within("acts_dir", self.acts_dir)
        if self.time_limit_s <= 0:
            raise UnbuildableError(f"'time_limit_s': {self.time_limit_s} is not allowed; it must be more than 0")
