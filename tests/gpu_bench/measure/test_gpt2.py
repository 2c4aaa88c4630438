"""The flat GPT-2: its published sizes, its causality, and that it learns real text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from gpu_bench.cases.case import Attention, ModelName
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.gpt2 import GPT2, SIZES, GPT2Config
from gpu_bench.measure.training import Trainer
from tests.gpu_bench.tiny import tiny_case


@pytest.mark.parametrize(
    ("name", "published"),
    [("gpt2", 124_439_808), ("gpt2-medium", 354_823_168), ("gpt2-large", 774_030_080), ("gpt2-xl", 1_557_611_200)],
)
def test_parameter_count_is_the_published_one(name: str, published: int) -> None:
    with FakeTensorMode():
        assert GPT2(SIZES[name]).parameter_count() == published


def test_every_model_a_case_can_name_has_a_size() -> None:
    assert set(SIZES) == set(get_args(ModelName))


def test_output_head_is_the_embedding() -> None:
    model = GPT2(SIZES["nano"])
    assert model.lm_head.weight is model.wte.weight


def test_flash_and_standard_attention_give_the_same_loss() -> None:
    tokens = torch.randint(256, (2, 33))
    losses = []
    forms: tuple[Attention, ...] = ("flash", "standard")
    for attention in forms:
        torch.manual_seed(0)
        model = GPT2(replace(SIZES["nano"], attention=attention))
        losses.append(model(tokens[:, :-1], tokens[:, 1:])[1])
    torch.testing.assert_close(losses[0], losses[1])


@pytest.mark.parametrize("attention", ["flash", "standard"])
def test_a_later_token_does_not_change_earlier_logits(attention: Attention) -> None:
    model = GPT2(replace(SIZES["nano"], attention=attention))
    tokens = torch.randint(256, (1, 16))
    changed = tokens.clone()
    changed[0, 10] = (changed[0, 10] + 1) % 256
    before, after = model(tokens, tokens)[0], model(changed, tokens)[0]
    torch.testing.assert_close(before[:, :10], after[:, :10])
    assert not torch.allclose(before[:, 10:], after[:, 10:])


def test_untrained_model_is_as_unsure_as_a_uniform_guess() -> None:
    tokens = torch.randint(256, (4, 65))
    loss = GPT2(SIZES["nano"])(tokens[:, :-1], tokens[:, 1:])[1].item()
    assert loss == pytest.approx(torch.tensor(256.0).log().item(), abs=0.2)


def test_loss_falls_on_real_text() -> None:
    case = tiny_case(batch=4, sequence=64, steps=20)
    trainer = Trainer(case, torch.device("cpu"))
    losses = [trainer.step(trainer.load(w)).item() for w in draw_windows(read_corpus(), 20, 4, 64, seed=1)]
    assert losses[-1] < losses[0] - 1.0


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"hidden": 100, "heads": 3}, "hidden 100 is not a multiple of heads 3"),
        ({"attention": "sparse"}, "'sparse'; allowed: 'flash', 'standard'"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ],
)
def test_impossible_shape_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        GPT2Config(**changes)


def test_sequence_longer_than_the_position_table_is_refused() -> None:
    tokens = torch.zeros(1, 257, dtype=torch.long)
    with pytest.raises(ValueError, match="257 exceeds max_seq 256"):
        GPT2(SIZES["nano"])(tokens, tokens)
