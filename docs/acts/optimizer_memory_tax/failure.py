"""Out of memory: what failed, by how much, and which change helps."""

from __future__ import annotations

from functools import cache

from explorable import live

from .settings import DEVICE_NAMES, DEVICES, OPTIMIZERS, SETTINGS, Setting, fits, gb, ledger, more, needed


@cache
def out_of_memory(setting: Setting, context: str) -> live.Failure:
    """The failure of a setting that does not fit the context's device."""
    room, name, need = DEVICES[context].usable_bytes, DEVICE_NAMES[context], needed(setting)
    return live.Failure(
        title="Out of memory",
        what=culprit(setting, context),
        excess=f"At its peak the step needs {gb(need)} GB and the {name} can give {gb(room)} GB: "
        f"{more(need, room)} GB too much.",
        remedy=remedy(setting, context),
    )


def culprit(setting: Setting, context: str) -> str:
    """Names every component that exceeds the device on its own. All vectors of an optimizer are one component."""
    account, capacity = ledger(setting), DEVICES[context].usable_bytes
    sizes = {
        f"the state of {OPTIMIZERS[setting.optimizer]}": account.component("optimizer"),
        "the activations": account.saved_bytes,
        "the parameters": account.component("parameters"),
        "the gradients": account.component("gradients"),
        "the master copy": account.component("master"),
    }
    alone = [f"{name} ({gb(size)} GB)" for name, size in sizes.items() if size > capacity]
    limit = f"the {gb(capacity)} GB of the {DEVICE_NAMES[context]}"
    if not alone:
        return f"No component alone exceeds {limit}; their sum does."
    if len(alone) > 1:
        return f"Each of these alone exceeds {limit}: {', '.join(alone)}."
    return f"One component alone exceeds {limit}: {alone[0]}."


# --8<-- [start:remedy]
def remedy(setting: Setting, context: str) -> str:
    """The fewest changes that make it fit, found by asking the engine about every setting the controls offer."""
    fitting = sorted((other for other in SETTINGS if fits(other, context)), key=needed)
    fewest = min(len(setting.changes_to(other)) for other in fitting)
    nearest = [other for other in fitting if len(setting.changes_to(other)) == fewest]
    if fewest > 1:
        first, *others = setting.changes_to(nearest[-1]).values()
        change = f"{first} with {' and '.join(others)}"
        said = f"No single change is enough; {change} would fit ({gb(needed(nearest[-1]))} GB at the peak)."
    else:
        # Sorted by size: of several steps on one control the last wins, which gives up the least.
        best = {next(iter(setting.changes_to(other))): other for other in nearest}
        offers = [f"{setting.changes_to(other)[control]} ({gb(needed(other))} GB)" for control, other in best.items()]
        said = f"One change is enough: {', or '.join(offers)}."
    return f"{said} FP16 loses small updates, so it does not train stably." if "FP16" in said else said


# --8<-- [end:remedy]
