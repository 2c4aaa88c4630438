"""The command line: stable JSON, tables for people, and one line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import shlex
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.answers.estimate import estimate
from engine.cli import COMMANDS, main
from engine.cli.errors import quoted
from engine.cli.options import GROUPS, OPTIONS, Option
from engine.cli.tables import number, table
from engine.hardware.accelerators import accelerator

VALUED = [option for option in OPTIONS.values() if option.kind is not None]
SWITCHES = [option for option in OPTIONS.values() if option.kind is None]
GOOD = {
    "--model": "gpt2", "--gpu": "h200", "--checkpointing": "every:3", "--loss": "chunked:4", "--dropout": "0.1",
    "--link": "pcie-5-x16", "--network": "ethernet-100", "--zero": "2", "--mlp": "swiglu", "--norm": "rmsnorm",
    "--position": "rope", "--precision": "bf16", "--optimizer": "lion", "--attention": "standard",
    "--offload": "optimizer", "--update": "fused", "--framework": "megatron", "--attention-generation": "1",
    "--execution": "compiled", "--runtime": "deepspeed", "--schedule": "gpipe", "--network-gbit": "12.5",
    "--accumulation": "separate", "--rms-norm": "fused",
}  # fmt: skip
BAD = ["", " ", "-1", "nan", "inf", "-inf", "1e9", "1.5", "none?", "９", "9" * 400, "\x00", "every:-1", "chunked:x"]
GOOD_AFTER_ALL = {("--network-gbit", "1.5")}


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints when it succeeds."""
    code = main(words)
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The JSON that a command prints."""
    return json.loads(ask(capsys, *words, "--json"))


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that is refused."""
    code = main(words)
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err.strip()


# ---- the public form ----


def test_the_json_is_the_librarys_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "estimate --model gpt2-xl --batch 8 --seq 1024 --precision amp-bf16 --optimizer adamw --attention flash "
        "--checkpointing none --loss full --dropout 0 --gpu h200"
    )
    plain = answer(capsys, *words.split())
    assert plain == estimate("gpt2-xl", "h200", batch=8, sequence=1024, precision="amp-bf16").as_dict()
    assert list(plain) == [
        "parameters", "memory_bytes", "flops", "time", "energy_j_per_token", "usd_per_1e9_tokens", "fits",
        "assumptions", "calibrated",
    ]  # fmt: skip
    assert all(type(size) is int for size in (plain["parameters"], *plain["memory_bytes"].values()))


def test_a_model_by_shape_is_the_model_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    gpt2 = "--layers 12 --hidden 768 --heads 12 --vocab 50257 --max-seq 1024 --tied --bias --mlp gelu --norm layernorm"
    llama = (
        "--layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --vocab 128256 --max-seq 8192 --untied "
        "--no-bias --mlp swiglu --norm rmsnorm --position rope"
    )
    for name, shape in (("gpt2", gpt2), ("llama3-8b", llama)):
        by_name = answer(capsys, "estimate", "--model", name)
        by_shape = answer(capsys, "estimate", *shape.split())
        assert by_shape == by_name


@pytest.mark.parametrize("option", VALUED, ids=lambda option: option.flag)
def test_every_option_is_accepted_and_reaches_the_engine(capsys: pytest.CaptureFixture[str], option: Option) -> None:
    base = {"--model": "gpt2", "--gpu": "h200", "--batch": "8", "--dp": "2"}
    if option in GROUPS["model"] and option.flag != "--model":
        base = {"--layers": "4", "--hidden": "512", "--heads": "8", "--seq": "64", "--dp": "2"}
    if option.flag == "--pp":
        base["--micro-batches"] = "4"
    if option.flag == "--runtime":
        base["--precision"] = "mixed"
    if option.flag == "--schedule":
        base |= {"--pp": "2", "--micro-batches": "4"}
    if option.flag == "--network-gbit":
        base["--dp"] = "16"
    if option.flag == "--accumulation":
        base |= {"--framework": "megatron", "--accumulate": "2"}
    if option.flag == "--rms-norm":
        base["--model"] = "llama3-8b"
    if option.flag == "--interleave":
        base |= {"--pp": "2", "--micro-batches": "4"}
    value = GOOD.get(option.flag, {"--max-seq": "2048", "--hidden": "2048"}.get(option.flag, "2"))
    before = base | ({"--model": "gpt2-medium"} if option.flag == "--model" else {})
    before.pop(option.flag, None) if option.flag != "--model" else None
    if option.flag in ("--layers", "--hidden", "--heads"):
        before[option.flag] = "16" if option.flag == "--heads" else "1024"
    flat = [word for pair in before.items() for word in pair]
    changed = [word for pair in (before | {option.flag: value}).items() for word in pair]
    assert answer(capsys, "estimate", *changed) != answer(capsys, "estimate", *flat)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda option: option.flag)
def test_every_switch_is_accepted(capsys: pytest.CaptureFixture[str], switch: Option) -> None:
    # If embedding and head count as blocks, the last of four stages has one of the eight blocks; otherwise it has two.
    shape = ["--layers", "8", "--hidden", "512", "--heads", "8", "--dp", "2", "--tp", "2", "--pp", "4"]
    before, after = answer(capsys, "estimate", *shape), answer(capsys, "estimate", *shape, switch.flag)
    assert (after == before) == (switch.flag in ("--tied", "--bias"))


# ---- mistakes ----


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
        ("estimate", "--layers is missing; allowed: --model with a name, or --layers, --hidden and --heads"),
        ("estimate gpt2", "'gpt2' is not an option"),
        ("estimate --model gtp2", "--model 'gtp2' is not allowed, did you mean gpt2?"),
        ("estimate --model gpt2 --gpu h100", "--gpu 'h100' is not allowed, did you mean h100-sxm?"),
        ("estimate --model gpt2 --layers 3", "--layers is not allowed with --model gpt2; give a name or a shape"),
        ("estimate --layers 2 --hidden 10 --heads 3", "--heads 3 is not allowed; it must divide hidden 10"),
        ("estimate --layers 2 --hidden 64 --heads 8 --kv-heads 3", "--kv-heads 3 is not allowed; it must divide heads"),
        ("estimate --model gpt2 --seq 1025", "--seq 1025 is too long; gpt2 allows at most 1024"),
        ("estimate --model gpt2 --tp 5", "--tp 5 is not allowed; it must divide heads 12 of gpt2"),
        ("estimate --model gpt2 --tp 8", "--tp 8 is not allowed; it must divide heads 12 of gpt2"),
        ("estimate --model gpt2 --tp 12", "--node-size 8 is not allowed with --tp 12; one must divide the other"),
        ("estimate --model gpt2 --zero 1", "--zero 1 is not allowed with --dp 1; allowed: 0, or --dp of at least 2"),
        ("estimate --model gpt2 --batch 2 --batch 3", "--batch is given twice; give it once"),
        ("estimate --layers 2 --tied --untied", "--untied is not allowed with --tied"),
        ("estimate --model gpt2 --loss chunked:2000", "--loss 'chunked:2000' is not allowed; a sequence of 1024 has"),
        (
            "estimate --model gpt2 --pp 4 --interleave 2 --micro-batches 4",
            "--interleave 2 is not allowed; --pp 4 x interleave must divide the 12 blocks of gpt2",
        ),
        (
            "estimate --model gpt2 --pp 2 --interleave 2 --micro-batches 3",
            "--interleave 2 is not allowed; --pp 2 must divide the 3 micro-batches of a step",
        ),
        (
            "estimate --model gpt2 --dp 2 --network nvlink-4",
            "--network 'nvlink-4' is not allowed: it joins devices inside a node; allowed: ",
        ),
        (
            "estimate --model gpt2 --framework megatron --precision amp-bf16",
            "--precision 'amp-bf16' is not allowed with",
        ),
        ("estimate --model llama3-8b --seq 1048577", "--seq 1048577 is too long; llama3-8b allows at most 1048576"),
        ("estimate --model gpt2 --runtime deepspeed", "--precision 'amp-bf16' is not allowed with"),
        ("estimate --model gpt2 --pp 13", "--pp 13 is not allowed; gpt2 has 12 blocks"),
        ("estimate --model gpt2 --interleave 2", "--interleave 2 is not allowed; it needs --pp above 1"),
        (
            "estimate --model gpt2 --sequence-parallel",
            "--sequence-parallel is not allowed with --tp 1; allowed: --tp of",
        ),
        ("estimate --model gpt2 --gpu tpu-v4", "--gpu 'tpu-v4' cannot be timed"),
        ("estimate --model gpt2 --gpu orin --dp 2", "orin has no link to other devices; allowed: a link given by name"),
        ("estimate --model gpt2 --gpu orin --offload optimizer", "--offload 'optimizer' is not allowed on orin"),
        ("estimate --model gpt2 --gpu v100-16 --precision bf16", "--precision 'bf16' is not allowed on v100-16"),
        (
            "estimate --model gpt2 --accumulate 2 --optimizer-in-backward",
            "--accumulate 2 is not allowed with --optimizer-in-backward, which keeps no gradients",
        ),
        ("sweep --model gpt2", "--vary is missing; allowed: --vary NAME=A,B"),
        ("sweep --model gpt2 --vary", "--vary has no value"),
        ("sweep --model gpt2 --vary btch=1", "--vary 'btch=1' is not allowed: no option 'btch', did you mean batch?"),
        ("sweep --model gpt2 --vary batch=1,,2", "--vary 'batch=1,,2' is not allowed: a value is missing"),
        ("sweep --model gpt2 --vary batch", "--vary 'batch' is not allowed: a value is missing"),
        ("sweep --model gpt2 --vary batch=1,x", "--batch 'x' is not allowed; allowed: a whole number from 1"),
        ("sweep --model gpt2 --vary seq=512,4096", "--seq 4096 is too long"),
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
        assert "usage: python -m engine COMMAND" in capsys.readouterr().err
    else:
        assert complaint(capsys, *words.split()).startswith(f"error: {line}")


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([*OPTIONS, "8", "0", "-3", "gpt2", "x", "--nope", "=", "--batch=2", "--json"]), max_size=6)
)
def test_whatever_is_typed_there_is_an_answer_or_one_line(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    code = main(["estimate", "--model", "gpt2", *words])
    out, err = capsys.readouterr()
    assert (code, err.count("\n"), bool(out)) in ((0, 0, True), (2, 1, False))


# ---- commands ----


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_names_its_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert "--json" in text
    assert command == "list" or all(flag in text for flag in OPTIONS)


def test_a_sweep_has_a_row_for_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "--model", "gpt2", "--vary", "batch=1,2,4", "--vary", "attention=flash,standard"]
    rows = answer(capsys, *words)
    assert [row["options"] for row in rows] == [
        {"batch": batch, "attention": attention} for batch in "124" for attention in ("flash", "standard")
    ]
    for row in rows:
        alone = answer(
            capsys, "estimate", "--model", "gpt2", *(w for k, v in row["options"].items() for w in (f"--{k}", v))
        )
        del row["options"], alone["assumptions"]
        assert row == alone
    table_rows = list(csv.DictReader(io.StringIO(ask(capsys, *words, "--csv"))))
    assert [row["memory_bytes.allocated_peak"] for row in table_rows] == [
        str(row["memory_bytes"]["allocated_peak"]) for row in rows
    ]
    assert len(ask(capsys, *words).splitlines()) == 2 + len(rows)


def test_switches_vary_between_on_and_off(capsys: pytest.CaptureFixture[str]) -> None:
    on, off = answer(capsys, "sweep", "--model", "gpt2", "--tp", "2", "--vary", "sequence-parallel=on,off")
    assert on["memory_bytes"]["activations"] < off["memory_bytes"]["activations"]
    tied, untied = answer(capsys, "sweep", "--layers", "2", "--hidden", "64", "--heads", "2", "--vary", "untied=off,on")
    assert untied["parameters"] - tied["parameters"] == 64 * 50257


def test_a_comparison_has_a_column_for_every_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "--model", "gpt2", "--vary", "precision=fp32,amp-bf16"]
    found = answer(capsys, *words)
    assert list(found) == ["fp32", "amp-bf16"]
    assert found["fp32"] == answer(capsys, "estimate", "--model", "gpt2", "--precision", "fp32")
    text = ask(capsys, *words)
    activations = next(line for line in text.splitlines() if "activations" in line)
    first, last = (found[name]["memory_bytes"]["activations"] for name in found)
    assert activations.split()[2:] == [f"{first / 1e9:.2f}", f"{last / 1e9:.2f}", "x", f"{last / first:.2f}"]


def test_an_explanation_ends_every_sum_with_its_total(capsys: pytest.CaptureFixture[str]) -> None:
    text = ask(capsys, "explain", "--model", "gpt2")
    plain = answer(capsys, "explain", "--model", "gpt2")
    assert plain["parameter_total"] == 124_439_808
    assert sum(line["value"] for line in plain["parameters"]) == 124_439_808
    assert "124,439,808" in text
    assert "12 of 2,304 x 768" in text
    assert "huggingface.co/openai-community/gpt2" in text


@pytest.mark.parametrize("kind", ["models", "gpus", "optimizers", "precisions", "links"])
def test_everything_that_is_listed_has_a_row(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    names = answer(capsys, "list", kind)
    lines = ask(capsys, "list", kind).splitlines()
    assert [line.split()[0] for line in lines[1:]] == names
    assert len(names) > 6


def test_every_name_of_the_engine_is_one_of_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, flag in (("optimizers", "--optimizer"), ("precisions", "--precision")):
        known = OPTIONS[flag].kind
        assert known is not None
        assert set(answer(capsys, "list", kind)) == set(known.names())


# ---- fit ----


def suggested(plain: dict[str, Any]) -> list[list[str]]:
    """The options of every suggestion."""
    sets = [[one["option"] for one in plain[name]] for name in ("cheapest", "risky") if plain[name]]
    sets += [[plain["devices"]["option"]]] if plain["devices"] else []
    return [[word for option in options for word in shlex.split(option)] for options in sets]


def replaced(words: list[str], more: list[str]) -> list[str]:
    """The words of a command with further options, which replace those of the same name."""
    options: dict[str, list[str]] = {}
    flag = ""
    for word in (*words, *more):
        if word.startswith("--"):
            flag, options[word] = word, []
        else:
            options[flag].append(word)
    return [word for name, values in options.items() for word in (name, *values)]


@pytest.mark.parametrize("gpu", ["rtx-4060", "rtx-5080", "rtx-4090", "a100-40", "h100-sxm", "v100-16", "orin"])
@pytest.mark.parametrize("options", ["", "--batch 8", "--batch 6 --precision fp32 --attention standard --dropout 0.1"])
@pytest.mark.parametrize("name", ["gpt2", "gpt2-xl", "llama3-8b"])
@pytest.mark.sampled(4)
def test_what_fit_suggests_fits(capsys: pytest.CaptureFixture[str], name: str, gpu: str, options: str) -> None:
    words = ["--model", name, "--gpu", gpu, "--seq", "1024", *options.split()]
    code = main(["fit", *words, "--json"])
    plain = json.loads(capsys.readouterr().out)
    assert plain["fits"] == answer(capsys, "estimate", *words)["fits"]
    for more in suggested(plain):
        found = answer(capsys, "estimate", *replaced(words, more))
        assert found["fits"]
    assert (code == 0) == (plain["fits"] or bool(suggested(plain)))
    for one in plain["single"]:
        alone = answer(capsys, "estimate", *replaced(words, shlex.split(one["option"])))
        assert one["device_total"] == alone["memory_bytes"]["device_total"]
        assert one["fits"] == alone["fits"]
        assert one["saves"] == plain["device_total"] - one["device_total"]


def test_gpt2_xl_does_not_train_on_sixteen_gigabytes_with_adam_and_does_with_eight_bit_states(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """24.9 GB of weights, gradients and states against 16.6. With 8-bit states and gradients freed as they are used
    it is 6.2 + 3.1 GB, the largest gradients, and activations."""
    words = ["--model", "gpt2-xl", "--gpu", "rtx-5080"]
    plain = answer(capsys, "fit", *words)
    assert not plain["fits"]
    assert plain["device_total"] > 16 * 1_557_611_200 > plain["capacity"] > 16e9
    options = [one["option"] for one in plain["cheapest"]]
    assert "--optimizer adamw-8bit" in options
    assert plain["cheapest"][-1]["device_total"] < 0.98 * plain["capacity"]
    assert (
        sum(one["saves"] for one in plain["cheapest"]) == plain["device_total"] - plain["cheapest"][-1]["device_total"]
    )
    alone = {one["option"]: one for one in plain["single"]}
    assert not any(alone[f"--checkpointing {policy}"]["fits"] for policy in ("selective", "every:6", "full"))
    assert alone["--offload optimizer"]["fits"]
    assert alone["--offload optimizer"]["slowdown"] > 3
    text = ask(capsys, "fit", *words)
    assert "It does not fit: 31.72 of 16.56 GB." in text
    assert "harm training" in text


def test_a_configuration_that_fits_needs_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    plain = answer(capsys, "fit", "--model", "gpt2", "--gpu", "rtx-4090")
    assert plain["fits"]
    assert plain["cheapest"] == plain["risky"] == []
    largest = plain["largest_batch"]
    for batch, fits in ((largest, True), (largest + 1, False)):
        assert answer(capsys, "estimate", "--model", "gpt2", "--gpu", "rtx-4090", "--batch", str(batch))["fits"] == fits


def test_nothing_makes_gpt3_fit_a_laptop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--model", "gpt3-175b", "--gpu", "rtx-4060"]) == 1
    assert "None of the changes tried" in capsys.readouterr().out


# ---- how it looks ----


def run_in_terminal(environment: dict[str, str]) -> str:
    """What `python -m engine` prints into a terminal."""
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "engine", "estimate", "--model", "gpt2"]
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    with subprocess.Popen(command, stdout=child, env=kept | {"TERM": "xterm"} | environment) as process:
        os.close(child)
        text = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
    os.close(parent)
    assert process.returncode == 0
    return text.decode()


def test_a_terminal_gets_colors_unless_it_does_not_want_them() -> None:
    assert "\033[" in run_in_terminal({})
    assert "\033[" not in run_in_terminal({"NO_COLOR": "1"})
    assert "\033[" not in run_in_terminal({"TERM": "dumb"})


def test_a_pipe_gets_plain_text_and_may_close_early() -> None:
    command = f"{sys.executable} -m engine sweep --model gpt2 --vary batch={','.join(map(str, range(1, 400)))}"
    whole = subprocess.run(command.split(), capture_output=True, check=True, text=True)
    assert "\033" not in whole.stdout
    assert whole.stdout.isascii()
    short = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, check=True, text=True)
    assert short.stdout == whole.stdout.splitlines(keepends=True)[0]
    assert short.stderr == ""


def test_an_exit_code_reaches_the_shell() -> None:
    done = subprocess.run([sys.executable, "-m", "engine", "estimate", "--batch", "0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: --batch '0' is not allowed; allowed: a whole number from 1 to 1000000\n"


def test_numbers_keep_about_four_digits() -> None:
    shown = [number(value) for value in (0, 0.0004, 0.16743, 1.25, 98.7654, 1234.5, 1.5e9, 2e15)]
    assert shown == ["0", "4.000e-04", "0.1674", "1.250", "98.77", "1,234", "1,500,000,000", "2.000e+15"]


def test_tables_align_numbers_on_the_right() -> None:
    assert (
        table([("a", "1.00"), ("bb", "10.00")], ("x", "GB"), right=(1,), indent=0) == "x      GB\na    1.00\nbb  10.00"
    )


# ---- what a newcomer typed ----


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
        (
            ["estimate", "--dp", "8", "--runtime", "deepspeed", "--zero", "3", "--precision", "mixed"],
            "--zero 3 is not allowed with runtime deepspeed; allowed: 0, 1; without --runtime it is PyTorch's FSDP",
        ),
    ],
)
def test_what_a_newcomer_types_is_refused_with_the_way_out(
    capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    model = [] if "--model" in words else ["--model", "gpt2"]
    assert (complaint(capsys, words[0], *model, *words[1:]) + "\n").startswith(f"error: {line}")


def test_an_option_of_another_command_brings_no_odd_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean" not in complaint(capsys, "list", "--gpu")


def test_columns_say_what_varies_and_the_heading_says_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    text = ask(capsys, "compare", "--model", "gpt2", "--vary", "tp=2,4", "--vary", "batch=1,2")
    assert " x NVIDIA" not in text.splitlines()[0]
    assert text.splitlines()[1].split()[:2] == ["tp=2", "batch=1"]
    found = answer(capsys, "compare", "--model", "gpt2", "--vary", "tp=2,4", "--vary", "batch=1,2")
    assert list(found) == ["tp=2 batch=1", "tp=2 batch=2", "tp=4 batch=1", "tp=4 batch=2"]


def test_a_range_stands_for_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "sweep", "--model", "gpt2", "--vary", "batch=1..4,8")
    assert [row["options"]["batch"] for row in rows] == ["1", "2", "3", "4", "8"]


@pytest.mark.parametrize("words", ["estimate --model gpt2", "list models", "sweep --help"])
@pytest.mark.parametrize("output", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_line(words: str, output: str) -> None:
    done = subprocess.run(f"{sys.executable} -m engine {words} {output}", shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("estimate", "amp-fp8"), ("estimate", "adafactor"), ("estimate", "every:K"), ("estimate", "chunked:K"),
        ("estimate", "for-loop"), ("estimate", "deepspeed"), ("compare", "at most 6 combinations"),
        ("fit", "Exit code: 0 when it fits or can be made to, 1 when no change"),
    ],
)  # fmt: skip
def test_help_says_what_is_allowed(capsys: pytest.CaptureFixture[str], command: str, text: str) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert text in " ".join(capsys.readouterr().out.split())


def test_precisions_are_listed_with_the_format_of_their_products(capsys: pytest.CaptureFixture[str]) -> None:
    last = {line.split()[0]: line.split()[-1] for line in ask(capsys, "list", "precisions").splitlines()}
    assert last["precision"] == "products"
    assert (last["fp8"], last["tf32"], last["amp-bf16"]) == ("fp8", "tf32", "bf16")


def test_sentences_give_the_published_rate_and_what_fp8_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    text = ask(capsys, "estimate", "--model", "gpt2")
    (entry,) = [entry for entry in accelerator("h100-sxm").sustained if entry.dtype in ("bf16", "fp16")][:1]
    assert (
        f"published are {entry.flops_per_second / 1e12:,.4g} TFLOP/s for {entry.shape.replace('x', ' x ')} on random"
        in text
    )
    assert "8 bits" not in text
    eight = ask(capsys, "estimate", "--model", "gpt2", "--precision", "fp8", "--framework", "megatron")
    assert "e+03" not in eight
    assert "what Transformer Engine keeps in 8 bits is not counted" in eight
    assert "8 bits" not in ask(capsys, "estimate", "--model", "gpt2", "--precision", "amp-fp8")
