"""The values of engine expressions: asked of a child process, and kept in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from explorable.book import current
from explorable.measured.errors import MeasuredError
from explorable.measured.values.expressions import Outcome
from explorable.shared.cache import Cache, digest, fingerprint
from explorable.shared.child import Child, ChildError

TIME_LIMIT_S = 10.0
"""The most seconds that one expression may take, as long as a snippet."""

Outcomes = Mapping[str, Outcome | MeasuredError]
"""Expression -> its value, or what is wrong with it."""

_HERE = Path(__file__).parent
_EVALUATED_BY = tuple(_HERE / name for name in ("child.py", "expressions.py", "quantities.py", "units.txt"))


def outcome(expression: str, outcomes: Outcomes) -> Outcome:
    """The value of an expression. Raises the `MeasuredError` that stands in its place."""
    found = outcomes[expression]
    if isinstance(found, MeasuredError):
        raise found
    return found


@lru_cache(maxsize=4)
def _known(version: str, from_engine: bool) -> dict[str, Outcome]:
    """What an engine has answered in this process: a server asks for the same hundreds of values at every build."""
    return {}


class Computed:
    """Evaluates engine expressions. A new one sees a new engine.

    Args:
        engine: the folder of the engine's package; None for arithmetic alone.
        cache: where values are kept, by expression and by the content of the engine.
        scratch: a folder for the child's byte code.
    """

    def __init__(self, engine: Path | None, cache: Cache, scratch: Path) -> None:
        self._engine = engine
        self._cache = cache
        self._version = digest(fingerprint(filter(None, (engine, *_EVALUATED_BY))), current().units.defined)
        # By default the vocabulary is that of the package.
        self._vocabulary = current().vocabulary or (engine.name if engine else "")
        arguments = [str(engine or ""), self._vocabulary]
        self._child = Child("explorable.measured.values.child", TIME_LIMIT_S, scratch, arguments)

    def values(self, expressions: Iterable[str], *, from_engine: bool = True) -> dict[str, Outcome | MeasuredError]:
        """The outcome of every expression, or what is wrong with it. Only what is not cached is computed.

        Args:
            expressions: What to evaluate.
            from_engine: Whether every value must come from the engine; if not, none may.
        """
        outcomes: dict[str, Outcome | MeasuredError] = {}
        known = _known(self._version, from_engine)
        for expression in dict.fromkeys(expressions):
            if expression in known:
                outcomes[expression] = known[expression]
                continue
            if (cached := self._cache.get(self._key(expression, from_engine))) is not None:
                outcomes[expression] = known[expression] = Outcome(**cached)
                continue
            answer = self._ask(expression, from_engine=from_engine)
            if "what" in answer:
                outcomes[expression] = MeasuredError(answer["what"], answer["fix"])
            else:
                outcomes[expression] = known[expression] = Outcome(**answer)
                self._cache.put(self._key(expression, from_engine), answer, self._child.imported)
        return outcomes

    def close(self) -> None:
        """End the child process; a later request starts it again."""
        self._child.close()

    def _key(self, expression: str, from_engine: bool) -> str:
        return digest("computed" if from_engine else "arithmetic", self._version, expression)

    def _ask(self, expression: str, *, from_engine: bool) -> dict[str, Any]:
        where = {"engine": str(self._engine or ""), "vocabulary": self._vocabulary}
        request = {**where, "expression": expression, "from_engine": from_engine}
        try:
            answer = self._child.request(request)
        except ChildError as error:
            return {"what": f"'{expression}' has no value", "fix": f"{error}"}
        if "error" in answer:
            return {"what": answer["error"], "fix": f"repair {self._engine or 'the library'}"}
        value: dict[str, Any] = answer["ok"]
        return value
