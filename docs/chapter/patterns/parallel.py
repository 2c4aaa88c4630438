"""Copies, then shares of one model: torchrun --nproc-per-node 2 parallel.py."""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
if cuda:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if cuda else "gloo")
rank, world = dist.get_rank(), dist.get_world_size()


def blocks() -> torch.nn.Sequential:
    """A model of two blocks, and the seeds of a run."""
    torch.manual_seed(0)  # the same weights everywhere
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).to(device)
    torch.manual_seed(1 + rank)  # other data everywhere
    return model


def loss(model: torch.nn.Module) -> torch.Tensor:
    """Of one more micro-batch."""
    return model(torch.randn(4, 8, device=device)).square().mean()


def copied() -> torch.Tensor:
    """A gradient of two micro-batches by data parallelism."""
    model = DistributedDataParallel(blocks())
    with model.no_sync():  # without this, each backward pass would exchange
        loss(model).backward()
    loss(model).backward()  # the all-reduce happens in here
    return model.module[0].weight.grad


def divided() -> torch.Tensor:
    """The same gradient by FSDP, which is ZeRO-3."""
    model = blocks()
    for block in model:
        fully_shard(block)  # each block is gathered by itself
    fully_shard(model)  # the root last, then the optimizer
    model.set_requires_gradient_sync(False)  # keeps whole gradients
    loss(model).backward()
    model.set_requires_gradient_sync(True)
    loss(model).backward()  # the reduce-scatter happens in here
    return model[0].weight.grad.full_tensor()  # .grad is a DTensor, this device's share


mean = copied()
both = [torch.zeros_like(mean) for _ in range(world)]
dist.all_gather(both, mean)
shared = divided()
if rank == 0:
    print(world, "processes, one gradient:", torch.equal(both[0], both[1]))
    print("The same from shares:", torch.allclose(mean, shared))
dist.barrier()  # no process leaves while another still works
dist.destroy_process_group()
