"""The error of a device that cannot do what a case asks for: a result, not a failure."""

from __future__ import annotations


class UnsupportedError(Exception):
    """The device, or the software on it, lacks what the case needs; the message says what."""
