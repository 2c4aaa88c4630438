"""Tiny sites, built strictly: numbers and tables in pages, defects with file and line, rebuilds after edits."""

from __future__ import annotations

import re
from html import unescape

from gpu_bench.record.load import parse, valid
from tests.explorable.measured.made import ROOT, Site, document

ADAM, SGD, MOMENTUM = "gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd", "gpt2-nano-fp32-momentum"
STATE = 'training_memory(model("gpt2-xl"), optimizer="adam", precision="fp32").component("optimizer")'
ENGINE = f"`{{engine}} {STATE} | GB .2f`"
TABLE = """
/// measured | smoke
caption: Step time
columns:
  - {label: Step, path: summary.step_s, unit: ms, format: .1f}
  - {label: Optimizer state, path: memory.held.optimizer_total, unit: B, format: d}
%s
///
"""
TABLE_ALL = TABLE % ""


def text(html: str) -> str:
    """What a reader sees."""
    return unescape(re.sub(r"<[^>]*>", "", html)).replace("\u00a0", " ")


def rows(html: str) -> list[list[str]]:
    """The cells of every row of the body of the only table."""
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [text(cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>.*?</tr>", body, re.DOTALL)
    ]


def test_adam_state_of_gpt2_xl_stands_in_a_page_with_its_origin(site: Site) -> None:
    site.page(f"Adam keeps {ENGINE} of state.\n")
    html = site.build()
    assert "Adam keeps 12.46 GB of state." in text(html)
    assert f"Computed by the engine: {STATE} = 12,460,889,600 B" in unescape(html)


def test_a_computed_number_links_to_the_reference(site: Site) -> None:
    site.options = "reference: reference"
    site.page("# Reference\n\n::: ironlaw.core.units\n", "reference/units.md")
    page = "# Reference\n\n::: ironlaw.memory.tensors\n\n## Ledger {#ironlaw.memory.tensors.MemoryLedger.component}\n"
    site.page(page, "reference/memory.md")
    site.page(f"It is {ENGINE}.\n")
    html = site.build(["attr_list"])
    assert 'href="reference/memory/#ironlaw.memory.tensors.MemoryLedger.component"' in html
    assert 'aria-label="12.46\u00a0GB, computed by the engine"' in html


def test_a_measured_number_says_how_it_was_measured_and_links_to_the_published_record(site: Site) -> None:
    file = site.record(document(ADAM, seconds=2.0))
    site.page(f"A step takes `{{record}} smoke/{ADAM}: summary.step_s | s .2f`.\n", "deep/page.md")
    site.page("Home\n")
    site.build()
    html = (site.folder / "site/deep/page/index.html").read_text("utf-8")
    assert "A step takes 2.04 s." in text(html)
    assert "median of n = 60, interquartile range 0.04\u00a0s, NVIDIA H200, 2025-11-20" in unescape(html)
    link = re.search(r'href="([^"]*\.json)"', html)
    assert link is not None
    published = (site.folder / "site/deep/page" / link[1]).resolve()
    assert published.read_bytes() == file.read_bytes()


def each_on_a_page(site: Site, texts: list[str]) -> list[str]:
    """The pages that these texts become, each on a page of its own of one site."""
    site.page("# Home\n")
    for number, markdown in enumerate(texts):
        site.page(markdown % ENGINE, f"page{number}.md")
    extensions = ("tables", "admonition", "footnotes", "def_list", "pymdownx.details", "pymdownx.tabbed")
    site.build([*extensions, "pymdownx.inlinehilite", "pymdownx.superfences"])
    return [(site.folder / f"site/page{number}/index.html").read_text("utf-8") for number in range(len(texts))]


def test_a_number_works_wherever_text_stands(site: Site) -> None:
    texts = [
        "# Head %s\n",
        "- item\n    - inner %s\n",
        "| a | b |\n|---|---|\n| x | %s |\n",
        '!!! note "Title"\n    Inside %s\n',
        "> quoted %s\n",
        '??? note "Title %s"\n    Inside\n',
        '=== "Tab"\n    Inside %s\n',
        "text[^1]\n\n[^1]: note %s\n",
        "Term\n:   definition %s\n",
        "**bold %s**\n",
        "[link %s](index.md)\n",
    ]
    for markdown, html in zip(texts, each_on_a_page(site, texts), strict=True):
        assert "12.46 GB" in text(html), markdown
        assert "{engine}" not in text(html), markdown


def test_an_example_in_code_stays_an_example(site: Site) -> None:
    texts = [
        "```text\n%s\n```\n",
        "    %s\n",
        "`` %s ``\n",
        "<!-- %s -->\n",
        "- item\n\n    ```text\n    %s\n    ```\n",
    ]
    for markdown, html in zip(texts, each_on_a_page(site, texts), strict=True):
        assert "{engine}" in html, markdown
        assert "12.46" not in html, markdown


def test_no_link_stands_inside_a_link(site: Site) -> None:
    site.options = "reference: reference"
    site.page(
        "::: ironlaw.memory.tensors\n\n# T {#ironlaw.memory.tensors.MemoryLedger.component}\n", "reference/memory.md"
    )
    site.page(f"[see {ENGINE}](index.md)\n")
    html = site.build(["attr_list"])
    assert re.search(r'<a href="[^"]*">see <span class="il-number il-computed"', html)


def test_the_contents_name_a_heading_with_its_number(site: Site) -> None:
    site.page(f"# Adam keeps {ENGINE}\n")
    assert "Adam keeps 12.46 GB" in text(site.build()).partition("\n")[0]


def test_an_engine_that_cannot_be_imported_is_named_at_every_number(site: Site) -> None:
    (site.own_engine() / "__init__.py").write_text("import nothing_of_this_name\n", "utf-8")
    site.page(f"{ENGINE}\n")
    (warning,) = site.defects()
    assert "docs/index.md:1: " in warning
    assert "the library cannot be imported: ModuleNotFoundError" in warning


def test_an_expression_that_ends_its_process_does_not_take_the_build_or_other_numbers_along(site: Site) -> None:
    with (site.own_engine() / "vocabulary.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef crash() -> int:\n    import os\n    os._exit(3)\n")
    site.page(f"{ENGINE}\n\nand `{{engine}} crash() | count`\n")
    (warning,) = site.defects()
    assert "docs/index.md:3: 'crash()' has no value" in warning


def test_a_second_build_and_one_after_an_edit_of_the_engine(site: Site) -> None:
    engine = site.own_engine()
    site.page('`{engine} model("gpt2").parameters | count`\n')
    assert "124,439,808" in site.build()
    assert "124,439,808" in site.build()
    source = engine / "models" / "transformer.py"
    edited = source.read_text("utf-8") + "\n\nTransformer.parameters = property(lambda self: 7)\n"
    source.write_text(edited, "utf-8")
    assert ">7<" in site.build()


def test_a_number_follows_its_record(site: Site) -> None:
    site.page(f"`{{record}} smoke/{ADAM}: summary.step_s | s .2f`\n{TABLE_ALL}")
    site.record(document(ADAM, seconds=2.0))
    assert "2.04 s" in text(site.build())
    site.record(document(ADAM, seconds=1.0))
    again = text(site.build())
    assert "1.02 s" in again
    assert "1020.0 ± 10.0" in again


def test_an_invalid_record_fails_the_strict_build(site: Site) -> None:
    made = document(ADAM)
    del made["provenance"]
    site.record(made)
    site.page("Home\n")
    (warning,) = site.defects()
    assert f"results/smoke/{ADAM}--nvidia-h200.json: at /: 'provenance' is a required property" in warning


def test_a_table_shows_median_spread_n_device_day_and_a_link_in_every_row(site: Site) -> None:
    site.record(document(ADAM, seconds=2.0))
    site.record(document(SGD, seconds=0.1))
    site.page(TABLE % f"cases:\n  {SGD}: SGD\n  {ADAM}: Adam")
    html = site.build()
    assert rows(html) == [["SGD", "102.0 ± 1.0", "0"], ["Adam", "2040.0 ± 20.0", "26324992"]]
    assert "<caption>Step time</caption>" in html
    assert "Step (ms)" in text(html)
    assert "NVIDIA H200, 2025-11-20, commit 0123456" in text(html)
    assert "Median ± half the interquartile range, n = 60." in text(html)
    for case in (ADAM, SGD):
        assert f'href="measured/records/smoke/{case}--nvidia-h200.json"' in html
        assert (site.folder / f"site/measured/records/smoke/{case}--nvidia-h200.json").is_file()
    assert (site.folder / "site/measured/records/schema.json").is_file()


def test_the_table_of_a_committed_record_shows_its_median(site: Site) -> None:
    file, record = next(pair for pair in valid([ROOT / "gpu_bench/results"]) if pair[1]["summary"])
    site.record(parse(file.read_bytes()))
    table = TABLE.replace("smoke", record["suite"])
    site.page(table % f"cases: [{record['name']}]")
    ((name, step, state),) = rows(site.build())
    assert name.startswith(record["name"])
    assert step.startswith(f"{record['summary']['step_s']['median'] * 1000:.1f} ± ")
    assert state == str(record["memory"]["held"]["optimizer_total"])


def test_shorter_numbers_are_padded_so_that_decimal_points_meet(site: Site) -> None:
    site.record(document(ADAM, seconds=2.0))
    site.record(document(SGD, seconds=0.1))
    site.page(TABLE % f"cases: [{SGD}, {ADAM}]")
    html = site.build()
    # "± 20.0" is one digit longer than "± 1.0", so the latter leaves one digit free.
    assert re.search(r'data-pad="0">102\.0', html)
    assert re.search(r'<td class="[a-z_-]*">2040\.0', html)


def test_a_table_scrolls_in_a_named_region_that_takes_the_focus(site: Site) -> None:
    site.record(document(ADAM))
    site.page(TABLE_ALL)
    region = re.search(r'<div [^>]*role="region"[^>]*>', site.build())
    assert region is not None
    assert 'tabindex="0"' in region[0]
    assert 'aria-label="Step time"' in region[0]


def test_a_case_without_a_record_shows_the_command_that_measures_it(site: Site) -> None:
    site.record(document(ADAM))
    site.page(TABLE % f"cases: [{ADAM}, {SGD}]")
    measured, missing = rows(site.build())
    assert measured[0] == ADAM
    command = f"python -m gpu_bench run --suite smoke --case {SGD}"
    assert missing == [SGD, f"not measured yet; measure it with {command}"]


def test_a_suite_without_records_shows_the_command_and_no_numbers(site: Site) -> None:
    site.page(TABLE_ALL.replace("smoke", "checkpointing"))
    html = site.build()
    assert 'class="il-not-measured"' in html
    assert "<code>python -m gpu_bench run --suite checkpointing</code>" in html
    assert "<td" not in html


def test_a_table_is_never_filled_from_another_device(site: Site) -> None:
    site.record(document(ADAM))
    site.page(TABLE % "device: rtx-4090")
    html = site.build()
    assert re.search(r'class="il-not-measured">\s*<p>[^<]* on rtx-4090\.</p>', html)
    assert "±" not in html


def test_records_of_several_devices_are_told_apart_by_a_column(site: Site) -> None:
    site.record(document(ADAM, seconds=2.0))
    site.record(document(ADAM, seconds=3.0, device="rtx-4090"))
    site.page(TABLE % f"cases: [{ADAM}]")
    assert [row[:3] for row in rows(site.build())] == [
        [ADAM, "NVIDIA H200", "2040.0 ± 20.0"],
        [ADAM, "RTX 4090", "3060.0 ± 30.0"],
    ]


def test_a_run_out_of_memory_is_published_as_such(site: Site) -> None:
    site.record(document(ADAM))
    site.record(document(SGD, status="oom"))
    site.page(TABLE % f"cases: [{SGD}, {ADAM}]")
    failed, _ = rows(site.build())
    assert failed == [f"{SGD} out of memory", "—", "—"]


def test_different_numbers_of_samples_stand_beside_their_cases(site: Site) -> None:
    site.record(document(ADAM, repeats=3))
    site.record(document(SGD, repeats=2))
    site.page(TABLE % f"cases: [{SGD}, {ADAM}]")
    html = site.build()
    assert [row[0] for row in rows(html)] == [f"{SGD} n = 40", f"{ADAM} n = 60"]
    assert "interquartile range." in text(html)


def test_html_in_a_caption_or_label_is_shown_as_text(site: Site) -> None:
    site.record(document(ADAM))
    table = TABLE_ALL.replace("Step time", '"<script>alert(1)</script> & <b>bold</b>"').replace("Step,", '"<i>Step",')
    site.page(table)
    html = site.build()
    assert "<caption>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;bold&lt;/b&gt;</caption>" in html
    assert "<script" not in html
    assert "<i>" not in html


def test_more_than_seven_columns_are_refused(site: Site) -> None:
    columns = "  - {label: Step, path: summary.step_s, unit: ms}\n" * 7
    site.page(f"/// measured | smoke\ncaption: Wide\ncolumns:\n{columns}///\n")
    (warning,) = site.defects()
    assert "too many for a phone" in warning
