"""AdamW whose two moments take 8 bits an element: blocks of 2,048 share one scale, codes are spaced by powers of ten.

Dettmers et al. 2021, arXiv 2110.02861: block-wise dynamic quantization. A block's elements are divided by its largest
magnitude; each becomes the nearest of 256 codes, which lie dense near zero, where most moments are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor, nn

BLOCK = 2048
"""Elements that share a scale."""
SMALLEST = 4096
"""Tensors with fewer elements keep FP32 moments: they cost nothing, and norms and biases are sensitive."""
_PIECE = 2048 * BLOCK
"""Elements updated at once: bounds the FP32 copies that live for a moment to 16 MiB each."""


def code_values(signed: bool) -> list[float]:
    """The 256 values that an 8-bit element can stand for, ascending, in [-1, 1] or [0, 1].

    Each decade from 1e-6 to 1 is divided evenly, and the higher the decade the finer: seven decades with 1, 2, 4, ...
    64 values and their negatives, or twice as many values without sign.
    """
    values = [0.0, 1.0]
    for decade in range(7):
        count = 2**decade if signed else 2 ** (decade + 1)
        steps = [0.1 + 0.9 * (index + 0.5) / count for index in range(count)]
        values += [step * 10.0 ** (decade - 6) for step in steps]
        values += [-step * 10.0 ** (decade - 6) for step in steps] if signed else []
    return sorted(values)


@cache
def codes(signed: bool, device: torch.device) -> Tensor:
    """These values on a device (256,) FP32."""
    return torch.tensor(code_values(signed), device=device)


def quantize(x: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    """Codes (n) uint8 and scales (n / 2048, rounded up) FP32 of a flat tensor (n)."""
    whole = x if x.numel() % BLOCK == 0 else nn.functional.pad(x, (0, -x.numel() % BLOCK))
    blocks = whole.view(-1, BLOCK)
    scales = blocks.abs().amax(dim=1)
    # A block of zeros has scale zero; dividing by anything else than zero keeps its zeros.
    normed = blocks / scales.clamp_min(torch.finfo(torch.float32).tiny)[:, None]
    between = (table[1:] + table[:-1]) / 2
    return torch.bucketize(normed, between).to(torch.uint8).view(-1)[: x.numel()], scales


def dequantize(code: Tensor, scales: Tensor, table: Tensor) -> Tensor:
    """FP32 values (n) of codes and scales."""
    if code.numel() % BLOCK == 0:
        # Without a copy of the scales for every element, so that a compiler has nothing to keep.
        return (table[code.int()].view(-1, BLOCK) * scales[:, None]).view(-1)
    return table[code.int()] * scales.repeat_interleave(BLOCK)[: code.numel()]


class AdamW8bit(torch.optim.Optimizer):
    """AdamW (arXiv 1711.05101) with block-wise 8-bit moments.

    Args:
        parameters: What to update.
        lr: Learning rate.
        betas: Decay of the first and the second moment.
        eps: Added to the root of the second moment.
        weight_decay: Share of the learning rate by which weights shrink.
        compiled: Whether a piece's update is one compiled kernel; by default on CUDA only.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.1,
        compiled: bool | None = None,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._compiled = compiled

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient. A closure is not supported and must be None."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: nn.Parameter, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state |= _empty_state(parameter)
        state["step"] += 1
        compiled = parameter.is_cuda if self._compiled is None else self._compiled
        weights, gradient = parameter.view(-1), parameter.grad.reshape(-1)  # type: ignore[union-attr]
        (b1, b2), step = group["betas"], state["step"]
        correction = _correction(1 - b1**step, 1 - b2**step, parameter.device)
        hyper = (group["lr"], b1, b2, group["eps"], group["weight_decay"])
        if "exp_avg" in state:
            _adamw(weights, gradient.float(), state["exp_avg"], state["exp_avg_sq"], correction, hyper)
            return
        update = _compiled_piece() if compiled else _update_piece
        signed, unsigned = codes(True, parameter.device), codes(False, parameter.device)
        for start in range(0, weights.numel(), _PIECE):
            piece = slice(start, start + _PIECE)
            scales = slice(start // BLOCK, (start + _PIECE) // BLOCK)
            first = state["state1"][piece], state["scales1"][scales]
            second = state["state2"][piece], state["scales2"][scales]
            update(weights[piece], gradient[piece], first, second, (signed, unsigned), correction, hyper)


def _empty_state(parameter: nn.Parameter) -> dict[str, Any]:
    """Moments of zero: the code for zero is the table's lowest where there is no sign, and in the middle otherwise."""
    elements, device = parameter.numel(), parameter.device
    if elements < SMALLEST:
        return {"step": 0, **{name: torch.zeros(elements, device=device) for name in ("exp_avg", "exp_avg_sq")}}
    state: dict[str, Any] = {"step": 0}
    for number, signed in ((1, True), (2, False)):
        zero = code_values(signed).index(0.0)
        state[f"state{number}"] = torch.full((elements,), zero, dtype=torch.uint8, device=device)
        state[f"scales{number}"] = torch.zeros(-(-elements // BLOCK), device=device)
    return state


@lru_cache(maxsize=1)
def _correction(first: float, second: float, device: torch.device) -> Tensor:
    """Both bias corrections (2,) on the device: the same for all parameters of a step.

    A tensor, so that a compiled update is not compiled again when they change, and filled on the device, since copying
    numbers there would make the host wait.
    """
    return torch.cat([torch.full((1,), first, device=device), torch.full((1,), second, device=device)])


def _update_piece(
    weights: Tensor,
    gradient: Tensor,
    codes1: tuple[Tensor, Tensor],
    codes2: tuple[Tensor, Tensor],
    tables: tuple[Tensor, Tensor],
    correction: Tensor,
    hyper: tuple[float, ...],
) -> None:
    """Widen the moments, do the usual update, narrow them again; all in place."""
    first, second = dequantize(*codes1, tables[0]), dequantize(*codes2, tables[1])
    _adamw(weights, gradient.float(), first, second, correction, hyper)
    for (code, scale), values, table in ((codes1, first, tables[0]), (codes2, second, tables[1])):
        narrow, largest = quantize(values, table)
        code.copy_(narrow)
        scale.copy_(largest)


@cache
def _compiled_piece() -> Callable[..., None]:
    return torch.compile(_update_piece, dynamic=True)


def _adamw(
    weights: Tensor, gradient: Tensor, first: Tensor, second: Tensor, correction: Tensor, hyper: tuple[float, ...]
) -> None:
    """One AdamW update in place; moments and gradient are FP32, weights may be narrower."""
    rate, b1, b2, eps, decay = hyper
    first.mul_(b1).add_(gradient, alpha=1 - b1)
    second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
    change = (first / correction[0]) / ((second / correction[1]).sqrt() + eps)
    weights.copy_(weights.float() * (1 - rate * decay) - rate * change)
