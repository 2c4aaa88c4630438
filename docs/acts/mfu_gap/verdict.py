"""The reveal of Act 2: the gap, two gauges, both profiles from one set of stage times."""

from __future__ import annotations

from plugins import live

from .pipeline import (
    OPTIMIZED,
    RECOMPUTE,
    SETTINGS,
    SOURCE_BATCH_RULE,
    START,
    STEP,
    TF32_STEP,
    Setting,
    efficiency,
    fits,
    iteration,
    mfu,
    shares,
    stages,
    throughput,
    without_data,
)
from .texts import percent
from .view import TARGET
from .walkthrough import walkthrough_table

TOLERANCE = 5
"""Points within which a prediction counts as right."""


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about the first profile, wherever the levers stand."""
    said, share = float(prediction), 100 * iteration(START).utilization
    first, second = shares(START), shares(OPTIMIZED)
    busy = percent(second["compute"] + second["recompute"])
    running = [setting for setting in SETTINGS if fits(setting)]
    reached = [setting for setting in running if 100 * iteration(setting).utilization >= TARGET]
    fastest, busiest = max(running, key=throughput), max(running, key=lambda one: iteration(one).utilization)
    speedup = TF32_STEP.compute / STEP.compute
    quick = stages(OPTIMIZED).scaled(compute=1 / speedup).iteration(prefetch=True).shares
    return live.Verdict(
        correct=abs(said - share) <= TOLERANCE,
        headline=gap(said, share),
        paragraphs=(
            "Nothing is broken in that loop. In every step the GPU first waits for the batch "
            f"({percent(first['data'])} % of the time), then for memory ({percent(first['transfer'])} %). A data sheet "
            f"shows neither: a GPU twice as fast would shorten the step by {share / 2:.0f} %.",
            "The two gauges differ because they count different things. GPU utilization counts time at work. MFU "
            "counts useful FLOPs against the peak, and even while the products run they reach "
            f"{percent(efficiency())} % of it. So this baseline has an MFU of {percent(mfu(START))} %. You may read "
            "“45 % MFU” for it. That cannot be: MFU never exceeds the share of time spent computing. The source (◇) "
            "says GPU utilization there, and the two names were mixed up on the way.",
            "Both of the source's profiles, 40/25/35 and 5/20/75, come from one set of stage times: halve the "
            f"transfers, add {percent(RECOMPUTE)} % recomputation, hide the loading, and you get "
            f"{percent(second['data'])}/{percent(second['transfer'])}/{busy}. Of those {busy} %, "
            f"{percent(second['recompute'])} are repeated work, which raises the utilization and not the MFU.",
            "The batch moves the gauges because weights and optimizer states pass through memory once per step. Leave "
            f"loading out, and the same stage times give {sweep('fp32')} in FP32 and {sweep('mixed')} in mixed "
            f"precision; {outgrown()} The source's rule (◇) says 60 to 70 % at 16 to 32, and over 90 % at 256.",
            f"The two can disagree. Of the {len(running)} settings here that fit, {len(reached)} reach {TARGET} % "
            f"utilization. The fastest of all reaches {percent(iteration(fastest).utilization)} % and an MFU of "
            f"{percent(mfu(fastest))} %; the busiest reaches {percent(iteration(busiest).utilization)} % and an MFU of "
            f"{percent(mfu(busiest))} %. What you pay for is tokens: {throughput(fastest):,.0f} per second against "
            f"{throughput(busiest):,.0f}.",
            "One thing these profiles leave out: on an A100, products in 16 bits also run "
            f"{speedup:.1f} times faster than in TF32. Then the second profile would be {percent(quick['data'])}/"
            f"{percent(quick['transfer'])}/{percent(quick['compute'])}. Every bottleneck you remove shows you the "
            "next one.",
        ),
        tables={"walkthrough": walkthrough_table()},
    )


def sweep(precision: str) -> str:
    """The share of compute with loading left out, over the batches of the source's rule."""
    at = {batch: Setting(True, precision, False, batch) for batch, _ in SOURCE_BATCH_RULE}
    *smaller, largest = (f"{percent(without_data(one))} % at batch {batch}" for batch, one in at.items())
    return f"{', '.join(smaller)} and {largest}"


def outgrown() -> str:
    """Which batches of the source's rule fit only with checkpointing."""

    def lost(checkpointing: bool) -> list[str]:
        settings = {batch: Setting(True, "mixed", checkpointing, batch) for batch, _ in SOURCE_BATCH_RULE}
        return [str(batch) for batch, one in settings.items() if not fits(one)]

    without, never = lost(False), lost(True)
    if never:
        return f"batch {' and '.join(never)} does not fit at all."
    return f"batch {' and '.join(without)} fits only with checkpointing." if without else "all of them fit."


def gap(said: float, share: float) -> str:
    """The distance between prediction and answer, in points and as a factor."""
    start, answer = f"You said {said:g} %", f"the GPU computes {share:.0f} % of the time"
    points = abs(said - share)
    if points <= TOLERANCE:
        return f"{start}, and that is right: {answer}."
    if said == 0:
        return f"{start}. In fact {answer}: {points:.0f} points more."
    if said < share:
        return f"{start}. In fact {answer}: {share / said:.1f} times your figure, {points:.0f} points more."
    return f"{start}. In fact {answer}: your figure is {said / share:.1f} times that, {points:.0f} points too high."
