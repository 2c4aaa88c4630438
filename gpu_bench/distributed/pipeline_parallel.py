"""Spreading the layers: each process holds some of them, and micro-batches flow through one after another (1F1B)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed import all_reduce, group, new_group
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn import functional

from gpu_bench.distributed.case import ScalingCase
from gpu_bench.distributed.parallel import Here, clip, make_model, make_optimizer, mixed_precision
from gpu_bench.measure.gpt2 import GPT2


class Stage(nn.Module):
    """The layers of one process: the first one also embeds, the last one also computes the logits."""

    def __init__(self, model: GPT2, case: ScalingCase, here: Here) -> None:
        super().__init__()
        self.case, self.here = case, here
        layers = list(model.blocks)
        begin, end = (len(layers) * rank // here.world for rank in (here.rank, here.rank + 1))
        self.blocks = nn.ModuleList(layers[begin:end])
        self.wte = model.wte if here.rank == 0 else None
        self.wpe = model.wpe if here.rank == 0 else None
        self.ln_f = model.ln_f if here.rank == here.world - 1 else None
        self.lm_head = model.lm_head if here.rank == here.world - 1 else None

    def forward(self, x: Tensor) -> Tensor:
        """Tokens (B, T) or the residual stream (B, T, C) in; the residual stream or logits (B, T, V) out."""
        with mixed_precision(self.case, self.here.device):
            if self.wte is not None and self.wpe is not None:
                x = self.wte(x) + self.wpe(torch.arange(x.shape[1], device=x.device))  # (B, T, C)
            for block in self.blocks:
                x = block(x)  # (B, T, C)
            if self.ln_f is not None and self.lm_head is not None:
                x = self.lm_head(self.ln_f(x))  # (B, T, V)
        return x


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of a micro-batch."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


class PipelineParallel:
    """A model whose layers are spread."""

    def __init__(self, case: ScalingCase, here: Here) -> None:
        self.here = here
        self.first, self.last = here.rank == 0, here.rank == here.world - 1
        self.loss_weight = 1.0 if self.last else 0.0
        stage = Stage(make_model(case, here.device), case, here)
        self.parameters = list(stage.parameters())
        pipeline = PipelineStage(stage, here.rank, here.world, here.device)
        self.schedule = Schedule1F1B(pipeline, case.micro_batches, loss_fn=_loss)
        # Input embedding and output head are one matrix, which the first and the last process both hold: its gradients
        # are summed, so that both copies stay the same. Every process has to take part in making the group.
        self.tied_group = new_group([0, here.world - 1])
        tied = stage.wte or stage.lm_head
        self.tied = None if tied is None else tied.weight
        self.optimizer = make_optimizer(self.parameters, case.learning_rate)

    def own(self, window: Tensor) -> Tensor:
        """All of it: the first process reads the tokens, the last one the targets."""
        return window

    def step(self, window: Tensor) -> Tensor:
        """All micro-batches forward and backward, then the shared matrix, clipping and the optimizer."""
        losses: list[Tensor] = []
        inputs = (window[:, :-1].contiguous(),) if self.first else ()
        if self.last:
            self.schedule.step(*inputs, target=window[:, 1:].contiguous(), losses=losses)
        else:
            self.schedule.step(*inputs)
        if self.tied is not None:
            all_reduce(self.tied.grad, group=self.tied_group)
        # The shared matrix counts once, for the first process.
        counted = [one for one in self.parameters if self.first or one is not self.tied]
        clip(self.parameters, group.WORLD, counted)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return torch.stack(losses).mean().detach() if self.last else torch.zeros((), device=self.here.device)
