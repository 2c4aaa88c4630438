"""The planner: what it shows is the engine's, pasted files become its controls, and nothing of them leaves."""

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
from docs.acts.plan.take import read
from docs.acts.plan.tips import OTHER, SAME
from docs.acts.plan.view import SAID, duration
from explorable.live import Choice, Note, Slider, State, Toggle
from explorable.live.runtime.acts import ActError, LoadedAct
from explorable.live.runtime.exchange import control_value
from ironlaw import GB, EngineError, accelerator, estimate, model, setup
from ironlaw.cli import main
from ironlaw.files.gap import NAMES
from ironlaw.files.logs import read as read_log
from ironlaw.memory.ledger import training_memory
from ironlaw.memory.phases import memory_phases
from ironlaw.models.published import essentials, published
from tests.conftest import FULL
from tests.docs.acts import loaded

START = ACT.default_state()
UNCOUNTED = "This page cannot count that yet"
AXOLOTL = """base_model: NousResearch/Meta-Llama-3-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: adamw_bnb_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
"""
SECRETS = """hub_token: hf_sEcReTtOkEn
wandb_project: my-secret-project
output_dir: /home/somebody/very/secret
datasets:
  - path: somebody/private-data
"""


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


def at(**controls: Any) -> State:
    """The default state with these controls."""
    return plans.moved(START, controls)


def sent(state: State) -> dict[str, Any]:
    """A state as the page sends it."""
    return {"context": state.context, "controls": dict(state.controls), "prediction": None}


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


def test_a_pasted_file_sets_the_controls() -> None:
    heard = read([AXOLOTL], START)
    state = State("run", {**START.controls, **heard.controls})
    words = words_of(state)
    assert heard.labels == ["axolotl"]
    expected = {"model": "meta-llama/Meta-Llama-3-8B", "batch": 2, "sequence": 4096, "accumulate": 4, "method": "qlora"}
    assert {name: words[name] for name in expected} == expected
    assert (words["lora_rank"], words["optimizer"], words["checkpointing"]) == (32, "adamw-8bit", "full")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", published())
def test_a_pasted_configuration_is_the_model_of_the_list(name: str) -> None:
    config = {**published()[name]["config"], "_name_or_path": "/home/somebody/secret", "auto_map": {"a": "secret"}}
    heard = read([json.dumps({"architectures": ["secret"], **config})], START)
    assert "secret" not in json.dumps(dict(heard.controls))
    pasted = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert pasted.headline == ACT.compute(at(model=name)).headline


def test_no_secret_of_a_file_leaves(act: LoadedAct) -> None:
    """Not in the controls, which the address holds, not in what is said, not in an export."""
    texts = [AXOLOTL + SECRETS, "torchrun --nproc-per-node 2 /home/somebody/secret/train.py --token hf_sEcReT"]
    heard = read(texts, START)
    state = State("run", {**START.controls, **heard.controls})
    assert state.controls["gpus"] == 2
    left = json.dumps([dict(heard.controls), list(heard.said), act.exports(sent(state)), act.compute(sent(state))])
    left += plans.link(state, START) + plans.link(state, START)
    assert not [word for word in ("sEcReT", "secret", "somebody", "private") if word in left]


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
    ("controls", "said", "way"),
    [
        ({"gpus": 12, "tp": 8}, "it must be a multiple of 8", {"gpus": 8}),
        ({"gpus": 1, "tp": 4}, "it must be a multiple of 4", {"gpus": 4}),
        ({"gpus": 20, "tp": 2, "pp": 4}, "it must be a multiple of 8", {"gpus": 16}),
        ({"gpus": 20, "tp": 2, "pp": 4}, "which put 8 cards to each copy of the model", {"pp": 5}),
        ({"gpus": 3, "tp": 3}, "“Cards that share every matrix (tensor parallel): 3” is not allowed", {"tp": 1}),
        ({"model": "openai-community/gpt2", "sequence": 2048}, "it must be at most 1024", {"sequence": 1024}),
    ],
    ids=str,
)
def test_cards_that_groups_do_not_use_up_and_long_sequences_are_refused_in_a_line_with_the_nearest_that_do(
    act: LoadedAct, controls: dict[str, Any], said: str, way: dict[str, Any]
) -> None:
    state = at(**{"method": "full", **controls})
    view = ACT.compute(state)
    assert view.failure
    assert view.failure.title == "Not possible together"
    assert said in view.failure.what
    assert "\n" not in view.failure.what
    with pytest.raises(ActError):
        act.exports(sent(state))
    told = [one["controls"] for one in suggested(act, state)]
    assert way in told
    for controls in told:
        assert ACT.compute(State("run", {**state.controls, **controls})).headline.value != "–"


def test_a_file_that_divides_matrices_brings_the_cards_for_it() -> None:
    heard = read(["torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 3"], START)
    assert {name: heard.controls[name] for name in ("gpus", "tp", "pp")} == {"gpus": 12, "tp": 4, "pp": 3}


def test_what_cards_divide_is_kept_where_another_file_says_how_many_there_are() -> None:
    heard = read(['{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}'], START)
    assert heard.controls["zero"] == 3


def test_an_unknown_model_of_a_file_is_said_with_what_stands_instead() -> None:
    state = at(model="Qwen/Qwen3-8B")
    heard = read([AXOLOTL.replace("NousResearch/Meta-Llama-3-8B", "somelab/Wonder-9B")], state)
    assert "model" not in heard.controls
    assert [line for line in heard.said if "somelab/Wonder-9B" in line and "Qwen/Qwen3-8B stands instead" in line]


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
    for row, phase in zip(table.rows, memory_phases(setup_of(START)).phases, strict=True):
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
            "8 of them divide optimizer states, gradients and weights, 1/8 to a card, with the layers at work",
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
        for row in ACT.compute(at(**controls)).data["phases"]
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
@settings(max_examples=200 if FULL else 50)
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


def test_what_was_measured_stands_beside_the_band(act: LoadedAct) -> None:
    log = "\n".join(f"iter {n}: loss 3.1, time {900 + n}.00ms, mfu 40.00%" for n in range(1, 30))
    assert read_log(log) is not None
    heard = read([log], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert set(json.loads(str(heard.controls["measured"]))) >= {"step_s"}
    rows = view.tables["measured"].rows
    assert rows
    assert [row["e"] for row in rows] == ["above", "not compared"]
    whole = State("run", {**START.controls, **heard.controls, "method": "full"})
    assert "published runs" not in view.tables["measured"].caption
    assert re.search(r" percentile \d+ of 1\d\d published runs", ACT.compute(whole).tables["measured"].caption)


NANO_GPT = "iter 100: loss 3.4, time 250.12ms, mfu 35.2%"


@pytest.mark.parametrize(
    "controls",
    [
        {},
        {"method": "full"},
        {"model": "openai-community/gpt2", "sequence": 1024},
        {"model": "openai-community/gpt2"},
        {"gpus": 3, "tp": 2},
    ],
    ids=str,
)
def test_one_line_of_a_log_is_shown_whether_or_not_the_plan_fits_or_can_be_counted(controls: dict[str, Any]) -> None:
    state = at(**controls)
    heard = read([NANO_GPT], state)
    assert heard.said[0] == "Read: time of a step 0.2501 s, utilization (MFU) as the log counts it 35.2 %."
    view = ACT.compute(State("run", {**state.controls, **heard.controls}))
    table = view.tables["measured"]
    step, share = table.rows
    assert (step["a"], step["b"]) == ("time of a step, s", "0.2501")
    assert (share["a"], share["b"]) == ("utilization (MFU) as the log counts it, %", "35.2")
    if view.headline.value == "–":
        assert "no numbers to stand beside it" in table.caption
    else:
        seen = estimate(**words_of(state)).calibrated
        assert seen is not None
        assert step["c"] == f"{seen.step_s.expected:.4g}"
    assert "measured" in ACT.beside


OUT_OF_MEMORY = """CUDA out of memory. Tried to allocate 2.32 GiB.
GPU 0 has a total capacity of 23.65 GiB of which 1.09 GiB is free.
"""


def test_a_message_and_a_file_in_one_paste_are_both_read(act: LoadedAct) -> None:
    heard = read([OUT_OF_MEMORY + AXOLOTL], START)
    assert list(heard.labels) == ["out of memory and axolotl"]
    alone = read([AXOLOTL], START)
    assert {**heard.controls, **alone.controls} == heard.controls
    assert heard.controls["gpu"] == "rtx-4090"
    state = State("run", {**START.controls, **heard.controls, "batch": 1})
    changed = act.rewrite([OUT_OF_MEMORY + AXOLOTL], sent(state))
    assert isinstance(changed, dict)
    assert "+micro_batch_size: 1" in str(changed["axolotl"])


def test_a_message_is_said_to_be_about_the_plan_before_a_change() -> None:
    heard = read([OUT_OF_MEMORY + AXOLOTL], START)
    ran = State("run", {**START.controls, **heard.controls})
    for state, changed in (
        (ran, False),
        (State("run", {**ran.controls, "tokens": 7.0, "price": 3.0}), False),
        (State("run", {**ran.controls, "batch": 1}), True),
        (State("run", {**ran.controls, "gpu": "h200"}), True),
    ):
        tables = ACT.compute(state).tables
        assert ("The plan has changed since" in tables["message"].caption) == changed
        assert ("The plan has changed since" in tables["measured"].caption) == changed


def test_what_no_file_says_is_told_with_what_stands_instead() -> None:
    told = " ".join(read([AXOLOTL], at(gpu="l40s", tokens=7)).said)
    assert accelerator("l40s").title in told
    assert "1 card in all, a run of 7 million tokens" in told
    both = " ".join(read([AXOLOTL, OUT_OF_MEMORY, "torchrun --nproc-per-node 2 train.py"], START).said)
    assert "standing here: a run of" in both
    assert "standing here" not in " ".join(read([OUT_OF_MEMORY], START).said)


def test_what_cannot_be_read_is_said_in_a_line(act: LoadedAct) -> None:
    for text in ("hello", "{", '{"model_type": "mamba2", "vocab_size": 5}', "iter", "\x00" * 50):
        with pytest.raises(ActError) as caught:
            act.hear([text], sent(START))
        assert "\n" not in str(caught.value)
        assert ".py" not in str(caught.value)


def test_changes_are_the_engines_and_can_be_made(act: LoadedAct) -> None:
    state = sent(at(model="Qwen/Qwen2.5-7B", method="full", gpu="rtx-4090", checkpointing="none", batch=4))
    before = estimate(
        **words_of(at(model="Qwen/Qwen2.5-7B", method="full", gpu="rtx-4090", checkpointing="none", batch=4))
    )
    told = []
    answer: Any = act.suggest(state, True)
    while answer["next"]:
        told.append(answer["next"])
        answer = act.suggest(state, False)
    named = [one for one in told if one["title"]]
    assert named
    for one in named:
        controls = {**state["controls"], **one["controls"]}
        after = estimate(**words_of(State("run", controls)))
        saved = (before.memory_bytes.device_total - after.memory_bytes.device_total) / GB
        said = f"{abs(saved):.1f} GB {'less' if saved > 0 else 'more'}"
        # Why more cards are told stands before what they save.
        first = "trains something else; this takes more cards. "
        assert (
            one["text"].partition(first)[2].startswith(said) if first in one["text"] else one["text"].startswith(said)
        )


def suggested(act: LoadedAct, state: State) -> list[dict[str, Any]]:
    """All changes that the page can make, the first one first."""
    answer: Any = act.suggest(sent(state), True)
    told = []
    while answer["next"]:
        told.append(answer["next"])
        answer = act.suggest(sent(state), False)
    return sorted((one for one in told if one["title"]), key=lambda one: -float(one["worth"]))


@pytest.mark.parametrize(
    "controls",
    [
        {"model": "meta-llama/Meta-Llama-3-8B", "method": "full", "gpu": "rtx-4090"},
        {"model": "meta-llama/Meta-Llama-3-8B", "method": "full", "gpu": "h100-sxm", "batch": 8, "gpus": 4},
        {"model": "Qwen/Qwen2.5-7B", "method": "lora", "gpu": "a100-40", "batch": 8, "checkpointing": "none"},
    ],
    ids=str,
)
def test_the_first_change_makes_it_fit_where_any_does_and_takes_no_card_that_is_not_there(
    act: LoadedAct, controls: dict[str, Any]
) -> None:
    state = at(**controls)
    told = suggested(act, state)
    verdicts = [ACT.compute(State("run", {**state.controls, **one["controls"]})).readings["Verdict"] for one in told]
    groups = [one["group"] for one in told]
    # Whoever asked for one training is first told how that fits, then of others.
    assert groups == sorted(groups, key=[SAME, OTHER].index)
    assert all(("method" in one["controls"]) == (one["group"] == OTHER) for one in told)
    for group in {*groups}:
        of = [(verdict, one) for verdict, one in zip(verdicts, told, strict=True) if one["group"] == group]
        order = [verdict for verdict, _ in of]
        assert order == sorted(order, key=["Fits", "Uncertain", "Does not fit"].index)
        more = [int(one["controls"].get("gpus", 0)) > int(state.controls["gpus"]) for _, one in of]
        assert order[0] == "Fits"
        assert not more[0] or order.count("Fits") == 1
    for one, verdict in zip(told, verdicts, strict=True):
        assert {"Fits": "Then it fits.", "Uncertain": "Still uncertain", "Does not fit": "It does not fit yet."}[
            verdict
        ] in one["text"]


@pytest.mark.parametrize(
    ("controls", "way", "saves"),
    [
        (
            {"model": "Qwen/Qwen2.5-32B", "gpus": 8, "method": "full", "sequence": 4096, "zero": 3},
            {"offload": True},
            "48.9 GB less",
        ),
        (
            {"model": "Qwen/Qwen2.5-72B", "gpu": "a100-80", "gpus": 96, "method": "full", "sequence": 32768, "zero": 3},
            {"tp": 4, "gpus": 96, "zero": 3, "accumulate": 4},
            "45.6 GB less",
        ),
    ],
    ids=["offload", "tensor"],
)
def test_the_hosts_memory_and_tensor_parallelism_are_offered_like_all_else(
    act: LoadedAct, controls: dict[str, Any], way: dict[str, Any], saves: str
) -> None:
    state = at(**controls)
    (one,) = [one for one in suggested(act, state) if one["controls"] == way]
    assert one["text"].startswith(saves)
    assert "Then it fits." in one["text"]
    after = State("run", {**state.controls, **one["controls"]})
    assert ACT.compute(after).readings["Verdict"] == "Fits"
    assert setup_of(after).tokens == setup_of(state).tokens
    assert setup_of(after).devices == setup_of(state).devices


@pytest.mark.parametrize(
    ("controls", "why"),
    [
        ({"method": "full", "precision": "bf16"}, "What fits on the cards that you have trains something else"),
        ({"method": "full", "precision": "bf16", "gpus": 8, "zero": 3}, ""),
    ],
    ids=str,
)
def test_more_cards_are_told_only_where_the_same_training_does_not_fit(
    act: LoadedAct, controls: dict[str, Any], why: str
) -> None:
    state = at(model="meta-llama/Meta-Llama-3-8B", gpu="a100-40", sequence=4096, checkpointing="none", **controls)
    told = suggested(act, state)
    more = [one for one in told if int(one["controls"].get("gpus", 0)) > int(state.controls["gpus"])]
    assert [one["text"].startswith(why) for one in more] == ([True] if why else [])
    for one in more:
        after = State("run", {**state.controls, **one["controls"]})
        assert ACT.compute(after).readings["Verdict"] == "Fits"
        assert after.controls["method"] == "full"


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_what_does_not_go_together_is_said_with_ways_out(act: LoadedAct, method: str) -> None:
    state = at(method=method, gpus=8, tp=2)
    view = ACT.compute(state)
    assert view.failure is not None
    assert view.failure.title == UNCOUNTED
    said = view.failure.what
    assert "\n" not in said
    assert f"Trains: {'LoRA' if method == 'lora' else 'QLoRA'}" in said
    assert " cannot be counted yet with " in said
    assert "; what can: " in said
    assert "divided here by FSDP and by pipelines alone" in said
    told = suggested(act, state)
    assert "tp" in {name for one in told for name in one["controls"]}
    for one in told:
        after = ACT.compute(State("run", {**state.controls, **one["controls"]}))
        assert after.failure is None or after.failure.title not in ("Not possible together", UNCOUNTED)


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


def test_a_plan_that_fits_says_so_and_names_the_largest_that_fits(act: LoadedAct) -> None:
    state = at(gpu="a100-80", batch=2)
    told = suggested(act, state)
    assert told
    assert all("Still fits." in one["text"] for one in told)
    largest = {name: one["controls"][name] for one in told[:6] for name in one["controls"] if len(one["controls"]) == 1}
    for name, step in (("sequence", 64), ("batch", 1)):
        moved = [{**state.controls, name: largest[name] + more} for more in (0, step)]
        verdicts = [ACT.compute(State("run", controls)).readings["Verdict"] for controls in moved]
        assert verdicts[0] == "Fits" != verdicts[1]


def test_what_divides_brings_its_formats_and_advice_to_divide_says_what_a_click_gives(act: LoadedAct) -> None:
    for zero, formats in ((1, "FP32 weights, BF16 autocast"), (2, "BF16 with FP32 copies (FSDP, ZeRO)")):
        caption = ACT.compute(at(method="full", gpus=8, zero=zero)).tables["answer"].caption
        assert f"Formats, as usual on these cards: {formats}." in caption
    assert "as usual" not in ACT.compute(at(precision="bf16", method="full")).tables["answer"].caption
    state = at(method="full", gpus=8)
    (one, *_) = [one for one in suggested(act, state) if one["controls"].get("zero", 0) > 1]
    after = ACT.compute(State("run", {**state.controls, **one["controls"]}))
    saved = float(ACT.compute(state).headline.value) - float(after.headline.value)
    assert float(one["text"].split(" GB less")[0]) == pytest.approx(saved, abs=0.11)


def test_a_card_on_which_it_fits_is_named_where_nothing_helps(act: LoadedAct) -> None:
    state = at(model="meta-llama/Meta-Llama-3-70B", method="qlora", gpu="rtx-4060")
    view = ACT.compute(state)
    assert view.failure
    needed = re.search(r"a card would have to give ([\d.]+) GB", view.failure.remedy)
    assert needed
    first = suggested(act, state)[0]
    assert "Nothing that was tried fits" in first["text"]
    assert f"{needed[1]} GB" in first["text"]
    after = State("run", {**state.controls, **first["controls"]})
    assert ACT.compute(after).readings["Verdict"] == "Fits"
    smaller = [
        name
        for name in (
            str(option.value)
            for one in CONTROLS
            if isinstance(one, Choice) and one.name == "gpu"
            for option in one.options
        )
        if accelerator(name).memory_bytes < accelerator(str(after.controls["gpu"])).memory_bytes
    ]
    assert not [
        name
        for name in smaller
        if ACT.compute(State("run", {**state.controls, "gpu": name})).readings.get("Verdict") == "Fits"
    ]


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
    with pytest.raises((ValueError, EngineError)):
        control_value(note, text)


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
    plain = ACT.compute(at(gpu="h200"))
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


def header_of(name: str) -> str:
    """The header of a checkpoint in one file, with every layer's tensors, as safetensors keeps it."""
    numbers = {(one.name, at): one for one in model(name).parameter_tensors for at in one.layers or range(one.count)}
    entry = {"dtype": "BF16", "data_offsets": [0, 1]}
    tensors = {key.replace("*", str(at)): {**entry, "shape": list(one.shape)} for (key, at), one in numbers.items()}
    return json.dumps({"__metadata__": {"format": "pt"}, **tensors})


def test_a_checkpoints_header_says_which_model_of_the_list_it_is() -> None:
    text = header_of("Qwen/Qwen2.5-7B")
    heard = read([text], START)
    assert list(heard.labels) == ["safetensors"]
    assert heard.controls["model"] == "Qwen/Qwen2.5-7B"
    told = " ".join(heard.said)
    assert f"{model('Qwen/Qwen2.5-7B').parameters:,} parameters. They are those of Qwen/Qwen2.5-7B" in told
    assert "no part of that model" not in told
    # Without one tensor it is nobody's; beside a configuration it is held against that.
    tensors = json.loads(text)
    del tensors[list(tensors)[-1]]
    assert "model" not in read([json.dumps(tensors)], START).controls
    config = json.dumps(published()["Qwen/Qwen2.5-7B"]["config"])
    for one, said in ((text, False), (json.dumps(tensors), True)):
        beside = read([one, config], START)
        assert beside.controls["model"] == "pasted"
        assert (
            "0 of its tensors are no part of that model, and 1 of the model are not in it" in " ".join(beside.said)
        ) is said


@pytest.mark.parametrize("entry", ['{"data_offsets": [0, 1]}', '{"data_offsets": [0, 1], "shape": ["x"]}'])
def test_a_header_without_shapes_is_refused_in_a_line(act: LoadedAct, entry: str) -> None:
    with pytest.raises(ActError) as caught:
        act.hear([f'{{"wte": {entry}}}'], sent(START))
    assert "a name with a shape" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", published())
def test_every_model_of_the_menu_has_a_plan_or_a_reason_of_its_own(name: str) -> None:
    """Linear attention alone is counted in parameters only, and the page says so."""
    view = ACT.compute(at(model=name, sequence=512))
    assert ("linear attention" in view.summary) is (name == "Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert view.headline.label.startswith("Peak of a card") or "linear attention" in view.summary
