"""Measured tables: rows from committed records."""
