"""Runs a site's snippets and acts at build: in child processes, with a time limit, and only what is not cached."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugins.live.build.imports import wrong_imports
from plugins.live.build.measured import Evidence, EvidenceError, defect
from plugins.live.build.rooms import CHARTS, MAIN, act_modules, names_in, shared_files
from plugins.live.runtime.program import Program
from plugins.shared.cache import Cache, digest, fingerprint
from plugins.shared.child import ROOT, Child, ChildError
from plugins.shared.errors import Defect, nearest

LIVE = Path(__file__).parents[1]
PROGRAM = (
    ROOT / "engine",
    LIVE / "__init__.py",
    LIVE / "runtime",
    LIVE / "build/child.py",
    LIVE / "build/description.py",
    LIVE / "build/rehearsal.py",
    ROOT / "docs/lab/ledger.schema.json",
)
"""The sources that every result depends on."""


@dataclass(frozen=True)
class Outcome:
    """What a snippet did: its output, the `repr` of its last expression, and the error it ended with.

    error: `{"text": …, "line": line of the snippet or None}`, or None.
    figures: `{"svg": …, "name": …}` of each drawing.
    stopped: it ran past the time limit, or took the process down.
    steady: a second run on a fresh page gave the same.
    """

    output: str
    result: str | None
    error: Mapping[str, Any] | None
    stopped: bool = False
    figures: Sequence[Mapping[str, str]] = ()
    steady: bool = True


@dataclass(frozen=True)
class BakedAct:
    """An act with everything the page needs of it.

    description: what the reader may know before the commitment. view: the default state's.
    charts: `{"svg": …, "spec": …}` by name. program: what the browser loads, as JSON.
    """

    name: str
    description: Mapping[str, Any]
    view: Mapping[str, Any]
    charts: Mapping[str, Mapping[str, Any]]
    program: str


class ActDefect(Exception):  # noqa: N818 - it carries a Defect
    """An act that cannot be baked, and why."""

    def __init__(self, defect: Defect) -> None:
        super().__init__(str(defect))
        self.defect = defect


@dataclass
class _History:
    """What ran on a page so far, and how much of it the child process remembers."""

    ran: list[tuple[str, str]] = field(default_factory=list)
    remembered: int = 0
    losses: int = -1


class Runner:
    """Runs snippets and acts for one build of the site.

    Args:
        cache: where results are kept.
        bytecode: a folder for the byte code of the engine and the runtime.
        time_limit_s: the most seconds one snippet, or one function of an act, may take.
        acts: the folder that holds the act folders.
        acts_name: how messages name that folder.
        evidence: the records that acts may ask for.
    """

    def __init__(
        self, cache: Cache, bytecode: Path, time_limit_s: float, acts: Path, acts_name: str, evidence: Evidence
    ) -> None:
        self._cache = cache
        self._acts = acts
        self._acts_name = acts_name
        self._evidence = evidence
        self._program = fingerprint(PROGRAM)
        self._python = Child(
            "plugins.live.build.child", time_limit_s, bytecode, [str(bytecode.resolve().with_name("empty"))]
        )
        # Drawing imports much, all of it compiled already.
        self._drawing = Child("plugins.live.build.bake", max(time_limit_s, 30.0))
        self._pages: dict[str, _History] = {}

    def close(self) -> None:
        """End the child processes."""
        self._python.close()
        self._drawing.close()

    def snippet(self, page: str, name: str, source: str) -> Outcome:
        """Run a page's next snippet in the namespace that its earlier snippets left."""
        history = self._pages.setdefault(page, _History())
        ran = [part for earlier in history.ran for part in earlier]
        key = digest(self._program, "snippet", *ran, name, source)
        answer = self._cache.get(key)
        try:
            if answer is None:
                answer = self._run(page, history, name, source)
                self._cache.put(key, answer)
        except ChildError as error:
            # It is left out of the history: nothing that follows could be run after it.
            return Outcome("", None, {"text": str(error), "line": error.line_in(f"<{name}>")}, stopped=True)
        history.ran.append((name, source))
        return Outcome(
            answer["output"], answer["result"], answer["error"], figures=answer["figures"], steady=answer["steady"]
        )

    def act(self, name: str) -> BakedAct:
        """Load an act, compute its default state and draw its charts. Raises `ActDefect`."""
        folder = self._acts / name.replace("-", "_")
        if not (folder / MAIN).is_file():
            raise LookupError(name)
        filename = self._filename(folder, MAIN)
        paths = act_modules(folder)
        files = {self._filename(path.parent, path.name): path.read_text(encoding="utf-8") for path in paths}
        for path, (file, text) in zip(paths, files.items(), strict=True):
            siblings = {one.stem for one in paths if one.parent == path.parent}
            rooms = {f".{one.parent.name}.{one.stem}" for one in paths if one.parent != folder}
            for line, module in wrong_imports(text, siblings=siblings | rooms):
                allowed = "An act may import engine, plugins.live, the standard library, modules beside it and of rooms"
                raise ActDefect(Defect(file, line, f"it imports {module}", allowed))
        try:
            program = Program(files, self._evidence.asked_by(files)).to_json()
        except EvidenceError as error:
            raise ActDefect(defect(error)) from None
        key = digest(self._program, "act", name, program)
        act = self._cache.get(key)
        if act is None:
            self._drawing.start()
            load = {"name": name, "program_json": program}
            description = _unwrap(filename, self._python, {"call": "load_act", "arguments": load})
            state = {"name": name, "state_json": json_text(description["state"])}
            self._find_charts(folder, description["charts"])
            _unwrap(filename, self._python, {"call": "rehearse", "arguments": {"name": name}})
            view = _unwrap(filename, self._python, {"call": "compute", "arguments": state})
            act = {"description": description, "view": view}
            self._cache.put(key, act)
        return BakedAct(name, act["description"], act["view"], self._charts(folder, name, act), program)

    def names(self) -> list[str]:
        """The names of all acts there are."""
        return sorted(path.parent.name.replace("_", "-") for path in self._acts.glob("*/act.py"))

    def _run(self, page: str, history: _History, name: str, source: str) -> Any:
        """The outcome of a snippet, run on its page and on a second one: `steady` says whether both are the same."""
        twins = (page, f"{page} again")
        if history.losses != self._python.losses or history.remembered != len(history.ran):
            for twin in twins:
                self._python.request({"call": "reset_page", "arguments": {"page": twin}})
                for earlier, text in history.ran:
                    self._python.request(_run_snippet(twin, earlier, text))
        history.losses, history.remembered = self._python.losses, len(history.ran)
        answer, again = (self._python.request(_run_snippet(twin, name, source))["ok"] for twin in twins)
        history.remembered += 1
        return {**answer, "steady": answer == again}

    def _find_charts(self, folder: Path, charts: Collection[str]) -> None:
        """Look for the functions of an act's charts before the act runs, which says less of a wrong name."""
        path = folder / CHARTS
        if not path.is_file() or (functions := names_in(path)) is None:
            return  # drawing says what is wrong
        for chart in charts:
            if chart not in functions:
                what = f"it has no function {chart!r}, and the act names a chart so"
                raise ActDefect(Defect(self._filename(folder, CHARTS), 1, what, nearest(chart, functions)))

    def _charts(self, folder: Path, name: str, act: Mapping[str, Any]) -> Any:
        names = list(act["description"]["charts"])
        if not names:
            return {}
        path = folder / CHARTS
        filename = self._filename(folder, CHARTS)
        if not path.is_file():
            raise ActDefect(Defect(filename, 1, f"it is missing; act {name!r} has the charts {', '.join(names)}"))
        request = {
            "source": path.read_text(encoding="utf-8"),
            "filename": filename,
            "charts": names,
            "data": act["view"]["data"],
            "drawn": act["description"]["drawn"],
            "prefix": f"act-{name}",
        }
        versions = [importlib.metadata.version(package) for package in ("altair", "vl-convert-python")]
        # Charts may share helpers, which lie beside the act folders or in a room.
        helpers = fingerprint([LIVE / "build/bake.py", *shared_files(self._acts)])
        key = digest(self._program, "charts", helpers, *versions, json_text(request))
        charts = self._cache.get(key)
        if charts is None:
            charts = _unwrap(filename, self._drawing, request)
            self._cache.put(key, charts)
        return charts

    def _filename(self, folder: Path, name: str) -> str:
        return f"{self._acts_name}/{folder.name}/{name}"


def json_text(value: Any) -> str:
    """JSON in which equal values are equal text."""
    return json.dumps(value, sort_keys=True)


def _run_snippet(page: str, name: str, source: str) -> dict[str, Any]:
    return {"call": "run_snippet", "arguments": {"page": page, "name": name, "source": source}}


def _unwrap(filename: str, child: Child, request: Mapping[str, Any]) -> Any:
    try:
        answer = child.request(request)
    except ChildError as error:
        raise ActDefect(Defect(filename, error.line_in(filename) or 1, str(error))) from None
    if "error" in answer:
        raise ActDefect(Defect(filename, answer["error"]["line"] or 1, answer["error"]["text"]))
    return answer["ok"]
