"""A data loader over a file of tokens."""

import torch
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    """A file of tokens, cut into sequences; the target is the next token."""

    def __init__(self, tokens, length):
        self.tokens, self.length = tokens, length

    def __len__(self):
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, i):
        piece = self.tokens[i * self.length : (i + 1) * self.length + 1]
        return piece[:-1], piece[1:]


tokens = torch.arange(10_001)  # np.memmap of a file, in a real run
loader = DataLoader(
    Tokens(tokens, 100),
    batch_size=8,
    shuffle=True,
    drop_last=True,
    num_workers=0,  # 2 to 4 for each GPU, once reading takes time
    pin_memory=torch.cuda.is_available(),
)
inputs, targets = next(iter(loader))
print(len(loader), "batches of", tuple(inputs.shape))
print("targets are the next tokens:", bool((targets == inputs + 1).all()))
