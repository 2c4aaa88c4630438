"""What a step computes: operation by operation, what each keeps for backward, and as which kernels it runs."""
