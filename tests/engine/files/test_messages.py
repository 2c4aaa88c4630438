"""Out-of-memory messages, tables of nvidia-smi and of DeepSpeed's needs: which card, how many, and what is in use."""

from __future__ import annotations

import re

import pytest

from ironlaw.files import Facts, read
from tests.engine.files.texts import GIB, MIB, SMI


def test_both_wordings_of_an_out_of_memory_message_are_read() -> None:
    # lm-sys/FastChat #2701 and andimarafioti/florence2-finetuning #17.
    older = read(
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB (GPU 1; 79.10 GiB total capacity; "
        "76.13 GiB \nalready allocated; 290.12 MiB free; 77.47 GiB reserved in total by PyTorch) If reserved memory"
    )
    assert older.measured is not None
    assert older.facts.gpu_memory == round(79.10 * GIB)
    assert (older.measured.asked, older.measured.allocated) == (1.25 * GIB, round(76.13 * GIB))
    assert older.measured.reserved == round(77.47 * GIB)
    newer = read(
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 108.00 MiB. GPU 0 has a total capacty of 15.89 GiB of "
        "which 65.12 MiB is free. Process 2670 has 15.82 GiB memory in use. Of the allocated memory 15.36 GiB is "
        "allocated by PyTorch, and 168.02 MiB is reserved by PyTorch but unallocated."
    )
    assert newer.measured is not None
    assert newer.facts.gpu_memory == round(15.89 * GIB)
    assert newer.measured.allocated == round(15.36 * GIB)
    assert newer.measured.reserved == round(15.36 * GIB) + round(168.02 * MIB)
    assert newer.measured.process == round(15.82 * GIB)


def test_the_process_that_failed_is_told_from_others() -> None:
    others = "Process 12345 has 20.00 GiB memory in use. "
    own = "Including non-PyTorch memory, this process has 58.59 GiB memory in use. "
    for in_use in (others + own, own + others, others + "Process 2670 has 58.59 GiB memory in use. "):
        said = (
            f"Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 MiB is free. {in_use}"
        )
        measured = read(f"OutOfMemoryError: CUDA out of memory. {said}").measured
        assert measured is not None
        assert measured.process == round(58.59 * GIB)


def test_a_table_of_gpus_says_which_how_many_and_what_is_in_use() -> None:
    reading = read(SMI)
    assert reading.facts == Facts(gpu="a100-40-pcie", gpu_memory=40960 * MIB, devices=2)
    assert reading.measured is not None
    assert reading.measured.process == 13187 * MIB


PROCESSES = """\
+---------------------------------------------------------------------------------------+
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|=======================================================================================|
|    0   N/A  N/A      1201      G   /usr/lib/xorg/Xorg                          412MiB |
|    0   N/A  N/A      9001      C   vllm                                       6120MiB |
|    0   N/A  N/A     14250      C   .../envs/train/bin/python                  6600MiB |
"""


def test_what_other_programs_have_is_not_the_trainings() -> None:
    reading = read(SMI + PROCESSES)
    assert reading.measured is not None
    assert (reading.measured.process, reading.measured.in_use) == (6600 * MIB, 13187 * MIB)
    assert reading.missing == (
        "Compared is the process that trains, 6.9 GB; 6.9 GB of the fullest card are other programs'.",
    )
    alone = read(SMI + PROCESSES.replace(".../envs/train/bin/python", "a.out                    "))
    assert alone.measured is not None
    assert alone.measured.process == 6600 * MIB


EIGHT = "| NVIDIA-SMI 535.146.02   Driver Version: 535.146.02   CUDA Version: 12.2 |\n" + "".join(
    f"|   {card}  NVIDIA H100 80GB HBM3          On  | 00000000:{card}D:00.0 Off |          0 |\n"
    f"| N/A   32C    P0              86W / 700W |  {used:>6}MiB / 81559MiB |     {busy:>3}%      Default |\n"
    for card, (used, busy) in enumerate(((61234, 98), (61230, 97), *[(4, 0)] * 6))
)


@pytest.mark.parametrize(
    ("text", "devices", "told"),
    [
        (EIGHT, 2, ["8 cards, 6 idle: counted are the 2 on which something runs."]),
        # A process that waits for another computes nothing at the moment.
        (EIGHT.replace(" 98%", "  0%").replace(" 97%", "  0%"), 2, ["8 cards, 6 idle: counted are the 2"]),
        (f"{EIGHT}|    7   N/A  N/A     14250      C   python3                500MiB |\n", 3, ["8 cards, 5 idle"]),
        (f"{EIGHT}|    7   N/A  N/A      1201      G   /usr/lib/xorg/Xorg      12MiB |\n", 2, ["8 cards, 6 idle"]),
        # In a container no process is listed.
        (EIGHT.replace("  0%", " 35%"), 8, []),
        (EIGHT.replace("  0%", " N/A"), 2, ["8 cards, 6 idle"]),
        # Where nothing runs a reader shows what he has.
        (re.sub(r"612..MiB", "    4MiB", re.sub("9.%", " 0%", EIGHT)), 8, []),
        # Another card drives a display.
        (EIGHT.replace("  7  NVIDIA H100 80GB HBM3", "  7  NVIDIA GeForce RTX 4060"), 2, ["8 cards, 6 idle"]),
    ],
    ids=range(8),
)  # fmt: skip
def test_cards_on_which_nothing_runs_are_told_apart(text: str, devices: int, told: list[str]) -> None:
    reading = read(text)
    assert (reading.facts.devices, reading.facts.gpu) == (devices, "h100-sxm")
    assert [one.startswith(said) for one, said in zip(reading.missing, told, strict=False)] == [True] * len(told)
    assert len([one for one in reading.missing if "idle" in one]) == len(told)


def test_a_cut_name_of_a_gpu_is_told_with_those_that_it_could_be() -> None:
    cut = read(SMI.replace("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM...   "))
    assert cut.facts.gpu is None
    assert cut.missing == ("By its name the GPU is NVIDIA A100-SXM4-40GB or NVIDIA A100-SXM4-80GB: choose it.",)
    unknown = read(SMI.replace("NVIDIA A100-PCIE-40GB", "NVIDIA Q100-PCIE-40GB"))
    assert unknown.missing == ("By its name the GPU is none that the planner knows: choose it.",)


NEEDS = """Estimated memory needed for params, optim states and gradients for a:
HW: Setup with {nodes}, 4 GPUs per node.
SW: Model with 1314M total params, 128M largest layer params.
  per CPU  |  per GPU |   Options
   33.06GB |   0.48GB | offload_param=cpu , offload_optimizer=cpu , zero_init=1
   33.06GB |   2.93GB | offload_param=none, offload_optimizer=cpu , zero_init=0
"""
"""What DeepSpeed's `estimate_zero3_model_states_mem_needs_all_live` prints."""


@pytest.mark.parametrize(("nodes", "devices"), [("1 node", 4), ("2 nodes", 8)])
def test_deepspeeds_table_of_needs_gives_its_gpus_and_is_told_what_it_counts(nodes: str, devices: int) -> None:
    reading = read(NEEDS.format(nodes=nodes))
    assert reading.kind == "DeepSpeed's table"
    assert reading.facts == Facts(devices=devices, nodes=int(nodes[0]), zero=3, method="full")
    assert "weights, gradients, optimizer states: no activations, logits, temporary tensors" in reading.missing[0]


def test_less_free_memory_than_none_is_not_read() -> None:
    card = "GPU 0 has a total capacity of 79.11 GiB of which -5 GiB is free."
    found = read(f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. {card}").measured
    assert found is not None
    assert found.free is found.in_use is None


def test_more_free_memory_than_a_card_has_leaves_nothing_in_use() -> None:
    card = "GPU 0 has a total capacity of 79.11 GiB of which 400 GiB is free."
    reading = read(f"CUDA out of memory. Tried to allocate 2.00 GiB. {card}")
    assert reading.measured is not None
    assert reading.measured.in_use == 0
