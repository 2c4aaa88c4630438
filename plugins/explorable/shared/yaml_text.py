"""YAML that authors write, read strictly: a key that stands twice is a mistake, and so is a name for a value.

A few lines of names of names stand for more values than a machine holds.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

LONGEST_INTEGER = 256
"""Bits of a whole number."""


class _Strict(yaml.SafeLoader):
    """Refuses a mapping in which a key stands twice, aliases, and values that PyYAML cannot make."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node. Raises `MarkedYAMLError` where PyYAML lets another of Python's errors pass."""
        try:
            value = super().construct_object(node, deep)
        except (LookupError, AttributeError, ArithmeticError, ValueError) as error:
            problem = f"a value cannot be read ({type(error).__name__})"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None
        if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:  # Python does not write them out
            raise yaml.MarkedYAMLError(problem="a number is too large", problem_mark=node.start_mark)
        return value

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The node. Raises `MarkedYAMLError` for an alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"the alias '*{event.anchor}' is not read", problem_mark=event.start_mark
            )
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping. Raises `MarkedYAMLError` at the second of two equal keys."""
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key '{key.value}' stands twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


# Newer YAML takes `1e12` for a number, and so does everybody who writes it.
_Strict.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), [*"-+0123456789"])


def load(text: str) -> Any:
    """The value of a YAML text. Raises `yaml.MarkedYAMLError` with the place of a mistake."""
    try:
        return yaml.load(text, Loader=_Strict)
    except (ArithmeticError, ValueError, RecursionError) as error:  # of a character that is none, of lists in lists
        raise yaml.MarkedYAMLError(problem=f"a value cannot be read ({type(error).__name__})") from None
