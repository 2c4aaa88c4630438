"""FP8 linear layers: three 8-bit products where BF16 had three 16-bit ones.

Micikevicius et al. 2022, arXiv 2209.05433: weights and activations in E4M3, which has more precision, gradients in
E5M2, which has more range. A tensor is divided so that its largest magnitude becomes the format's largest; the product
is multiplied back.

To find that magnitude just before takes a pass over the tensor, rounding takes one, and transposing two more, since
tensor cores take both operands of an FP8 product along the summed dimension. That is as much time as the product gains.
So these scales are *delayed*, known beforehand:

- the scale of an input or a gradient comes from the largest magnitudes of the last steps (section 4 there; Transformer
  Engine), so that rounding joins the kernel that makes the tensor, and the same kernel writes the tensor both ways and
  notes its magnitude for later steps;
- weights are rounded once after each update, and not again for every pass, by compiled code where that is right.

What a scale does not cover is set to the format's largest number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpu_bench.measure.gpt2 import GPT2
from gpu_bench.measure.unsupported import UnsupportedError, kind_of, told

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
OLDEST = (8, 9)
"""Compute capability with FP8 tensor cores: Ada, then Hopper."""
_MULTIPLE = 16
"""cuBLASLt takes matrices whose every side is a multiple of this."""


def linear_layers(model: GPT2) -> list[tuple[nn.Module, str, nn.Linear]]:
    """The linear layers inside the blocks: the module each belongs to, its name there, and the layer.

    Raises:
        UnsupportedError: On a GPU without FP8 tensor cores.
        ValueError: When a side of a weight is not a multiple of 16.
    """
    device = next(model.parameters()).device
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < OLDEST:
        found = ".".join(str(part) for part in torch.cuda.get_device_capability(device))
        raise UnsupportedError(f"FP8 needs compute capability {OLDEST[0]}.{OLDEST[1]}; this GPU has {found}")
    layers = []
    for name, layer in list(model.blocks.named_modules()):
        if isinstance(layer, nn.Linear):
            if layer.in_features % _MULTIPLE or layer.out_features % _MULTIPLE:
                raise ValueError(
                    f"a weight of {layer.out_features} x {layer.in_features} cannot run in FP8; "
                    f"allowed: multiples of {_MULTIPLE}"
                )
            path, _, last = name.rpartition(".")
            layers.append((model.blocks.get_submodule(path), last, layer))
    return layers


Rounding = Callable[[Tensor, Tensor, Tensor, Tensor], None]
"""Weight, weight in FP8, its transpose, its scale: fills the last three."""
HISTORY = 16
"""Steps over which the largest magnitude counts."""
_SMALLEST = 1e-12
"""The least that a largest magnitude counts as: a tensor of zeros would have the scale 0."""


def convert_with_delay(model: GPT2, fast: bool) -> Scales:
    """Make every linear layer inside the blocks a `DelayedLinear` that owns the same parameters.

    Args:
        model: Its head stays in BF16: its result decides the loss.
        fast: Whether gradients' products accumulate fast as well: partial sums of 14 bits, as the forward products
            have them. Only a long run can show whether that harms the loss.

    Raises:
        UnsupportedError, ValueError: As `linear_layers`.
    """
    layers = []
    for parent, name, layer in linear_layers(model):
        layers.append(DelayedLinear(layer, fast))
        setattr(parent, name, layers[-1])
    return Scales(model, layers)


class DelayedLinear(nn.Module):
    """A linear layer whose three products run in FP8 by scales that are there before it runs.

    Buffers, none of which is saved with the model: the weight in FP8 as it is (N, K) and transposed (K, N); the three
    scales; the largest magnitudes of input and gradient since they were set. `slot` is a number whose gradient is the
    largest magnitude of the output's gradient: in this way a compiled backward pass can return it.
    """

    w8: Tensor
    w8t: Tensor
    x_scale: Tensor
    w_scale: Tensor
    g_scale: Tensor
    x_amax: Tensor
    g_amax: Tensor
    slot: Tensor

    def __init__(self, layer: nn.Linear, fast: bool) -> None:
        super().__init__()
        self.weight, self.bias, self.fast = layer.weight, layer.bias, fast
        self.watching = False
        n, k = layer.weight.shape
        for name, made in {
            "w8": torch.empty(n, k, dtype=E4M3, device=layer.weight.device),
            "w8t": torch.empty(k, n, dtype=E4M3, device=layer.weight.device),
            **{name: torch.ones((), device=layer.weight.device) for name in ("x_scale", "w_scale", "g_scale")},
            **{name: torch.zeros((), device=layer.weight.device) for name in ("x_amax", "g_amax")},
            "slot": torch.zeros((), device=layer.weight.device, requires_grad=True),
        }.items():
            self.register_buffer(name, made, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., K) to (..., N) in BF16."""
        if self.watching:
            return self._watched(x)
        flat = x.reshape(-1, x.shape[-1])  # (M, K)
        y, amax = _DelayedProduct.apply(  # type: ignore[no-untyped-call]
            flat, self.weight, self.w8, self.w8t, self.x_scale, self.w_scale, self.g_scale, self.slot, self.fast
        )  # (M, N), ()
        with torch.no_grad():
            self.x_amax.copy_(torch.maximum(self.x_amax, amax))
        out: Tensor = y.view(*x.shape[:-1], -1)
        return out if self.bias is None else out + self.bias.to(out.dtype)

    def _watched(self, x: Tensor) -> Tensor:
        """The product in the usual format; input's and gradient's largest magnitudes are noted."""
        self.x_amax.copy_(torch.maximum(self.x_amax, x.detach().abs().amax().float()))
        y = functional.linear(x, self.weight, self.bias)
        y.register_hook(self._note)  # type: ignore[no-untyped-call]
        return y

    def _note(self, gradient: Tensor) -> None:
        self.g_amax.copy_(torch.maximum(self.g_amax, gradient.abs().amax().float()))


class Scales:
    """The history of magnitudes of all layers, and the scales that follow from it.

    Attributes:
        fallbacks: What does not run in its fast form, and why.
    """

    def __init__(self, model: GPT2, layers: list[DelayedLinear]) -> None:
        self._model, self._layers = model, layers
        self._history = torch.zeros(HISTORY, 2, len(layers), device=layers[0].weight.device)
        self._largest = torch.tensor([[torch.finfo(E4M3).max], [torch.finfo(E5M2).max]], device=self._history.device)
        self._round: Rounding = _round_weight
        self.fallbacks: list[str] = []

    def calibrate(self, loss: Callable[[], Tensor], rounding: Rounding | None = None) -> None:
        """Find the first scales from one forward and backward pass in the usual format.

        Args:
            loss: Computes the loss of the pass.
            rounding: What rounds the weights if `check_rounding` finds nothing wrong with it; by default, on CUDA,
                compiled code that reads each weight to find its scale and to write it both ways, where PyTorch itself
                takes ten kernels.
        """
        if rounding is None and self._history.device.type == "cuda":
            rounding = _compiled_rounding()
        if rounding is not None:
            try:
                for layer in {layer.weight.shape: layer for layer in self._layers}.values():
                    check_rounding(rounding, layer.weight)
                self._round = rounding
            except Exception as error:
                # Memory that ran out says nothing of what was checked.
                if kind_of(error) == "oom":
                    raise
                self.fallbacks.append(f"weights are rounded to FP8 by PyTorch itself: {told(error)}")
        for layer in self._layers:
            layer.watching = True
        # Blocks would be compiled for this pass, and again for the whole batch.
        with torch.compiler.set_stance("force_eager"):
            torch.autograd.backward(loss())
        for layer in self._layers:
            layer.watching = False
        self._model.zero_grad(set_to_none=True)
        self.after_update()

    @torch.no_grad()
    def after_pass(self) -> None:
        """Take the gradients' magnitudes out of the slots, whose gradients would otherwise add up."""
        found = [(layer.g_amax, layer.slot.grad) for layer in self._layers if layer.slot.grad is not None]
        if found:
            # One kernel for all layers: a step of GPT-2 XL would have a thousand kernels for one number each.
            torch._foreach_maximum_([amax for amax, _ in found], [gradient for _, gradient in found])
        self._empty_slots()

    @torch.no_grad()
    def forget(self) -> None:
        """Drop the magnitudes noted since the last update."""
        torch._foreach_zero_([amax for layer in self._layers for amax in (layer.x_amax, layer.g_amax)])
        self._empty_slots()

    def _empty_slots(self) -> None:
        for layer in self._layers:
            layer.slot.grad = None

    @torch.no_grad()
    def after_update(self) -> None:
        """Let the history decide the next scales, and round the new weights."""
        amax = torch.stack(
            [
                torch.stack([layer.x_amax for layer in self._layers]),
                torch.stack([layer.g_amax for layer in self._layers]),
            ]
        )
        self._history.copy_(torch.cat([amax[None], self._history[:-1]]))
        scales = self._history.amax(0).clamp_min(_SMALLEST) / self._largest
        torch._foreach_copy_([layer.x_scale for layer in self._layers], list(scales[0].unbind()))
        torch._foreach_copy_([layer.g_scale for layer in self._layers], list(scales[1].unbind()))
        for layer in self._layers:
            self._round(layer.weight, layer.w8, layer.w8t, layer.w_scale)
        self.forget()


def _round_weight(weight: Tensor, w8: Tensor, w8t: Tensor, scale: Tensor) -> None:
    """Fill the weight in FP8, its transpose, and its scale, which is exact: weights stand still between updates."""
    exact = weight.abs().amax().float().clamp_min(_SMALLEST) / torch.finfo(E4M3).max
    rounded = narrow(weight, exact, E4M3)
    scale.copy_(exact)
    w8.copy_(rounded)
    w8t.copy_(rounded.t())


@cache
def _compiled_rounding() -> Rounding:
    # One program for each of the four shapes of a block, which its 48 copies share.
    return torch.compile(_round_weight, dynamic=False)


@torch.no_grad()
def check_rounding(rounding: Rounding, weight: Tensor) -> None:
    """Round a weight (N, K), and hold what comes out against the weight.

    Raises:
        UnsupportedError: When the scale is not that of the largest magnitude, an element is further from the weight
            than the next number of the format, or the transpose is another matrix.
    """
    n, k = weight.shape
    w8, w8t = weight.new_empty(n, k, dtype=E4M3), weight.new_empty(k, n, dtype=E4M3)
    scale = weight.new_empty((), dtype=torch.float32)
    rounding(weight, w8, w8t, scale)
    info, wide = torch.finfo(E4M3), weight.float()
    # The whole distance to the next number: kernels divide by the scale in ways that differ in the last bit.
    allowed = info.eps * (wide.abs() + info.smallest_normal * scale)
    right = {
        "the scale": torch.isclose(scale * info.max, wide.abs().amax().clamp_min(_SMALLEST), rtol=1e-5, atol=0.0),
        "the rounded weight": ((w8.float() * scale - wide).abs() <= allowed).all(),
        "its transpose": (w8t.float() == w8.float().t()).all(),
    }
    for name, fine in right.items():
        if not bool(fine):
            raise UnsupportedError(f"compiled rounding of a weight of {n} x {k} to FP8 is wrong: {name}")


def narrow(x: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor divided by its scale in FP8; what is beyond the largest number becomes the largest number."""
    largest = torch.finfo(dtype).max
    return (x.float() / scale).clamp(-largest, largest).to(dtype)


class _DelayedProduct(torch.autograd.Function):
    """x W^T with FP8 operands whose scales are given. It keeps the transposed input, in 8 bits."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        w8: Tensor,
        w8t: Tensor,
        x_scale: Tensor,
        w_scale: Tensor,
        g_scale: Tensor,
        slot: Tensor,
        fast: bool,
    ) -> tuple[Tensor, Tensor]:
        """(M, K) and (N, K) to (M, N), and the largest magnitude of x."""
        x8 = narrow(x, x_scale, E4M3)  # (M, K)
        # Both ways from one reading of x, once compiled: the backward pass sums over M.
        x8t = x8.t().contiguous()  # (K, M)
        ctx.save_for_backward(x8t, w8t, x_scale, w_scale, g_scale)
        ctx.formats, ctx.fast = (x.dtype, weight.dtype), fast
        amax = x.abs().amax().float()
        ctx.mark_non_differentiable(amax)
        y = torch._scaled_mm(x8, w8.t(), x_scale, w_scale, out_dtype=torch.bfloat16, use_fast_accum=True)
        return y, amax

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """(M, N) to gradients of x (M, K), of the weight (N, K), and of the slot: the gradient's largest magnitude."""
        x8t, w8t, x_scale, w_scale, g_scale = ctx.saved_tensors
        x_format, w_format = ctx.formats
        g8 = narrow(gradient, g_scale, E5M2)  # (M, N)
        g8t = g8.t().contiguous()  # (N, M)
        how = {"out_dtype": torch.bfloat16, "use_fast_accum": ctx.fast}
        for_x = torch._scaled_mm(g8, w8t.t(), g_scale, w_scale, **how)  # (M, N) (N, K)
        for_w = torch._scaled_mm(g8t, x8t.t(), g_scale, x_scale, **how)  # (N, M) (M, K)
        slot = gradient.abs().amax().float()
        return for_x.to(x_format), for_w.to(w_format), None, None, None, None, None, slot, None
