"""Acts without a question, controls that wait for the reveal, and measured values in an act."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from explorable import live
from explorable.live.build.description import describe
from explorable.live.build.measured import Evidence, EvidenceError
from explorable.live.build.rehearsal import rehearse
from explorable.live.build.render import _environment
from explorable.live.runtime.acts import ActError, LoadedAct, load
from explorable.live.runtime.measured import MeasuredRecord
from explorable.live.runtime.program import Program
from explorable.live.runtime.validation import check_definition
from tests.explorable.live.conftest import Site
from tests.explorable.measured.made import document, file_name

ROOT = Path(__file__).parents[3]
PATH = "memory.held.activations"


def view(state: live.State) -> live.View:
    return live.View({}, live.Figure("Sum", "1", "GB"), "A sum.")


INSTRUMENT = live.Act(
    name="tiny-tool",
    title="Tiny",
    minutes=3,
    situation="There is a model.",
    contexts=(live.Context("node", "Node", "80 GB"),),
    question=None,
    controls=(live.Toggle("double", "Double", False),),
    compute=view,
    reveal=None,
    charts={},
)
STATE: dict[str, Any] = {"context": "node", "controls": {"double": True}, "prediction": None}
QUESTION = live.NumberQuestion("How much?", "GB", 0, 10, lambda: 5.0)


def answer(prediction: live.Value, state: live.State) -> live.Verdict:
    return live.Verdict(False, "It is 5.", ())


# ---- instruments ----


def test_an_act_without_a_question_computes_at_once_and_has_nothing_to_reveal() -> None:
    act = LoadedAct(check_definition(INSTRUMENT, "tiny-tool"), "act.py")
    described: Any = describe(act)
    assert described["question"] is None
    rehearse(act)
    assert act.compute(STATE)["headline"]["value"] == "1"  # type: ignore[index,call-overload]
    with pytest.raises(ActError, match="nothing to reveal"):
        act.reveal(STATE)
    with pytest.raises(ActError, match="asks no question"):
        act.compute({**STATE, "prediction": 3})


def test_a_question_and_its_reveal_come_together() -> None:
    for change in ({"question": QUESTION}, {"reveal": answer}):
        with pytest.raises(ValueError, match="both a question and reveal"):
            check_definition(dataclasses.replace(INSTRUMENT, **change), "tiny-tool")


def test_an_instrument_has_neither_reflections_nor_controls_that_wait() -> None:
    blank = live.Blank("a", "a", (live.Option(1, "1"), live.Option(2, "2")))
    reflection = live.Reflection("r", "It is {a}.", (blank,), lambda state: {"a": 1})
    with pytest.raises(ValueError, match="no reflections"):
        check_definition(dataclasses.replace(INSTRUMENT, reflections=(reflection,)), "tiny-tool")
    waiting = live.Toggle("late", "Late", False, after_reveal=True)
    with pytest.raises(ValueError, match="no control can wait"):
        check_definition(dataclasses.replace(INSTRUMENT, controls=(waiting,)), "tiny-tool")


def test_the_page_knows_which_controls_wait_for_the_reveal() -> None:
    controls = (live.Toggle("double", "Double", False), live.Toggle("late", "Late", False, after_reveal=True))
    act = dataclasses.replace(INSTRUMENT, controls=controls, question=QUESTION, reveal=answer)
    described: Any = describe(LoadedAct(check_definition(act, "tiny-tool"), "act.py"))
    assert [control["after_reveal"] for control in described["controls"]] == [False, True]


@pytest.mark.parametrize("typed", [True, False])
def test_a_slider_whose_number_can_be_typed_has_a_box_with_its_ends(typed: bool) -> None:
    slider = live.Slider("length", "Length", 64, 131_072, 2048, scale="log", integer=True, typed=typed)
    act = dataclasses.replace(INSTRUMENT, controls=(slider,))
    described: Any = describe(LoadedAct(check_definition(act, "tiny-tool"), "act.py"))
    parts: Any = _environment().get_template("parts.html.j2").module
    baked = str(parts.slider(described["controls"][0], "id"))
    assert ("<output" in baked) is not typed
    box = 'data-typed="length" aria-label="Length, typed" value="2048" min="64" max="131072" step="1"'
    assert (box in baked) is typed


@pytest.mark.parametrize(
    ("slider", "last", "place"),
    [
        (live.Slider("a", "A", 1, 10_000, 100, scale="log"), 400, 200),
        (live.Slider("a", "A", 0, 20, 5, step=0.01), 2000, 500),
        (live.Slider("a", "A", 1, 8, 3, integer=True), 7, 2),
    ],
)
def test_without_its_script_a_slider_stands_at_its_default(slider: live.Slider, last: int, place: int) -> None:
    act = dataclasses.replace(INSTRUMENT, controls=(slider,))
    described: Any = describe(LoadedAct(check_definition(act, "tiny-tool"), "act.py"))
    parts: Any = _environment().get_template("parts.html.j2").module
    assert f'min="0" max="{last}" value="{place}"' in str(parts.slider(described["controls"][0], "id"))


def test_toggles_of_one_group_appear_together() -> None:
    controls = (live.Toggle("a", "A", False, "G"), live.Toggle("b", "B", False, "G", after_reveal=True))
    act = dataclasses.replace(INSTRUMENT, controls=controls, question=QUESTION, reveal=answer)
    with pytest.raises(ValueError, match="'G' do not agree"):
        check_definition(act, "tiny-tool")


# ---- measured values ----

ACT = f"""
from explorable import live

FOUND = live.records("smoke", "{PATH}")

def compute(state):
    text = "; ".join(f"{{one.case}} on {{one.title}}: {{one.values['{PATH}']}}" for one in FOUND)
    table = live.Table("Found", (live.Column("a", "A"),), [{{"a": text or "not measured yet"}}])
    return live.View({{}}, live.Figure("a", "1", "GB"), "s", {{"found": table}})

ACT = live.Act("tiny-tool", "Tiny", 3, "s", (live.Context("c", "C", "d"),), None, (), compute, None, {{}})
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with one record that meets the schema."""
    folder = tmp_path / "gpu_bench/results/smoke"
    folder.mkdir(parents=True)
    made = document("gpt2-nano-fp32-adam")
    (folder / file_name(made)).write_text(json.dumps(made), encoding="utf-8")
    return folder.parent


def evidence(folder: Path) -> Evidence:
    return Evidence(folder, folder, ("smoke",))


def shown(*found: MeasuredRecord, source: str = ACT) -> str:
    act = load("tiny-tool", Program.from_json(Program({"act.py": source}, found).to_json()))
    computed: Any = act.compute({"context": "c", "controls": {}, "prediction": None})
    return str(computed["tables"]["found"]["rows"][0]["a"])


def test_an_act_shows_the_record_that_the_build_found(results: Path) -> None:
    template = json.loads(next(results.rglob("*.json")).read_text(encoding="utf-8"))
    found = evidence(results).asked_by({"act.py": ACT})
    assert shown(*found) == (
        f"{template['case']['name']} on {template['device']['name']}: {template['memory']['held']['activations']}"
    )


def test_a_program_carries_the_values_that_were_asked_for_and_no_more(results: Path) -> None:
    [found] = evidence(results).asked_by({"act.py": ACT})
    assert list(found.values) == [PATH]


def test_without_records_an_act_can_say_so(tmp_path: Path) -> None:
    assert shown(*evidence(tmp_path).asked_by({"act.py": ACT})) == "not measured yet"


def test_an_act_that_asks_for_no_record_gets_none(results: Path) -> None:
    assert evidence(results).asked_by({"act.py": ACT.replace(f'live.records("smoke", "{PATH}")', "()")}) == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (f'live.records("smok", "{PATH}")', "no suite 'smok'"),
        ('live.records("smoke", "memory.heap")', "no 'memory.heap'"),
        ("live.records(*['smoke'])", "literal"),
        ("live.records(suite='smoke')", "literal"),
        ("live.records('smoke', 'memory' + '.held')", "literal"),
    ],
)
def test_a_request_that_no_record_can_answer_names_its_line(tmp_path: Path, call: str, message: str) -> None:
    source = ACT.replace(f'live.records("smoke", "{PATH}")', call)
    with pytest.raises(EvidenceError, match=message) as error:
        evidence(tmp_path).asked_by({"act.py": source})
    assert error.value.line == 4


def test_records_are_asked_for_while_the_act_is_loaded() -> None:
    with pytest.raises(RuntimeError, match=r"while act\.py is loaded"):
        live.records("smoke", PATH)


def test_records_come_back_as_they_were_put_into_the_program() -> None:
    one = live.MeasuredRecord("smoke", "a", "cpu", "CPU “x”", "2025-11-20", "ok", {PATH: 3, "case.model": None})
    line = f'import json\nfrom explorable import live\nGOT = live.records("s*", "{PATH}", "case.model")\n'
    source = line + ACT.replace("FOUND =", "OTHER =").replace("for one in FOUND", "for one in GOT")
    assert shown(one, source=source) == "a on CPU “x”: 3"


def test_a_site_publishes_the_act_with_its_records_and_follows_a_new_one(site: Site, results: Path) -> None:
    site.configure(records=results.relative_to(site.root), cache=False)
    site.write("acts/tiny_tool/act.py", ACT)
    site.write("index.md", "# T\n\n/// act | tiny-tool\n\n///\n")
    record = next(results.rglob("*.json"))
    kept = record.read_text(encoding="utf-8")
    record.unlink()
    assert site.build(), site.messages
    assert "not measured yet" in site.page()
    record.write_text(kept, encoding="utf-8")
    assert site.build(), site.messages
    assert str(json.loads(kept)["memory"]["held"]["activations"]) in site.page()
    published = [path.read_text(encoding="utf-8") for path in (site.root / "site/assets/live/acts").glob("*.json")]
    assert any(json.loads(kept)["case"]["name"] in text for text in published)


def test_a_wrong_request_fails_the_strict_build_with_file_and_line(site: Site) -> None:
    site.write("acts/tiny_tool/act.py", ACT.replace('"smoke"', '"smok"'))
    site.write("index.md", "# T\n\n/// act | tiny-tool\n\n///\n")
    assert not site.build()
    assert any("act.py:4: there is no suite 'smok' of records" in message for message in site.messages)
