"""Number formats: bytes of a value, every bit of a float, and the precision modes of training."""
