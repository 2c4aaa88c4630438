"""The MkDocs plugin: a thin shell of configuration, assets and messages around the Markdown extension."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from plugins.live.build import budgets, offline, packages, render
from plugins.live.build.assets import BASE, DIST, LIBRARY, PYODIDE, Asset, Release, collect
from plugins.live.build.bundle import LOCK_FILE, distribution_url
from plugins.live.build.extension import CONSTRUCTS, ActReference, Fence, LiveExtension
from plugins.live.build.imports import wrong_imports
from plugins.live.build.measured import Evidence
from plugins.live.build.runner import LIVE, ActDefect, Runner, json_text
from plugins.live.config import LiveConfig
from plugins.live.runtime.snippets import OUTPUT_LIMIT
from plugins.shared import locate
from plugins.shared.cache import Cache, digest
from plugins.shared.child import ROOT
from plugins.shared.errors import Defect, nearest

log = get_plugin_logger("live")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CONFIG = "the live plugin in mkdocs.yml"


class LivePlugin(BasePlugin[LiveConfig]):  # type: ignore[no-untyped-call]
    """Runs snippets and acts at build, bakes what they give, and publishes what makes them live."""

    def __init__(self) -> None:
        self._runner: Runner | None = None
        self._serves = False
        # By page, the acts that it showed when it was last built, and whether they ask for a prediction.
        self._shown: dict[str, dict[str, bool]] = {}

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
            "hosts": self._release.hosts,
        }
        config.watch.extend(str(path) for path in (ROOT / "engine", LIVE, records) if path.exists())
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
        return files

    @event_priority(100)
    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> None:
        """Note which page comes next, while its text is still as it was written."""
        if self.config.enabled:
            self._located.enter(page, markdown, config)
            self._page = page
            self._names: set[str] = set()
            self._rendered.append(page)
            self._shown[page.file.src_uri] = {}

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
        questions: dict[str, list[str]] = {}
        for name, shown in places.items():
            if self._shown[shown[0].src_uri][name]:
                questions.setdefault(homes[name], []).append(name)
        listed = Asset(f"{BASE}/questions.json", json_text(questions).encode())
        for asset in (*self._published.values(), listed, self._contents(files)):
            files.append(_file(asset, config))

    def _contents(self, files: Files) -> Asset:
        """What this release consists of: a later deploy keeps these files for the pages that are still open."""
        listed = (asset.uri for asset in (*self._release.assets, *self._published.values()))
        of = [uri for uri in listed if uri.startswith(f"{BASE}/")]
        of += [file.src_uri for file in files if file.src_uri.startswith(f"{budgets.MOVING}/")]
        contents = {"version": self._release.version, "build": self._release.build, "files": sorted(of)}
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
                    log.warning("too heavy: %s", weight)

    def on_build_error(self, *, error: Exception) -> None:
        """Leave no process behind, also when another plugin failed before ours was set up."""
        if self._runner is not None:
            self._runner.close()

    def snippet(self, fence: Fence) -> str:
        """Run a live fence of the current page."""
        name = fence.options.get("name", "")
        expected = fence.options.get("error")
        unknown = sorted(set(fence.options) - {"name", "error"})
        if unknown:
            return self._defect(fence.line, f"unknown option {unknown[0]!r} of a live fence", "Allowed: name, error")
        if not _NAME.fullmatch(name):
            what = f"{name!r} is no name for a snippet" if name else "a live fence needs a name"
            return self._defect(fence.line, what, 'Write name="…" in lower-case letters, digits and "-"')
        if name in self._names:
            return self._defect(fence.line, f"there are two snippets called {name!r} on this page", "Rename one")
        if expected not in (None, "expected"):
            return self._defect(fence.line, f"error={expected!r} is unknown", 'Allowed: error="expected"')
        self._names.add(name)
        if not expected:
            for row, module in wrong_imports(fence.source, self._importable):
                where = None if fence.line is None else fence.line + row
                fix = f"A snippet may import the standard library, engine and the packages of {CONFIG}"
                self._warn(self._located.defect(where, f"snippet {name!r} imports {module}", fix))
        page = self._page.file.src_uri
        assert self._runner is not None
        outcome = self._runner.snippet(page, name, fence.source)
        if outcome.error and (not expected or outcome.stopped):
            line = None if fence.line is None else fence.line + (outcome.error["line"] or 0)
            reason = outcome.error["text"].splitlines()[-1]
            fix = "" if outcome.stopped else 'Correct it, or write error="expected"'
            self._warn(self._located.defect(line, f"snippet {name!r} fails: {reason}", fix))
        if not outcome.steady:
            what = f"snippet {name!r} gives another output each time"
            fix = "A reader would see other numbers than the page; fix the seed, and print no times and no addresses"
            self._warn(self._located.defect(fence.line, what, fix))
        if len(outcome.output) >= OUTPUT_LIMIT:
            what = f"snippet {name!r} prints more than {OUTPUT_LIMIT:,} characters"
            self._warn(self._located.defect(fence.line, what, "Print less: the page cuts it there"))
        if expected and not outcome.error:
            self._warn(self._located.defect(fence.line, f"snippet {name!r} does not fail", 'Remove error="expected"'))
        return render.snippet(page, name, fence.source, outcome)

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
        self._shown[self._page.file.src_uri][name] = baked.description["question"] is not None
        program_url = self._publish("acts", name, "json", baked.program)
        spec_urls = {
            chart: self._publish("charts", f"{name}-{chart}", "json", json_text(drawn["spec"]))
            for chart, drawn in baked.charts.items()
        }
        first = "first act" not in self._names
        self._names.add("first act")
        return render.act(baked, self._release.python, program_url, spec_urls, math_html, first=first)

    def _packages(self) -> list[packages.Package]:
        lock_file = self._root / self.config.packages_lock if self.config.packages_lock else PYODIDE / LOCK_FILE
        url = self.config.packages_url or distribution_url(PYODIDE)
        return packages.collect(self.config.packages, lock_file, url, self._cache_dir / "packages")

    def _home(self, pages: list[File]) -> str:
        """The address of the page, among those that show an act, to which the act belongs."""
        home = next((page for page in pages if page.src_uri.startswith(f"{self.config.home}/")), pages[0])
        # MkDocs calls the page at the site's root "./".
        return home.url.removeprefix("./")

    def _publish(self, folder: str, name: str, suffix: str, content: str) -> str:
        """Add a file, named by its content, and return its URL relative to the current page."""
        uri = f"{BASE}/{folder}/{name}-{digest(content)[:12]}.{suffix}"
        self._published[uri] = Asset(uri, content.encode())
        return get_relative_url(uri, self._page.url)

    def _defect(self, line: int | None, what: str, fix: str) -> str:
        return self._warn(self._located.defect(line, what, fix))

    def _warn(self, found: Defect) -> str:
        log.warning("%s", found)
        return render.defect(found)


def _as_name(written: str) -> str:
    """The name that an author may have meant: in small letters, with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", written.lower()).strip("-")


def _file(asset: Asset, config: MkDocsConfig) -> File:
    if isinstance(asset.content, Path):
        source: dict[str, Any] = {"abs_src_path": str(asset.content)}
    else:
        source = {"content": asset.content}
    return File.generated(config, asset.uri, inclusion=InclusionLevel.INCLUDED, **source)
