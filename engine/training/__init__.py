"""What surrounds a step: data loading, learning rates, update rules, activation functions."""
