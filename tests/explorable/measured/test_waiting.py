"""What has no record: its sections go to the end of their page, and one list names the tables of all pages."""

from __future__ import annotations

import re

from tests.explorable.measured.made import Site, document

MEASURED, WAITING = "gpt2-nano-fp32-adam", "checkpointing"
TABLE = (
    "/// measured | %s\ncaption: %s\ncolumns:\n  - {label: Step, path: summary.step_s, unit: ms, format: .1f}\n///\n"
)
PAGE = (
    "# A page\n\n## Later\n\nWhat will be.\n\n" + TABLE % (WAITING, "GPT-2 on a GPU") + "\n## Now\n\nWhat is.\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n"
)  # fmt: skip


def headings(html: str) -> list[tuple[str, str]]:
    return re.findall(r'<h([23]) id="([\w-]+)"', html[html.index("<h1") :])


def test_a_section_with_only_empty_tables_goes_to_the_end_and_keeps_its_address(site: Site) -> None:
    site.page(PAGE)
    html = site.build()
    assert headings(html) == [("2", "now"), ("2", "waiting-for-a-gpu"), ("3", "later")]
    places = [html.index(text) for text in ("What is.", "<details>", "What will be.", "GPT-2 on a GPU")]
    assert places == sorted(places)


def test_a_section_with_a_record_stays_in_its_place(site: Site) -> None:
    site.record(document(MEASURED))
    site.page(PAGE.replace(WAITING, "smoke", 1))
    assert headings(site.build()) == [("2", "later"), ("2", "now")]


def test_a_table_whose_own_cases_have_no_record_is_listed_although_its_suite_has_one(site: Site) -> None:
    site.record(document(MEASURED))
    one = (TABLE % ("smoke", "Measured")).replace("columns:", f"cases: [{MEASURED}]\ncolumns:")
    other = (TABLE % ("smoke", "Not yet")).replace("columns:", "cases: [gpt2-nano-fp32-s*]\ncolumns:")
    site.page(f"# One\n\n{one}\n{other}", "one.md")
    site.page("# Home\n\n/// waiting\n///\n")
    html = site.build()
    assert re.search(r'<a href="one/">One</a>: not yet\.', html[html.index('class="il-waiting"') :])


def test_the_list_names_every_empty_table_and_the_commands(site: Site) -> None:
    site.record(document(MEASURED))
    site.page("# One\n\n" + TABLE % ("smoke", "The small ones") + "\n" + TABLE % (WAITING, "Both sizes."), "one.md")
    site.page("# Home\n\n```\n" + TABLE % ("ladder", "An example") + "```\n\n/// waiting\n///\n")
    html = site.build()
    listed = html[html.index('class="il-waiting"') :]
    assert re.search(r'<a href="one/">One</a>: both sizes\.', listed)
    assert "python -m gpu_bench run --suite checkpointing" in listed
    assert "ladder" not in listed
    assert "small ones" not in listed
