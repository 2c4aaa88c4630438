"""One training step as it is measured: forward, loss, backward, gradient clipping, optimizer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import sdpa_kernel

from gpu_bench.case import TrainingCase
from gpu_bench.gpt2 import GPT2
from gpu_bench.techniques import recipe_of
from gpu_bench.techniques.in_backward import update_in_hooks


class Trainer:
    """A model, its optimizer and the step of one case on one device.

    Attributes:
        case: What is trained.
        recipe: How it is built.
        device: Where.
        model: The model, its parameters on the device.
        optimizers: One, or one for each parameter when updates happen in the backward pass.
    """

    def __init__(self, case: TrainingCase, device: torch.device) -> None:
        self.case, self.device = case, device
        self.recipe = recipe = recipe_of(case)
        # FP32 means FP32: without this a newer default or an environment variable could turn TF32 on unseen.
        torch.set_float32_matmul_precision("high" if recipe.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = recipe.tf32
        torch.manual_seed(case.seed)
        with device:
            # Created in place: drawing 1.6 billion random numbers on a CPU takes longer than the whole measurement.
            self.model = GPT2(recipe.config, recipe.run_blocks, recipe.run_head)
        for parameter in self.model.parameters():
            # After drawing: so every format starts from the same weights.
            parameter.data = parameter.data.to(recipe.weights)
        recipe.convert(self.model)
        parameters = list(self.model.parameters())
        if recipe.update_in_backward:
            self.optimizers = update_in_hooks(parameters, recipe.optimizer)
        else:
            self.optimizers = (recipe.optimizer(parameters),)
        # FP16 gradients underflow below 6e-8, so the loss is scaled up before and the gradients down after. Whether a
        # step overflowed decides whether it counts, so here, and only here, the host has to wait for the device.
        self.scaler = torch.amp.GradScaler(device.type, enabled=recipe.scaled)
        self._model_loss: Callable[[Tensor], Tensor] = self._eager_loss
        if recipe.compile != "none":
            mode = None if recipe.compile == "default" else recipe.compile
            self._model_loss = torch.compile(self._eager_loss, mode=mode, dynamic=False)

    @property
    def compiled(self) -> bool:
        """Whether the forward and backward passes are compiled."""
        return self.recipe.compile != "none"

    def load(self, window: Tensor) -> Tensor:
        """Bring a window of tokens to the device as int64, without waiting for it."""
        return window.to(self.device, non_blocking=True).long()

    def loss(self, window: Tensor) -> Tensor:
        """Forward pass over a loaded (B, T + 1) window; the logits are not kept by the caller."""
        kernels = self.recipe.kernels
        with sdpa_kernel(list(kernels)) if kernels else nullcontext():
            return self._model_loss(window)

    def _eager_loss(self, window: Tensor) -> Tensor:
        dtype = self.recipe.autocast
        with torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None):
            _, loss = self.model(window[:, :-1], window[:, 1:])
        result: Tensor = loss
        return result

    def backward(self, loss: Tensor) -> None:
        """Leave every gradient in its parameter's `.grad`, or update the parameters at once."""
        scaled: Any = self.scaler.scale(loss)
        scaled.backward()

    def update(self) -> None:
        """Clip the gradients, step the optimizer, drop the gradients."""
        if self.recipe.update_in_backward:
            return
        (optimizer,) = self.optimizers
        self.scaler.unscale_(optimizer)
        if self.recipe.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip_norm)
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.zero_grad(set_to_none=True)

    def step(self, window: Tensor, after_pass: Callable[[], None] = lambda: None) -> Tensor:
        """One whole training step over a loaded (B * passes, T + 1) window.

        Args:
            window: The tokens of all passes.
            after_pass: Called after each forward and backward pass.

        Returns:
            The detached mean loss, still on the device: reading it here would make the host wait inside the timed
            region.
        """
        passes = self.recipe.accumulate
        losses: list[Tensor] = []
        for part in window.chunk(passes):
            if self.recipe.compile == "reduce-overhead":
                torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            loss = self.loss(part)
            self.backward(loss / passes if passes > 1 else loss)
            # A copy: a replayed CUDA graph writes the next loss to the same place.
            losses.append(loss.detach().clone())
            del loss
            after_pass()
        self.update()
        return torch.stack(losses).mean() if passes > 1 else losses[0]
