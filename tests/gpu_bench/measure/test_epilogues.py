"""Products with epilogues compute what plain products and plain autograd compute, or are not used."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.measure import training
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.gpt2 import GPT2, MLP, SIZES
from gpu_bench.measure.techniques import cublaslt, epilogues, trial
from gpu_bench.measure.techniques.cublaslt import BGRADB, DGELU_BGRAD, GELU_AUX_BIAS, Product
from gpu_bench.measure.techniques.epilogues import PLACES, FusedMLP, SummingLinear, fuse
from gpu_bench.measure.training import Trainer
from gpu_bench.measure.unsupported import UnsupportedError
from gpu_bench.record import load
from gpu_bench.run import isolation, worker
from gpu_bench.run.runner import Settings, run
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")
FUSED: dict[str, Any] = {"optimizer": "adamw", "precision": "bf16-master", "update": "flat", "epilogues": "fused"}


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.double)


def _operands() -> tuple[Tensor, ...]:
    """Input, weight, bias, weight and bias of two layers, 6 -> 10 -> 6, over 5 tokens."""
    torch.manual_seed(0)
    found = _random(5, 6), _random(10, 6), _random(10), _random(6, 10), _random(6)
    return tuple(one.requires_grad_() for one in found)


def _plain(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return functional.linear(functional.gelu(functional.linear(x, w1, b1), approximate="tanh"), w2, b2)


@pytest.mark.parametrize("fused", list(itertools.product((True, False), repeat=3)))
def test_two_layers_have_the_gradients_of_plain_autograd_whatever_is_fused(fused: tuple[bool, ...]) -> None:
    operands = _operands()

    def through(*given: Tensor) -> Tensor:
        out: Tensor = epilogues._TwoLayers.apply(*given, fused)  # type: ignore[no-untyped-call]
        return out

    assert torch.equal(through(*operands), _plain(*operands))
    assert torch.autograd.gradcheck(through, operands)
    gradient = _random(5, 6)
    expected = torch.autograd.grad(_plain(*operands), operands, gradient)
    for found, right in zip(torch.autograd.grad(through(*operands), operands, gradient), expected, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-12, atol=1e-12)


def test_a_layer_that_sums_for_its_bias_has_the_gradients_of_a_linear_layer() -> None:
    x, weight, bias, _, _ = _operands()
    assert torch.autograd.gradcheck(epilogues._Linear.apply, (x, weight, bias))
    layer = nn.Linear(6, 10).double()
    summing = SummingLinear(layer)
    assert list(summing.parameters()) == list(layer.parameters())
    torch.testing.assert_close(summing(x.view(1, 5, 6)), layer(x).view(1, 5, 10), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("operator", ["product_gelu", "gradient_gelu", "gradient_weight"])
def test_the_compiler_is_told_the_shapes_that_an_operator_returns(operator: str) -> None:
    x, w1, b1, w2, _ = (one.detach() for one in _operands())
    given = {"product_gelu": (x, w1, b1), "gradient_gelu": (x, w2, _random(5, 10)), "gradient_weight": (x, x)}
    torch.library.opcheck(getattr(epilogues, operator), given[operator])


def _by_columns(x: Tensor, rows: int, columns: int) -> Tensor:
    """What cuBLASLt sees of a tensor: the same numbers, read as so many rows and columns, column after column."""
    assert x.is_contiguous()
    assert x.numel() == rows * columns
    return x.view(-1).as_strided((rows, columns), (1, rows))


def _library(product: Product, a: Tensor, b: Tensor, d: Tensor, bias: Tensor, aux: Tensor | None = None) -> None:
    """What the documentation says that `cublasLtMatmul` computes, read from cublasLt.h of CUDA 13.0."""
    left, right = _by_columns(a, *product.a), _by_columns(b, *product.b)
    left, right = left.t() if product.transpose_a else left, right.t() if product.transpose_b else right
    out, size = left @ right, (product.m, product.n)
    match product.epilogue:
        case cublaslt.GELU_AUX_BIAS:
            assert aux is not None
            assert len(bias) == product.m, "a bias is as long as D has rows"
            out = out + bias[:, None]
            _by_columns(aux, *size).copy_(out)
            out = functional.gelu(out, approximate="tanh")
        case cublaslt.DGELU_BGRAD:
            assert aux is not None
            assert len(bias) == product.m, "sums of rows"
            out = torch.ops.aten.gelu_backward(out, _by_columns(aux, *size), approximate="tanh")
            bias.copy_(out.sum(1))
        case cublaslt.BGRADB:
            assert len(bias) == product.n, "as long as D has columns"
            bias.copy_(right.sum(0))
    _by_columns(d, *size).copy_(out)


def test_cublaslt_is_asked_for_what_the_plain_forms_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Product] = []

    def multiply(product: Product, *tensors: Tensor) -> None:
        asked.append(product)
        _library(product, *tensors)

    monkeypatch.setattr(cublaslt, "multiply", multiply)
    rows, hidden, wide = 6, 4, 16
    x, w1, b1, w2 = _random(rows, hidden), _random(wide, hidden), _random(wide), _random(hidden, wide)
    pairs: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Tensor, ...]]] = [
        (epilogues.product_gelu_fused, epilogues.product_gelu, (x, w1, b1)),
        (epilogues.gradient_gelu_fused, epilogues.gradient_gelu, (x, w2, _random(rows, wide))),
        *(
            (epilogues.gradient_weight_fused, epilogues.gradient_weight, given)
            # The second gradient is stored the other way round, as attention may leave it.
            for given in ((x, _random(rows, wide)), (_random(3 * hidden, rows).t(), x), (x, x))
        ),
    ]
    for fused, plain, given in pairs:
        for found, expected in zip(fused(*given), plain(*given), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert asked == [epilogues.product_of(place, rows, hidden) for place in PLACES]
    assert [one.epilogue for one in asked] == [GELU_AUX_BIAS, DGELU_BGRAD, BGRADB, BGRADB, BGRADB]


class _Recorded:
    """Stands in for the library: what it is told, as the header's types say, and one kernel for every product."""

    def __init__(self) -> None:
        self.told: dict[int, tuple[int, int]] = {}
        self.layouts: list[tuple[int, ...]] = []
        self.status = 0

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *arguments: self._called(name, arguments)

    def _called(self, name: str, arguments: tuple[Any, ...]) -> int:
        values: list[Any] = [getattr(one, "value", None) for one in arguments]
        if name == "cublasLtMatmulDescSetAttribute":
            size = values[3]
            raw = ctypes.string_at(ctypes.addressof(arguments[2]._obj), size)
            self.told[values[1]] = size, int.from_bytes(raw, "little")
        elif name == "cublasLtMatrixLayoutCreate":
            self.layouts.append(tuple(values[1:]))
        elif name == "cublasLtMatmulAlgoGetHeuristic":
            arguments[-1]._obj.value = 1
            return self.status
        return 0


def test_a_product_is_described_in_the_types_of_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Recorded()
    monkeypatch.setattr(cublaslt, "_library", lambda: library)
    # A kernel's description is 64 bytes of its own, then what it needs: cublasLtMatmulHeuristicResult_t.
    assert ctypes.sizeof(cublaslt.Heuristic) == 96
    assert cublaslt.Heuristic.workspace.offset == 64
    plan = cublaslt.Plan(epilogues.product_of("mlp-forward", 128, 16), 0)
    assert len(plan.kernels) == 1
    # Attribute: bytes of its type, value. 16-bit brain floats are type 14.
    assert library.told == {3: (4, 1), 4: (4, 0), 7: (4, 164), 8: (8, 256), 11: (8, 256), 12: (8, 64)}
    assert library.layouts == [(14, 16, 64, 16), (14, 16, 128, 16), (14, 64, 128, 64)]
    library.status = 15
    with pytest.raises(UnsupportedError, match="cublasLtMatmulAlgoGetHeuristic returned status 15"):
        cublaslt.Plan(epilogues.product_of("mlp-sums", 128, 16), 0)


def _block_gradients(model: GPT2, x: Tensor) -> list[Tensor]:
    out = model.blocks[0](x)
    parameters = list(model.blocks[0].parameters())
    return [out, *torch.autograd.grad(out.square().sum(), [x, *parameters])]


@pytest.mark.parametrize("use", [PLACES, PLACES[:1], PLACES[3:], ()])
def test_a_fused_block_is_the_block(use: tuple[str, ...]) -> None:
    torch.manual_seed(0)
    model = GPT2(SIZES["pico"]).double()
    x = _random(2, 8, SIZES["pico"].hidden).requires_grad_()
    names = [name for name, _ in model.named_parameters()]
    expected = _block_gradients(model, x)
    fuse(model, use)
    assert [name for name, _ in model.named_parameters()] == names
    kinds = [type(block.get_submodule("mlp")) for block in model.blocks]
    assert kinds == [FusedMLP if set(use) & set(PLACES[:3]) else MLP] * len(kinds)
    for found, right in zip(_block_gradients(model, x), expected, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-12)


def _losses(trainer: Trainer) -> list[float]:
    windows = draw_windows(read_corpus(2**16), 4, trainer.case.batch, trainer.case.sequence, 5)
    return [trainer.step(trainer.load(window)).item() for window in windows]


def test_fused_products_train_as_plain_ones_do() -> None:
    plain = _losses(Trainer(tiny_case(**{**FUSED, "epilogues": "plain"}), CPU))
    # The same sums in BF16, added up in another order.
    assert _losses(Trainer(tiny_case(**FUSED), CPU)) == pytest.approx(plain, rel=1e-3)
    torch._dynamo.reset()
    compiled = Trainer(tiny_case(**FUSED), CPU)
    for block in compiled.model.blocks:
        block.compile(backend="aot_eager", fullgraph=True)
    assert _losses(compiled) == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize("changes", [
    {"precision": "amp-bf16", "update": "default"}, {"precision": "fp8-master"},
])  # fmt: skip
def test_what_has_no_epilogue_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"epilogues is 'fused' with .*; allowed: "):
        tiny_case(**{**FUSED, **changes})


def _judged(computed: list[float], seconds: list[float], usual: float = 2.0) -> int:
    """The verdict on kernels that compute so many times the right numbers in such times."""
    now = [0]

    def choose(kernel: int) -> None:
        now[0] = kernel

    def timed(compute: trial.Compute) -> float:
        return usual if compute is one.plain else seconds[now[0]]

    right = torch.ones(4, 4)
    one = trial.Trial(lambda: (right * computed[now[0]], right), lambda: (right, right))
    return trial.judge(one, len(computed), choose, timed)


def test_the_fastest_kernel_that_is_right_is_used() -> None:
    assert _judged([1.0, 1.0, 1.0], [1.5, 1.0, 1.9]) == 1
    assert _judged([1.0, 1.1, 1.0], [1.5, 1.0, 1.4]) == 2, "the fastest one is wrong"
    assert _judged([float("nan"), 1.0], [1.0, 1.9]) == 1
    with pytest.raises(UnsupportedError, match=r"off by 20\.0%; allowed: 1%"):
        _judged([1.2], [1.0])
    with pytest.raises(UnsupportedError, match="off by nan%"):
        _judged([float("nan")], [1.0])
    with pytest.raises(UnsupportedError, match=r"2\.500 ms, without its epilogue 2\.000 ms"):
        _judged([1.0], [2.5e-3], usual=2e-3)


def test_every_place_is_tried_in_its_own_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cublaslt, "multiply", _library)
    torch.manual_seed(0)
    found = dict(trial.trials(96, 32, CPU))
    assert tuple(found) == PLACES
    for one in found.values():
        plain = one.plain

        def seconds(compute: trial.Compute, plain: trial.Compute = plain) -> float:
            return float(compute is plain)

        assert trial.judge(one, 1, lambda kernel: None, seconds) == 0


def test_what_the_other_process_says_decides_and_its_end_is_no_accident_of_ours() -> None:
    said = (
        '{"place": "mlp-forward", "kernel": 3}\nWarning\n{"place": "mlp-backward", "why": "off by 9.0%"}\n{"place": "ml'
    )
    found, told = trial._read(said, "the process that tried it ended with status -11")
    assert found == {"mlp-forward": 3}
    assert told == [
        "mlp-backward runs without its epilogue: off by 9.0%",
        *(
            f"{place} runs without its epilogue: the process that tried it ended with status -11"
            for place in PLACES[2:]
        ),
    ]


def test_without_a_gpu_the_other_process_ends_and_nothing_is_fused() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    found, told = trial.usable(64, 32, torch.device("cuda", 0))
    assert found == {}
    assert told == [
        f"{place} runs without its epilogue: the process that tried it ended with status 1" for place in PLACES
    ]


def test_the_record_says_what_ran_in_its_plain_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    why = "mlp-sums runs without its epilogue: off by 9.0%"
    monkeypatch.setattr(training, "usable", lambda *given: ({"mlp-forward": 0}, [why]))
    isolation.probe("cpu")
    monkeypatch.setattr(isolation, "work", lambda order, *rest: worker.measure(order))
    assert run([("trial", tiny_case(**FUSED))], Settings(device="cpu", out=tmp_path)) == 0
    (file,) = tmp_path.rglob("*.json")
    record, faults = load.read(file)
    assert record is not None, faults
    assert record["status"] == "ok"
    assert record["compile"]["fallbacks"] == [[why]]
