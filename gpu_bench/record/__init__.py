"""Records: made of what repeats report, checked, kept, compared, printed. Nothing in this room imports PyTorch."""
