"""Experiments of the book, measured as cases: trainings that fail, and trainings that predict their own steps."""
