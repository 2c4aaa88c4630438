"""What the reader can set in Act 1, and the memory that a setting costs. Every number comes from the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import engine
from engine import GB, Setup, accelerator, model, setup, training_memory
from engine.memory import MemoryLedger
from plugins import live

GPT2_XL = model("gpt2-xl")
DEVICES = {"node": accelerator("h100-sxm"), "laptop": accelerator("rtx-4060")}
DEVICE_NAMES = {"node": "H100", "laptop": "RTX 4060"}
OPTIMIZERS = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}
PRECISIONS = {"fp32": "FP32", "fp16": "FP16", "mixed": "mixed precision"}
BATCHES = (1, 8, 16, 32, 64)
STATES = {"momentum_buffer": "Velocity", "exp_avg": "Adam m", "exp_avg_sq": "Adam v"}


def gb(size: float) -> str:
    """Bytes as GB with two decimals."""
    return f"{size / GB:,.2f}"


@dataclass(frozen=True)
class Setting:
    """What the reader has set on the three controls that cost memory."""

    optimizer: str
    precision: str
    batch: int

    @property
    def training(self) -> Setup:
        """The same for the engine: flash attention, full sequences, no dropout, PyTorch's fused update."""
        return setup(
            GPT2_XL,
            DEVICES["node"],
            self.batch,
            precision=self.precision,
            optimizer=self.optimizer,
            update="fused",
        )

    @property
    def words(self) -> str:
        """The setting as one would say it."""
        return f"{OPTIMIZERS[self.optimizer]} in {PRECISIONS[self.precision]} at batch {self.batch}"

    def changes_to(self, other: Setting) -> dict[str, str]:
        """The controls that differ, and where to put each to get the other setting."""
        wanted = {
            "batch": f"batch {other.batch}",
            "precision": PRECISIONS[other.precision],
            "optimizer": OPTIMIZERS[other.optimizer],
        }
        return {name: words for name, words in wanted.items() if getattr(self, name) != getattr(other, name)}


SETTINGS = tuple(Setting(*values) for values in product(OPTIMIZERS, PRECISIONS, BATCHES))


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


@cache
def total(setting: Setting) -> int:
    """Bytes of everything that training keeps."""
    return ledger(setting).total_bytes


def needed(setting: Setting) -> int:
    """Bytes a device must have: the step's peak with the driver's context.

    Less than the total where gradients arrive while activations leave, more where the backward pass needs temporary
    tensors.
    """
    return ledger(setting).device_total


@cache
def fits(setting: Setting, context: str) -> bool:
    """Whether the step's peak is within what the context's device can give."""
    return engine.fits(replace(setting.training, chip=DEVICES[context]))


def parts(setting: Setting) -> tuple[Part, ...]:
    """The segments from bottom to top. Optimizer state comes last: what it adds sits on top of all the rest."""
    account = ledger(setting)
    rest = (
        Part("parameters", "parameters", "Parameters", account.component("parameters")),
        Part("gradients", "gradients", "Gradients", account.component("gradients")),
        Part("master", "master", "Master copy", account.component("master")),
        Part("activations", "activations", "Activations", account.saved_bytes),
    )
    states = enumerate(account.bytes_by_part("optimizer").items(), start=1)
    return tuple(part for part in rest if part.size) + tuple(
        Part("optimizer_state", f"state_{number}", STATES[name], size) for number, (name, size) in states
    )


def adam_tax() -> int:
    """Bytes that training GPT-2 XL in FP32 needs more with Adam than with SGD: the answer to the question."""
    return needed(Setting("adam", "fp32", 1)) - needed(Setting("sgd", "fp32", 1))


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    controls = state.controls
    return Setting(str(controls["optimizer"]), str(controls["precision"]), int(controls["batch"]))
