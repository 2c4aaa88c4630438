"""Suite 13: the same training step on one and on many processes, how well it scales, what communication takes of it."""
