"""Reads the files of an act, and packs them into the one text that the build and the browser load."""

from __future__ import annotations

from pathlib import Path

from plugins.live.runtime.modules import CarriedModule, attach

MAIN, CHARTS = "act.py", "charts.py"


def files(folder: Path, name: str) -> dict[str, str]:
    """The act's program: file name as messages give it -> text, `act.py` first. `name` is how they give the folder."""
    others = sorted(path.name for path in folder.glob("*.py") if path.name not in (MAIN, CHARTS))
    return {f"{name}/{file}": (folder / file).read_text(encoding="utf-8") for file in (MAIN, *others)}


def packed(texts: dict[str, str]) -> str:
    """One text for `load`: `act.py` with the modules beside it."""
    (_, main), *others = texts.items()
    return attach(main, [CarriedModule(Path(file).stem, file, text) for file, text in others])
