"""What is wrong with a page, shown in the page while an author's server builds it: they look there, not at the log."""

from __future__ import annotations

import html
import logging


class Heard(logging.Handler):
    """Hears what anybody warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._heard: list[str] = []
        # What was heard before the first page: of data that any page may show.
        self._before: list[str] = []
        self._making = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        (self._heard if self._making else self._before).append(record.getMessage())

    def begin(self) -> None:
        """Hear what the next build says before its pages."""
        self._making = False
        self._before.clear()

    def enter(self) -> None:
        """Hear what is said of the next page."""
        self._making = True
        self._heard.clear()

    def shown(self, page: str, content: str) -> str | None:
        """The page's content with all that is wrong with it and that it does not say; None if that is nothing."""
        # What is wrong with another page stands there.
        before = [line for line in self._before if ".md" not in line or page in line]
        unsaid = [line for line in dict.fromkeys([*before, *self._heard]) if html.escape(line) not in content]
        if not unsaid:
            return None
        said = "".join(f"<li>{html.escape(line)}</li>" for line in unsaid)
        title = '<p class="admonition-title">This page does not pass the strict build</p>'
        return f'<div class="admonition failure" role="alert">{title}<ul>{said}</ul></div>\n{content}'
