"""The parts of the toolkit in a site's configuration, whether they stand alone or in the plugin `explorable`."""

from __future__ import annotations

from typing import Any

from mkdocs.config.defaults import MkDocsConfig


def part(config: MkDocsConfig, name: str) -> Any:
    """The part called `live`, `measured` or `figures`. Raises `LookupError` if the site has it not."""
    whole = getattr(config.plugins.get("explorable"), "parts", {})
    found = whole.get(name) or config.plugins.get("book" if name == "figures" else name)
    if found is None:
        raise LookupError(name)
    return found
