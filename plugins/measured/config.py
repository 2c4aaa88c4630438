"""The options of the plugin in `mkdocs.yml`; `schema.json` beside this file describes them for editors."""

from __future__ import annotations

from mkdocs.config import config_options as c
from mkdocs.config.base import Config


class MeasuredConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin `measured`. Paths are relative to `mkdocs.yml` unless something else is said.

    enabled: without it, pages keep the syntax as it is written.
    engine: the folder of the engine's package.
    records: the folder of the records, `<suite>/<case>--<device>.json`.
    reference: the folder of the engine's reference, relative to the docs folder; empty for numbers without links. A
            module is documented on the page that says `::: module`.
    published: the folder of the site in which copies of the records are published.
    claims: the folder of the claim files.
    reported: the folder of the reported numbers, `rows.toml` and `sources.toml`.
    claims_page: the page that lists the claims, relative to the docs folder.
    cache: whether computed values are kept between builds.
    cache_dir: where they are kept.
    """

    enabled = c.Type(bool, default=True)
    engine = c.Type(str, default="engine")
    records = c.Type(str, default="gpu_bench/results")
    reference = c.Type(str, default="reference/engine")
    published = c.Type(str, default="measured/records")
    claims = c.Type(str, default="docs/claims")
    reported = c.Type(str, default="docs/measured/reported")
    claims_page = c.Type(str, default="claims/index.md")
    cache = c.Type(bool, default=True)
    cache_dir = c.Type(str, default=".cache/measured")
