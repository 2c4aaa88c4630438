"""The block that measures a card, and the table of files that readers gave away: reported, checked, never measured."""

from __future__ import annotations

import html as entities
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from explorable.book import current
from explorable.measured.ceilings.contributed import MOST_BYTES, MOST_TOLD, SCHEMA, load
from tests.explorable.measured.made import Site

ROOT = Path(__file__).resolve().parents[3]
GIVEN: dict[str, Any] = {
    "kind": "ceilings",
    "schema_version": 1,
    "card": "rtx-4090",
    "measured": "2026-11-23T10:00:00Z",
    "place": "shell",
    "program": "PyTorch 2.13.0",
    "system": "Linux",
    "device": "NVIDIA GeForce RTX 4090",
    "emulated": False,
    "tensor_cores": True,
    "statistic": "median",
    "products": [
        {"format": "fp32", "m": 8192, "n": 8192, "k": 8192, "flops_per_s": 51.25e12},
        {"format": "bf16", "m": 8192, "n": 8192, "k": 8192, "flops_per_s": 150e12},
    ],
    "copies": [{"bytes": 2**30, "bytes_per_s": 907e9}],
    "contributor": {"name": "Ada <L>", "link": "https://example.org/ada"},
}
TABLE = "# Page\n\n/// contributed\ncaption: Reported by readers\n///\n"
FOLDER = "docs/plan/contributed"


def give(site: Site, name: str = "rtx-4090--ada.json", **changed: Any) -> None:
    """Contribute a file, changed in some fields; None takes one away."""
    document = {key: value for key, value in {**GIVEN, **changed}.items() if value is not None}
    write(site, json.dumps(document, indent=2), name)


def write(site: Site, text: str, name: str = "rtx-4090--ada.json") -> None:
    file = site.folder / FOLDER / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def words(markup: str) -> str:
    return entities.unescape(re.sub(r"<[^>]*>", "", markup)).strip()


def test_a_contributed_file_is_a_reported_row_with_who_gave_it_and_the_file(site: Site) -> None:
    give(site)
    give(site, "rtx-4090--bob.json", place="browser", tensor_cores=False, measured="2026-11-24T10:00:00Z", products=[])
    site.page(TABLE)
    page = site.build()
    rows = re.findall(r"<tr>\s*<th scope=\"row\">.*?</tr>", page, re.DOTALL)
    assert [words(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", rows[0], re.DOTALL)] == [
        "NVIDIA GeForce RTX 4090PyTorch 2.13.0, with tensor cores",
        "51.25",
        "–",
        "150.00",
        "907",
        "Ada <L> 2026-11-23",
    ]
    assert "in a browser, without tensor cores" in rows[1]
    assert 'href="https://example.org/ada"' in rows[0]
    assert 'href="plan/contributed/rtx-4090--ada.json"' in rows[0]
    assert "il-reported" in rows[0]
    assert 'il-measured"' not in page, "nothing of it has the mark of what is measured"
    published = site.folder / "site/plan/contributed"
    assert json.loads((published / "rtx-4090--ada.json").read_text("utf-8")) == GIVEN
    assert (published / "schema.json").read_bytes() == SCHEMA.read_bytes()


def test_without_a_file_there_is_one_quiet_line(site: Site) -> None:
    site.page(TABLE)
    page = site.build()
    assert "Reported by readers: <em>none yet.</em>" in page
    assert "<table" not in page


@pytest.mark.parametrize(
    ("changed", "line", "said"),
    [
        ({"contributor": None}, 1, "it names no contributor"),
        ({"contributor": {"name": "Ada", "link": "http://example.org"}}, 37, "does not match '^https://"),
        ({"emulated": True}, 10, "it is of an emulation"),
        ({"card": "rtx-4091"}, 4, "there is no card 'rtx-4091'. perhaps 'rtx-4090' is meant"),
        ({"tensor_cores": "yes"}, 11, "'yes' is not of type 'boolean'"),
        ({"products": [{**GIVEN["products"][0], "flops_per_s": 1.5e14}]}, 19, "1.5e+14 is more than a NVIDIA GeForce"),
        ({"copies": [{"bytes": 1, "bytes_per_s": 2e12}]}, 32, "2e+12 is more than"),
        ({"products": [], "copies": []}, 1, "it holds no measurement"),
        ({"note": "fast"}, 1, "'note' was unexpected"),
        ({"contributor": {"name": "Ada\u202e", "link": "https://example.org/a"}}, 36, "characters that nobody sees"),
        ({"contributor": {"name": "Ada", "link": "https://nvidia.com@example.org/"}}, 37, "is the address of no page"),
        ({"contributor": {"name": "Ada", "link": "https://?"}}, 37, "is the address of no page"),
        ({"contributor": {"name": "Ada\u3164", "link": "https://example.org/a"}}, 36, "characters that nobody sees"),
        ({"contributor": {"name": "Ada", "link": "https://a..b/"}}, 37, "is the address of no page"),
        ({"contributor": {"name": "Ada", "link": "https://example.org:x/"}}, 37, "is the address of no page"),
        ({"measured": "2026-02-30T12:00:00Z"}, 5, "there is no 2026-02-30T12:00:00Z"),
        ({"measured": "0001-02-03T12:00:00Z"}, 5, "no file is of the year 1. 2020 to 2099"),
    ],
)
def test_a_file_that_does_not_hold_fails_with_file_and_line(
    site: Site, changed: dict[str, Any], line: int, said: str
) -> None:
    give(site, **changed)
    site.page(TABLE)
    defects = site.defects()
    assert any(f"{FOLDER}/rtx-4090--ada.json:{line}: " in one and said in one for one in defects), defects


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n"kind": "ceilings"\n]', "rtx-4090--ada.json:3: not valid JSON"),
        ("[]", "rtx-4090--ada.json:1: [] is not of type 'object'"),
        (" " * (MOST_BYTES + 1), "rtx-4090--ada.json: the file has 65,537 bytes. allowed: 65,536."),
        ("[" * 60_000, "rtx-4090--ada.json: not JSON in UTF-8"),
        ('{"products": NaN}', "rtx-4090--ada.json: not JSON in UTF-8: NaN is no number"),
        ('{"products": ' + "9" * 5000 + "}", "rtx-4090--ada.json: not JSON in UTF-8"),
        ('{"kind": 1, "kind": 2}', "rtx-4090--ada.json: not JSON in UTF-8: a key stands twice"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_line(site: Site, text: str, said: str) -> None:
    write(site, text)
    [defect] = load(site.folder / "docs", "plan/contributed", site.folder, current().cards()).defects
    assert said in str(defect)
    assert "\n" not in str(defect)


def test_of_many_faults_of_a_file_some_are_told_and_it_is_read_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    compose = yaml.compose

    def once_more(text: str, **how: Any) -> Any:
        read.append(text)
        return compose(text, **how)

    monkeypatch.setattr(yaml, "compose", once_more)
    write(site, json.dumps({"products": [{}] * 100}))
    defects = load(site.folder / "docs", "plan/contributed", site.folder, current().cards()).defects
    assert len(defects) == MOST_TOLD + 1
    assert re.search(r"there are \d+ more faults in it", str(defects[-1]))
    assert len(read) == 1


def test_this_books_own_files_hold() -> None:
    given = load(ROOT / "docs", "plan/contributed", ROOT, current().cards())
    assert not given.defects
    assert len(given.rows) == len(list((ROOT / FOLDER).glob("*.json")))


def test_the_schema_is_one_and_takes_what_is_given() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(GIVEN, schema)


def block(options: str = "") -> str:
    return f"# Page\n\n/// ceilings\n{options}///\n"


def shown(page: str) -> dict[str, Any]:
    [found] = re.findall(r"<live-ceilings([^>]*)>", page)
    given = {key: entities.unescape(value) for key, value in re.findall(r'data-(\w+)="([^"]*)"', found)}
    return {**given, "cards": json.loads(given["cards"])}


def test_the_block_brings_the_books_cards_with_their_figures(site: Site) -> None:
    site.page(block("seconds: 30\nshell: measure it\n"))
    page = site.build()
    given = shown(page)
    assert (given["seconds"], given["shell"]) == ("30", "measure it")
    card = next(one for one in given["cards"] if one["name"] == "rtx-4090")
    assert card["bandwidth"] == 1.008e12
    assert card["roofs"] == [
        {"label": "FP32", "formats": ["fp32"], "flops_per_s": 82.6e12, "tensor_cores": False},
        {
            "label": "BF16/FP16, tensor cores",
            "formats": ["bf16", "fp16"],
            "flops_per_s": 165.2e12,
            "tensor_cores": True,
        },
    ]
    assert "Measuring needs JavaScript. <code>measure it</code> measures the same in a shell." in page


def test_a_block_may_have_cards_of_its_own(site: Site) -> None:
    roof = "{label: FP32, formats: [fp32], flops_per_s: 2e12}"
    site.page(block(f"cards:\n  - {{name: own, title: Own, bandwidth: 1e11, roofs: [{roof}]}}\n"))
    [card] = shown(site.build())["cards"]
    assert (card["name"], card["bandwidth"], card["roofs"][0]["flops_per_s"]) == ("own", 1e11, 2e12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("second: 3\n", "second is unknown. perhaps 'seconds' is meant"),
        ("seconds: 900\n", "'seconds' is 900. allowed: 1 to 120"),
        ("cards: 3\n", "cards is 3. it must be a list"),
        ("cards:\n  - {name: Own}\n", "cards (entry 1) lacks 'bandwidth'"),
        ("cards:\n  - {name: Own, title: O, bandwidth: 1, roofs: []}\n", "'Own' is no name of a card"),
        (
            "cards:\n  - {name: own, title: O, bandwidth: fast, roofs: []}\n",
            'cards (entry 1).bandwidth is "fast". it must be a number',
        ),
        (
            "cards:\n  - {name: own, title: O, bandwidth: 1, roofs: [{label: A, formats: [fp31], flops_per_s: 1}]}\n",
            "cards (entry 1).roofs (entry 1).formats (entry 1) is \"fp31\". perhaps 'fp32' is meant",
        ),
    ],
)
def test_a_mistake_in_the_block_names_page_and_line(site: Site, options: str, said: str) -> None:
    site.page(block(options))
    assert any("docs/index.md:3: " in one and said in one for one in site.defects()), site.warnings
