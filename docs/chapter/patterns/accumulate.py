"""Gradients of micro-batches add up to those of the batch."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(16, 4)
inputs, targets = torch.randn(32, 16), torch.randn(32, 4)
loss_function = torch.nn.functional.mse_loss


def gradients(pieces):
    """The gradient of the batch, gathered piece by piece."""
    model.zero_grad()
    for x, y in zip(inputs.chunk(pieces), targets.chunk(pieces), strict=True):
        (loss_function(model(x), y) / pieces).backward()  # divide: a mean
    return model.weight.grad.clone()


whole = gradients(1)
for pieces in (2, 8):
    same = torch.allclose(gradients(pieces), whole, atol=1e-6)
    print(f"{pieces} micro-batches, same gradient: {same}")
