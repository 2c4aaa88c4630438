"""One training iteration: how long its stages take, and what the levers change.

Everything is the engine's: the step's kernels, the disk's reads, the loader, the bus. One figure is assumed, and
marked as assumed wherever it is shown: what a processor core needs to tokenize a text.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product

import ironlaw
from explorable import live
from ironlaw import GB, Setup, accelerator, link, model, setup, step_time, training_memory
from ironlaw.hardware import storage
from ironlaw.memory import MemoryLedger
from ironlaw.time.step import StepTime
from ironlaw.training import Iteration, StageTimes, english_text, stage_times

GPT2_XL, A100 = model("gpt2-xl"), accelerator("a100-80")
SEQUENCE, BASE_BATCH, BATCHES = 256, 32, (16, 32, 64, 128, 256)
MODES = {"fp32": "tf32", "mixed": "amp-bf16"}
"""FP32 values are multiplied by the A100's TF32 units."""
SEGMENTS = 4
"""Checkpointing keeps the input of each of this many runs of blocks and computes the rest again."""
POLICY = f"every:{GPT2_XL.layers // SEGMENTS}"
DISK, BUS = storage("hdd"), link("pcie-4-x16")
TEXT = english_text(SEQUENCE)
"""A text, tokenized at the rate that the engine assumes."""
LOADERS, PREFETCH_FACTOR = 8, 2
"""Prefetching: so many processes, and batches in advance for each. Without it the training process loads, alone."""
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
        """The same for the engine, without prefetching, which takes neither device memory nor arithmetic."""
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
            "precision": "mixed precision" if other.precision == "mixed" else "TF32",
            "checkpointing": f"checkpointing {'on' if other.checkpointing else 'off'}",
            "batch": f"batch {other.batch}",
        }
        return [words[f.name] for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]


SETTINGS = tuple(Setting(*values) for values in product((False, True), MODES, (False, True), BATCHES))
START = Setting()


@cache
def step(setting: Setting) -> StepTime:
    """The engine's step on the device, without waiting for data."""
    return step_time(replace(setting, prefetch=False).training())


STEP = step(Setting(precision="mixed"))
RECOMPUTE = step(Setting(precision="mixed", checkpointing=True)).hardware_flops / STEP.model_flops - 1
"""Arithmetic that checkpointing adds, as a share of the step's."""


@cache
def stages(setting: Setting) -> StageTimes:
    """Seconds of every stage. To the copy over the bus come the kernels that wait for the device's own memory."""
    device = step(setting)
    workers = LOADERS if setting.prefetch else 1
    times = stage_times(TEXT, setting.batch, device.compute, DISK, BUS, workers=workers)
    return replace(times, transfer=times.transfer + device.total - device.compute)


@cache
def iteration(setting: Setting) -> Iteration:
    """What one step waits for."""
    return stages(setting).iteration(prefetch=setting.prefetch)


def shares(setting: Setting) -> dict[str, float]:
    """Share of the step by segment; recompute is the part of compute that does nothing new."""
    found = iteration(setting).shares
    # The quotient first: without checkpointing it is exactly 1, and nothing is left for recompute.
    useful = found["compute"] * (step(replace(setting, checkpointing=False)).compute / step(setting).compute)
    return {
        "data": found["data"],
        "transfer": found["transfer"],
        "compute": useful,
        "recompute": found["compute"] - useful,
    }


def without_data(setting: Setting) -> float:
    """Share of the step that is compute when loading is left out."""
    found = iteration(setting)
    return found.compute / (found.compute + found.transfer)


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


def beside_states(setting: Setting) -> int:
    """Bytes of activations and workspace at the fullest moment: what is there besides weights, gradients and states."""
    return need(setting) - min(ledger(setting).static_bytes, need(setting))


@cache
def fits(setting: Setting) -> bool:
    """Whether the step's peak is within what the device can give."""
    return ironlaw.fits(setting.training())


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    at = state.controls
    return Setting(bool(at["prefetch"]), str(at["precision"]), bool(at["checkpointing"]), int(at["batch"]))


NAMES = {"data": "Data loading", "transfer": "Memory and bus", "compute": "Compute", "recompute": "Recompute"}
DEVICE = f"{A100.usable_bytes / GB:.2f} GB"
"""What programs get of the card."""
TARGET = 50
"""The MFU to reach on the bench, in percent."""
ASSUMED = f"{1e3 * TEXT.cpu_seconds:.1f} ms to tokenize one (assumed)"
"""The words for the one figure that is not the engine's."""
LOADING = f"{DISK.title}, {1e3 * DISK.latency:.0f} ms to reach a text; a processor core, {ASSUMED}"
"""What loading takes."""


def efficiency(setting: Setting) -> float:
    """Share of the BF16 peak that matrix products reach while they run, counted by the rule for MFU."""
    device = step(setting)
    return device.convention_flops / (device.compute * A100.peak("bf16"))
