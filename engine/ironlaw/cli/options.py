"""Options that describe a configuration: one table, from which parsing, help, sweeps and their tests are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ironlaw.cli.terminal import UsageError, closest, quoted
from ironlaw.config.choices import BUFFERS, ROLLOUTS, buffers, rollout
from ironlaw.config.optimizers import list_optimizers
from ironlaw.config.setup import DEFAULT_GPU, PASSES, REFERENCES
from ironlaw.core.errors import EngineError
from ironlaw.graph.checkpointing import WORDS
from ironlaw.hardware.accelerators import list_accelerators
from ironlaw.hardware.links import list_links
from ironlaw.models.transformer import list_models
from ironlaw.networks.convnets import NETWORKS
from ironlaw.numerics.precision import list_precisions


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value.

    Attributes:
        read: The value of a text; raises `ValueError` for anything that is not allowed.
        allowed: What is allowed, in words.
        names: Names to propose when a text is not allowed.
        few: Whether the help lists what is allowed.
    """

    read: Callable[[str], Any]
    allowed: str
    names: Callable[[], tuple[str, ...]] = tuple
    few: bool = False


def whole(lowest: int, highest: int) -> ValueKind:
    """Whole numbers of a range, written in decimal digits."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 19 and lowest <= int(text) <= highest):
            raise ValueError(text)
        return int(text)

    return ValueKind(read, f"a whole number from {lowest} to {highest}")


def one_of(*names: str) -> ValueKind:
    """One of a few names."""
    return ValueKind(_known(lambda: names), ", ".join(names), lambda: names, few=True)


def named(what: str, names: Callable[[], tuple[str, ...]]) -> ValueKind:
    """A name from one of the engine's lists, which are too long to print."""
    return ValueKind(_known(names), f"a name that `python -m ironlaw list {what}` prints", names)


def _known(names: Callable[[], tuple[str, ...]]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names():
            raise ValueError(text)
        return text

    return read


def patterns(example: str) -> ValueKind:
    """Names, or patterns of names in which `*` stands for any text, with commas between."""

    def read(text: str) -> str:
        if not re.fullmatch(r"[A-Za-z*][\w.*-]{0,60}(,[A-Za-z*][\w.*-]{0,60}){0,50}", text, re.ASCII):
            raise ValueError(text)
        return text

    return ValueKind(read, f"names or patterns with commas between, such as {example}")


def read_by(make: Callable[[str], object], allowed: str, *names: str) -> ValueKind:
    """Texts that the engine understands, of which it says itself what they may be; the names are proposed."""

    def read(text: str) -> str:
        try:
            make(text)
        except EngineError:
            raise ValueError(text) from None
        return text

    return ValueKind(read, allowed, lambda: names, few=bool(names))


def reference() -> ValueKind:
    """A format of `setup`'s reference, with its forward passes where they are several."""
    names = tuple(f"{kept}{passes}" for kept in ("16-bit", "fp32") for passes in ("", *(f":{one}" for one in PASSES)))
    return ValueKind(
        _known(lambda: ("none", *names)), ", ".join(REFERENCES), lambda: ("none", "16-bit", "fp32"), few=True
    )


def counted(word: str, *names: str) -> ValueKind:
    """One of a few names, or `word:K`."""
    number = whole(1, 1_000_000)

    def read(text: str) -> str:
        start, _, rest = text.partition(":")
        if text not in names:
            if start != word:
                raise ValueError(text)
            number.read(rest)
        return text

    return ValueKind(
        read, f"{', '.join(names)}, {word}:K with K {number.allowed}", lambda: (*names, f"{word}:8"), few=True
    )


def _models() -> tuple[str, ...]:
    return (*list_models(), *NETWORKS)


def _gpus() -> tuple[str, ...]:
    # Of several names that begin with the typed text, the first is proposed; so the default comes first.
    return tuple(dict.fromkeys((DEFAULT_GPU, *list_accelerators())))


def decimal(allowed: str, within: Callable[[float], bool]) -> ValueKind:
    """Numbers of a range, written in decimal digits."""

    def read(text: str) -> float:
        if len(text) > 40 or not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) or not within(float(text)):
            raise ValueError(text)
        return float(text)

    return ValueKind(read, allowed)


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        flag: As typed.
        kind: Of its value; None for a switch.
        text: For the help.
        sets: What it sets, where that has another name.
        constant: What a switch sets.
    """

    flag: str
    kind: ValueKind | None
    text: str
    sets: str = ""
    constant: Any = True

    @property
    def argument(self) -> str:
        """The argument of `ironlaw.config.setup.setup`, or the field of `Transformer`, that it sets."""
        return self.sets or self.flag.removeprefix("--").replace("-", "_")

    def read(self, text: str) -> Any:
        """The value of `text`. Raises `UsageError` when it is not allowed."""
        assert self.kind is not None
        try:
            return self.kind.read(text)
        except ValueError:
            names, start = self.kind.names(), text.partition(":")[0]
            # Somebody who writes every:0 knows the form already, and needs no proposal of every:8.
            known = ":" in text and any(name.startswith(f"{start}:") for name in names)
            meant = "" if known else closest(text, names)
            raise UsageError(
                f"{self.flag} {quoted(text)} is not allowed{meant}; allowed: {self.kind.allowed}"
            ) from None

    @property
    def help(self) -> str:
        """For the help, with what is allowed where that is short."""
        if self.kind is None or not self.kind.few or all(name in self.text for name in self.kind.names()):
            return self.text
        return f"{self.text}; {self.kind.allowed.partition(' with K')[0]}"


SHAPE = (
    Option("--layers", whole(1, 10_000), "blocks"),
    Option("--hidden", whole(1, 1_000_000), "width of the residual stream"),
    Option("--heads", whole(1, 100_000), "query heads"),
    Option("--kv-heads", whole(1, 100_000), "key/value heads (as many as query heads)"),
    Option("--ffn", whole(1, 10_000_000), "width inside the MLP (4 x hidden)"),
    Option("--vocab", whole(1, 100_000_000), "rows of the token embedding (50257)"),
    Option("--max-seq", whole(1, 100_000_000), "longest sequence (1024)"),
    Option("--tied", None, "output head and token embedding are one matrix (default)"),
    Option("--untied", None, "they are two", "tied", constant=False),
    Option("--bias", None, "linear layers and layer norms have biases (default)"),
    Option("--no-bias", None, "they have none", "bias", constant=False),
    Option("--mlp", one_of("gelu", "relu", "swiglu"), "gelu, relu or swiglu (gelu)"),
    Option("--norm", one_of("layernorm", "rmsnorm"), "layernorm or rmsnorm (layernorm)"),
    Option("--position", one_of("learned", "rope", "alibi", "none"), "learned, rope, alibi, none (learned)"),
)
STEP = (
    Option("--batch", whole(1, 1_000_000), "sequences in a micro-batch of one replica (1)"),
    Option("--seq", whole(1, 100_000_000), "tokens in a sequence (the model's longest)", "sequence"),
    Option(
        "--precision",
        one_of(*list_precisions()),
        "number formats (amp-bf16, or amp-fp16 where there is no bf16; megatron's own under megatron)",
    ),
    Option(
        "--optimizer",
        one_of(*list_optimizers()),
        "update rule (adamw)",
    ),
    Option("--attention", one_of("standard", "flash"), "attention kernels (flash)"),
    Option(
        "--attention-generation",
        whole(1, 4),
        "of flash: 1, 2; 3, 4 on some GPUs (2)",
    ),
    Option("--checkpointing", counted("every", *WORDS), "what is recomputed (none)"),
    Option("--loss", counted("chunked", "full", "fused", "fused-linear"), "how head and loss are computed (full)"),
    Option(
        "--logits",
        one_of("16-bit", "16-bit-shifted", "fp32", "fp32-shifted", "fp32-shifted-early"),
        "what becomes of them before the loss (what the model's code does)",
    ),
    Option("--keep-logits", None, "the training loop holds the logits until the backward pass is over"),
    Option("--metrics", whole(0, 100), "cross-entropies computed besides the loss, for logging (0)"),
    Option(
        "--dropout",
        decimal("a number of at least 0 and below 1", lambda share: 0 <= share < 1),
        "probability of dropout (what --config says, or 0)",
    ),
    Option("--accumulate", whole(1, 1_000_000), "micro-batches per update (1)"),
    Option("--optimizer-in-backward", None, "update each parameter as its gradient appears"),
    Option(
        "--offload",
        one_of("none", "optimizer", "gradients", "parameters", "shards"),
        "what lives in host memory (none)",
    ),
    Option(
        "--offload-sizes",
        read_by(buffers, BUFFERS),
        "elements of DeepSpeed's buffers, under ZeRO 2 and 3 or offloading (its own)",
    ),
    Option("--update", one_of("foreach", "for-loop", "fused"), "PyTorch's kind of update (foreach)"),
    Option("--framework", one_of("torch", "megatron"), "whose tensors and kernels (torch)"),
    Option("--execution", one_of("eager", "compiled"), "how they run (eager; compiled under megatron)"),
    Option("--accumulation", one_of("fused", "separate"), "of gradients (fused under megatron)"),
    Option("--rms-norm", one_of("fused", "separate"), "RMSNorm in eager PyTorch (separate)"),
    Option("--runtime", one_of("none", "deepspeed"), "what drives the step and keeps buffers for it (none)"),
    Option("--eval-batch", whole(1, 1_000_000), "sequences that a device evaluates at once (--batch)"),
    Option("--eval-kept", whole(0, 1_000_000), "batches of evaluation whose logits are kept (0)"),
    Option(
        "--rollout",
        read_by(rollout, ", ".join(ROLLOUTS), "none", "generate", "beside:0.3", "asleep:0.3"),
        "who generates texts between steps, as in GRPO (none)",
    ),
    Option("--reference", reference(), "a frozen model beside it, as in DPO (none)"),
    Option("--eval-logits", None, "evaluation has the logits whole, whatever the loss of the training"),
)
TRAINED = (
    Option("--method", one_of("full", "lora", "qlora"), "what is trained: the model or adapters (full)"),
    Option("--lora-rank", whole(1, 100_000), "rank of adapters (16)"),
    Option("--lora-targets", patterns("q_proj,v_proj or all-linear"), "matrices with adapters (all-linear)"),
    Option(
        "--lora-dropout",
        decimal("a number of at least 0 and below 1", lambda share: 0 <= share < 1),
        "probability of dropout before adapters (0)",
    ),
    Option("--dora", None, "train the length of every row too"),
    Option("--adapter-format", one_of("fp32", "16-bit"), "of adapters and their states (fp32)"),
    Option("--base-format", one_of("fp32", "16-bit"), "of what is frozen, and not in 4 bits (16-bit)"),
    Option(
        "--no-double-quantization", None, "keep the scales of 4-bit weights in fp32", "double_quantization",
        constant=False,
    ),
    Option("--quantization-block", whole(32, 4096), "4-bit weights that share a scale (64)"),
    Option("--frozen", patterns("wte,blocks.0.*"), "parameters that are not trained (none)"),
)  # fmt: skip
PARALLEL = (
    Option("--dp", whole(1, 1_000_000), "replicas (1)"),
    Option("--tp", whole(1, 100_000), "devices that share every matrix (1)"),
    Option("--pp", whole(1, 100_000), "pipeline stages (1)"),
    Option("--cp", whole(1, 100_000), "devices that share every sequence (1)"),
    Option("--ep", whole(1, 100_000), "devices that share the experts (1)"),
    Option(
        "--imbalance",
        decimal("a number from 1 to 100000", lambda share: 1 <= share <= 1e5),
        "tokens of the fullest of these over their mean (1)",
    ),
    Option("--sequence-parallel", None, "divide norms and residuals along the sequence"),
    Option("--zero", whole(0, 3), "what replicas divide: 0, 1, 2 or 3 (0)"),
    Option("--micro-batches", whole(1, 1_000_000), "micro-batches per pass of the pipeline (1)"),
    Option("--interleave", whole(1, 10_000), "model chunks per pipeline stage (1)"),
    Option("--schedule", one_of("1f1b", "gpipe"), "order of the pipeline's work (1f1b)"),
    Option("--balanced", None, "embedding and head count as a block each when stages are cut"),
    Option("--no-overlap", None, "data parallelism's collectives wait for the work", "overlap", constant=False),
    Option("--overlap-tensor", None, "tensor parallelism's collectives run beside the work"),
    Option("--node-size", whole(1, 100_000), "devices per node (8)"),
    Option("--link", named("links", list_links), "link inside a node (the GPU's fastest)"),
    Option("--network", named("links", list_links), "link between nodes (infiniband-ndr)"),
    Option(
        "--network-gbit",
        decimal("a number from 0.001 to 1000000", lambda rate: 0.001 <= rate <= 1e6),
        "Gbit/s of it that each device has for itself (the link's own)",
    ),
)


def a_file() -> ValueKind:
    """A file by its path; whether it can be read is asked where it is."""

    def read(text: str) -> str:
        if not text:
            raise ValueError(text)
        return text

    return ValueKind(read, "a path")


CONFIG = Option("--config", a_file(), "a model by its config.json, or by the folder that holds it")


def a_model() -> ValueKind:
    """A name from the engine's list, or a published model as its hub has it."""
    listed = named("models", _models)

    def read(text: str) -> str:
        if "/" not in text:
            return str(listed.read(text))
        from ironlaw.models.config_json import published

        if text not in published():
            raise ValueError(text)
        return text

    def names() -> tuple[str, ...]:
        from ironlaw.models.config_json import published

        return (*_models(), *published())

    return ValueKind(read, f"{listed.allowed}, or one such as Qwen/Qwen3-8B", names)


MODEL = Option("--model", a_model(), "a model by name")
GPU = Option("--gpu", named("gpus", _gpus), "an accelerator by name (h100-sxm)")
GROUPS = {
    "model": (MODEL, CONFIG, *SHAPE),
    "step": STEP,
    "what is trained": TRAINED,
    "parallelism": PARALLEL,
    "device": (GPU,),
}
OPTIONS = {option.flag: option for group in GROUPS.values() for option in group}
