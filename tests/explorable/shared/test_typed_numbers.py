"""Which numbers an author must not type."""

from __future__ import annotations

import pytest

from explorable.shared.typed_numbers import typed_numbers


def found(text: str) -> list[str]:
    return [number for _, number in typed_numbers(text)]


@pytest.mark.parametrize(
    "number",
    [
        *("80 GB", "2.35 GiB", "6.2\u00a0GB", "989 TFLOP/s", "1e20 FLOPs", "3 × 10⁹ FLOPs", "45 %", "45%", "30-70 %"),
        *("1.5B", "3x", "2.4×", "10 times", "$4.6 million", "$50,000", "8 GPUs", "700 W", "12 ms"),
        *("175 billion", "1,024 tokens", "5 days", "64-fold"),
    ],
)
def test_a_number_with_a_unit_or_scale_is_typed(number: str) -> None:
    [text] = found(f"It takes {number} of it.")
    assert text.startswith(number.replace("\u00a0", " ").split()[0])


@pytest.mark.parametrize(
    "text",
    [
        "It was 2020, version 3.11, on page 7, in 48 layers.",
        "A 16-bit format, 16 bits, FP32, GPT-2 and H100.",
        "Llama 2 70B and GPT-3 175B never reach 100 % or 0 %.",
        "The model has `{engine} model('gpt2').parameters * 4 | GB .1f` and `{record} a/b: c | 3 GB`.",
        "The formula $6 N D$ and $C = 12 GB$.",
        "$$\nC = 80 GB\n$$\n",
        "<dfn>1 GB is 1,000,000,000 bytes</dfn>, and so on.",
        "```live name='x'\nprint('80 GB')\n```",
        "    ```\n    80 GB\n    ```",
        "See [the page](80GB.md) <!-- 80 GB -->.",
        "It cost 4.6 million dollars `{cite} brown2020language`.",
        "The source says 6 GB, which is `{claim} ch-weights-6-gb`.",
    ],
)
def test_what_is_computed_cited_or_defined_is_not_typed(text: str) -> None:
    assert found(text) == []


def test_a_citation_serves_its_own_sentence_alone() -> None:
    assert found("It has 5 GB `{cite} a`. And 6 GB more.\n\n- 7 GB\n- 8 GB `{cite} a`\n") == ["6 GB", "7 GB"]


def test_the_line_is_the_authors() -> None:
    text = "# Title\n\n```\ncode\n```\n\nWords\nand 5 GB.\n\n$$\na\n$$\n\n6 GB\n"
    assert list(typed_numbers(text)) == [(8, "5 GB"), (14, "6 GB")]
