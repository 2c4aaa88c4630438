"""The part `notebooks`: makes pages of notebooks, and publishes them for download beside the wheel that runs them."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from explorable.book import current
from explorable.notebooks.executions import Executions
from explorable.notebooks.pages import faults, markdown
from explorable.shared.errors import Defect, UnbuildableError
from explorable.shared.locate import source_path
from explorable.shared.log import logger
from explorable.site import Asset, Offer, Page, Part, Site

if TYPE_CHECKING:
    from explorable.notebooks.source import Source

log = logger("notebooks")

STYLESHEET = "assets/notebooks/notebooks.css"
CACHE = ".cache/notebooks"


@dataclass(frozen=True)
class NotebooksOptions:
    """Options of notebooks.

    folder: where they lie, inside the docs folder: Python files whose cells begin with `# %%`; empty for none.
    inputs: packages that they compute with besides the library, as folders relative to the book's folder. A change in
        one executes the notebooks again.
    time_limit_s: the most seconds that one cell may take.
    """

    folder: str = ""
    inputs: tuple[str, ...] = ()
    time_limit_s: float = 60

    @property
    def enabled(self) -> bool:
        """Whether the book has notebooks."""
        return bool(self.folder)


class NotebooksPart(Part):
    """Notebooks as pages."""

    def __init__(self, options: NotebooksOptions) -> None:
        self.options = options
        self._folder = PurePosixPath(options.folder).as_posix()
        self._executions: Executions | None = None

    def begin(self, site: Site) -> Offer:
        """Prepare to execute notebooks."""
        try:
            self._sources = import_module("explorable.notebooks.source")
        except ModuleNotFoundError as error:
            raise UnbuildableError(f"notebooks: {error.name} is not there; install 'explorable[notebooks]'") from None
        self._site, self._kept = site, site.root / CACHE
        inputs = [*(site.root / name for name in self.options.inputs), *filter(None, [current().library])]
        self._executions = Executions(self._kept, inputs, self.options.time_limit_s)
        if site.computes_all(*inputs):
            self._executions.begin(sorted((site.docs / self._folder).glob("**/*.py")))
        self._wheel = wheel = current().wheel
        self._install = f"pip install {urljoin(site.address, f'{self._folder}/{wheel.file}')}" if wheel else ""
        return Offer(styles=[STYLESHEET], watched=inputs)

    def makes(self, source: str) -> bool:
        """Whether the file is a notebook."""
        return source.startswith(f"{self._folder}/") and source.endswith(".py")

    def files(self, pages: Sequence[Page]) -> Sequence[Asset]:
        """The style sheet, each notebook for download, and the wheel that runs it."""
        assert self._executions is not None
        notebooks = [page for page in pages if self.makes(page.source)]
        self._addresses = {page.source: page.url for page in pages}
        found = [Asset(STYLESHEET, Path(__file__).with_name("notebooks.css"))]
        if notebooks and self._wheel:
            content = self._wheel.build(self._site.root, self._kept / "wheels")
            found.append(Asset(f"{self._folder}/{self._wheel.file}", content))
        for page in notebooks:
            with suppress(ValueError):  # Its page says what is wrong.
                found.append(Asset(_ipynb(page), self._download(page)))
        return found

    def text(self, page: Page) -> str:
        """The Markdown of an executed notebook. One that fails is a page that says so."""
        assert self._executions is not None
        assert page.path
        try:
            source: Source = self._sources.read(page.path)
        except ValueError as error:
            return self._failed(page, None, str(error))
        answer = self._executions.answer(page.path)
        if "lost" in answer:
            return self._failed(page, None if (at := answer["cell"]) is None else source.lines[at], answer["lost"])
        executed = answer["document"]
        found = list(faults(executed, source.lines))
        for fault in found:
            self._failed(page, *fault)
        live = source.runs_in_page and not found
        return markdown(executed, self._how_to_run(posixpath.basename(_ipynb(page)), live=live), live=live)

    def end(self) -> None:
        """End the child process."""
        if self._executions is not None:
            self._executions.close()

    def _download(self, page: Page) -> bytes:
        def address(target: str) -> str:
            uri = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), target))
            return urljoin(self._site.address, self._addresses.get(uri, uri))

        first = f"To run this notebook, install once:\n\n    {self._install}" if self._install else ""
        content: bytes = self._sources.download(self._sources.read(page.path), first, address)
        return content

    def _how_to_run(self, name: str, *, live: bool) -> str:
        here = (
            "Blocks with a Run button also run here; a block first runs those before it that have not run yet."
            if live
            else "Below each block stands what it gave when this site was built."
        )
        words = f"{self._wheel.brings} {here}" if self._wheel else here
        commands = "\n".join(filter(None, (self._install, f"jupyter lab {name}")))
        return f"""<div class="il-notebook" markdown="block">

**To run it on your machine:** [download the notebook]({name}){{ download="{name}" }}. {words}

```sh
{commands}
```

</div>"""

    def _failed(self, page: Page, line: int | None, what: str, fix: str = "") -> str:
        """Tell a mistake of an author; the page that says it."""
        defect = Defect(source_path(page.path or page.source, self._site.root), line, what, fix)
        log.warning("%s", defect)
        return f"# Notebook\n\n{defect}\n"


def _ipynb(page: Page) -> str:
    return str(PurePosixPath(page.source).with_suffix(".ipynb"))
