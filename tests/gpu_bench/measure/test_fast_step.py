"""What makes a step fast changes how numbers are rounded and when work is done, not what is trained."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters

from gpu_bench.cases.case import AttentionKernel, OptimizerName, TrainingCase
from gpu_bench.cases.ladder import LADDER
from gpu_bench.cases.tiny import tiny_case as tiny_case_of
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.gpt2 import GPT2, SIZES, one_after_another
from gpu_bench.measure.memory import optimizer_vectors
from gpu_bench.measure.techniques.compilation import JoiningBlock, StepGraph, check_compiled_block
from gpu_bench.measure.techniques.flat import LONGEST, FlatAdamW, rounded_at_random
from gpu_bench.measure.techniques.fp8 import E4M3, DelayedLinear, Scales, _round_weight, narrow
from gpu_bench.measure.training import Trainer
from gpu_bench.measure.unsupported import UnsupportedError
from gpu_bench.record import load
from gpu_bench.run import isolation, worker
from gpu_bench.run.runner import Settings, run
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[3]
ADAM: dict[str, Any] = {"lr": 1e-3, "betas": (0.9, 0.95), "weight_decay": 0.1}


def _trainer(**changes: Any) -> Trainer:
    return Trainer(tiny_case(**{"optimizer": "adamw", "batch": 4, **changes}), CPU)


def _losses(trainer: Trainer, steps: int = 6) -> list[float]:
    case = trainer.case
    windows = draw_windows(read_corpus(2**16), steps, case.batch * case.accumulate, case.sequence, case.seed)
    return [trainer.step(trainer.load(window)).item() for window in windows]


def _updated(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer], clip: float | None = None) -> list[Tensor]:
    """The weights of a model after three updates with random gradients."""
    torch.manual_seed(0)
    parameters = list(GPT2(SIZES["pico"]).parameters())
    optimizer = make(parameters)
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = (torch.randn(parameter.shape, generator=generator) * 0.01).to(parameter.dtype)
        if clip:
            nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
    return [parameter.detach() for parameter in parameters]


@functools.cache
def _first_rung() -> list[float]:
    return _losses(_rung(LADDER[0]))


def _rung(case: TrainingCase) -> Trainer:
    """The rung on a tiny model: eight sequences a step in any number of passes, and a rate at which it learns."""
    tiny = tiny_case_of(case)
    assert isinstance(tiny, TrainingCase)
    # Of the named kernels, a CPU has this one.
    kernel: AttentionKernel = "flash" if case.attention_kernel == "flash" else "auto"
    changes: dict[str, Any] = {"batch": 8 // case.accumulate, "sequence": 32, "learning_rate": 1e-3}
    return Trainer(replace(tiny, attention_kernel=kernel, **changes), CPU)


@pytest.mark.parametrize(
    "case", [case for case in LADDER if re.match(r"ladder-1558m-\d", case.name)], ids=lambda c: c.name
)
@pytest.mark.sampled(2)
def test_every_rung_of_the_ladder_trains_as_the_first_one(case: TrainingCase) -> None:
    with torch.compiler.set_stance("force_eager"):
        losses = _losses(_rung(case))
    assert losses[-1] < losses[0] - 0.3, "it learns"
    # FP32 sums in another order; roundings to 8 bits (BF16) or 4 (E4M3), averaged over the products of three blocks.
    tolerance = {"fp32": 1e-6, "tf32": 1e-6}.get(case.precision, 2e-2 if case.precision.startswith("fp8") else 4e-3)
    assert losses == pytest.approx(_first_rung(), rel=tolerance)


def test_one_vector_is_updated_and_clipped_as_many_parameters_are() -> None:
    expected = _updated(lambda some: torch.optim.AdamW(some, **ADAM), clip=0.5)
    found = _updated(lambda some: FlatAdamW(some, clip_norm=0.5, **ADAM))
    for weight, other in zip(found, expected, strict=True):
        # Both sum in 24 bits; the bias correction is computed on the device here and by the host there.
        torch.testing.assert_close(weight, other, rtol=1e-6, atol=1e-7)


def test_parameters_share_a_few_vectors_and_short_ones_keep_wide_moments() -> None:
    trainer = _trainer(update="flat", optimizer="adamw-8bit")
    (optimizer,) = trainer.optimizers
    assert isinstance(optimizer, FlatAdamW)
    assert sum(len(vector.parameters) for vector in optimizer.vectors) == len(list(trainer.model.parameters()))
    assert [set(vector.state) for vector in optimizer.vectors] == [
        {"state1", "scales1", "state2", "scales2"},
        {"exp_avg", "exp_avg_sq"},
    ]
    assert trainer.model.parameter_count() < LONGEST, "otherwise there would be more vectors"


def test_bf16_weights_are_the_rounded_fp32_copy_and_train_as_fp32_weights_do() -> None:
    trainer = _trainer(precision="bf16-master", update="flat")
    # Weights, norms and the residual stream are rounded to 8 bits: 2^-9 of a loss, and what six steps make of it.
    assert _losses(trainer) == pytest.approx(_losses(_trainer(precision="amp-bf16")), rel=2e-3)
    (optimizer,) = trainer.optimizers
    assert isinstance(optimizer, FlatAdamW)
    for vector in optimizer.vectors:
        assert torch.equal(vector.weights, vector.state["master"].to(torch.bfloat16))


def test_weights_rounded_at_random_train_as_an_fp32_copy_does() -> None:
    rounded = _trainer(precision="bf16-rounded", update="flat", optimizer="adamw-8bit")
    assert _losses(rounded) == pytest.approx(_losses(_trainer(precision="bf16-master", update="flat")), rel=3e-3)
    (optimizer,) = rounded.optimizers
    assert all("master" not in state for state in optimizer.state.values())


def test_rounding_at_random_is_right_on_average_and_never_further_than_the_next_number() -> None:
    torch.manual_seed(0)
    # A step that is a tenth of the distance between two BF16 numbers: rounding to nearest would lose it for ever.
    x = torch.full((100_000,), 1.0 + 0.1 * 2**-7)
    rounded = rounded_at_random(x).float()
    assert set(rounded.tolist()) == {1.0, 1.0 + 2**-7}
    # 100,000 draws with probability 0.1 have a standard error of 0.001; five of them are never reached by chance.
    assert float((rounded > 1.0).float().mean()) == pytest.approx(0.1, abs=0.005)
    exact = torch.randn(1000).to(torch.bfloat16)
    assert torch.equal(rounded_at_random(exact.float()), exact)


def test_a_bf16_residual_stream_trains_as_an_fp32_one_does() -> None:
    narrow = _trainer(precision="amp-bf16", residual="bf16")
    assert _losses(narrow) == pytest.approx(_losses(_trainer(precision="amp-bf16")), rel=1e-3)
    kept: list[torch.dtype] = []
    narrow.model.blocks[1].register_forward_hook(lambda *args: kept.append(args[2].dtype))
    narrow.loss(torch.randint(256, (4, 33)))
    assert kept == [torch.bfloat16]


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "fp8"},
        {"precision": "fp8-master", "update": "flat"},
        {"precision": "fp8-master", "update": "flat", "batch": 2, "accumulate": 2},
    ],
)
def test_scales_of_earlier_steps_train_as_those_of_the_tensors_do(changes: dict[str, Any]) -> None:
    """The layers of torchao divide by the largest magnitude of the tensor itself."""
    pytest.importorskip("torchao")
    theirs = _trainer(precision="fp8", implementation="torchao")
    kinds = {type(layer).__name__ for layer in theirs.model.blocks.modules() if isinstance(layer, nn.Linear)}
    assert kinds == {"Float8Linear"}, "every layer of the blocks is theirs"
    # E4M3 rounds by up to 2^-4, averaged over the products of three blocks; both ways of scaling round alike.
    assert _losses(_trainer(scaling="delayed", **changes)) == pytest.approx(_losses(theirs), rel=2e-3)


def test_fp8_weights_are_rounded_once_after_an_update_and_stay_through_all_passes() -> None:
    trainer = _trainer(precision="fp8", scaling="delayed")
    _losses(trainer, 1)
    layer = next(module for module in trainer.model.modules() if isinstance(module, DelayedLinear))
    assert torch.equal(layer.w8.t(), layer.w8t)
    error = (layer.w8.float() * layer.w_scale - layer.weight).abs()
    info = torch.finfo(E4M3)
    assert (error <= 0.5001 * info.eps * layer.weight.abs() + info.smallest_normal * info.eps * layer.w_scale).all()
    before = layer.w8._version
    trainer.loss(torch.randint(256, (4, 33))).backward()  # type: ignore[no-untyped-call]
    assert layer.w8._version == before


def _delayed_scales() -> tuple[Trainer, Scales]:
    trainer = _trainer(precision="fp8-master", update="flat", scaling="delayed")
    assert trainer.scales is not None
    return trainer, trainer.scales


def _weights8(trainer: Trainer) -> list[Tensor]:
    layers = [module for module in trainer.model.modules() if isinstance(module, DelayedLinear)]
    return [one.float() for layer in layers for one in (layer.w8, layer.w8t, layer.w_scale)]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.full)])
def test_compiled_rounding_gives_the_weights_that_pytorch_gives(backend: str) -> None:
    (plain, scales), (fast, compiled) = _delayed_scales(), _delayed_scales()
    torch._dynamo.reset()
    window = torch.randint(256, (4, 33))
    scales.calibrate(lambda: plain.eager_loss(window))
    compiled.calibrate(lambda: fast.eager_loss(window), torch.compile(_round_weight, dynamic=False, backend=backend))
    assert compiled.fallbacks == []
    assert compiled._round is not _round_weight
    for found, expected in zip(_weights8(fast), _weights8(plain), strict=True):
        assert torch.equal(found, expected)


def _too_large(weight: Tensor, w8: Tensor, w8t: Tensor, scale: Tensor) -> None:
    _round_weight(weight, w8, w8t, scale)
    w8.copy_(narrow(weight * 1.2, scale, E4M3))


def _not_turned(weight: Tensor, w8: Tensor, w8t: Tensor, scale: Tensor) -> None:
    _round_weight(weight, w8, w8t, scale)
    w8t.copy_(w8.reshape(w8t.shape))


def _other_scale(weight: Tensor, w8: Tensor, w8t: Tensor, scale: Tensor) -> None:
    _round_weight(weight, w8, w8t, scale)
    scale *= 2


def _raises(*tensors: Tensor) -> None:
    raise RuntimeError("Triton has no such type")


@pytest.mark.parametrize(
    ("rounding", "why"),
    [
        (_too_large, "compiled rounding of a weight of 192 x 64 to FP8 is wrong: the rounded weight"),
        (_not_turned, "compiled rounding of a weight of 192 x 64 to FP8 is wrong: its transpose"),
        (_other_scale, "compiled rounding of a weight of 192 x 64 to FP8 is wrong: the scale"),
        (_raises, "Triton has no such type"),
    ],
)
def test_rounding_that_is_wrong_is_not_used_and_the_report_says_so(rounding: Any, why: str) -> None:
    (plain, scales), (trainer, checked) = _delayed_scales(), _delayed_scales()
    window = torch.randint(256, (4, 33))
    scales.calibrate(lambda: plain.eager_loss(window))
    checked.calibrate(lambda: trainer.eager_loss(window), rounding)
    assert checked.fallbacks == [f"weights are rounded to FP8 by PyTorch itself: {why}"]
    for found, expected in zip(_weights8(trainer), _weights8(plain), strict=True):
        assert torch.equal(found, expected)


def test_memory_that_runs_out_is_no_reason_to_do_without_the_fast_form() -> None:
    def run_out(*tensors: Tensor) -> None:
        raise MemoryError

    trainer, scales = _delayed_scales()
    with pytest.raises(MemoryError):
        scales.calibrate(lambda: trainer.eager_loss(torch.randint(256, (4, 33))), run_out)


def test_a_gradients_magnitude_decides_later_scales_however_many_passes_a_step_has() -> None:
    trainer = _trainer(precision="fp8", scaling="delayed", batch=2, accumulate=2)
    layer = trainer.model.get_submodule("blocks.0.mlp.c_proj")
    assert isinstance(layer, DelayedLinear)
    seen: list[float] = []
    windows = draw_windows(read_corpus(2**16), 1, 4, 32, 5)
    trainer.prepare(trainer.load(windows[0]))
    first = float(layer.g_scale) * torch.finfo(torch.float8_e5m2).max
    layer.register_full_backward_hook(lambda *args: seen.append(float(args[2][0].abs().amax())))
    trainer.step(trainer.load(windows[0]))
    assert len(seen) == 2
    # The largest of the history, not the sum of the two passes.
    assert float(layer.g_scale) * torch.finfo(torch.float8_e5m2).max == pytest.approx(max(first, *seen), rel=1e-6)


@pytest.mark.parametrize(
    "how",
    [
        {"precision": "amp-bf16"},
        {"precision": "fp8-master", "update": "flat", "scaling": "delayed"},
        {"precision": "bf16-master", "update": "flat", "epilogues": "fused"},
    ],
)
def test_all_blocks_share_the_graph_of_the_first(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two graphs, the block's and the head's, however many blocks there are, and none after the first step."""
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))
    torch._dynamo.reset()
    trainer = _trainer(**how, compile="default", compile_region="block")
    assert len(trainer.model.blocks) == 3
    before = counters["stats"]["unique_graphs"]
    found = []
    for _ in range(3):
        _losses(trainer, 1)
        found.append(counters["stats"]["unique_graphs"] - before)
    assert found == [2, 2, 2]


@pytest.mark.parametrize("how", [{}, {"residual": "bf16"}, {"precision": "bf16-master", "update": "flat"}])
def test_blocks_that_leave_an_addition_to_the_next_compute_the_same_gradients(how: dict[str, Any]) -> None:
    how = {"precision": "amp-bf16", **how}
    window = torch.randint(256, (4, 33))
    torch._dynamo.reset()
    found = []
    for region in ({}, {"compile": "default", "compile_region": "block"}):
        trainer = _trainer(**how, **region)
        with torch.compiler.set_stance("force_eager"):
            loss = trainer.loss(window)
            trainer.backward(loss)
        found.append((loss, *(parameter.grad for parameter in trainer.model.parameters())))
    joined = trainer.model.run_blocks
    assert joined is not one_after_another
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        assert torch.equal(one, other), "the same roundings in the same order"


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.full)])
def test_blocks_compiled_one_by_one_train_as_they_do_uncompiled(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=backend))
    how = {"precision": "fp8-master", "update": "flat", "scaling": "delayed"}
    torch._dynamo.reset()
    compiled = _losses(_trainer(**how, compile="default", compile_region="block"), 3)
    # Fused kernels keep 24 bits between operations where others round to 8.
    assert compiled == pytest.approx(_losses(_trainer(**how), 3), rel=2e-3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda block, x: block.forward(x) * float("nan"), "the output of a block is off by nan%"),
        (lambda block, x: x + 1.2 * (block.forward(x) - x), "the output of a block is off by 20.0%"),
    ],
)
def test_a_compiled_block_that_computes_something_else_is_never_timed(wrong: Any, message: str) -> None:
    trainer = _trainer(precision="fp8", scaling="delayed")
    window = torch.randint(256, (4, 33))
    trainer.prepare(window)
    block, x = trainer.model.blocks[0], trainer.model.embed(window[:, :-1]).detach()
    check_compiled_block(block, block, x, torch.bfloat16)
    with pytest.raises(UnsupportedError, match=f"compiled FP8 is not what it is uncompiled: {message}"):
        check_compiled_block(block, lambda x: wrong(block, x), x, torch.bfloat16)


def test_compiled_fp8_that_disagrees_is_a_result_and_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def compile_wrongly(block: JoiningBlock, **how: Any) -> None:
        def run(x: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
            x = x + added
            return x, 1.2 * (block.block(x) - x)

        block._compiled_call_impl = run

    tried: list[int] = []

    def work(order: dict[str, Any], *rest: Any) -> dict[str, Any]:
        tried.append(order["repeat"])
        return worker.measure(order)

    isolation.probe("cpu")
    monkeypatch.setattr(nn.Module, "compile", compile_wrongly)
    monkeypatch.setattr(torch, "compile", lambda function, **how: function)
    monkeypatch.setattr(isolation, "work", work)
    case = tiny_case(precision="fp8", scaling="delayed", compile="default", compile_region="block", repeats=2)
    for _ in range(2):
        assert run([("trial", case)], Settings(device="cpu", out=tmp_path)) == 0
    assert tried == [0]
    (file,) = tmp_path.rglob("*.json")
    record, faults = load.read(file)
    assert record is not None, faults
    assert (record["status"], record["message"]) == (
        "unsupported",
        "compiled FP8 is not what it is uncompiled: the output of a block is off by 20.0%; allowed: 10%",
    )


def test_a_cuda_graph_is_unsupported_where_there_is_no_gpu() -> None:
    with pytest.raises(UnsupportedError, match="a CUDA graph needs a GPU; this device is cpu"):
        StepGraph(lambda window: window.sum(), CPU)
    with pytest.raises(UnsupportedError):
        _trainer(step_graph=True)


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd", "momentum"])
@pytest.mark.sampled(4)
def test_an_update_that_is_recorded_counts_its_steps_on_the_gpu(optimizer: OptimizerName) -> None:
    """PyTorch refuses to record another: `capturable` of every group is what it asks for."""
    command = [sys.executable, "-m", "tests.gpu_bench.measure.fake_cuda", "counts", optimizer]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    if optimizer in ("sgd", "momentum"):
        assert found == {key: {"steps": [], "capturable": [None]} for key in ("recorded", "launched")}
    else:
        assert found["recorded"] == {"steps": ["cuda"], "capturable": [True]}
        assert found["launched"] == {"steps": ["cpu"], "capturable": [False]}


@pytest.mark.parametrize("changes", [
    {"update": "flat", "optimizer": "sgd"}, {"precision": "bf16-master"}, {"compile_region": "block"},
    {"scaling": "delayed"}, {"precision": "fp8"}, {"precision": "fp8", "scaling": "delayed", "compile": "default"},
    {"precision": "fp8", "scaling": "delayed", "checkpointing": "full"},
])  # fmt: skip
def test_what_a_fast_step_cannot_combine_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed"):
        tiny_case(**changes)


def test_an_independent_implementation_computes_the_same_model() -> None:
    pytest.importorskip("transformers")
    ours, theirs = _trainer(), _trainer(implementation="transformers")
    assert theirs.model.parameter_count() == ours.model.parameter_count()
    names = {"wte": "wte", "wpe": "wpe", "blocks": "h", "ln_f": "ln_f"}
    weights: dict[str, Tensor] = {}
    for name, weight in ours.model.state_dict().items():
        first, _, rest = name.partition(".")
        if first in names:
            # The package stores the weights of linear layers the other way round.
            turned = weight.t() if weight.ndim == 2 and first == "blocks" else weight
            weights[f"peer.transformer.{names[first]}.{rest}"] = turned
    theirs.model.load_state_dict({**weights, "peer.lm_head.weight": weights["peer.transformer.wte.weight"]})
    # The same sums in another order, at 24 bits, through six updates by AdamW.
    assert _losses(theirs) == pytest.approx(_losses(ours), rel=1e-4)


def test_the_8_bit_adam_of_torchao_trains_as_ours_does() -> None:
    pytest.importorskip("torchao")
    theirs = _trainer(optimizer="adamw-8bit", update="default", implementation="torchao", compile="default")
    # Without compiling its update, which takes half a minute.
    with torch.compiler.set_stance("force_eager"):
        losses = _losses(theirs)
    assert losses == pytest.approx(_losses(_trainer(optimizer="adamw-8bit", update="flat")), rel=2e-3)
    held = optimizer_vectors(theirs.optimizers)
    elements = theirs.model.parameter_count()
    # Parameters of fewer than 4,096 elements keep FP32 moments; each other one has a table of 256 codes beside it.
    assert elements < held["exp_avg"] < 1.5 * elements


@pytest.mark.parametrize("implementation", ["torchao", "liger"])
def test_a_package_that_is_not_there_is_unsupported_in_one_line(implementation: str) -> None:
    how = {"torchao": {"precision": "fp8"}, "liger": {"precision": "amp-bf16"}}[implementation]
    name = {"torchao": "torchao", "liger": "liger_kernel"}[implementation]
    if importlib.util.find_spec(name):
        pytest.skip(f"{name} is installed")
    with pytest.raises(UnsupportedError, match=f"package {name} does not load .*: python -m pip install {name}"):
        _losses(_trainer(implementation=implementation, **how), 1)


@pytest.mark.parametrize("changes", [{}, {"precision": "bf16-rounded", "optimizer": "adamw-8bit"}])
def test_vectors_of_one_parameter_each_are_updated_during_the_backward_pass(changes: dict[str, Any]) -> None:
    plain = _trainer(update="flat", clip_norm=None, **changes)
    early = _trainer(update="flat", clip_norm=None, optimizer_in_backward=True, **changes)
    # The same updates in another order: exactly equal, unless weights are rounded at random.
    tolerance = 3e-3 if changes else 0.0
    assert _losses(early) == pytest.approx(_losses(plain), rel=tolerance, abs=0)
    assert all(parameter.grad is None for parameter in early.model.parameters())
