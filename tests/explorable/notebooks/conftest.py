"""A tiny site with one notebook, executed by a real kernel."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from tests.explorable.strict_build import build_strictly

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """site_name: Test
site_url: https://example.org/book/
theme: {name: null, custom_dir: theme}
markdown_extensions: [attr_list, md_in_html, pymdownx.superfences]
nav: [index.md, notebooks/one.py]
plugins:
  - explorable:
      book: tests.explorable.this_book
      parts: [notebooks]
      notebooks: {folder: notebooks, inputs: [engine/ironlaw, gpu_bench]}
"""


@dataclass
class Site:
    """The project in a temporary folder. What the build warns of is kept in `warnings`."""

    folder: Path
    warnings: list[str] = field(default_factory=list)

    def write(self, *cells: str, header: str = "") -> None:
        """Write the notebook: a title, and these code cells."""
        code = "".join(f"\n# %%{cell}\n" for cell in cells)
        (self.folder / "docs/notebooks/one.py").write_text(f"{header}# %% [markdown]\n# # One\n{code}", "utf-8")

    def build(self) -> str:
        """Build strictly and return the notebook's page. Raises `Abort` when there are warnings."""
        build_strictly(self.folder, self.warnings)
        return self.page()

    def page(self) -> str:
        """The notebook's page, as the last build made it."""
        return (self.folder / "site/notebooks/one/index.html").read_text("utf-8")

    def defects(self) -> list[str]:
        """The warnings of a build that fails."""
        with pytest.raises(Abort):
            self.build()
        return self.warnings


def made(root: Path) -> Site:
    """A site in this folder, whose notebook is still to be written."""
    (root / "mkdocs.yml").write_text(CONFIG, "utf-8")
    for folder in ("theme", "docs/notebooks"):
        (root / folder).mkdir(parents=True)
    (root / "theme/main.html").write_text("<title>{{ page.title }}</title>{{ page.content }}", "utf-8")
    (root / "docs/index.md").write_text("# Home\n", "utf-8")
    for folder in ("engine", "gpu_bench"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return Site(root)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site whose notebook is still to be written."""
    return made(tmp_path)
