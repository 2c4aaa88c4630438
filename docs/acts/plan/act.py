"""Plan a run: what a training needs, how long it takes, what it costs, and what to change. Other modules compute."""

from __future__ import annotations

from explorable import live

from .choices import CONTROLS
from .give import PROGRAM, exports
from .rewritten import rewrite
from .take import read
from .tips import suggest
from .view import compute

ACT = live.Act(
    name="plan",
    title="Plan a run",
    minutes=2,
    situation="Will it fit, how long, how much, and what should you change? Choose, or paste what you have.",
    contexts=(live.Context("run", "Your run", ""),),
    question=None,
    controls=CONTROLS,
    compute=compute,
    reveal=None,
    charts={
        "memory": "Memory of one card at the peak",
        "moments": "Memory of one card over the run, and through a step",
    },
    beside=("message", "measured", "differences", "answer"),
    can_fail=True,
    linked=True,
    compared=True,
    reader=live.TextReader(
        "What you have",
        "Paste or drop: a config.json, a YAML of axolotl, LLaMA-Factory or TRL, a DeepSpeed or accelerate file, "
        "nanoGPT's settings, a torchrun line, an out-of-memory message, nvidia-smi, a log, a safetensors file "
        "(its header alone is read).",
        read,
        rewrite,
    ),
    suggest=suggest,
    exports=exports,
    program=PROGRAM,
)
