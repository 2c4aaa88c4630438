"""Weights in BF16 and an FP32 master copy, by hand."""

import torch

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"


def trained(by_master: bool) -> torch.Tensor:
    """The gain of a LayerNorm after ten steps."""
    model = torch.nn.LayerNorm(16, device=device, dtype=torch.bfloat16)
    weights = list(model.parameters())
    master = [weight.detach().float() for weight in weights]
    optimizer = torch.optim.AdamW(master if by_master else weights, lr=1e-3)
    for _ in range(10):
        x = torch.randn(32, 16, device=device, dtype=torch.bfloat16)
        (model(x) - 2 * x).float().square().mean().backward()
        if by_master:
            for weight, copy in zip(weights, master, strict=True):
                copy.grad, weight.grad = weight.grad.float(), None
        optimizer.step()
        optimizer.zero_grad()
        if by_master:
            for weight, copy in zip(weights, master, strict=True):
                weight.data.copy_(copy)  # rounds to BF16
    return model.weight.detach()


print("BF16 alone moved:", bool((trained(False) != 1).any()))
print("with a master copy:", bool((trained(True) != 1).any()))
