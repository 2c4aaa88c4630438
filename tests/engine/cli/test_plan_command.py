"""`ironlaw plan FILE…`: the numbers that `estimate` gives for the same words; 0 fits, 1 not or uncertain, 2 error."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ironlaw import model
from ironlaw.cli import main

QLORA = """\
base_model: NousResearch/Meta-Llama-3.1-8B
load_in_4bit: true
adapter: qlora
sequence_len: 2048
sample_packing: true
lora_r: 32
lora_target_linear: true
gradient_accumulation_steps: 4
micro_batch_size: 1
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
"""


CONFIG = (
    '{"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 512, '
    '"activation_function": "gelu_new"}'
)


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["plan", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "qlora.yaml"
    path.write_text(QLORA, encoding="utf-8")
    return path


def test_a_plan_and_its_command_line_give_the_same_numbers(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, plan = planned(capsys, str(file), "--gpu", "h100-sxm")
    assert (code, plan["verdict"]) == (0, "fits")
    words = shlex.split(plan["command"])
    assert words[:3] == ["python", "-m", "ironlaw"]
    assert main([*words[3:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plan["estimate"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_are_read_as_windows_writes_them(
    file: Path, encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "written.yaml"
    written.write_text(QLORA, encoding)
    plain, other = (planned(capsys, str(name), "--gpu", "rtx-4090")[1] for name in (file, written))
    assert other["verdict"] == plain["verdict"]
    config = tmp_path / "config.json"
    config.write_text(CONFIG, encoding)
    assert main(["estimate", "--config", str(config), "--json"]) == 0
    capsys.readouterr()


def test_what_does_not_fit_ends_with_1_and_a_choice_counts_before_the_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, plan = planned(capsys, str(file), "--gpu", "rtx-4060")
    assert (code, plan["verdict"]) == (1, "not")
    _, longer = planned(capsys, str(file), "--gpu", "rtx-4060", "--seq", "4096")
    assert longer["estimate"]["memory_bytes"]["activations"] > plan["estimate"]["memory_bytes"]["activations"]


def test_a_reader_sees_what_was_read_and_what_was_assumed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(file), "--gpu", "rtx-4060"])
    out = capsys.readouterr().out
    for told in ("axolotl: model llama3.1-8b", "does not fit", "The same numbers: python -m"):
        assert told in out


def test_what_to_change_comes_with_what_it_saves_and_with_its_diff(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, plan = planned(capsys, str(file), "--gpu", "rtx-4090", "--seq", "16384", "--diff")
    assert plan["verdict"] == "not"
    advice = {one["option"]: one for one in plan["advice"]}
    fused = advice["--loss chunked:8"]
    assert fused["saves_bytes"] > 0
    assert "+liger_fused_linear_cross_entropy: true" in fused["diffs"][0]
    main(["plan", str(file), "--gpu", "rtx-4090", "--seq", "16384", "--diff"])
    out = capsys.readouterr().out
    assert "What to change" in out
    assert f"{fused['title']}:\n--- {file}" in out


def test_a_diff_shows_a_files_control_characters_and_obeys_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comment may turn the direction of writing, and a file's name may clear the screen."""
    file = tmp_path / "\x1b[2J.yaml"
    file.write_bytes(QLORA.replace("flash_attention: true\n", "flash_attention: true # \u202e\ta\r\n").encode())
    main(["plan", str(file), "--gpu", "rtx-4090", "--seq", "16384", "--diff"])
    out = capsys.readouterr().out
    assert f"--- {tmp_path}/\\x1b[2J.yaml\n" in out
    assert " flash_attention: true # \\u202e\ta\r\n" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_log_is_put_beside_what_is_expected(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.txt"
    log.write_text(" 6/100 [01:12<20:00, 9.50s/it]\n", encoding="utf-8")
    main(["plan", str(file), str(log), "--gpu", "rtx-4090"])
    assert "The time of a step, 9.5 s, is above the band" in capsys.readouterr().out
    _, plan = planned(capsys, str(file), str(log), "--gpu", "rtx-4090")
    assert plan["measured"][0]["figures"][0]["measured"] == 9.5
    assert plan["measured"][0]["differences"]


def test_the_header_of_a_checkpoint_is_held_against_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = {
        p.name: {"dtype": "F32", "shape": p.shape, "data_offsets": [0, 0]} for p in model("gpt2").parameter_tensors
    }
    tensors = {name.replace("*", str(at)): one for name, one in entries.items() for at in range(1 + 11 * ("*" in name))}
    path, words = tmp_path / "model.safetensors", ("--model", "gpt2", "--gpu", "h100-sxm", "--seq", "1024")

    def told(**more: object) -> str:
        header = json.dumps({**tensors, **more}).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(100))
        main(["plan", str(path), *words])
        return capsys.readouterr().out

    assert "safetensors: 148 tensors, 124,439,808 parameters" in (whole := told())
    assert "Still missing" not in whole
    assert "1 of its tensors are no part of that model, and 0 of" in told(more={"shape": [3], "data_offsets": [0, 0]})
    path.write_bytes(b"x" * 4)
    assert main(["plan", str(path), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_export_is_printed_alone_and_refused_where_it_cannot_say_the_setup(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(file), "--gpu", "h100-sxm", "--export", "torchrun"]) == 2
    assert "--export torchrun is not allowed" in capsys.readouterr().err  # TRL makes what is not in 4 bits FP32
    file.write_text(QLORA.replace("load_in_4bit: true\nadapter: qlora", "adapter: lora"))
    assert main(["plan", str(file), "--gpu", "h100-sxm", "--export", "torchrun"]) == 0
    out = capsys.readouterr().out
    assert out.split("\n")[1].startswith("torchrun --nproc-per-node 1 -m trl.scripts.sft ")
    assert out.count("\n") == 2
    assert main(["plan", str(file), "--gpu", "h100-sxm", "--export", "fsdp"]) == 2
    assert "--export fsdp is not allowed: it cannot say this setup; allowed: command," in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pipe", "pipe.safetensors"])
def test_a_pipe_is_refused_in_one_line_and_the_input_is_read_in_its_place(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    command = (sys.executable, "-m", "ironlaw", "plan")
    done = subprocess.run([*command, name], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: file '{name}' cannot be read: it is no regular file; '-' reads the input\n"
    words = ("-", "--model", "gpt2", "--gpu", "h100-sxm", "--seq", "512")
    done = subprocess.run(
        [*command, *words], input="torchrun --nproc-per-node 2 t.py", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1, "it fits as far as the command goes, without the script's own settings"
    assert "command: devices 2" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--gpu", "h100-sxm"], "no file is given"),
        (["nowhere.yaml", "--gpu", "h100-sxm"], "file 'nowhere.yaml' cannot be read"),
        (["a\0b", "--gpu", "h100-sxm"], r"file 'a\x00b' cannot be read: "),
        ([str(Path(__file__).with_name("asking.py")), "--gpu", "h100-sxm"], "of no known kind"),
        (["FILE"], "--gpu is missing"),
        (["FILE", "--gpu", "h100-sxm", "--layers", "3"], "option '--layers' is unknown"),
    ],
)
def test_what_cannot_be_planned_is_one_line_and_2(
    words: list[str], told: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *(str(file) if word == "FILE" else word for word in words)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert told in said.err
