"""Models that are no transformers: convolutions, recurrent nets, recommenders."""
