"""Run as a program: what a size of GPT-2 and its AdamW hold on a GPU that is not there, counted as a GPU counts.

Fake tensors say that they are on `cuda:0` and hold nothing. A process of its own, since a mistake ends it by a signal.
"""

from __future__ import annotations

import json
import sys

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from gpu_bench.cases.sizes import SIZES
from gpu_bench.measure import memory
from gpu_bench.measure.gpt2 import GPT2

CUDA = torch.device("cuda", 0)


def main(size: str) -> None:
    """Print bytes: of the parameters as the tracker counts them and as a record does, and of the optimizer's state."""
    with torch.device("meta"):
        model = GPT2(SIZES[size])
    with FakeTensorMode():
        made: dict[nn.Parameter, nn.Parameter] = {}
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if parameter not in made:
                    made[parameter] = nn.Parameter(torch.empty(parameter.shape, device=CUDA))
                setattr(module, name, made[parameter])
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        for parameter in model.parameters():
            parameter.grad = torch.empty_like(parameter)
        optimizer.step()
        tracker = MemTracker()
        tracker.track_external(model, optimizer)
        peak = tracker.get_tracker_snapshot("current")[CUDA]
        found = {
            "tracked": peak["Parameter"],
            "recorded": memory.components(model, peak, peak["Optstate"])["parameters"],
            "held": memory.storage_bytes(model.parameters()),
            "state": memory.optimizer_vectors([optimizer]),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
