"""Commands of Megatron-LM are counted as Megatron-LM does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironlaw.cli.plan import run
from ironlaw.core.errors import EngineError
from ironlaw.files import read
from ironlaw.files.exports import exports
from ironlaw.files.words import words_of
from tests.engine.files.texts import MEGATRON


def test_the_sizes_of_megatrons_model_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.sh").write_text(f"{MEGATRON} --num-layers 32 --hidden-size 4096\n", "utf-8")
    assert run([str(tmp_path / "a.sh"), "--gpu", "h100-sxm", "--model", "llama3-8b"]) in (0, 1)
    assert "shape num_layers 32, hidden_size 4096" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "recomputed", "partly"),
    [
        ("", None, False),
        (" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1", True, False),
        (" --recompute-granularity full --recompute-method uniform --recompute-num-layers 4", False, True),
        (" --recompute-granularity full --recompute-method block --recompute-num-layers 2", False, True),
        (
            " --recompute-granularity full --recompute-method block --recompute-num-layers 32 --num-layers 32",
            True,
            False,
        ),
        (
            " --recompute-granularity full --recompute-method block --recompute-num-layers 1 --num-layers 32",
            False,
            True,
        ),
    ],
)
def test_megatron_recomputes_as_many_layers_as_it_says(options: str, *, recomputed: bool | None, partly: bool) -> None:
    """Two of 32 counted as all."""
    found = read(MEGATRON + options)
    assert found.facts.checkpointing is recomputed
    assert ("recompute_num_layers" in found.uncounted) is partly
    assert read(f"{MEGATRON} --recompute-activations").facts.selective


def test_a_command_of_megatron_is_counted_as_megatron() -> None:
    found = words_of(
        [read(f"{MEGATRON} --sequence-parallel --hidden-dropout 0")], {"model": "llama3-8b", "gpu": "h100-sxm"}
    )
    said = {"framework": "megatron", "precision": "megatron", "sequence_parallel": True, "optimizer": "adamw"}
    assert said.items() <= found.words.items()
    other = words_of(
        [read(f"{MEGATRON} --num-layers 4 --hidden-size 1024 --foo-bar 1")],
        {"model": "google/gemma-2-9b", "gpu": "h100-sxm"},
    )
    assert "framework" not in other.words
    assert any("Megatron-LM's are not known of gemma-2-9b's layers" in line for line in other.assumed)
    line = "The command's model has --num-layers 4, --hidden-size 1,024; gemma-2-9b, which is counted, has 42, 3,584."
    assert line in other.assumed
    assert "Not understood of the command, and not counted: --foo_bar." in other.missing


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", {"attention": None, "dropout": 0.1, "optimizer": "adamw"}),
        (" --attention-backend unfused", {"attention": "standard"}),
        (" --transformer-impl local", {"attention": "standard"}),
        (" --transformer-impl local --use-flash-attn", {"attention": None}),
        (" --attention-dropout 0.0", {"dropout": 0.1}),
        (" --hidden-dropout 0.0", {"dropout": 0.0}),
        (" --hidden-dropout 0.0 --attention-backend unfused", {"dropout": 0.1}),
        (" --optimizer sgd", {"optimizer": "momentum"}),
        (" --optimizer sgd --sgd-momentum 0", {"optimizer": "sgd"}),
        (" --optimizer dist_muon", {"optimizer": "muon"}),
    ],
)
def test_what_megatron_does_where_a_command_says_it_or_is_silent(options: str, words: dict[str, object]) -> None:
    found = words_of([read(MEGATRON + options)], {"model": "llama3-8b", "gpu": "h100-sxm"})
    assert {name: found.words.get(name) for name in words} == words


def test_a_rate_of_dropout_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(EngineError, match="hidden-dropout"):
        read(f"{MEGATRON} --hidden-dropout 2")


def test_a_model_of_experts_is_held_against_one_without() -> None:
    found = words_of([read(f"{MEGATRON} --num-layers 32 --num-experts 8")], {"model": "llama3-8b", "gpu": "h100-sxm"})
    assert "The command's model has --num-experts 8; llama3-8b, which is counted, has 0." in found.assumed


def test_what_a_plan_of_megatron_cannot_say_in_its_options_is_not_exported() -> None:
    plain = {"model": "llama3-8b", "gpu": "h100-sxm", "framework": "megatron", "tp": 2, "pp": 2, "micro_batches": 8}
    assert "torchrun" in exports(plain)
    others = {
        "schedule": "gpipe",
        "interleave": 4,
        "optimizer": "sgd",
        "attention": "standard",
        "precision": "fp8",
        "loss": "chunked:8",
        "offload": "optimizer",
        "eval_batch": 2,
    }
    for word, value in others.items():
        assert "torchrun" not in exports({**plain, word: value}), word


def test_megatron_counts_the_ends_of_a_pipeline_as_layers_where_told() -> None:
    ends = "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
    text = f"{MEGATRON} --pipeline-model-parallel-size 2 {ends}"
    assert words_of([read(text)], {"model": "llama3-8b", "gpu": "h100-sxm"}).words["balanced"]
