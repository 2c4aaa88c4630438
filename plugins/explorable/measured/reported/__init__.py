"""Reported numbers: what somebody else measured and published, with source and settings, beside the engine's answer."""
