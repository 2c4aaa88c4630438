"""Act 1, The Optimizer Memory Tax: what the act asks, computes and answers. What it draws is in charts.py.

Every number comes from the engine, except the steps to convergence: those are the source's, and the act says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from engine import GB, MemoryLedger, accelerator, model, optimizer, training_memory
from plugins import live

GPT2_XL = model("gpt2-xl")
DEVICES = {"node": accelerator("h100-sxm"), "laptop": accelerator("rtx-4060")}
DEVICE_NAMES = {"node": "H100", "laptop": "RTX 4060"}
OPTIMIZERS = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}
PRECISIONS = {"fp32": "FP32", "fp16": "FP16", "mixed": "mixed precision"}
BATCHES = (1, 8, 16, 32, 64)
STATES = {"momentum_buffer": "Velocity", "exp_avg": "Adam m", "exp_avg_sq": "Adam v"}
SOURCE_STEPS = {"sgd": "150,000+", "momentum": "90,000", "adam": "50,000"}
"""Steps until GPT-2 converges: the source's values. Nothing here measures or computes them."""
AXIS_TOPS = (40, 100, 200, 400, 500)
"""Where the axis may end, in GB: a few fixed heights, so that the scene stays put while the controls move."""
CALM_TOP = {"node": 100, "laptop": 40}
LABEL_GAP = 0.066
"""The share of the axis that one line of text needs."""


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
    """The engine's account of a training step: flash attention, sequences of the model's full length, no dropout."""
    return training_memory(
        GPT2_XL, optimizer=setting.optimizer, precision=setting.precision, batch=setting.batch, attention="flash"
    )


@cache
def total(setting: Setting) -> int:
    """Bytes of everything that training keeps."""
    return ledger(setting).total_bytes


@cache
def needed(setting: Setting) -> int:
    """Bytes a device must have: the step's peak with the driver's context.

    Less than the total where gradients arrive while activations leave, more where the update needs temporary tensors.
    """
    return ledger(setting).device_total


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
    return total(Setting("adam", "fp32", 1)) - total(Setting("sgd", "fp32", 1))


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    controls = state.controls
    return Setting(str(controls["optimizer"]), str(controls["precision"]), int(controls["batch"]))


# ---- the view: the stack, the device line, the total, and what failed if it does not fit ----


# --8<-- [start:compute]
def compute(state: live.State) -> live.View:
    """What the instruments show in a state."""
    setting, capacity = setting_of(state), DEVICES[state.context].memory_bytes
    everything = parts(setting)
    shown = tuple(part for part in everything if state.controls[part.component])
    over = needed(setting) > DEVICES[state.context].usable_bytes
    size = sum(part.size for part in shown)
    outline = prediction_outline(state, shown)
    highest = max([size / GB, *(float(row["to"] or 0) for row in outline)])
    top = next(top for top in AXIS_TOPS if top >= CALM_TOP[state.context] and top >= 1.08 * highest)
    limit = f"{DEVICE_NAMES[state.context]}: {capacity / GB:.1f} GB", capacity / GB
    return live.View(
        data={
            "bars": tuple(bars(shown, over)),
            "labels": tuple(labels(shown, limit, top)),
            "limit": ({"gb": capacity / GB},),
            "frame": ({"gb": 0}, {"gb": top}),
            "total": ({"gb": size / GB, "text": f"{gb(size)} GB"},),
            "prediction": outline,
        },
        headline=headline(everything, shown, fits_above_the_line=not over and total(setting) > capacity),
        summary=f"GPT-2 XL with {setting.words}: "
        + ", ".join(f"{part.label} {gb(part.size)} GB" for part in everything)
        + f". Together {gb(total(setting))} GB. At its peak the step needs {gb(needed(setting))} GB of the "
        f"{capacity / GB:.1f} GB on the {DEVICE_NAMES[state.context]}.",
        tables={"ledger": ledger_table(setting, everything, shown)},
        failure=out_of_memory(setting, state.context) if over else None,
    )


# --8<-- [end:compute]


def bars(shown: Sequence[Part], over: bool) -> Iterator[live.Row]:
    """One row per segment, stacked in GB."""
    base = 0.0
    for part in shown:
        yield {"part": part.key, "from": base, "to": base + part.size / GB, "over": over}
        base += part.size / GB


def labels(shown: Sequence[Part], limit: tuple[str, float], top: float) -> Iterator[live.Row]:
    """A label beside each segment and the device line, pushed up where two would overlap. Positions are in GB."""
    base = floor = 0.0
    wanted = [("limit", *limit)]
    for part in shown:
        wanted.append((part.key, f"{part.label} {gb(part.size)} GB", base + part.size / GB / 2))
        base += part.size / GB
    for key, text, middle in sorted(wanted, key=lambda item: item[2]):
        at = max(middle, floor)
        yield {"part": key, "text": text, "middle": middle, "gb": at}
        floor = at + LABEL_GAP * top


def prediction_outline(state: live.State, shown: Sequence[Part]) -> tuple[live.Row, ...]:
    """The prediction, standing on everything shown except the optimizer state, which is what it predicts."""
    if state.prediction is None:
        return ()
    base = sum(part.size for part in shown if part.component != "optimizer_state") / GB
    predicted = float(state.prediction)
    return ({"from": base, "to": base + predicted, "text": f"you: +{predicted:g} GB"},)


def headline(everything: Sequence[Part], shown: Sequence[Part], *, fits_above_the_line: bool) -> live.Figure:
    """The sum of everything. Hiding a component frees no memory: the label says how much of the sum the chart shows."""
    complete = gb(sum(part.size for part in everything))
    if len(shown) < len(everything):
        drawn = gb(sum(part.size for part in shown))
        return live.Figure(f"Memory for training; {drawn} GB of it in the chart", complete, "GB")
    if fits_above_the_line:
        return live.Figure("Above the line, and yet it fits: not all of it is alive at once", complete, "GB")
    return live.Figure("Memory for training", complete, "GB")


def ledger_table(setting: Setting, everything: Sequence[Part], shown: Sequence[Part]) -> live.Table:
    """The chart's numbers, with the bytes per parameter of what does not depend on the batch."""
    rows = [
        {
            "component": part.label,
            "size": gb(part.size),
            "each": "–" if part.component == "activations" else f"{part.size / GPT2_XL.parameters:.0f}",
            "shown": "yes" if part in shown else "hidden",
        }
        for part in everything
    ]
    return live.Table(
        f"What training GPT-2 XL keeps in memory with {setting.words}",
        (
            live.Column("component", "Component"),
            live.Column("size", "Memory", "GB", numeric=True),
            live.Column("each", "Per parameter", "bytes", numeric=True),
            live.Column("shown", "In the chart"),
        ),
        [
            *rows,
            {"component": "Total", "size": gb(total(setting)), "each": "–", "shown": ""},
            {"component": "Needed at the peak", "size": gb(needed(setting)), "each": "–", "shown": ""},
        ],
    )


# ---- out of memory: what failed, by how much, and which change helps ----


def out_of_memory(setting: Setting, context: str) -> live.Failure:
    """The failure of a setting that does not fit the context's device."""
    room, name, need = DEVICES[context].usable_bytes, DEVICE_NAMES[context], needed(setting)
    return live.Failure(
        title="Out of memory",
        what=culprit(setting, context),
        excess=f"At its peak the step needs {gb(need)} GB and the {name} can give {gb(room)} GB: "
        f"{gb(need - room)} GB too much.",
        remedy=remedy(setting, room),
    )


def culprit(setting: Setting, context: str) -> str:
    """Names every component that exceeds the device on its own. All vectors of an optimizer are one component."""
    account, capacity = ledger(setting), DEVICES[context].memory_bytes
    sizes = {
        f"the state of {OPTIMIZERS[setting.optimizer]}": account.component("optimizer"),
        "the activations": account.saved_bytes,
        "the parameters": account.component("parameters"),
        "the gradients": account.component("gradients"),
        "the master copy": account.component("master"),
    }
    alone = [f"{name} ({gb(size)} GB)" for name, size in sizes.items() if size > capacity]
    limit = f"the {capacity / GB:.1f} GB of the {DEVICE_NAMES[context]}"
    if not alone:
        return f"No component alone exceeds {limit}; their sum does."
    if len(alone) > 1:
        return f"Each of these alone exceeds {limit}: {', '.join(alone)}."
    return f"One component alone exceeds {limit}: {alone[0]}."


# --8<-- [start:remedy]
def remedy(setting: Setting, room: int) -> str:
    """The fewest changes that make it fit, found by asking the engine about every setting the controls offer."""
    fitting = sorted((other for other in SETTINGS if needed(other) <= room), key=needed)
    fewest = min(len(setting.changes_to(other)) for other in fitting)
    nearest = [other for other in fitting if len(setting.changes_to(other)) == fewest]
    if fewest > 1:
        change = " with ".join(setting.changes_to(nearest[-1]).values())
        return f"No single change is enough; {change} would fit ({gb(needed(nearest[-1]))} GB at the peak)."
    # Sorted by size: of several steps on one control the last wins, which gives up the least.
    best = {next(iter(setting.changes_to(other))): other for other in nearest}
    offers = [f"{setting.changes_to(other)[control]} ({gb(needed(other))} GB)" for control, other in best.items()]
    return f"One change is enough: {', or '.join(offers)}."


# --8<-- [end:remedy]


# ---- the reveal: the gap, two vectors, what "3x" counts, and what the memory buys ----


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about FP32, whatever the controls say."""
    tax, device = adam_tax(), DEVICES[state.context]
    sgd, momentum, adam = (ledger(Setting(name, "fp32", 1)) for name in OPTIMIZERS)
    weights, gradients = adam.component("parameters"), adam.component("gradients")
    return live.Verdict(
        correct=prediction == QUESTION.correct.value,
        headline=gap(float(prediction), tax),
        paragraphs=(
            next(option.why for option in QUESTION.options if option.value == prediction),
            "Adam keeps two running averages for every parameter: m of the gradient, v of its square. That is "
            f"{len(optimizer('adam').states)} × {GPT2_XL.parameters:,} numbers of 4 bytes, {gb(tax)} GB. Add "
            f"parameters ({gb(weights)} GB) and gradients ({gb(gradients)} GB), and {gb(adam.static_bytes)} GB are "
            "static: taken before a single activation is stored.",
            f"You will read that Adam takes {times(weights + tax, weights)} the memory. That is weights and state over "
            "weights alone. With the gradients, which every optimizer needs, it is "
            f"{times(adam.static_bytes, weights)} for Adam and {times(sgd.static_bytes, weights)} for SGD. So the "
            f"switch multiplies your static memory by {adam.static_bytes / sgd.static_bytes:.0f}.",
            "What the memory buys, by the source's figures (◇, not measured here): GPT-2 converges in about "
            f"{SOURCE_STEPS['adam']} steps with Adam and {SOURCE_STEPS['sgd']} with SGD. The price is {gb(tax)} GB "
            f"over SGD, {gb(adam.static_bytes - momentum.static_bytes)} GB over Momentum, and "
            f"{tax / device.memory_bytes:.0%} of an {DEVICE_NAMES[state.context]}. Whether a third of the steps is "
            "worth that is an engineering decision, not a preference.",
        ),
        tables={"optimizers": optimizer_table()},
    )


def gap(predicted: float, tax: int) -> str:
    """The distance between prediction and answer, as a factor and in GB."""
    said, exact = f"You said about {predicted:g} GB", tax / GB
    if predicted == QUESTION.correct.value:
        return f"{said}, and that is right: Adam adds {gb(tax)} GB."
    if predicted == 0:
        return f"{said}. Adam adds {gb(tax)} GB, and all of it is missing from your estimate."
    if predicted < exact:
        return f"{said}. Adam adds {gb(tax)} GB: {exact / predicted:.1f} times that, {exact - predicted:.2f} GB more."
    return f"{said}. Adam adds {gb(tax)} GB: {predicted / exact:.1f} times less, {predicted - exact:.2f} GB fewer."


def times(size: int, unit: int) -> str:
    """A whole multiple."""
    return f"{size / unit:.0f}×"


def optimizer_table() -> live.Table:
    """State vectors, both ways to count the multiple, static memory, and the source's steps."""
    rows = []
    for name, title in OPTIMIZERS.items():
        account = ledger(Setting(name, "fp32", 1))
        weights, state = account.component("parameters"), account.component("optimizer")
        rows.append(
            {
                "optimizer": title,
                "vectors": str(len(optimizer(name).states)),
                "state": times(weights + state, weights),
                "static": times(account.static_bytes, weights),
                "size": gb(account.static_bytes),
                "steps": SOURCE_STEPS[name],
            }
        )
    return live.Table(
        "Optimizers for GPT-2 XL in FP32. ◇ marks the source's values for GPT-2, which nothing here measures.",
        (
            live.Column("optimizer", "Optimizer"),
            live.Column("vectors", "State vectors", numeric=True),
            live.Column("state", "Weights + state", "of weights", numeric=True),
            live.Column("static", "… + gradients", "of weights", numeric=True),
            live.Column("size", "Static memory", "GB", numeric=True),
            live.Column("steps", "Steps to converge ◇", numeric=True),
        ),
        rows,
    )


# ---- the reflection: what mixed precision saves, at the reader's own optimizer and batch ----

SAVINGS = {"little": 0.20, "part": 0.40, "nearly": 0.50, "more": 1.01}
"""Upper ends of the ranges that the first blank offers."""
SHRINKS = {(False, True): "activations", (True, False): "static", (True, True): "both", (False, False): "none"}
"""Whether static memory and activations shrink -> the reason that says so."""


def correct_blanks(state: live.State) -> dict[str, live.Value]:
    """The right blanks: the engine's comparison of FP32 and mixed precision for the optimizer and batch set."""
    setting = setting_of(state)
    single, mixed = (ledger(Setting(setting.optimizer, mode, setting.batch)) for mode in ("fp32", "mixed"))
    saved = 1 - mixed.total_bytes / single.total_bytes
    return {
        "saving": next(name for name, end in SAVINGS.items() if saved < end),
        "reason": SHRINKS[mixed.static_bytes < single.static_bytes, mixed.saved_bytes < single.saved_bytes],
    }


_SAVING_OPTIONS = (
    live.Option("little", "less than 20 %", "That is what you see while static memory dominates the total."),
    live.Option("part", "20 to 40 %", "That is what you see while activations and static memory are of one order."),
    live.Option("nearly", "40 to 50 %", "That is what you see once a large batch lets activations dominate."),
    live.Option("more", "half or more", "The total cannot halve: its static part has the same size in both."),
)
_REASON_OPTIONS = (
    live.Option(
        "both", "every tensor takes half the bytes", "Compare the tables: master copy and optimizer state are FP32."
    ),
    live.Option(
        "activations",
        "only activations halve: the master copy costs what 16-bit parameters and gradients save",
        "Parameters and gradients go from 4 + 4 bytes to 2 + 2, and the master copy costs 4, so static memory stays. "
        "What shrinks is what the forward pass stores.",
    ),
    live.Option(
        "static",
        "optimizer state halves and activations stay",
        "Set Adam and switch precision: m and v stay as they are.",
    ),
    live.Option(
        "none", "the GPU compresses idle tensors", "Nothing is compressed: a tensor has the bytes its format says."
    ),
)
REFLECTION = live.Reflection(
    name="mixed-precision",
    text="With the optimizer and the batch you have set, going from FP32 to mixed precision saves {saving} of the "
    "total memory, because {reason}.",
    blanks=(live.Blank("saving", "How much", _SAVING_OPTIONS), live.Blank("reason", "Why", _REASON_OPTIONS)),
    correct=correct_blanks,
)

# ---- the scene ----


def as_sold(context: str) -> str:
    """The device by its full name, and why the line in the chart does not stand at the number in that name."""
    device, reported = DEVICES[context], f"{DEVICES[context].memory_bytes / GB:.1f} GB"
    return f"{device.title}, sold as {device.nominal_gb:g} GB, which its driver reports as {reported}"


_ADAM = ledger(Setting("adam", "fp32", 1))
_VECTOR = gb(_ADAM.bytes_by_part("optimizer")["exp_avg"])

# --8<-- [start:question]
QUESTION = live.ChoiceQuestion(
    prompt="You train GPT-2 XL in FP32 and switch from SGD to Adam. How much more GPU memory does training need?",
    unit="GB",
    answer=lambda: adam_tax() / GB,
    options=(
        live.Option(
            0,
            "About 0 GB: an optimizer is a rule and stores nothing of the model's size",
            "Plain SGD is only a rule. Adam is a rule with a memory: it remembers past gradients of every parameter.",
        ),
        live.Option(
            3,
            "About 3 GB: it stores one extra vector",
            f"One vector with an FP32 number per parameter is already {_VECTOR} GB, and Adam keeps two.",
        ),
        live.Option(
            12,
            "About 12 GB: it stores two extra vectors",
            f"Two vectors, each as large as the parameters: 2 × {_VECTOR} GB.",
        ),
        live.Option(
            24,
            "About 24 GB: it keeps a full copy of the training state",
            f"{gb(_ADAM.static_bytes)} GB is all that training with Adam keeps before activations. Parameters and "
            "gradients are part of it, and SGD needs those too.",
        ),
    ),
)
# --8<-- [end:question]

_TOGGLES = {
    "parameters": "Parameters",
    "gradients": "Gradients",
    "master": "Master copy",
    "activations": "Activations",
    "optimizer_state": "Optimizer state",
}


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act."""
    setting = setting_of(state)
    return {"optimizer_chosen": setting.optimizer, "precision_chosen": setting.precision}


ACT = live.Act(
    name="optimizer-memory-tax",
    title="The Optimizer Memory Tax",
    minutes=12,
    situation=f"You are about to train GPT-2 XL, {GPT2_XL.parameters / 1e9:.2f} billion parameters, and SGD is slow to "
    "converge. Everyone recommends Adam; before you switch, your team asks what it will cost in memory.",
    contexts=(
        live.Context("node", "Training node, H100", f"One accelerator of a training node: {as_sold('node')}."),
        live.Context("laptop", "Laptop, RTX 4060", f"What a good laptop carries: {as_sold('laptop')}."),
    ),
    question=QUESTION,
    controls=(
        live.Choice("optimizer", "Optimizer", tuple(live.ControlOption(*item) for item in OPTIMIZERS.items()), "sgd"),
        live.Choice(
            "precision",
            "Precision",
            (
                live.ControlOption("fp32", "FP32"),
                live.ControlOption("fp16", "FP16"),
                live.ControlOption("mixed", "Mixed"),
            ),
            "fp32",
            "FP16 stores everything in 16 bits; small updates vanish, so it does not train stably. Mixed computes in "
            "16 bits and updates an FP32 master copy.",
        ),
        live.Choice(
            "batch",
            "Batch size",
            tuple(live.ControlOption(size, str(size)) for size in BATCHES),
            1,
            f"Sequences of {GPT2_XL.max_seq:,} tokens, flash attention.",
        ),
        *(live.Toggle(name, label, True, group="Show", display_only=True) for name, label in _TOGGLES.items()),
    ),
    compute=compute,
    reveal=reveal,
    charts={"ledger": "Training memory ledger of GPT-2 XL"},
    reflections=(REFLECTION,),
    can_fail=True,
    ledger=decisions,
)
