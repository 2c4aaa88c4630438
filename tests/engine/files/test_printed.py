"""What a run printed: its settings count, and what a text has beside it is told."""

from __future__ import annotations

import pytest

from ironlaw.files import parts, read
from ironlaw.files.logs import read as read_log
from ironlaw.files.words import words_of
from tests.engine.files.texts import MODEL, OUT_OF_MEMORY, TITAN


@pytest.mark.parametrize(
    ("line", "batch", "passes", "told"),
    [
        ("Using pipeline schedule 1F1B with 16 microbatches and 4 stages.", 1, 16, False),
        ("Using pipeline schedule 1F1B with 4 microbatches and 4 stages.", 4, 4, False),
        ("Using pipeline schedule 1F1B with 0 microbatches and 4 stages.", 16, 1, False),
        ("Using pipeline schedule GPipe with 16 microbatches and 4 stages.", 1, 16, True),
        ("", 1, 16, False),
    ],
)
def test_the_local_batch_of_a_pipeline_of_torchtitan_is_cut(line: str, batch: int, passes: int, *, told: bool) -> None:
    text = TITAN.format(line).replace("['dp_shard'], [8]", "['pp', 'dp_shard'], [4, 2]")
    text = text.replace("local batch size 1,", "local batch size 16,").replace("batch size 8,", "batch size 32,")
    found = words_of([read(text)], {"gpu": "h100-sxm"})
    assert (found.words["batch"], found.words["micro_batches"]) == (batch, passes)
    assert (found.besides == "more") is told


def test_ulysses_divides_no_states_among_fewer_devices() -> None:
    """A configuration of TRL's examples, whose four devices divide all of ZeRO-3."""
    text = (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 4\nmixed_precision: bf16\n"
        "deepspeed_config: {zero_stage: 3}\n"
        "parallelism_config: {parallelism_config_dp_shard_size: 2, parallelism_config_sp_size: 2}\n"
    )
    found = words_of([read(text)], {"model": "llama3-8b", "gpu": "h100-sxm"})
    assert (found.words["dp"], found.words["zero"], found.besides) == (4, 3, "less")


def test_a_log_of_torchtitan_says_that_it_compiles_and_offloads() -> None:
    read_facts = read_log(TITAN.format("Compiling each TransformerBlock with torch.compile"))
    away = read_log(TITAN.format("Applied CPU Offloading to the model"))
    plain = read_log(TITAN.format(""))
    assert read_facts is not None
    assert away is not None
    assert plain is not None
    assert (plain.facts.compiled, read_facts.facts.compiled) == (None, True)
    assert (plain.facts.offload_parameters, away.facts.offload_parameters) == (None, True)


def test_a_log_beside_options_is_not_all_of_a_text() -> None:
    bar = " 42%|x| 50/120 [02:37<03:40,  3.14s/it]\n"
    evaluated = f"{bar}100%|x| 60/60 [00:02<00:00, 28.85it/s]\n 43%|x| 51/120 [02:43<03:40,  3.14s/it]\n"
    measured = read(evaluated).measured
    assert measured is not None
    assert measured.step_s == pytest.approx(3.14)
    assert read(evaluated).missing == ()
    for line in ("    --lora_rank 8 \\\n", '    "    load_in_4bit = True,\\n",\n'):
        assert words_of([read(line + evaluated)], {"gpu": "t4", "model": "gpt2"}).besides == "both"


TRAINS = (
    "[INFO|trainer.py:2128] >> ***** Running training *****\n[INFO|trainer.py:2131] >>   Instantaneous batch size per "
    "device = 1\n[INFO|trainer.py:2135] >>   Gradient Accumulation steps = 16\n"
)
ITERATES = (
    "using world size: 8, data-parallel size: 1, context-parallel size: 1, tensor-model-parallel size: 4, "
    "pipeline-model-parallel size: 2\n iteration       25/ 100 | consumed samples: 50 | elapsed time per iteration "
    "(ms): 87.0 | learning rate: 1.638E-08 | global batch size:     2 | lm loss: 1.08E+01 |\n"
)


def test_what_a_run_printed_says_neither_what_is_trained_nor_that_it_all_is() -> None:
    given = {"gpu": "h100-sxm", "model": "llama3-8b"}
    for text in (TRAINS, OUT_OF_MEMORY):
        silent, said = words_of([read(text)], given), words_of([read(text)], {**given, "method": "lora"})
        assert (silent.besides, said.besides) == ("less", None), text
        assert "does not say what is trained" in silent.missing[-1]
    divided = words_of([read(ITERATES)], {**given, "method": "full"}).words
    assert (divided["tp"], divided["pp"]) == (4, 2)
    printed = "[config.py:1001:print]   {} ................... {}\n"
    stage = printed.format("world_size", 8) + printed.format("zero_optimization_stage", 3)
    words = words_of([read(stage + TRAINS)], {**given, "method": "full"}).words
    assert (words["dp"], words["zero"]) == (8, 3)


CODE = "and this is what I changed:\n\ntraining_args.per_device_train_batch_size = 64\n"
SUMMARY = "{'train_runtime': 1234.5, 'train_samples_per_second': 12.3, 'train_steps_per_second': 0.048}\n"


@pytest.mark.parametrize("printed", [OUT_OF_MEMORY, SUMMARY])
def test_code_beside_what_a_run_printed_is_waited_for(printed: str) -> None:
    command = f"torchrun --nproc_per_node=1 train.py {MODEL} --model_max_length 2048\n\n"
    given = {"gpu": "h100-sxm", "model": "llama3.1-8b", "method": "full"}
    besides = [
        words_of([one for _, one in parts(text)], given).besides
        for text in (command + CODE + printed, CODE + printed, command + printed)
    ]
    assert besides == ["both", "both", None]


def test_settings_above_a_log_of_torchtitan_are_waited_for() -> None:
    for line, beside in (('dtype = "bfloat16"', "both"), ("[rank0]: nothing", None)):
        assert words_of([read(TITAN.format(line))], {"gpu": "h100-sxm"}).besides == beside


@pytest.mark.parametrize(
    ("log", "batch", "sequence"),
    [
        ("Overriding: batch_size = 64\niter 10: loss 3.1, time 100.00ms, mfu 30.00%\n", 64, None),
        (
            "| micro batch size B    | 64                 |\n| sequence length T     | 1024               |\n"
            "step  1/100 | loss 11.0 (+nanz)| norm 15.3 (+nanz)| lr 8.57e-07 | 300 ms | 40% bf16 MFU | 170 tok/s\n",
            64,
            1024,
        ),
        ("  micro_batch_size ........ 16\n  seq_length .............. 8192\n" + ITERATES, 16, 8192),
        (
            "[config.py:1001:print]   zero_optimization_stage ...... 0\n"
            "[config.py:1001:print]   train_micro_batch_size_per_gpu  32\n" + SUMMARY,
            32,
            None,
        ),
    ],
)
def test_the_batch_and_the_sequence_that_a_log_prints_count(log: str, batch: int, sequence: int | None) -> None:
    facts = read(log).facts
    assert (facts.micro_batch, facts.sequence) == (batch, sequence)


def test_megatrons_encoder_has_no_part_in_how_a_model_is_divided() -> None:
    assert read(f"encoder-tensor-model-parallel size: 0\n{ITERATES}").facts.tensor == 4
