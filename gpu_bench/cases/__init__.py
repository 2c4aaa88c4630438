"""What is measured: cases as frozen data. Nothing in this room imports PyTorch."""
