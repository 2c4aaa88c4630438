"""Where the levers of the challenge stand, what a setting costs in memory, and whether it trains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import ironlaw
from explorable import live
from ironlaw import GB, Setup, accelerator, model, setup, training_memory
from ironlaw.memory import MemoryLedger
from ironlaw.numerics.formats import FP16, FP32, FloatFormat

GPT2_XL = model("gpt2-xl")
LAPTOP = "rtx-4060"
BUDGET = accelerator(LAPTOP).usable_bytes
"""What programs get of the 8 GB on the box."""
OPTIMIZERS = {"adam": "Adam", "momentum": "Momentum", "sgd": "SGD"}
PRECISIONS = {"fp32": "FP32", "mixed": "mixed precision", "fp16": "pure FP16"}
BATCHES = (32, 16, 8, 4, 2, 1)
OFFLOADS = {"none": "nothing", "optimizer": "states and master copy", "gradients": "states, master copy and gradients"}
LAPTOPS = (1, 2, 4, 8)
CHUNKS = 16
WEIGHT, RATE, MOMENTUM = 0.02, 0.01, 0.9
"""A weight of GPT-2 as it is initialized, a learning rate and a momentum of SGD."""
GRADIENT = GPT2_XL.parameters**-0.5
"""A typical gradient of one weight: the norm of all is clipped to 1, and all weights have equal shares."""
UPDATES = 1000
ADAM_EPSILON = 1e-8
"""What Adam adds to the root of v, so as not to divide by zero: the default of PyTorch and of the paper."""


def gb(size: float) -> str:
    """Bytes as GB with two decimals."""
    return f"{size / GB:,.2f}"


def more(size: float, other: float) -> str:
    """By how many GB one size is more than another, as the two are shown."""
    return f"{round(size / GB, 2) - round(other / GB, 2):,.2f}"


@dataclass(frozen=True)
class Setting:
    """Where all levers stand; the last four belong to the epilogue and start neutral."""

    precision: str = "fp32"
    optimizer: str = "adam"
    checkpointing: bool = False
    chunked: bool = False
    batch: int = 32
    in_backward: bool = False
    eight_bit: bool = False
    offload: str = "none"
    laptops: int = 1

    @property
    def plain(self) -> Setting:
        """The same without the levers of the epilogue."""
        return Setting(self.precision, self.optimizer, self.checkpointing, self.chunked, self.batch)

    @property
    def training(self) -> Setup:
        """The same for the engine: flash attention, full sequences, PyTorch's fused update."""
        eight = self.eight_bit and self.optimizer == "adam"
        return setup(
            GPT2_XL,
            LAPTOP,
            self.batch,
            optimizer="adamw-8bit" if eight else self.optimizer,
            precision=self.precision,
            checkpointing="full" if self.checkpointing else "none",
            loss=f"chunked:{CHUNKS}" if self.chunked else "full",
            optimizer_in_backward=self.in_backward,
            # Updates during backward keep no gradients, so there are none to move to the host.
            offload="optimizer" if self.in_backward and self.offload == "gradients" else self.offload,
            update="fused",
            dp=self.laptops,
            zero=3 if self.laptops > 1 else 0,
        )

    @property
    def command(self) -> str:
        """The same on the engine's command line."""
        asked = self.training
        return (
            f"python -m ironlaw estimate --model {GPT2_XL.name} --gpu {LAPTOP} --batch {self.batch} "
            f"--precision {self.precision} --optimizer {asked.optimizer.name} --update fused"
            + (" --checkpointing full" if self.checkpointing else "")
            + (f" --loss chunked:{CHUNKS}" if self.chunked else "")
            + (" --optimizer-in-backward" if self.in_backward else "")
            + (f" --offload {asked.update.offload}" if asked.update.offload != "none" else "")
            + (f" --dp {self.laptops} --zero 3" if self.laptops > 1 else "")
        )

    @property
    def trains(self) -> bool:
        """Whether the format in which weights are updated keeps an everyday update."""
        return keeps_updates(self.precision)

    @property
    def words(self) -> str:
        """The setting as one would say it."""
        extras = [
            "checkpointing" if self.checkpointing else "",
            "a chunked loss" if self.chunked else "",
            "updates during backward" if self.in_backward else "",
            "8-bit states" if self.eight_bit else "",
            f"{OFFLOADS[self.offload]} in host memory" if self.offload != "none" else "",
            f"{self.laptops} laptops" if self.laptops > 1 else "",
        ]
        base = f"{OPTIMIZERS[self.optimizer]} in {PRECISIONS[self.precision]} at batch {self.batch}"
        return ", ".join([base, *(extra for extra in extras if extra)])


SETTINGS = tuple(Setting(*values) for values in product(PRECISIONS, OPTIMIZERS, (False, True), (False, True), BATCHES))
"""Everything that the levers of the challenge offer."""


def update_format(precision: str) -> FloatFormat:
    """The format of the weights that the optimizer updates: a master copy where there is one."""
    return FP16 if precision == "fp16" else FP32


@cache
def keeps_updates(precision: str) -> bool:
    """Whether the weights that are updated keep an everyday update."""
    return not update_format(precision).update_vanishes(WEIGHT, -RATE * GRADIENT)


@cache
def ledger(setting: Setting) -> MemoryLedger:
    """The engine's account."""
    return training_memory(setting.training)


@cache
def need(setting: Setting) -> int:
    """Bytes one GPU must have: the fullest moment of the step, and the driver's share."""
    return ledger(setting).device_total


@cache
def fits(setting: Setting) -> bool:
    """Whether the step's peak is within what the laptop can give."""
    return ironlaw.fits(setting.training)


@cache
def floors() -> dict[str, Setting]:
    """The most frugal setting on offer: of all, of those that train, of those that train with Adam."""
    classes = {
        "any": SETTINGS,
        "trains": tuple(one for one in SETTINGS if one.trains),
        "adam": tuple(one for one in SETTINGS if one.trains and one.optimizer == "adam"),
    }
    # Of settings that need equally much, `min` takes the first, which gives up the least.
    return {name: min(members, key=need) for name, members in classes.items()}


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    at = state.controls
    return Setting(
        str(at["precision"]),
        str(at["optimizer"]),
        bool(at["checkpointing"]),
        bool(at["chunked"]),
        int(at["batch"]),
        bool(at["in_backward"]),
        bool(at["eight_bit"]),
        str(at["offload"]),
        int(at["laptops"]),
    )
