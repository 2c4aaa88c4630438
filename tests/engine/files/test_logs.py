"""Logs of training programs, from public threads: their times, bytes and batches."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from ironlaw.files import Facts, parts, read, uncolored
from ironlaw.files.together import joined
from ironlaw.files.words import words_of
from tests.engine.files.texts import GIB, LOGS, MIB, said

MEASURED: dict[str, dict[str, Any]] = {
    "nanoGPT": {"step_s": 0.89419, "mfu": 0.16675, "lines": 4},
    "llm.c": {"step_s": 0.04458, "tokens_per_s": 91886, "mfu": None},
    "torchtitan": {"tokens_per_s_device": 10050, "mfu": 0.1399, "reserved": round(66.91 * GIB)},
    "Megatron-LM": {"step_s": 5.4106, "allocated": round(54250.98583984375 * MIB), "reserved": 61480 * MIB},
    "axolotl": {"step_s": 5.35, "allocated": round(34.89 * GIB), "reserved": round(41.26 * GIB)},
    # The last line counts the tokens of one of 24 processes, and has the time of saving in it.
    "transformers": {"step_s": 1 / 0.334, "tokens_per_s": 78016.894, "tokens_per_s_device": 2737.984},
}


@pytest.mark.parametrize("program", LOGS)
def test_the_log_of_each_program_gives_its_times_and_bytes(program: str) -> None:
    measured = read(LOGS[program]).measured
    assert measured is not None
    assert measured.program == program
    found = asdict(measured)
    for name, value in MEASURED[program].items():
        assert found[name] == (None if value is None else pytest.approx(value)), name


@pytest.mark.parametrize(
    ("line", "step", "speed"),
    [
        ("step 100 | loss 2.1 | 1,250 ms | 26k tok/s", 1.25, 26_000),
        ("step   61/74 | loss 3.2 (+nanz)| lr 3.00e-04 | 19,250.33 ms | 33.5% bf16 MFU | 1,702 tok/s", 19.25033, 1702),
        ("step 7/74 | loss 3.2 | 19250.33 ms | 1.7K tok/s", 19.25033, 1700),
    ],
)
def test_thousands_are_read_with_commas_and_with_a_k(line: str, step: float, speed: float) -> None:
    measured = read(line).measured
    assert measured is not None
    assert measured.step_s == pytest.approx(step)
    assert measured.tokens_per_s == pytest.approx(speed)


def test_a_rate_that_nothing_has_gives_no_samples() -> None:
    line = "{{'train_runtime': 3.0, 'train_samples_per_second': {}, 'train_steps_per_second': 1.6}}\n"
    measured = read(line.format("1e40")).measured
    assert measured is not None
    assert measured.samples_per_step is None


BEGINS = """\
+ torchrun --nproc_per_node=8 --role rank --tee 3 -m torchtitan.train --job.config_file ./llama3_8b.toml
[rank0]:[titan] INFO - Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=1
[rank0]:[titan] INFO - Model llama3 8B size: 8,030,261,248 total parameters
[rank0]:[titan] INFO - Applied full activation checkpointing to the model
[rank0]:[titan] INFO - Trainer is initialized with local batch size 4, global batch size 32, \
gradient accumulation steps 2, sequence length 12288, total steps 3000 (warmup 600)
[rank0]:[titan] INFO - step: 10  loss:  9.9834  grad_norm:  4.4551  memory: 66.01GiB(83.03%)  tps: 6,260  \
tflops: 295.72  mfu: 29.90%
"""


def test_what_torchtitan_prints_as_it_begins_is_its_setup() -> None:
    # pytorch/torchtitan: what `train.py`, `ParallelDims` and the parallelizers print.
    both = [reading for _, reading in parts(BEGINS)]
    assert [one.kind for one in both] == ["log", "command"]
    facts = joined(both).facts  # of the command's 8 devices the log's 16 are left
    assert facts.devices == 16
    assert (facts.micro_batch, facts.global_batch, facts.accumulate, facts.sequence, facts.steps) == (
        1, 32, 8, 12288, 3000,
    )  # fmt: skip
    # The local batch of 4 is cut for the pipeline, into samples: that is its default.
    assert (facts.pipeline, facts.tensor, facts.context, facts.expert, facts.zero) == (2, 2, 1, 1, 3)
    assert (facts.model, facts.method, facts.checkpointing) == ("llama3-8b", "full", True)
    understood = words_of(both, {"gpu": "h100-sxm"})
    assert not any("script's" in line for line in understood.missing)


def test_the_batch_of_a_megatron_log_is_a_fact() -> None:
    assert said(LOGS["Megatron-LM"]) == {"global_batch": 128}


@pytest.mark.parametrize(
    ("samples", "steps", "expected"),
    [
        (0.833, 0.208, 4),
        (8.021, 0.334, 24),
        # The last step of an epoch has fewer: 1,000 samples in 63 steps.
        (158.73, 10.0, 16),
        # Three decimals of so slow a step say too little.
        (0.833, 0.02, None),
        (0.1, 0.0, None),
    ],
)
def test_samples_of_a_step_are_those_of_a_trainers_rates(samples: float, steps: float, expected: int | None) -> None:
    rates = f"'train_samples_per_second': {samples}, 'train_steps_per_second': {steps}"
    measured = read(f"{{'train_runtime': 60.0, {rates}, 'train_tokens_per_second': 900.0}}").measured
    assert measured is not None
    assert measured.samples_per_step == expected


BEGUN = """[INFO|trainer.py:2519] ***** Running training *****
[INFO|trainer.py:2520]   Num examples = 52,002
[INFO|trainer.py:2521]   Num Epochs = 3
[INFO|trainer.py:2522]   Instantaneous batch size per device = 4
[INFO|trainer.py:2525]   Total train batch size (w. parallel, distributed & accumulation) = 128
[INFO|trainer.py:2526]   Gradient Accumulation steps = 8
[INFO|trainer.py:2527]   Total optimization steps = 1,218
"""
"""What `transformers`' Trainer prints as it begins."""


@pytest.mark.parametrize("behind", ["", "100%|###| 100/100 [04:11<00:00,  2.27s/it]\n"])
def test_what_a_trainer_prints_as_it_begins_is_its_batch_and_cards(behind: str) -> None:
    reading = read(BEGUN + behind)
    assert reading.kind == "log"
    assert reading.facts == Facts(micro_batch=4, accumulate=8, global_batch=128, steps=1218)
    assert (reading.measured is None) is (not behind)
    words = words_of([reading], {"model": "gpt2", "gpu": "t4"}).words
    assert (words["batch"], words["accumulate"], words["dp"]) == (4, 8, 4)
    two = words_of([reading, read("torchrun --nproc_per_node 2 train.py")], {"model": "gpt2", "gpu": "t4"}).words
    assert two["dp"] == 2  # who says how many cards there are is right


def test_a_log_that_ends_in_a_message_about_memory_says_both() -> None:
    log = BEGINS.partition("\n")[2]
    message = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total "
    message += "capacity of 79.11 GiB of which 2.2 GiB is free.\n"
    alone = [reading for text in (log, message) for _, reading in parts(text)]
    assert [one.kind for one in alone] == ["log", "out of memory"]
    assert [reading for _, reading in parts(log + message)] == alone


OLDER = """\
[titan] 2025-01-01 - INFO - GPU capacity: NVIDIA A100-SXM4-80GB (0) with 79.10GiB memory
[titan] 2025-01-01 - INFO - Building 2-D device mesh with ['dp_replicate', 'dp_shard'], [2, 8]
[titan] 2025-01-01 - INFO - Applied HSDP to the model
[titan] 2025-01-01 - INFO - Training starts at step 1, with local batch size 1, global batch size 16, \
sequence length 8192, total steps 1000 (warmup 200)
[titan] 2025-01-01 - INFO - step: 10  loss:  9.9  memory: 66.01GiB(83.03%)  tps: 6,260  tflops: 295.72  mfu: 29.90%
"""


def test_what_torchtitan_printed_of_its_setup_before() -> None:
    # pytorch/torchtitan, tag v0.1.0: `train.py`, `parallel_dims.py`, `metrics.py`, `parallelize_llama.py`.
    ((_, reading),) = parts(OLDER)
    facts = reading.facts
    assert (facts.gpu, facts.devices, facts.zero, facts.runtime) == ("a100-80", 16, 3, "fsdp")
    assert (facts.micro_batch, facts.global_batch, facts.sequence, facts.steps) == (1, 16, 8192, 1000)
    assert (facts.method, facts.compute, facts.weights) == ("full", "bf16", "fp32")


def test_a_log_without_its_mesh_that_says_fsdp_divides_all_the_same() -> None:
    ((_, reading),) = parts(OLDER.replace("Building 2-D", "There is a"))
    assert (reading.facts.zero, reading.facts.runtime, reading.facts.devices) == (3, "fsdp", 16)
    ((_, reading),) = parts("\n".join(line for line in OLDER.splitlines() if "device mesh" not in line))
    assert (reading.facts.zero, reading.facts.runtime, reading.facts.devices) == (3, "fsdp", None)


COLOURED = (
    "[rank0]:[titan] 2025-11-20 10:00:00,123 - root - INFO - \x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 "
    "total parameters\x1b[39m\n"
    "[rank0]:[titan] 2025-11-20 10:00:09,123 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  9.9834  "
    "\x1b[38;2;180;60;0mgrad_norm:  4.4551  \x1b[38;2;54;234;195mmemory: 66.01GiB(83.03%)  \x1b[34mtps: 6,260  "
    "\x1b[36mtflops: 295.72  \x1b[35mmfu: 29.90%\x1b[39m\n"
)
"""As torchtitan prints by default (`components/metrics.py`, `tools/utils.py`)."""


@pytest.mark.parametrize("escape", ["\x1b", ""], ids=["of a terminal", "of a page that left out the escapes"])
def test_a_coloured_log_says_what_a_plain_one_says(escape: str) -> None:
    plain = uncolored(COLOURED).replace("[rank0]:", "")
    assert "\x1b" not in plain
    found = parts(COLOURED.replace("\x1b", escape))
    assert [reading for _, reading in found] == [read(plain)] == [read(COLOURED)]
    assert found[0][1].facts.model == "llama3-8b"
    assert found[0][1].measured is not None


def test_the_process_before_each_line_of_a_log_says_nothing() -> None:
    log = "Overriding: batch_size = 8\nOverriding: block_size = 512\n" + LOGS["nanoGPT"]
    assert read("".join(f"[rank0]: {line}\n" for line in log.splitlines())) == read(log)


def test_escapes_are_taken_out_of_other_texts_and_nothing_else_is() -> None:
    text = "base_model: gpt2\nmicro_batch_size: 2\nsequence_len: 64 # [1m] \x1bM\n"
    assert uncolored(text) == text
    assert read("\x1b[1;34mbase_model\x1b[0m: gpt2\x1b[K\nmicro_batch_size: 2\n").facts.model == "gpt2"


@pytest.mark.parametrize("place", ["", " (0)"])
def test_the_card_of_a_torchtitan_log_is_read_with_its_place_or_without(place: str) -> None:
    log = f"[titan] INFO - CUDA capacity: NVIDIA H100 80GB HBM3{place} with 79.10GiB memory\n" + LOGS["torchtitan"]
    assert read(log).facts == Facts(gpu="h100-sxm")


def test_what_torchtitan_has_printed_before_its_first_step_is_read() -> None:
    begun, step = BEGINS.partition("\n")[2].split("[rank0]:[titan] INFO - step", 1)
    reading = read(begun)
    assert reading == replace(read(f"{begun}step{step}"), measured=None)
    assert reading.facts.sequence == 12288


def test_speed_is_not_read_of_a_first_step_alone() -> None:
    first = LOGS["torchtitan"].replace("step:  4", "step:  1")
    measured = read(first).measured
    assert measured is not None
    assert (measured.tokens_per_s_device, measured.mfu, measured.reserved) == (None, None, round(66.91 * GIB))
    assert any("Its only step is the first" in line for line in read(first).missing)
    both = read(f"{first}\n{LOGS['torchtitan']}")
    assert both.measured is not None
    assert both.measured.tokens_per_s_device == 10050
    assert not both.missing
