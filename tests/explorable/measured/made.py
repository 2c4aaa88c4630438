"""Records and tiny sites made for tests: every record meets the real schema and the benchmark's own checks."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs.exceptions import Abort

from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.sizes import product_shapes
from gpu_bench.cases.suites import SUITES
from gpu_bench.machine.chips import compute_format, fastest_product
from gpu_bench.machine.provenance import slugify
from gpu_bench.measure.data import BYTE_PAIRS, BYTES, SOURCE
from gpu_bench.predict.prediction import predict, shape_of
from gpu_bench.record.assembly import assemble, kept
from gpu_bench.record.derive import BLOCKS, derive
from gpu_bench.record.judgement import guessing
from gpu_bench.record.points_checks import samples_of
from tests.explorable.strict_build import build_strictly

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "gpu_bench/record/schema.json"
CASES = {case.name: case for cases in SUITES.values() for case in cases if isinstance(case, TrainingCase)}

# What claims of the tests refer to, as docs/claims/ has it.
SOURCES = """
[[source]]
id = "plan"
title = "The plan"
edition = "A plan."
file = "plan.md"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
lines = 40
sections = [[1, "Memory"], [20, "Time"]]
"""
TOLERANCES = """
[[tolerance]]
id = "exact"
within = 1
band = 1.1
because = "A count has nothing to round."

[[tolerance]]
id = "printed"
within = "printed"
band = 1.1
because = "The source prints rounded digits."
"""


def document(
    case: str, *, seconds: float = 0.5, device: str = "nvidia-h200", status: str = "ok", repeats: int = 3
) -> dict[str, Any]:
    """What the file of a case states whose steps take about `seconds`; a failed one has nothing measured.

    Assembled as the runner does it, from what the repeats of an imagined GPU reported.
    """
    plan = dataclasses.replace(CASES[case], repeats=repeats)
    suite = next(suite for suite, cases in SUITES.items() if CASES[case] in cases)
    parts = [_part(plan, seconds, number, device.replace("-", " ").upper()) for number in range(repeats)]
    if status != "ok":
        parts = [{"status": status, "message": FULL_GPU, **_times(0)}]
    context = _context(device)
    told = predict(plan, context["device"])
    made: dict[str, Any] = json.loads(json.dumps(assemble(suite, plan, context, parts, COMMAND, told)))
    return made


COMMAND = "python -m gpu_bench run"
FULL_GPU = (
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 93.13 GiB of which 10.00 MiB is "
    "free. Process 4711 has 93.10 GiB memory in use."
)
"""What PyTorch says on a GPU that another process has filled."""


def _times(number: int) -> dict[str, str]:
    return {"started": f"2025-11-20T{10 + number}:00:00Z", "finished": f"2025-11-20T{10 + number}:05:00Z"}


def _context(device: str) -> dict[str, Any]:
    machine = {"python": "3.11.0", "os": "Linux", "cpu": "CPU", "cores": 1, "memory": 10**10, "host": "01234567"}
    software = dict.fromkeys(("cuda", "cudnn", "triton", "nccl", "driver")) | {"torch": "2.13.0", "threads": 1}
    name = device.replace("-", " ").upper()
    return {
        "device": {"type": "cuda", "name": name, "slug": device, "memory": 10**11, "power_limit_w": 700},
        "software": {**software, "packages": {}, "environment": {}},
        "machine": machine,
        "code": {"git_commit": "0123456789abcdef" * 2 + "01234567", "dirty": False, "sources": "0" * 16},
    }


def _jitter(number: int, step: int) -> float:
    """What tells one process's times from another's: too little for any printed digit."""
    return 1e-6 * random.Random(1000 * number + step).random()


_STATE = {
    "samples": 30,
    "sm_clock_mhz": {"mean": 1750.0, "minimum": 1700, "maximum": 1980},
    "memory_clock_mhz": {"mean": 3201.0, "minimum": 3201, "maximum": 3201},
    "temperature_c": {"mean": 55.0, "minimum": 50, "maximum": 60},
    "power_w": {"mean": 450.0, "minimum": 400.0, "maximum": 500.0},
    "slow_share": 0.0,
    "throttle_reasons": [],
}


def _part(plan: TrainingCase, seconds: float, number: int, name: str) -> dict[str, Any]:
    """What a repeat would have reported: every component of memory is as large as the weights."""
    weights, own = shape_of(plan, padded=True).parameters * 4, compute_format(plan.precision)
    forms = ("bf16", "fp8") if own == "fp8" else (own,)
    products = [
        {
            "format": form, "m": m, "n": n, "k": k, "fast_accumulation": fast,
            "flops_per_s": 0.8 * (fastest_product(name, form) or 5e13),
        }
        for form in forms
        for m, n, k in product_shapes(plan, 8192)
        for fast in ((True, False) if form == "fp8" else (None,))
    ]  # fmt: skip
    count = plan.warmup + plan.steps
    steps = [seconds * (1 + 0.01 * (step % 5) + _jitter(number, step)) for step in range(plan.steps)]
    tokens = BYTE_PAIRS if plan.model.startswith("gpt2") else BYTES
    states = {"sgd": (), "momentum": ("momentum_buffer",)}.get(plan.optimizer, ("exp_avg", "exp_avg_sq"))
    at_peak = {
        "parameters": weights, "buffers": 0, "gradients": weights, "optimizer_state": weights * len(states),
        "optimizer_temporaries": 0, "activations": weights, "backward_temporaries": 0, "inputs": 0,
        "inside_compiled": 0,
    }  # fmt: skip
    held = {
        "parameters": weights, "gradients": weights, "optimizer": dict.fromkeys(states, weights),
        "activations": weights, "cast_weights": 0,
    }  # fmt: skip
    peak = sum(at_peak.values())
    counters = ("active_peak", "reserved_peak", "first_step_peak")
    cuda = dict.fromkeys(counters, peak) | {"process": None, "context": None, "retries": 0, "ooms": 0}
    return {
        "status": "ok",
        "message": None,
        **_times(number),
        "model": {"parameters": weights // 4},
        "data": {
            "source": SOURCE, "sha256": "0" * 64, "bytes": 10**6, "files": 1, "tokens": 10**6, "tokenizer": tokens,
        },
        "timing": {
            "warmup_s": [seconds * (1 + _jitter(number, step + 500)) for step in range(plan.warmup)],
            "settled": True,
            "compile_s": None,
            "graphs": 0,
            "graphs_while_timed": 0,
            "fallbacks": [],
            "step_s": steps,
            "losses": [guessing(plan) * (1 - 0.3 * step / count) for step in range(count)],
            "gpu": _STATE,
        },
        "memory": {
            "held": held, "at_peak": at_peak, "peak": peak,
            "cuda": cuda,
        },
        "attention_ran": ["flash"],
        "energy": dict.fromkeys(("window_s", "steps", "energy_j")),
        "ceilings": products,
    }  # fmt: skip


def with_points(case: str, points: Sequence[dict[str, Any]], *, device: str = "nvidia-h200") -> dict[str, Any]:
    """A record of a case that measures points; each point is given as what it has besides the usual."""
    suite, plan = next((suite, one) for suite, cases in SUITES.items() for one in cases if one.name == case)
    plan = dataclasses.replace(plan, repeats=1)
    made = document("gpt2-nano-fp32-adam", device=device, repeats=1) | dict.fromkeys(BLOCKS)
    found = [_point(samples_of(plan), **given) for given in points]
    return kept(made | {"suite": suite, "case": plan.as_dict(), "points": found})


def _point(
    samples: int, label: str, seconds: float | None, work: dict[str, float], settings: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A point that took always the same time, or could not be measured."""
    return {
        "label": label,
        "settings": settings,
        "status": "ok" if seconds else "oom",
        "message": None if seconds else "CUDA out of memory",
        "samples_s": [[seconds * (1 + _jitter(0, step)) for step in range(samples)] if seconds else []],
        "work": work,
        "memory_peak": None,
        "shares": {},
        "losses": None,
        **more,
    }


def file_name(made: dict[str, Any]) -> str:
    """Where a record belongs in the folder of its suite."""
    gpu = made["device"]["type"] == "cuda"
    slug = slugify(made["device"]["name"]) if gpu else derive(made)["device"]["slug"]
    return f"{made['case']['name']}--{slug}.json"


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
        file: Path = self.folder / "results" / made["suite"] / file_name(made)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(made), "utf-8")
        return file

    def own_engine(self) -> Path:
        """Give the site a copy of the engine, to be edited."""
        engine = self.folder / "engine/ironlaw"
        shutil.copytree(ROOT / "engine/ironlaw", engine, ignore=shutil.ignore_patterns("__pycache__"))
        return engine

    def build(self, extensions: Sequence[str] = ("tables",)) -> str:
        """Build strictly and return the home page. Raises `Abort` when there are warnings; `warnings` keeps them."""
        engine = "engine/ironlaw" if (self.folder / "engine").exists() else ROOT / "engine/ironlaw"
        (self.folder / "docs").mkdir(exist_ok=True)
        (self.folder / "mkdocs.yml").write_text(
            "site_name: Test\ntheme: {name: null, custom_dir: theme}\n"
            f"markdown_extensions: {json.dumps([*extensions])}\n"
            "plugins:\n  - explorable:\n      book: tests.explorable.this_book\n      parts: [measured]\n"
            f"      measured:\n        engine: {engine}\n        records: results\n        {self.options}\n",
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
