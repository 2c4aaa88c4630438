"""How long a step takes on one device: matrix products, traffic, the update, and the gaps between kernels."""
