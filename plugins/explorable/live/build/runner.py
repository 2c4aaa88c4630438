"""Runs a site's snippets and acts at build: in child processes, with a time limit, and only what is not cached."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from explorable.book import current
from explorable.live.build.chance import by_chance
from explorable.live.build.imports import wrong_imports
from explorable.live.build.library_imports import LibraryImports
from explorable.live.build.measured import Evidence, EvidenceError, defect
from explorable.live.build.rooms import CHARTS, MAIN, Written, act_modules, names_in, shared_files
from explorable.live.runtime.program import Program
from explorable.shared.ahead import Ahead
from explorable.shared.cache import Cache, digest, fingerprint
from explorable.shared.child import Child, ChildError
from explorable.shared.errors import Defect, nearest
from explorable.shared.sums import json_text

LIVE = Path(__file__).parents[1]
REHEARSAL = 12
"""A rehearsal calls an act's functions some hundred times, so it gets this many time limits."""
PROGRAM = (
    LIVE / "__init__.py",
    LIVE / "runtime",
    LIVE / "build/chance.py",
    LIVE / "build/child.py",
    LIVE / "build/description.py",
    LIVE / "build/rehearsal.py",
)
"""The sources that every result depends on, besides the book's library and the fields of its ledger."""


Files = Mapping[str, bytes]
"""Data files by the names under which a snippet opens them."""
Ran = tuple[str, str, Files]
"""A snippet that ran: its name, its source, its files."""


@dataclass(frozen=True)
class Outcome:
    """What a snippet did: its output, the `repr` of its last expression, and the error it ended with.

    error: `{"text": …, "line": line of the snippet or None}`, or None.
    figures: `{"svg": …, "name": …}` of each drawing.
    html: the last expression's own HTML, unchecked; None where it is text.
    stopped: it ran past the time limit, or took the process down.
    steady: a second run on a fresh page, with other random numbers, gave the same and took none.
    """

    output: str
    result: str | None
    error: Mapping[str, Any] | None
    stopped: bool = False
    figures: Sequence[Mapping[str, str]] = ()
    steady: bool = True
    html: str | None = None


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


class _Sources(NamedTuple):
    """What an act consists of.

    folder: its own. files: the text of each of its modules by the name that messages use.
    whole: the program of all of them. drawers: the names in its charts' file; None where it is missing or wrong,
    which drawing tells.
    """

    folder: Path
    files: Mapping[str, str]
    whole: str
    drawers: Collection[str] | None


@dataclass
class _History:
    """What ran on a page so far, and how much of it the child process remembers."""

    ran: list[Ran] = field(default_factory=list)
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
        self._imports = LibraryImports(evidence.root, None)
        book = current()
        self._library = book.module
        self._program = digest(book.plain(), fingerprint(filter(None, (*PROGRAM, book.library, book.ledger))))
        # Of this build alone: two builds of one book, or of two whose byte code is shared, would empty each other's.
        self._folder = tempfile.TemporaryDirectory()
        self._python, self._playing = (
            Child("explorable.live.build.child", time_limit_s, bytecode, [str(Path(self._folder.name, name))])
            for name in ("snippets", "acts")
        )
        # Drawing imports much, all of it compiled already.
        self._drawing = Child("explorable.live.build.bake", max(time_limit_s, 30.0))
        self._pages: dict[str, _History] = {}
        self._read: dict[Written, _Sources] = {}
        self._baked: Ahead[Written, BakedAct] = Ahead(self._bake)

    def start(self) -> None:
        """Let the child processes of acts import what they need, while the build does something else."""
        self._playing.start()
        self._drawing.start()

    def begin(self, acts: Iterable[Written]) -> None:
        """Begin to bake acts that pages will ask for. What is wrong with one is told when it is asked for."""
        for written in acts:
            with suppress(LookupError, ActDefect):
                self._read[written] = self._sources(written)
                self._baked.begin([written])

    def close(self) -> None:
        """End the child processes."""
        self._python.close()
        self._baked.end(self._stop)
        self._folder.cleanup()

    def _stop(self) -> None:
        self._playing.close()
        self._drawing.close()

    def snippet(self, page: str, name: str, source: str, files: Files | None = None) -> Outcome:
        """Run a page's next snippet in the namespace that its earlier snippets left, beside its data files."""
        history = self._pages.setdefault(page, _History())
        now = (name, source, files or {})
        key = digest(self._program, "snippet", *(part for one in (*history.ran, now) for part in _parts(one)))
        answer = self._cache.get(key)
        try:
            if answer is None:
                answer = self._run(page, history, now)
                self._cache.put(key, answer, self._python.imported)
        except ChildError as error:
            # It is left out of the history: nothing that follows could be run after it.
            return Outcome("", None, {"text": str(error), "line": error.line_in(f"<{name}>")}, stopped=True)
        history.ran.append(now)
        figures, html = answer["figures"], answer["html"]
        return Outcome(
            answer["output"], answer["result"], answer["error"], figures=figures, steady=answer["steady"], html=html
        )

    def exercise(self, name: str, source: str, tests: str, hidden: str) -> Mapping[str, Any]:
        """What becomes of a solution: `error` and `checks` as the page gets them, and whether they are `steady`."""
        key = digest(self._program, "exercise", name, source, tests, hidden)
        answer = self._cache.get(key)
        if answer is None:
            arguments = {"name": name, "source": source, "tests": tests, "hidden": hidden}
            request = {"call": "check_exercise", "arguments": arguments}
            try:
                first, again = (self._python.request({**request, "seed": seed})["ok"] for seed in range(2))
            except ChildError as error:
                said = {"text": str(error), "line": error.line_in(f"<{name}>")}
                return {"error": said, "checks": [], "steady": True}
            answer = {**first, "steady": first == again}
            self._cache.put(key, answer, self._python.imported)
        result: Mapping[str, Any] = answer
        return result

    def act(self, written: Written) -> BakedAct:
        """Load an act, compute its default state and draw its charts. Raises `ActDefect`."""
        try:
            if written not in self._read:
                self._read[written] = self._sources(written)
            return self._baked.answer(written)
        except ActDefect as error:
            if not written.parameter:
                raise
            what = f"with {written.parameter!r}: {error.defect.what}"
            raise ActDefect(replace(error.defect, what=what)) from None
        finally:
            # It may be changed before it is asked for again.
            self._read.pop(written, None)

    def names(self) -> list[str]:
        """The names of the folders of all acts there are, as pages write them."""
        return sorted(path.parent.name.replace("_", "-") for path in self._acts.glob("*/act.py"))

    def _sources(self, written: Written) -> _Sources:
        """What an act consists of, parsed. Raises `LookupError` where there is none, `ActDefect` for a wrong import."""
        folder = self._acts / written.folder
        if not (folder / MAIN).is_file():
            raise LookupError(written.of)
        paths = act_modules(folder)
        files = {self._filename(path.parent, path.name): path.read_text(encoding="utf-8") for path in paths}
        rooms = {f".{one.parent.name}.{one.stem}" for one in paths if one.parent != folder}
        beside = {place: {one.stem for one in paths if one.parent == place} for place in {one.parent for one in paths}}
        for path, (file, text) in zip(paths, files.items(), strict=True):
            for line, module in wrong_imports(text, siblings=beside[path.parent] | rooms, library=self._library):
                own = f"{self._library}, " if self._library else ""
                allowed = (
                    f"An act may import {own}explorable.live, the standard library, modules beside it, and those of "
                    f"folders in {self._acts_name} that hold no act.py"
                )
                raise ActDefect(Defect(file, line, f"it imports {module}", allowed))
        for fault in self._imports.faults(files.values()):
            raise ActDefect(fault)
        charts = folder / CHARTS
        return _Sources(folder, files, self._text(files, written), names_in(charts) if charts.is_file() else None)

    def _bake(self, written: Written) -> BakedAct:
        """Load an act, compute its default state and draw its charts. It parses nothing: see `Ahead`."""
        name, (folder, files, whole, drawers) = written.name, self._read[written]
        filename = self._filename(folder, MAIN)
        key = digest(self._program, "files", name, whole)
        imported = self._cache.get(key)
        if imported is None:
            self._drawing.start()
            imported = self._load(filename, name, whole)["files"]
            self._cache.put(key, imported, self._playing.imported)
        # What is not imported does not travel, and its edit changes nothing.
        program = self._text({file: text for file, text in files.items() if file in imported}, written)
        key = digest(self._program, "act", name, program)
        act = self._cache.get(key)
        if act is None:
            self._drawing.start()
            description = self._load(filename, name, program)["description"]
            state = {"name": name, "state_json": json_text(description["state"])}
            self._find_charts(folder, drawers, description["charts"])
            # First the one call: an endless loop is told soon.
            view = _unwrap(filename, self._playing, {"call": "compute", "arguments": state})
            played = {"call": "rehearse", "arguments": {"name": name}}
            fields = _unwrap(filename, self._playing, played, limits=REHEARSAL)
            act = {"description": description, "view": view, "fields": fields}
            self._cache.put(key, act, self._playing.imported)
        return BakedAct(name, act["description"], act["view"], self._charts(folder, written, act), program)

    def _text(self, files: Mapping[str, str], written: Written) -> str:
        """An act's program as the site publishes it. Files that it has seen are not parsed again."""
        try:
            return Program(files, self._evidence.asked_by(files), written.parameter).to_json()
        except EvidenceError as error:
            raise ActDefect(defect(error)) from None

    def _load(self, filename: str, name: str, program: str) -> Any:
        arguments = {"name": name, "program_json": program}
        return _unwrap(filename, self._playing, {"call": "load_act", "arguments": arguments})

    def _run(self, page: str, history: _History, now: Ran) -> Any:
        """The outcome of a snippet, run on its page and on a second one: `steady` says whether both are the same."""
        twins = (page, f"{page} again")
        if history.losses != self._python.losses or history.remembered != len(history.ran):
            for twin in twins:
                self._python.request({"call": "reset_page", "arguments": {"page": twin}})
                for earlier in history.ran:
                    self._python.request(_run_snippet(twin, earlier))
        history.losses, history.remembered = self._python.losses, len(history.ran)
        (answer, took), (again, took_again) = (
            (ran["ok"], ran["took"])
            for ran in (self._python.request(_run_snippet(twin, now, seed)) for seed, twin in enumerate(twins))
        )
        history.remembered += 1
        return {**answer, "steady": answer == again and not by_chance(took, took_again)}

    def _find_charts(self, folder: Path, drawers: Collection[str] | None, charts: Collection[str]) -> None:
        """Look for the functions of an act's charts before the act runs, which says less of a wrong name."""
        for chart in charts:
            if drawers is not None and chart not in drawers:
                what = f"it has no function {chart!r}, and the act names a chart so"
                raise ActDefect(Defect(self._filename(folder, CHARTS), 1, what, nearest(chart, drawers)))

    def _charts(self, folder: Path, written: Written, act: Mapping[str, Any]) -> Any:
        names = list(act["description"]["charts"])
        if not names:
            return {}
        path = folder / CHARTS
        filename = self._filename(folder, CHARTS)
        if not path.is_file():
            raise ActDefect(
                Defect(filename, 1, f"it is missing; act {written.name!r} has the charts {', '.join(names)}")
            )
        request = {
            "source": path.read_text(encoding="utf-8"),
            "filename": filename,
            "charts": names,
            "data": act["view"]["data"],
            "fields": act["fields"],
            "drawn": act["description"]["drawn"],
            "prefix": f"act-{written.name}",
            "parameter": written.parameter,
        }
        # Charts may share helpers, which lie beside the act folders or in a room.
        helpers = fingerprint([LIVE / "build/bake.py", *shared_files(self._acts)])
        key = digest(self._program, "charts", helpers, json_text(request))
        charts = self._cache.get(key)
        if charts is None:
            charts = _unwrap(filename, self._drawing, request)
            self._cache.put(key, charts, self._drawing.imported)
        return charts

    def _filename(self, folder: Path, name: str) -> str:
        return f"{self._acts_name}/{folder.name}/{name}"


def _parts(ran: Ran) -> list[str | bytes]:
    """What tells a snippet that ran from every other."""
    name, source, files = ran
    return [name, source, *(part for file in sorted(files.items()) for part in file)]


def _run_snippet(page: str, ran: Ran, seed: int = 0) -> dict[str, Any]:
    name, source, files = ran
    packed = {file: base64.b64encode(data).decode() for file, data in files.items()}
    arguments = {"page": page, "name": name, "source": source}
    return {"call": "run_snippet", "seed": seed, "files": packed, "arguments": arguments}


def _unwrap(filename: str, child: Child, request: Mapping[str, Any], limits: int = 1) -> Any:
    try:
        answer = child.request(request, limits=limits)
    except ChildError as error:
        raise ActDefect(Defect(filename, error.line_in(filename) or 1, str(error))) from None
    if "error" in answer:
        line, text = answer["error"]["line"] or 1, answer["error"]["text"]
        # The defect begins with the place.
        raise ActDefect(Defect(filename, line, text.removesuffix(f" ({filename}, line {line})")))
    return answer["ok"]
