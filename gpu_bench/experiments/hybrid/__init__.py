"""Hybrid predictive training: some optimizer steps are not computed but predicted from the updates before them."""
