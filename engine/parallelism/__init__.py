"""Parallel training: what is divided, what is sent, what waits."""
