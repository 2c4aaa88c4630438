"""A last value that shows itself as HTML, as a table of pandas does.

What it gives is a text that nobody has checked: the page and the build each make a document of it that loads nothing.
"""

from __future__ import annotations

SIZE_LIMIT = 200_000
"""Characters of HTML; a value with more is shown as its `repr`."""
MOST_ELEMENTS = 12_500
"""Elements in it, likewise. Browsers take seconds for twice as many that stand in each other."""


def of_value(value: object) -> str | None:
    """The value's HTML, if it has `_repr_html_`, as notebooks ask for, and that gives HTML of a sensible size."""
    show = None if isinstance(value, type) else getattr(value, "_repr_html_", None)
    html = show() if callable(show) else None
    if not isinstance(html, str) or len(html) > SIZE_LIMIT or html.count("<") - html.count("</") > MOST_ELEMENTS:
        return None
    return html
