"""FSDP with its switches: torchrun --nproc-per-node 4 sharded.py."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

cuda = torch.cuda.is_available()
if cuda:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
kind = "cuda" if cuda else "cpu"
dist.init_process_group("nccl" if cuda else "gloo")
nodes = dist.get_world_size() // 2  # of two devices each
mesh = init_device_mesh(kind, (nodes, 2), mesh_dim_names=("copy", "share"))

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)).to(kind)
switches = {
    "mesh": mesh,  # shares inside a node, copies across nodes: HSDP
    "mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32),
    "reshard_after_forward": True,  # False keeps weights until backward
}
for block in model:
    fully_shard(block, **switches)
fully_shard(model, **switches)
optimizer = torch.optim.AdamW(model.parameters())


@model[0].register_forward_pre_hook
def look(block: torch.nn.Module, _: object) -> None:
    """Print what the first block's weights are while it computes."""
    if dist.get_rank() == 0:
        print("gathered:", block.weight.dtype, tuple(block.weight.shape))


model(torch.randn(4, 8, device=kind)).float().square().mean().backward()
optimizer.step()
if dist.get_rank() == 0:
    weight = model[0].weight
    print("kept:", weight.dtype, tuple(weight.to_local().shape))
    print("gradients summed:", weight.grad.dtype)
dist.barrier()
dist.destroy_process_group()
