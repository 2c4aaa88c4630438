"""What the source documents claim, judged at build."""
