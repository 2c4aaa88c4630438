"""One training iteration: how long its stages take, and what the levers change.

One set of stage times stands behind every number of the iteration: the source's first profile (40/25/35 percent). How
the levers change it, what the step holds in memory and how fast the arithmetic runs comes from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from itertools import product

import engine
from engine import GB, Setup, accelerator, model, setup, step_time, training_memory
from engine.memory import MemoryLedger
from engine.training import Iteration, StageTimes
from plugins import live

GPT2_XL, A100 = model("gpt2-xl"), accelerator("a100-80")
SEQUENCE, BASE_BATCH, BATCHES = 256, 32, (16, 32, 64, 128, 256)
MODES = {"fp32": "fp32", "mixed": "amp-bf16"}
SEGMENTS = 4
"""Checkpointing keeps the input of each of this many runs of blocks and computes the rest again."""
POLICY = f"every:{GPT2_XL.layers // SEGMENTS}"
LOADERS, PREFETCH_FACTOR = 8, 2
"""The source's data loader: eight workers, two batches each in advance."""
SOURCE_FIRST = {"data": 0.40, "transfer": 0.25, "compute": 0.35}
SOURCE_SECOND = {"data": 0.05, "transfer": 0.20, "compute": 0.75}
SOURCE_BATCH_RULE = ((16, 0.60), (32, 0.70), (256, 0.90))
"""The source on batch and hardware utilization: 60 to 70 percent at 16 to 32, over 90 at 256."""


@dataclass(frozen=True)
class Setting:
    """Where the levers stand."""

    prefetch: bool = False
    precision: str = "fp32"
    checkpointing: bool = False
    batch: int = BASE_BATCH

    def training(self, sequence: int = SEQUENCE) -> Setup:
        """The same for the engine. Prefetching is none of its business: it costs neither memory nor arithmetic."""
        return setup(
            GPT2_XL,
            A100,
            self.batch,
            sequence,
            optimizer="adam",
            precision=MODES[self.precision],
            checkpointing=POLICY if self.checkpointing else "none",
        )

    def changes_to(self, other: Setting) -> list[str]:
        """What to move to get the other setting, in words."""
        words = {
            "prefetch": f"prefetching {'on' if other.prefetch else 'off'}",
            "precision": "mixed precision" if other.precision == "mixed" else "FP32",
            "checkpointing": f"checkpointing {'on' if other.checkpointing else 'off'}",
            "batch": f"batch {other.batch}",
        }
        return [words[f.name] for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]


SETTINGS = tuple(Setting(*values) for values in product((False, True), MODES, (False, True), BATCHES))
START = Setting()
STEP = step_time(Setting(precision="mixed").training())
CHECKPOINTED = step_time(Setting(precision="mixed", checkpointing=True).training())
TF32_STEP = step_time(GPT2_XL, A100, BASE_BATCH, SEQUENCE, optimizer="adam", precision="tf32")
RECOMPUTE = CHECKPOINTED.hardware_flops / STEP.model_flops - 1
"""Arithmetic that checkpointing adds, as a share of the step's."""
UNIT = STEP.compute / SOURCE_FIRST["compute"]
"""Seconds of the first profile's step: its compute share is the engine's time for the matrix products."""
HAND_OVER = (
    SOURCE_SECOND["data"]
    / (1 - SOURCE_SECOND["data"])
    * (SOURCE_FIRST["transfer"] / 2 + SOURCE_FIRST["compute"] * (1 + RECOMPUTE))
)
"""The part of loading that no prefetching hides, so that the second profile keeps the source's 5 percent."""


def stages(setting: Setting) -> StageTimes:
    """Seconds of every stage. Loading and compute grow with the batch; weights and states move once per step."""
    per_batch = UNIT * setting.batch / BASE_BATCH
    return StageTimes(
        load=per_batch * (SOURCE_FIRST["data"] - HAND_OVER),
        hand_over=per_batch * HAND_OVER,
        transfer=UNIT * SOURCE_FIRST["transfer"] * (0.5 if setting.precision == "mixed" else 1),
        compute=per_batch * SOURCE_FIRST["compute"] * (1 + RECOMPUTE * setting.checkpointing),
    )


@cache
def iteration(setting: Setting) -> Iteration:
    """What one step waits for."""
    return stages(setting).iteration(prefetch=setting.prefetch)


def shares(setting: Setting) -> dict[str, float]:
    """Share of the step by segment; recompute is the part of compute that does nothing new."""
    step = iteration(setting).shares
    useful = step["compute"] / (1 + RECOMPUTE * setting.checkpointing)
    return {
        "data": step["data"],
        "transfer": step["transfer"],
        "compute": useful,
        "recompute": step["compute"] - useful,
    }


def without_data(setting: Setting) -> float:
    """Share of the step that is compute when loading is left out."""
    step = iteration(setting)
    return step.compute / (step.compute + step.transfer)


def throughput(setting: Setting) -> float:
    """Tokens per second."""
    return setting.batch * SEQUENCE / iteration(setting).total


def mfu(setting: Setting) -> float:
    """Model FLOPs per second over the dense BF16 peak."""
    return STEP.convention_flops / STEP.tokens * throughput(setting) / A100.peak("bf16")


@cache
def ledger(setting: Setting, sequence: int = SEQUENCE) -> MemoryLedger:
    """The engine's memory of the step. Prefetching costs nothing here: its buffers lie in the host's memory."""
    return training_memory(setting.training(sequence))


def need(setting: Setting) -> int:
    """Bytes the device must have."""
    return ledger(setting).device_total


@cache
def fits(setting: Setting) -> bool:
    """Whether the step's peak is within what the device can give."""
    return engine.fits(setting.training())


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    at = state.controls
    return Setting(bool(at["prefetch"]), str(at["precision"]), bool(at["checkpointing"]), int(at["batch"]))


NAMES = {"data": "Data loading", "transfer": "Memory transfers", "compute": "Compute", "recompute": "Recompute"}
DEVICE = f"{A100.usable_bytes / GB:.2f} GB"
"""What programs get of the card."""
OPTIMIZED = Setting(True, "mixed", True, BASE_BATCH)


def efficiency() -> float:
    """Share of the peak that matrix products reach while they run."""
    return STEP.convention_flops / (STEP.compute * A100.peak("bf16"))
