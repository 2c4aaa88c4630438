"""What the tests of acts share: an act as the build loads it, its charts as the build draws them, numbers in texts."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from explorable.live.build.bake import _load, chart_of, draw
from explorable.live.build.description import describe
from explorable.live.build.rooms import Written, act_modules
from explorable.live.runtime.acts import LoadedAct, load
from explorable.live.runtime.measured import MeasuredRecord
from explorable.live.runtime.program import Program
from explorable.shared.scan import scan

DOCS = Path(__file__).parents[2] / "docs"
ACTS = DOCS / "acts"
SHOWN = sorted({name for page in DOCS.rglob("*.md") for name in scan(page.read_text(encoding="utf-8")).named("act")})
"""Every act, as pages write it."""


def loaded(name: str, *records: MeasuredRecord) -> LoadedAct:
    """An act as a page writes it, with these records in place of those that the build would find."""
    written = Written.read(name)
    return load(written.name, Program(files_of(name), records, written.parameter))


@cache
def files_of(name: str) -> dict[str, str]:
    """An act's files and their text: finding them parses each, and tests load an act hundreds of times."""
    return {str(path): path.read_text(encoding="utf-8") for path in act_modules(ACTS / Written.read(name).folder)}


def state_of(
    act: LoadedAct, prediction: float | None = None, *, revealed: bool = False, **controls: Any
) -> dict[str, Any]:
    """The default state with some controls moved."""
    described: Any = describe(act)
    unknown = set(controls) - set(described["state"]["controls"])
    assert not unknown, unknown
    return {
        "context": described["state"]["context"],
        "controls": described["state"]["controls"] | controls,
        "prediction": prediction,
        "revealed": revealed,
    }


def drawn(name: str, chart: str, data: dict[str, Any]) -> str:
    """The SVG of a chart with these rows."""
    written = Written.read(name)
    path = ACTS / written.folder / "charts.py"
    module = _load(path.read_text(encoding="utf-8"), str(path))
    svg: str = draw(chart_of(module, chart, written.parameter), data, "test")["svg"]
    return svg


def fixed_colors(svg: str) -> list[str]:
    """Colors of an SVG that do not follow the page's scheme."""
    return re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,8}|black|white|red|blue|green|gr[ae]y|steelblue)"', svg)


def view_box(svg: str) -> str:
    """Width and height of an SVG."""
    found = re.search(r'viewBox="([^"]+)"', svg)
    assert found
    return found[1]


def hidden_texts(act: LoadedAct) -> list[str]:
    """Every sentence that explains an answer."""
    options = [o for r in act.act.reflections for b in r.blanks for o in b.options]
    options += getattr(act.act.question, "options", [])
    return [option.why for option in options]


def public_text(act: LoadedAct) -> str:
    """Everything that a reader can know before locking a prediction in."""
    described: Any = describe(act)
    return json.dumps([described, act.compute(described["state"])], ensure_ascii=False)


def number(text: str) -> float:
    """A number as a table shows it."""
    return float(text.replace(",", "").replace("−", "-"))


def numbers(text: str, unit: str) -> list[float]:
    """All numbers before a unit in a sentence."""
    return [number(found) for found in re.findall(rf"([\d,]+(?:\.\d+)?) {re.escape(unit)}", text)]
