"""The commands: help, sweep, compare, explain, list, fit."""

from __future__ import annotations

import csv
import io
import json
import shlex
from typing import Any

import pytest

from ironlaw.cli import COMMANDS, main
from ironlaw.cli.options import CONFIG, OPTIONS, SHAPE
from ironlaw.hardware.accelerators import accelerator
from tests.engine.cli.asking import answer, ask


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_names_its_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert "--json" in text
    shapes = {option.flag for option in (CONFIG, *SHAPE)} if command == "plan" else set()
    assert command in ("list", "audit") or all(flag in text for flag in OPTIONS.keys() - shapes)


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
@pytest.mark.sampled(8)
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


def test_columns_say_what_varies_and_the_heading_says_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    text = ask(capsys, "compare", "--model", "gpt2", "--vary", "tp=2,4", "--vary", "batch=1,2")
    assert " x NVIDIA" not in text.splitlines()[0]
    assert text.splitlines()[1].split()[:2] == ["tp=2", "batch=1"]
    found = answer(capsys, "compare", "--model", "gpt2", "--vary", "tp=2,4", "--vary", "batch=1,2")
    assert list(found) == ["tp=2 batch=1", "tp=2 batch=2", "tp=4 batch=1", "tp=4 batch=2"]


def test_a_range_stands_for_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "sweep", "--model", "gpt2", "--vary", "batch=1..4,8")
    assert [row["options"]["batch"] for row in rows] == ["1", "2", "3", "4", "8"]


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


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ((), "6 N + 12 L h T a token"),
        (("--method", "lora"), "4 F + 6 R + 12 L h T a token"),
        (("--model", "resnet50"), "matrix products of forward and backward"),
    ],
)
def test_the_line_of_mfu_says_what_it_counts_for_the_method(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], rule: str
) -> None:
    assert main(["estimate", *(() if "--model" in words else ("--model", "gpt2")), "--gpu", "h200", *words]) == 0
    text = capsys.readouterr().out
    assert f"%: {rule} over the dense peak" in text
    assert "resnet50" in words or f"MFU counts {rule.removesuffix(' a token')} operations a token" in text
