"""The MkDocs plugin `measured`: inline numbers and tables from the engine or a record, and checks of claims.

What an author writes and what it becomes is described in `docs/authoring/`, the way of a number in its architecture.
"""
