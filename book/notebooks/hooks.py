"""MkDocs hooks around mkdocs-jupyter: it finds and executes the notebooks, the site shows them as pages of its own.

mkdocs-jupyter would put JupyterLab's style sheet and scripts of other hosts into a page. So its template is replaced by
one that hands over the executed notebook, and what a reader sees is Markdown made from it, which every other plugin
treats like any page: its colors, its links checked, its snippets live.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs_jupyter.config import settings as jupyter_settings  # type: ignore[import-untyped]

from book.notebooks import environment
from book.notebooks.pages import Fault, faults, markdown
from book.notebooks.source import Source, download, read
from book.notebooks.wheel import FILE, wheel
from explorable.shared.cache import digest, drop_broken, fingerprint, sealed
from explorable.shared.errors import Defect
from explorable.shared.installed import everything
from explorable.shared.locate import source_path
from explorable.shared.log import logger

log = logger("notebooks")

HERE = Path(__file__).parent
STYLESHEET = "assets/notebooks/notebooks.css"
INPUTS = ("engine/ironlaw", "gpu_bench")
"""What a notebook computes from, besides its own cells: folders beside `mkdocs.yml`."""

_downloads: dict[str, bytes] = {}
"""By notebook, what was last published for download."""
_JSON = re.compile(r"<script[^>]*>(.*)</script>", re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let mkdocs-jupyter hand over notebooks, and keep them until the engine, a record or a library changed."""
    root, folder = _root(config), _folder(config)
    jupyter_settings.templates_dir = str(HERE / "templates")
    inputs = fingerprint([*(root / name for name in INPUTS), HERE / "templates", HERE / "environment.py"])
    executed = folder / "executed" / digest(inputs, everything())
    # mkdocs-jupyter would show a broken file of its cache as it is, or end in a traceback.
    drop_broken(executed, "*.json")
    _jupyter(config).config["cache_dir"] = str(executed)
    config.extra_css.append(STYLESHEET)
    config.watch.extend(str(root / name) for name in ("engine/ironlaw", "gpu_bench/results"))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Publish the style sheet, each notebook as a download, and the wheel that runs it."""
    notebooks = [file for file in files if _jupyter(config).should_include(file)]
    files.append(File.generated(config, STYLESHEET, abs_src_path=str(HERE / "notebooks.css")))
    folders = {posixpath.dirname(file.src_uri) for file in notebooks}
    for folder in sorted(folders):
        content = wheel(_root(config), _folder(config) / "wheels")
        files.append(File.generated(config, posixpath.join(folder, FILE), content=content))
    for file in notebooks:
        # Its content is known once its page is made, before static files are written. A server that does not make the
        # page again uses the last content.
        files.append(File.generated(config, _ipynb(file), content=_downloads.get(file.src_uri, b"")))
    return files


# Before mkdocs-jupyter, which deletes executed notebooks that this build did not use: a server may not build all pages.
@event_priority(100)
def on_post_build(*, config: MkDocsConfig) -> None:
    """Keep what was executed from the same sources."""
    jupyter = _jupyter(config)
    executed = Path(jupyter.config["cache_dir"])
    jupyter._used_cache_paths.update(executed.glob("*.json"))
    sealed(executed, "*.json")


# Before every other plugin, so that they see Markdown.
@event_priority(200)
def on_page_markdown(text: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
    """Execute a notebook, publish it as a download, and return its page."""
    if not _jupyter(config).should_include(page.file):
        return None
    path = Path(str(page.file.abs_src_path))
    try:
        source = read(path)
    except ValueError as error:
        return _failed(Defect(source_path(path, _root(config)), None, str(error)))
    executed = _execute(page, config, files, source)
    if executed is None:
        return f"# {page.title}\n"
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


def _execute(page: Page, config: MkDocsConfig, files: Files, source: Source) -> dict[str, Any] | None:
    """The notebook with its outputs, from mkdocs-jupyter or its cache; None when the kernel did not survive."""
    # mkdocs-jupyter has put its own `render` on this page; without it, MkDocs renders the Markdown that we return.
    render = vars(page).pop("render")
    path = str(page.file.abs_src_path)
    try:
        with environment.active(_root(config), _folder(config)):
            render(config, files)
    except (RuntimeError, TimeoutError) as error:
        _failed(_lost(str(error), source, source_path(path, _root(config))))
        return None
    found = _JSON.search(str(page.content))
    assert found is not None, f"mkdocs-jupyter did not use our template for {path}"
    executed: dict[str, Any] = json.loads(found[1])
    return executed


def _lost(message: str, source: Source, file: str) -> Defect:
    """The defect of a notebook that was stopped, with the cell that the message quotes."""
    reason = message.strip().splitlines()[0].rstrip(".")
    number = 0
    for line, cell in zip(source.lines, source.document["cells"], strict=True):
        if cell["cell_type"] != "code":
            continue
        number += 1
        lines = cell["source"].strip().split("\n")
        # nbclient quotes a short cell as it is, and of a long one the list of its first lines.
        quoted = "\n".join(lines) if len(lines) < 11 else f"{lines[:5]}"
        if f"\n{quoted}\n" in message:
            return Defect(file, line, f"cell {number} gives no answer: {reason}")
    return Defect(file, None, f"the notebook gives no answer: {reason}")


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


def _jupyter(config: MkDocsConfig) -> Any:
    return config.plugins["mkdocs-jupyter"]


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent if config.config_file_path else Path.cwd()


def _folder(config: MkDocsConfig) -> Path:
    return _root(config) / ".cache/notebooks"
