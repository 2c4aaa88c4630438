"""One folder makes an act of each parameter that pages write: `/// act | tiny-act: small`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from explorable.live import check
from tests.explorable.live.conftest import Site

ACT = """\
from explorable.live import *

def act(size):
    if size == "small":
        from ..sizes.small import GB
    elif size == "large":
        from ..sizes.large import GB
    else:
        raise ValueError(f"there is no size {size!r}; allowed: small, large")
    table = Table("Sizes", (Column("gb", "Size", "GB", numeric=True),), [{"gb": f"{GB:.1f}"}])
    tables = {"bar": table, "line": table}
    return Act(
        f"{size}-tiny-act", f"The {size} act", 3, "There is a model.", (Context("node", "Node", "80 GB"),),
        None, (), lambda state: View({"bars": [{"gb": GB}]}, Figure("Sum", f"{GB:.1f}", "GB"), f"{GB} GB.", tables),
        None, {"bar": "A bar", "line": "A line"},
    )
"""
CHARTS = """\
import altair as alt

BARS = alt.InlineData(name="bars", values=[])

def bar(size):
    return alt.Chart(BARS).mark_bar().encode(x=alt.X("gb:Q", title=f"GB of {size}"))

def line():
    return alt.Chart(BARS).mark_rule().encode(x="gb:Q")
"""
SMALL, LARGE = "docs/acts/sizes/small.py", "docs/acts/sizes/large.py"


@pytest.fixture
def several(site: Site) -> Site:
    """A site with two pages that show an act of the same folder."""
    site.write("acts/tiny_act/act.py", ACT)
    site.write("acts/tiny_act/charts.py", CHARTS)
    site.write("acts/sizes/small.py", "GB = 1.5\n")
    site.write("acts/sizes/large.py", "GB = 96.5\n")
    site.write("index.md", "# Home\n\n/// act | tiny-act: small\n///\n")
    site.write("large.md", "# Large\n\n/// act | tiny-act: large\n///\n")
    return site


def program(site: Site, page: str) -> dict[str, object]:
    """The program that a page loads."""
    [name] = re.findall(r"assets/live/(acts/[\w-]+\.json)", page)
    read: dict[str, object] = json.loads((site.root / "site/assets/live" / name).read_text())
    return read


def test_each_parameter_is_an_act_with_its_own_name_numbers_and_charts(several: Site) -> None:
    assert several.build(), several.messages
    for size, text in (("small", "1.5"), ("large", "96.5")):
        page = several.page("index.html" if size == "small" else "large/index.html")
        assert f'data-name="{size}-tiny-act"' in page
        assert text in page
        assert f"GB of {size}" in page
    homes = json.loads((several.root / "site/assets/live/acts.json").read_text())
    assert sorted(name for names in homes.values() for name in names) == ["large-tiny-act", "small-tiny-act"]


def test_what_only_another_parameter_needs_does_not_travel(several: Site) -> None:
    assert several.build(), several.messages
    small = program(several, several.page())
    assert list(small["files"]) == ["docs/acts/tiny_act/act.py", SMALL]  # type: ignore[call-overload]
    assert small["parameter"] == "small"


def test_an_edit_of_what_one_parameter_needs_changes_that_act_alone(several: Site) -> None:
    assert several.build(), several.messages
    small, large = program(several, several.page()), program(several, several.page("large/index.html"))
    several.write("acts/sizes/large.py", "GB = 97.5\n")
    assert several.build(), several.messages
    assert program(several, several.page()) == small
    assert program(several, several.page("large/index.html")) != large
    assert "97.5" in several.page("large/index.html")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("tiny-act", "docs/acts/tiny_act/act.py:1: it is a function of a parameter, which the page has to give"),
        ("tiny-act: huge", "with 'huge': act: ValueError: there is no size 'huge'; allowed: small, large"),
        ("tiny-act: Huge", "docs/index.md:3: 'Huge-tiny-act' is no name of an act. Write 'tiny-act: huge'"),
        ("tiny: small", "docs/index.md:3: there is no act 'tiny'. perhaps 'tiny-act' is meant"),
    ],
)
def test_a_parameter_that_no_act_has_is_named(several: Site, written: str, said: str) -> None:
    several.write("index.md", f"# Home\n\n/// act | {written}\n///\n")
    assert not several.build()
    assert said in several.messages[0]


def test_an_act_without_parameters_takes_none(several: Site) -> None:
    several.write("acts/tiny_act/act.py", ACT.replace("def act(size)", "def made(size)") + 'ACT = made("small")\n')
    assert not several.build()
    assert "the page gives it the parameter 'small', and it defines no function act(parameter)" in several.messages[0]


def test_two_acts_of_one_name_are_refused_because_a_ledger_would_mix_them_up(several: Site) -> None:
    several.write("acts/act/act.py", ACT.replace("{size}-tiny-act", "{size}-act").replace('"small"', '"small-tiny"'))
    several.write("acts/act/charts.py", CHARTS)
    several.write("other.md", "# Other\n\n/// act | act: small-tiny\n///\n")
    assert not several.build()
    assert "its name is 'small-tiny-act', and so is that of the act 'tiny-act: small'" in several.messages[0]


@pytest.mark.parametrize("name", ["act.py", "charts.py"])
def test_a_file_of_an_act_that_is_not_utf_8_is_named(
    name: str, several: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(several.root)
    file = Path("docs/acts/tiny_act") / name
    file.write_bytes(file.read_bytes() + b"\n# \xe9\n")
    assert check.main([str(file.parent), "large"]) == 2
    line = file.read_bytes().count(b"\n")
    assert f"acts/tiny_act/{name}:{line}: the byte 0xe9 is not UTF-8" in capsys.readouterr().err


@pytest.mark.full
def test_one_act_of_a_folder_is_checked_alone(
    several: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(several.root)
    folder = Path("docs/acts/tiny_act")
    assert check.main([str(folder), "large"]) == 0
    assert "tiny_act with 'large': no mistake found; charts drawn: bar, line" in capsys.readouterr().out
    assert check.main([str(folder), "huge"]) == 2
    assert "there is no size 'huge'" in capsys.readouterr().err
