"""AdamW over long vectors: all that a step does to a weight happens in one pass over memory, in a handful of kernels.

GPT-2 XL has 580 parameters; an update that visits each by itself launches hundreds of small kernels. Here parameters
lie one after another in a few vectors, and one compiled kernel for each of them scales the gradient by the clipping
factor, updates the moments, and writes the weight in its own format: from an FP32 copy, or rounded at random.

The moments may take 8 bits (Dettmers et al. 2021, arXiv 2110.02861, block-wise dynamic quantization): blocks of 256
elements share one scale, their largest magnitude, and each element becomes the nearest of 256 codes, which are spaced
by powers of ten and lie dense near zero, where most moments are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
from torch import Tensor, nn

BLOCK = 256
"""Elements that share a scale."""
SMALLEST = 4096
"""Tensors with fewer elements keep FP32 moments: they cost nothing, and norms and biases are sensitive."""


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
    """Codes (n) uint8 and scales (n / 256, rounded up) FP32 of a flat tensor (n)."""
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


Weights = Literal["as-is", "bf16-master", "bf16-rounded"]
"""Format of the weights: as they are given; BF16 beside an FP32 copy; BF16 alone, rounded up or down at random."""

LONGEST = 2**26
"""Elements of a vector, but for a single parameter that has more: bounds what lives for a moment, such as the copy of
its gradients, to 128 MiB in BF16."""
_ALIGNED = 128
"""Elements to which a parameter's start is rounded up: products want addresses that are multiples of 16 bytes."""
_PIECE = 16_384 * BLOCK
"""Elements of an eager update: bounds each FP32 copy that it makes to 16 MiB."""


@dataclass
class Vector:
    """Parameters that lie one after another, and their state."""

    parameters: list[nn.Parameter]  # In their order; each one's data is a view of `weights`
    starts: list[int]  # Where each begins
    weights: Tensor  # All of them (n,), in the format in which the model computes
    # `exp_avg` and `exp_avg_sq` (n,) FP32, or `state1`, `state2` (n,) in 8 bits and `scales1`, `scales2`; and `master`
    # (n,) FP32 where there is one
    state: dict[str, Tensor]

    @torch.no_grad()
    def gradient(self) -> Tensor:
        """The gradients (n,), side by side; those of the parameters are freed."""
        only = self.parameters[0].grad
        if len(self.parameters) == 1 and only is not None and only.numel() == len(self.weights):
            self.parameters[0].grad = None
            return only.reshape(-1)
        # Zeros: what lies between parameters must not disturb the scale of a block.
        flat = torch.zeros_like(self.weights)
        places, gradients = [], []
        for parameter, start in zip(self.parameters, self.starts, strict=True):
            if parameter.grad is not None:
                places.append(flat[start : start + parameter.numel()].view_as(parameter))
                gradients.append(parameter.grad)
                parameter.grad = None
        if places:
            torch._foreach_copy_(places, gradients)
        return flat


class FlatAdamW(torch.optim.Optimizer):
    """AdamW (arXiv 1711.05101) over vectors of parameters. It clips, and it frees the gradients as it goes.

    Args:
        parameters: What to update. Their data moves into the vectors, in the format that `weights` says.
        lr: Learning rate.
        betas: Decay of the first and the second moment.
        eps: Added to the root of the second moment.
        weight_decay: Share of the learning rate by which weights shrink.
        weights: See `Weights`.
        eight_bit: Whether moments take 8 bits (`techniques.eight_bit`), but those of short tensors.
        clip_norm: Largest global norm of the gradients, or None.
        compiled: Whether an update is one compiled kernel; by default on CUDA only.

    Attributes:
        gradient_norm: The global norm of the last step's gradients before clipping, on the device; None where
            nothing is clipped.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-8,
        weight_decay: float = 0.1,
        weights: Weights = "as-is",
        eight_bit: bool = False,
        clip_norm: float | None = None,
        compiled: bool | None = None,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._compiled, self._rounded, self._clip_norm = compiled, weights == "bf16-rounded", clip_norm
        self.gradient_norm: Tensor | None = None
        everything = [parameter for group in self.param_groups for parameter in group["params"]]
        self._device = everything[0].device
        self._updates = torch.zeros((), dtype=torch.float64, device=self._device)
        self._betas = torch.tensor(betas, dtype=torch.float64, device=self._device)
        self.vectors = [_vector(some, weights, eight_bit) for some in _divide(everything, eight_bit)]
        for vector in self.vectors:
            self.state[vector.parameters[0]] = vector.state

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter. A closure is not supported and must be None."""
        group = self.param_groups[0]
        # Counted on the device, so that a replayed CUDA graph counts on.
        self._updates += 1
        correction = (1 - self._betas**self._updates).float()
        factor = self._clipping(self._clip_norm) if self._clip_norm else torch.ones((), device=self._device)
        hyper = (group["lr"], *group["betas"], group["eps"], group["weight_decay"])
        compiled = self._device.type == "cuda" if self._compiled is None else self._compiled
        tables = (codes(True, self._device), codes(False, self._device))
        for vector in self.vectors:
            gradient = vector.gradient()
            piece = LONGEST if compiled else _PIECE
            update = _compiled_update() if compiled else _update
            for start in range(0, len(gradient), piece):
                state = {name: part[_cut(name, start, piece)] for name, part in vector.state.items()}
                where = slice(start, start + piece)
                update(vector.weights[where], gradient[where], state, tables, factor, correction, hyper, self._rounded)

    def _clipping(self, largest: float) -> Tensor:
        """The factor by which `torch.nn.utils.clip_grad_norm_` would multiply all gradients."""
        gradients = [p.grad for vector in self.vectors for p in vector.parameters if p.grad is not None]
        norms = torch._foreach_norm(gradients)
        self.gradient_norm = torch.linalg.vector_norm(torch.stack([norm.float() for norm in norms]))
        return (largest / (self.gradient_norm + 1e-6)).clamp(max=1.0)


def _cut(name: str, start: int, length: int) -> slice:
    """Where the piece of a state vector is: scales are as many as blocks."""
    unit = BLOCK if name.startswith("scales") else 1
    return slice(start // unit, (start + length) // unit)


def _divide(parameters: Sequence[nn.Parameter], eight_bit: bool) -> list[list[nn.Parameter]]:
    """Parameters of one vector each: as many as fit, in their order; those with FP32 moments apart."""
    found: list[list[nn.Parameter]] = []
    for kind in (True, False) if eight_bit else (False,):
        room = 0
        for parameter in parameters:
            if eight_bit and (parameter.numel() >= SMALLEST) is not kind:
                continue
            if parameter.numel() > room:
                found.append([])
                room = LONGEST
            found[-1].append(parameter)
            room -= parameter.numel()
    return found


def _vector(parameters: list[nn.Parameter], weights: Weights, eight_bit: bool) -> Vector:
    quantized = eight_bit and parameters[0].numel() >= SMALLEST
    # A block of 256 elements shares a scale, so none reaches from one parameter into the next.
    step = BLOCK if quantized else _ALIGNED
    starts, end = [], 0
    for parameter in parameters:
        starts.append(end)
        end += -(-parameter.numel() // step) * step
    first = parameters[0]
    narrow = first.dtype if weights == "as-is" else torch.bfloat16
    state: dict[str, Tensor] = {}
    if weights == "bf16-master":
        state["master"] = torch.zeros(end, device=first.device)
    flat = torch.zeros(end, dtype=narrow, device=first.device)
    for parameter, start in zip(parameters, starts, strict=True):
        where = slice(start, start + parameter.numel())
        for target in (flat, *state.values()):
            target[where] = parameter.data.view(-1)
        parameter.data = flat[where].view_as(parameter)
    if quantized:
        for number, signed in ((1, True), (2, False)):
            zero = code_values(signed).index(0.0)
            state[f"state{number}"] = torch.full((end,), zero, dtype=torch.uint8, device=first.device)
            state[f"scales{number}"] = torch.zeros(-(-end // BLOCK), device=first.device)
    else:
        state |= {name: torch.zeros(end, device=first.device) for name in ("exp_avg", "exp_avg_sq")}
    return Vector(parameters, starts, flat, state)


def _update(
    weights: Tensor,
    gradient: Tensor,
    state: dict[str, Tensor],
    tables: tuple[Tensor, Tensor],
    factor: Tensor,
    correction: Tensor,
    hyper: tuple[float, ...],
    rounded: bool,
) -> None:
    """One AdamW update in place; all arithmetic is FP32."""
    rate, b1, b2, eps, decay = hyper
    gradient = gradient.float() * factor
    first, second = _moments(state, tables)
    first = first.mul(b1).add(gradient, alpha=1 - b1)
    second = second.mul(b2).addcmul(gradient, gradient, value=1 - b2)
    change = (first / correction[0]) / ((second / correction[1]).sqrt() + eps)
    wide = state.get("master", weights).float() * (1 - rate * decay) - rate * change
    if "master" in state:
        state["master"].copy_(wide)
    weights.copy_(rounded_at_random(wide) if rounded else wide)
    if "exp_avg" in state:
        state["exp_avg"].copy_(first)
        state["exp_avg_sq"].copy_(second)
        return
    for number, values, table in zip((1, 2), (first, second), tables, strict=True):
        narrow, largest = quantize(values, table)
        state[f"state{number}"].copy_(narrow)
        state[f"scales{number}"].copy_(largest)


def _moments(state: dict[str, Tensor], tables: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    if "exp_avg" in state:
        return state["exp_avg"], state["exp_avg_sq"]
    return dequantize(state["state1"], state["scales1"], tables[0]), dequantize(
        state["state2"], state["scales2"], tables[1]
    )


@cache
def _compiled_update() -> Callable[..., None]:
    return torch.compile(_update, dynamic=True)


def rounded_at_random(x: Tensor) -> Tensor:
    """FP32 to BF16, up or down with the probability that makes the result right on average.

    BF16 is the upper half of FP32: a random number of 16 bits, added to the lower half, carries into the upper one as
    often as the lower half is near the next number.
    """
    noise = torch.randint(0, 2**16, x.shape, dtype=torch.int32, device=x.device)
    return ((x.view(torch.int32) + noise) & -(2**16)).view(torch.float32).to(torch.bfloat16)
