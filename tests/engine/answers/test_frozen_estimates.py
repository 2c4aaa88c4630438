"""Estimates of a few dozen setups, as they were: what no change means to change stays the same, digit for digit.

`python -m tests.engine.answers.test_frozen_estimates` writes the file anew, after a change that is meant; its diff
shows what the change does.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ironlaw import EngineError, estimate, setup
from ironlaw.models import from_config

FILE = Path(__file__).with_name("frozen_estimates.json")
MODELS: dict[str, dict[str, Any]] = {
    "qwen3": {"num_hidden_layers": 3},
    "gemma2": {"num_hidden_layers": 4},
    "gemma3_text": {"num_hidden_layers": 6},
    "qwen3_moe": {"num_hidden_layers": 3, "mlp_only_layers": [0]},
    "gpt_oss": {"num_hidden_layers": 2},
    "gpt_neox": {"num_hidden_layers": 2},
    "deepseek_v3": {
        "num_hidden_layers": 4, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128,
    },
}  # fmt: skip
NAMED = ("gpt2", "llama3-8b")
COUNT = 48


def found() -> dict[str, str]:
    """A short hash of every number of each estimate, or the one line that refuses it."""
    draw = random.Random(27)  # for setups, not for secrets
    lines: dict[str, str] = {}
    while len(lines) < COUNT:
        words, name = _words(draw), draw.choice([*NAMED, *MODELS])
        model = name if name in NAMED else from_config({"model_type": name, **MODELS[name]})
        gpu = draw.choice(["h100-sxm", "a100-80", "rtx-4090"])
        key = " ".join((name, gpu, *(f"{word}={value}" for word, value in words.items())))
        try:
            data = asdict(estimate(setup(model, gpu, **words)))
        except EngineError:
            continue
        del data["assumptions"]
        digest = hashlib.sha256(json.dumps(_rounded(data), sort_keys=True).encode()).hexdigest()[:12]
        lines[key] = f"{data['memory_bytes']['allocated_peak']} {data['time']['step_s']:.6g} {digest}"
    return lines


def _rounded(value: Any) -> Any:
    """Twelve digits: the last ones of a sum of floats may differ between machines."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return f"{value:.12g}" if isinstance(value, float) else value


def _words(draw: random.Random) -> dict[str, Any]:
    words: dict[str, Any] = {
        "batch": draw.choice([1, 4]),
        "sequence": draw.choice([128, 1024]),
        "precision": draw.choice(["fp32", "amp-bf16", "bf16", "megatron"]),
        "attention": draw.choice(["flash", "standard"]),
        "checkpointing": draw.choice(["none", "full", "selective"]),
        "optimizer": draw.choice(["adamw", "sgd", "adamw-8bit"]),
    }
    kind = draw.random()
    if kind < 0.4:
        words |= {"method": draw.choice(["lora", "qlora"]), "dora": draw.random() < 0.3}
    elif kind < 0.5:
        words["frozen"] = draw.choice(["wte", "blocks.0", "blocks.*.mlp"])
    elif kind < 0.8:
        words |= {"dp": draw.choice([1, 8]), "zero": draw.choice([0, 1, 3]), "tp": draw.choice([1, 2])}
    return words


def test_estimates_are_as_they_were() -> None:
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    now = found()
    assert now.keys() == kept.keys()
    changed = {key: f"{kept[key]} -> {now[key]}" for key in kept if kept[key] != now[key]}
    assert not changed, f"write {FILE.name} anew only where this is meant"


if __name__ == "__main__":
    FILE.write_text(json.dumps(found(), indent=0) + "\n", encoding="utf-8")
