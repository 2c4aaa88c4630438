"""The ways of spreading a training step: the batch (DDP, FSDP2), every matrix, or the layers; and what they share.

DDP copies the model, FSDP2 spreads it too. Tensor parallelism divides every matrix and sums twice per block and pass. A
pipeline divides the layers, and cuts the batch into pieces so that its stages work at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup, all_reduce, group, new_group
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from gpu_bench.cases.sizes import SIZES, GPT2Config
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.measure.gpt2 import GPT2, Block, SelfAttention

CLIP_NORM = 1.0


@dataclass(frozen=True)
class Here:
    """This process among the others."""

    rank: int  # Which it is, from 0 on
    world: int  # How many there are
    device: torch.device  # What it computes on


def model_config(case: ScalingCase) -> GPT2Config:
    """The model's shape, its vocabulary padded to a multiple of 128, so that it divides among processes."""
    config = SIZES[case.model]
    return replace(config, vocab=-(-config.vocab // 128) * 128)


def make_model(case: ScalingCase, device: torch.device) -> GPT2:
    """The whole model, with the same weights in every process."""
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(case.seed)
    with device:
        model = GPT2(model_config(case))
    for block in model.blocks if case.compile != "none" else ():
        # What is compiled is decided at the first call, when the block is already spread.
        block.compile(mode=case.compile)
    return model


def mixed_precision(case: ScalingCase, device: torch.device) -> AbstractContextManager[None]:
    """Autocast to BF16, where the case asks for it."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=case.precision == "amp-bf16")


def make_optimizer(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
    """Fused AdamW. Spread and whole parameters form two groups, since one fused update cannot take both kinds."""
    groups = [{"params": group} for group in by_kind(parameters) if group]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True)


def by_kind(parameters: Iterable[nn.Parameter]) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Parameters that are spread over processes, and those that are whole in each."""
    spread: list[nn.Parameter] = []
    whole: list[nn.Parameter] = []
    for parameter in parameters:
        (spread if isinstance(parameter, DTensor) else whole).append(parameter)
    return spread, whole


def clip(
    parameters: Sequence[nn.Parameter], group: ProcessGroup | None = None, counted: Sequence[nn.Parameter] | None = None
) -> None:
    """Scale all gradients of this process down to a global norm of at most `CLIP_NORM`.

    `group` are the processes with different parameters, whose norms are put together; None where all hold a part of
    every parameter, or all of them. `counted` are the parameters that count for the norm; None is all.
    """
    squared = torch.zeros((), device=parameters[0].device)
    for alike in by_kind(parameters if counted is None else counted):
        gradients = [parameter.grad for parameter in alike if parameter.grad is not None]
        if gradients:
            norm = nn.utils.get_total_norm(gradients)
            squared += (norm.full_tensor() if isinstance(norm, DTensor) else norm).square()
    if group is not None:
        torch.distributed.all_reduce(squared, group=group)
    for alike in by_kind(parameters):
        if alike:
            nn.utils.clip_grads_with_norm_(alike, CLIP_NORM, squared.sqrt())


class DataParallel:
    """A model that every process trains on its own part of the batch.

    Attributes:
        loss_weight: The weight of this process's loss: the weighted sum over all processes is the whole batch's loss.
    """

    def __init__(self, case: ScalingCase, here: Here, model: nn.Module) -> None:
        self.case, self.here, self.model = case, here, model
        self.optimizer = make_optimizer(model.parameters(), case.learning_rate)
        self.loss_weight = 1.0 / here.world

    def own(self, window: Tensor) -> Tensor:
        """This process's rows."""
        return window.chunk(self.here.world)[self.here.rank]

    def step(self, window: Tensor) -> Tensor:
        """Forward, backward (gradients are averaged over the processes meanwhile), clipping, optimizer."""
        with mixed_precision(self.case, self.here.device):
            _, loss = self.model(window[:, :-1], window[:, 1:])
        loss.backward()
        clip(list(self.model.parameters()))
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        result: Tensor = loss.detach()
        return result


def plain(case: ScalingCase, here: Here) -> DataParallel:
    """The model as it is, on one process."""
    return DataParallel(case, here, make_model(case, here.device))


def ddp(case: ScalingCase, here: Here) -> DataParallel:
    """A copy of the model in each process; gradients are summed while the backward pass still runs."""
    model = make_model(case, here.device)
    own = [here.device.index] if here.device.type == "cuda" else None
    return DataParallel(case, here, DistributedDataParallel(model, device_ids=own, gradient_as_bucket_view=True))


def fsdp2(case: ScalingCase, here: Here) -> DataParallel:
    """Every parameter, gradient and optimizer state spread; each block is gathered when it is needed."""
    model = make_model(case, here.device)
    _shard(model, case, here)
    return DataParallel(case, here, model)


def _shard(model: GPT2, case: ScalingCase, here: Here) -> None:
    """Spread the blocks, each gathered as one, then what is left: embeddings, last norm, head."""
    mesh = init_device_mesh(here.device.type, (here.world,))
    # Parameters stay FP32 and travel as BF16, gradients are summed in FP32: half the bytes, no loss in the sum.
    mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    policy = mixed if case.precision == "amp-bf16" else MixedPrecisionPolicy()
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


_PLAN = {
    "wte": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
    "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
    "blocks.*.attn.c_attn": ColwiseParallel(),
    "blocks.*.attn.c_proj": RowwiseParallel(),
    "blocks.*.mlp.c_fc": ColwiseParallel(),
    "blocks.*.mlp.c_proj": RowwiseParallel(),
}
"""Column-wise, then row-wise: what comes out of the first needs no exchange before it goes into the second."""


class LocalHeads(nn.Module):
    """Attention over H / N heads of `whole`: `c_attn` yields (B, T, 3C / N), `c_proj` takes (B, T, C / N)."""

    def __init__(self, whole: SelfAttention, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj, self.resid_dropout = whole.c_attn, whole.c_proj, whole.resid_dropout
        self.attend = whole.attend

    def forward(self, x: Tensor) -> Tensor:
        """Attend with the own heads; the projection sums over all processes."""
        b, t, _ = x.shape
        q, k, v = self.c_attn(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # three times (B, H / N, T, D)
        out: Tensor = self.resid_dropout(self.c_proj(self.attend(q, k, v)))  # (B, T, C)
        return out


class TensorParallel(DataParallel):
    """A model whose matrices are spread; every process sees the whole batch."""

    def __init__(self, case: ScalingCase, here: Here) -> None:
        model = make_model(case, here.device)
        if model.config.heads % here.world:
            raise ValueError(f"{case.model} has {model.config.heads} heads; {here.world} processes do not divide")
        _spread(model, here)
        super().__init__(case, here, model)

    def own(self, window: Tensor) -> Tensor:
        """All of it."""
        return window

    def step(self, window: Tensor) -> Tensor:
        """The same step; logits stay spread over the vocabulary, in the loss too."""
        with loss_parallel():
            loss = super().step(window)
        return cast(DTensor, loss).to_local()


def _spread(model: GPT2, here: Here) -> None:
    """Replace attention by that over the own heads, then spread the matrices."""
    n = here.world
    for block in model.blocks:
        assert isinstance(block, Block)
        _group_by_process(block.attn.c_attn, n)
        block.attn = cast(SelfAttention, LocalHeads(block.attn, model.config.heads // n))
    parallelize_module(model, init_device_mesh(here.device.type, (n,)), _PLAN)
    # Both were spread the same way, each into a tensor of its own; they are one matrix.
    model.lm_head.weight = model.wte.weight


@torch.no_grad()
def _group_by_process(c_attn: nn.Linear, n: int) -> None:
    """Reorder the rows from all queries, all keys, all values to those of process 0, those of process 1, ..."""
    width = c_attn.in_features // n
    for tensor in (c_attn.weight, c_attn.bias):
        if tensor is not None:
            grouped = tensor.view(3, n, width, *tensor.shape[1:]).transpose(
                0, 1
            )  # (3, N, C / N, ...) -> (N, 3, C / N, ...)
            tensor.copy_(grouped.flatten(0, 2).clone())


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


Parallel = DataParallel | PipelineParallel
"""One way of spreading a training step over processes."""
