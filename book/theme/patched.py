"""Scripts of the theme, changed in the copy that is published."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from explorable.shared.log import logger

log = logger("theme")


def patch(files: Iterable[Path], done: str, change: Callable[[str], str | None], what: str) -> None:
    """Change scripts of a built site. One in which a place is not found stays as it is, and the strict build fails.

    Args:
        files: The scripts.
        done: What stands in a script that is changed already.
        change: The script with the change; None where its place is missing.
        what: What has changed where it is missing, and where to look.
    """
    for file in files:
        script = file.read_text(encoding="utf-8")
        if done in script:
            continue
        if (changed := change(script)) is None:
            log.warning("%s: %s", file.name, what)
        else:
            file.write_text(changed, encoding="utf-8")
