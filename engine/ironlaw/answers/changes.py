"""Changes to a configuration that save memory or time: what each turns, and what it gives up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ironlaw.config.changed import changed
from ironlaw.config.checks import require_possible
from ironlaw.config.resolved import Setup
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.graph.checkpointing import checkpointing, sqrt_placement

CHUNKS = (8, 16, 32, 64, 128, 256)
"""Numbers of pieces of a chunked loss that are tried. Fewer pieces mean larger and faster products, and eight are
enough to make the logits small beside the rest, unless sequences are very long."""
MOST_MICRO_BATCHES = 1_000_000
"""Micro-batches of a step that a command line takes."""
FUSED_UPDATES = ("sgd", "momentum", "adam", "adamw")
"""Optimizers of PyTorch 2.13 that take `fused=True` on CUDA."""
MOST_DEVICES = 64
MOST_MERGED = 64
"""Micro-batches that a larger one takes the place of, at most."""
TENSOR_TIMES = (2, 4, 8)
"""Times as many devices that share a matrix, as are tried: more of them than a machine's hardly anybody lets share."""
PIPELINE_TIMES = (2, 4, 8, 16)
"""Times as many stages of a pipeline, as are tried."""
EXPERT_TIMES = (2, 4, 8, 16, 32, 64)
"""Times as many devices that share the experts, as are tried."""
CONTEXT_TIMES = (2, 4, 8, 16)
"""Times as many devices that share a sequence, as are tried."""
SHORTEST_SHARE: Count = 4096
"""Tokens of a sequence that a device keeps at least where more devices share it: published runs hardly go below."""
LOST = "weights and states in 16 bit: an update below half the spacing of two numbers is lost"
SCALES = ("loss", "batch")
"""Knobs whose changes are grades of one change: more pieces of the loss, or more and smaller micro-batches."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a knob, of which a configuration takes at most one.

    Those of a knob in `SCALES` come in order: each needs less memory than the one before it.

    Attributes:
        option: How to ask for it on the command line.
        words: The words of `ironlaw.setup` that it changes, with their new values.
        title: What to do, in words.
        gives_up: What it costs besides time, in words; empty where training computes the same numbers, up to rounding.
        safe: Whether training is known to converge as before. Pure 16-bit loses small updates.
    """

    option: str
    words: Mapping[str, Any] = field(hash=False)
    title: str
    gives_up: str = ""
    safe: bool = True

    def apply(self, c: Setup) -> Setup:
        """The changed configuration."""
        return changed(c, self.words)

    @property
    def knob(self) -> str:
        """What it turns: the first option, without its dashes."""
        return self.option.split()[0].removeprefix("--")


def changes(c: Setup) -> tuple[Change, ...]:
    """Every change to less memory that a configuration leaves open on its devices, with the same trained parameters."""
    kept = (*_kernels(c), *_formats(c), *_adapters(c), *_recomputing(c))
    every = (*kept, *_batches(c), *_states(c), *_divided(c), *_evaluated(c))
    return tuple(change for change in every if allowed(change.apply(c)))


def _kernels(c: Setup) -> Iterator[Change]:
    if c.attention.kernel == "standard":
        yield Change("--attention flash", {"attention": "flash"}, "Compute attention in one fused kernel (flash)")
    if c.framework.name == "torch" and c.update.kind != "fused" and c.optimizer.name in FUSED_UPDATES:
        yield Change("--update fused", {"update": "fused"}, "Update all parameters in one fused kernel")


def _formats(c: Setup) -> Iterator[Change]:
    short = c.chip.short_format
    if short is None or c.precision.name in ("bf16", "fp16"):
        return
    # The format of what is frozen beside adapters stays: as a default it would follow the precision.
    base = {"base_format": c.adaptation.base} if c.adaptation.has_adapters else {}
    if c.precision.name == "fp32":
        mixed, lost = f"amp-{short}", "products and most activations in 16 bit"
        yield Change(f"--precision {mixed}", {"precision": mixed} | base, f"Compute in 16 bit ({mixed})", lost)
    if base.get("base_format") == "fp32":
        return  # what is frozen would stay FP32, and the products with it
    title = f"Keep weights and states in 16 bit ({short})"
    yield Change(f"--precision {short}", {"precision": short} | base, title, LOST, safe=False)


def _adapters(c: Setup) -> Iterator[Change]:
    """LoRA's adapters in BF16, which peft keeps in FP32 unless it is told, as TRL does what is loaded below them.

    A loss scale takes no gradients in FP16, and beside NF4 nothing is gained.
    """
    if c.adaptation.method == "lora" and c.adaptation.adapters == "fp32" and c.precision.compute.name == "bf16":
        title = "Keep adapters in BF16 (autocast_adapter_dtype=False in peft)"
        yield Change("--adapter-format 16-bit", {"adapter_format": "16-bit"}, title, LOST, safe=False)
    if c.adaptation.method == "lora" and c.adaptation.base == "fp32" and c.precision.autocast:
        lost = "the same numbers where the checkpoint has 16 bits, as most have"
        title = "Load the frozen weights in 16 bit (dtype: bfloat16 in TRL)"
        yield Change("--base-format 16-bit", {"base_format": "16-bit"}, title, lost)


def _recomputing(c: Setup) -> Iterator[Change]:
    whole = {"keep_logits": False} if c.loss.kept else {}
    for chunks in CHUNKS:
        if c.loss.chunks < chunks <= c.sequence and c.loss.form != "fused-linear":
            name = f"chunked:{chunks}"
            yield Change(f"--loss {name}", {"loss": name} | whole, f"Compute the loss in {chunks} pieces")
    segment = sqrt_placement(c.model.layers)
    names = ["selective"] if c.checkpointing.kind == "none" else []
    if len(c.model.kinds) == 1:
        names += [f"every:{length}" for length in sorted({2, segment, 2 * segment}) if 1 < length < c.model.layers]
    yield from (_recompute(name) for name in (*names, "full") if checkpointing(name) != c.checkpointing)


def _recompute(name: str) -> Change:
    titles = {
        "none": "Keep all activations (no checkpointing)",
        "selective": "Recompute attention (selective checkpointing)",
        "full": "Recompute activations (full checkpointing)",
    }
    several = f"Recompute activations, {name.removeprefix('every:')} blocks at a time"
    return Change(f"--checkpointing {name}", {"checkpointing": name}, titles.get(name, several))


def _batches(c: Setup) -> Iterator[Change]:
    """Smaller micro-batches, and proportionally more of them, so that a step trains on as many sequences as before."""
    if c.update.in_backward:
        return
    for times in range(2, c.batch + 1):
        if c.batch % times == 0 and c.micro_batches * times <= MOST_MICRO_BATCHES:
            yield _cut(c, c.batch // times, c.micro_batches * times)


def _cut(c: Setup, batch: Count, passes: Count) -> Change:
    """As many sequences a step in other portions."""
    accumulate, micro_batches = (passes, 1) if c.layout.pipeline == 1 else (1, passes)
    more = "--accumulate" if c.layout.pipeline == 1 else "--micro-batches"
    return Change(
        f"--batch {batch} {more} {passes}",
        {"batch": batch, "accumulate": accumulate, "micro_batches": micro_batches},
        f"Train {batch:,} sequence{'s' * (batch > 1)} at a time, {passes:,} time{'s' * (passes > 1)} a step",
    )


def _evaluated(c: Setup) -> Iterator[Change]:
    """Fewer sequences in evaluation, which change nothing of what is trained."""
    if c.evaluation and c.evaluation.batch and c.evaluation.batch > 1:
        yield Change("--eval-batch 1", {"eval_batch": 1}, "Evaluate 1 sequence at a time")


def _states(c: Setup) -> Iterator[Change]:
    if c.optimizer.name in ("adam", "adamw"):
        less = {"optimizer": "adamw-8bit"}
        yield Change(
            "--optimizer adamw-8bit",
            less,
            "Keep the optimizer's states in 8 bit",
            "the optimizer's states are rounded to 8 bit",
        )
    if c.micro_batches == 1 and not c.update.in_backward and not c.update.gradients_away:
        lost, title = "no clipping by the gradients' global norm", "Update each parameter in the backward pass"
        yield Change("--optimizer-in-backward", {"optimizer_in_backward": True}, title, lost)
    if c.update.offload == "none" and c.host_link and c.fully_sharded:
        title = "Keep the shards of weights, gradients and optimizer states in host memory"
        yield Change("--offload shards", {"offload": "shards"}, title)
    elif c.update.offload == "none" and c.host_link:
        for what, title in (("optimizer", "optimizer states"), ("gradients", "optimizer states and gradients")):
            yield Change(f"--offload {what}", {"offload": what}, f"Keep {title} in host memory")


DIVIDED = ("nothing", "optimizer states", "optimizer states and gradients", "optimizer states, gradients, parameters")
"""What ZeRO's stages divide."""


def _divided(c: Setup) -> Iterator[Change]:
    """More of the state and of the activations divided among the devices that are there."""
    if c.layout.peers > 1:
        yield from (_zero(zero) for zero in range(c.layout.zero + 1, 4))
    if c.layout.tensor > 1 and not c.layout.sequence_parallel:
        words = {"sequence_parallel": True}
        yield Change("--sequence-parallel", words, "Divide norms and residuals too (sequence parallelism)")


def _zero(zero: int) -> Change:
    return Change(f"--zero {zero}", {"zero": zero}, f"Divide {DIVIDED[zero]} among replicas (ZeRO {zero})")


def more_devices(c: Setup) -> Iterator[Change]:
    """Data parallelism over more devices, with ever more of the model's state divided among them."""
    if not c.chip.links:
        return
    data = 2 * c.layout.data
    while (devices := data * c.layout.together) <= MOST_DEVICES:
        for zero in range(max(c.layout.zero, 1), 4):
            lost, title = (
                f"{data // c.layout.data} times the devices",
                f"Divide {DIVIDED[zero]} among {devices} devices",
            )
            yield Change(f"--dp {data} --zero {zero}", {"dp": data, "zero": zero}, f"{title} (ZeRO {zero})", lost)
        data *= 2


def more_tensor(c: Setup) -> Iterator[Change]:
    """Every matrix divided among several of more devices, whose replicas divide ever more of the model's state."""
    if not c.chip.links:
        return
    times = 2
    while (devices := times * c.layout.devices) <= MOST_DEVICES:
        for ways in TENSOR_TIMES:
            data, tensor = times * c.layout.data // ways, ways * c.layout.tensor
            if (times * c.layout.data) % ways:
                continue
            title = f"Divide every matrix among {tensor} of {devices} devices (tensor parallelism)"
            # A single replica has no other with which to divide its states.
            for zero in range(max(c.layout.zero, 1), 4) if data * c.layout.context > 1 else (0,):
                also = f"; divide {DIVIDED[zero]} among replicas (ZeRO {zero})" if zero else ""
                change = Change(
                    f"--tp {tensor} --dp {data} --zero {zero}",
                    {"tp": tensor, "dp": data, "zero": zero},
                    title + also,
                    f"{times} times the devices",
                )
                if allowed(change.apply(c)):
                    yield change
        times *= 2


def tensor(c: Setup) -> tuple[Change, ...]:
    """Every matrix divided among more of the devices that are there, with as many sequences a step as before."""
    title = "Divide every matrix among {} devices (tensor parallelism)"
    return _shared(c, "tp", c.layout.tensor, TENSOR_TIMES, title)


def pipeline(c: Setup) -> tuple[Change, ...]:
    """The blocks divided among more stages on the devices that are there, with as many sequences a step as before."""
    return _shared(c, "pp", c.layout.pipeline, PIPELINE_TIMES, "Divide the blocks among {} stages of a pipeline")


def context(c: Setup) -> tuple[Change, ...]:
    """Long sequences divided among more of the devices that are there, with as many of them a step as before."""
    long = (times for times in CONTEXT_TIMES if c.own_sequence >= times * SHORTEST_SHARE)
    return _shared(c, "cp", c.layout.context, long, "Divide every sequence among {} devices (context parallelism)")


def experts(c: Setup) -> tuple[Change, ...]:
    """The experts of every layer divided among more of the devices that are there."""
    twice = (c.layout.expert * times for times in EXPERT_TIMES)
    every = (
        Change(f"--ep {ways}", {"ep": ways}, f"Divide the experts among {ways} devices (expert parallelism)")
        for ways in twice
        if not all(layer.dense for layer, _ in c.model.kinds) and c.layout.peers % ways == 0
    )
    return tuple(change for change in every if allowed(change.apply(c)))


def _shared(c: Setup, word: str, ways: Count, several: Iterable[Count], title: str) -> tuple[Change, ...]:
    """Several times as many devices that share a replica in one way, of those that are there."""
    fitting = (times for times in several if c.layout.data % times == 0)
    every = (_regrouped(c, times, word, times * ways, title.format(times * ways)) for times in fitting)
    return tuple(change for change in every if allowed(change.apply(c)))


def more_context(c: Setup) -> Iterator[Change]:
    """Long sequences divided among several times as many devices, which divide ever more of the model's state too."""
    times = 2
    while c.chip.links and times * c.devices <= MOST_DEVICES and c.own_sequence >= times * SHORTEST_SHARE:
        ways = times * c.layout.context
        for zero in range(max(c.layout.zero, 1), 4):
            title = f"Divide every sequence among {ways} of {times * c.devices} devices (context parallelism)"
            change = Change(
                f"--cp {ways} --zero {zero}",
                {"cp": ways, "zero": zero},
                f"{title}; divide {DIVIDED[zero]} among them (ZeRO {zero})",
                f"{times} times the devices",
            )
            if allowed(change.apply(c)):
                yield change
        times *= 2


def _regrouped(c: Setup, times: Count, word: str, ways: Count, title: str) -> Change:
    """So many times fewer replicas in larger groups of a kind, and as many times more passes."""
    data, passes = c.layout.data // times, c.micro_batches * times
    pipelined = word == "pp" or c.layout.pipeline > 1
    # A single replica has no other with which to divide its states, unless devices share its sequences.
    zero = c.layout.zero if word == "cp" or data * c.layout.context > 1 else 0
    words = {word: ways, "dp": data, "zero": zero}
    options = " ".join(f"--{name} {value}" for name, value in words.items())
    accumulate, micro_batches = (1, passes) if pipelined else (passes, 1)
    return Change(
        f"{options} {'--micro-batches' if pipelined else '--accumulate'} {passes}",
        {**words, "accumulate": accumulate, "micro_batches": micro_batches},
        f"{title}, {passes:,} {'micro-batches' if word == 'pp' else 'passes'} a step",
    )


def quicker(c: Setup) -> tuple[Change, ...]:
    """Changes that may save time, most of them for memory: those that `changes` does not have."""
    every = (*_fused(c), *_kept(c), *_merged(c), *experts(c))
    return tuple(change for change in every if allowed(change.apply(c)))


def _fused(c: Setup) -> Iterator[Change]:
    if c.framework.name != "torch" or c.framework.compiled:
        return
    words = {"execution": "compiled", "update": "fused"}
    yield Change("--execution compiled --update fused", words, "Compile the model and the update (torch.compile)")
    if c.framework.rms_norm == "separate" and c.model.norm == "rmsnorm":
        yield Change("--rms-norm fused", {"rms_norm": "fused"}, "Run every RMSNorm as one fused kernel")


def _kept(c: Setup) -> Iterator[Change]:
    names = {"full": ("none", "selective"), "selective": ("none",)}.get(c.checkpointing.name, ("none", "full"))
    if c.checkpointing.kind != "none":
        yield from (_recompute(name) for name in names)
    yield from (_zero(zero) for zero in range(c.layout.zero))
    if c.update.offload != "none":
        here = {"offload": "none"} | ({"offload_sizes": None} if _offloads_alone(c) else {})
        more = ", gradients" * c.update.gradients_away + ", parameters" * c.update.weights_away
        yield Change("--offload none", here, f"Keep optimizer states{more} on the device")


def _offloads_alone(c: Setup) -> bool:
    """Whether DeepSpeed has its buffers for what it offloads, and not for what it divides too."""
    return c.update.buffers is not None and not c.layout.divides_gradients


def _merged(c: Setup) -> Iterator[Change]:
    """Larger micro-batches, and fewer of them, so that a step trains on as many sequences as before."""
    for times in range(2, min(c.micro_batches, MOST_MERGED) + 1):
        if c.micro_batches % times == 0 and c.layout.pipeline == 1:
            yield _cut(c, c.batch * times, c.micro_batches // times)


def adapters(c: Setup) -> tuple[Change, ...]:
    """Training adapters in place of the model, over weights of 16 bits or of 4."""
    methods = {"full": ("lora", "qlora"), "lora": ("qlora",)}.get(c.adaptation.method, ())
    titles = {"lora": "Train adapters only (LoRA)", "qlora": "Train adapters only, over weights of 4 bits (QLoRA)"}
    lost = {"lora": "an adapter is trained, not the model", "qlora": "an adapter is trained, and the model is rounded"}
    every = (_adapted(c, method, titles[method], lost[method]) for method in methods if not c.adaptation.frozen)
    return tuple(change for change in every if allowed(change.apply(c)))


def _adapted(c: Setup, method: str, title: str, lost: str) -> Change:
    # Adapters are kept in fp32, under autocast, whatever the format of a model that is trained whole.
    compute = c.precision.compute.name
    wide = {} if c.precision.autocast or compute == "fp32" else {"precision": f"amp-{compute}"}
    prepared = method == "qlora" and not c.layout.divides_weights
    base = "fp32" if prepared and (wide or c.precision.autocast) else "16-bit"
    option = " ".join((f"--method {method}", *(f"--{word} {value}" for word, value in wide.items())))
    return Change(option, {"method": method, "base_format": base, **wide}, title, lost, safe=False)


def allowed(c: Setup) -> bool:
    """Whether a changed configuration's choices go together."""
    try:
        require_possible(c)
    except EngineError:
        return False
    return True
