"""A text as YAML or JSON, read as something that a stranger sent: bounded, without aliases, tags or repeated keys.

How deep lists and objects lie in one another is bounded too: a reader of JSON goes as deep, which ends a browser's
Python.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ironlaw.core.errors import EngineError, Spelling, show

DEEPEST = 50
"""Lists and objects inside one another that are read; no file of a training has as many."""
MOST_BRACKETS = 200_000
"""Brackets of a text that are counted: a checkpoint's header of 1 MB has fewer."""
_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+(?:"|\Z))*+([\[\]{}])', re.DOTALL)
"""Up to the next bracket that stands in no string."""
_NAMED = re.compile(r'\s*+["}]')
"""What follows where an object begins."""


class TooDeepError(EngineError):
    """A text with more lists and objects in one another, or in all, than are read."""

    def __init__(self) -> None:
        super().__init__("text", "too deep", f"at most {DEEPEST} lists and objects deep")

    def __reduce__(self) -> tuple[type[TooDeepError], tuple[()]]:
        return TooDeepError, ()

    def worded(self, spell: Spelling) -> str:
        """The sentence."""
        return (
            f"more than {DEEPEST} lists and objects lie in one another in this text, or more than {MOST_BRACKETS:,} "
            "brackets in all, which no file of a training needs"
        )


def is_too_deep(text: str) -> bool:
    """Whether the first list or object of a JSON holds more than `DEEPEST` in one another, or too many to count.

    Where its reader would stop for a fault, what follows may count, or not.
    """
    at = depth = count = 0
    # Not searched: a text whose quotation mark is missing goes on to the end.
    while found := _BRACKET.match(text, at):
        at, count = found.end(), count + 1
        depth += 1 if found[1] in "[{" else -1
        if depth > DEEPEST or count > MOST_BRACKETS:
            return True
        if depth <= 0 or (found[1] == "{" and not _NAMED.match(text, at)):
            return False
    return False


LONGEST = 1_000_000
"""Characters of a text that is read; a log may have more, of which the end counts."""
LONGEST_DOCUMENT = 50_000
"""Characters of a YAML, which is read slowly."""

_EXPECTED = {
    "Expecting ',' delimiter": "a comma or a closing bracket is expected",
    "Expecting ':' delimiter": "a colon is expected",
    "Expecting value": "a value is expected",
    "Expecting property name": "a name in double quotes is expected",
    "Illegal trailing comma": "something is expected behind the comma",
    "Unterminated string": "a text begins whose closing quotation mark is missing",
    "Invalid control character": "a text goes over the end of its line: its closing quotation mark is expected",
    "Extra data": "the end of the text is expected",
}
"""What Python's reader of JSON says, and what it expected, in words."""


Mapping = tuple[dict[str, Any] | None, list[str]]


def mapping(text: str) -> Mapping:
    """The mapping that a text writes as JSON or YAML, None when it is no mapping; and a YAML's faults.

    Raises:
        EngineError: It is too long or too deep, has an alias or a tag, or says a key twice.
    """
    faults: list[str] = []
    value = _json(text) if _begins_as_json(text) else _yaml(text, faults) if len(text) <= LONGEST_DOCUMENT else None
    if not isinstance(value, dict):
        return None, faults
    return {key if isinstance(key, str) else show(key): one for key, one in value.items()}, faults


def _begins_as_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _json(text: str) -> Any:
    if is_too_deep(text):
        raise TooDeepError

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise EngineError("key", twice, "written once")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except EngineError:
        raise
    # A number of thousands of digits is a ValueError.
    except ValueError:
        return None


def json_fault(text: str) -> str:
    """Where a text that begins as a JSON's object breaks off being one, and what was expected there, in words.

    "" for a text that is JSON, or does not begin so.
    """
    if not _begins_as_json(text):
        return ""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        expected = next((words for said, words in _EXPECTED.items() if error.msg.startswith(said)), error.msg)
        return f"in line {error.lineno}, column {error.colno}, {expected}"
    except ValueError:
        return "a number has thousands of digits"
    return ""


def _yaml(text: str, faults: list[str]) -> Any:
    try:
        import yaml
    except ImportError:
        raise EngineError("YAML", "a file", 'read after `pip install "ironlaw[plan]"`') from None
    try:
        depth, tag = 0, None
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise EngineError("YAML", f"*{event.anchor}", "without aliases")
            tag = tag or getattr(event, "tag", None)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            # Its reader takes time by the square of the depth.
            if depth > DEEPEST:
                raise TooDeepError
        if tag:
            raise EngineError("YAML", tag, "without tags")
        # Composed once, for its keys and its values.
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key in (key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key in seen:
                    raise EngineError("key", key, "written once")
                seen.add(key)
        return None if node is None else loader.construct_document(node)
    except EngineError:
        raise
    # PyYAML lets what it cannot make of a value pass as whatever Python raises.
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark):
            faults.append(f"in line {mark.line + 1}, column {mark.column + 1}, {error.problem}")
        return None
