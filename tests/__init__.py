"""The tests; each folder mirrors the one it tests."""
