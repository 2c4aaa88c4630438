"""Small trainings that fail in a known way, and the same trainings with the repair: every curve is a real run."""
