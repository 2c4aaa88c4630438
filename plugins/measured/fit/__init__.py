"""What the engine predicts to fit a card, beside what was measured on it."""
