"""What a step holds: the ledger of named tensors, and the moment at which their sum is largest."""
