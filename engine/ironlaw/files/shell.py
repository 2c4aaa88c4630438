"""A text of a shell as its commands, and each of these as its words.

As bash reads quotes, comments, continued lines, operators and places of output; nothing is run and no variable filled
in. A word keeps where it stands, so that a command can be edited.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ironlaw.core.units import Count

_BLANK = re.compile(r"(?:[^\S\n]|\\[ \t]*\r?\n(?:>[ \t])?|(?<=\s)`[ \t]*\r?\n|`#[^`]{0,999}`)+")
"""What separates words: blanks, those that do not break in a page too, ends of lines that go on (PowerShell's too),
comments that substitute nothing."""
_SPACE = re.compile(rf"\n|{_BLANK.pattern}")
_COMMENT = re.compile(r"#[^\n]*")
_OUTPUT = re.compile(r"(?:\d{1,9}|&)?>{1,2}[&|]?|<{1,3}(?=\s)")
"""Where a program writes or reads; the place follows."""
_OPERATOR = re.compile(r"\|[|&]?|&&?|;{1,2}|\n")
_PART = re.compile(
    r"(?P<plain>[^\s'\"\\`$;&|]+|\$(?![({]))|'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\"|\\(?P<escaped>.)"
    r"|(?P<kept>`[^`]{0,999}`|\$\{[^}]{0,999}\})",
    re.DOTALL,
)
_GOES_ON = re.compile(r"\\[ \t]*\r?\n")
_ESCAPED = re.compile(r"\\([\\\"$`])|\\\r?\n")
_PARENTHESIS = re.compile(r"[^()]*([()])")
_DASHES = re.compile("[\u2012-\u2015\u2212](?=[A-Za-z])")
"""What a word processor makes of two hyphens."""
_PROMPT = re.compile(
    r"(?:\([\w. -]+\)\s*)?(?:[\w.-]+@[^\s$#%]+(?:\s[^\s$#%]+)?\s?[$#%]|\[[^]\n]+]\s?[$#%]|PS[^>\n]*>|[$>%!+])[ \t]*"
)
"""What a shell or a notebook writes before a command, or in front of each when it traces them."""


@dataclass(frozen=True)
class Word:
    """A word without its quotes, and where it begins and ends in the text."""

    text: str
    start: Count
    end: Count


@dataclass(frozen=True)
class Command:
    """A command, and whether another one of the same line stands before it."""

    words: tuple[Word, ...]
    follows: bool = False

    @property
    def start(self) -> Count:
        """Where its first word begins in the text."""
        return self.words[0].start

    @property
    def end(self) -> Count:
        """Where its last word ends in the text."""
        return self.words[-1].end


class OpenQuoteError(ValueError):
    """A quotation mark has no second one."""


def commands(text: str, *, strict: bool = False) -> Iterator[Command]:
    """The commands of a text in order, each when it is asked for.

    Args:
        text: A shell's.
        strict: Whether a quotation mark without a second one is an error; else its word goes to the end.

    Raises:
        OpenQuoteError: Of a text that is read strictly.
    """
    words: list[Word] = []
    at, follows, place = _past_prompt(text, 0), False, False
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif comment := _COMMENT.match(text, at):
            at = comment.end()
        elif output := _OUTPUT.match(text, at):
            at, place = output.end(), True
        elif operator := _OPERATOR.match(text, at):
            if words:
                yield Command(tuple(words), follows)
            follows = operator[0] != "\n"
            words, at, place = [], operator.end(), False
            at = at if follows else _past_prompt(text, at)
        else:
            word = _word(text, at, strict=strict)
            words += [] if place else [word]
            at, place = word.end, False
    if words:
        yield Command(tuple(words), follows)


def _past_prompt(text: str, at: int) -> int:
    while space := _SPACE.match(text, at):
        at = space.end()
    prompt = _PROMPT.match(text, at)
    return prompt.end() if prompt else at


def _word(text: str, start: int, *, strict: bool) -> Word:
    at, found = start, ""
    while at < len(text) and not (text[at].isspace() or text[at] in ";&|"):
        if goes_on := _GOES_ON.match(text, at):
            end = goes_on.end()
        elif text.startswith("$(", at):
            end = _closed(text, at + 1)
            found += text[at:end]
        elif part := _PART.match(text, at):
            end = part.end()
            inner = part["double"]
            found += _ESCAPED.sub(r"\1", inner) if inner is not None else part[part.lastgroup or 0]
        elif strict and text[at] in "'\"":
            raise OpenQuoteError
        else:
            end = len(text) if text[at] in "'\"" else at + 1
            found += text[at:end]
        at = end
    return Word(_DASHES.sub("--", found, count=1) if _DASHES.match(found) else found, start, at)


def _closed(text: str, at: int) -> int:
    """Behind the parenthesis that closes the one at a place; the end where none does."""
    depth = 0
    while found := _PARENTHESIS.match(text, at):
        depth += 1 if found[1] == "(" else -1
        at = found.end()
        if not depth:
            return at
    return len(text)


_ASSIGNED = re.compile(
    r"^(?:(?:export|readonly|declare)[ \t]+)?(?P<name>[A-Za-z_]\w{0,60})=(?:"
    r"\"(?P<double>[^\"`]*)\"|'(?P<single>[^']*)'|"
    r"\((?P<array>(?:[^()\"'`#]++|\"[^\"`]*+\"|'[^']*+'|(?<![\s(])#|(?<=[\s(])#[^\n]*+)*+)\)|"
    r"(?P<plain>[^\s\"'`\\;&|#()]+))[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)
"""A variable that is set at the beginning of a line, and nothing else in that line."""
_USED = re.compile(
    r"(?<![\\'])(?:\"\$\{(?P<all>\w{1,60})\[@\]\}\"|\$\{(?P<each>\w{1,60})\[[@*]\]\}|"
    r"\$\{(?P<braced>\w{1,60})(?::?-[^{}$\"'`]*)?\}|\$(?P<bare>\w{1,60}))"
)
_NAMED = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*|(?<![$\w{])(?P<name>[A-Za-z_]\w{0,60})")
"""Where a text names a variable, and options, which may be called the same."""
_OPENS = re.compile(r"^[ \t]*(?:(?:if|case|for|while|until|select|function)\b|[\w-]+[ \t]*\(\)|\{)", re.MULTILINE)
"""A branch, a loop or a function, which may run or not."""
_RUNS = re.compile(r"^[ \t]*(?:source|\.|eval)[ \t]", re.MULTILINE)
"""What may set any variable."""
_MOST_NESTED = 5
"""Variables within variables that are filled in."""
LONGEST_FILLED = 200_000
"""Characters of a text whose variables are filled in, and of all that is filled in."""


def filled(text: str) -> str:
    """A text with the variables filled in to which it gives one value, in as many lines.

    They are set once, outside of branches, loops and functions, before they are used, and named nowhere else. What
    they are given is left out; all others stay as they are.
    """
    if len(text) > LONGEST_FILLED or "$" not in text or "=" not in text or "<<" in text:
        return text
    set_once = _set_once(text)
    arrays = {name for name, one in set_once.items() if one["array"]}
    given = _Given({name: _value(one) for name, one in set_once.items()}, arrays)
    for _ in range(_MOST_NESTED):
        given.values = {name: _USED.sub(given.of, value) for name, value in given.values.items()}
    used = {_name(one) for one in _USED.finditer(text)} & given.values.keys() - _OF_LAUNCHERS

    def blank(one: re.Match[str]) -> str:
        return "\n" * one[0].count("\n") if one["name"] in used else one[0]

    return _USED.sub(given.of, _ASSIGNED.sub(blank, text))


_OF_LAUNCHERS = {"NPROC_PER_NODE", "NNODES"}
"""Variables that a launcher reads too."""


def _set_once(text: str) -> dict[str, re.Match[str]]:
    """The assignments that alone give their variable a value, by its name."""
    found: dict[str, list[re.Match[str]]] = {}
    for one in _ASSIGNED.finditer(text):
        found.setdefault(one["name"], []).append(one)
    named = Counter(one["name"] for one in _NAMED.finditer(text))
    first: dict[str, int] = {}
    for one in _USED.finditer(text):
        first.setdefault(_name(one), one.start())
    runs = max((one.start() for one in _RUNS.finditer(text)), default=-1)
    opened = _OPENS.search(text)
    straight = opened.start() if opened else len(text)
    return {
        name: one
        for name, [one, *more] in found.items()
        if not more and named[name] == 1 and runs < one.start() < min(first.get(name, len(text)), straight)
    }


class _Given:
    """Values of variables, and how many characters of them may still be filled in."""

    def __init__(self, values: dict[str, str], arrays: set[str]) -> None:
        self.values, self._arrays, self._left = values, arrays, LONGEST_FILLED

    def of(self, used: re.Match[str]) -> str:
        """The value of a variable; it as it stands where nothing gives it one."""
        value = self.values.get(_name(used), used[0])
        if _name(used) in self._arrays and not (used["all"] or used["each"]):
            return used[0]  # an array's name alone is its first word
        self._left -= len(value)
        if self._left <= 0 or (used["all"] is None and ('"' in value or "'" in value)):
            return used[0]  # what has quotation marks may stand between others
        return value


def _name(used: re.Match[str]) -> str:
    return next(filter(None, used.groups()), "")


def _value(assigned: re.Match[str]) -> str:
    """What a variable is given, in one line: an array's words with blanks between them, without comments."""
    if (array := assigned["array"]) is not None:
        array = re.sub(r"""(?m)("[^"]*"|'[^']*')|(?:^|\s)#[^\n]*""", lambda one: one[1] or " ", array)
    value = next(
        part for part in (array, assigned["double"], assigned["single"], assigned["plain"]) if part is not None
    )
    return " ".join(re.sub(r"\\\r?\n", " ", value).split())
