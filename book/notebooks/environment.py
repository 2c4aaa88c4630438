"""What a notebook's kernel sees while the site is built: this checkout, the site's colors, a time limit."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorable.shared.svg import INK, settings

TIME_LIMIT_S = 60
"""The most seconds that one cell may take."""

_CYCLE = ("compute", "memory", "data", "optimizer", "activation", "limit")


def matplotlibrc() -> str:
    """Settings of matplotlib: the site's colors, which the page replaces by their custom properties."""
    cycle = ", ".join(f"'{INK[name]}'" for name in _CYCLE)
    chosen = {
        **settings("notebook"),
        "axes.prop_cycle": f"cycler('color', [{cycle}])",
        "axes.spines.right": False,
        "axes.spines.top": False,
        "grid.color": INK["border"],
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "legend.facecolor": "none",
        "legend.frameon": False,
        "savefig.transparent": True,
    }
    # A bare "#" would begin a comment.
    return "".join(f'{name}: "{value}"\n' for name, value in chosen.items())


@contextmanager
def active(root: Path, folder: Path) -> Iterator[None]:
    """The environment of a kernel that starts now.

    Args:
        root: The folder that holds `engine` and `gpu_bench`; imports come from there, whatever is installed.
        folder: Where byte code and the kernel's profile are kept.
    """
    with tempfile.TemporaryDirectory(prefix="notebook-") as name:
        scratch = Path(name)
        (scratch / "jupyter_nbconvert_config.json").write_text(json.dumps(_client(scratch)), "utf-8")
        (scratch / "matplotlibrc").write_text(matplotlibrc(), "utf-8")
        chosen = {
            "PYTHONPATH": os.pathsep.join((str(root / "engine"), str(root))),
            "PYTHONHASHSEED": "0",
            # Byte code beside the sources would be a change in a folder that `mkdocs serve` watches.
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "MATPLOTLIBRC": str(scratch / "matplotlibrc"),
            "IPYTHONDIR": str(folder / "ipython"),
            # Ignore the settings of Jupyter in the user's home.
            "JUPYTER_CONFIG_DIR": str(scratch),
            "JUPYTER_RUNTIME_DIR": str(scratch),
        }
        before = {name: os.environ.get(name) for name in chosen}
        os.environ.update(chosen)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _client(scratch: Path) -> dict[str, Any]:
    """Settings of the client that talks to the kernel."""
    limit = {"NotebookClient": {"timeout": TIME_LIMIT_S}}
    if os.name != "posix":
        return limit
    # Files instead of ports, which other users of the machine could listen to. Their names must be short.
    return {**limit, "KernelManager": {"transport": "ipc", "ip": str(scratch / "kernel")}}
