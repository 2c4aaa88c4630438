"""The numbers of figures, tables and equations: counted through a page, named after the page's place in the chapter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from explorable.shared.scan import scan

Kind = Literal["figure", "table", "equation"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_PREFIX: dict[Kind, str] = {"figure": "fig-", "table": "tab-", "equation": "eq-"}


def label(kind: Kind, name: str) -> str:
    """What a figure, table or equation is called in references, and its id in the page: `fig-a-plot`."""
    return _PREFIX[kind] + name


@dataclass(frozen=True)
class Target:
    """A numbered thing.

    Attributes:
        kind: What it is.
        number: `2.1`: the first of its kind on the second page of the chapter.
        page: The page it stands on, relative to the docs folder.
        line: Its line in the page's file.
    """

    kind: Kind
    number: str
    page: str
    line: int

    @property
    def title(self) -> str:
        """How a sentence names it: `Figure 2.1`."""
        return f"{self.kind.capitalize()} {self.number}"


@dataclass
class Labels:
    """All numbered things of the chapter.

    Attributes:
        targets: Label -> thing.
        doubles: Labels given twice: the second thing, and the first.
    """

    targets: dict[str, Target] = field(default_factory=dict)
    doubles: list[tuple[str, Target, Target]] = field(default_factory=list)

    @classmethod
    def of(cls, pages: Iterable[tuple[str, str]]) -> Labels:
        """Number the figures, tables and equations of the pages.

        Args:
            pages: Name and Markdown of each page, in reading order.
        """
        labels = cls()
        for place, (page, markdown) in enumerate(pages, 1):
            counts: dict[str, int] = {}
            for block in scan(markdown).blocks:
                kind = next((known for known in KINDS if known == block.name), None)
                if kind is None or not block.argument:
                    continue
                counts[kind] = counts.get(kind, 0) + 1
                target = Target(kind, f"{place}.{counts[kind]}", page, block.line)
                name = label(kind, block.argument)
                first = labels.targets.setdefault(name, target)
                if first is not target:
                    labels.doubles.append((name, target, first))
        return labels
