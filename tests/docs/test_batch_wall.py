"""The example act on the authoring page works as printed there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorable.live.build.bake import _load, chart_of, draw
from explorable.live.build.description import describe
from explorable.live.runtime.acts import load
from explorable.live.runtime.program import Program
from ironlaw import GB, training_memory

FOLDER = Path(__file__).parent / "batch_wall"


def test_the_example_act_computes_judges_and_draws() -> None:
    act = load("batch-wall", Program({"act.py": (FOLDER / "act.py").read_text(encoding="utf-8")}))
    description: Any = describe(act)
    closed: Any = act.compute(description["state"])
    view: Any = act.compute({**description["state"], "prediction": 8, "revealed": True})
    needs = [
        training_memory("gpt2", optimizer="adam", batch=batch, precision="fp32").total_bytes / GB
        for batch in (8, 16, 32, 64)
    ]
    assert [row["gb"] for row in view["data"]["bars"]] == needs
    # Before the reveal only the smallest batch is shown: it fits in any case, so it gives no answer away.
    assert [row["gb"] for row in closed["data"]["bars"]] == needs[:1]
    fitting = [batch for batch, need in zip((8, 16, 32, 64), needs, strict=True) if need <= 24]
    for option in description["question"]["options"]:
        verdict: Any = act.reveal({**description["state"], "prediction": option["value"]})
        assert verdict["correct"] == (option["value"] == max(fitting))
    charts = FOLDER / "charts.py"
    drawn = draw(chart_of(_load(charts.read_text(encoding="utf-8"), str(charts)), "wall"), view["data"], "test")
    assert drawn["svg"].count("var(--il-memory)") == len(needs)
