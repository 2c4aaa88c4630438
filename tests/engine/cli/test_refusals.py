"""One line for every mistake: what, which value, what is allowed; and exit code 2."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ironlaw.cli import main
from ironlaw.cli.configurations import read_any
from ironlaw.cli.options import OPTIONS, Option
from ironlaw.cli.parser import configuration_parser
from ironlaw.cli.terminal import quoted
from ironlaw.core.errors import EngineError, Instead, show
from tests.conftest import tries
from tests.engine.bad_input import BAD_INPUT, BadInput
from tests.engine.cli.asking import complaint

VALUED = [option for option in OPTIONS.values() if option.kind is not None and option.flag != "--config"]
SWITCHES = [option for option in OPTIONS.values() if option.kind is None]
BAD = ["", " ", "-1", "nan", "inf", "-inf", "1e9", "1.5", "none?", "９", "9" * 400, "\x00", "every:-1", "chunked:x"]
GOOD_AFTER_ALL = {
    ("--network-gbit", "1.5"),
    ("--imbalance", "1.5"),
    *((flag, name) for flag in ("--lora-targets", "--frozen") for name in ("nan", "inf")),
}


@pytest.mark.parametrize(
    ("option", "bad"),
    [(option, bad) for option in VALUED for bad in BAD if (option.flag, bad) not in GOOD_AFTER_ALL],
    ids=lambda one: one.flag if isinstance(one, Option) else repr(one),
)
def test_a_bad_value_is_one_line_with_the_option_the_value_and_what_is_allowed(
    capsys: pytest.CaptureFixture[str], option: Option, bad: str
) -> None:
    line = complaint(capsys, "estimate", f"{option.flag}={bad}")
    assert line.startswith(f"error: {option.flag} {quoted(bad)} is not allowed")
    assert option.kind is not None
    assert line.endswith(f"allowed: {option.kind.allowed}")


@pytest.mark.parametrize("option", VALUED, ids=lambda option: option.flag)
def test_a_missing_value_is_one_line(capsys: pytest.CaptureFixture[str], option: Option) -> None:
    for words in ((option.flag,), (option.flag, "--json")):
        assert complaint(capsys, "estimate", *words).startswith(f"error: {option.flag} has no value; allowed: ")


@pytest.mark.parametrize("switch", [*(option.flag for option in SWITCHES), "--json"])
def test_a_switch_takes_no_value(capsys: pytest.CaptureFixture[str], switch: str) -> None:
    assert complaint(capsys, "estimate", f"{switch}=3") == f"error: {switch} '3' is not allowed; it takes no value"


@pytest.mark.parametrize("flag", OPTIONS)
def test_a_misspelled_option_is_put_right(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    wrong = flag + "q"
    line = complaint(capsys, "estimate", wrong, "1")
    assert line.startswith(f"error: option {wrong!r} is unknown")
    assert "did you mean --" in line


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", None),
        ("estmate", "command 'estmate' is unknown, did you mean estimate?; allowed: estimate, fit, compare,"),
        ("--jsn", "option '--jsn' is unknown"),
        (
            "estimate",
            "--layers is missing; allowed: --model with a name, --config with a file, or --layers, --hidden and "
            "--heads",
        ),
        ("estimate gpt2", "'gpt2' is not an option"),
        ("estimate --model gtp2", "--model 'gtp2' is not allowed, did you mean gpt2?"),
        ("estimate --model gpt2 --gpu h100", "--gpu 'h100' is not allowed, did you mean h100-sxm?"),
        (
            "estimate --model gpt2 --layers 3",
            "--layers is not allowed with --model gpt2; give a name, a file or a shape",
        ),
        (
            "estimate --layers 2 --hidden 10 --heads 3",
            "--heads 3 is not allowed with --hidden 10; it must be a",
        ),
        (
            "estimate --layers 2 --hidden 64 --heads 8 --kv-heads 3",
            "--kv-heads 3 is not allowed with --heads 8; it",
        ),
        (
            "estimate --layers 2 --hidden 64 --heads 8 --tp 3",
            "--tp 3 is not allowed with this model, which has 8",
        ),
        ("estimate --model gpt2 --batch 2 --batch 3", "--batch is given twice; give it once"),
        ("estimate --layers 2 --tied --untied", "--untied is not allowed with --tied"),
        ("estimate --model gpt2 --loss chunked:2000", "--loss 'chunked:2000' is not allowed with --seq 1024"),
        (
            "estimate --model gpt2 --pp 2 --interleave 2 --micro-batches 3",
            "--interleave 2 is not allowed with --pp 2, which must divide the number of micro-batches in a step, 3; ",
        ),
        (
            "estimate --model gpt2 --dp 2 --network nvlink-4",
            "--network 'nvlink-4' is not allowed, as it joins devices inside a node; allowed: ",
        ),
        (
            "estimate --model gpt2 --framework megatron --precision amp-bf16",
            "--precision 'amp-bf16' is not allowed with",
        ),
        ("estimate --model llama3-8b --seq 1048577", "--seq 1048577 is not allowed with --model llama3-8b; it must be"),
        ("estimate --model gpt2 --runtime deepspeed", "--precision 'amp-bf16' is not allowed with"),
        (
            "estimate --model gpt2 --interleave 2",
            "--interleave 2 is not allowed with --pp 1; allowed: 1, or --pp of",
        ),
        ("estimate --model gpt2 --gpu tpu-v4", "--gpu 'tpu-v4' is not allowed, as nobody published its fp32 rate"),
        ("estimate --model gpt2 --gpu orin --dp 2", "--link is missing with --gpu orin, which has none to other"),
        (
            "estimate --model gpt2 --gpu orin --offload optimizer",
            "--offload 'optimizer' is not allowed with --gpu",
        ),
        ("estimate --model resnet50 --dp 8 --zero 3", "--zero 3 is not allowed with --model resnet50; allowed: 0, 1"),
        ("sweep --model gpt2", "--vary is missing; allowed: --vary NAME=A,B"),
        ("sweep --model gpt2 --vary", "--vary has no value"),
        ("sweep --model gpt2 --vary btch=1", "--vary 'btch=1' is not allowed: no option 'btch', did you mean batch?"),
        ("sweep --model gpt2 --vary batch=1,,2", "--vary 'batch=1,,2' is not allowed: a value is missing"),
        ("sweep --model gpt2 --vary batch", "--vary 'batch' is not allowed: a value is missing"),
        ("sweep --model gpt2 --vary batch=1,x", "--batch 'x' is not allowed; allowed: a whole number from 1"),
        ("sweep --model gpt2 --vary seq=512,4096", "--seq 4096 is not allowed with --model gpt2"),
        ("sweep --model gpt2 --vary batch=1 --vary batch=2", "--vary batch is given twice"),
        ("sweep --model gpt2 --vary batch=1 --csv --json", "--csv is not allowed with --json"),
        ("sweep --model gpt2 --vary tied=maybe", "--tied 'maybe' is not allowed with --vary; allowed: on, off"),
        ("compare --model gpt2 --vary batch=1,2,3,4,5,6,7", "--vary makes 7 configurations; allowed: at most 6"),
        ("list", "what to list is missing; allowed: models, gpus, optimizers, precisions, links"),
        ("list gpu", "list 'gpu' is unknown, did you mean gpus?"),
        ("list gpus --batch 3", "option '--batch' is unknown"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], words: str, line: str | None
) -> None:
    if line is None:
        assert main([]) == 2
        assert "usage: python -m ironlaw COMMAND" in capsys.readouterr().err
    else:
        assert complaint(capsys, *words.split()).startswith(f"error: {line}")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["compare", "--tp", "4", "--vary", "tp=1,2"], "--tp is not allowed with --vary tp; give all its values there"),
        (["sweep", "--batch", "7", "--vary", "batch=1,2"], "--batch is not allowed with --vary batch; give all its"),
        (["sweep", "--vary", "batch=1,1"], "--vary 'batch=1,1' is not allowed: '1' is given twice; give it once"),
        (["sweep", "--vary", "batch=3..1"], "--vary 'batch=3..1' is not allowed: 3..1 has 0 values; allowed: 1 to 10,"),
        (["sweep", "--vary", "batch=1..999999"], "--vary 'batch=1..999999' is not allowed: 1..999999 has 999,999"),
        (["compare", "--vary", "batch=1..7"], "--vary makes 7 configurations; allowed: at most 6"),
        (["estimate", "--dropout", "٠.٥"], "--dropout '٠.٥' is not allowed; allowed: a number of at least 0"),
        (["estimate", "--network-gbit", "1_0"], "--network-gbit '1_0' is not allowed; allowed: a number from 0.001 to"),
        (["estimate", "--network-gbit", "1e-300"], "--network-gbit '1e-300' is not allowed; allowed: a number from"),
        (["estimate", "--network-gbit", "0.0001"], "--network-gbit '0.0001' is not allowed; allowed: a number from"),
        (["estimate", ""], "'' is not an option\n"),
        (["estimate", "optimizer"], "'optimizer' is not an option, did you mean --optimizer?"),
        (["estimate", "--sequence", "8"], "option '--sequence' is unknown, did you mean --seq?; --help lists all"),
        (["estimate", "--vary", "batch=1,2"], "--vary is not allowed here; it belongs to compare and sweep"),
        (["compare", "--csv"], "--csv is not allowed here; it belongs to sweep"),
        (["estimate", "--checkpointing", "every:0"], "--checkpointing 'every:0' is not allowed; allowed: none,"),
        (["estimate", "--model", "x" * 5000], f"--model '{'x' * 60}...' is not allowed; allowed: a name that"),
        (["estimate", "-" * 5000], f"option '{'-' * 60}...' is unknown; --help lists all"),
    ],
)
def test_what_a_newcomer_types_is_refused_with_the_way_out(
    capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    model = [] if "--model" in words else ["--model", "gpt2"]
    assert (complaint(capsys, words[0], *model, *words[1:]) + "\n").startswith(f"error: {line}")


@pytest.mark.parametrize("bad", BAD_INPUT, ids=lambda bad: bad.options)
def test_the_engines_errors_name_options_as_typed(capsys: pytest.CaptureFixture[str], bad: BadInput) -> None:
    typed = ("--model", bad.model, *bad.options.split())
    with pytest.raises(EngineError) as error:
        read_any(configuration_parser("estimate", "").parse(typed))
    bad.raised(error.value)
    flags = {option.argument: option.flag for option in OPTIONS.values()}
    line = complaint(capsys, "estimate", *typed)
    others = [one.what for one in bad.allowed if isinstance(one, Instead)]
    assert line.startswith(f"error: {flags[bad.what]} ")
    assert all(flags[name] in line for name in (*bad.beside, *others))
    assert bad.value is True or f" {show(bad.value)} " in line


def test_an_option_of_another_command_brings_no_odd_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean" not in complaint(capsys, "list", "--gpu")


@settings(max_examples=tries(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([*OPTIONS, "8", "0", "-3", "gpt2", "x", "--nope", "=", "--batch=2", "--json"]), max_size=6)
)
def test_whatever_is_typed_there_is_an_answer_or_one_line(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    code = main(["estimate", "--model", "gpt2", *words])
    out, err = capsys.readouterr()
    assert (code, err.count("\n"), bool(out)) in ((0, 0, True), (2, 1, False))


@pytest.mark.parametrize("words", ["estimate --model gpt2", "list models", "sweep --help"])
@pytest.mark.parametrize("output", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_line(words: str, output: str) -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m ironlaw {words} {output}", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["estimate --model nope", "", "estimate --model gpt2 > /dev/full"])
def test_bad_input_is_2_where_nothing_can_be_said_about_it(words: str) -> None:
    done = subprocess.run(f"{shlex.quote(sys.executable)} -m ironlaw {words} 2> /dev/full", shell=True, check=False)
    assert done.returncode == 2


def test_a_name_that_the_output_cannot_show_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "header.json"
    file.write_text('{"caf\u00e9": [1]}', encoding="utf-8")
    command = [sys.executable, "-m", "ironlaw", "audit", "--model", "gpt2", "--tensors", str(file)]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_a_command_is_stopped_from_the_keyboard_without_a_word() -> None:
    command = [sys.executable, "-m", "ironlaw", "plan", "-"]
    piped: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # Whoever starts the tests in the background ignores the keyboard, and a child would too.
    with subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **piped) as process:
        assert process.stdin
        # More than a pipe holds: it is written when the command has begun to read.
        process.stdin.write(b"\n" * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
