"""The reflections of Act 3, judged for the reader's own setting."""

from __future__ import annotations

from dataclasses import replace

import ironlaw
from explorable import live

from .pipeline import RECOMPUTE, SEGMENTS, SEQUENCE, Setting, beside_states, fits, setting_of, stages, step, throughput


def best_fix(state: live.State) -> dict[str, tuple[live.Value, ...]]:
    """The change that brings the most tokens per second, from the reader's own setting.

    A step that does not fit has none, so there a change helps only if it makes the step fit.
    """
    setting = setting_of(state)
    small, early = replace(setting, batch=setting.batch // 2), replace(setting, prefetch=True)
    faster_gpu = stages(setting).scaled(compute=0.5).iteration(prefetch=setting.prefetch)
    runs = fits(setting)
    rates = {
        "gpu": runs * setting.batch * SEQUENCE / faster_gpu.total,
        "sgd": with_sgd(setting),
        "prefetch": fits(early) * throughput(early),
        "batch": fits(small) * throughput(small),
    }
    best = max(rates.values())
    # Of two that are equally fast both are right; where nothing runs, nothing helps.
    return {"fix": tuple(fix for fix, rate in rates.items() if rate == best) if best else ("none",)}


def with_sgd(setting: Setting) -> float:
    """Tokens per second with SGD in place of Adam, whose update moves more bytes. 0 if even that does not fit."""
    training = replace(setting.training(), optimizer=ironlaw.optimizer("sgd"))
    saved = step(setting).total - ironlaw.step_time(training).total
    times = stages(setting)
    shorter = replace(times, transfer=times.transfer - saved).iteration(prefetch=setting.prefetch)
    return ironlaw.fits(training) * setting.batch * SEQUENCE / shorter.total


FACTORS = (2, 3, 4, 12)
COSTS = (10, 33, 50, 100)


def checkpointing_blanks(state: live.State) -> dict[str, live.Value]:
    """What checkpointing saves and costs at the reader's batch and precision."""
    setting = setting_of(state)
    whole, again = (beside_states(replace(setting, checkpointing=on)) for on in (False, True))
    return {
        "factor": min(FACTORS, key=lambda factor: max(factor * again / whole, whole / again / factor)),
        "cost": min(COSTS, key=lambda cost: abs(cost - 100 * RECOMPUTE)),
        "why": "recompute",
    }


REFLECTIONS = (
    live.Reflection(
        "bottleneck",
        "With the levers as they stand, the single change that brings most tokens per second is to {fix}.",
        (
            live.Blank(
                "fix",
                "The change",
                (
                    live.Option(
                        "gpu",
                        "buy a GPU with twice the TFLOP/s",
                        "Twice the arithmetic rate halves the compute segments and nothing else. It frees no memory.",
                    ),
                    live.Option(
                        "sgd",
                        "switch from Adam to SGD",
                        "SGD frees memory, and a little time of the update. It helps most where the step does not fit, "
                        "and only if that is enough.",
                    ),
                    live.Option(
                        "prefetch",
                        "load the next batch during the current step",
                        "Prefetching hides loading behind the step before it. It pays while a step runs and shows its "
                        "loading; once it is on, there is nothing left to hide.",
                    ),
                    live.Option(
                        "batch",
                        "halve the batch",
                        "Weights and states pass through memory once per step, so a smaller batch pays for them more "
                        "often. It helps where the larger one does not fit.",
                    ),
                    live.Option(
                        "none",
                        "do more than one of these: no step runs",
                        "That takes a step that does not fit, and that none of the four alone makes fit.",
                    ),
                ),
            ),
        ),
        best_fix,
    ),
    live.Reflection(
        "checkpointing",
        "At your batch and precision, checkpointing divides activations and workspace by about {factor}, for about "
        "{cost} more compute, because {why}.",
        (
            live.Blank(
                "factor",
                "By how much",
                (
                    live.Option(2, "2", "That is what a small batch gives: what is not activations weighs as much."),
                    live.Option(3, "3", "That is what a batch gives at which they weigh about as much as gradients."),
                    live.Option(
                        4,
                        "4",
                        f"{SEGMENTS} segments, one of which exists at a time: reached once activations dominate.",
                    ),
                    live.Option(
                        12, "12", "While a segment's backward runs, all of its 12 blocks hold their tensors again."
                    ),
                ),
            ),
            live.Blank(
                "cost",
                "Compute",
                (
                    live.Option(
                        10, "10 %", "A forward pass is a third of a step's arithmetic, and most of it runs twice."
                    ),
                    live.Option(33, "33 %", "One more forward pass on top of one forward and two backward parts."),
                    live.Option(50, "50 %", "Only the forward pass runs again; the backward pass runs once."),
                    live.Option(100, "100 %", "Only the forward pass runs again; the backward pass runs once."),
                ),
            ),
            live.Blank(
                "why",
                "Why",
                (
                    live.Option(
                        "recompute",
                        "the backward pass must recompute what the forward pass threw away",
                        "Each segment starts again from its kept input.",
                    ),
                    live.Option(
                        "compress", "activations are compressed", "They are not stored at all, then made again."
                    ),
                    live.Option(
                        "half", "activations are kept in 16 bits", "That is the precision lever; it is separate."
                    ),
                    live.Option("skip", "layers are skipped", "Every layer runs, and most run twice."),
                ),
            ),
        ),
        checkpointing_blanks,
    ),
)
