"""One training step as it is measured: forward, loss, backward, gradient clipping, optimizer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.attention import sdpa_kernel

from gpu_bench.cases.case import NARROW, Precision, TrainingCase
from gpu_bench.cases.sizes import config_of
from gpu_bench.measure.gpt2 import GPT2, KERNELS, RunHead, wide_loss
from gpu_bench.measure.peers import TransformersGPT2, convert_by_torchao, liger_head
from gpu_bench.measure.techniques.checkpointing import blocks_under, head_in
from gpu_bench.measure.techniques.compilation import StepGraph, check_compiled_block, compiled_loss
from gpu_bench.measure.techniques.epilogues import fuse
from gpu_bench.measure.techniques.flat import FlatAdamW
from gpu_bench.measure.techniques.fp8 import Scales, convert_with_delay
from gpu_bench.measure.techniques.optimizers import make_optimizer, update_in_backward
from gpu_bench.measure.techniques.trial import choose, usable


@dataclass(frozen=True)
class Formats:
    """What a precision means for a training step."""

    weights: torch.dtype = torch.float32  # Format of parameters, gradients and optimizer state
    autocast: torch.dtype | None = None  # Format of matrix products under autocast, or None
    tf32: bool = False  # Whether FP32 products may use TF32


FORMATS: dict[Precision, Formats] = {
    "fp32": Formats(),
    "tf32": Formats(tf32=True),
    "amp-bf16": Formats(autocast=torch.bfloat16),
    # Autocast is for the products that `techniques.fp8` leaves in 16 bits.
    "fp8": Formats(autocast=torch.bfloat16),
    # The optimizer makes the BF16 weights from the FP32 ones that it is given.
    "bf16-master": Formats(weights=torch.bfloat16),
    "bf16-rounded": Formats(weights=torch.bfloat16),
    "fp8-master": Formats(weights=torch.bfloat16),
}


class Trainer:
    """A model, its optimizer and the step of one case on one device.

    Attributes:
        case: What is trained, and by which techniques.
        device: Where.
        formats: What the case's precision means.
        model: The model, its parameters on the device.
        optimizers: One, or one for each parameter when updates happen in the backward pass.
        fallbacks: What runs in its plain form because its fast form does not work here, and why; a line each.
    """

    def __init__(self, case: TrainingCase, device: torch.device) -> None:
        self.case, self.device = case, device
        self.formats = formats = FORMATS[case.precision]
        # FP32 means FP32: without this a newer default or an environment variable could turn TF32 on unseen.
        torch.set_float32_matmul_precision("high" if formats.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = formats.tf32
        torch.manual_seed(case.seed)
        config = config_of(case)
        narrow = case.precision in NARROW
        head: RunHead = wide_loss if narrow and case.loss_chunks == 1 else head_in(case.loss_chunks)
        if case.implementation == "liger":
            head = liger_head
        with device:
            # Created in place: drawing 1.6 billion random numbers on a CPU takes longer than the whole measurement.
            residual = torch.bfloat16 if case.residual == "bf16" else None
            self.model: GPT2
            if case.implementation == "transformers":
                self.model = cast(GPT2, TransformersGPT2(config))
            else:
                self.model = GPT2(config, blocks_under(case.checkpointing), head, residual)
        self.fallbacks: list[str] = []
        if case.epilogues == "fused":
            rows = case.batch * case.sequence
            found, self.fallbacks = usable(rows, config.hidden, device)
            if device.type == "cuda":
                choose(found, rows, config.hidden, device)
            fuse(self.model, found)
        parameters = list(self.model.parameters())
        for parameter in () if narrow else parameters:
            # Converted after the weights are drawn, so that every format starts from the same ones.
            parameter.data = parameter.data.to(formats.weights)
        if case.optimizer_in_backward:
            self.optimizers = update_in_backward(case, parameters)
        else:
            self.optimizers = (make_optimizer(case, parameters),)
        self.scales: Scales | None = None
        if case.scaling != "dynamic":
            self.scales = convert_with_delay(self.model, fast=case.scaling == "delayed-fast")
        elif case.precision == "fp8":
            convert_by_torchao(self.model)
        self._model_loss: Callable[[Tensor], Tensor] = self.eager_loss
        self._ready = False
        self._step: Callable[[Tensor], Tensor] = self._run_step
        self.gradient_norm: Tensor | None = None
        if self.compiled:
            self._model_loss = compiled_loss(case, self.model, self.eager_loss)
        if case.step_graph:
            self._step = StepGraph(self._run_step, device)

    @property
    def compiled(self) -> bool:
        """Whether the forward and backward passes are compiled."""
        return self.case.compile != "none"

    def load(self, window: Tensor) -> Tensor:
        """Bring a window of tokens to the device as int64, without waiting for it."""
        return window.to(self.device, non_blocking=True).long()

    def loss(self, window: Tensor) -> Tensor:
        """Forward pass over a loaded (B, T + 1) window; the logits are not kept by the caller."""
        with self._attention():
            return self._model_loss(window)

    def _attention(self) -> AbstractContextManager[None]:
        """Where only the case's attention kernel runs. What is compiled elsewhere keeps the one it found there."""
        kernels = KERNELS[self.case.attention_kernel]
        return sdpa_kernel(list(kernels)) if kernels else nullcontext()

    def eager_loss(self, window: Tensor) -> Tensor:
        """Forward pass over a loaded (B, T + 1) window, never compiled."""
        with self._autocast():
            _, loss = self.model(window[:, :-1], window[:, 1:])
        result: Tensor = loss
        return result

    def _autocast(self) -> torch.autocast:
        dtype = self.formats.autocast
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def backward(self, loss: Tensor) -> None:
        """Leave every gradient in its parameter's `.grad`, or update the parameters at once."""
        loss.backward()  # type: ignore[no-untyped-call]
        if self.scales:
            self.scales.after_pass()

    def update(self) -> None:
        """Clip the gradients, step the optimizer, drop the gradients."""
        if self.case.optimizer_in_backward:
            return
        (optimizer,) = self.optimizers
        if self.case.clip_norm is not None and not isinstance(optimizer, FlatAdamW):
            self.gradient_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.case.clip_norm)
        optimizer.step()
        if isinstance(optimizer, FlatAdamW):
            self.gradient_norm = optimizer.gradient_norm
        optimizer.zero_grad(set_to_none=True)
        if self.scales:
            self.scales.after_update()

    def prepare(self, window: Tensor) -> None:
        """What must happen before the first step, on that step's (B * passes, T + 1) window; training starts after it.

        Raises:
            UnsupportedError: When compiled FP8 layers compute something else than they do uncompiled.
        """
        self._ready = True
        passes = self.case.accumulate
        if self.scales:
            # One sequence shows how large the numbers are; its loss has the weight that it has in a step.
            with self._attention():
                self.scales.calibrate(lambda: self.eager_loss(window[:1]) / len(window))
            self.fallbacks += self.scales.fallbacks
        if self.compiled and self.case.precision.startswith("fp8"):
            with torch.no_grad(), self._autocast():
                x = self.model.embed(window[: len(window) // passes, :-1])
            first = self.model.blocks[0]
            with self._attention():
                check_compiled_block(first, lambda x: self.model.run_blocks([first], x), x, self.formats.autocast)
            if self.scales:
                self.scales.forget()

    def step(self, window: Tensor, after_pass: Callable[[], None] | None = None) -> Tensor:
        """One whole training step over a loaded (B * passes, T + 1) window.

        `after_pass` is called after each forward and backward pass, none of which a CUDA graph replays then. Returns
        the detached mean loss, still on the device: reading it here would make the host wait inside the timed region.
        """
        if not self._ready:
            self.prepare(window)
        if after_pass is not None:
            return self._run_step(window, after_pass)
        return self._step(window)

    def _run_step(self, window: Tensor, after_pass: Callable[[], None] = lambda: None) -> Tensor:
        passes = self.case.accumulate
        losses: list[Tensor] = []
        for part in window.chunk(passes):
            loss = self.loss(part)
            self.backward(loss / passes if passes > 1 else loss)
            # A copy: a replayed CUDA graph writes the next loss to the same place.
            losses.append(loss.detach().clone())
            del loss
            after_pass()
        self.update()
        return torch.stack(losses).mean() if passes > 1 else losses[0]
