"""Texts that somebody sends to hurt: each is read or refused in a line, in a time that its length bounds."""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ironlaw.core.errors import EngineError
from ironlaw.files import MOST_YAML, documents, parts, pastes, read, starts, values
from ironlaw.files.documents import LONGEST, LONGEST_DOCUMENT, is_too_deep
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
    "a tag": f"{AXOLOTL}x: !!int ''\n",
    "a tag that Python does not have": f"{AXOLOTL}x: !!timestamp x\n",
    "a list with a tag": f"{AXOLOTL}x: !!python/tuple [1]\n",
    "a character that is none": f'{AXOLOTL}x: "\\UFFFFFFFF"\n',
    "a time of 200 parts": f"{AXOLOTL}x: 1{':59' * 200}.5\n",
    "JSON of 100,000 lists": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "JSON of 100,000 objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "JSON of 200,000 brackets": '{"a": [' + "[]," * 100_000 + "[]]}",
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


DEEP = ("JSON of 100,000 lists", "JSON of 100,000 objects", "51 lists in each other")


@pytest.mark.parametrize("name", DEEP)
def test_what_lies_too_deep_is_refused_before_it_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyodide's reader of JSON breaks the interpreter down where CPython's raises `RecursionError`."""
    values.model("gpt2")  # whose file of models is a JSON too
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("read"))
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", lambda *_, **__: pytest.fail("read"))
    said = "more than 50 lists and objects lie in one another in this text, or .* no file of a training needs"
    for one in (read, parts):
        with pytest.raises(EngineError, match=f"^{said}$"):
            one(REFUSED[name])
    command = "torchrun --nproc-per-node 2 t.py\n"
    found = parts(f"{command}{REFUSED[name]}\n")
    assert [reading.kind for _, reading in found] == ["command"]
    assert found[0][1].missing[-1].startswith("A part of the text was not read, from its line 2 on: ")


def test_a_text_of_which_no_part_is_read_is_refused_in_a_line() -> None:
    with pytest.raises(EngineError, match="of no known kind"):
        parts("nothing\n---\nand nothing")


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("[" * 50 + "]" * 50, False),
        ("[" * 51 + "]" * 51, True),
        ("[]" + "[" * 51, False),
        ('{"' + "[" * 51 + r"\"[[" + '": 1}', False),
        ('{"a": "\\\\", "b": ' + "[" * 51, True),
        ('{"' + "[" * 51, False),
        ("{" * 51, False),
        ('[{"a":' * 26, True),
        ("[" + "[]," * 1000, False),
    ],
)
def test_brackets_count_where_they_open_lists_and_objects(text: str, deep: bool) -> None:
    assert is_too_deep(text) is deep


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "iter 1: loss 1, time 0.00ms, mfu 1.0%",
            "time of a step in seconds 0.0 is not allowed, as the log of nanoGPT",
        ),
        (
            "step 1/2 | loss 1 | 1.0 ms | 0.0% bf16 MFU | 0 tok/s",
            "tokens per second 0.0 is not allowed, as the log of llm.c",
        ),
        (
            "step: 2 memory: 1.00GiB(1%) tps: 0 mfu: 0.00%",
            "tokens per second of a GPU 0.0 is not allowed, as the log of torch",
        ),
        (
            "elapsed time per iteration (ms): 0",
            "time of a step in seconds 0.0 is not allowed, as the log of Megatron-LM",
        ),
        ("elapsed time per iteration (ms): 1e15", "time of a step in seconds 1000000000000.0 is not allowed"),
        ("elapsed time per iteration (ms): 1e-90", "time of a step in seconds 1e-93 is not allowed"),
        ("step: 1 memory: 1e99GiB(1%) tps: 1 mfu: 0.00%", "reserved memory in GiB 1e+99 is not allowed"),
    ],
)
def test_a_figure_that_nothing_takes_is_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(EngineError) as refused:
        read(text)
    assert str(refused.value).startswith(said)
    assert str(refused.value).endswith("it must be at least 1e-09 and at most 1,000,000,000")


@pytest.mark.parametrize(
    "text",
    [
        "step: 1 memory: 0.00GiB(0%) tps: 5 mfu: 0.00%",
        "elapsed time per iteration (ms): 10\nmax allocated: 0 | reserved: 0",
    ],
)
def test_no_memory_is_none_that_was_measured(text: str) -> None:
    measured = read(text).measured
    assert measured is not None
    assert (measured.allocated, measured.reserved) == (None, None)


def test_lines_with_which_nothing_can_begin_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pastes, "_end", lambda *_: pytest.fail("looked at as a document"))
    for line in ("\n", " \n", "\r\n", "# a: b\n", "- a: b\n", "1: 2\n"):
        assert [one.text for one in pastes.pieces(line * 1000, lambda _: True)] == [line * 1000]


class Compared(str):
    """A text that counts with how many others it is compared."""

    __slots__ = ()
    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


def test_each_part_of_a_paste_is_looked_up_and_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [Compared(f"torchrun --a {number}\n") for number in range(1000)]
    monkeypatch.setattr(pastes, "_parts", lambda _: [(line, True) for line in lines])
    assert [one.text for one in pastes.pieces("".join(lines), lambda _: True)] == lines
    assert Compared.times <= 2 * len(lines)


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


def test_a_name_of_a_format_that_is_a_list_is_refused() -> None:
    with pytest.raises(EngineError, match="dtype"):
        parts(f"{TRL}dtype: [a]\n")


SLOW = {
    "digits": ("1", LONGEST),
    "escapes": ("\x1b[", LONGEST),
    "numbers of an escape": ("\x1b[" + "0;" * 5000, LONGEST),
    "colours without an escape": ("[1;1;1;1", LONGEST),
    "steps of torchtitan": ("step: 1 ", LONGEST),
    "steps of torchtitan with many numbers": (
        ("step:" + "1" * 700 + ("memory:1GiB(1%) tps:" + "1" * 20) * 32)[:2000] + "\n",
        LONGEST,
    ),
    "steps of llm.c": ("step 1/1 |", LONGEST),
    "summaries": ("'train_runtime': 1 ", LONGEST),
    "times of llm.c": ("step 1 |" * 120 + "| 1 ms | 1% a MFU | 1,1,1,1,1,1,1,1," * 28 + "\n", LONGEST),
    "summaries with many digits": ("'train_runtime':11111111111111111111" * 50 + "\n", LONGEST),
    "batches of a Trainer": ("Total train batch size" + " " * 1970 + "\n", LONGEST),
    "rows of GPUs without memory": ("| 1 NVIDIA-SMI On |\n", LONGEST),
    "many documents": ("a: 1\nb: 2\n---\n", LONGEST),
    "many broken documents": ("base_model: [\nmicro_batch_size: 1\n---\n", LONGEST),
    "a row of blanks": ("|  0 x" + " " * LONGEST, LONGEST),
    "lists in each other": ("a: 1\nb: " + "[" * LONGEST_DOCUMENT, LONGEST_DOCUMENT),
    "items in each other": ("a: 1\nb:\n" + "- " * LONGEST_DOCUMENT, LONGEST_DOCUMENT),
    "assignments": ("A=B ", LONGEST),
    "schedulers behind each other's options": ("srun -a ", LONGEST),
    "shells in shells": ("bash -c '", LONGEST),
    "schedulers in lines": ("srun ---\n", LONGEST),
    "schedulers with variables": ("srun " + "A=b " * 900 + "\n", LONGEST),
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


def in_time(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a program prints, which ends when it has taken too long."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SLOW)
def test_a_long_text_is_refused_in_a_time_that_its_length_bounds(name: str) -> None:
    repeated, length = SLOW[name]
    done = in_time(READ, repeated[:100_000].replace("\n", "\1"), str(length))
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-1000:]


def test_commands_with_many_scripts_are_read_in_a_time_that_their_length_bounds() -> None:
    line = "python " + "/train.py " * 4_000 + "\n"
    done = in_time(READ, line.replace("\n", "\1"), str(LONGEST))
    assert done.returncode == 0, done.stderr[-1000:]


LONG_LINE = """
import sys
from ironlaw.files import logs
logs.LONGEST_LINE = 1_000_000
assert logs.read((sys.argv[1] * logs.LONGEST_LINE)[:logs.LONGEST_LINE]) is None
"""


@pytest.mark.parametrize(
    "repeated", ["step 1 | 1 ms | 1% a MFU | 1,1,1,", "'train_runtime':1", "'train_samples_per_second':1"]
)
def test_a_log_is_read_in_a_time_that_its_length_bounds_in_however_long_lines(repeated: str) -> None:
    done = in_time(LONG_LINE, repeated)
    assert done.returncode == 0, done.stderr[-1000:]


PROCESSES = """
from ironlaw.files import parts
table = "NVIDIA-SMI\\n| 0 NVIDIA H100 80GB HBM3 On | x |\\n| 100MiB / 81559MiB | 0% |\\n"
rows = ("| 0 N/A N/A 1 C a" + " " * 990 + "\\n") * 900, ("| 0 N/A N/A 1" + " " * 990 + "C\\n") * 900
for one in (*rows, "| 0 1 C a" + " " * 900_000):
    assert parts(table + one)[0][1].facts.devices == 1
"""


def test_programs_of_a_table_are_read_in_a_time_that_its_length_bounds() -> None:
    done = in_time(PROCESSES)
    assert done.returncode == 0, done.stderr[-1000:]


def test_a_card_has_the_memory_of_its_own_row() -> None:
    row = "|   {}  NVIDIA H100 80GB HBM3  On  | x |\n| {} / 81559MiB | 50% |\n"
    text = "NVIDIA-SMI\n" + row.format(0, "ERR!") + row.format(1, "2000MiB")
    assert read(text).facts.devices == 1


def documents_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lengths of the YAML that is given to its reader from now on."""
    lengths: list[int] = []
    yaml = documents._yaml

    def counted(text: str, faults: list[str]) -> Any:
        lengths.append(len(text))
        return yaml(text, faults)

    monkeypatch.setattr(documents, "_yaml", counted)
    return lengths


def test_of_many_documents_no_more_yaml_is_read_than_is_allowed_and_the_rest_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths = documents_read(monkeypatch)
    one = f"{AXOLOTL}x: {'a' * 20_000}\n"
    found = parts("---\n".join(f"{one}y: {number}\n" for number in range(20)))
    assert len(found) == MOST_YAML // len(one)
    assert [reading.kind for _, reading in found] == ["axolotl"] * len(found)
    assert sum(lengths) <= MOST_YAML
    told = [line for line in found[-1][1].missing if "was not read" in line]
    assert told == [
        "A part of the text was not read, from its line 25 on: of a text's YAML at most 100,000 characters are read."
    ]


def test_a_document_of_a_paste_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = documents_read(monkeypatch)
    assert len(parts(f"{AXOLOTL}---\n{TRL}")) == 2
    assert lengths == [len(AXOLOTL), len(TRL)]


def test_json_is_not_counted_as_yaml() -> None:
    config = '{"zero_optimization": {"stage": 2}, "x": "' + "a" * 30_000 + '", "y": %d}\n'
    found = parts("".join(config % number for number in range(5)) + AXOLOTL)
    assert len(found) == 6
    assert not [line for _, reading in found for line in reading.missing if "was not read" in line]


def test_a_paste_is_divided_into_so_many_pieces_at_most() -> None:
    for repeated in ("---\n", "x\n---\n", "torchrun x\n---\n", "a: 1\nb: 1\n1\n---\n"):
        text = repeated * (3 * pastes.MOST_PARTS)
        found = pastes.pieces(text, starts.is_command)
        assert len(found) <= 2 * pastes.MOST_PARTS
        assert "".join(one.text for one in found) == text


EDIT = """
from ironlaw.files.edits import in_json, in_yaml
assert in_yaml("a: x" + " " * 1_000_000 + "y # z\\n", ("a",), 1) == "a: 1 # z\\n"
members = ", ".join(f'"k{number}": 1' for number in range(500_000))
assert in_json("{" + members + "}", ("k7",), 2).count(": 2") == 1
"""


def test_a_value_in_a_long_text_is_set_in_a_time_that_its_length_bounds() -> None:
    done = in_time(EDIT)
    assert done.returncode == 0, done.stderr[-1000:]


@pytest.mark.parametrize("repeated", ["a: 1\nb: 1\ntorchrun x\n", "torchrun x\n", "a: 1\nb: 1\n1\n"])
def test_no_more_parts_of_a_paste_are_looked_at_than_are_read_at_once(repeated: str) -> None:
    looked: list[str] = []
    text = repeated * (2 * pastes.MOST_PARTS)
    found = pastes.pieces(text, lambda part: not looked.append(part))  # type: ignore[func-returns-value]
    assert len(looked) <= pastes.MOST_PARTS
    assert len(found) <= 2 * pastes.MOST_PARTS
    # Nothing of it is lost.
    assert "".join(one.text for one in found) == text


def test_a_line_of_torchtitan_is_read_from_its_first_step_and_the_first_of_each_figure() -> None:
    line = "step: 2 loss: 2 memory: 3GiB(4%) tps: 5,000 memory: 6GiB(7%) wps: 8 mfu: x mfu: 9.5% mfu: 10%"
    measured = read(line).measured
    assert measured is not None
    assert (measured.reserved, measured.tokens_per_s_device, measured.mfu) == (3 * 2**30, 5000, 0.095)


def test_a_file_of_lists_in_each_other_is_refused(tmp_path: Path) -> None:
    deep = b'{"a":' * 100_000
    (tmp_path / "config.json").write_bytes(deep)
    (tmp_path / "x.safetensors").write_bytes(len(deep).to_bytes(8, "little") + deep)
    with pytest.raises(EngineError, match="config"):
        from_config(tmp_path)
    with pytest.raises(EngineError, match="safetensors"):
        read_header(tmp_path / "x.safetensors")
