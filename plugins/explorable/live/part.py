"""The part `live`: runs snippets and acts at build, bakes what they give, and publishes what makes them live."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from explorable.book import current
from explorable.live import ledger
from explorable.live.build import data_files, exercises, packages, render
from explorable.live.build.assets import BASE, DIST, LIBRARY, PYODIDE, Release, collect
from explorable.live.build.bundle import LOCK_FILE, distribution_url
from explorable.live.build.extension import CONSTRUCTS, ActReference, ExerciseReference, Fence, LiveExtension
from explorable.live.build.imports import wrong_imports
from explorable.live.build.library_imports import LibraryImports
from explorable.live.build.measured import Evidence
from explorable.live.build.rooms import Written
from explorable.live.build.runner import LIVE, ActDefect, Runner
from explorable.live.options import LiveOptions
from explorable.live.runtime.snippets import OUTPUT_LIMIT
from explorable.shared import locate
from explorable.shared.cache import Cache, digest
from explorable.shared.errors import Defect, nearest
from explorable.shared.log import logger
from explorable.shared.scan import scan
from explorable.shared.sums import json_text
from explorable.site import Asset, Offer, Page, Part, Site

log = logger("live")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CONFIG = "explorable in mkdocs.yml"


class LivePart(Part):
    """Runs snippets and acts at build, bakes what they give, and publishes what makes them live."""

    def __init__(self, options: LiveOptions) -> None:
        self.options = options
        self._runner: Runner | None = None

    def begin(self, site: Site) -> Offer:
        """Begin a build: gather the programs, and prepare to run what pages say."""
        self._runner = None
        root, self._docs = site.root, site.docs
        cache_dir, acts = root / self.options.cache_dir, site.docs / self.options.acts_dir
        records = root / self.options.records
        given = self._packages(root)
        self._importable = {module for package in given for module in package.entry["imports"]}
        self.release: Release = collect(cache_dir, DIST, PYODIDE, LIBRARY, given)
        self._runner = Runner(
            Cache(cache_dir if self.options.cache else None),
            cache_dir / "bytecode",
            self.options.time_limit_s,
            acts,
            locate.source_path(acts, root),
            Evidence(records, root),
        )
        self._ahead = site.computes_all(current().library, LIVE)
        if site.edited(acts):
            self._runner.start()
        self._located, self._imports = site.located, LibraryImports(root, self._importable)
        self._faults: set[Defect] = set()
        self._located.known |= CONSTRUCTS
        self._published: dict[str, Asset] = {}
        self._homes: dict[str, str] = {}
        self._shown: dict[str, Written] = {}
        # Name -> how pages write it, or where it stands: a reader's ledger knows an act and an exercise by the name.
        self._acts: dict[str, Written] = {}
        self._exercises: dict[str, str] = {}
        release, facts = self.release, self.release.facts
        return Offer(
            [LiveExtension(self)],
            styles=[release.style],
            modules=[release.entry],
            watched=[current().library, current().ledger, LIVE, records],
            # The footer names the release: the page's programs compare it with their own.
            extra={"release": {"version": facts.version, "build": facts.build}},
        )

    def files(self, pages: Sequence[Page]) -> Sequence[Asset]:
        """The programs, the schema of the readers' ledgers, and where each act is at home."""
        shown: dict[str, list[Page]] = {}
        self._shown = {}
        for page in pages:
            for written in map(Written.read, scan(page.written).named("act")):
                shown.setdefault(written.name, []).append(page)
                self._shown.setdefault(written.name, written)
        self._homes = {name: self._home(places) for name, places in shown.items()}
        if self._runner is not None and self._ahead:
            self._runner.begin(one for one in self._shown.values() if _NAME.fullmatch(one.name))
        # The navigation shows how far the reader is with these: the page's programs look the pages up here.
        acts: dict[str, list[str]] = {}
        for name, home in self._homes.items():
            acts.setdefault(home, []).append(name)
        found = [*self.release.assets, Asset(f"{BASE}/acts.json", json_text(acts).encode())]
        if address := current().ledger_address:
            found.append(Asset(address, ledger.schema_text(current()).encode()))
        return found

    def enter(self, page: Page) -> None:
        """Begin a page: its snippets share a namespace of their own."""
        self._page = page
        self._names: set[str] = set()

    def made(self) -> Sequence[Asset]:
        """The programs, charts and files of acts, exercises and snippets."""
        return tuple(self._published.values())

    def end(self) -> None:
        """End the child processes."""
        if self._runner is not None:
            self._runner.close()

    def snippet(self, fence: Fence) -> str:
        """Run a live fence of the current page."""
        name = fence.options.get("name", "")
        expected = fence.options.get("error")
        if mistake := self._mistake_in_options(fence):
            return self._defect(fence.line, *mistake)
        data = self._data_files(fence)
        if isinstance(data, tuple):
            return self._defect(fence.line, *data)
        self._names.add(name)
        if not expected:
            for row, module in wrong_imports(fence.source, self._importable, library=current().module):
                where = None if fence.line is None else fence.line + row
                own = f", {current().module}" if current().module else ""
                fix = f"A snippet may import the standard library{own} and the packages of {CONFIG}"
                self._defect(where, f"snippet {name!r} imports {module}", fix)
            for fault in self._imports.faults([fence.source]):
                if fault not in self._faults:
                    self._faults.add(fault)
                    self._warn(fault)
        page = self._page.source
        assert self._runner is not None
        outcome = self._runner.snippet(page, name, fence.source, data.files)
        if outcome.error and (not expected or outcome.stopped):
            line = None if fence.line is None else fence.line + (outcome.error["line"] or 0)
            reason = outcome.error["text"].splitlines()[-1]
            fix = "" if outcome.stopped else 'Correct it, or write error="expected"'
            self._defect(line, f"snippet {name!r} fails: {reason}", fix)
        if not outcome.steady:
            what = f"snippet {name!r} can give another output each time"
            fix = "A reader would see other numbers than the page; fix the seed, and print no times and no addresses"
            self._defect(fence.line, what, fix)
        if len(outcome.output) >= OUTPUT_LIMIT:
            what = f"snippet {name!r} prints more than {OUTPUT_LIMIT:,} characters"
            self._defect(fence.line, what, "Print less: the page cuts it there")
        if len(outcome.result or "") > OUTPUT_LIMIT:
            what = f"the last value of snippet {name!r} has more than {OUTPUT_LIMIT:,} characters"
            self._defect(fence.line, what, "Show less of it: the page cuts it there")
        if expected and not outcome.error:
            self._defect(fence.line, f"snippet {name!r} does not fail", 'Remove error="expected"')
        files = [
            {"name": file, "url": self._publish("files", *_stem_and_suffix(file), content)}
            for file, content in data.files.items()
        ]
        return render.snippet(page, name, fence.source, outcome, files, data.opens)

    def _mistake_in_options(self, fence: Fence) -> tuple[str, str] | None:
        """What is wrong with the options of a live fence, and what to do."""
        name = fence.options.get("name", "")
        expected = fence.options.get("error")
        unknown = sorted(set(fence.options) - {"name", "error", "files", "opens"})
        if unknown:
            return f"unknown option {unknown[0]!r} of a live fence", "Allowed: name, error, files, opens"
        if not _NAME.fullmatch(name):
            what = f"{name!r} is no name for a snippet" if name else "a live fence needs a name"
            return what, 'Write name="…" in lower-case letters, digits and "-"'
        if name in self._names:
            return f"there are two snippets called {name!r} on this page", "Rename one"
        if expected not in (None, "expected"):
            return f"error={expected!r} is unknown", 'Allowed: error="expected"'
        return None

    def _data_files(self, fence: Fence) -> data_files.DataFiles | tuple[str, str]:
        path = self._page.path
        if "files" not in fence.options and "opens" not in fence.options:
            return data_files.DataFiles({})
        if path is None:
            return "a page that was made has no data files", "Write the page by hand"
        names, opens = fence.options.get("files", ""), fence.options.get("opens", "")
        return data_files.read(names, opens, path.parent, self._docs)

    def act(self, reference: ActReference, math_html: str) -> str:
        """Bake an act of the current page."""
        written = Written.read(reference.name)
        name = written.name
        if not _NAME.fullmatch(name):
            what = f"{name!r} is no name of an act" if name else "the block names no act"
            meant = Written(_as_name(written.of), _as_name(written.parameter) if written.parameter else "")
            return self._defect(reference.line, what, f"Write '{meant}'" if name else "Write /// act | a-name")
        if f"act {name}" in self._names:
            return self._defect(reference.line, f"act {name!r} is on this page twice", "Remove one")
        if (other := self._acts.setdefault(name, written)) != written:
            what = f"its name is {name!r}, and so is that of the act '{other}'"
            return self._defect(reference.line, what, "Rename a folder or a parameter: ledgers would mix the two up")
        self._names.add(f"act {name}")
        assert self._runner is not None
        try:
            baked = self._runner.act(written)
        except LookupError:
            there = nearest(written.of, self._runner.names())
            return self._defect(reference.line, f"there is no act {written.of!r}", there)
        except ActDefect as error:
            return self._warn(error.defect)
        program_url = self._publish("acts", name, "json", baked.program)
        spec_urls = {
            chart: self._publish("charts", f"{name}-{chart}", "json", json_text(drawn["spec"]))
            for chart, drawn in baked.charts.items()
        }
        first = "first act" not in self._names
        self._names.add("first act")
        titled = baked.description["title"] in self._page.title
        addresses = render.Addresses(
            program_url, spec_urls, self._page.to(".") + "/", self._homes.get(name, self._page.url)
        )
        return render.act(baked, self.release.python, addresses, math_html, first=first, titled=titled)

    def exercise(self, reference: ExerciseReference, parts: Sequence[Fence], task_html: str) -> str:
        """Check an exercise of the current page and publish what opens later."""
        name, line = reference.name, reference.line
        if not _NAME.fullmatch(name):
            what = f"{name!r} is no name of an exercise" if name else "the block names no exercise"
            return self._defect(line, what, f"Write {_as_name(name)!r}" if name else "Write /// exercise | a-name")
        if not reference.title:
            return self._defect(line, f"exercise {name!r} has no title", "Write below its name, indented: title: …")
        if self._exercises.setdefault(name, place := f"{self._page.source}:{line}") != place:
            return self._defect(line, f"there are two exercises called {name!r}", "Rename one")
        sorted_out = exercises.sort(name, line, parts)
        if isinstance(sorted_out, list):
            return "".join(self._defect(*mistake) for mistake in sorted_out)
        assert self._runner is not None
        for mistake in exercises.mistakes_in(sorted_out, self._runner, self._importable):
            self._defect(*mistake)
        snippet = f"exercise-{name}"
        start = Fence(sorted_out.start.source, {"name": snippet}, sorted_out.start.line)
        tests_url = self._publish("exercises", name, "json", json_text(sorted_out.given_later))
        code = sorted_out.solution.source
        solution = json_text({"code": code, "html": render.python_html(code)})
        solution_url = self._publish("exercises", f"{name}-solution", "json", solution)
        baked = self.snippet(start)
        return render.exercise(sorted_out, reference.title, task_html, baked, snippet, tests_url, solution_url)

    def asked(self, names: Sequence[str]) -> str:
        """What these acts ask, for a page that shows the ledgers of a class."""
        assert self._runner is not None
        found: dict[str, dict[str, str]] = {}
        for name in names:
            if name not in self._shown:
                self._defect(None, f"no page shows an act {name!r}", nearest(name, self._shown))
                continue
            try:
                description = self._runner.act(self._shown[name]).description
            except (LookupError, ActDefect):
                continue  # The act's own page says it.
            if question := description["question"]:
                asks = {"question": question["prompt"], "unit": question["unit"]}
                found[name] = {"title": description["title"], **asks}
            else:
                self._defect(None, f"the act {name!r} asks nothing", "A class compares predictions: leave it out")
        return render.attribute(found)

    def stray(self, part: Fence) -> str:
        """Name a fence that belongs to no exercise."""
        return self._defect(part.line, "this fence is in no exercise", "Write it inside /// exercise | a-name")

    def _packages(self, root: Path) -> list[packages.Package]:
        lock_file = root / self.options.packages_lock if self.options.packages_lock else PYODIDE / LOCK_FILE
        url = self.options.packages_url or distribution_url(PYODIDE)
        return packages.collect(self.options.packages, lock_file, url, root / self.options.cache_dir / "packages")

    def _home(self, pages: Sequence[Page]) -> str:
        """The address of the page, among those that show an act, to which the act belongs."""
        return next((page for page in pages if page.source.startswith(f"{self.options.home}/")), pages[0]).url

    def _publish(self, folder: str, name: str, suffix: str, content: str | bytes) -> str:
        """Add a file, named by its content, and return its URL relative to the current page."""
        uri = f"{BASE}/{folder}/{name}-{digest(content)[:12]}.{suffix}"
        self._published[uri] = Asset(uri, content.encode() if isinstance(content, str) else content)
        return self._page.to(uri)

    def _defect(self, line: int | None, what: str, fix: str) -> str:
        return self._warn(self._located.defect(line, what, fix))

    def _warn(self, found: Defect) -> str:
        log.warning("%s", found)
        return render.defect(found)


def _stem_and_suffix(file: str) -> tuple[str, str]:
    stem, _, suffix = file.rpartition(".")
    return (stem, suffix) if stem else (file, "bin")


def _as_name(written: str) -> str:
    """The name that an author may have meant: in small letters, with hyphens."""
    # Letters with marks become the letters alone, and "ß" becomes "ss".
    plain = "".join(one for one in unicodedata.normalize("NFKD", written.casefold()) if not unicodedata.combining(one))
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "a-name"
