"""What the engine says of a case before it is measured. Nothing in this room imports PyTorch."""
