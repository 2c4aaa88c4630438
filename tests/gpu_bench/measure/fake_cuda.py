"""Run as a program: what GPT-2 and its optimizer hold on a GPU that is not there, and where updates count their steps.

Fake tensors say that they are on `cuda:0` and hold nothing. A process of its own, since a mistake ends it by a signal.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from gpu_bench.cases.sizes import SIZES
from gpu_bench.measure import memory
from gpu_bench.measure.gpt2 import GPT2
from gpu_bench.measure.techniques.optimizers import make_optimizer
from tests.gpu_bench.tiny import tiny_case

CUDA = torch.device("cuda", 0)


def held(size: str) -> dict[str, Any]:
    """Bytes: of the parameters as the tracker counts them and as a record does, and of the optimizer's state."""
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
        return {
            "tracked": peak["Parameter"],
            "recorded": memory.components(model, peak, peak["Optstate"])["parameters"],
            "held": memory.storage_bytes(model.parameters()),
            "state": memory.optimizer_vectors([optimizer]),
        }


def counts(optimizer: Any) -> dict[str, Any]:
    """Of an update that a CUDA graph records and of another: where steps are counted, and what each group asks for."""
    found = {}
    for name, recorded in (("recorded", True), ("launched", False)):
        with FakeTensorMode():
            weight = nn.Parameter(torch.empty(16, device=CUDA))
            weight.grad = torch.empty(16, device=CUDA)
            made = make_optimizer(tiny_case(optimizer=optimizer, step_graph=recorded), [weight])
            made.step()
        steps = [state.device.type for key, state in made.state[weight].items() if key == "step"]
        found[name] = {"steps": steps, "capturable": [group.get("capturable") for group in made.param_groups]}
    return found


if __name__ == "__main__":
    print(json.dumps({"held": held, "counts": counts}[sys.argv[1]](sys.argv[2])))
