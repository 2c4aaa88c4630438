"""Tiny sites with claims: verdicts in the page, links both ways, flipped verdicts. Mistakes: test_mistakes.py."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from explorable.measured.claims import listing
from tests.explorable.measured.made import SOURCES, TOLERANCES, Site, document

STATE = 'training_memory("gpt2-xl", optimizer="adam", precision="fp32").component("optimizer")'
ADAM = f"""
[[claim]]
id = "adam-12-gb"
gist = "Adam adds 12 GB."
line = [3, 5]
value = 12
unit = "GB"
engine = '{STATE}'
accounting = "weights and states"
tolerance = "printed"
format = ".2f"
note = '''Two vectors, `{{check}} GB .2f`. Right as it stands.'''
"""
BUBBLE = """
[[claim]]
id = "naive-bubble"
gist = "A naive pipeline over four stages idles half of the time."
line = 21
value = 50
unit = "%"
engine = 'bubble_fraction(4, 1)'
tolerance = "exact"
note = '''It idles `{check} % .0f`. Half of the time is two stages, `{engine} bubble_fraction(2, 1) | % .0f`.'''
"""
OPEN = """
[[claim]]
id = "thirty-percent-idle"
gist = "GPUs wait for data 30 % of the time."
line = 30
value = 30
unit = "%"
none = "No system is named; it takes a survey."
"""
MEASURED = """
[[claim]]
id = "nano-adam-800-bytes"
gist = "Adam's states of the smallest model take two copies of its weights."
line = 7
value = 26324992
unit = "B"
record = { case = "smoke/gpt2-nano-fp32-adam", path = "memory.held.optimizer_total" }
tolerance = "exact"
note = '''One vector would be `{other} dtype("fp32").bytes(100) | B`. Adam has two.'''
"""
PAGE = "# Claims\n\n`{claims} total` claims.\n\n" + "".join(
    f"/// claims | {part}\n///\n\n" for part in ("summary", "accountings", "tolerances", "list")
)


def claims(site: Site, *entries: str, head: str = 'source = "plan"\n') -> None:
    """Write a claim file beside its sources and tolerances, and the page that lists it."""
    folder = site.folder / "docs/claims"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sources.toml").write_text(SOURCES, "utf-8")
    (folder / "tolerances.toml").write_text(TOLERANCES, "utf-8")
    (folder / "plan.toml").write_text(head + "".join(entries), "utf-8")
    site.page(PAGE, "claims/index.md")
    if not (site.folder / "docs/index.md").exists():
        site.page("# Home\n")


def test_a_source_without_keys_is_told_once_and_nothing_that_follows(site: Site) -> None:
    claims(site, OPEN)
    broken = SOURCES.replace('file = "plan.md"\n', "").replace("lines = 40\n", "")
    (site.folder / "docs/claims/sources.toml").write_text(broken, "utf-8")
    site.page("# Home\n\nSee `{claim} thirty-percent-idle` and `{checked} thirty-percent-idle`.\n")
    [warning] = site.defects()
    assert "docs/claims/sources.toml:2: 'file', 'lines' are missing. write file = …, lines = …" in warning


def built(site: Site) -> str:
    """The claims page."""
    site.build()
    return (site.folder / "site/claims/index.html").read_text("utf-8")


def row(html: str, name: str) -> str:
    """The row of a claim."""
    found = re.search(rf'<tr[^>]*\bid="{name}".*?</tr>', html, re.DOTALL)
    assert found is not None, name
    return found[0]


def text(html: str) -> str:
    """What a reader sees."""
    return unescape(re.sub(r"<[^>]*>", " ", html)).replace("\u00a0", " ")


def verdict(html: str, name: str) -> str:
    """The verdict of a claim in the page."""
    found = re.search(r'data-verdict="(\w+)"', row(html, name))
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of three claims, one of each verdict."""
    site = Site(tmp_path_factory.mktemp("claims"))
    claims(site, ADAM, BUBBLE, OPEN)
    return built(site)


def test_every_claim_has_an_anchor_its_values_and_a_computed_verdict(page: str) -> None:
    assert verdict(page, "adam-12-gb") == "confirmed"
    assert verdict(page, "naive-bubble") == "contradicted"
    assert verdict(page, "thirty-percent-idle") == "open"
    seen = text(row(page, "adam-12-gb"))
    assert "lines 3, 5" in seen
    assert "12 GB" in seen
    assert "12.46 GB" in seen
    assert "By a PyTorch accounting (weights and states), tolerance “printed”:" in seen
    assert page.count("test_optimizer_state_is_pytorchs_to_the_byte") == 1
    assert "It idles 75 % . Half of the time is two stages, 50 % ." in " ".join(text(row(page, "naive-bubble")).split())
    assert "it takes a survey" in text(row(page, "thirty-percent-idle"))


def test_the_summary_counts_verdicts_and_its_links_filter_the_list(page: str) -> None:
    assert "3 claims." in " ".join(text(page).split())
    assert 'href="?section=plan&amp;verdict=contradicted#claims-list"' in page
    assert 'aria-label="1 contradicted, The plan"' in page
    options = re.findall(r'<option value="([^"]*)">', page)
    assert {"confirmed", "contradicted", "plan", "claims-plan-memory", "claims-plan-time", "engine", "none"} <= {
        *options
    }


def test_without_the_script_the_list_is_complete_and_open_and_nothing_offers_to_filter(page: str) -> None:
    folds = re.findall(r"<details class=\"il-claims__fold\"[^>]*>", page)
    assert len(folds) == 2
    assert all("open" in fold for fold in folds)
    assert "<summary>2 claims: 1 contradicted, 1 not yet checkable</summary>" in page
    assert re.search(r"<form[^>]* hidden=", page)
    assert not re.search(r"<tr[^>]* hidden", page)


def test_a_page_that_names_a_claim_links_to_it_and_the_claim_links_back(site: Site) -> None:
    claims(site, ADAM, BUBBLE)
    site.page(
        "# The chapter\n\nAdam adds 12 GB (`{claim} adam-12-gb`), see [bubbles](claims/index.md#naive-bubble).\n",
        "a.md",
    )
    html = built(site)
    chapter = (site.folder / "site/a/index.html").read_text("utf-8")
    assert re.search(r'<a [^>]*href="../claims/#adam-12-gb"[^>]*>confirmed</a>', chapter)
    for name in ("adam-12-gb", "naive-bubble"):
        assert '<a href="../a/">The chapter</a>' in row(html, name)


def test_where_a_book_has_a_page_of_checks_the_list_leads_to_it_and_it_leads_back(site: Site) -> None:
    claims(site, ADAM, OPEN)
    site.page("# Checks\n\n/// claims | checks\n///\n", "claims/checks.md")
    html = built(site)
    checks = (site.folder / "site/claims/checks/index.html").read_text("utf-8")
    assert '<a href="checks/#adam-12-gb">How it is checked</a>' in row(html, "adam-12-gb")
    assert "By a PyTorch accounting" not in html
    assert "How it is checked" not in row(html, "thirty-percent-idle")
    assert re.search(
        r'id="adam-12-gb">\s*<p><a href="\.\./#adam-12-gb">Adam adds 12 GB\.</a></p>\s*<p>By a PyTorch', checks
    )
    assert 'id="thirty-percent-idle"' not in checks


def test_a_mark_opens_the_check_in_place_and_leads_to_the_list(site: Site) -> None:
    claims(site, ADAM, BUBBLE)
    site.page(
        "# The chapter\n\nStages idle.`{checked} naive-bubble, adam-12-gb` Again.`{checked} naive-bubble`\n",
        "chapter.md",
    )
    html = built(site)
    chapter = (site.folder / "site/chapter/index.html").read_text("utf-8")
    opened = re.findall(r'<button aria-label="Another text differs: [^"]+"[^>]* popovertarget="([\w-]+)"', chapter)
    assert opened == ["check-naive-bubble", "check-naive-bubble-2"]
    assert re.findall(r'<span[^>]* id="(check-[\w-]+)"[^>]* popover="auto"', chapter) == opened
    assert 'href="../claims/#naive-bubble"' in chapter
    assert 'href="../claims/#adam-12-gb"' in chapter
    assert re.search(r"says 50\s%; we get 75\s%\.", unescape(re.sub(r"<[^>]+>", "", chapter)))
    assert "bubble_fraction(4, 1)" in chapter
    assert 'href="../chapter/"' in row(html, "naive-bubble")


def test_a_mark_hides_where_the_texts_agree_and_the_first_shown_one_has_a_legend(site: Site) -> None:
    claims(site, ADAM, BUBBLE)
    adam = "Adam.`{checked} adam-12-gb`\n"
    site.page(f"# The chapter\n\n{adam}\n- Idle.`{{checked}} naive-bubble`\n\n{adam}", "chapter.md")
    site.page(f"# Plain\n\n{adam}", "plain.md")
    site.page("# None\n\nNothing is checked.\n", "none.md")
    built(site)
    chapter, plain, none = (
        (site.folder / f"site/{name}/index.html").read_text("utf-8") for name in ("chapter", "plain", "none")
    )
    quiet = "il-checks il-checks--quiet"
    assert re.findall(r'<span class="(il-checks[^"]*)"', chapter) == [quiet, "il-checks", quiet]
    assert chapter.count("il-legend__all") == 1
    assert chapter.index("</ul>", chapter.index("Idle.")) < chapter.index('class="il-legend"') < chapter.rindex("Adam.")
    assert "2 more, where they agree" in chapter
    assert "1 more, where they agree" in plain
    assert "il-legend" not in none


ARITHMETIC = ADAM.replace("adam-12-gb", "sum").replace("\nengine = ", "\narithmetic = ")
CITED = """[[claim]]
id = "published"
gist = "Such models have up to ten trillion weights."
line = 3
value = { at_most = 10e12 }
unit = "1"
cited = { value = 12e12, title = "A paper of many authors", url = "https://example.org/paper", where = "abstract" }
tolerance = "TOLERANCE"
note = "The paper has `{engine} model('gpt2').layers | count` more. That is why."
"""


def test_own_arithmetic_is_no_confirmation_and_a_cited_value_decides(site: Site) -> None:
    arithmetic = re.sub(r"arithmetic = .*", "arithmetic = '2 * quantity(6, \"GB\")'", ARITHMETIC)
    arithmetic = re.sub(r"accounting = .*\n", "", arithmetic)
    tolerance = re.search(r'tolerance = "(\w+)"', ADAM)
    assert tolerance
    claims(site, arithmetic, CITED.replace("TOLERANCE", tolerance[1]), ADAM)
    html = built(site)
    assert verdict(html, "sum") == "agrees"
    assert verdict(html, "adam-12-gb") == "confirmed"
    assert verdict(html, "published") in {"refined", "contradicted"}
    assert 'href="https://example.org/paper"' in row(html, "published")


def test_a_changed_formula_changes_the_verdict(site: Site) -> None:
    engine = site.own_engine()
    claims(site, BUBBLE, ADAM)
    html = built(site)
    assert (verdict(html, "adam-12-gb"), verdict(html, "naive-bubble")) == ("confirmed", "contradicted")
    edit(engine / "parallel/model_parallel.py", "def bubble_fraction(", "return", "    return 0.5  # edited")
    html = built(site)
    # Its two numbers are the source's own, so that it agrees with itself is all that it can show.
    assert (verdict(html, "adam-12-gb"), verdict(html, "naive-bubble")) == ("confirmed", "agrees")


def edit(file: Path, function: str, start: str, line: str) -> None:
    """Replace the first line of a function that begins with `start`."""
    lines = file.read_text("utf-8").splitlines()
    at = next(i for i, text in enumerate(lines) if text.startswith(function))
    at = next(i for i in range(at, len(lines)) if lines[i].strip().startswith(start))
    lines[at] = line
    file.write_text("\n".join(lines) + "\n", "utf-8")


def test_a_measured_claim_is_open_until_its_record_exists_and_follows_it(site: Site) -> None:
    claims(site, MEASURED)
    html = built(site)
    assert verdict(html, "nano-adam-800-bytes") == "open"
    assert "python -m gpu_bench run --suite smoke --case gpt2-nano-fp32-adam" in text(row(html, "nano-adam-800-bytes"))
    made = document("gpt2-nano-fp32-adam")
    site.record(made)
    html = built(site)
    assert verdict(html, "nano-adam-800-bytes") == "confirmed"
    assert 'href="../measured/records/smoke/gpt2-nano-fp32-adam--nvidia-h200.json"' in row(html, "nano-adam-800-bytes")
    claims(site, MEASURED.replace("value = 26324992", "value = 13162496"))
    assert verdict(built(site), "nano-adam-800-bytes") == "contradicted"


def test_a_note_can_give_the_number_of_the_record_that_answers_its_claim(site: Site) -> None:
    noted = MEASURED.replace('`{other} dtype("fp32").bytes(100) | B`', "half of `{check} MB .3f`")
    claims(site, noted.replace("value = 26324992", "value = 13162496"))
    assert verdict(built(site), "nano-adam-800-bytes") == "open"
    site.record(document("gpt2-nano-fp32-adam"))
    html = built(site)
    assert verdict(html, "nano-adam-800-bytes") == "contradicted"
    assert "26.325\N{NO-BREAK SPACE}MB" in row(html, "nano-adam-800-bytes")
    assert row(html, "nano-adam-800-bytes").count('class="il-number il-measured"') == 2


def test_a_measured_case_can_refine_a_claim_that_the_engine_confirms(site: Site) -> None:
    record = '{ case = "smoke/gpt2-nano-fp32-adam", path = "memory.held.optimizer_total" }'
    also = f'also = {{ label = "the smallest model", record = {record} }}\n'
    claims(site, ADAM.replace("tolerance =", f"{also}tolerance ="))
    assert verdict(built(site), "adam-12-gb") == "open"
    site.record(document("gpt2-nano-fp32-adam"))
    html = built(site)
    assert verdict(html, "adam-12-gb") == "refined"
    assert "the smallest model: 0.03 GB" in text(row(html, "adam-12-gb"))


def test_an_unknown_claim_in_a_page_fails_the_build_with_a_suggestion(site: Site) -> None:
    claims(site, ADAM)
    site.page("# Home\n\n`{claim} adam-12-bg`\n")
    (warning,) = site.defects()
    assert "there is no claim 'adam-12-bg'" in warning
    assert "adam-12-gb" in warning


def test_a_number_in_a_note_must_be_computed(site: Site) -> None:
    claims(site, BUBBLE.replace("`{check} % .0f`", "`75 %`"))
    (warning,) = site.defects()
    assert "code that is not a number" in warning


def test_on_a_phone_cells_have_the_words_of_their_columns() -> None:
    style = (Path(listing.__file__).parent / "claims.css").read_text()
    written = re.findall(r'content: "(\w[\w ]*)" / "";', style)
    assert sorted(written) == sorted(listing.COLUMNS[1:])
