"""GPT-2's byte-pair encoding in plain Python: text to tokens and back, with the vocabulary that GPT-2 was trained with.

Sennrich et al. 2016, arXiv 1508.07909; Radford et al. 2019, section 2.2. A text is cut into words; a word's bytes are
tokens 0 to 255; then the pair that was learned earliest is merged, again and again. Merge number n makes token 256 + n,
so the smallest merged token is also the earliest learned.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

VOCABULARY = 50257
"""256 bytes, 50,000 merges, and the end-of-text token, which no text contains."""
END_OF_TEXT = 50256
MERGES_FILE = Path(__file__).parents[1] / "vocabulary" / "vocab.bpe"
_SPACES = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
"""What Unicode calls white space. Python's `\\s` has four more."""


class Encoder:
    """The encoding. Making one reads the merges, which takes a twentieth of a second; `gpt2_encoder` keeps one.

    Args:
        merges: The lines of the merges file: two symbols each, the earliest learned first.
    """

    def __init__(self, merges: Iterable[str]) -> None:
        symbols = byte_symbols()
        self._byte_tokens = [0] * 256
        self._bytes: list[bytes] = []
        token_of: dict[str, int] = {}
        for token, (byte, symbol) in enumerate(symbols.items()):
            self._byte_tokens[byte] = token_of[symbol] = token
            self._bytes.append(bytes([byte]))
        self._merged: dict[tuple[int, int], int] = {}
        for line in merges:
            left, right = line.split()
            pair = token_of[left], token_of[right]
            token_of[left + right] = self._merged[pair] = len(self._bytes)
            self._bytes.append(self._bytes[pair[0]] + self._bytes[pair[1]])
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> array[int]:
        """The text's tokens, 16 bits each."""
        tokens = array("H")
        known = self._words
        for word in words(text):
            found = known.get(word)
            if found is None:
                found = known[word] = self._encode_word(word)
            tokens.extend(found)
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens; bytes that are not UTF-8 become the replacement character."""
        return b"".join(self._bytes[token] for token in tokens if token != END_OF_TEXT).decode("utf-8", "replace")

    def _encode_word(self, word: str) -> tuple[int, ...]:
        tokens = [self._byte_tokens[byte] for byte in word.encode("utf-8", "surrogatepass")]
        while len(tokens) > 1:
            merges = [token for pair in pairwise(tokens) if (token := self._merged.get(pair)) is not None]
            if not merges:
                break
            tokens = self._merge(tokens, min(merges))
        return tuple(tokens)

    def _merge(self, tokens: list[int], merged: int) -> list[int]:
        """Replace every pair that makes the token `merged`, from left to right."""
        out: list[int] = []
        index = 0
        while index < len(tokens):
            if self._merged.get((tokens[index], tokens[index + 1] if index + 1 < len(tokens) else -1)) == merged:
                out.append(merged)
                index += 2
            else:
                out.append(tokens[index])
                index += 1
        return out


def new_encoder() -> Encoder:
    """GPT-2's own encoding, which has met no word yet."""
    lines = MERGES_FILE.read_text(encoding="utf-8").splitlines()
    return Encoder(line for line in lines if line and not line.startswith("#version"))


gpt2_encoder = cache(new_encoder)
"""The same for all of a process."""


def byte_symbols() -> dict[int, str]:
    """The character that stands for each byte in the merges file, in the order of the first 256 tokens.

    Printable bytes of Latin-1 stand for themselves; the others, spaces and controls, take characters from 256 on.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def words(text: str) -> list[str]:
    """Cut a text into the words within which pairs merge: nothing is lost, joined they are the text again.

    A word is a contraction's ending, or letters, or digits, or other signs, each with the space before it, or spaces.
    """
    return _word_pattern().findall(text)


@cache
def _word_pattern() -> re.Pattern[str]:
    letters, numbers = _ranges("L"), _ranges("N")
    return re.compile(
        rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+| ?[^{_SPACES}{letters}{numbers}]+"
        rf"|[{_SPACES}]+(?![^{_SPACES}])|[{_SPACES}]+"
    )


def _ranges(category: str) -> str:
    """All characters of a general category as ranges for a regular expression; Python's `re` knows no categories."""
    starts: list[int] = []
    ends: list[int] = []
    inside = False
    for point in range(sys.maxunicode + 2):
        now = point <= sys.maxunicode and unicodedata.category(chr(point))[0] == category
        if now != inside:
            (starts if now else ends).append(point)
            inside = now
    return "".join(f"\\U{start:08x}-\\U{end - 1:08x}" for start, end in zip(starts, ends, strict=True))
