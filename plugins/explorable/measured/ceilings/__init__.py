"""Ceilings of cards: a block that measures the reader's own, and a table of the files that readers contributed."""
