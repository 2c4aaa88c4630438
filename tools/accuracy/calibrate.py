"""`python -m tools.accuracy.calibrate`: fit the calibration to the rows and write its coefficients.

They stand in `engine/ironlaw/calibration/coefficients.toml`.

Run it after every change of the physics or of the rows. The physics does not depend on the calibration.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ironlaw.calibration import KINDS, Model, doublings
from ironlaw.calibration.coefficients import FILE, model_of
from tools.accuracy.mixed_model import PRIORS, Fit, Sample, fit
from tools.accuracy.observations import Observation, observations
from tools.accuracy.report import report
from tools.accuracy.survey import FEWEST, Surveyed, surveyed

VERSION = 1
"""Of the model's form. Raise it when terms, priors or the distribution change."""

DIGITS = 7
ROUNDING = 2e-5
"""Two fits whose numbers differ by less are the same: no band moves by a tenth of a percent."""

HEAD = """\
# Do not edit: `python -m tools.accuracy.calibrate` writes this, from the rows of tools/accuracy/data and the physics.
# A model of ln(published / physics). Fields: ironlaw/calibration/coefficients.py; fit: tools/accuracy/mixed_model.py.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or with `--check` say whether it is what a fit gives now (exit status 1 when not)."""
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy.calibrate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is out of date")
    options = parser.parse_args(arguments)
    path = Path(FILE)
    old = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    new = fitted(observations(report().comparisons))
    same = alike({key: value for key, value in old.items() if key != "date"}, new)
    if options.check:
        print(f"{path.name}: {'as fitted' if same else 'out of date; run python -m tools.accuracy.calibrate'}")
        return 0 if same else 1
    if not same:
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        path.write_text(_toml({"version": new["version"], "date": today, **new}), encoding="utf-8")
    print(f"{path.name}: {'unchanged' if same else 'written'}; {new['rows']} rows of {len(new['sources'])} sources")
    return 0


def alike(old: Any, new: Any) -> bool:
    """Whether two contents are the same but for rounding, which differs by the machine's linear algebra."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(alike(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(alike(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, abs_tol=ROUNDING)
    return bool(old == new)


def fitted(seen: Sequence[Observation]) -> dict[str, Any]:
    """Everything in the file but its date."""
    sources = sorted({o.source for o in seen})
    return {
        "version": VERSION,
        "rows": len(seen),
        "rows_sha256": digest(seen),
        "sources": sources,
        **{kind: table([o for o in seen if o.kind == kind], kind, sources) for kind in KINDS},
        "utilization": _utilization(),
    }


def _utilization() -> dict[str, Any]:
    """Published steps of full training on cards of one name and in one format: publishers, and steps by percent."""
    alike: dict[str, list[Surveyed]] = {}
    for one in surveyed():
        alike.setdefault(one.alike, []).append(one)
    found = {}
    for name, steps in sorted(alike.items()):
        percents = [round(100 * one.mfu) for one in steps]
        if len(steps) >= FEWEST:
            counts = [percents.count(at) for at in range(max(percents) + 1)]
            found[name] = {"publishers": len({one.publisher for one in steps}), "steps": counts}
    return found


def digest(seen: Iterable[Observation]) -> str:
    """A hash of the published rows, in any order: kind, source, run, settings and value; not of the predictions."""
    lines = sorted(
        f"{o.kind} | {o.comparison.row.source.title} | {o.comparison.row.name} | "
        f"{sorted(map(str, o.comparison.row.settings.items()))} | {o.comparison.kind} | "
        f"{o.comparison.row.measures[o.comparison.kind]}"
        for o in seen
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def model(seen: Sequence[Observation], kind: str) -> Model:
    """The model that these observations of one kind give."""
    return model_of(table(seen, kind, sorted({o.source for o in seen})))


def table(seen: Sequence[Observation], kind: str, sources: Sequence[str]) -> dict[str, Any]:
    """The file's table of one kind."""
    made = fit([Sample(o.source, o.features, o.log_ratio) for o in seen], PRIORS[kind])
    return {**_numbers(made), "cells": _cells(seen, sources)}


def _numbers(made: Fit) -> dict[str, Any]:
    return {
        "terms": list(made.terms),
        "mean": [_rounded(x) for x in made.mean],
        "covariance": [[_rounded(x) for x in line[: i + 1]] for i, line in enumerate(made.covariance)],
        "unseen": {category: _rounded(x) for category, x in made.unseen.items()},
        "between": _rounded(made.between),
        "between_slope": _rounded(made.between_slope),
        "within": _rounded(made.within),
    }


def _cells(seen: Sequence[Observation], sources: Sequence[str]) -> list[list[Any]]:
    """Family, execution, numbers, software, doublings of the nodes, runs, and places in the list of sources."""
    cells: dict[tuple[str, str, str, str, float], list[int]] = {}
    for o in seen:
        f = o.features
        key = (f.family, f.execution, f.numbers, f.software, round(doublings(f.devices), 1))
        cells.setdefault(key, []).append(sources.index(o.source))
    return [[*key, len(numbers), sorted(set(numbers))] for key, numbers in sorted(cells.items())]


def _rounded(x: float) -> float:
    return round(float(x), DIGITS) + 0.0  # no negative zero


def _toml(content: dict[str, Any]) -> str:
    plain = [f"{key} = {_value(value)}" for key, value in content.items() if not isinstance(value, dict)]
    lines = [HEAD, *plain]
    for kind in (*KINDS, "utilization"):
        lines += ["", f"[{json.dumps(kind)}]"]
        lines += [
            f"{key if key.isidentifier() else json.dumps(key)} = {_value(value)}"
            for key, value in content[kind].items()
        ]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(x)}" for key, x in value.items()) + " }"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + "".join(f"  {_value(line)},\n" for line in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        text = f"{value:.{DIGITS}f}".rstrip("0")
        return text + "0" if text.endswith(".") else text
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
