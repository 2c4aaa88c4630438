"""A paste of one or more texts: every part is read or said not to be; only numbers and known names travel on."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest

from ironlaw import model
from ironlaw.core.errors import EngineError
from ironlaw.files import Facts, parts, read
from ironlaw.files.pastes import Piece
from ironlaw.files.words import words_of
from tests.engine.files.texts import AXOLOTL_QLORA, LOGS, SMI


def test_two_files_complete_each_other_and_a_contradiction_is_named() -> None:
    run, division = read(AXOLOTL_QLORA).facts, Facts(devices=8, nodes=1)
    assert run.joined(division).devices == 8
    with pytest.raises(EngineError, match=r"^zero 2 is not allowed, as another file says, .*; allowed: 3"):
        run.joined(Facts(zero=2))


def test_nothing_of_a_text_travels_on_but_numbers_and_known_names() -> None:
    secret = "hf_SECRETabcdef"
    texts = (
        AXOLOTL_QLORA + f"output_dir: /home/ann/{secret}\nhub_token: {secret}\ndataset_prepared_path: {secret}\n",
        AXOLOTL_QLORA.replace("casperhansen/llama-3-70b-fp16", f"/data/{secret}/model"),
        f"torchrun --nproc_per_node 8 /home/{secret}/train.py --token {secret} --max_length 512",
        f"{secret} {LOGS['nanoGPT']} {secret}",
        SMI + f"|    0   N/A  N/A      1234      C   /home/{secret}/python   13000MiB |",
    )
    for text in texts:
        assert secret not in repr(read(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "of no known kind"),
        ("CUDA out of memory", "the message about memory needs its sizes"),
        (
            "base_model: a/b\nadapter: qlora\nload_in_8bit: true\n",
            "load_in_8bit True is not allowed with adapter qlora",
        ),
        ("hello", "of no known kind"),
        ("{}", "of no known kind"),
        (
            "base_model: a/b\n  adapter: lora\nmicro_batch_size: 2\n",
            "broken YAML: in line 2, column 10, mapping values",
        ),
        (
            "distributed_type: FSDP\nfsdp_config:\n    a: 1\n  b: 2\n",
            "broken YAML: in line 4, column 3, expected <block",
        ),
        ("hello:\n  to: you\n and: me\n", "of no known kind"),
        ("{" * 100_000, "this is broken JSON: in line 1, column 2, a name in double quotes is expected"),
        ('{\n  "hidden_size": 4096\n  "heads": 32}', "broken JSON: in line 3, column 3, a comma or a closing bracket"),
        ('{"zero_optimization": {"stage": 3}', "broken JSON: in line 1, column 35, a comma or a closing bracket"),
        ('{"a": "b\n}', "broken JSON: in line 1, column 9, a text goes over the end of its line"),
        ('{"a": }', "broken JSON: in line 1, column 7, a value is expected"),
        ('{"a" 1}', "broken JSON: in line 1, column 6, a colon is expected"),
        ('{"model_type": "llama"}}', "broken JSON: in line 1, column 24, the end of the text is expected"),
        ('{"a": "b', "broken JSON: in line 1, column 7, a text begins whose closing quotation mark is missing"),
        ("micro_batch_size: &a 1\nsequence_len: *a\n", "YAML '*a' is not allowed; it must be without aliases"),
        (
            "micro_batch_size: 1\nmicro_batch_size: 2\n",
            "key 'micro_batch_size' is not allowed; it must be written once",
        ),
        ('{"zero_optimization": {"stage": 3}, "zero_optimization": {}}', "written once"),
        ("micro_batch_size: -1\n", "micro_batch_size -1 is not allowed; it must be a whole number of at least 1"),
        ("micro_batch_size: 1\noptimizer: adamx\n", "optimizer 'adamx' is unknown"),
        ("micro_batch_size: 1\ngradient_checkpointing: maybe\n", "allowed: true, false"),
        ("adapter: lora\nmicro_batch_size: 1\nlora_target_modules: ['../../etc']\n", "names of modules"),
        ('{"zero_optimization": {"stage": 7}}', "allowed: 0, 1, 2, 3"),
        ("torchrun --nproc_per_node x train.py", "nproc-per-node 'x' is not allowed"),
        ("torchrun 'train.py", "with pairs of quotation marks"),
        ("!!python/object/apply:os.system ['ls']\nmicro_batch_size: 1", "broken YAML: in line 2, column 1, expected"),
    ],
)
def test_a_text_that_says_nothing_or_too_much_is_refused_in_one_line(text: str, told: str) -> None:
    with pytest.raises(EngineError) as refused:
        read(text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


OUT_OF_MEMORY = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
RuntimeError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 23.65 GiB.
"""

NEEDS = """Estimated memory needed for params, optim states and gradients for a:
HW: Setup with 1 node, 8 GPUs per node.
SW: Model with 8030M total params.
  per CPU  |  per GPU |   Options
  201.91GB |  14.96GB | offload_optimizer=cpu"""


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (OUT_OF_MEMORY + AXOLOTL_QLORA, ["out of memory", "axolotl"]),
        (AXOLOTL_QLORA + "\n" + OUT_OF_MEMORY, ["out of memory", "axolotl"]),
        (f"```yaml\n{AXOLOTL_QLORA}```\n{OUT_OF_MEMORY}torchrun --nproc-per-node 8 \\\n  train.py\n",
         ["out of memory", "axolotl", "command"]),
        ('{\n "zero_optimization": {\n  "stage": 3\n}\n}\n---\n' + AXOLOTL_QLORA, ["DeepSpeed", "axolotl"]),
        (f"my card is too small\n{AXOLOTL_QLORA}", ["axolotl"]),
        (f"# mine\n\n{AXOLOTL_QLORA}", ["axolotl"]),
        (OUT_OF_MEMORY, ["out of memory"]),
        (OUT_OF_MEMORY + "colour: red\nsize: 3\n", ["out of memory"]),
        (f"Qwen/Qwen2.5-7B\n---\n{LOGS['nanoGPT']}\n---\n{SMI}", ["log", "name", "nvidia-smi"]),
        (f"gpt2\n---\n{AXOLOTL_QLORA}", ["name", "axolotl"]),
        (f"{AXOLOTL_QLORA}\n 12%|#2   | 120/1000 [04:00<29:20,  2.00s/it]\n", ["log", "axolotl"]),
        (f"Qwen/Qwen2.5-7B\n{OUT_OF_MEMORY}", ["out of memory", "name"]),
        (f"$ nvidia-smi\nSat Nov 29 10:00:00 2026  \n{SMI}{OUT_OF_MEMORY}", ["out of memory", "nvidia-smi"]),
        (f"{NEEDS}\n{SMI}", ["DeepSpeed's table", "nvidia-smi"]),
        (f"{AXOLOTL_QLORA}$ torchrun --nproc-per-node 8 train.py\n{OUT_OF_MEMORY}",
         ["out of memory", "axolotl", "command"]),
    ],
    ids=range(15),
)  # fmt: skip
def test_every_part_of_a_paste_is_read_or_said_not_to_be(text: str, kinds: list[str]) -> None:
    found = parts(text)
    assert [reading.kind for _, reading in found] == kinds
    for part, reading in found:
        if reading.kind == "axolotl":
            assert reading.facts == read(AXOLOTL_QLORA).facts
            assert "Tried" not in part
    unread = "too small" in text or "colour" in text
    assert any("read" in line for _, reading in found for line in reading.missing) == unread


SHARDS = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"


@pytest.mark.parametrize(
    ("broken", "line", "why"),
    [
        ("distributed_type: FSDP\nnum_processes: [8\n", 3, "this is broken YAML: in line 6, column 1, expected"),
        ("# comment\nsequence_len: 1\n bad: 1\n", 3, "this is broken YAML: in line 6, column 5, mapping values"),
        ('{\n "zero_optimization": {"stage": 3,,}}\n', 3, "this is broken JSON: in line 5, column"),
        ("colour: red\nsize: [3\n", 3, "this may set something and is of no known kind"),
        ("my card is too small\n", 3, "this text is of no known kind"),
    ],
)
@pytest.mark.parametrize("log", ["", OUT_OF_MEMORY])
def test_a_broken_part_of_a_paste_is_named_with_its_line_and_the_good_ones_are_kept(
    broken: str, line: int, why: str, log: str
) -> None:
    """What is around a message may be anything; there a part is named that was meant as a document."""
    named = "broken" in why or not log
    good = "base_model: Qwen/Qwen2.5-0.5B\nmicro_batch_size: 2\n"
    for text, behind in (
        (f"{good}---\n{broken}---\n{log}", 1),
        (f"{good}---\r\n{broken}---\n{SHARDS}---\n{log}", 1),
        (f"{log}---\n{good}---\n{broken}", 1 + log.count("\n") + 1),
        (f"{broken}---\n{log}---\n{SHARDS}---\n{good}", -2),
    ):
        found = parts(text)
        kinds = {reading.kind for _, reading in found}
        expected = {"axolotl", *(["accelerate"] if SHARDS in text else []), *(["out of memory"] if log else [])}
        assert kinds == expected
        told = [one for _, reading in found for one in reading.missing if "the text was not read, from" in one]
        at = int(re.search(r"line (\d+)", why)[1]) if "line" in why else 0  # type: ignore[index]
        shifted = why.replace(f"line {at}", f"line {at + behind - 1}") if at else why
        head = f"A part of the text was not read, from its line {line + behind} on: {shifted}"
        assert [one.startswith(head) for one in told] == ([True] if named else []), (told, head)
        # A model by name answers what asks for a config.json, and nothing else.
        assert set(told) <= set(words_of((reading for _, reading in found), {"gpu": "t4"}).missing)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("meta-llama/Llama-3.1-8B", "llama3.1-8b"),
        (" meta-llama/Llama-3.1-70B\n", "llama3.1-70b"),
        ("gpt2", "gpt2"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("huggingface.co/Qwen/Qwen3-8B/tree/main?download=true#readme", "Qwen/Qwen3-8B"),
        ("https://hf.co/openai-community/gpt2/", "openai-community/gpt2"),
    ],
)
def test_a_bare_name_or_address_of_the_hub_is_the_model(text: str, expected: str) -> None:
    found = read(text)
    assert found.kind == "name"
    assert found.facts.model is not None
    assert model(found.facts.model).parameters == model(expected).parameters


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://huggingface.co/somelab/Wonder-9B", "somelab/Wonder-9B is no model that the planner knows by name"),
        ("somelab/Wonder-9B", "paste its config.json"),
        ("hello", "of no known kind"),
        ("/home/somebody/llama", "of no known kind"),
        ("https://example.org/meta-llama/Llama-3.1-8B", "of no known kind"),
    ],
)
def test_a_name_that_nobody_knows_is_refused_in_a_line(text: str, why: str) -> None:
    with pytest.raises(EngineError, match=why):
        read(text)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-v0.1"),
        ("mistralai/Mistral-7B-Instruct-v0.1", "mistralai/Mistral-7B-v0.1"),
        ("unsloth/mistral-7b-v0.3-bnb-4bit", "mistralai/Mistral-7B-v0.3"),
        ("mistralai/Mistral-7B", "mistralai/Mistral-7B-v0.3"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/Mixtral-8x7B-v0.1"),
    ],
)
def test_of_a_model_with_versions_the_one_that_is_named_is_read(name: str, model: str) -> None:
    assert read(f"base_model: {name}\nmicro_batch_size: 1\n").facts.model == model


@pytest.mark.parametrize(
    "line", [" " * 45_000, "cd " + " " * 40_000 + ":", " " * 20_000 + '"' + " " * 20_000 + "x", "A=" + "b" * 40_000]
)
def test_lines_of_blanks_are_read_in_time_that_grows_with_them(line: str) -> None:
    """600 blanks behind `cd` took half a second, 1,200 seven times as long."""
    began = time.process_time()
    text = f"base_model: Qwen/Qwen2.5-7B\nadapter: lora\nsequence_len: 9\n\n{line}\n\n{line[:20_000]}x\n"
    with suppress(EngineError):
        parts(text)
    assert time.process_time() - began < 5


def test_what_a_shell_does_before_a_training_says_nothing() -> None:
    lines = [
        "  $ cd  /x  ",
        "export A=b",
        ". ./env",
        "A=b",
        "# c",
        "```sh",
        "---",
        "pip install x",
        "Mon Nov 30 22:13:42 2026",
    ]
    assert [line for line in lines if Piece(1, line, known=False).says] == []
    assert Piece(1, "  cd /x: y", known=False).says
    assert Piece(1, "export NPROC_PER_NODE=8", known=False).says
