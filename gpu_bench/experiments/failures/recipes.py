"""How each run of the failure lab trains: a failure, its reference and its repairs, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from gpu_bench.record.rules import Amount, Count, Number, Rule, Steps

Task = Literal["classify", "autoencode"]
Format = Literal["fp32", "fp16", "bf16"]
Scaling = Literal["none", "static", "dynamic"]
Role = Literal["reference", "failure", "cure", "shown"]
"""What a run is there for. `shown`: its outcome is reported; neither success nor failure is expected."""


CurveName = Literal["loss", "scale", "norm", "vanished"]
POINTS = 100
"""Points of a curve."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One way to train on the digits."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}
    role: Role  # What the run is there for
    task: Task = "classify"  # Classify the digit, or reconstruct its image with an autoencoder
    depth: Count = 2  # Hidden layers
    products: Format = "fp32"  # Format of matrix products; `fp32`, or that of autocast
    weights: Format = "fp32"  # Format to which the weights are rounded after each step. All else is computed in FP32
    master: bool = False  # Whether the optimizer goes on from an FP32 copy of them, which is not rounded
    optimizer: Literal["sgd", "adam"] = "sgd"  # Its rule
    learning_rate: Amount = 0.1  # After warm-up
    momentum: Amount = 0.0  # Of SGD
    warmup: Annotated[int, Rule("step", least=0)] = 0  # Steps over which the learning rate rises in a straight line
    batch: Count = 64  # Images of a step
    steps: Steps = 400  # Steps
    # What the loss is multiplied by before the backward pass: nothing, `scale`, or what the scaler finds
    scaling: Scaling = "none"
    scale: Annotated[float, Rule("1", above=0)] = 65536.0  # The factor, or that of the first step
    growth_interval: Steps = 50  # Steps without overflow after which the scaler doubles its factor
    clip: Number | None = None  # Largest norm of all gradients together; None where they are not clipped
    # Step whose batch is faulty, counted from 0; None without
    outlier_step: Annotated[int, Rule("step", least=0)] | None = None
    outlier: Number = 65535.0  # By what the pixels of that batch are multiplied
    weight: Number = 1.0  # By what the loss is multiplied; below 1 it stands for one small term of a larger loss

    def as_dict(self) -> dict[str, Any]:
        """The settings of a run as plain data."""
        return asdict(self)

    @property
    def every(self) -> int:
        """Steps from one point of a curve to the next."""
        return max(1, self.steps // POINTS)

    @property
    def curves(self) -> tuple[CurveName, ...]:
        """What is written down along the way."""
        there: dict[CurveName, bool] = {
            "loss": True,
            "scale": self.scaling == "dynamic",
            "norm": self.clip is not None or self.outlier_step is not None,
            "vanished": self.weights != "fp32",
        }
        return tuple(name for name, written in there.items() if written)

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.learning_rate * min(1.0, (step + 1) / (self.warmup + 1))


@dataclass(frozen=True)
class Failure:
    """A failure with its runs, all of which start from the same weights and see the same images."""

    # A run failed if its loss on the tested digits is not finite, or more than so many times the reference's
    worse: float
    recipes: dict[str, Recipe]  # The runs by name
    histograms: tuple[int, ...] = ()  # Steps of the reference at which the sizes of gradients are counted


def _outlier() -> dict[str, Recipe]:
    clean = Recipe(role="reference", steps=300)
    half = replace(clean, role="failure", outlier_step=150, products="fp16")
    return {
        "clean": clean,
        "fp16": half,
        "fp16-clipped": replace(half, clip=1.0),
        "fp16-scaled": replace(half, role="cure", scaling="dynamic"),
    }


def _clipping() -> dict[str, Recipe]:
    clean = Recipe(role="reference", steps=300)
    hit = replace(clean, role="failure", outlier_step=150)
    return {
        "clean": clean,
        "fp32": hit,
        "bf16": replace(hit, products="bf16"),
        "fp32-clipped": replace(hit, role="cure", clip=1.0),
        "bf16-clipped": replace(hit, role="cure", clip=1.0, products="bf16"),
    }


def _underflow() -> dict[str, Recipe]:
    full = Recipe(
        role="reference", task="autoencode", depth=4, optimizer="adam", learning_rate=1e-3, steps=400, weight=1e-4
    )
    half = replace(full, products="fp16")
    return {
        "fp32": full,
        "fp16": replace(half, role="failure"),
        "bf16": replace(full, role="cure", products="bf16"),
        "fp16-static": replace(half, role="cure", scaling="static"),
        "fp16-dynamic": replace(half, role="cure", scaling="dynamic", scale=2.0**40),
        "fp16-too-large": replace(half, role="failure", scaling="static", scale=2.0**40),
    }


def _updates() -> dict[str, Recipe]:
    full = Recipe(role="reference", optimizer="adam", learning_rate=1e-5, steps=4000)
    half = replace(full, weights="fp16")
    return {
        "fp32": full,
        "fp16": replace(half, role="failure"),
        "bf16": replace(full, role="failure", weights="bf16"),
        "fp16-master": replace(half, role="cure", master=True),
    }


def _large_batch() -> dict[str, Recipe]:
    small = Recipe(role="reference", batch=16, steps=1600)
    large = replace(small, batch=128, steps=200)
    eight = replace(large, role="cure", learning_rate=8 * small.learning_rate)
    return {
        "batch-16": small,
        "batch-128": replace(large, role="failure"),
        "batch-128-8x": eight,
        "batch-128-8x-warmup": replace(eight, warmup=50),
    }


def _linear_scaling() -> dict[str, Recipe]:
    small = Recipe(role="reference", depth=4, batch=16, steps=2400, learning_rate=0.03, momentum=0.9)
    large = replace(small, batch=128, steps=300)
    eight = replace(large, role="failure", learning_rate=8 * small.learning_rate)
    return {
        "batch-16": small,
        "batch-128": replace(large, role="shown"),
        "batch-128-8x": eight,
        "batch-128-8x-warmup": replace(eight, role="cure", warmup=150),
        "batch-128-8x-warmup-clipped": replace(eight, role="cure", warmup=150, clip=1.0),
    }


FAILURES: dict[str, Failure] = {
    "outlier": Failure(2.0, _outlier()),
    "clipping": Failure(2.0, _clipping()),
    "underflow": Failure(2.0, _underflow(), histograms=(0, 100, 300)),
    "updates": Failure(1.5, _updates()),
    "large-batch": Failure(3.0, _large_batch()),
    "linear-scaling": Failure(5.0, _linear_scaling()),
}
"""Every failure by name."""


def planned(failure: str, shortened: int) -> dict[str, tuple[Recipe, tuple[int, ...]]]:
    """The runs of a failure with the steps at which gradients are counted, in so many times fewer steps."""

    def fewer(steps: int) -> int:
        return steps // shortened

    found = {}
    for name, recipe in FAILURES[failure].recipes.items():
        at = recipe.outlier_step
        short = replace(
            recipe,
            steps=max(1, fewer(recipe.steps)),
            warmup=fewer(recipe.warmup),
            outlier_step=None if at is None else fewer(at),
        )
        counted = FAILURES[failure].histograms if recipe.role == "reference" else ()
        found[name] = (short, tuple(map(fewer, counted)))
    return found
