"""How accurate the engine is: published measurements, the engine's predictions for them, and the error of each."""
