"""The planner's changes: what it offers is the engine's advice, can be made, and leads with what one has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.beside import GROUP
from docs.acts.plan.choices import CONTROLS, is_more, setup_of, words_of
from docs.acts.plan.rewritten import rewrite
from docs.acts.plan.take import read
from docs.acts.plan.tips import DOUBLED, OTHER, SAME, suggest
from explorable.live import Choice, State
from explorable.live.runtime.acts import LoadedAct
from ironlaw import GB, accelerator, estimate, model
from tests.conftest import FULL
from tests.docs.acts import loaded
from tests.docs.planner import START, UNCOUNTED, at, sent

LLAMA = "meta-llama/Meta-Llama-3-8B"


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


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
    exported: Any = act.exports(sent(state))
    assert list(exported) == [""]
    assert said in exported[""]
    told = [one["controls"] for one in suggested(act, state)]
    assert way in told
    for controls in told:
        assert ACT.compute(State("run", {**state.controls, **controls})).headline.value != "–"


def test_changes_are_the_engines_and_can_be_made(act: LoadedAct) -> None:
    state = sent(at(model="Qwen/Qwen2.5-7B", method="full", gpu="rtx-4090", checkpointing="none", batch=4))
    before = estimate(
        **words_of(at(model="Qwen/Qwen2.5-7B", method="full", gpu="rtx-4090", checkpointing="none", batch=4))
    )
    told = []
    answer: Any = act.suggest(state, True)
    while answer["next"] and (answer["next"]["title"] or answer["next"]["worth"] >= 0):
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
        assert (first in one["text"]) <= one["text"].endswith(DOUBLED)
        assert (
            one["text"].partition(first)[2].startswith(said) if first in one["text"] else one["text"].startswith(said)
        )


def suggested(act: LoadedAct, state: State) -> list[dict[str, Any]]:
    """All changes that the page can make, the first one first."""
    answer: Any = act.suggest(sent(state), True)
    told = []
    while answer["next"] and (answer["next"]["title"] or answer["next"]["worth"] >= 0):
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


SHARDS = {"offload": True, "more": '{"offload": "shards", "was": {"offload": {"offload": [null, "shards"]}}}'}
"""FSDP's shards in the host's memory: the control says that something is there, and the note what."""


@pytest.mark.parametrize(
    ("controls", "way", "saves"),
    [
        (
            {"model": "Qwen/Qwen2.5-32B", "gpus": 8, "method": "full", "sequence": 4096, "zero": 3},
            SHARDS,
            "68.5 GB less",
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
        ({"model": "Qwen/Qwen3-14B"}, "What fits on the cards that you have trains something else"),
        ({"model": "meta-llama/Meta-Llama-3-8B", "gpus": 8, "zero": 3}, ""),
    ],
    ids=str,
)
def test_more_cards_are_told_only_where_the_same_training_does_not_fit(
    act: LoadedAct, controls: dict[str, Any], why: str
) -> None:
    state = at(method="full", precision="bf16", gpu="a100-40", sequence=4096, checkpointing="none", **controls)
    told = suggested(act, state)
    more = [one for one in told if int(one["controls"].get("gpus", 0)) > int(state.controls["gpus"])]
    assert [one["text"].startswith(why) for one in more] == ([True] if why else [])
    for one in more:
        after = State("run", {**state.controls, **one["controls"]})
        assert ACT.compute(after).readings["Verdict"] == "Fits"
        assert after.controls["method"] == "full"


@pytest.mark.parametrize(("gpus", "zero"), [(96, 0), (96, 1), (95, 3)], ids=str)
def test_where_no_single_change_makes_it_fit_a_set_of_them_does_in_one_click(
    act: LoadedAct, gpus: int, zero: int
) -> None:
    """A change that divides states comes with the formats that the page gives it then, also as a part of a set."""
    state = at(model="Qwen/Qwen2.5-72B", gpu="a100-80", method="full", sequence=32_768, gpus=gpus, zero=zero)
    first, *others = [one for one in suggested(act, state) if one["group"] == SAME]
    assert "Then it fits." in first["text"]
    assert len(first["controls"]) > 1
    after = State("run", {**state.controls, **first["controls"]})
    assert ACT.compute(after).readings["Verdict"] == "Fits"
    assert (after.controls["gpus"], setup_of(after).tokens) == (gpus, setup_of(state).tokens)
    # What the title names is what a click sets.
    assert len(first["title"].split("; ")) == len(first["controls"].keys() - {"more"})
    assert not [one for one in others if "Then it fits." in one["text"] and [*one["controls"]] != ["sequence"]]


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
    for zero, formats in ((1, "FP32 trained weights, BF16 autocast"), (2, "BF16 with FP32 copies (FSDP, ZeRO)")):
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
    smaller = sorted(
        (
            name
            for name in (
                str(option.value)
                for one in CONTROLS
                if isinstance(one, Choice) and one.name == "gpu"
                for option in one.options
            )
            if accelerator(name).memory_bytes < accelerator(str(after.controls["gpu"])).memory_bytes
        ),
        key=lambda name: accelerator(name).memory_bytes,
    )
    assert not [
        name
        for name in smaller[0 if FULL else -4 :]
        if ACT.compute(State("run", {**state.controls, "gpu": name})).readings.get("Verdict") == "Fits"
    ]


def test_what_a_change_took_the_place_of_is_put_back_with_it(act: LoadedAct) -> None:
    """Passes that came with cards that share a sequence; the evaluation that a file has."""
    shared = at(method="full", gpus=8, zero=3, sequence=65_536, model="Qwen/Qwen2.5-7B")
    text = f"{TRL}per_device_eval_batch_size: 64\neval_strategy: steps\n"
    evaluated = State("run", {**START.controls, **read([text], START).controls})
    for state, word, after in ((shared, "cp", 4), (evaluated, "eval_batch", 1), (evaluated, "base_format", "16-bit")):
        (change,) = [
            one for one in suggested(act, state) if json.loads(one["controls"].get("more", "{}")).get(word) == after
        ]
        then = State("run", {**state.controls, **change["controls"]})
        ACT.compute(then)
        (back,) = [one for one in suggested(act, then) if "as before that change" in one["text"]]
        assert back["group"] == GROUP
        assert {**then.controls, **back["controls"]} == state.controls
        # A hand that has moved on since keeps what it has set.
        moved = State("run", {**then.controls, "accumulate": 3})
        (back,) = [one for one in suggested(act, moved) if "as before that change" in one["text"]]
        assert {**moved.controls, **back["controls"]}["accumulate"] == 3


@pytest.mark.parametrize("chosen", ["", "amp-bf16"])
def test_a_change_of_formats_can_be_taken_back(act: LoadedAct, chosen: str) -> None:
    state = at(method="full", gpu="a100-40", precision=chosen)
    (change,) = [one for one in suggested(act, state) if one["controls"].get("precision") == "bf16"]
    is_more(change["controls"]["more"])
    then = State("run", {**state.controls, **change["controls"]})
    (back,) = [one for one in suggested(act, then) if one["title"].startswith("Take back: formats, BF16")]
    assert back["group"] == GROUP
    assert {**then.controls, **back["controls"]} == state.controls
    # A hand that has moved on since keeps what it has set.
    moved = State("run", {**then.controls, "precision": "fp32"})
    assert not [one for one in suggested(act, moved) if "Take back: formats" in one["title"]]


@pytest.mark.parametrize(
    "note",
    [
        {"was": 3}, {"was": {"model": {}}}, {"was": {"cp": {"more": ["", "x"]}}}, {"was": {"cp": {"cp": [1]}}},
        {"was": {"cp": {"cp": [1, "<b>"]}}}, {"was": {"cp": {"update": [1, 2]}}}, {"was": {"cp": [[1, 2]]}},
        {"cp": 0.5}, {"cp": 0}, {"cp": float("inf")}, {"dropout": float("nan")}, {"node_size": -1}, {"update": ["x"]},
    ],
    ids=str,
)  # fmt: skip
def test_a_link_says_nothing_else_of_what_a_change_took_the_place_of(note: dict[str, Any]) -> None:
    is_more(json.dumps({"cp": 2, "was": {"cp": {"cp": [None, 2], "accumulate": [1, 2]}}}))
    with pytest.raises(ValueError, match="is not one that this page wrote"):
        is_more(json.dumps(note))


BELOW = "Load the frozen weights in 16 bit (dtype: bfloat16 in TRL)"
TRL = (
    f"model_name_or_path: {LLAMA}\ndataset_name: x\nuse_peft: true\nlora_r: 16\n"
    "per_device_train_batch_size: 1\nmax_length: 2048\nbf16: true\n"
)


@pytest.mark.parametrize(("gpu", "then"), [("a100-40", "Then it fits."), ("h100-sxm", "Still fits.")])
def test_weights_that_trl_loads_in_fp32_below_adapters_are_offered_in_16_bits(
    act: LoadedAct, gpu: str, then: str
) -> None:
    state = State("run", {**at(gpu=gpu).controls, **read([TRL], at(gpu=gpu)).controls})
    (one,) = [one for one in suggested(act, state) if one["title"] == BELOW]
    after = State("run", {**state.controls, **one["controls"]})
    saved = float(ACT.compute(state).headline.value) - float(ACT.compute(after).headline.value)
    assert float(one["text"].partition(" GB less")[0]) == pytest.approx(saved, abs=0.11)
    assert saved > 2 * model(LLAMA).parameters * 0.9 / GB
    assert then in one["text"]
    assert "+dtype: bfloat16" in rewrite([TRL], after)["TRL"].splitlines()
    # Who has said it, and peft's own FP32 above four bits, have no such way.
    for text in (f"{TRL}dtype: bfloat16\n", f"{TRL}load_in_4bit: true\n"):
        other = State("run", {**at(gpu=gpu).controls, **read([text], at(gpu=gpu)).controls})
        assert BELOW not in [told["title"] for told in suggested(act, other)]


def test_frozen_weights_in_16_bits_and_another_change_come_before_more_cards(act: LoadedAct) -> None:
    """LoRA at 4,096 tokens, evaluated with 8 at once: no single change fits one A100 of 40 GB, a pair does."""
    text = TRL.replace("max_length: 2048", "max_seq_length: 4096").replace("train_batch_size: 1", "train_batch_size: 2")
    text += "per_device_eval_batch_size: 8\ngradient_accumulation_steps: 8\ngradient_checkpointing: true\n"
    state = State("run", {**at(gpu="a100-40").controls, **read([text], at(gpu="a100-40")).controls})
    told = suggested(act, state)
    after = State("run", {**state.controls, **told[0]["controls"]})
    assert told[0]["title"].startswith(f"{BELOW}; ")
    assert (told[0]["group"], after.controls["gpus"], after.controls["method"]) == (SAME, 1, "lora")
    assert ACT.compute(after).readings["Verdict"] == "Fits"
    assert not [one for one in told if "more cards" in one["text"] or one["controls"].get("gpus", 1) != 1]
    assert BELOW in [one["title"] for one in told]
    assert "+dtype: bfloat16" in rewrite([text], after)["TRL"].splitlines()


def test_a_change_that_takes_many_times_as_long_is_not_told_in_percent(act: LoadedAct) -> None:
    state = at(model="meta-llama/Meta-Llama-3-70B", method="full", gpus=8, zero=3)
    (one,) = [one for one in suggested(act, state) if one["controls"] == SHARDS]
    assert re.search(r" less, \d+\.?\d* times as long\.", one["text"])
    assert "%" not in one["text"]


def test_a_pipeline_is_offered_where_its_stages_are_what_fits_many_small_cards() -> None:
    """LLaMA-Factory #3880: QLoRA of 70B on eight T4, of which each holds all weights until stages divide the blocks."""
    state = at(model="meta-llama/Meta-Llama-3-70B", gpu="t4", gpus=8, method="qlora", sequence=512)
    before = ACT.compute(state)
    assert before.failure is not None
    assert before.failure.title == "Does not fit"
    offered = [one for one in suggest(state) if "pp" in one.controls]
    assert [one.controls["pp"] for one in offered] == [8]
    after = ACT.compute(State(state.context, {**state.controls, **offered[0].controls}))
    assert "Then it fits" in offered[0].text
    assert after.readings["Verdict"] == "Fits"
    assert after.readings["A step"] != before.readings["A step"]


@pytest.mark.parametrize(
    "controls",
    [
        {"model": "meta-llama/Meta-Llama-3-8B", "gpu": "a100-40"},
        {"model": "meta-llama/Meta-Llama-3-70B", "gpu": "h100-sxm", "gpus": 2},
        {"model": "meta-llama/Meta-Llama-3-70B", "gpu": "h100-sxm", "gpus": 8, "sequence": 32_768},
    ],
    ids=str,
)
def test_more_cards_are_the_fewest_that_do_and_the_title_says_what_a_click_sets(
    act: LoadedAct, controls: dict[str, Any]
) -> None:
    state = at(method="full", **controls)
    (one,) = [one for one in suggested(act, state) if int(one["controls"].get("gpus", 0)) > int(state.controls["gpus"])]
    sets = {**state.controls, **one["controls"]}
    named = re.search(r"\(ZeRO (\d)\)", one["title"])
    assert (int(named[1]) if named else 0) == sets["zero"]
    shared = re.search(r"every matrix among (\d+) of (\d+) devices", one["title"])
    assert (int(shared[1]) if shared else 1) == sets["tp"]
    assert f" {sets['gpus']} devices" in one["title"]
    # What the page counts for fewer cards that only divide states does not fit, whatever they divide.
    gpus = 2 * int(state.controls["gpus"])
    while gpus < sets["gpus"]:
        for zero in (1, 2, 3):
            fewer = State("run", {**sets, "gpus": gpus, "zero": zero, "tp": 1})
            assert ACT.compute(fewer).readings["Verdict"] != "Fits"
        gpus *= 2


def test_the_most_sequences_that_fit_say_how_fast_they_are(act: LoadedAct) -> None:
    state = at()
    (one,) = [one for one in suggested(act, state) if [*one["controls"]] == ["batch"]]
    seconds = [
        estimate(**words_of(at(batch=batch))).time.step_s / batch for batch in (1, int(one["controls"]["batch"]))
    ]
    assert f"{100 * (1 - seconds[1] / seconds[0]):.0f} % less time a token" in one["text"]


def test_what_is_set_beside_the_controls_is_told_and_can_be_taken_back() -> None:
    state = at(method="full", gpus=8, zero=3, gpu="h200", more='{"cp": 2, "eval_batch": 1, "update": "fused"}')
    said = ACT.compute(state).tables["answer"].caption
    assert "Set beside the controls: 2 cards share a sequence (context parallel), evaluation with 1 sequence" in said
    ways = [one for one in suggest(state) if one.group == GROUP]
    assert [json.loads(str(one.controls["more"])).keys() for one in ways] == [
        {"eval_batch", "update"}, {"cp", "update"}, {"cp", "eval_batch"}
    ]  # fmt: skip
    assert all(one.worth < -1 for one in ways)
    assert not any(one.group == GROUP for one in suggest(at()))
    odd = at(gpus=3, more='{"cp": 2}')
    (way,) = [one for one in suggest(odd) if one.group == GROUP]
    ACT.compute(State("run", {**odd.controls, **way.controls})).tables["answer"]
    assert "more" in way.controls
    assert way.controls["more"] == ""


def test_dividing_experts_is_offered_where_it_saves_time_alone() -> None:
    state = at(model="Qwen/Qwen3-30B-A3B", method="full", gpus=16, zero=3, sequence=2048, checkpointing="full")
    assert any("Divide the experts" in one.title for one in suggest(state))


def test_the_end_of_a_control_is_not_called_the_most_that_fits() -> None:
    state = at(model="openai-community/gpt2", method="full", sequence=128, checkpointing="full")
    titles = [one.title for one in suggest(state)]
    assert "A card with 256 sequences at once, the most that this page takes, fit" in titles
