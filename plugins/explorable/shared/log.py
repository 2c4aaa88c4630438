"""How every part says what is wrong: as a warning, which a host makes a defect that fails its strict build."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

ALL = "explorable"
"""The logger above those of all parts: a host listens to it."""

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter


class _Named(_Adapter):
    """Says the part's name before every message."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[str, MutableMapping[str, Any]]:
        """Put it in front."""
        return f"{self.logger.name.rpartition('.')[2]}: {msg}", kwargs


def logger(part: str) -> _Named:
    """The logger of a part."""
    return _Named(logging.getLogger(f"{ALL}.{part}"), {})
