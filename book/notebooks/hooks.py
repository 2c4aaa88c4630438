"""MkDocs hooks for notebooks: each is executed, beside the build, and becomes a page.

What a reader sees is Markdown made from the executed notebook, which every plugin treats like any page: its colors, its
links checked, its snippets live.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from book.notebooks import environment
from book.notebooks.pages import Fault, faults, markdown
from book.notebooks.source import Source, download, read
from book.notebooks.wheel import FILE, wheel
from explorable.shared.ahead import Ahead
from explorable.shared.cache import Cache, digest, fingerprint
from explorable.shared.child import Child, ChildError
from explorable.shared.errors import Defect
from explorable.shared.installed import everything
from explorable.shared.locate import source_path
from explorable.shared.log import logger

log = logger("notebooks")

HERE = Path(__file__).parent
STYLESHEET = "assets/notebooks/notebooks.css"
FOLDER = "notebooks"
"""Where notebooks lie among the documents."""
INPUTS = ("engine/ironlaw", "gpu_bench")
"""What a notebook computes from, besides its own cells: folders beside `mkdocs.yml`."""
_REQUEST_LIMIT_S = 1800.0
"""Longer than the limits of a notebook's cells together; these are the kernel's."""

_downloads: dict[str, bytes] = {}
"""By notebook, what was last published for download."""


class Notebook(File):
    """A Python file that becomes a page."""

    def is_documentation_page(self) -> bool:
        """Whether it becomes a page."""
        return True


class Executions:
    """Notebooks executed in a child process from when the files are known, and kept.

    What is kept depends on the notebook, the engine, the records and everything that is installed.

    Args:
        root: The folder of `mkdocs.yml`.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._kept = root, root / ".cache/notebooks"
        self._cache = Cache(self._kept / "executed")
        self._child = Child("book.notebooks.execute", _REQUEST_LIMIT_S, self._kept / "bytecode")
        self._answers: Ahead[Path, dict[str, Any]] = Ahead(self._found)

    def begin(self, paths: Iterable[Path]) -> None:
        """Begin to execute notebooks."""
        self._answers.begin(paths)

    @cached_property
    def _version(self) -> str:
        own = (HERE / name for name in ("environment.py", "execute.py"))
        return digest(fingerprint([*(self._root / name for name in INPUTS), *own]), everything())

    def answer(self, path: Path) -> dict[str, Any]:
        """The notebook with its outputs, as `document`, or what was `lost`, and in which code `cell`."""
        return self._answers.answer(path)

    def close(self) -> None:
        """End the child process; a later request starts it again."""
        self._answers.end(self._child.close)

    def _found(self, path: Path) -> dict[str, Any]:
        text = path.read_text(encoding="utf-8")
        look = environment.matplotlibrc()
        key = digest("notebook", self._version, look, text)
        answer: dict[str, Any] | None = self._cache.get(key)
        if answer is None:
            places = {"folder": str(path.parent), "root": str(self._root), "kept": str(self._kept)}
            asked = {"text": text, "look": look, "limit_s": environment.TIME_LIMIT_S, **places}
            try:
                answer = self._child.request(asked)
            except ChildError as error:
                return {"lost": str(error), "cell": None}
            assert answer is not None
            if "document" in answer:
                self._cache.put(key, answer, self._child.imported)
        return answer


_executions: list[Executions] = []
"""Those of the build that runs."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Offer the style sheet, and watch what notebooks compute from."""
    config.extra_css.append(STYLESHEET)
    config.watch.extend(str(_root(config) / name) for name in ("engine/ironlaw", "gpu_bench/results"))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Make notebooks pages, and publish the style sheet, each notebook as a download, and the wheel that runs it."""
    found = [file for file in files if file.src_uri.startswith(f"{FOLDER}/") and file.src_uri.endswith(".py")]
    notebooks = [_page_of(file, files, config) for file in found]
    _end()
    _executions.append(Executions(_root(config)))
    # A server makes few of them again, each when it is asked for.
    _executions[0].begin(Path(str(file.abs_src_path)) for file in notebooks if file.src_uri not in _downloads)
    files.append(File.generated(config, STYLESHEET, abs_src_path=str(HERE / "notebooks.css")))
    if notebooks:
        content = wheel(_root(config), _root(config) / ".cache/notebooks/wheels")
        files.append(File.generated(config, posixpath.join(FOLDER, FILE), content=content))
    for file in notebooks:
        # Its content is known once its page is made, before static files are written. A server that does not make the
        # page again uses the last content.
        files.append(File.generated(config, _ipynb(file), content=_downloads.get(file.src_uri, b"")))
    return files


def _page_of(file: File, files: Files, config: MkDocsConfig) -> Notebook:
    """The file as a page, in its place."""
    assert file.src_dir is not None
    page = Notebook(file.src_uri, file.src_dir, config.site_dir, config.use_directory_urls, inclusion=file.inclusion)
    files.remove(file)
    files.append(page)
    return page


def on_post_build(**_: object) -> None:
    """Leave no process behind."""
    _end()


def on_build_error(**_: object) -> None:
    """Leave no process behind."""
    _end()


def _end() -> None:
    while _executions:
        _executions.pop().close()


# Before every other plugin, so that they see Markdown.
@event_priority(200)
def on_page_markdown(text: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
    """Execute a notebook, publish it as a download, and return its page."""
    if not isinstance(page.file, Notebook):
        return None
    path = Path(str(page.file.abs_src_path))
    try:
        source = read(path)
    except ValueError as error:
        return _failed(Defect(source_path(path, _root(config)), None, str(error)))
    answer = _executions[0].answer(path)
    if "lost" in answer:
        return _failed(_lost(answer, source, source_path(path, _root(config))))
    executed = answer["document"]
    found = list(faults(executed))
    for fault in found:
        _failed(_defect(fault, source, path, config))
    site = str(config.site_url or "")
    install = f"pip install {urljoin(site, posixpath.join(posixpath.dirname(page.file.src_uri), FILE))}"
    name = posixpath.basename(_ipynb(page.file))

    def address(target: str) -> str:
        uri = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), target))
        file = files.get_file_from_path(uri)
        return urljoin(site, file.url if file else uri)

    whole = files.get_file_from_path(_ipynb(page.file))
    assert whole is not None
    whole.content_bytes = _downloads[page.file.src_uri] = download(
        source, f"To run this notebook, install once:\n\n    {install}", address
    )
    live = source.runs_in_page and not found
    return markdown(executed, _how_to_run(name, install, live=live), live=live)


def _lost(answer: dict[str, Any], source: Source, file: str) -> Defect:
    """The defect of a notebook that was stopped."""
    cells, at = source.document["cells"], answer["cell"]
    if at is None:
        return Defect(file, None, f"the notebook gives no answer: {answer['lost']}")
    number = sum(cell["cell_type"] == "code" for cell in cells[: at + 1])
    return Defect(file, source.lines[at], f"cell {number} gives no answer: {answer['lost']}")


def _defect(fault: Fault, source: Source, path: Path, config: MkDocsConfig) -> Defect:
    line = source.lines[fault.cell] + (fault.line or 0)
    return Defect(source_path(path, _root(config)), line, fault.what, fault.fix)


def _how_to_run(name: str, install: str, *, live: bool) -> str:
    here = (
        "Blocks with a Run button also run here; a block first runs those before it that have not run yet."
        if live
        else "Below each block stands what it gave when this site was built."
    )
    return f"""<div class="il-notebook" markdown="block">

**To run it on your machine:** [download the notebook]({name}){{ download="{name}" }}. One install brings the
engine, the records and Jupyter. {here}

```sh
{install}
jupyter lab {name}
```

</div>"""


def _failed(defect: Defect) -> str:
    log.warning("%s", defect)
    return f"# Notebook\n\n{defect}\n"


def _ipynb(file: File) -> str:
    return f"{file.src_uri.rpartition('.')[0]}.ipynb"


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
