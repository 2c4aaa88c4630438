"""Techniques that need more than a line of the training step: one file each, plain functions and modules."""
