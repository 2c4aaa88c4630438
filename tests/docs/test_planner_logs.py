"""Logs, messages and tables of a run, beside the plan or in its place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.acts.plan.act import ACT
from docs.acts.plan.choices import words_of
from docs.acts.plan.left import TITLES
from docs.acts.plan.measured import CHANGED, NOT_YOURS
from docs.acts.plan.take import read
from explorable.live import State
from explorable.live.runtime.acts import LoadedAct
from ironlaw import EngineError, estimate
from ironlaw.files.logs import read as read_log
from tests.docs.acts import loaded
from tests.docs.planner import AXOLOTL, OUT_OF_MEMORY, START, at, sent
from tests.docs.planner_texts import COMMAND, NANO_GPT, OFFLOADED, ZERO_3


@pytest.fixture(scope="module")
def act() -> LoadedAct:
    return loaded("plan")


LLAMA = "meta-llama/Meta-Llama-3-8B"
CHOSEN = at(model=LLAMA)


def test_a_table_that_cuts_a_cards_name_is_called_a_table() -> None:
    table = """| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
|   0  NVIDIA A100-SXM...  On   | 00000000:00:04.0 Off |                    0 |
| N/A   34C    P0    52W / 400W |  30321MiB / 81920MiB |      0%      Default |
"""
    heard = read([table], START)
    assert heard.controls["gpu"] == "a100-80"
    assert any("has the memory that the table names" in line for line in heard.said)
    assert any("the message names" in line for line in read([OUT_OF_MEMORY], START).said)


def test_a_message_of_a_t4_names_a_little_less_than_a_t4_has() -> None:
    said = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.56 GiB."
    assert read([said], START).controls["gpu"] == "t4"


def test_a_table_of_an_estimator_alone_has_no_verdict_on_the_pages_own_model() -> None:
    table = (
        "Estimated memory needed for params, optim states and gradients for a:\n"
        "HW: Setup with 1 node, 8 GPUs per node.\nSW: Model with 6857M total params, 206M largest layer params.\n"
        "  per CPU  |  per GPU |   Options\n  172.44GB |   0.77GB | offload_param=cpu, offload_optimizer=cpu"
    )
    heard = read([table], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success is not None
    assert view.success.title == "This page's model, not yours"
    assert {name: heard.controls[name] for name in ("gpus", "zero", "method")} == {
        "gpus": 8,
        "zero": 3,
        "method": "full",
    }
    second = read([table.replace("offload_param=cpu, ", "")], START)
    assert second.controls["zero"] == 2
    assert read([table, AXOLOTL], START).controls["method"] == "qlora"


def test_a_message_leaves_a_card_of_that_memory_that_was_chosen() -> None:
    said = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB."
    for card in ("h100-sxm", "a100-80"):
        heard = read([said], State("run", {**START.controls, "gpu": card}))
        assert heard.controls["gpu"] == card


def test_two_sizes_of_a_machines_memory_are_told_apart() -> None:
    heard = read([COMMAND, OFFLOADED], START)
    table = ACT.compute(State("run", {**START.controls, **heard.controls})).tables["answer"]
    (row,) = [row for row in table.rows if "RAM" in row["a"]]
    assert row["a"] == "A machine's own memory (RAM), while it trains; for loading see below"
    assert (
        f"That is at the start and goes again, before the optimizer's states are made; the {row['b']}" in table.caption
    )
    here = ACT.compute(State("run", {**START.controls, **read([COMMAND, ZERO_3], START).controls})).tables["answer"]
    assert re.search(
        r"Loading takes [\d.]+ GB .*one process reads the model in BF16 .*as transformers does with ZeRO 3",
        here.caption,
    )
    assert "goes again" not in here.caption


def test_what_was_measured_stands_beside_the_band(act: LoadedAct) -> None:
    log = "\n".join(f"iter {n}: loss 3.1, time {900 + n}.00ms, mfu 40.00%" for n in range(1, 30))
    assert read_log(log) is not None
    heard = read([log], CHOSEN)
    view = ACT.compute(State("run", {**CHOSEN.controls, **heard.controls}))
    assert set(json.loads(str(heard.controls["measured"]))) >= {"step_s"}
    rows = view.tables["measured"].rows
    assert rows
    assert [row["e"] for row in rows] == ["above", "not compared"]
    whole = State("run", {**CHOSEN.controls, **heard.controls, "method": "full"})
    assert "published runs" not in view.tables["measured"].caption
    assert re.search(r" percentile \d+ of 1\d\d published runs", ACT.compute(whole).tables["measured"].caption)


TITAN = (
    "[titan] INFO - Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1\n"
    "[titan] INFO - Model llama3 8B size: 8,030,261,248 total parameters\n"
    "[titan] INFO - Applied {} activation checkpointing to the model\n"
    "[titan] INFO - step: 10  loss:  9.9834  memory: 66.01GiB(83.03%)  tps: 6,260  tflops: 295.72  mfu: 29.90%\n"
)


def test_a_cut_torchtitan_log_trains_everything_and_what_is_not_counted_may_explain_it() -> None:
    cut = "\n".join(line for line in TITAN.splitlines() if "mesh" not in line and "Applied" not in line)
    run = "torchrun --nproc_per_node 8 train.py"
    heard = read([cut, run], START)
    assert (heard.controls["method"], heard.controls["gpus"]) == ("full", 8)
    assert heard.controls["zero"] == 3, "as torchtitan divides by default"
    given = State("run", {**START.controls, **read([TITAN.format("selective")], START).controls})
    assert "The run had what is not counted" in ACT.compute(given).tables["measured"].caption
    plain = State("run", {**START.controls, **read([TITAN.format("full")], START).controls})
    assert "is not counted" not in ACT.compute(plain).tables["measured"].caption


@pytest.mark.parametrize("recomputes", ["full", "selective"])
def test_reserved_memory_is_compared_and_what_a_log_says_explains_nothing(recomputes: str) -> None:
    """Between what is allocated and what the driver shows; a log that says how blocks are recomputed is believed."""
    log = TITAN.format(recomputes)
    given = State("run", {**START.controls, **read([log], START).controls})
    tables = ACT.compute(given).tables
    row = next(row for row in tables["measured"].rows if "reserved" in row["a"])
    low, high = (float(end) for end in row["d"].split(" to "))
    assert low < float(row["c"]) < high
    assert (row["b"], row["e"]) == ("70.88", "above")
    titles = [row["a"] for row in tables["differences"].rows if "Not counted" not in row["a"]]
    assert not any("checkpointing" in title.lower() for title in titles)
    assert "Samples four times as long" in titles, "a log that leaves them open"


NVIDIA_SMI = """| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |
|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |
| 30%   45C    P2             300W /  450W |   22550MiB /  24564MiB |    100%      Default |
"""


def test_a_message_and_the_driver_s_table_of_one_card_are_read_together() -> None:
    """PyTorch counts 23.65 GiB of what the driver has as 24,564 MiB; a card of another size is another."""
    for texts in ([OUT_OF_MEMORY, NVIDIA_SMI], [NVIDIA_SMI, OUT_OF_MEMORY]):
        heard = read(texts, START)
        assert heard.controls["gpu"] == "rtx-4090"
        assert {"asked", "free"} <= set(json.loads(str(heard.controls["measured"])))
    with pytest.raises(EngineError, match="gpu memory"):
        read([OUT_OF_MEMORY.replace("23.65", "79.15"), NVIDIA_SMI], START)


def test_memory_of_which_nothing_is_free_is_told(act: LoadedAct) -> None:
    message = OUT_OF_MEMORY.replace("1.09 GiB is free", "0 bytes is free")
    measured = json.loads(str(read([message], START).controls["measured"]))
    assert (measured["free"], measured["in_use"]) == (0, round(23.65 * 2**30))
    act.hear([message], sent(START))  # also the page's check of its notes takes it


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
    state = at(**{"model": LLAMA, **controls})
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
        captions = [table.caption for table in tables.values()]
        assert [CHANGED in caption for caption in captions].count(True) == changed
        assert (CHANGED in tables["message"].caption) == changed


IN_USE = (
    "| NVIDIA-SMI 535 |\n|   0  NVIDIA A100-SXM4-80GB  Off | 0 |\n"
    "| N/A   32C    P0   86W / 400W |  {}MiB / 81920MiB |\n"
)


@pytest.mark.parametrize(
    "text", [OUT_OF_MEMORY, IN_USE.format(51_234), NANO_GPT], ids=["out of memory", "a card in use", "a log"]
)
def test_what_a_run_wrote_alone_gets_no_verdict_on_the_pages_own_model(text: str) -> None:
    """It once got "Fits" for a run that had failed."""
    heard = read([text], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success
    assert view.success.title == TITLES["model"]
    assert view.failure is None
    table = view.tables["measured"]
    assert NOT_YOURS in table.caption
    assert all(row.keys() <= {"a", "b"} for row in table.rows)
    assert not view.tables.keys() & {"message", "differences"}
    mine = State("run", {**START.controls, **heard.controls, "model": LLAMA})
    assert NOT_YOURS not in ACT.compute(mine).tables["measured"].caption


def test_a_card_that_nothing_uses_only_says_which_card_it_is() -> None:
    heard = read([IN_USE.format(4)], START)
    view = ACT.compute(State("run", {**START.controls, **heard.controls}))
    assert view.success
    assert view.success.title == "Fits"


@pytest.mark.parametrize(("batch", "differs"), [(1, True), (4, False)])
def test_steps_of_other_sizes_than_the_plans_are_told_beside_what_was_measured(batch: int, differs: bool) -> None:
    log = "{'train_runtime': 299.1, 'train_samples_per_second': 0.833, 'train_steps_per_second': 0.208}"
    state = at(batch=batch, model=LLAMA)
    view = ACT.compute(State("run", {**state.controls, **read([log], state).controls}))
    told = "The log's steps have 4 samples each and the plan's 1:" in view.tables["measured"].caption
    assert told is differs


@pytest.mark.parametrize("method", ["full", "lora"])
def test_utilization_of_a_log_is_said_to_be_placed_where_it_is(method: str) -> None:
    log = "iter 10: loss 3.2202, time 893.76ms, mfu 46.68%\n" * 4
    started = at(method=method, gpu="a100-80", model="openai-community/gpt2", batch=64, sequence=1024)
    state = State("run", {**started.controls, **read([log], started).controls, "model": "openai-community/gpt2"})
    table = ACT.compute(state).tables["measured"]
    row = next(row for row in table.rows if "MFU" in row["a"])
    placed = "percentile" in table.caption
    assert placed is (method == "full")
    assert row["e"] == ("the percentile above is of this page's count" if placed else "not compared")


def test_what_a_log_does_not_say_is_named_as_standing_here() -> None:
    bar = "{'loss': 1.2, 'epoch': 0.1}\n 12%|x | 120/1000 [12:30<1:31:40, 6.25s/it]\n"
    (line,) = (line for line in read([bar], START).said if "standing here" in line)
    for said in ("NVIDIA H100 SXM5 80 GB", "“Trains: LoRA”", "“Tokens of a sequence: 2,048”"):
        assert said in line


STEPS = "".join(TITAN.splitlines(keepends=True)[-1].replace("10", step, 1) for step in ("10", "20", "30"))


def test_what_a_log_of_steps_alone_does_not_say_stays_as_the_reader_has_it() -> None:
    more = json.dumps({"update": "fused"})
    plan = at(model=LLAMA, method="full", gpus=8, zero=3, sequence=8192, checkpointing="full", flash=False, more=more)
    heard = read([STEPS], plan)
    after = State("run", {**plan.controls, **heard.controls})
    assert words_of(after) == words_of(plan)
    assert json.loads(str(heard.controls["measured"]))["tokens_per_s_device"] == 6260
    assert not any("device" in line for line in heard.said)


def test_a_log_with_its_settings_says_how_it_recomputes_and_nothing_of_cards_that_stand_here() -> None:
    plan = at(model=LLAMA, gpus=8, checkpointing="full", flash=False)
    begun = next(line for line in TITAN.splitlines(keepends=True) if "Model" in line)
    heard = read([begun + STEPS], plan)
    assert {name: heard.controls[name] for name in ("method", "checkpointing", "flash", "zero")} == {
        "method": "full", "checkpointing": "none", "flash": True, "zero": 3,
    }  # fmt: skip
    assert "gpus" not in heard.controls
    assert any("8 cards in all" in line for line in heard.said)
    assert not any("One device" in line for line in heard.said)


def test_a_log_of_a_first_step_has_memory_and_no_speed() -> None:
    first = TITAN.format("full").replace("step: 10", "step:  1")
    heard = read([first], START)
    assert [line for line in heard.said if "first" in line] == [
        "Its only step is the first, with compilation and warm-up in it: it is not taken as measured speed."
    ]
    table = ACT.compute(State("run", {**START.controls, **heard.controls})).tables["measured"]
    assert [row["a"] for row in table.rows] == ["reserved memory, GB"]


def test_selective_checkpointing_of_torchtitan_comes_first_and_no_share_of_the_rest_is_told(act: LoadedAct) -> None:
    """It once said that a loss in pieces would explain 11.17 of 38.8 GB, and nothing of what it does not count."""
    begins = TITAN.replace("66.01GiB(83.03%)", "47.01GiB(59.03%)").format("selective")
    begins += (
        "[titan] INFO - Trainer is initialized with local batch size 1, global batch size 8, sequence length 8192\n"
    )
    act.hear([begins], sent(START))  # also the page's check of its notes takes it
    state = State("run", {**START.controls, **read([begins], START).controls})
    tables = ACT.compute(state).tables
    assert "The run had what is not counted: selective activation checkpointing." in tables["measured"].caption
    rows = tables["differences"].rows
    assert rows[0]["a"] == "Not counted: selective activation checkpointing"
    assert "A loss in pieces" in [row["a"] for row in rows]
    assert not any("explain" in f"{tables[name].caption} {tables[name].rows}" for name in ("measured", "differences"))
    without = State("run", {**state.controls, "left": ""})
    assert "would explain" in str(ACT.compute(without).tables["differences"].rows)


def test_settings_that_are_not_counted_come_first_too() -> None:
    heard = read([f"{AXOLOTL}use_galore: true\n", STEPS], START)
    state = State("run", {**START.controls, **heard.controls})
    assert ACT.compute(state).tables["differences"].rows[0]["a"] == "Not counted: use_galore"
