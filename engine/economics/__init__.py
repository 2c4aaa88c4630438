"""Money, energy and carbon of a run, and what failures cost it."""
