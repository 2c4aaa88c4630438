"""The note of a claim: what may be typed in it, and what must be computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorable.measured.claims import data, notes
from explorable.measured.errors import MeasuredError
from tests.explorable.measured.made import SOURCES, TOLERANCES

CLAIMS = """source = "plan"

[[claim]]
id = "one"
gist = "On a card with 24 GB the model of 1.5 billion parameters fits."
line = 3
value = 12
unit = "GB"
engine = 'training_memory("gpt2-xl", batch=16, sequence=2048, precision="amp-fp16").total_bytes'
tolerance = "printed"
note = '''NOTE'''

[[claim]]
id = "two"
gist = "Two weeks cost about 50,000 dollars."
line = 4
value = [8.4, 14]
unit = "day"
none = "Nobody has measured this yet."
"""


def refuse(folder: Path, note: str) -> None:
    for name, text in (("sources", SOURCES), ("tolerances", TOLERANCES), ("plan", CLAIMS.replace("NOTE", note))):
        (folder / f"{name}.toml").write_text(text, "utf-8")
    files = data.load(folder, folder)
    assert files.defects == ()
    notes.refuse_typed(files.claims[0], notes.quoted(files.claims)[files.sources[0]])


@pytest.mark.parametrize(
    "note",
    [
        "The 12 GB of the plan are Adam's alone, on 24 GB.",
        "A batch of 16 with 2,048 tokens takes `{check} GB`, of 1.5 billion parameters.",
        "Elsewhere the plan has 50,000 dollars and 14 days.",
        "It is a product of 3 × 3 numbers, 4096 in all, at 100 %.",
        "Llama 2 70B is another model.",
        "It takes `{arithmetic} 4096 * 30000 / 10**6 | MB` for 110 kB, `{engine} read(110000) | B`.",
    ],
)
def test_what_the_source_says_and_what_the_claim_computes_may_be_typed(tmp_path: Path, note: str) -> None:
    refuse(tmp_path, note)


@pytest.mark.parametrize(
    ("note", "typed"),
    [
        ("With gradients the sum is 24.9 GB.", "24.9 GB"),
        ("It is 16 times as fast in `{engine} peak('fp16') | FLOP/s`, and 4 % off.", "4 %"),
        ("That is 8.4 seconds, not days.", "8.4 seconds"),
        ("In 36 million tokens of a card with 24 GB.", "36 million"),
    ],
)
def test_another_number_with_a_unit_is_refused(tmp_path: Path, note: str, typed: str) -> None:
    with pytest.raises(MeasuredError, match=f"'{typed}' in the note is a typed number; compute it"):
        refuse(tmp_path, note)


def test_the_digits_of_a_name_in_an_expression_allow_no_typed_number(tmp_path: Path) -> None:
    with pytest.raises(MeasuredError, match="'32 GB'"):
        refuse(tmp_path, "`{engine} dtype('fp32').bytes(1) | B` of 32 GB.")
