"""Notebooks executed in a child process, from when they are known, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from explorable.notebooks import environment
from explorable.shared.ahead import Ahead
from explorable.shared.cache import Cache, digest, fingerprint
from explorable.shared.child import Child, ChildError
from explorable.shared.installed import everything

_REQUEST_LIMIT_S = 1800.0
"""Longer than the limits of a notebook's cells together; these are the kernel's."""


class Executions(Ahead[Path, dict[str, Any]]):
    """Executed notebooks: each with its outputs, as `document`, or how it was `lost`, and in which `cell`.

    What is kept depends on the notebook, what it computes with, and all that is installed.

    Args:
        kept: Where they are kept.
        inputs: The packages that notebooks compute with. A kernel imports them from there, whatever is installed.
        limit_s: The most seconds that one cell may take.
    """

    def __init__(self, kept: Path, inputs: Sequence[Path], limit_s: float) -> None:
        self._kept, self._inputs, self._limit_s = kept, inputs, limit_s
        self._cache = Cache(kept / "executed")
        self._child = Child("explorable.notebooks.execute", _REQUEST_LIMIT_S, kept / "bytecode")
        super().__init__(self._found)

    @cached_property
    def _version(self) -> str:
        own = (Path(__file__).with_name(name) for name in ("environment.py", "execute.py"))
        return digest(fingerprint([*self._inputs, *own]), everything())

    def close(self) -> None:
        """End the child process; a later request starts it again."""
        self.end(self._child.close)

    def _found(self, path: Path) -> dict[str, Any]:
        text = path.read_text(encoding="utf-8")
        look = environment.matplotlibrc()
        key = digest("notebook", self._version, look, text)
        answer: dict[str, Any] | None = self._cache.get(key)
        if answer is None:
            paths = [str(package.parent) for package in self._inputs]
            places = {"folder": str(path.parent), "paths": paths, "kept": str(self._kept)}
            try:
                answer = self._child.request({"text": text, "look": look, "limit_s": self._limit_s, **places})
            except ChildError as error:
                return {"lost": f"the notebook gives no answer: {error}", "cell": None}
            assert answer is not None
            if "document" in answer:
                self._cache.put(key, answer, self._child.imported)
        return answer
