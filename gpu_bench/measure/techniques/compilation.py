"""`torch.compile` over the model or block by block, the check that a compiled block is the block, and CUDA graphs.

Block by block, the compiler sees one block, not 48 copies of it: tracing GPT-2 XL as a whole takes most of a minute on
its own. What the compiler cannot do is to fuse across a border. So the border is moved: a block leaves what its MLP
adds to the next one, where the addition joins the normalization that reads the sum.

A whole training step as one CUDA graph: the host launches once what otherwise takes a thousand launches. It helps where
kernels are so short that the host cannot launch them as fast as they run: small models and small batches. The first
steps run as they are, since libraries set themselves up and the optimizer makes its state in them; then one step is
recorded, which runs nothing, and every later step is a replay on that step's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gpu_bench.cases.case import TrainingCase
from gpu_bench.measure.gpt2 import GPT2, Block, RunBlocks, one_after_another
from gpu_bench.measure.techniques.fp8 import E5M2, DelayedLinear
from gpu_bench.measure.unsupported import UnsupportedError

SPLIT_K: dict[str, Any] = {
    "max_autotune": True,
    "coordinate_descent_tuning": True,
    # The gradient of a weight sums over all tokens: 33,792 of them, where the result has 1,600 rows and too few tiles
    # to fill the GPU evenly. The compiler divides such a sum from a ratio of 32 on; here from 4.
    "triton.decompose_k_threshold": 4,
}
"""What `split-k` sets beyond the compiler's defaults. Untried: products are tuned on GPUs only."""
AGREEMENT = 0.1
"""Largest relative distance between what a block computes compiled and as it is. Fused kernels keep 24 bits where
others round to 8 between two operations, so that a few in a hundred numbers fall into the next step of FP8, which is up
to 1/8 away, and of gradients 1/4. That adds up over a block: 1 % of its output, and of the gradient that comes last
3.8 % in PyTorch 2.13 and 5.3 % in 2.11, on a CPU. A wrong kernel is off by much more."""


def compiled_loss(case: TrainingCase, model: GPT2, loss: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function that computes the loss of a window, compiled as the case says.

    Where the region is a block, the model's blocks and head are replaced by compiled ones. Raises `UnsupportedError`
    when this version of PyTorch lacks an option.
    """
    how: dict[str, Any] = {"dynamic": False}
    if case.compile == "split-k":
        how["options"] = _known(SPLIT_K)
    if case.compile_region == "model":
        # The loss inside: the head's logits, the softmax and the loss become one graph.
        return torch.compile(loss, **how)
    if model.run_blocks is one_after_another:
        model.run_blocks = _joined(model.blocks, how)
    else:
        # Blocks that are computed again begin and end with the whole stream.
        for block in model.blocks:
            block.compile(**how)
    model.run_head = torch.compile(model.run_head, **how)
    return loss


class JoiningBlock(nn.Module):
    """A `gpt2.Block` that first adds what the block before left to add, and leaves what its own MLP adds."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
        """The stream and what is to be added to it, both (B, T, C), to the same of the next block."""
        assert isinstance(self.block, Block)
        return self.block.unjoined(x + added)


def _joined(blocks: Iterable[nn.Module], how: Mapping[str, Any]) -> RunBlocks:
    """Passes blocks that are compiled each with the addition before it."""
    joining = {block: JoiningBlock(block) for block in blocks}
    for one in joining.values():
        one.compile(**how)

    def run(some: Sequence[nn.Module], x: Tensor) -> Tensor:
        # Zeros such as an MLP adds, so that the first block needs no graph of its own.
        kind = x.device.type
        form = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        added = torch.zeros_like(x, dtype=form).requires_grad_()
        for block in some:
            x, added = joining[block](x, added)
        return x + added

    return run


def _known(options: dict[str, Any]) -> dict[str, Any]:
    missing = sorted(set(options) - set(torch._inductor.list_options()))
    if missing:
        raise UnsupportedError(f"PyTorch {torch.__version__} has no option {missing[0]} of its compiler")
    return options


def check_compiled_block(
    block: nn.Module, run: Callable[[Tensor], Tensor], x: Tensor, autocast: torch.dtype | None
) -> None:
    """Compare what a compiled block, run by `run`, adds to x (B, T, C), and its gradients, with the uncompiled block.

    Raises:
        UnsupportedError: When one is not finite or they are further apart than `AGREEMENT`: these versions of PyTorch
            and Triton do not compile FP8 rightly on this device, and trying again would find the same.
    """
    gradient = torch.randn_like(x)
    # As large as the gradients that calibration found, so that the delayed scales suit it.
    last = block.get_submodule("mlp.c_proj")
    largest = last.g_scale * torch.finfo(E5M2).max if isinstance(last, DelayedLinear) else 1.0
    gradient *= largest / gradient.abs().amax()
    expected = _added(block.forward, block, x, gradient, autocast)
    for name, found in _added(run, block, x, gradient, autocast).items():
        distance = float((found - expected[name]).norm() / expected[name].norm())
        if not distance <= AGREEMENT:
            raise UnsupportedError(
                f"compiled FP8 is not what it is uncompiled: {name} of a block is off by {distance:.1%}; "
                f"allowed: {AGREEMENT:.0%}"
            )


def _added(
    run: Callable[[Tensor], Tensor], block: nn.Module, x: Tensor, gradient: Tensor, autocast: torch.dtype | None
) -> dict[str, Tensor]:
    """What a block adds to its input and to the gradient that passes it, and the gradients of its weights."""
    x = x.detach().requires_grad_()
    with torch.autocast(x.device.type, dtype=autocast, enabled=autocast is not None):
        y = run(x)
    torch.autograd.backward(y, gradient.to(y.dtype))
    assert x.grad is not None
    found = {"the output": y.detach().float() - x.detach().float(), "the input's gradient": x.grad.float() - gradient}
    for name, parameter in block.named_parameters():
        if parameter.ndim == 2 and parameter.grad is not None:
            found[f"the gradient of {name}"] = parameter.grad.float()
    block.zero_grad(set_to_none=True)
    return found


AS_THEY_ARE = 3
"""Steps before one is recorded, as PyTorch's own notes on whole-network capture do it."""


class StepGraph:
    """Runs a step: as it is at first, then from a recording. Untried: no GPU has run it yet.

    The step takes a window of tokens on the device, trains on it and returns the loss there. It never waits for the
    device, and all its tensors have the same shapes every time. Raises `UnsupportedError` on a device without CUDA
    graphs.
    """

    def __init__(self, step: Callable[[Tensor], Tensor], device: torch.device) -> None:
        if device.type != "cuda":
            raise UnsupportedError(f"a CUDA graph needs a GPU; this device is {device.type}")
        self._step, self._taken = step, 0
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None
        self._window = self._loss = torch.empty(0)

    def __call__(self, window: Tensor) -> Tensor:
        """Train on a window (B, T + 1); returns the loss on the device."""
        if self._graph is None and self._taken < AS_THEY_ARE:
            self._taken += 1
            return self._aside(window)
        if self._graph is None:
            self._window = window.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=self._stream):
                self._loss = self._step(self._window)
        else:
            self._window.copy_(window)
        self._graph.replay()
        # A copy: the next replay writes its loss to the same place.
        return self._loss.clone()

    def _aside(self, window: Tensor) -> Tensor:
        """One step on the stream that will record."""
        here = torch.cuda.current_stream()
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            loss = self._step(window)
        here.wait_stream(self._stream)
        return loss
