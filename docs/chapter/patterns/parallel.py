"""Copies that share their gradients: torchrun --nproc-per-node 2 parallel.py."""

import os

import torch
import torch.distributed as dist
import torch.distributed.nn  # imported after a group is made, it would hold the group and its threads until the exit
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank = dist.get_rank()


def gradient() -> torch.Tensor:
    """The mean gradient over all processes, after one backward pass in each."""
    torch.manual_seed(0)  # the same weights everywhere
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    # For ZeRO-3: from torch.distributed.fsdp import fully_shard; fully_shard(model)

    torch.manual_seed(1 + rank)  # other data everywhere
    model(torch.randn(4, 8)).sum().backward()  # the all-reduce happens in here
    return model.module.weight.grad.sum()


mean = gradient()
both = [torch.zeros_like(mean) for _ in range(dist.get_world_size())]
dist.all_gather(both, mean)
if rank == 0:
    print(os.environ["WORLD_SIZE"], "processes, one gradient:", bool(both[0] == both[1]))
dist.barrier()  # no process leaves while another still works
dist.destroy_process_group()
