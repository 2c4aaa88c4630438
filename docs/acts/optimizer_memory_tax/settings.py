"""What the reader can set in Act 1, and the memory that a setting costs. Every number comes from the engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import ironlaw
from explorable import live
from ironlaw import GB, Setup, accelerator, model, setup, training_memory
from ironlaw.memory import MemoryLedger

GPT2_XL = model("gpt2-xl")
DEVICES = {"node": accelerator("h100-sxm"), "laptop": accelerator("rtx-4060")}
DEVICE_NAMES = {"node": "H100", "laptop": "RTX 4060"}
OPTIMIZERS = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}
PRECISIONS = {"fp32": "FP32", "fp16": "FP16", "mixed": "mixed precision"}
UPDATES = {"fused": "Fused", "foreach": "Foreach"}
BATCHES = (1, 8, 16, 32, 64)
STATES = {"momentum_buffer": "Velocity", "exp_avg": "Adam m", "exp_avg_sq": "Adam v"}


def gb(size: float) -> str:
    """Bytes as GB with two decimals."""
    return f"{size / GB:,.2f}"


def more(size: float, other: float) -> str:
    """By how many GB one size is more than another, as the two are shown."""
    return f"{round(size / GB, 2) - round(other / GB, 2):,.2f}"


@dataclass(frozen=True)
class Setting:
    """What the reader has set on the controls that cost memory."""

    optimizer: str
    precision: str
    batch: int
    update: str = "fused"

    @property
    def training(self) -> Setup:
        """The same for the engine: flash attention, full sequences, no dropout."""
        return setup(
            GPT2_XL,
            DEVICES["node"],
            self.batch,
            precision=self.precision,
            optimizer=self.optimizer,
            update=self.update,
        )

    @property
    def command(self) -> str:
        """The same on the engine's command line, which otherwise takes PyTorch's default update, foreach."""
        return (
            f"python -m ironlaw estimate --model {GPT2_XL.name} --batch {self.batch} --precision {self.precision} "
            f"--optimizer {self.optimizer} --update {self.update}"
        )

    @property
    def words(self) -> str:
        """The setting as one would say it."""
        each = " and the foreach update" if self.update == "foreach" else ""
        return f"{OPTIMIZERS[self.optimizer]} in {PRECISIONS[self.precision]} at batch {self.batch}{each}"

    def changes_to(self, other: Setting) -> dict[str, str]:
        """The controls that differ, and where to put each to get the other setting."""
        wanted = {
            "batch": f"batch {other.batch}",
            "precision": PRECISIONS[other.precision],
            "optimizer": OPTIMIZERS[other.optimizer],
            "update": f"the {other.update} update",
        }
        return {name: words for name, words in wanted.items() if getattr(self, name) != getattr(other, name)}


SETTINGS = tuple(Setting(*values) for values in product(OPTIMIZERS, PRECISIONS, BATCHES, UPDATES))


@dataclass(frozen=True)
class Part:
    """One segment of the stack: the component it belongs to (and is toggled by), its key, its label, its bytes."""

    component: str
    key: str
    label: str
    size: int


@cache
def ledger(setting: Setting) -> MemoryLedger:
    """The engine's account of a training step."""
    return training_memory(setting.training)


def together(some: Iterable[Part]) -> float:
    """GB of parts, each at its fullest, by the digits that are shown: a reader who adds them finds the same."""
    return sum(round(part.size / GB, 2) for part in some)


@cache
def gone(setting: Setting) -> float:
    """GB of the parts that are gone, or not there yet, at the peak, by the same digits."""
    return together(parts(setting)) - round(needed(setting) / GB, 2)


@cache
def needed(setting: Setting) -> int:
    """Bytes a device must have: the step's peak with what the driver takes."""
    return ledger(setting).device_total


def activations_there(setting: Setting) -> int:
    """Bytes of activations that are there at the peak: all of them at the loss, next to none once gradients are."""
    account = ledger(setting)
    embedding = sum(account.bytes_by_part(name).get("embedding", 0) for name in ("activations", "logits"))
    there = {"backward, loss": account.saved_bytes, "backward, embedding": embedding, "optimizer step": 0}
    return there[account.peak.name]


def temporary(setting: Setting) -> int:
    """Bytes at the peak of what lives for a moment only: all that is allocated then, less what is kept."""
    account = ledger(setting)
    kept = sum(account.component(name) for name in ("parameters", "master", "optimizer"))
    # Gradients arrive while activations leave.
    gradients = 0 if account.peak.name == "backward, loss" else account.component("gradients")
    return account.allocated_peak - kept - gradients - activations_there(setting)


@cache
def fits(setting: Setting, context: str) -> bool:
    """Whether the step's peak is within what the context's device can give."""
    return ironlaw.fits(replace(setting.training, chip=DEVICES[context]))


@cache
def parts(setting: Setting) -> tuple[Part, ...]:
    """The segments from bottom to top. Optimizer state comes last: what it adds sits on top of all the rest."""
    account = ledger(setting)
    rest = (
        Part("parameters", "parameters", "Parameters", account.component("parameters")),
        Part("gradients", "gradients", "Gradients", account.component("gradients")),
        Part("master", "master", "Master copy", account.component("master")),
        Part("activations", "activations", "Activations", account.saved_bytes),
        Part("temporary", "temporary", "Temporary tensors", temporary(setting)),
        Part("driver", "driver", "Driver", account.device_total - account.allocated_peak),
    )
    states = enumerate(account.bytes_by_part("optimizer").items(), start=1)
    return tuple(part for part in rest if part.size) + tuple(
        Part("optimizer_state", f"state_{number}", STATES[name], size) for number, (name, size) in states
    )


def adam_tax(update: str = "fused") -> int:
    """Bytes that training GPT-2 XL in FP32 needs more with Adam than with SGD: with the fused update, the answer."""
    return needed(Setting("adam", "fp32", 1, update)) - needed(Setting("sgd", "fp32", 1, update))


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    at = state.controls
    return Setting(str(at["optimizer"]), str(at["precision"]), int(at["batch"]), str(at["update"]))
