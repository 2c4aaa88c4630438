"""The options of the `live` plugin in `mkdocs.yml`; `schema.json` describes them for editors."""

from __future__ import annotations

from mkdocs.config import config_options as option
from mkdocs.config.base import Config


class LiveConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin.

    enabled: off, the plugin does nothing and live fences stay plain text.
    cache, cache_dir: whether and where results are kept between builds.
    time_limit_s: the most seconds a snippet, or a function of an act, may take at build.
    acts_dir: the folder of the acts, inside the docs folder. It is not published.
    """

    enabled = option.Type(bool, default=True)
    cache = option.Type(bool, default=True)
    cache_dir = option.Type(str, default=".cache/live")
    time_limit_s = option.Type((int, float), default=10)
    acts_dir = option.Type(str, default="acts")
