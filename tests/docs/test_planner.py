"""The planner: what it shows is the engine's, and no two of its outputs disagree."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import shlex
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, seed, settings
from hypothesis import strategies as st

from book import plans
from docs.acts.plan.act import ACT
from docs.acts.plan.choices import CONTROLS, MORE, setup_of, words_of
from docs.acts.plan.give import exports
from docs.acts.plan.labels import spell
from docs.acts.plan.phases import fullest_moment
from docs.acts.plan.take import read
from docs.acts.plan.view import SAID, duration
from explorable.live import Choice, Note, Slider, State, Toggle
from explorable.live.runtime.acts import LoadedAct
from explorable.live.runtime.exchange import control_value
from ironlaw import GB, EngineError, estimate, setup
from ironlaw.cli import main
from ironlaw.files.gap import NAMES
from ironlaw.memory.ledger import training_memory
from ironlaw.memory.phases import memory_phases
from ironlaw.models.published import essentials, published
from tests.conftest import tries
from tests.docs.acts import loaded
from tests.docs.planner import AXOLOTL, START, UNCOUNTED, at, sent


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


def test_what_is_shown_is_what_the_engine_answers() -> None:
    state = at(model="Qwen/Qwen3-8B", gpu="a100-80", method="qlora", batch=3, sequence=3000, rank=64)
    view, found = ACT.compute(state), estimate(**words_of(state))
    assert view.headline.value == f"{found.memory_bytes.device_total / GB:.1f}"
    parts = view.data["bar"]
    assert float(str(parts[-1]["to"])) == pytest.approx(found.memory_bytes.device_total / GB)
    assert view.readings["Verdict"] == "Fits" == (view.success.title if view.success else "")
    moving = ACT.compute(State(state.context, state.controls, moving=True))
    assert moving.headline == view.headline
    assert all(moving.data[name] == view.data[name] for name in moving.data)


@pytest.mark.parametrize(
    "controls",
    [
        {"method": "full", "gpus": 8, "zero": 3, "precision": "amp-bf16"},
        {"method": "full", "gpus": 8, "zero": 3, "precision": "fp32", "checkpointing": "none"},
        {"method": "full", "gpus": 8, "zero": 3, "precision": "bf16", "chunked": True, "accumulate": 4},
        {"method": "full", "gpus": 8, "zero": 2, "precision": "megatron", "pp": 2, "accumulate": 4},
        {"method": "qlora", "batch": 4, "sequence": 777},
    ],
    ids=str,
)
def test_every_number_of_the_bar_opens_its_sum(controls: dict[str, Any]) -> None:
    """The rows add up to the headline, and what is gathered of other cards is a row of its own, and weights."""
    state = at(**controls)
    view = ACT.compute(state)
    *rows, last = view.tables["memory"].rows
    sizes = [float(str(row["b"]).replace(",", "")) for row in rows]
    assert sum(sizes) == pytest.approx(float(str(last["b"])), abs=0.001 * len(rows))
    assert f"{float(str(last['b'])):.1f}" == view.headline.value
    named = {str(row["a"]) for row in rows}
    gathers = "zero" in controls and controls["zero"] == 3
    assert any(name.startswith("gathered: ") for name in named) == gathers
    assert not [row for row in rows if str(row["a"]).startswith("gathered") and not str(row["c"])]
    weights = next(float(str(row["to"])) for row in view.data["bar"] if row["part"] == "parameters")
    assert weights > sum(size for row, size in zip(rows, sizes, strict=True) if "gathered" in str(row["a"])) - 1e-3


def test_the_command_gives_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    for state in (
        START,
        at(model="Qwen/Qwen2.5-7B", method="full", gpus=8, zero=3, batch=2, chunked=True, compiled=True),
    ):
        view = ACT.compute(state)
        words = view.command.removeprefix("python -m ironlaw ").split()
        assert main([*words, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert f"{answer['memory_bytes']['device_total'] / GB:.1f}" == view.headline.value


@pytest.mark.sampled(8)
@pytest.mark.parametrize("model", published())
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_every_model_has_an_answer(model: str, method: str) -> None:
    view = ACT.compute(at(model=model, method=method))
    assert (view.failure or view.success) is not None
    assert view.summary


@given(st.data())
def test_every_setting_has_an_answer_in_words(data: st.DataObject) -> None:
    """Whatever a reader chooses, the page answers or says in a sentence why not."""
    controls: dict[str, Any] = {}
    for control in data.draw(st.lists(st.sampled_from(CONTROLS), max_size=6)):
        if isinstance(control, Choice) and control.name != "model":
            controls[control.name] = data.draw(st.sampled_from([option.value for option in control.options]))
        elif isinstance(control, Toggle):
            controls[control.name] = data.draw(st.booleans())
        elif isinstance(control, Slider) and control.integer:
            controls[control.name] = data.draw(st.integers(int(control.minimum), int(control.maximum)))
    state = State("run", {**at(model="Qwen/Qwen2.5-0.5B").controls, **controls}, moving=True)
    view = ACT.compute(state)
    assert view.headline.value
    if view.failure:
        assert view.failure.title in ("Does not fit", "Uncertain", "Not possible together", UNCOUNTED)


@pytest.mark.parametrize(
    ("cards", "controls", "expected"),
    [
        (96, {}, {"dp": 96}),
        (12, {}, {"dp": 12}),
        (24, {"tp": 8}, {"dp": 3, "tp": 8}),
        (6, {"pp": 3}, {"dp": 2, "pp": 3}),
        (3, {}, {"dp": 3}),
        (96, {"tp": 4, "pp": 2}, {"dp": 12, "tp": 4, "pp": 2}),
    ],
)
def test_any_number_of_cards_is_carried_by_control_link_command_and_file(
    cards: int, controls: dict[str, Any], expected: dict[str, int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    state = at(gpus=cards, method="full", zero=3, **controls)
    words = words_of(state)
    assert {name: words[name] for name in expected} == expected
    view = ACT.compute(state)
    assert main([*shlex.split(view.command)[3:], "--json"]) == 0 or view.failure
    assert f"{json.loads(capsys.readouterr().out)['memory_bytes']['device_total'] / GB:.1f}" == view.headline.value
    letters = plans.link(state, START).removeprefix("#state=1.plan.")
    linked = json.loads(zlib.decompress(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4)), -15))
    assert linked["controls"]["gpus"] == cards
    machines = max(cards // 8, 1)
    line = f"torchrun --nnodes {machines} --nproc-per-node {cards // machines} train.py"
    heard = read([line], at(**controls))
    assert heard.controls["gpus"] == cards
    (tmp_path / "run.sh").write_text(line)
    (tmp_path / "config.json").write_text(
        json.dumps({"architectures": ["x"], **published()["Qwen/Qwen3-8B"]["config"]})
    )
    files = [str(tmp_path / name) for name in ("run.sh", "config.json")]
    main(["plan", *files, "--gpu", "h100-sxm", "--json"])
    assert f" --dp {cards} " in f"{json.loads(capsys.readouterr().out)['command']} "


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ({}, "The fullest phase is "),
        ({"gpus": 8, "method": "full", "zero": 3}, "not counted with several cards"),
        ({"compiled": True, "method": "full"}, "not counted with torch.compile"),
        ({"chunked": True}, "not counted with a loss in pieces"),
        ({"checkpointing": "selective"}, "not counted with this checkpointing"),
    ],
    ids=str,
)
def test_the_fullest_phase_is_said_beside_the_verdict(controls: dict[str, Any], said: str) -> None:
    state = at(**controls)
    view = ACT.compute(state)
    sentence = view.tables["answer"].caption
    at_peak = training_memory(setup_of(state)).peak.name
    assert fullest_moment(at_peak) in sentence
    assert {str(row["phase"]) for row in view.data["stack"] if row["said"] != row["phase"]} == {at_peak}
    try:
        phases = memory_phases(setup_of(state))
    except EngineError:
        moment = training_memory(setup_of(state)).peak
        assert said in sentence
        assert f"“{moment.name}” is the fullest, with {moment.bytes / GB:.1f} GB allocated." in sentence
    else:
        told = {"load": "loading", "step": "a later step", "first step": "the first step", "save": "saving"}
        peak = phases.peak
        assert f"The fullest phase is {told.get(peak.name, peak.name)}: {peak.allocated / GB:.1f} GB" in sentence
        assert all(told.get(phase.name, phase.name) in sentence for phase in phases.phases)


def test_the_three_levels_of_memory_have_the_same_names_in_page_command_and_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    levels = ("allocated", "reserved", "process")
    table = ACT.compute(START).tables["moments"]
    assert [column.label.lower() for column in table.columns[1:]] == list(levels)
    moments = {one.name for one in training_memory(setup_of(START)).moments}
    of_phases = [row for row in table.rows if row["a"] not in moments]
    for row, phase in zip(of_phases, memory_phases(setup_of(START)).phases, strict=True):
        assert [*row.values()][1:] == [f"{getattr(phase, level) / GB:.1f}" for level in levels]
    assert main(["estimate", "--model", "gpt2", "--gpu", "h100-sxm", "--phases"]) == 0
    told = capsys.readouterr().out
    assert re.search(" +".join(f"{level} GB" for level in levels), told)
    assert re.search(r"^ *process +[\d,.]+ +[\d,.]+ +[\d,.]+ +GB; ", told, re.MULTILINE)
    assert [NAMES[name] for name in ("allocated_peak", "device_total")] == ["allocated memory", "memory of the process"]
    page = Path("docs/plan/index.md").read_text("utf-8")
    assert all(f"*{level}*" in page.lower() for level in levels)


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ({}, ""),
        (
            {"zero": 3},
            "all divide optimizer states, gradients and weights, 1/8 to a card, with the layers at work",
        ),
        (
            {"zero": 2},
            "optimizer states and gradients, 1/8 to a card; each holds weights, activations and logits of its",
        ),
        (
            {"zero": 1, "tp": 2},
            "each holds 1/2 of every matrix; 4 of them divide optimizer states, 1/4 to a card; each",
        ),
        ({"zero": 0}, "Of 8 cards each holds optimizer states, gradients, weights, activations and logits"),
    ],
    ids=str,
)
def test_what_each_of_several_cards_holds_is_said(controls: dict[str, Any], said: str) -> None:
    cards = {"gpus": 8, "method": "full", **controls} if controls else {}
    caption = ACT.compute(at(**cards)).tables["answer"].caption
    assert said in caption
    assert ("undivided" in caption) == bool(controls)


@pytest.mark.parametrize(
    ("controls", "phases"),
    [
        ({}, ["load", "first step", "a step", "evaluation", "save"]),
        ({"method": "full", "model": "Qwen/Qwen3-4B", "gpu": "h200", "checkpointing": "none"}, ["load"]),
        ({"method": "qlora", "batch": 4}, ["load", "save"]),
        ({"method": "full", "gpus": 8, "zero": 3}, []),
        ({"method": "full", "gpus": 8, "zero": 2, "compiled": True}, []),
    ],
    ids=str,
)
def test_phases_and_moments_are_stacked_of_the_same_parts_and_add_up(
    controls: dict[str, Any], phases: list[str]
) -> None:
    """Each bar ends where its row does, the fullest moment has the parts of the first chart, and a phase its states."""
    state = at(**controls)
    view, ledger = ACT.compute(state), training_memory(setup_of(state))
    ends = {str(row["a"]): row for row in view.tables["moments"].rows}
    stacks: dict[str, dict[str, float]] = {}
    for row in view.data["stack"]:
        stacks.setdefault(str(row["phase"]), {})[str(row["part"])] = float(str(row["to"])) - float(str(row["from"]))
    assert [*stacks] == [*ends]
    assert {*phases, *(one.name for one in ledger.moments)} <= {*stacks}
    driver = (ledger.device_total - ledger.allocated_peak) / GB
    for name, row in ends.items():
        process = stacks[name].pop("process")
        assert f"{process:.1f}" == row["d"]
        assert min(stacks[name].values()) >= -1e-9
        assert sum(stacks[name].values()) <= process + 1e-9
        assert f"{sum(stacks[name].values()) - driver:.1f}" == row["b"]
    shown = {str(row["part"]): float(str(row["to"])) - float(str(row["from"])) for row in view.data["bar"]}
    for name in (ledger.peak.name, *(["a step"] if phases else [])):
        assert stacks[name] == pytest.approx(shown)
    if phases:
        assert stacks["load"]["optimizer"] == 0 < stacks["save"]["optimizer"]
        assert stacks["load"]["parameters"] == pytest.approx(stacks["save"]["parameters"])
    # Nothing but what the update makes is temporary in its moment, and no activation is left.
    assert stacks["optimizer step"]["activations"] == stacks["optimizer step"]["logits"] == 0


@pytest.mark.parametrize(
    "controls",
    [{}, {"method": "full", "gpus": 8, "zero": 3}, {"method": "qlora", "checkpointing": "none", "chunked": True}],
    ids=str,
)
def test_every_sum_leads_to_the_page_that_explains_it(controls: dict[str, Any], site: Path) -> None:
    view = ACT.compute(at(**controls))
    for name in ("sums", "memory"):
        table = view.tables[name]
        assert [column.numeric for column in table.columns] == [False, True, False, False]
        for row in table.rows:
            page, _, place = table.links[row["d"]].partition("#")
            text = (site / page / "index.html").read_text("utf-8")
            assert not place or f'id="{place}"' in text, f"{row['a']} leads to {page}#{place}"
    assert 'href="../chapter/iron-law/#the-law"' in (site / "plan/index.html").read_text("utf-8")


def test_the_names_of_moments_have_room_in_their_chart() -> None:
    """At thirteen pixels a letter takes about seven: the longest name of a moment is shown whole."""
    from docs.acts.drawing import SIZE
    from docs.acts.plan.charts import moments

    spec = moments().to_dict()
    room = spec["padding"]["left"]
    names = {
        str(row["phase"])
        for controls in (
            {"gpus": 8, "method": "full"},
            {"compiled": True, "method": "full"},
            {"checkpointing": "selective"},
        )
        for row in ACT.compute(at(**controls)).data["stack"]
    }
    assert max(map(len, names)) * 0.53 * SIZE <= room


def plans_drawn() -> st.SearchStrategy[dict[str, Any]]:
    """Controls of plans, of all kinds that the page offers."""
    each: dict[str, st.SearchStrategy[Any]] = {"model": st.sampled_from([*published()][::7])}
    for control in CONTROLS:
        if isinstance(control, Choice) and control.name not in each:
            each[control.name] = st.sampled_from([option.value for option in control.options])
        elif isinstance(control, Toggle):
            each[control.name] = st.booleans()
        elif isinstance(control, Slider) and control.integer:
            most = {"gpus": 96, "tp": 8, "pp": 8}.get(control.name, min(int(control.maximum), 4096))
            each[control.name] = st.integers(int(control.minimum), most)
    return st.fixed_dictionaries({}, optional=each).map(_used_up)


def _used_up(controls: dict[str, Any]) -> dict[str, Any]:
    """As many cards as the groups of a plan use up."""
    return {**controls, "gpus": controls.get("gpus", 1) * controls.get("tp", 1) * controls.get("pp", 1)}


@seed(30)
@settings(max_examples=tries(200))
@given(plans_drawn())
def test_page_link_command_line_and_exports_never_say_two_numbers(controls: dict[str, Any]) -> None:
    state = at(**controls)
    view = ACT.compute(state)
    assume(view.headline.value != "–")
    # The link, as a page reads it.
    letters = plans.link(state, START).partition("#state=1.plan.")[2]
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    linked = json.loads(zlib.decompress(packed, -15)) if letters else {}
    opened = ACT.compute(State("run", {**START.controls, **linked.get("controls", {})}))
    assert (opened.headline, opened.readings, opened.tables) == (view.headline, view.readings, view.tables)
    # The command line, and the two exports that hold numbers.
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([*shlex.split(view.command)[3:], "--json"])
    answer = json.loads(printed.getvalue())
    texts = exports(state)
    exported = json.loads(texts["plan.json"])
    assert exported["estimate"] == answer
    assert exported["command"] == view.command
    assert f"`{view.command}`" in texts["For an issue (Markdown)"]
    assert f"{answer['memory_bytes']['device_total'] / GB:.1f}" == view.headline.value
    assert SAID[answer["verdict"]] == view.readings["Verdict"]
    assert duration(answer["calibrated"]["step_s"]["expected"]) == view.readings["A step"]
    assert f"| **all** | {answer['memory_bytes']['device_total'] / 1e9:,.2f} |" in texts["For an issue (Markdown)"]


def test_the_command_of_torchrun_names_a_model_of_the_hub_and_leaves_out_the_readers_own() -> None:
    assert " --model_name_or_path Qwen/Qwen3-8B " in exports(at(model="Qwen/Qwen3-8B"))["torchrun"]
    config = json.dumps(essentials(published()["Qwen/Qwen3-8B"]["config"]))
    assert " --model_name_or_path YOUR_MODEL " in exports(at(model="pasted", config=config))["torchrun"]


def test_files_follow_the_controls(act: LoadedAct) -> None:
    heard = read([AXOLOTL], START)
    state = State("run", {**START.controls, **heard.controls, "batch": 1, "checkpointing": "none"})
    changed = act.rewrite([AXOLOTL], sent(state))
    assert isinstance(changed, dict)
    lines = str(changed["axolotl"]).splitlines()
    assert {"-micro_batch_size: 2", "+micro_batch_size: 1", "+gradient_checkpointing: false"} <= set(lines)
    unchanged = act.rewrite([AXOLOTL], sent(State("run", {**START.controls, **heard.controls})))
    assert unchanged == {}


@pytest.mark.parametrize(
    ("controls", "few"),
    [({}, False), ({"gpu": "rtx-4090"}, True), ({"gpu": "rtx-4090", "method": "full"}, True)],
    ids=str,
)
def test_how_many_runs_stand_behind_a_band_is_said(controls: dict[str, Any], few: bool) -> None:
    state = at(**controls)
    seen = estimate(**words_of(state)).calibrated
    assert seen is not None
    view = ACT.compute(state)
    caption = view.tables["answer"].caption
    for band, what in ((seen.device_total, "memory"), (seen.step_s, "time")):
        of = f" from {band.sources} source{'s' * (band.sources > 1)}" if band.runs else ""
        assert f"{band.runs or 'none'}{of} for {what}" in caption
    assert ("Few published runs are like this one" in caption) == few
    if view.success:
        said = "Few published runs are like it" if few else f"{seen.device_total.runs} published runs like it"
        assert said in view.success.what


def test_links_of_the_tables_open_as_the_page_reads_them() -> None:
    state = at(model="Qwen/Qwen3-8B", method="qlora", gpus=8)
    letters = plans.link(state, START).removeprefix("#state=1.plan.")
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    assert json.loads(zlib.decompress(packed, -15)) == {
        "controls": {"model": "Qwen/Qwen3-8B", "method": "qlora", "gpus": 8}
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config", '{"model_type": "llama", "_name_or_path": "secret"}'),
        ("config", "[]"),
        ("config", "not json"),
        ("more", "1"),
        ("more", "null"),
        ("more", "garbage"),
        ("more", '{"gpu": "h200"}'),
        ("more", '{"lora_targets": "<script>"}'),
        ("measured", '{"step_s": "1"}'),
        ("measured", '{"step_s": NaN}'),
        ("measured", '{"name": 1}'),
    ],
)
def test_a_link_holds_only_what_the_page_writes(name: str, text: str) -> None:
    note = next(control for control in CONTROLS if control.name == name)
    assert isinstance(note, Note)
    with pytest.raises(ValueError, match=r"the link|is not allowed|is missing|is unknown"):
        control_value(note, text)


@pytest.mark.parametrize("name", ["config", "more", "measured"])
def test_a_note_of_lists_in_each_other_is_refused_before_it_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CPython's reader of JSON raises an error, a browser's Python would end."""
    note = next(control for control in CONTROLS if control.name == name)
    assert isinstance(note, Note)
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("read"))
    with pytest.raises(ValueError, match="the link"):
        control_value(note, '{"a": ' + "[" * 100 + "]" * 100 + "}")


def test_words_of_notes_are_words_of_a_setup() -> None:
    for word in MORE:
        words: dict[str, Any] = {word: object()}
        with pytest.raises(EngineError) as caught:
            setup("gpt2", **words)
        assert caught.value.what != "word"


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ({"method": "lora", "compiled": True}, "“torch.compile: on” is not allowed with “Trains: LoRA”; allowed: off"),
        (
            {"method": "lora", "tp": 8, "gpus": 8},
            "“Cards that share every matrix (tensor parallel): 8” cannot be counted yet with “Trains: LoRA”",
        ),
        (
            {"method": "full", "precision": "fp8", "gpu": "rtx-3090"},
            "“Formats: FP8 products” is not allowed with “Card: NVIDIA GeForce RTX 3090”, which has no fp8; "
            "allowed: FP32, “FP32 weights, FP16 autocast”",
        ),
        (
            {"chunked": True, "more": '{"keep_logits":true}'},
            "“Loss in pieces (Liger, cut cross-entropy): on”; allowed: False, or “Loss in pieces (Liger, cut "
            "cross-entropy)” off",
        ),
    ],
)
def test_what_is_not_possible_is_said_in_the_labels_of_the_controls(controls: dict[str, Any], said: str) -> None:
    view = ACT.compute(at(**controls))
    assert said in view.summary
    assert view.failure
    assert said in view.failure.what


def test_every_word_that_a_control_sets_is_said_by_its_label() -> None:
    labels = [control.label for control in CONTROLS if not isinstance(control, Note)]
    words = words_of(at(method="lora", pp=2)) | words_of(at(method="lora"))
    without = {word for word in words if not any(spell(word) == f"“{label}”" for label in labels)}
    # Replicas follow from three controls.
    assert without == {"dp"}


def test_the_table_of_full_training_counts_what_fsdp_does_and_its_cells_open_the_same_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs/plan/index.md").read_text("utf-8")
    [text] = re.findall(r"^/// plans \| full\n(.*?)^///$", page, re.MULTILINE | re.DOTALL)
    options = yaml.safe_load(text)
    assert options["with"] == {"gpus": 8, "zero": 3}
    assert "mixed precision" in options["caption"]
    cells = [*plans.block("full", text, ()).iter("a")]
    assert len(cells) == len(options["models"]) * len(options["cards"])
    for cell in cells[::7]:
        letters = cell.attrib["href"].removeprefix("#state=1.plan.")
        packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
        opened = ACT.compute(at(**json.loads(zlib.decompress(packed, -15))["controls"]))
        assert f" {opened.headline.value} GB, {opened.readings['Verdict'].lower()}" in "".join(cell.itertext())
        assert "--precision mixed-bf16" in opened.command


def test_the_summary_never_mixes_what_is_counted_with_what_is_expected() -> None:
    state = at(method="full")
    view, found = ACT.compute(state), estimate(**words_of(state))
    assert found.calibrated is not None
    expected, counted = view.summary.split(" Counted, ")
    assert f"expect {found.calibrated.device_total.expected / GB:.1f} GB" in expected
    assert view.readings["A step"] in expected
    assert f"{found.memory_bytes.device_total / GB:.1f} GB" in counted
    assert view.failure is None or view.failure.title == "Does not fit"
    fits = ACT.compute(at())
    assert fits.success is not None
    near = estimate(**words_of(at())).calibrated
    assert near is not None
    assert f"the errors on {near.device_total.runs} published runs like it" in fits.success.what


def test_causes_are_computed_beside_the_bar() -> None:
    """The largest part is the picture's, the vocabulary is told where it counts; so are weights that QLoRA leaves."""
    plain = ACT.compute(at(gpu="h200", model="mistralai/Mistral-7B-v0.3"))
    assert plain.success is not None
    assert f"Largest, with {plain.readings['Weights']}: weights (" in plain.success.what
    assert "vocabulary" not in plain.success.what
    wide = ACT.compute(at(gpu="h200", method="qlora", batch=4))
    told = wide.success or wide.failure
    assert "128,256 logits a token are 4.2 GB a copy in FP32" in str(told)
    assert "4.2 GB in FP32 of embeddings, output and norms, which QLoRA does not round" in str(told)


def test_a_machines_own_memory_stands_where_the_plan_uses_it() -> None:
    table = ACT.compute(at(method="full", gpus=8, zero=3, offload=True)).tables["answer"]
    (row,) = [one for one in table.rows if "RAM" in str(one["a"])]
    whole = estimate(**words_of(at(method="full", gpus=8, zero=3, offload=True))).memory_bytes.host * 8 / GB
    assert row["b"] == f"{whole:.1f} GB" != "0.0 GB"
    assert "Loading takes up to 257 GB" in table.caption
    assert not [one for one in ACT.compute(START).tables["answer"].rows if "RAM" in str(one["a"])]


def test_every_title_of_a_plan_without_numbers_has_its_mark() -> None:
    for controls in ({"method": "qlora", "gpus": 8, "tp": 8}, {"precision": "fp8", "gpu": "t4"}):
        view = ACT.compute(at(**controls))
        assert view.failure is not None
        assert view.failure.title in plans.MARKS


@pytest.mark.parametrize("name", published())
def test_every_model_of_the_menu_has_a_plan_or_a_reason_of_its_own(name: str) -> None:
    """Linear attention alone is counted in parameters only, and the page says so."""
    view = ACT.compute(at(model=name, sequence=512))
    assert ("linear attention" in view.summary) is (name == "Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert view.headline.label.startswith("Peak of a card") or "linear attention" in view.summary


def test_before_python_starts_the_page_says_of_the_plan_what_it_says_later(site: Path) -> None:
    page = (site / "plan/index.html").read_text("utf-8")
    (headline,) = re.findall(r'<p class="il-headline"[^>]*>.*?</p>', page)
    assert ACT.compute(START).success
    assert 'data-failed="false" data-reached="true"' in headline
    assert 'data-slot="headline-flag">Fits</span>' in headline


def test_uncertain_says_whether_the_count_fits_and_why_it_may_be_otherwise() -> None:
    seen = set()
    for sequence in range(512, 16_384, 512):
        view = ACT.compute(at(gpu="a100-40", batch=4, sequence=sequence, chunked=True))
        if view.failure is None or view.failure.title != "Uncertain":
            continue
        more = float(view.headline.value) > float(view.headline.unit.split()[1])
        seen.add(more)
        if float(view.headline.value) != float(view.headline.unit.split()[1]):
            assert ("By the count it does not fit" in view.failure.what) == more
            assert ("Some published runs took less than their count." in view.failure.excess) == more
    assert seen == {True, False}


def test_no_row_of_a_machines_memory_says_nothing() -> None:
    for optimizer in ("paged-adamw", "paged-adamw-8bit"):
        rows = ACT.compute(at(optimizer=optimizer)).tables["answer"].rows
        assert "0.0 GB" not in {str(cell) for row in rows for cell in row.values()}


def test_money_is_the_product_of_what_its_sum_shows() -> None:
    for controls in ({"gpu": "rtx-4060", "model": "Qwen/Qwen3-0.6B"}, {}, {"price": 2.5, "gpus": 4}):
        view = ACT.compute(at(**controls))
        (money,) = [row for row in view.tables["sums"].rows if row["a"] == "Money"]
        days, unit, cards, price = re.match(r"([\d.]+) (\w+) × (\d+) cards? × ([\d.]+) USD", str(money["c"])).groups()  # type: ignore[union-attr]
        hours = float(days) * {"days": 24, "hours": 1, "minutes": 1 / 60}[unit]
        assert float(str(money["b"]).split()[0]) == pytest.approx(hours * int(cards) * float(price), rel=0.02)
        assert ("costs to buy" in str(money["c"])) == (controls.get("gpu") == "rtx-4060")
