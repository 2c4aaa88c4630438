"""A setting that moves the answer of a check is named: a reader who has another one must see that it matters."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

from explorable.measured.claims import data as claims_data
from explorable.measured.claims.judged import ENGINE, Claims, Judged
from explorable.measured.values import recorded
from explorable.measured.values.computed import Computed
from explorable.measured.values.expressions import Outcome
from explorable.measured.values.quantities import convert

ROOT = Path(__file__).parents[2]
ASKED = {"training_memory": 1, "step_time": 2, "job_time": 2, "step_points": 2, "count_operations": 1}
"""Functions whose answer depends on settings -> where the batch stands among their arguments."""
SMALL = 0.01
"""The largest relative change of an answer that a claim need not speak of."""


def _word(call: ast.Call, name: str) -> ast.keyword | None:
    return next((word for word in call.keywords if word.arg == name), None)


def _said(call: ast.Call, name: str) -> object:
    """What a call says for a setting, or None."""
    word = _word(call, name)
    return word.value.value if word and isinstance(word.value, ast.Constant) else None


def _say(call: ast.Call, name: str, value: str) -> None:
    word = _word(call, name)
    if word:
        word.value = ast.Constant(value)
    else:
        call.keywords.append(ast.keyword(name, ast.Constant(value)))


def _attention(call: ast.Call) -> None:
    if call.func.id != "training_memory" or _word(call, "batch"):  # type: ignore[attr-defined]
        _say(call, "attention", "flash" if _said(call, "attention") == "standard" else "standard")


def _precision(call: ast.Call) -> None:
    if call.func.id != "count_operations":  # type: ignore[attr-defined]
        said = _said(call, "precision")
        _say(call, "precision", "mixed" if said in (None, "amp-bf16", "amp-fp16") else "amp-bf16")


def _batch(call: ast.Call) -> None:
    word, place = _word(call, "batch"), ASKED[call.func.id]  # type: ignore[attr-defined]
    found = word.value if word else call.args[place] if place < len(call.args) else None
    if isinstance(found, ast.Constant) and isinstance(found.value, int):
        found.value *= 2


SETTINGS: dict[str, tuple[Callable[[ast.Call], None], re.Pattern[str]]] = {
    "attention": (_attention, re.compile(r"attention", re.IGNORECASE)),
    "precision": (_precision, re.compile(r"autocast|precision|master copy|\b(BF|FP|TF)\d|\b16[- ]bit")),
    "batch": (_batch, re.compile(r"batch|sequence|micro|\brows\b|\btokens\b|B × S", re.IGNORECASE)),
}
"""Setting -> how a call gets another one, and the words that speak of it."""


def varied(expression: str, change: Callable[[ast.Call], None]) -> str:
    """An expression whose calls have another setting."""
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKED:
            change(node)
    return ast.unparse(tree)


def words(item: Judged) -> str:
    """What a claim says to its reader, without the code of its check."""
    note = "".join(part if isinstance(part, str) else part.text for part in item.note)
    return f"{item.claim.gist} {note} {item.claim.also.label if item.claim.also else ''}"


def test_a_call_gets_another_setting() -> None:
    asked = "training_memory('gpt2', batch=4, precision='mixed') / step_time('gpt2', 'h200', 8)"
    assert varied(asked, _batch) == asked.replace("batch=4", "batch=8").replace("8)", "16)")
    assert varied(asked, _precision) == asked.replace("mixed", "amp-bf16").replace("8)", "8, precision='mixed')")
    assert varied(asked, _attention) == asked.replace("')", "', attention='standard')").replace(
        "8)", "8, attention='standard')"
    )
    assert varied("training_memory('gpt2')", _attention) == "training_memory('gpt2')"


def test_a_setting_that_moves_an_answer_is_named(computed: Computed) -> None:
    claims = Claims(
        claims_data.load(ROOT / "docs/claims", ROOT), computed, recorded.load(ROOT / "gpu_bench/results", ROOT)
    )
    items = [item for item in claims.judged if item.claim.check.evidence in ENGINE and item.answer]
    others = {
        (item.claim.id, name): varied(item.claim.check.text, change)
        for item in items
        for name, (change, _) in SETTINGS.items()
    }
    found = computed.values(set(others.values()))
    moved, unnamed = set(), []
    for item in items:
        assert item.answer
        for name, (_, spoken) in SETTINGS.items():
            other = found[others[item.claim.id, name]]
            if not isinstance(other, Outcome):
                continue  # this setting does not exist together with the rest
            value = convert(other.quantity, item.claim.format.unit)
            if abs(value - item.answer.value) > SMALL * abs(item.answer.value):
                moved.add(item.claim.id)
                if not spoken.search(words(item)):
                    unnamed.append(f"{item.claim.id}: {name}")
    assert len(moved) > 50
    assert unnamed == []
