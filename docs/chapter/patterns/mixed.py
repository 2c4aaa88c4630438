"""Mixed precision with clipping."""

import torch

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(16, 1).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler(device, enabled=False)  # True for FP16

x = torch.randn(256, 16, device=device)
y = x.sum(1, keepdim=True)
for _ in range(400):
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(x).float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # clip true gradients, not scaled ones
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
print("weights are", model.weight.dtype)
print("the loss fell below 0.1:", loss.item() < 0.1)
