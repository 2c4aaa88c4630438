"""Records and tiny sites made for tests: every record meets the real schema and the benchmark's own checks."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs.exceptions import Abort

from gpu_bench import BENCHMARK_VERSION, SCHEMA_VERSION
from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.suites import SUITES
from gpu_bench.record.assembly import TRAINING_BLOCKS, point_rates
from gpu_bench.record.spread import summarize
from tests.plugins.strict_build import build_strictly

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "gpu_bench/record/schema.json"
CASES = {case.name: case for cases in SUITES.values() for case in cases if isinstance(case, TrainingCase)}


def document(
    case: str, *, seconds: float = 0.5, device: str = "nvidia-h200", status: str = "ok", repeats: int = 3
) -> dict[str, Any]:
    """A record of a case whose steps take about `seconds`; a failed one has nothing measured.

    Adam holds two vectors of 400 bytes, the model 100 parameters: small numbers, so that a test can name them.
    """
    plan = dataclasses.replace(CASES[case], repeats=repeats)
    steps = [[seconds * (1 + 0.01 * (step % 5)) for step in range(plan.steps)] for _ in range(plan.repeats)]
    flat = [second for row in steps for second in row]
    vectors = {"sgd": (), "momentum": ("momentum_buffer",)}.get(plan.optimizer, ("exp_avg", "exp_avg_sq"))
    made: dict[str, Any] = json.loads((Path(__file__).parent / "template.json").read_text("utf-8"))
    made |= {
        "schema_version": SCHEMA_VERSION,
        "benchmark_version": BENCHMARK_VERSION,
        "suite": next(suite for suite, cases in SUITES.items() if CASES[case] in cases),
        "name": case,
        "status": status,
        "message": None if status == "ok" else "CUDA out of memory",
        "case": plan.as_dict(),
        "samples": {
            "step_s": steps,
            "warmup_s": [[seconds] * plan.warmup] * plan.repeats,
            "warmup_settled": [True] * plan.repeats,
        },
        "summary": {
            "step_s": summarize(flat),
            "tokens_per_s": summarize([plan.tokens_per_step / second for second in flat]),
            "repeat_medians_s": [seconds * 1.02] * plan.repeats,
            "repeat_spread": 0.0,
        },
    }
    made["device"] |= {"slug": device, "name": device.replace("-", " ").upper()}
    made["loss"]["curve"] = [2.0] * (plan.warmup + plan.steps)
    memory = made["memory"]
    memory["held"] |= {"optimizer": dict.fromkeys(vectors, 400), "optimizer_total": 400 * len(vectors)}
    memory["at_peak"]["optimizer_state"] = 400 * len(vectors)
    memory["peak"] = sum(memory["at_peak"].values())
    made["provenance"]["repeats"] *= plan.repeats
    return made if status == "ok" else made | dict.fromkeys(TRAINING_BLOCKS)


def with_points(case: str, points: Sequence[dict[str, Any]], *, device: str = "nvidia-h200") -> dict[str, Any]:
    """A record of a case that measures points; each point is given as what it has besides the usual."""
    suite, plan = next((suite, one) for suite, cases in SUITES.items() for one in cases if one.name == case)
    plan = dataclasses.replace(plan, repeats=1)
    made = document("gpt2-nano-fp32-adam", device=device) | dict.fromkeys(TRAINING_BLOCKS)
    return (
        made
        | {"suite": suite, "name": case, "case": plan.as_dict(), "predicted": None, "fit": None}
        | {"points": [_point(**given) for given in points]}
    )


def _point(
    label: str, seconds: float | None, work: dict[str, float], settings: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A point that took always the same time, or could not be measured."""
    amounts = {name: work.get(name) for name in ("flops", "bytes", "tokens")}
    return {
        "label": label,
        "settings": settings,
        "status": "ok" if seconds else "oom",
        "message": None if seconds else "CUDA out of memory",
        "samples_s": [[seconds] * 4] if seconds else [[]],
        "seconds": summarize([seconds] * 4) if seconds else None,
        "work": amounts,
        "rates": point_rates(amounts, seconds),
        "memory_peak": None,
        "shares": {},
        "losses": None,
        **more,
    }


@dataclass
class Site:
    """A tiny project in a temporary folder: docs, records, options of the plugin. What it logs is kept by build."""

    folder: Path
    options: str = 'reference: ""'
    warnings: list[str] = field(default_factory=list)

    def page(self, text: str, name: str = "index.md") -> None:
        """Write a page."""
        file = self.folder / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def record(self, made: dict[str, Any]) -> Path:
        """Write a record where it belongs."""
        file: Path = self.folder / "results" / made["suite"] / f"{made['name']}--{made['device']['slug']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(made), "utf-8")
        return file

    def own_engine(self) -> Path:
        """Give the site a copy of the engine, to be edited."""
        engine = self.folder / "engine"
        shutil.copytree(ROOT / "engine", engine, ignore=shutil.ignore_patterns("__pycache__"))
        return engine

    def build(self, extensions: Sequence[str] = ("tables",)) -> str:
        """Build strictly and return the home page. Raises `Abort` when there are warnings; `warnings` keeps them."""
        engine = "engine" if (self.folder / "engine").exists() else ROOT / "engine"
        (self.folder / "docs").mkdir(exist_ok=True)
        (self.folder / "mkdocs.yml").write_text(
            "site_name: Test\ntheme: {name: null, custom_dir: theme}\n"
            f"markdown_extensions: {json.dumps([*extensions])}\n"
            f"plugins:\n  - measured:\n      engine: {engine}\n      records: results\n      schema: {SCHEMA}\n"
            f"      {self.options}\n",
            "utf-8",
        )
        theme = self.folder / "theme/main.html"
        theme.parent.mkdir(exist_ok=True)
        theme.write_text("<title>{{ page.title }}</title>{{ page.toc }}{{ page.content }}", "utf-8")
        build_strictly(self.folder, self.warnings)
        return (self.folder / "site/index.html").read_text("utf-8")

    def defects(self) -> list[str]:
        """Build strictly, expect it to fail, and return its warnings."""
        try:
            self.build()
        except Abort:
            return self.warnings
        raise AssertionError("the strict build did not fail")
