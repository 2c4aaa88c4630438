"""The options of the `live` plugin in `mkdocs.yml`; `schema.json` describes them for editors."""

from __future__ import annotations

from typing import Any

from mkdocs.config import config_options as option
from mkdocs.config.base import Config, ValidationError


class Positive(option.Type[Any]):
    """A number that is more than 0."""

    def __init__(self, default: float) -> None:
        super().__init__((int, float), default=default)

    def run_validation(self, value: object) -> Any:
        """Raise `ValidationError` for zero and for less."""
        number = super().run_validation(value)
        if isinstance(number, bool) or number <= 0:
            raise ValidationError(f"{value} is not allowed; it must be more than 0")
        return number


class LiveConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin.

    enabled: off, the plugin does nothing and live fences stay plain text.
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

    enabled = option.Type(bool, default=True)
    cache = option.Type(bool, default=True)
    cache_dir = option.Type(str, default=".cache/live")
    time_limit_s = Positive(default=10)
    acts_dir = option.Type(str, default="acts")
    home = option.Type(str, default="lab")
    packages = option.ListOfItems(option.Type(str), default=[])
    packages_lock = option.Type(str, default="")
    packages_url = option.Type(str, default="")
    records = option.Type(str, default="records")
