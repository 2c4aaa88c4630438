"""The cases of the evaluation: plain training, its controls and every predictor, each on one task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from gpu_bench.cases.case import Case, ModelName
from gpu_bench.cases.sizes import SIZES
from gpu_bench.experiments.digits import CLASSES, MNIST_SIDE, SIDE
from gpu_bench.experiments.hybrid.arms import ARMS, MEMORY_ARMS, Arm
from gpu_bench.record.rules import Amount, Count, Rule, Steps, Tokens, Words
from ironlaw import Transformer

GPT2_VOCABULARY = 50257
BYTES_VOCABULARY = 256
HybridPrecision = Literal["fp32", "amp-bf16"]


@dataclass(frozen=True, kw_only=True)
class HybridCase(Case):
    """All runs of `arms.ARMS` on one task. Each repeat trains all of them from one seed of its own."""

    kind: Literal["hybrid"] = "hybrid"
    # `digits`: two convolutions tell handwritten digits of 8 x 8 pixels. `mnist`: the same of 28 x 28 pixels. `text`: a
    # GPT-2 continues source code
    task: Literal["digits", "mnist", "text"] = "digits"
    steps: Steps  # Of plain training, predicted ones of the others included
    batch: Count = 64  # Images or sequences of a step
    learning_rate: Amount = 1e-3  # Of plain training
    channels: Count = 8  # Digits: of the first of two convolutions; the second has twice as many
    model: ModelName = "pico"  # Text: the shape, a name from `sizes.SIZES`
    sequence: Tokens = 64  # Text: tokens per sequence
    # Text: kinds of token. 50,257 are all of GPT-2's; fewer are the most frequent of the text, with one more for all
    # others; 256 are bytes
    vocabulary: Annotated[int, Rule("1", least=BYTES_VOCABULARY, most=GPT2_VOCABULARY)] = BYTES_VOCABULARY
    precision: HybridPrecision = "fp32"  # Of the passes; `amp-bf16` is autocast
    left_out: tuple[Words, ...] = ()  # Runs of `arms.ARMS` that are not trained

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.left_out:
            if name not in self.planned or name == "plain":
                allowed = ", ".join(one for one in self.planned if one != "plain")
                raise ValueError(f"left_out has {name!r}; allowed: {allowed}")

    @property
    def planned(self) -> dict[str, Arm]:
        """All runs that there are, by name."""
        return ARMS

    @property
    def arms(self) -> dict[str, Arm]:
        """The runs that are trained, by name."""
        return {name: arm for name, arm in self.planned.items() if name not in self.left_out}

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights that are trained, in FP32."""
        if self.task == "text":
            size = SIZES[self.model]
            longest = max(size.max_seq, self.sequence)
            shape = Transformer(self.model, size.layers, size.hidden, size.heads, self.vocabulary, longest)
            return 4 * shape.parameters
        first, side = self.channels, MNIST_SIDE if self.task == "mnist" else SIDE
        products = 9 * first + 9 * first * 2 * first + 2 * first * (side // 2) ** 2 * CLASSES
        return 4 * (products + first + 2 * first + CLASSES)

    @property
    def quality(self) -> Literal["loss", "perplexity"]:
        """What runs are compared by."""
        return "perplexity" if self.task == "text" else "loss"

    @property
    def extent(self) -> str:
        """How many trainings of each seed."""
        return f"{len(self.arms)} trainings of each seed"


@dataclass(frozen=True, kw_only=True)
class MemoryCase(HybridCase):
    """The runs of `arms.MEMORY_ARMS` on one task: what each option of memory saves, and what it costs."""

    kind: Literal["hybrid-memory"] = "hybrid-memory"  # type: ignore[assignment] # one of two words

    @property
    def planned(self) -> dict[str, Arm]:
        """All runs that there are, by name."""
        return MEMORY_ARMS


_SLOWER = ("dynamic-modes", "recurrent")
"""Both take longer than the steps that they replace, on the small digits already."""
_HIGHER = ("plain-momentum", "fewer-steps-momentum", "fewer-steps-2x-batch", "fewer-steps-4x-batch",
           "last-update-watched")  # fmt: skip
"""After 300 steps each of these had a higher loss than a control that is kept. Leaving controls out can only make it
easier for a prediction to win."""
_TEXT: dict[str, Any] = {"task": "text", "steps": 300, "batch": 8, "vocabulary": 2048}
_GPT2: dict[str, Any] = {"vocabulary": GPT2_VOCABULARY, "device": "cuda", "time_limit_s": 7200.0}


def _case(name: str, value: int, reason: str, kind: type[HybridCase] = HybridCase, **fields: Any) -> HybridCase:
    return kind(name=f"hybrid-{name}", value=value, reason=reason, repeats=5, **fields)


def _gpt2(model: ModelName, value: int, **fields: Any) -> HybridCase:
    """A published size on a GPU, at the rates that models of its size are trained with (GPT-3, table 2.1)."""
    reason = "whether predicted steps save time that a higher rate would not save, where training is dear"
    fields |= {**_GPT2, "task": "text", "steps": 600, "sequence": 1024, "precision": "amp-bf16"}
    return _case(model, value, reason, model=model, **fields)


HYBRID_SUITE: tuple[HybridCase, ...] = (
    _case(
        "digits-ci", 45, "whether predicted steps save time that skipping them would not save, in the size of a test",
        steps=300, channels=4, time_limit_s=1800.0,
    ),
    _case("digits", 44, "the same until training has converged", steps=600, channels=12, time_limit_s=3600.0),
    _case(
        "text", 43, "the same with a small GPT-2 on source code, whose quality is a perplexity",
        **_TEXT, left_out=_SLOWER, time_limit_s=3600.0,
    ),
    # Two passes over the images.
    _case(
        "digits-full", 43, "the same on all 60,000 digits of MNIST, which each run sees twice, with 10,000 to test",
        task="mnist", steps=2 * (60_000 // 64), left_out=_SLOWER, time_limit_s=4 * 3600.0,
    ),
    _case(
        "text-long", 43, "the small GPT-2 for three times as long",
        **{**_TEXT, "steps": 900}, left_out=(*_SLOWER, *_HIGHER), time_limit_s=4 * 3600.0,
    ),
    _case(
        "memory", 42,
        "what mixed precision, accumulation and putting the optimizer's state away save, alone and together",
        MemoryCase, **_TEXT, time_limit_s=3600.0,
    ),
    _case(
        "memory-gpt2", 41, "the same on a GPU, at the shape for which the plan has estimates", MemoryCase,
        **{**_TEXT, **_GPT2}, learning_rate=6e-4, model="gpt2", sequence=512, minimum_memory=12 * 10**9,
    ),
    _gpt2("gpt2", 42, batch=8, learning_rate=6e-4, minimum_memory=45 * 10**9),
    _gpt2("gpt2-medium", 41, batch=8, learning_rate=3e-4, minimum_memory=79 * 10**9),
    # Eight remembered updates of 6 GB each and the snapshot leave no room for eight more numbers per weight.
    _gpt2("gpt2-xl", 40, batch=2, learning_rate=2e-4, minimum_memory=139 * 10**9, left_out=("recurrent",)),
)  # fmt: skip
