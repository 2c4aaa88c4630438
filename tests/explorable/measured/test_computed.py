"""Values of expressions are computed in a process of their own, which ends where one takes too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorable.live.options import LiveOptions
from explorable.measured.errors import MeasuredError
from explorable.measured.values import computed
from explorable.measured.values.computed import Computed
from explorable.measured.values.expressions import Outcome
from explorable.shared.cache import Cache
from tests.explorable.measured.made import ROOT

PARAMETERS = "model('gpt2').parameters"
ENDLESS = "1"
for _name in "abcdefghij":
    ENDLESS = f"sum({ENDLESS} for {_name} in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10))"


def test_an_expression_without_end_has_no_value_and_the_others_have_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LiveOptions().time_limit_s == computed.TIME_LIMIT_S, "an expression may take as long as a snippet"
    monkeypatch.setattr(computed, "TIME_LIMIT_S", 1.5)
    values = Computed(ROOT / "engine/ironlaw", Cache(None), tmp_path)
    try:
        found = values.values([PARAMETERS, ENDLESS])
    finally:
        values.close()
    assert isinstance(found[PARAMETERS], Outcome)
    wrong = found[ENDLESS]
    assert isinstance(wrong, MeasuredError)
    assert str(wrong) == f"'{ENDLESS}' has no value; stopped after 1.5 s"
