"""The questions people ask of a setup: estimate it, make it fit, explain its numbers."""
