"""Texts that somebody sends to hurt: each is read or refused in a line, in a time that its length bounds."""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.files import parts, read
from ironlaw.files.documents import LONGEST, LONGEST_DOCUMENT
from ironlaw.models import from_config
from ironlaw.models.checkpoints import read_header

AXOLOTL = "base_model: x\nmicro_batch_size: 1\nsequence_len: 4096\n"
FACTORY = "model_name_or_path: x\nfinetuning_type: lora\ncutoff_len: 2048\n"
TRL = "model_name_or_path: x\nper_device_train_batch_size: 1\nmax_length: 100\n"
DIGITS = "9" * 5000
REFUSED = {
    "JSON with 5,000 digits": '{"zero_optimization": {"stage": ' + DIGITS + "}}",
    "the same inside a text": 'so:\n{"zero_optimization": {"stage": ' + DIGITS + "}}\nthat is it",
    "a YAML's count with 5,000 hexadecimal digits": f"{AXOLOTL}num_epochs: 0x{'f' * 5000}\n",
    "a list as attention": f"{TRL}attn_implementation: [a]\n",
    "a list as stage": f"{FACTORY}stage: [a]\n",
    "an object as stage": f"{FACTORY}stage: {{a: b}}\n",
    "a list as format": '{"zero_optimization": {"stage": 2}, "data_types": {"grad_accum_dtype": ["a"]}}',
    "a list as key": f"? [a, b]\n: c\n{AXOLOTL}",
    "an object as key": f"? {{a: b}}\n: c\n{AXOLOTL}",
    "51 lists in each other": f"{AXOLOTL}a: {'[' * 51}1{']' * 51}\n",
    "a table with 5,000 digits": f"NVIDIA-SMI\n|   0  NVIDIA H100 80GB HBM3     On  |\n| {DIGITS}MiB / 1MiB |",
    "a batch of 5,000 digits": f"elapsed time per iteration (ms): 1\nglobal batch size: {DIGITS}",
    "a batch of nothing": "elapsed time per iteration (ms): 1\nglobal batch size: 0",
    "commas as a time": "elapsed time per iteration (ms): ,,,",
    "a command of 400,000 words": "torchrun t.py --lora_target_modules " + "a " * 400_000,
}
"""What is refused."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_text_is_refused_in_a_line(name: str) -> None:
    with pytest.raises(EngineError) as refused:
        read(REFUSED[name])
    assert "\n" not in str(refused.value)
    # A part of it may be something that is read.
    with contextlib.suppress(EngineError):
        parts(REFUSED[name])


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("CUDA out of memory. Tried to allocate 1.2.3 GiB. 9.9.9 GiB is free", "asked"),
        (f"CUDA out of memory. Tried to allocate {DIGITS} GiB", "asked"),
        ("iter 1: loss 1, time 1ms, mfu 1.2.3%", "mfu"),
        ("1/2 [00:00<00:00, 0.00it/s]", "step_s"),
        ("{'train_runtime': 1, 'train_steps_per_second': 0}", "step_s"),
    ],
)
def test_what_is_no_number_is_not_read_as_one(text: str, field: str) -> None:
    measured = read(text).measured
    assert measured is not None
    assert getattr(measured, field) is None


def test_a_key_that_is_no_text_is_passed_over() -> None:
    assert parts(f"0x{'f' * 5000}: 1\n1: 2\n{AXOLOTL}")[0][1].facts.micro_batch == 1


def test_a_name_of_a_format_that_is_a_list_says_nothing() -> None:
    assert parts(f"{TRL}dtype: [a]\n")[0][1].facts.weights is None


SLOW = {
    "digits": ("1", LONGEST),
    "steps of torchtitan": ("step: 1 ", LONGEST),
    "steps of llm.c": ("step 1/1 |", LONGEST),
    "summaries": ("'train_runtime': 1 ", LONGEST),
    "a row of blanks": ("|  0 x" + " " * LONGEST, LONGEST),
    "lists in each other": ("a: 1\nb: " + "[" * LONGEST_DOCUMENT, LONGEST_DOCUMENT),
    "items in each other": ("a: 1\nb:\n" + "- " * LONGEST_DOCUMENT, LONGEST_DOCUMENT),
    "assignments": ("A=B ", LONGEST),
}
"""What a reader of texts takes hours for, if its time grows by the square: what is repeated, and to which length."""
CPU_S = 240
"""Seconds of one of them; they take a few."""
READ = """
import sys
from ironlaw.core.errors import EngineError
from ironlaw.files import parts
repeated, length = sys.argv[1].replace(chr(1), chr(10)), int(sys.argv[2])
try:
    parts((repeated * (length // len(repeated) + 1))[:length])
except EngineError:
    print("refused")
"""


@pytest.mark.parametrize("name", SLOW)
def test_a_long_text_is_refused_in_a_time_that_its_length_bounds(name: str) -> None:
    repeated, length = SLOW[name]
    text = repeated[:100_000].replace("\n", "\1")
    done = subprocess.run(
        [sys.executable, "-c", READ, text, str(length)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-1000:]


def test_a_file_of_lists_in_each_other_is_refused(tmp_path: Path) -> None:
    deep = b'{"a":' * 100_000
    (tmp_path / "config.json").write_bytes(deep)
    (tmp_path / "x.safetensors").write_bytes(len(deep).to_bytes(8, "little") + deep)
    with pytest.raises(EngineError, match="config"):
        from_config(tmp_path)
    with pytest.raises(EngineError, match="safetensors"):
        read_header(tmp_path / "x.safetensors")
