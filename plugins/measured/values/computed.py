"""The values of engine expressions: asked of a child process, a page at a time, and kept in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from plugins.measured.errors import MeasuredError
from plugins.measured.values.expressions import Outcome
from plugins.shared.cache import Cache, digest, fingerprint
from plugins.shared.child import ROOT, Child, ChildError

TIME_LIMIT_S = 60.0
"""The most seconds that the expressions of one page may take."""

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


class Computed:
    """Evaluates engine expressions. A new one sees a new engine.

    Args:
        engine: the folder of the engine's package.
        cache: where values are kept, by expression and by the content of the engine.
        scratch: a folder for the child's byte code.
    """

    def __init__(self, engine: Path, cache: Cache, scratch: Path) -> None:
        self._engine = engine
        self._cache = cache
        self._version = fingerprint((engine, *_EVALUATED_BY))
        self._child = Child("plugins.measured.values.child", TIME_LIMIT_S, scratch)

    def values(self, expressions: Iterable[str], *, from_engine: bool = True) -> dict[str, Outcome | MeasuredError]:
        """The outcome of every expression, or what is wrong with it. Only what is not cached is computed.

        Args:
            expressions: What to evaluate.
            from_engine: Whether every value must come from the engine; if not, none may.
        """
        outcomes: dict[str, Outcome | MeasuredError] = {}
        missing: list[str] = []
        for expression in dict.fromkeys(expressions):
            if (cached := self._cache.get(self._key(expression, from_engine))) is not None:
                outcomes[expression] = Outcome(**cached)
            else:
                missing.append(expression)
        for expression, answer in zip(missing, self._ask(missing, from_engine), strict=True):
            if "what" in answer:
                outcomes[expression] = MeasuredError(answer["what"], answer["fix"])
            else:
                outcomes[expression] = Outcome(**answer)
                self._cache.put(self._key(expression, from_engine), answer)
        return outcomes

    def close(self) -> None:
        """End the child process; a later request starts it again."""
        self._child.close()

    def _key(self, expression: str, from_engine: bool) -> str:
        return digest("computed" if from_engine else "arithmetic", self._version, expression)

    def _ask(self, expressions: list[str], from_engine: bool) -> list[dict[str, Any]]:
        if not expressions:
            return []
        request = {"engine": str(self._engine), "expressions": expressions, "from_engine": from_engine}
        try:
            answer = self._child.request(request)
        except ChildError as error:
            if len(expressions) > 1:
                # One of them ended the child: asked one by one, the culprit is found and the others get their value.
                return [answer for expression in expressions for answer in self._ask([expression], from_engine)]
            return [{"what": f"'{expressions[0]}' has no value", "fix": f"{error}"}]
        if "error" in answer:
            return [{"what": answer["error"], "fix": f"repair {self._name()}"}] * len(expressions)
        answers: list[dict[str, Any]] = answer["ok"]
        return answers

    def _name(self) -> str:
        return self._engine.relative_to(ROOT).as_posix() if self._engine.is_relative_to(ROOT) else self._engine.name
