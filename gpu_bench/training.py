"""One training step as it is measured: forward, loss, backward, gradient clipping, optimizer."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from gpu_bench.cases import Case, OptimizerName
from gpu_bench.gpt2 import GPT2, SIZES

_AUTOCAST = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}


def make_optimizer(name: OptimizerName, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """PyTorch's own optimizer of that name with its default implementation, over all parameters."""
    parameters = list(model.parameters())
    match name:
        case "sgd":
            return torch.optim.SGD(parameters, lr=learning_rate)
        case "momentum":
            return torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9)
        case "rmsprop":
            return torch.optim.RMSprop(parameters, lr=learning_rate)
        case "adam":
            return torch.optim.Adam(parameters, lr=learning_rate, betas=(0.9, 0.95))
        case "adamw":
            return torch.optim.AdamW(parameters, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1)


class Trainer:
    """A model, its optimizer and the precision policy of one case on one device."""

    def __init__(self, case: Case, device: torch.device) -> None:
        # FP32 means FP32: without this a newer default or an environment variable could turn TF32 on unseen.
        torch.set_float32_matmul_precision("high" if case.precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = case.precision == "tf32"
        torch.manual_seed(case.seed)
        self.case = case
        self.device = device
        config = replace(SIZES[case.model], attention=case.attention, dropout=case.dropout)
        dtype = torch.bfloat16 if case.precision == "bf16" else torch.float32
        with device:
            # Created in place: drawing 1.6 billion random numbers on a CPU takes longer than the whole measurement.
            model = GPT2(config)
        self.model = model.to(dtype)
        self.optimizer = make_optimizer(case.optimizer, self.model, case.learning_rate)
        # FP16 gradients underflow below 6e-8, so the loss is scaled up before and the gradients down after. Whether a
        # step overflowed decides whether it counts, so here, and only here, the host has to wait for the device.
        self.scaler = torch.amp.GradScaler(device.type, enabled=case.precision == "amp-fp16")

    def load(self, window: Tensor) -> Tensor:
        """Bring a (B, T + 1) uint8 window to the device as int64, without waiting for it."""
        return window.to(self.device, non_blocking=True).long()

    def loss(self, window: Tensor) -> Tensor:
        """Forward pass over a loaded window; the logits are not kept by the caller."""
        dtype = _AUTOCAST.get(self.case.precision)
        with torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None):
            _, loss = self.model(window[:, :-1], window[:, 1:])
        result: Tensor = loss
        return result

    def backward(self, loss: Tensor) -> None:
        """Leave every gradient in its parameter's `.grad`."""
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def step(self, window: Tensor) -> Tensor:
        """One whole training step over a loaded window.

        Returns:
            The detached loss, still on the device: reading it here would make the host wait inside the timed region.
        """
        loss = self.loss(window)
        self.backward(loss)
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.case.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()
