"""A chapter built with the plugin: numbers, references, citations, terms, and mistakes named with file and line."""

from __future__ import annotations

import re

import ironlaw
from tests.explorable.figures.conftest import Site

FIGURE = "/// figure | bar\nWhat the bar *shows*.\n///\n"
TABLE = "/// table | two\nTwo cells.\n\n| a | b |\n|---|---|\n| c | d |\n///\n"
LAW = "/// equation | law\n$$\na = b\n$$\n///\n"


def test_figures_tables_and_equations_are_numbered_by_page(site: Site) -> None:
    site.write("chapter/one.md", f"# One\n\n{LAW}\n{TABLE}\n")
    site.write("chapter/two.md", f"# Two\n\n{FIGURE}\n{TABLE.replace('two', 'three')}\nSee `{{ref}} tab-two`.\n")
    first = site.build()
    second = site.build("chapter/two")
    assert re.search(r'<div [^>]*id="eq-law".*?<span class="il-equation-number">\(1\.1\)</span>', first, re.DOTALL)
    assert '<span class="caption-prefix">Table 1.1.</span> Two cells.' in first
    assert '<span class="caption-prefix">Figure 2.1.</span> What the bar <em>shows</em>.' in second
    assert '<span class="caption-prefix">Table 2.1.</span>' in second
    assert re.search(r'<a class="il-ref" href="\.\./one/#tab-two">Table 1\.1</a>', second)


def test_a_caption_stands_above_its_table(site: Site) -> None:
    site.write("chapter/one.md", f"# One\n\n{TABLE}")
    page = site.build()
    assert page.index("<figcaption>") < page.index("<table>") < page.index("</figure>")


def test_a_figure_is_drawn_from_the_engine_in_the_colors_of_the_site(site: Site) -> None:
    site.write("chapter/one.md", f"# One\n\n{FIGURE}")
    page = site.build()
    assert f'aria-label="One bar of {ironlaw.model("gpt2").parameters:,} parameters."' in page
    assert "var(--il-compute,#00763a)" in page
    assert 'href="../figures/bar.py"' in page
    assert (site.folder / "site/chapter/figures/bar.py").is_file()


def test_a_figure_is_drawn_again_when_it_or_the_engine_changed_and_only_then(site: Site) -> None:
    site.write("chapter/one.md", f"# One\n\n{FIGURE}")
    first = site.build()
    kept = sorted((site.folder / ".cache/book/figures").glob("*.json"))
    assert len(kept) == 1
    assert site.build() == first
    assert sorted((site.folder / ".cache/book/figures").glob("*.json")) == kept
    file = site.folder / "engine/ironlaw/models/transformer.py"
    file.write_text(file.read_text("utf-8").replace("4 * self.hidden", "8 * self.hidden"), "utf-8")
    changed = site.build()
    assert re.findall(r"One bar of ([\d,]+)", changed) != re.findall(r"One bar of ([\d,]+)", first)


def test_the_text_within_a_figure_explains_no_terms(site: Site) -> None:
    site.write("chapter/one.md", f"# One\n\n{FIGURE}")
    assert "<abbr" not in site.build()


def test_works_are_cited_by_name_and_listed_once_at_the_end(site: Site) -> None:
    text = "# One\n\nA fact `{cite} kaplan2020scaling`. Two more `{cite} moore, kaplan2020scaling`.\n"
    site.write("chapter/one.md", text)
    page = site.build()
    assert (
        '(<a href="#ref-kaplan2020scaling" title="Scaling Laws for Neural Language Models">Kaplan et al., 2020</a>)'
        in page
    )
    assert re.search(r">Moore, 1965</a>; <a [^>]*>Kaplan et al., 2020</a>\)", page)
    assert page.count('<li id="ref-kaplan2020scaling">Kaplan, McCandlish and Henighan (2020). ') == 1
    assert 'href="https://arxiv.org/abs/2001.08361"' in page
    assert '<a href="https://doi.org/10.1/x">Cramming</a>. <em>Electronics</em>.' in page
    assert page.index(">References<") < page.index('id="ref-kaplan')


def test_a_page_that_cites_nothing_has_no_list(site: Site) -> None:
    assert "References" not in site.build()


def test_a_term_is_explained_where_the_page_first_uses_it(site: Site) -> None:
    site.write("chapter/one.md", "# MFU\n\nWhat [MFU](two.md) is. MFU is. Then MFU, HFU.\n")
    page = site.build()
    assert page.count("<abbr") == 2
    assert 'What <a href="../two/">MFU</a> is. <abbr title="Model FLOPs over peak, in a second.">MFU</abbr> is.' in page
    assert '<abbr title="The same of hardware FLOPs.">HFU</abbr>' in page
    assert "<abbr" not in site.build("chapter/glossary")


def test_syntax_in_code_is_an_example(site: Site) -> None:
    site.write(
        "chapter/one.md", "# One\n\nWrite `` `{ref} fig-x` ``.\n\n```\n/// figure | bar\n`{cite} nobody`\n///\n```\n"
    )
    assert "`{ref} fig-x`" in site.build()


def test_of_a_broken_bibliography_one_mistake_is_told_and_not_every_citation(site: Site) -> None:
    site.write("chapter/references.bib", "@article{broken, title = {No end")
    [warning] = site.defects("# One\n\nA fact `{cite} kaplan2020scaling` and `{cite} moore`.\n")
    assert "references.bib" in warning


def test_a_name_given_twice_is_refused(site: Site) -> None:
    [warning] = site.defects(f"# One\n\n{LAW}\n{LAW}")
    assert warning.startswith("WARNING book: docs/chapter/one.md:9: 'eq-law' is already the name of Equation 1.1 in ")


def test_a_numbered_block_outside_the_chapter_is_refused(site: Site) -> None:
    site.write("index.md", f"# Home\n\n{LAW}")
    [warning] = site.defects("# One\n")
    assert "docs/index.md:3: the equation 'law' has no number" in warning


def test_an_entry_without_an_address_is_refused(site: Site) -> None:
    site.write("chapter/references.bib", "@misc{lost, author = {Nobody}, title = {T}, year = {1999}}")
    [warning] = site.defects("# One\n")
    assert warning.startswith("WARNING book: docs/chapter/references.bib:1: the entry 'lost' has no doi, eprint or url")


def test_typed_numbers_elsewhere_are_not_the_chapters_business(site: Site) -> None:
    site.write("index.md", "# Home\n\nIt needs 80 GB of memory.\n")
    assert "Glossary" in site.build("chapter/glossary")


STORY = """from dataclasses import dataclass


@dataclass
class Stop:
    page: str
    memory: float
    cards: int = 1
    limit: float = 80.0
    seconds: float = 2.5
    mfu: float = 0.5
    hours: float = 24.0
    dollars: float = 700.0

    @property
    def fits(self):
        return self.memory <= self.limit


def stops():
    return [Stop("one", 100.0), Stop("two", 70.0)]
"""


def test_a_strip_says_where_the_run_stands_and_the_contents_list_the_pages(site: Site) -> None:
    site.write("chapter/story.py", STORY)
    site.write("chapter/one.md", "# One\n\nWords.\n\n/// strip | one\nIt **fails**.\n///\n")
    site.write("chapter/two.md", f"# Two\n\n{'word ' * 350}\n\n/// contents\n///\n\n/// strip | two\nIt fits.\n///\n")
    first, second = site.build(), site.build("chapter/two")
    assert "100.0 GB" in first
    assert "does not fit 80.0 GB" in first
    assert "It <strong>fails</strong>." in first
    assert "Chapter 1 · 1 minute to read<" in first
    assert first.index("minute to read") < first.index("<h1"), "it stands above the heading"
    assert re.search(r'<h1 id="[^"]*minute', first) is None, "and is no part of its name"
    assert "was 100.0 GB" in second
    assert "does not fit" not in second
    assert re.findall(r'<a href="([^"]+)">(\w+)</a> ?<span class="il-contents__time">(\d+) min', second) == [
        ("../one/", "One", "1"),
        ("./", "Two", "2"),
    ]
    [warning] = site.defects("# One\n\n/// strip | tow\nNo.\n///\n")
    assert warning.startswith("WARNING book: docs/chapter/one.md:3: the story has no stop 'tow'")


def test_a_mistake_in_the_story_is_told_once_with_its_file(site: Site) -> None:
    site.write("chapter/story.py", "def stops():\n    return 1 / 0\n")
    site.write("chapter/two.md", "# Two\n\n/// strip | two\nIt fits.\n///\n")
    [warning] = site.defects("# One\n\n/// strip | one\nIt fits.\n///\n")
    assert warning.startswith("WARNING book: docs/chapter/story.py:2: ZeroDivisionError: division by zero")
