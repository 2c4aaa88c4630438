"""Figures drawn while the site is built, one Python file each, kept until file, engine or records change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorable.book import current
from explorable.shared.ahead import Ahead
from explorable.shared.cache import Cache, digest, fingerprint
from explorable.shared.child import Child, ChildError
from explorable.shared.errors import LineError, nearest

TIME_LIMIT_S = 60.0
"""The most seconds that one figure may take."""

STORY = ""
"""What `begin` calls the story, which has no name."""

_HERE = Path(__file__).parent
_DRAWN_BY = (
    *(_HERE / name for name in ("child.py", "drawing.py", "moving.py", "sketch.py")),
    _HERE.parent / "shared/svg.py",
    _HERE.parent / "shared/ticks.py",
)
"""A figure that imports this module draws measured values: it is drawn again when a record or their reader changes."""


@dataclass(frozen=True)
class Drawn:
    """A figure as an SVG file, its alternative text and its readings; `moving` holds all its states, if it moves."""

    svg: str
    alternative: str
    readings: list[dict[str, str]]
    moving: dict[str, Any] | None


class Figures:
    """Draws figures. A new one sees a new engine.

    Args:
        folder: where the figures' files are.
        engine: the folder of the engine's package; None without one.
        cache: where drawings are kept, by the content of the figure's file, of the engine, and of records it draws.
        scratch: a folder for the child's byte code.
    """

    def __init__(self, folder: Path, engine: Path | None, cache: Cache, scratch: Path) -> None:
        self.folder = folder
        self._engine = engine
        self._cache = cache
        self._version = fingerprint(filter(None, (engine, *_DRAWN_BY)))
        self._child = Child("explorable.figures.child", TIME_LIMIT_S, scratch)
        self._answers: Ahead[str, dict[str, Any]] = Ahead(self._answer)
        # Every page with a strip asks for them, and would wait for the figures of all pages behind it.
        self._stops: list[dict[str, Any]] | None = None

    def start(self) -> None:
        """Let the child process import what it draws with, while the build does something else."""
        self._child.start()

    def begin(self, names: Iterable[str]) -> None:
        """Begin to draw figures, and to tell the `STORY`, which pages will ask for."""
        self._answers.begin(names)

    def file(self, name: str) -> Path:
        """The file of the figure that a page calls `name`, with hyphens."""
        return self.folder / f"{name.replace('-', '_')}.py"

    def draw(self, name: str) -> Drawn:
        """The drawing of a figure. Raises `LineError` when its file is missing or fails."""
        return Drawn(**self._answers.answer(name))

    def _answer(self, name: str) -> dict[str, Any]:
        """What the child says of a figure, or of the story, which has no name."""
        return self._drawn(name) if name else self._told()

    def _drawn(self, name: str) -> dict[str, Any]:
        path = self.file(name)
        if not path.is_file():
            known = [file.stem.replace("_", "-") for file in self.folder.glob("*.py")]
            raise LineError(f"there is no figure '{name}'; {nearest(name, known)}")
        text = path.read_text("utf-8")
        records = [fingerprint(read) for module, read in current().reads.items() if f"from {module} import" in text]
        key = digest("figure", self._version, fingerprint((path,)), *records)
        return self._asked("figure", path, key)

    @property
    def story(self) -> Path:
        """The file of the chapter's story."""
        return self.folder.parent / "story.py"

    def stops(self) -> list[dict[str, Any]]:
        """The stops of the chapter's story. Raises `LineError` when its file is missing or fails."""
        if self._stops is None:
            self._stops = self._answers.answer(STORY)["stops"]
        return list(self._stops)

    def _told(self) -> dict[str, Any]:
        path = self.story
        if not path.is_file():
            raise LineError("the chapter has no story.py")
        key = digest("story", self._version, fingerprint((path,)))
        return self._asked("story", path, key)

    def _asked(self, kind: str, path: Path, key: str) -> dict[str, Any]:
        """What the child, or the cache, says of a file. Raises `LineError` when the file fails."""
        answer: dict[str, Any] | None = self._cache.get(key)
        if answer is None:
            try:
                answer = self._child.request({kind: str(path), "engine": str(self._engine or "")})
            except ChildError as error:
                raise LineError(str(error)) from error
            if "error" in answer:
                raise LineError(answer["error"], answer["line"])
            self._cache.put(key, answer, self._child.imported)
        return answer

    def close(self) -> None:
        """End the child process; a later request starts it again."""
        self._answers.end(self._child.close)
