"""Repeats on a Ray cluster instead of this machine."""
