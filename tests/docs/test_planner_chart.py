"""The planner's pictures: phases, moments and causes are the ledger's, in the same parts, and add up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import setup_of
from docs.acts.plan.phases import MARK, fullest_moment
from ironlaw import GB, EngineError
from ironlaw.cli import main
from ironlaw.files.gap import NAMES
from ironlaw.memory.ledger import training_memory
from ironlaw.memory.phases import memory_phases
from tests.docs.planner import START, at


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


@pytest.mark.parametrize(
    "controls",
    [{"method": "lora"}, {"method": "qlora", "gpus": 4, "zero": 3}, {"method": "full", "gpus": 8, "zero": 3}],
    ids=str,
)
def test_evaluation_of_more_sequences_is_the_fullest_phase_and_marked(controls: dict[str, Any]) -> None:
    """In both charts, in the verdict's words and in the table, on one card and on several."""
    state = at(**controls, sequence=2048, gpu="h200", more='{"eval_batch": 16, "eval_kept": 0}')
    view, ledger = ACT.compute(state), training_memory(setup_of(state))
    assert ledger.evaluation == ledger.peak
    (marked,) = {str(row["phase"]) for row in view.data["stack"] if str(row["said"]).startswith(MARK)}
    assert marked == "evaluation"
    row = next(row for row in view.tables["moments"].rows if row["a"] == "evaluation")
    assert row["b"] == f"{ledger.peak.bytes / GB:.1f}"
    assert view.headline.value == f"{ledger.device_total / GB:.1f}"
    assert [row["a"] for row in view.tables["moments"].rows].count("evaluation") == 1
    assert not [row for row in view.tables["moments"].rows if row["a"].startswith("evaluation,")]
    verdict = view.success or view.failure
    of_a_step = f"which allocates {ledger.step_peak.bytes / GB:.1f} GB"
    assert f"Evaluation with 16 sequences at a time is fuller than a step, {of_a_step}" in str(verdict)
    assert fullest_moment(ledger.step_peak.name) in view.tables["answer"].caption
    assert "16 sequences at a time" in view.tables["answer"].caption
    assert "the fullest moment between steps: evaluation, loss" in [row["c"] for row in view.tables["memory"].rows][-1]
    few = ACT.compute(at(**controls, sequence=2048, gpu="h200", more='{"eval_batch": 1}'))
    plain = ACT.compute(at(**controls, sequence=2048, gpu="h200"))
    assert few.headline == plain.headline
    assert few.data["bar"] == plain.data["bar"]


@pytest.mark.parametrize(("batch", "counted"), [(1, "1 sequence at a time"), (4, "4 sequences at a time")])
def test_evaluation_says_with_how_many_sequences_it_is_counted(batch: int, counted: str) -> None:
    tables = ACT.compute(at(batch=batch)).tables
    for name in ("answer", "moments"):
        assert f"evaluation with the training's {counted}" in tables[name].caption
    assert "at a time" not in ACT.compute(at(batch=batch, compiled=True)).tables["moments"].caption


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
    ("controls", "phases"),
    [
        ({}, ["load", "first step", "a step", "evaluation", "save"]),
        ({"method": "full", "model": "Qwen/Qwen3-4B", "gpu": "h200", "checkpointing": "none"}, ["load"]),
        ({"method": "qlora", "batch": 4}, ["load", "save"]),
        ({"method": "full", "gpus": 8, "zero": 3}, []),
        ({"method": "full", "gpus": 8, "zero": 2, "compiled": True}, []),
        ({"more": '{"eval_batch": 16}', "gpu": "h200"}, ["load", "first step", "a step", "evaluation", "save"]),
        ({"method": "full", "gpus": 8, "zero": 3, "more": '{"eval_batch": 16, "eval_kept": 4}'}, ["evaluation"]),
        ({"method": "full", "gpus": 8, "zero": 3, "offload": True, "more": '{"offload": "parameters"}'}, []),
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
    of_a_step = (one.name for one in ledger.moments if not one.name.startswith("evaluation"))
    assert {*phases, *of_a_step} <= {*stacks}
    driver = (ledger.device_total - ledger.allocated_peak) / GB
    for name, row in ends.items():
        process = stacks[name].pop("process")
        assert f"{process:.1f}" == row["d"]
        assert min(stacks[name].values()) >= -1e-9
        assert sum(stacks[name].values()) <= process + 1e-9
        assert f"{sum(stacks[name].values()) - driver:.1f}" == row["b"]
    shown = {str(row["part"]): float(str(row["to"])) - float(str(row["from"])) for row in view.data["bar"]}
    between = ledger.peak == ledger.evaluation
    for name in ("evaluation",) if between else (ledger.peak.name, *(["a step"] if phases else [])):
        assert stacks[name] == pytest.approx(shown)
    if "a step" in stacks:
        assert stacks["a step"] == pytest.approx(stacks[ledger.step_peak.name])
    if "load" in stacks:
        assert stacks["load"]["optimizer"] == 0 < stacks["save"]["optimizer"]
        assert stacks["load"]["parameters"] == pytest.approx(stacks["save"]["parameters"])
    # Nothing but what the update makes is temporary in its moment, and no activation is left.
    assert stacks["optimizer step"]["activations"] == stacks["optimizer step"]["logits"] == 0


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


def test_generation_stands_in_the_picture_of_the_phases() -> None:
    """GRPO on one card: the phase, its parts, and no second time among the moments of a step."""
    state = at(gpu="h200", method="full", more='{"rollout": "generate"}')
    names = [str(row["phase"]) for row in ACT.compute(state).data["stack"]]
    assert "rollout" in names
    assert not [name for name in names if name.startswith("rollout,")]
    several = at(gpu="h200", method="full", gpus=8, zero=3, more='{"rollout": "generate"}')
    assert any(str(row["phase"]) == "rollout, generation" for row in ACT.compute(several).data["stack"])
