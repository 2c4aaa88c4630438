"""What a notebook's kernel sees while the site is built: the packages it computes with, and the site's colors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from explorable.book import current
from explorable.shared.svg import INK, settings


def matplotlibrc() -> str:
    """Settings of matplotlib: the book's colors in turn, which the page replaces by their custom properties."""
    cycle = ", ".join(f"'{INK[name]}'" for name in (*current().colors, "limit"))
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


def environment(paths: Sequence[str], kept: Path, scratch: Path, look: str) -> dict[str, str]:
    """The environment of a kernel.

    Args:
        paths: Folders from which imports come first, whatever is installed.
        kept: Where byte code and the kernel's profile are kept.
        scratch: A folder for what this execution alone needs.
        look: Settings of matplotlib.
    """
    (scratch / "matplotlibrc").write_text(look, "utf-8")
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "0",
        # Byte code beside the sources would be a change in a folder that `mkdocs serve` watches.
        "PYTHONPYCACHEPREFIX": str(kept / "bytecode"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "MATPLOTLIBRC": str(scratch / "matplotlibrc"),
        "IPYTHONDIR": str(kept / "ipython"),
        # Ignore the settings of Jupyter in the user's home.
        "JUPYTER_CONFIG_DIR": str(scratch),
        "JUPYTER_RUNTIME_DIR": str(scratch),
    }
