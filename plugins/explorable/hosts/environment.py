"""MkDocs hooks for what is wrong with the machine and not with a page: one line in place of a traceback.

And for what lies outside of the book: a symbolic link in the docs folder is not followed, so that no file of the
machine is published.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, MkDocsException
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import Files

from explorable.shared.errors import Defect
from explorable.shared.locate import source_path

log = get_plugin_logger("environment")


# First: no other plugin has read it yet.
@event_priority(300)
def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Leave out what a symbolic link brings, and say so, once for each link."""
    root = Path(config.docs_dir)
    links: set[Path] = set()
    for file in list(files):
        path = Path(file.abs_src_path or "/")
        if not path.is_relative_to(root):
            continue
        below = [
            root.joinpath(*path.relative_to(root).parts[: count + 1])
            for count in range(len(path.relative_to(root).parts))
        ]
        if link := next((part for part in below if part.is_symlink()), None):
            files.remove(file)
            links.add(link)
    for link in sorted(links):
        what = f"it is a symbolic link to '{link.readlink()}', which is not followed"
        name = f"{source_path(str(root), config)}/{link.relative_to(root).as_posix()}"
        log.warning("%s", Defect(name, None, what, "Put a copy in its place"))
    return files


# Last: the plugins end their processes first.
@event_priority(-200)
def on_build_error(error: Exception) -> None:
    """End the build in one line, where the machine ends it."""
    if not isinstance(error, MkDocsException) and (said := in_a_line(error)):
        raise Abort(f"The build ended: {said}.") from None


def in_a_line(error: BaseException) -> str:
    """What the machine refuses, with the file; "" for an error of another kind, which deserves its traceback."""
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        file = f"{name}: " if name else ""
        return f"{file}{error.strerror or error or type(error).__name__}"
    if isinstance(error, UnicodeError):
        return f"a file is not UTF-8 ({error})"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, RecursionError):
        return "something is nested too deeply"
    if isinstance(error, yaml.YAMLError):
        return " ".join(str(error).split())
    if isinstance(error, subprocess.SubprocessError):
        return f"another program failed: {' '.join(str(error).split())}"
    return ""
