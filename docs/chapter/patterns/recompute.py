"""A checkpointed block keeps its input only."""

import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
block = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
x = torch.randn(8, 64, requires_grad=True)


def kept(run):
    """Numbers that autograd keeps for the backward pass, weights left out."""
    weights = {p.untyped_storage().data_ptr() for p in block.parameters()}
    seen = {}

    def note(t):
        seen[t.untyped_storage().data_ptr()] = t.numel()
        return t

    with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        run()
    return sum(n for key, n in seen.items() if key not in weights)


print("as it is:    ", kept(lambda: block(x)), "numbers")
print("checkpointed:", kept(lambda: checkpoint(block, x, use_reentrant=False)))
