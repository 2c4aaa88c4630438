"""FP8 linear layers: exact where FP8 is exact, within its rounding where it is not, and only where they should be."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from gpu_bench.cases.sizes import GPT2Config
from gpu_bench.measure.gpt2 import GPT2, SIZES
from gpu_bench.measure.techniques.fp8 import E4M3, E5M2, DelayedLinear, _round_weight, convert_with_delay, narrow
from tests.gpu_bench.fp8_products import product, pytorchs


@pytest.fixture(autouse=True)
def pytorchs_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are of the products themselves."""
    monkeypatch.setattr(torch, "_scaled_mm", pytorchs)


@pytest.mark.parametrize("formats", [(E4M3, E4M3), (E5M2, E4M3)])
def test_products_in_fp32_stand_for_those_of_pytorch(formats: tuple[torch.dtype, torch.dtype]) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(48, 64).to(formats[0]), torch.randn(32, 64).to(formats[1])
    how = (a, b.t(), torch.tensor(0.37), torch.tensor(1.9))
    # Both sum 64 products in 24 bits and round once: where the order of the sum decides, to a neighboring BF16 number.
    theirs = pytorchs(*how, out_dtype=torch.bfloat16, use_fast_accum=True)
    torch.testing.assert_close(product(*how), theirs, rtol=2**-7, atol=1e-5)


def _scale(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.abs().amax() / torch.finfo(dtype).max


@torch.no_grad()
def _layer(linear: nn.Linear, x: Tensor, gradient: Tensor) -> DelayedLinear:
    """The layer with the scales of these very tensors."""
    layer = DelayedLinear(linear, fast=False)
    layer.x_scale.copy_(_scale(x, E4M3))
    layer.g_scale.copy_(_scale(gradient, E5M2))
    _round_weight(layer.weight, layer.w8, layer.w8t, layer.w_scale)
    return layer


def _through(layer: nn.Module, x: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Output and the gradients of input and weight."""
    x = x.clone().requires_grad_()
    out = layer(x)
    out.backward(gradient.to(out.dtype))
    weight = layer.weight
    assert isinstance(weight, nn.Parameter)
    assert x.grad is not None
    assert weight.grad is not None
    found = out.detach().float(), x.grad, weight.grad.clone()
    weight.grad = None
    return found


def test_powers_of_two_are_multiplied_exactly() -> None:
    # With the largest magnitude 448 the scale is 1, and powers of two are numbers of both formats.
    generator = torch.Generator().manual_seed(0)
    x, weight = (2.0 ** torch.randint(-3, 3, (32, 32), generator=generator) for _ in range(2))
    x[0, 0] = weight[0, 0] = 448.0
    layer = nn.Linear(32, 32, bias=False)
    layer.weight = nn.Parameter(weight)
    expected = (x.double() @ weight.double().t()).to(torch.bfloat16).float()
    torch.testing.assert_close(_layer(layer, x, x)(x).float(), expected, rtol=2**-8, atol=0.0)


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
def test_a_tensor_comes_back_within_the_formats_rounding(dtype: torch.dtype, size: float) -> None:
    x = torch.randn(1000) * size
    scale = _scale(x, dtype)
    error = (narrow(x, scale, dtype).float() * scale - x).abs()
    # Half a unit in the last place, or half of the smallest step for what lies below the normal numbers.
    info = torch.finfo(dtype)
    assert (error <= 0.5001 * info.eps * x.abs() + info.smallest_normal * info.eps * scale).all()


def test_products_are_as_far_from_fp32_as_their_formats_say() -> None:
    torch.manual_seed(0)
    layer, x, gradient = nn.Linear(256, 128), torch.randn(2, 64, 256), torch.randn(2, 64, 128) * 1e-3
    exact = _through(layer, x, gradient)
    found = _through(_layer(layer, x, gradient), x, gradient)
    # Rounding errors are evenly spread below 2^-4 (E4M3) and 2^-3 (E5M2), so their mean square is a third of its
    # square; two factors, independent, and the products average nothing away, since error and result grow alike.
    e4m3, e5m2 = 2**-4 / 3**0.5, 2**-3 / 3**0.5
    for expected, result, bound in zip(exact, found, (2**0.5 * e4m3, e4m3 + e5m2, e4m3 + e5m2), strict=True):
        assert (result - expected).norm() / expected.norm() < bound


def test_only_the_blocks_linear_layers_are_converted_and_they_keep_their_parameters() -> None:
    model = GPT2(SIZES["pico"])
    parameters = [id(parameter) for parameter in model.parameters()]
    convert_with_delay(model, fast=False)
    converted = [name for name, module in model.named_modules() if isinstance(module, DelayedLinear)]
    assert len(converted) == 4 * len(model.blocks)
    assert all(name.startswith("blocks.") for name in converted)
    assert isinstance(model.lm_head, nn.Linear)
    assert [id(parameter) for parameter in model.parameters()] == parameters


def test_a_weight_that_tensor_cores_cannot_take_is_refused() -> None:
    with pytest.raises(ValueError, match=r"24 x 8 cannot run in FP8; allowed: multiples of 16"):
        convert_with_delay(GPT2(GPT2Config(layers=1, heads=1, hidden=8, vocab=32, max_seq=8)), fast=False)


def test_inputs_are_kept_in_eight_bits() -> None:
    kept: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        kept.append(tensor.nbytes)
        return tensor

    x = torch.randn(64, 32, dtype=torch.bfloat16, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        DelayedLinear(nn.Linear(32, 48, bias=False), fast=False)(x)
    assert sorted(kept) == [4, 4, 4, 48 * 32, 64 * 32], "three scales, the weight, the input"
