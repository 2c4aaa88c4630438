"""Spreading the batch: every process trains on its own part. DDP copies the model, FSDP2 spreads it too.

The plain model on a single process is the same step without any wrapper: what both are compared with.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from gpu_bench.distributed.case import ScalingCase
from gpu_bench.distributed.parallel import Here, clip, make_model, make_optimizer, mixed_precision
from gpu_bench.measure.gpt2 import GPT2


class DataParallel:
    """A model that every process trains on its own part of the batch."""

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
