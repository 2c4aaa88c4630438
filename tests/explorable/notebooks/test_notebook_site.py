"""Notebooks built by the part: executed, shown, published, kept, and mistakes named with file and cell."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from explorable.notebooks.pages import faults, markdown
from explorable.notebooks.source import download, read
from explorable.shared.svg import embedded
from tests.explorable.notebooks.conftest import Site, made

PLOT = """
import matplotlib.pyplot as plt
from IPython.display import display

# %config InlineBackend.figure_formats = ["svg"]

figure, axes = plt.subplots()
axes.plot([1, 2])
plt.close(figure)
display(figure{})"""
COUNTED = """
from pathlib import Path

from ironlaw import model

with Path("{}").open("a") as file:
    file.write("executed\\n")
print(model("gpt2").parameters)"""


def output(page: str, number: int) -> str | None:
    """What a cell printed, as it stands in the page."""
    found = re.search(rf'<pre aria-label="Output of cell {number}"[^>]* tabindex="0">([^<]*)</pre>', page)
    return found[1] if found else None


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site with a notebook that uses everything, built once."""
    site = made(tmp_path_factory.mktemp("notebooks"))
    site.write(
        '\nprint("a < b", "`{engine} x`", sep="\\n\\n")',
        "\n40 + 2",
        PLOT.format(', metadata={"alt": "A line from 1 to 2."}'),
        " [markdown]\n# [Home](../index.md#top), [elsewhere](https://example.com/)",
        "\nimport ironlaw.answers.estimate\nimport gpu_bench.record.store",
    )
    site.build()
    return site


def test_a_page_shows_what_the_cells_gave_and_fetches_nothing(built: Site) -> None:
    page = built.page()
    assert "<title>One</title>" in page
    assert output(page, 1) == "a &lt; b&#10;&#10;&#96;{engine} x&#96;"
    assert output(page, 2) == "42"
    assert 'aria-label="A line from 1 to 2."' in page
    assert "var(--il-compute,#00763a)" in page
    assert not re.search(r"<script|<style|cdn|mathjax", page, re.IGNORECASE)


def test_a_notebook_is_published_without_outputs_and_with_one_install(built: Site) -> None:
    page = built.page()
    folder = built.folder / "site/notebooks"
    document = json.loads((folder / "one.ipynb").read_text("utf-8"))
    assert [cell["outputs"] for cell in document["cells"] if cell["cell_type"] == "code"] == [[], [], [], []]
    text = "".join("".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "markdown")
    assert "[Home](https://example.org/book/#top), [elsewhere](https://example.com/)" in text
    assert document["metadata"]["kernelspec"]["name"] == "python3"
    assert '<a download="one.ipynb" href="../one.ipynb">' in page
    [wheel] = folder.glob("*.whl")
    assert f" https://example.org/book/notebooks/{wheel.name}\n" in re.sub(r"<[^>]+>", "", page)
    assert f"pip install https://example.org/book/notebooks/{wheel.name}" in text
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [archive.read(name).decode() for name in names if name.endswith("METADATA")]
    assert "ironlaw/__init__.py" in names
    assert any(name.startswith("gpu_bench/results/") and name.endswith(".json") for name in names)
    assert "Requires-Dist: jupyterlab" in metadata
    assert "Requires-Dist: matplotlib" in metadata


def test_a_notebook_is_published_in_the_same_bytes_by_every_build(built: Site) -> None:
    first = (built.folder / "site/notebooks/one.ipynb").read_bytes()
    built.build()
    assert (built.folder / "site/notebooks/one.ipynb").read_bytes() == first


def test_an_execution_leaves_nothing_beside_the_sources(built: Site) -> None:
    assert not list(built.folder.glob("engine/**/__pycache__"))
    assert not list(built.folder.glob("gpu_bench/**/__pycache__"))


def test_a_failing_cell_fails_the_build_with_file_and_cell(site: Site) -> None:
    site.write("\nshare = 1", "\nprint(share)\nassert share < 1, f'{share} is all'", "\nundefined")
    [warning] = site.defects()
    assert "docs/notebooks/one.py:9: cell 2 fails: AssertionError: 1 is all." in warning
    assert (site.folder / "docs/notebooks/one.py").read_text("utf-8").splitlines()[8].startswith("assert")
    # What was kept of it fails again.
    assert site.defects() == [warning]


@pytest.mark.full
def test_an_endless_cell_is_stopped_and_named(site: Site) -> None:
    config = site.folder / "mkdocs.yml"
    config.write_text(config.read_text("utf-8").replace("folder: notebooks", "folder: notebooks, time_limit_s: 5"))
    site.write("\nshare = 1", "\nwhile True: share = 1")
    [warning] = site.defects()
    assert "docs/notebooks/one.py:7: cell 2 gives no answer" in warning


@pytest.mark.full
def test_a_dead_kernel_fails_the_build(site: Site) -> None:
    site.write("\nimport os\n\nos._exit(1)")
    [warning] = site.defects()
    assert "docs/notebooks/one.py:4: cell 1 gives no answer: Kernel died" in warning


@pytest.mark.full
def test_a_plot_without_words_and_a_link_to_nowhere_fail_the_build(site: Site) -> None:
    site.write(PLOT.format(""), " [markdown]\n# [Nowhere](nowhere.md)")
    plot, link = sorted(site.defects(), key=lambda warning: "nowhere.md" in warning)
    assert "docs/notebooks/one.py:4: cell 1 shows a plot without words." in plot
    assert "notebooks/one.py" in link
    assert "nowhere.md" in link


@pytest.mark.full
def test_text_before_the_first_marker_is_refused(site: Site) -> None:
    site.write("\n1", header="import ironlaw\n\n")
    [warning] = site.defects()
    assert "docs/notebooks/one.py: 3 cells, but 2 markers; begin every cell with '# %%'." in warning


@pytest.mark.full
def test_a_marker_that_says_what_no_notebook_has_is_refused(site: Site) -> None:
    site.write(' {"tags": "local"}\n1')
    [warning] = site.defects()
    assert "docs/notebooks/one.py: a cell's marker is none of a notebook's: 'local' is not of type 'array'" in warning


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no cell"),
        ("# %% tags=3\n1\n", "a cell's marker is none of a notebook's: "),
        (
            "# ---\n# jupyter:\n#   a: &a [1]\n#   b: [*a, *a]\n# ---\n\n# %%\n1\n",
            "its head cannot be read: the alias '*a' is not read",
        ),
        ("# ---\n# jupyter:\n#   runs_in_page: 'no'\n# ---\n\n# %%\n1\n", "runs_in_page is 'no'; allowed: true, false"),
    ],
)
def test_a_file_that_is_no_notebook_is_refused_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "one.py").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=re.escape(said)):
        read(tmp_path / "one.py")


def test_what_to_install_stands_in_a_cell_of_its_own_before_code(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("# %%\nprint(1)\n\n# %% [markdown]\n# " + "](" * 20_000 + "\n", "utf-8")
    cells = json.loads(download(read(tmp_path / "one.py"), "Install it.", str))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells[:2]] == [
        ("markdown", "Install it."),
        ("code", "print(1)"),
    ]


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<", "its SVG is not well-formed"),
        ("<script>1</script>", "the element 'script', which is no part of a drawing"),
        ('<g onload="1"/>', "onload='1'; a drawing holds all it shows"),
        ('<image href="https://example.org/x.png"/>', "href='https://example.org/x.png'; a drawing holds"),
        ('<g style="fill:url(//example.org/x)"/>', "a drawing holds all it shows"),
        (r'<g style="fill:u\72l(//example.org/x)"/>', "a drawing holds all it shows"),
        ('<use href="#none"/>', "its SVG uses '#none', which it does not have"),
    ],
)
def test_a_plot_that_no_page_can_hold_is_named_with_its_cell(inside: str, said: str) -> None:
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    shown = {"output_type": "display_data", "data": {"image/svg+xml": drawing}, "metadata": {"alt": "A plot."}}
    document = {"cells": [{"cell_type": "code", "source": "1", "metadata": {}, "outputs": [shown]}]}
    [(line, fault, _)] = faults(document, [7])
    assert (line, said in fault) == (7, True), fault
    assert "svg" not in markdown(document, "", live=False)


def test_a_cell_that_no_page_shows_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("# %%\n1\n\n# %% [raw]\n# Lost words.\n", "utf-8")
    source = read(tmp_path / "one.py")
    [(line, fault, fix)] = faults(source.document, source.lines)
    assert (line, fault) == (4, "a cell of the kind 'raw' is on no page")
    assert fix.startswith("begin it with '# %% [markdown]'")


def test_a_drawing_may_write_its_uses_as_any_library_does() -> None:
    path = '<defs><path id="a" d="M0 0"/></defs><use href="#a" x="1" fill="url(#a)"/>'
    root = embedded(f'<svg xmlns="http://www.w3.org/2000/svg">{path}</svg>', "A plot")
    assert [node.tag for node in root.iter()] == ["svg", "defs", "g", "path"]


@pytest.mark.parametrize("live", [True, False])
def test_backticks_of_a_cell_do_not_end_it(live: bool) -> None:
    source = 'words = """\n````\n"""'
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
    begins, *lines, ends = markdown({"cells": [cell]}, "", live=live).strip().splitlines()
    assert (lines, ends) == (source.splitlines(), "`````")
    assert begins.startswith("`````")


@pytest.mark.full
def test_cells_run_again_when_the_notebook_or_the_engine_changed_and_only_then(site: Site) -> None:
    log = site.folder / "log.txt"

    def runs() -> int:
        return log.read_text("utf-8").count("executed")

    site.write(COUNTED.format(log))
    first = site.build()
    assert site.build() == first
    assert runs() == 1
    file = site.folder / "engine/ironlaw/models/transformer.py"
    file.write_text(file.read_text("utf-8").replace("4 * self.hidden", "8 * self.hidden"), "utf-8")
    changed = site.build()
    assert runs() == 2
    assert output(changed, 1) != output(first, 1)
    site.write(COUNTED.format(log), "\nprint(1)")
    site.build()
    assert runs() == 3
    [record, *_] = (site.folder / "gpu_bench/results").rglob("*.json")
    record.write_text(record.read_text("utf-8") + "\n", "utf-8")
    site.build()
    assert runs() == 4


def test_cells_of_a_notebook_for_the_page_become_snippets_except_local_ones() -> None:
    printed = {"output_type": "stream", "text": ["a\n", "b\n"]}
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": "# One", "metadata": {}},
        {"cell_type": "code", "source": "print(1)", "metadata": {}, "outputs": [printed]},
        {"cell_type": "code", "source": "print(2)", "metadata": {"tags": ["local"]}, "outputs": [printed]},
    ]
    text = markdown({"cells": cells}, "First.", live=True)
    assert text.startswith('# One\n\nFirst.\n\n```live name="cell-1"\nprint(1)\n```\n')
    assert "Output of cell 1" not in text
    assert 'aria-label="Output of cell 2" tabindex="0">a&#10;b</pre>' in text
    assert "```live" not in markdown({"cells": cells}, "First.", live=False)
