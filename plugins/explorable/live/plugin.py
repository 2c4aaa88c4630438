"""The MkDocs plugin: a thin shell of configuration, assets and messages around the Markdown extension."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from explorable.book import current
from explorable.live import ledger
from explorable.live.build import budgets, data_files, exercises, offline, packages, render
from explorable.live.build.assets import BASE, DIST, LIBRARY, PYODIDE, Asset, Release, collect
from explorable.live.build.bundle import LOCK_FILE, distribution_url
from explorable.live.build.extension import CONSTRUCTS, ActReference, ExerciseReference, Fence, LiveExtension
from explorable.live.build.imports import wrong_imports
from explorable.live.build.measured import Evidence
from explorable.live.build.runner import LIVE, ActDefect, Runner, json_text
from explorable.live.config import LiveConfig
from explorable.live.runtime.snippets import OUTPUT_LIMIT
from explorable.shared import locate
from explorable.shared.cache import Cache, digest
from explorable.shared.errors import Defect, nearest

log = get_plugin_logger("live")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CONFIG = "the live plugin in mkdocs.yml"


class LivePlugin(BasePlugin[LiveConfig]):  # type: ignore[no-untyped-call]
    """Runs snippets and acts at build, bakes what they give, and publishes what makes them live."""

    def __init__(self) -> None:
        self._runner: Runner | None = None
        self._serves = False
        # By page, the acts that it showed when it was last built, and whether they ask for a prediction.
        self._shown: dict[str, list[str]] = {}

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Begin to serve or build. MkDocs keeps a plugin with this method for all builds of a server."""
        self._shown.clear()
        self._serves = command == "serve"

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig | None:
        """Start afresh for this build and add the Markdown extension, the script, the style and what to watch."""
        # MkDocs keeps the plugin from one build to the next.
        self._runner = None
        if not self.config.enabled:
            return None
        self._release: Release
        self._root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        self._cache_dir = self._root / self.config.cache_dir
        acts = Path(config.docs_dir) / self.config.acts_dir
        self._docs = Path(config.docs_dir)
        records = self._root / self.config.records
        self._runner = Runner(
            Cache(self._cache_dir if self.config.cache else None),
            self._cache_dir / "bytecode",
            self.config.time_limit_s,
            acts,
            locate.source_path(str(acts), config),
            Evidence(records, self._root),
        )
        self._located = locate.install(config, CONSTRUCTS)
        self._published: dict[str, Asset] = {}
        self._rendered: list[Page] = []
        # Name -> where it stands: the reader's ledger knows an exercise by its name alone.
        self._exercises: dict[str, str] = {}
        extensions: list[Any] = config.markdown_extensions
        extensions.append(LiveExtension(self))
        given = self._packages()
        self._importable = {module for package in given for module in package.entry["imports"]}
        self._release = collect(self._cache_dir, DIST, PYODIDE, LIBRARY, given)
        script = ExtraScriptValue(self._release.entry)
        script.type = "module"
        config.extra_javascript.append(script)
        config.extra_css.append(self._release.style)
        # The footer names the release: the page's programs compare it with their own.
        config.extra["release"] = {
            "version": self._release.version,
            "build": self._release.build,
            "folders": self._release.folders,
        }
        watched = (current().library, current().ledger, LIVE, records)
        config.watch.extend(str(path) for path in watched if path and path.exists())
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files | None:
        """Publish the assets, and not the folder of the acts."""
        if not self.config.enabled:
            return None
        for file in list(files):
            if file.src_uri.startswith(f"{self.config.acts_dir}/"):
                files.remove(file)
        for asset in self._release.assets:
            files.append(_file(asset, config))
        if address := current().ledger_address:
            files.append(_file(Asset(address, ledger.schema_text(current()).encode()), config))
        return files

    @event_priority(100)
    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> None:
        """Note which page comes next, while its text is still as it was written."""
        if self.config.enabled:
            self._located.enter(page, markdown, config)
            self._page = page
            self._names: set[str] = set()
            self._rendered.append(page)
            self._shown[page.file.src_uri] = []

    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> None:
        """While serving, weigh the pages that are made: the whole site is weighed where it is built."""
        if self.config.enabled and self._serves:
            where = locate.source_path(page.file.abs_src_path or page.file.src_uri, config)
            weight = budgets.page(where, output)
            if weight.bytes > weight.limit:
                log.warning("%s", _too_heavy(weight))

    # After the plugins whose files a page may still ask for when it is older than the site.
    @event_priority(-50)
    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Publish what the pages turned out to need. All pages are rendered by now."""
        if self._runner is None:
            return
        self._runner.close()
        places: dict[str, list[File]] = {}
        for file in files.documentation_pages():
            for name in self._shown.get(file.src_uri, ()):
                places.setdefault(name, []).append(file)
        homes = {name: self._home(shown) for name, shown in places.items()}
        for page in self._rendered:
            for name in self._shown[page.file.src_uri]:
                page.content = (page.content or "").replace(render.home_of(name), homes[name])
        # The navigation shows how far the reader is with these: the page's programs look the pages up here.
        acts: dict[str, list[str]] = {}
        for name in places:
            acts.setdefault(homes[name], []).append(name)
        listed = Asset(f"{BASE}/acts.json", json_text(acts).encode())
        for asset in (*self._published.values(), listed, self._contents(files)):
            files.append(_file(asset, config))

    def _contents(self, files: Files) -> Asset:
        """What this release consists of: a later deploy keeps these files for the pages that are still open."""
        listed = (asset.uri for asset in (*self._release.assets, *self._published.values()))
        of = [uri for uri in listed if uri.startswith(f"{BASE}/")]
        of += [file.src_uri for file in files if file.src_uri.startswith(f"{budgets.MOVING}/")]
        release = self._release
        contents = {
            "version": release.version,
            "build": release.build,
            "packages": release.packages,
            "later": release.later,
            "files": sorted(of),
        }
        return Asset(f"{BASE}/release.json", json_text(contents).encode())

    # Last: the list names every file of the site.
    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write the list of files for offline reading, and check what readers download against the limits."""
        if self.config.enabled and not self._serves:
            site = Path(config.site_dir)
            offline.write(site)
            for weight in budgets.weigh(site, site / BASE, DIST):
                if weight.bytes > weight.limit:
                    log.warning("%s", _too_heavy(weight))

    def on_build_error(self, *, error: Exception) -> None:
        """Leave no process behind, also when another plugin failed before ours was set up."""
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
                self._warn(self._located.defect(where, f"snippet {name!r} imports {module}", fix))
        page = self._page.file.src_uri
        assert self._runner is not None
        outcome = self._runner.snippet(page, name, fence.source, data.files)
        if outcome.error and (not expected or outcome.stopped):
            line = None if fence.line is None else fence.line + (outcome.error["line"] or 0)
            reason = outcome.error["text"].splitlines()[-1]
            fix = "" if outcome.stopped else 'Correct it, or write error="expected"'
            self._warn(self._located.defect(line, f"snippet {name!r} fails: {reason}", fix))
        if not outcome.steady:
            what = f"snippet {name!r} can give another output each time"
            fix = "A reader would see other numbers than the page; fix the seed, and print no times and no addresses"
            self._warn(self._located.defect(fence.line, what, fix))
        if len(outcome.output) >= OUTPUT_LIMIT:
            what = f"snippet {name!r} prints more than {OUTPUT_LIMIT:,} characters"
            self._warn(self._located.defect(fence.line, what, "Print less: the page cuts it there"))
        if len(outcome.result or "") > OUTPUT_LIMIT:
            what = f"the last value of snippet {name!r} has more than {OUTPUT_LIMIT:,} characters"
            self._warn(self._located.defect(fence.line, what, "Show less of it: the page cuts it there"))
        if expected and not outcome.error:
            self._warn(self._located.defect(fence.line, f"snippet {name!r} does not fail", 'Remove error="expected"'))
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
        path = self._page.file.abs_src_path
        if "files" not in fence.options and "opens" not in fence.options:
            return data_files.DataFiles({})
        if path is None:
            return "a page that was made has no data files", "Write the page by hand"
        names, opens = fence.options.get("files", ""), fence.options.get("opens", "")
        return data_files.read(names, opens, Path(path).parent, self._docs)

    def act(self, reference: ActReference, math_html: str) -> str:
        """Bake an act of the current page."""
        name = reference.name
        if not _NAME.fullmatch(name):
            what = f"{name!r} is no name of an act" if name else "the block names no act"
            return self._defect(reference.line, what, f"Write {_as_name(name)!r}" if name else "Write /// act | a-name")
        if f"act {name}" in self._names:
            return self._defect(reference.line, f"act {name!r} is on this page twice", "Remove one")
        self._names.add(f"act {name}")
        assert self._runner is not None
        try:
            baked = self._runner.act(name)
        except LookupError:
            return self._defect(reference.line, f"there is no act {name!r}", nearest(name, self._runner.names()))
        except ActDefect as error:
            return self._warn(error.defect)
        self._shown[self._page.file.src_uri].append(name)
        program_url = self._publish("acts", name, "json", baked.program)
        spec_urls = {
            chart: self._publish("charts", f"{name}-{chart}", "json", json_text(drawn["spec"]))
            for chart, drawn in baked.charts.items()
        }
        first = "first act" not in self._names
        self._names.add("first act")
        titled = baked.description["title"] in str(self._page.meta.get("title", ""))
        return render.act(baked, self._release.python, program_url, spec_urls, math_html, first=first, titled=titled)

    def exercise(self, reference: ExerciseReference, parts: Sequence[Fence], task_html: str) -> str:
        """Check an exercise of the current page and publish what opens later."""
        name, line = reference.name, reference.line
        if not _NAME.fullmatch(name):
            what = f"{name!r} is no name of an exercise" if name else "the block names no exercise"
            return self._defect(line, what, f"Write {_as_name(name)!r}" if name else "Write /// exercise | a-name")
        if not reference.title:
            return self._defect(line, f"exercise {name!r} has no title", "Write below its name, indented: title: …")
        if self._exercises.setdefault(name, place := f"{self._page.file.src_uri}:{line}") != place:
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

    def stray(self, part: Fence) -> str:
        """Name a fence that belongs to no exercise."""
        return self._defect(part.line, "this fence is in no exercise", "Write it inside /// exercise | a-name")

    def _packages(self) -> list[packages.Package]:
        lock_file = self._root / self.config.packages_lock if self.config.packages_lock else PYODIDE / LOCK_FILE
        url = self.config.packages_url or distribution_url(PYODIDE)
        return packages.collect(self.config.packages, lock_file, url, self._cache_dir / "packages")

    def _home(self, pages: list[File]) -> str:
        """The address of the page, among those that show an act, to which the act belongs."""
        home = next((page for page in pages if page.src_uri.startswith(f"{self.config.home}/")), pages[0])
        # MkDocs calls the page at the site's root "./".
        return home.url.removeprefix("./")

    def _publish(self, folder: str, name: str, suffix: str, content: str | bytes) -> str:
        """Add a file, named by its content, and return its URL relative to the current page."""
        uri = f"{BASE}/{folder}/{name}-{digest(content)[:12]}.{suffix}"
        self._published[uri] = Asset(uri, content.encode() if isinstance(content, str) else content)
        return get_relative_url(uri, self._page.url)

    def _defect(self, line: int | None, what: str, fix: str) -> str:
        return self._warn(self._located.defect(line, what, fix))

    def _warn(self, found: Defect) -> str:
        log.warning("%s", found)
        return render.defect(found)


def _stem_and_suffix(file: str) -> tuple[str, str]:
    stem, _, suffix = file.rpartition(".")
    return (stem, suffix) if stem else (file, "bin")


def _too_heavy(weight: budgets.Weight) -> str:
    return f"too heavy: {weight}. Readers wait for it: divide it, or print and draw less"


def _as_name(written: str) -> str:
    """The name that an author may have meant: in small letters, with hyphens."""
    # Letters with marks become the letters alone, and "ß" becomes "ss".
    plain = "".join(one for one in unicodedata.normalize("NFKD", written.casefold()) if not unicodedata.combining(one))
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "a-name"


def _file(asset: Asset, config: MkDocsConfig) -> File:
    if isinstance(asset.content, Path):
        source: dict[str, Any] = {"abs_src_path": str(asset.content)}
    else:
        source = {"content": asset.content}
    return File.generated(config, asset.uri, inclusion=InclusionLevel.INCLUDED, **source)
