"""The laptop challenge: fit the training of GPT-2 XL into 8 GB. What it draws is in charts.py.

Nothing here says that a setting fits, or that none does: every such sentence comes from asking the engine about every
setting on offer. Whether a setting trains is asked of the number format in which its weights are updated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from engine import GB, Layout, MemoryLedger, model, training_memory
from engine.dynamics import convergence
from engine.formats import FP16, FP32, FloatFormat
from engine.links import link
from engine.time import step_time
from plugins import live

GPT2_XL = model("gpt2-xl")
BUDGET = 8 * GB
"""What the box says. The driver reports a little more; that remains for the screen."""
OPTIMIZERS = {"adam": "Adam", "momentum": "Momentum", "sgd": "SGD"}
PRECISIONS = {"fp32": "FP32", "mixed": "mixed precision", "fp16": "pure FP16"}
BATCHES = (32, 16, 8, 4, 2, 1)
OFFLOADS = {"none": "nothing", "optimizer": "states and master copy", "gradients": "these and gradients"}
LAPTOPS = (1, 2, 4, 8)
CHUNKS = 16

SOURCE_PARAMETERS, SOURCE_ACTIVATIONS, SOURCE_BATCH = 1.5e9, 65 * GB, 32
"""The source's GPT-2 XL: parameters, and activations in FP32 at its batch. With Adam they make its 89 GB."""
SOURCE_CHECKPOINTING = 4
"""The source divides activations by this when it checkpoints."""
SOURCE_FLOORS = (24, 18)
"""GB that the source calls the static floor of SGD in FP16, in two places."""

WEIGHT, RATE, MOMENTUM = 0.02, 0.01, 0.9
"""A weight of GPT-2 as it is initialized, a learning rate and a momentum of SGD."""
GRADIENT = GPT2_XL.parameters**-0.5
"""An everyday gradient of one weight: all of them clipped to a norm of 1, spread evenly."""
UPDATES = 1000
ADAM_EPSILON = 1e-8
"""What Adam adds to the root of v, so as not to divide by zero: the default of PyTorch and of the paper."""


def gb(size: float) -> str:
    """Bytes as GB with two decimals."""
    return f"{size / GB:,.2f}"


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
    def trains(self) -> bool:
        """Whether the format in which weights are updated keeps an everyday update."""
        return not update_format(self.precision).update_vanishes(WEIGHT, -RATE * GRADIENT)

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


# --8<-- [start:ledger]
@cache
def ledger(setting: Setting) -> MemoryLedger:
    """The engine's account: flash attention, full sequences, PyTorch's fused update."""
    eight = setting.eight_bit and setting.optimizer == "adam"
    return training_memory(
        GPT2_XL,
        optimizer="adamw-8bit" if eight else setting.optimizer,
        precision=setting.precision,
        batch=setting.batch,
        checkpointing="full" if setting.checkpointing else "none",
        loss=f"chunked:{CHUNKS}" if setting.chunked else "full",
        optimizer_in_backward=setting.in_backward,
        # Updates during backward keep no gradients, so there are none to move to the host.
        offload="optimizer" if setting.in_backward and setting.offload == "gradients" else setting.offload,
        update="fused",
        layout=Layout(data=setting.laptops, zero=3 if setting.laptops > 1 else 0),
    )


def need(setting: Setting) -> int:
    """Bytes one GPU must have: the fullest moment of the step, and the driver's share."""
    return ledger(setting).device_total


def fits(setting: Setting) -> bool:
    """Whether the step fits the budget."""
    return need(setting) <= BUDGET


@cache
def floors() -> dict[str, Setting]:
    """The most frugal setting on offer: of all, of those that train, of those that train with Adam."""
    classes = {
        "any": SETTINGS,
        "trains": tuple(one for one in SETTINGS if one.trains),
        "adam": tuple(one for one in SETTINGS if one.trains and one.optimizer == "adam"),
    }
    # At equal memory the one that gives up less: it comes first.
    return {name: min(members, key=need) for name, members in classes.items()}


# --8<-- [end:ledger]


def textbook(setting: Setting) -> float:
    """Bytes as the source counts them: bytes per parameter, and activations in proportion."""
    sixteen = setting.precision != "fp32"
    each = {"fp32": 8, "mixed": 8, "fp16": 4}[setting.precision]
    vectors = {"sgd": 0, "momentum": 1, "adam": 2}[setting.optimizer] * (2 if setting.precision == "fp16" else 4)
    activations = SOURCE_ACTIVATIONS * setting.batch / SOURCE_BATCH / (2 if sixteen else 1)
    return SOURCE_PARAMETERS * (each + vectors) + activations / (SOURCE_CHECKPOINTING if setting.checkpointing else 1)


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


# ---- the view ----

NAMES = {
    "parameters": "Parameters",
    "gradients": "Gradients",
    "master": "Master copy",
    "optimizer": "Optimizer state",
    "activations": "Activations",
    "buffers": "Sharding buffers",
}
AXIS_TOPS = (20, 50, 110, 240)
"""Where the axis may end, in GB: a few fixed places, so that bars move and not the scene."""


def parts(setting: Setting) -> dict[str, int]:
    """Bytes of every kind of tensor, each at its own fullest."""
    account = ledger(setting)
    sizes = {name: account.component(name) for name in ("parameters", "gradients", "master", "optimizer")}
    sizes["activations"] = account.saved_bytes
    sizes["buffers"] = account.component("buckets") + account.component("gathered")
    return {name: size for name, size in sizes.items() if size}


def compute(state: live.State) -> live.View:
    """What the instruments show."""
    setting = setting_of(state)
    open_ = state.prediction is not None
    problem = failure(setting) if open_ else None
    guess = float(state.prediction) if state.prediction is not None else 0.0
    highest = max(sum(parts(setting).values()), need(setting), textbook(setting), guess * GB) / GB
    top = next(top for top in AXIS_TOPS if top >= highest)
    return live.View(
        data={
            "stack": tuple(stack(setting)),
            "lines": tuple(lines(setting)),
            "textbook": ({"from": 0, "to": textbook(setting) / GB, "text": f"book ◇ {gb(textbook(setting))} GB"},),
            "need": ({"gb": need(setting) / GB, "text": f"needs {gb(need(setting))} GB", "over": not fits(setting)},),
            "budget": ({"gb": BUDGET / GB},),
            "frame": ({"gb": 0}, {"gb": top}),
            "guess": ({"from": 0, "to": guess, "text": f"you: {guess:g} GB"},) if open_ else (),
            "floors": tuple(floor_rows()) if open_ else (),
            "weight": tuple(weight_rows()) if open_ else (),
        },
        headline=headline(setting, problem),
        summary=f"{setting.words}: {gb(need(setting))} GB are needed, the laptop has {BUDGET / GB:.0f} GB. "
        f"The textbook counts {textbook(setting) / GB:.1f} GB.",
        tables={
            "memory": memory_table(setting),
            "floors": floors_table() if open_ else CLOSED,
            "weight": weight_table() if open_ else CLOSED,
            "levers": levers_table(setting) if open_ else CLOSED,
        },
        failure=problem,
    )


CLOSED = live.Table("Opens when you lock in your prediction.", (live.Column("a", "Closed until then"),), [{"a": "?"}])


def headline(setting: Setting, problem: live.Failure | None) -> live.Figure:
    """What the GPU must have, and how that is judged."""
    judged = f"of {BUDGET / GB:.0f} GB"
    if problem is None and fits(setting) and setting.trains:
        judged = "it fits, and it trains"
    return live.Figure(f"Needed on the GPU ({judged})", gb(need(setting)), "GB")


def stack(setting: Setting) -> Iterator[live.Row]:
    """One bar, stacked by kind of tensor, in GB."""
    base = 0.0
    for part, size in parts(setting).items():
        yield {"part": part, "from": base, "to": base + size / GB}
        base += size / GB


def lines(setting: Setting) -> Iterator[live.Row]:
    """A line of text per kind of tensor, under the bar."""
    for row, (part, size) in enumerate(parts(setting).items()):
        yield {"row": row, "part": part, "text": f"{NAMES[part]} {gb(size)} GB"}


def floor_rows() -> Iterator[live.Row]:
    """The three floors: static bytes, and what the GPU must have."""
    for name, title in FLOORS.items():
        setting = floors()[name]
        static = ledger(setting).static_bytes / GB
        yield {
            "floor": title,
            "static": static,
            "need": need(setting) / GB,
            "over": not fits(setting),
            "text": f"needs {gb(need(setting))}",
        }


FLOORS = {"any": "Arithmetic", "trains": "Stable training", "adam": "Adam"}


@cache
def weight_rows() -> tuple[live.Row, ...]:
    """One weight under equal updates, in the two formats that the optimizer can update."""
    rows: list[live.Row] = []
    for name, form in (("FP16", FP16), ("FP32", FP32)):
        value = form.round(WEIGHT)
        for step in range(UPDATES + 1):
            if step % 50 == 0:
                rows.append({"format": name, "step": step, "weight": value})
            value = form.round(value - RATE * GRADIENT)
    return tuple(rows)


# ---- failures: what does not fit, what fits and does not train ----


def failure(setting: Setting) -> live.Failure | None:
    """What is wrong with a setting, if something is."""
    if not fits(setting):
        return out_of_memory(setting)
    return None if setting.trains else does_not_train(setting)


def out_of_memory(setting: Setting) -> live.Failure:
    """Too large. At the floor of what trains the search over all offers says that this is the end."""
    account = ledger(setting)
    excess = f"The laptop has {gb(BUDGET)} GB: {gb(need(setting) - BUDGET)} GB too much."
    what = f"The step needs {gb(need(setting))} GB at its fullest, which is in “{account.peak.name}”."
    best, change = best_change(setting)
    if setting == setting.plain and setting.trains and need(setting) <= need(floors()["trains"]):
        return live.Failure("Physical limit", f"{what} No setting here that trains needs less.", excess, searched())
    if best is None:
        return live.Failure("Out of memory", what, excess, f"No single lever makes it smaller. {searched()}")
    return live.Failure("Out of memory", what, excess, f"From here {change} frees most, down to {gb(need(best))} GB.")


def searched() -> str:
    """What the search over everything on offer found."""
    fitting = [one for one in SETTINGS if fits(one)]
    training = [one for one in fitting if one.trains]
    found = f"Of the {len(SETTINGS)} settings on offer {len(fitting)} fit"
    if training:
        return f"{found}, and {len(training)} of them train."
    if not fitting:
        return f"{found}."
    kinds = sorted({f"{OPTIMIZERS[one.optimizer]} in {PRECISIONS[one.precision]}" for one in fitting})
    return f"{found}, all of them {' or '.join(kinds)}, and none of them trains."


def does_not_train(setting: Setting) -> live.Failure:
    """Pure FP16: the numbers that show why the weights stand still."""
    if setting.optimizer == "adam":
        what = (
            "Adam keeps v, the average of squared gradients. A gradient of "
            f"{GRADIENT:.1e} squared is {GRADIENT**2:.1e}."
        )
        excess = (
            f"The smallest number of FP16 is {FP16.smallest_subnormal:.1e}: v is stored as 0, and so is the "
            f"{ADAM_EPSILON:g} that should keep Adam from dividing by zero."
        )
    else:
        gain = 1 / (1 - MOMENTUM) if setting.optimizer == "momentum" else 1
        what = (
            f"A weight of {WEIGHT} in FP16 moves in steps of {FP16.ulp(WEIGHT):.1e}. A gradient of {GRADIENT:.1e} at a "
            f"learning rate of {RATE:g} asks for {gain * RATE * GRADIENT:.1e}"
            f"{', momentum included' if gain > 1 else ''}."
        )
        excess = f"That is below half a step, {FP16.vanishing_threshold(WEIGHT):.1e}: the update vanishes, every time."
    remedy = "An FP32 master copy keeps such updates, for 4 more bytes per parameter."
    return live.Failure("It fits, and it does not train", what, excess, remedy)


def neighbors(setting: Setting) -> Iterator[tuple[str, Setting]]:
    """Every setting one lever away, by the words for that move; levers of the epilogue once one of them is in use."""
    for name, words in PRECISIONS.items():
        yield words, replace(setting, precision=name)
    for name, words in OPTIMIZERS.items():
        yield words, replace(setting, optimizer=name)
    yield "checkpointing", replace(setting, checkpointing=True)
    yield "a chunked loss", replace(setting, chunked=True)
    yield f"batch {BATCHES[-1]}", replace(setting, batch=BATCHES[-1])
    if setting != setting.plain:
        yield "updating during backward", replace(setting, in_backward=True)
        yield "8-bit states", replace(setting, eight_bit=True)
        for name, words in OFFLOADS.items():
            yield f"moving {words} to the host", replace(setting, offload=name)
        yield f"{LAPTOPS[-1]} laptops", replace(setting, laptops=LAPTOPS[-1])


def best_change(setting: Setting) -> tuple[Setting | None, str]:
    """The one lever that frees most from here, unless none frees anything."""
    words, best = min(neighbors(setting), key=lambda move: need(move[1]))
    return (best, words) if need(best) < need(setting) else (None, "")


# ---- the tables ----


def columns(*titles: str) -> tuple[live.Column, ...]:
    """A text column and numeric ones, each given as `Label|unit`; their keys are a, b, c and so on."""
    parted = [title.partition("|") for title in titles]
    return tuple(live.Column("abcdefg"[i], label, unit, numeric=i > 0) for i, (label, _, unit) in enumerate(parted))


def row(*cells: str) -> dict[str, str]:
    """A row for `columns`."""
    return dict(zip("abcdefg", cells, strict=False))


def memory_table(setting: Setting) -> live.Table:
    """The bar's numbers, the sum, the fullest moment, and the textbook's count."""
    account = ledger(setting)
    rows = [row(NAMES[part], gb(size)) for part, size in parts(setting).items()]
    rows.append(row("All, each at its fullest", gb(sum(parts(setting).values()))))
    rows.append(row(f"Needed, at “{account.peak.name}”, driver included", gb(need(setting))))
    if account.host_bytes:
        rows.append(row("In the host's memory", gb(account.host_bytes)))
    rows.append(row("Textbook count ◇", f"{textbook(setting) / GB:,.2f}"))
    return live.Table(
        f"GPT-2 XL with {setting.words}. Not all tensors are full at once: gradients arrive while activations go.",
        columns("What", "Memory|GB"),
        rows,
    )


def floors_table() -> live.Table:
    """The three floors, found by the search."""
    rows = []
    for name, title in FLOORS.items():
        setting = floors()[name]
        static = ledger(setting).static_bytes
        verdict = ("fits" if fits(setting) else "too large") + (", trains" if setting.trains else ", does not train")
        each = f"{static / GPT2_XL.parameters:.0f}"
        rows.append(row(title, setting.words, each, gb(static), gb(need(setting)), verdict))
    titles = (
        live.Column("a", "Floor"),
        live.Column("b", "Most frugal setting"),
        live.Column("c", "Static", "bytes each", numeric=True),
        live.Column("d", "Static", "GB", numeric=True),
        live.Column("e", "Needed", "GB", numeric=True),
        live.Column("f", f"Against {BUDGET / GB:.0f} GB"),
    )
    return live.Table(f"The floors, by a search over all {len(SETTINGS)} settings on offer", titles, rows)


def weight_table() -> live.Table:
    """What becomes of one weight under gradients of several sizes."""
    rows = []
    for gradient in (1e-2, 1e-3, 1e-4, GRADIENT):
        update = RATE * gradient
        moved = ["lost" if form.update_vanishes(WEIGHT, -update) else "kept" for form in (FP16, FP32)]
        rows.append(row(f"{gradient:.1e}", f"{update:.1e}", *moved))
    return live.Table(
        f"Updates of a weight of {WEIGHT} at a learning rate of {RATE:g}. Half a step is "
        f"{FP16.vanishing_threshold(WEIGHT):.1e} in FP16 and {FP32.vanishing_threshold(WEIGHT):.1e} in FP32. The last "
        "gradient is what each weight gets of a norm of 1.",
        columns("Gradient", "Update", "In FP16", "In FP32"),
        rows,
    )


def levers_table(setting: Setting) -> live.Table:
    """What every lever frees from here, and what it costs."""
    half = FP16.vanishing_threshold(WEIGHT)
    steps = convergence("sgd").steps / convergence("adam").steps
    slower = step_time(GPT2_XL, "rtx-4060", 1, mode="amp-bf16", policy="full", rule="sgd")
    again = slower.hardware_flops / slower.model_flops - 1
    rows = [
        lever(setting, "Mixed precision", "an FP32 copy of the weights, loss scaling", precision="mixed"),
        lever(setting, "Pure FP16", f"updates below {half:.0e} of a weight of {WEIGHT} are lost", precision="fp16"),
        lever(setting, "SGD", f"{steps:.0f} times the steps (◇, not measured)", optimizer="sgd"),
        lever(setting, "Checkpointing", f"{100 * again:.0f} % more arithmetic", checkpointing=True),
        lever(setting, "Chunked loss", "the logits are computed twice", chunked=True),
        lever(setting, "Batch 1", "noisier gradients, or as many small steps added up", batch=1),
    ]
    if setting != setting.plain:
        rows += [
            lever(setting, "Update during backward", PRICES["in_backward"], in_backward=True),
            lever(setting, "8-bit Adam", PRICES["eight_bit"], eight_bit=True),
            lever(setting, "Offloading states", price_of_offloading(setting), offload="optimizer"),
            lever(setting, f"{LAPTOPS[-1]} laptops", PRICES["laptops"], laptops=LAPTOPS[-1]),
        ]
    titles = (live.Column("a", "Lever"), live.Column("b", "Needed after", "GB", numeric=True), live.Column("c", "Cost"))
    return live.Table("What each lever leads to from here, the others as they are, and what it costs", titles, rows)


PRICES = {
    "in_backward": "no clipping by the norm of all gradients, no adding up of small batches",
    "eight_bit": "states in 256 levels; counts for Adam only",
    "laptops": "a network between them, every step",
}


def price_of_offloading(setting: Setting) -> str:
    """Host memory, and the time on the bus: gradients go down and updated weights come up, once per step."""
    host = ledger(replace(setting, offload="optimizer", in_backward=False)).host_bytes
    if not host:
        return "nothing to move: there are neither states nor a master copy"
    bus = link("pcie-4-x8")
    traffic = 2 * GPT2_XL.parameters * (4 if setting.precision == "fp32" else 2) / bus.achievable
    return f"{gb(host)} GB of host memory, {traffic:.1f} s per step over {bus.title}"


def beyond_table() -> live.Table:
    """What each lever of the epilogue buys, in a setting that trains."""
    frugal = Setting("mixed", "adam", checkpointing=True, chunked=True, batch=1)
    plain = Setting("fp32", "sgd", checkpointing=True, chunked=True, batch=1)
    offers = (
        ("Update during backward", replace(plain, in_backward=True), PRICES["in_backward"]),
        ("8-bit Adam", replace(frugal, eight_bit=True), PRICES["eight_bit"]),
        ("Offloading states", replace(frugal, offload="optimizer"), price_of_offloading(frugal)),
        (f"{LAPTOPS[-1]} laptops", replace(frugal, laptops=LAPTOPS[-1]), PRICES["laptops"]),
    )
    rows = [
        row(
            name,
            f"{OPTIMIZERS[one.optimizer]}, {PRECISIONS[one.precision]}",
            gb(need(one)),
            "fits" if fits(one) else "too large",
            price,
        )
        for name, one, price in offers
    ]
    titles = (
        live.Column("a", "Lever"),
        live.Column("b", "With"),
        live.Column("c", "Needed", "GB", numeric=True),
        live.Column("d", f"Against {BUDGET / GB:.0f} GB"),
        live.Column("e", "Price"),
    )
    return live.Table("Beyond the book, at batch 1 with checkpointing and a chunked loss", titles, rows)


def lever(setting: Setting, name: str, cost: str, **change: object) -> dict[str, str]:
    """One row: the memory after the move, and its price."""
    after = replace(setting, **change)  # type: ignore[arg-type]
    freed = need(setting) - need(after)
    return row(name, gb(need(after)) if freed else "as it is", cost)


# ---- the reveal ----

TOLERANCE = 1.5
"""GB within which a prediction counts as right."""


def stable_floor() -> float:
    """GB that the most frugal setting needs that still trains: the answer to the question."""
    return need(floors()["trains"]) / GB


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction."""
    said, answer = float(prediction), stable_floor()
    bottom, stable, adam = (floors()[name] for name in FLOORS)
    static = [gb(ledger(one).static_bytes) for one in (bottom, stable, replace(stable, optimizer="momentum"), adam)]
    return live.Verdict(
        correct=abs(said - answer) <= TOLERANCE,
        headline=gap(said, answer),
        paragraphs=(
            f"There are three floors, not one. Arithmetic: {bottom.words} has {static[0]} GB of static memory and "
            f"needs {gb(need(bottom))} GB. Stable training: with an FP32 copy of the weights, or FP32 throughout, SGD "
            f"has {static[1]} GB and needs {gb(need(stable))} GB. Adam: {static[3]} GB static and {gb(need(adam))} GB "
            "needed.",
            f"{searched()} You will read that the static floor is {SOURCE_FLOORS[0]} GB, elsewhere {SOURCE_FLOORS[1]} "
            f"GB (◇), for SGD in FP16. But 2 + 2 bytes per parameter are {static[0]} GB. The figures belong to Adam "
            f"({static[3]} GB) and to Momentum with a master copy ({static[2]} GB).",
            f"The arithmetic floor fits and is of no use. FP16 has {FP16.fraction_bits} bits of fraction, so a weight "
            f"of {WEIGHT} can only move in steps of {FP16.ulp(WEIGHT):.1e}. Updates of {RATE * GRADIENT:.1e} round to "
            f"nothing. After {UPDATES:,} of them FP32 has moved to {weight_rows()[-1]['weight']:.5f}; FP16 stands "
            "where it stood.",
            f"So the book's list ends above {BUDGET / GB:.0f} GB, and engineering goes on. Four more levers are now on "
            "the bench. The table says what each of them buys, and at what price. Make it fit, and make it train.",
        ),
        tables={"floors": floors_table(), "beyond": beyond_table()},
    )


def gap(said: float, answer: float) -> str:
    """The distance between prediction and answer, in GB and as a factor."""
    start, truth = f"You said {said:g} GB", f"the least that trains needs {answer:.2f} GB"
    if abs(said - answer) <= TOLERANCE:
        return f"{start}, and that is close: {truth}."
    factor = max(said / answer, answer / said)
    word = "more" if said < answer else "less"
    return f"{start}. In fact {truth}: {factor:.1f} times {word}, {abs(said - answer):.1f} GB off."


# ---- the reflections ----

THRESHOLDS = (1e-3, 1e-5, 1e-9)


def largest_blanks(state: live.State) -> dict[str, live.Value]:
    """The largest kind of tensor, and the lever that frees most, at the reader's own setting."""
    setting = setting_of(state)
    moves = {
        "precision": replace(setting, precision="fp16"),
        "optimizer": replace(setting, optimizer="sgd"),
        "checkpointing": replace(setting, checkpointing=True),
        "batch": replace(setting, batch=1),
    }
    best = min(moves, key=lambda name: need(moves[name]))
    return {
        "part": max(parts(setting), key=lambda part: parts(setting)[part]),
        "lever": best if need(moves[best]) < need(setting) else "none",
    }


def threshold_blanks(state: live.State) -> dict[str, live.Value]:
    """Half of FP16's step at the weight, and what a master copy changes about it."""
    half = FP16.vanishing_threshold(WEIGHT)
    kept = not FP32.update_vanishes(WEIGHT, -RATE * GRADIENT)
    return {
        "threshold": min(THRESHOLDS, key=lambda value: max(value / half, half / value)),
        "cure": "master" if kept else "none",
    }


REFLECTIONS = (
    live.Reflection(
        "largest",
        "At your setting the largest part is {part}. Of the first four levers, {lever} would free most from here.",
        (
            live.Blank(
                "part",
                "The largest part",
                (
                    live.Option("parameters", "the parameters", "The bar shows how they compare with the rest."),
                    live.Option("gradients", "the gradients", "They are as many as the parameters."),
                    live.Option("master", "the master copy", "It exists in mixed precision only."),
                    live.Option("optimizer", "the optimizer state", "It exists for Momentum and for Adam."),
                    live.Option("activations", "the activations", "They grow with the batch; nothing else does."),
                    live.Option("buffers", "the sharding buffers", "They exist only with more than one laptop."),
                ),
            ),
            live.Blank(
                "lever",
                "The lever",
                (
                    live.Option("precision", "pure FP16", "It halves what is still in 32 bits."),
                    live.Option("optimizer", "SGD", "It drops the optimizer's state, if there is one."),
                    live.Option("checkpointing", "checkpointing", "It drops most activations of the fullest moment."),
                    live.Option("batch", "batch 1", "It divides activations by the batch."),
                    live.Option("none", "none of them", "That is so once all of them are pulled as far as they help."),
                ),
            ),
        ),
        largest_blanks,
    ),
    live.Reflection(
        "floor",
        f"In pure FP16 a weight of {WEIGHT} does not notice updates below about {{threshold}}. "
        "What cures it is {cure}.",
        (
            live.Blank(
                "threshold",
                "The smallest update that counts",
                (
                    live.Option(1e-3, "0.001", "That is FP16's relative step, for a weight of 1."),
                    live.Option(1e-5, "0.00001", "Half the spacing of FP16 numbers around this weight."),
                    live.Option(1e-9, "0.000000001", "That is FP32's threshold."),
                ),
            ),
            live.Blank(
                "cure",
                "The cure",
                (
                    live.Option("master", "an FP32 copy of the weights", "Small updates add up there until they show."),
                    live.Option("scaling", "loss scaling", "It saves small gradients. The update is added unscaled."),
                    live.Option("batch", "a larger batch", "It averages gradients; it does not make updates larger."),
                    live.Option("none", "nothing", "An FP32 number has 13 more bits of fraction: enough for this."),
                ),
            ),
        ),
        threshold_blanks,
    ),
)

# ---- the scene ----


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act."""
    setting = setting_of(state)
    return {
        "optimizer_chosen": setting.optimizer,
        "precision_chosen": setting.precision,
        "gradient_checkpointing": setting.checkpointing,
        "laptop_fit_achieved": fits(setting) and setting.trains,
        "laptop_minimum_memory_gb": stable_floor(),
    }


ACT = live.Act(
    name="laptop-challenge",
    title="The Laptop Challenge",
    minutes=10,
    situation=f"GPT-2 XL, Adam, FP32, batch 32: the textbook counts {textbook(Setting()) / GB:.0f} GB. You have a "
    f"laptop with {BUDGET / GB:.0f} GB of GPU memory and five levers. Make it fit.",
    contexts=(live.Context("laptop", "Laptop, 8 GB", "One GPU with 8 GB; sequences of 1,024 tokens."),),
    question=live.NumberQuestion(
        prompt="With every lever below pulled as far as it goes, and training that still works: how much memory does "
        "GPT-2 XL need on the GPU?",
        unit="GB",
        minimum=1,
        maximum=100,
        answer=stable_floor,
    ),
    controls=(
        live.Choice(
            "precision",
            "Precision",
            (
                live.ControlOption("fp32", "FP32"),
                live.ControlOption("mixed", "Mixed"),
                live.ControlOption("fp16", "FP16"),
            ),
            "fp32",
        ),
        live.Choice("optimizer", "Optimizer", tuple(live.ControlOption(*one) for one in OPTIMIZERS.items()), "adam"),
        live.Choice("batch", "Batch size", tuple(live.ControlOption(size, str(size)) for size in BATCHES), BATCHES[0]),
        live.Toggle("checkpointing", "Gradient checkpointing", False, group="Trade time for memory"),
        live.Toggle("chunked", "Loss in chunks", False, group="Trade time for memory"),
        live.Toggle("in_backward", "Update during backward", False, group="Beyond the book", after_reveal=True),
        live.Toggle("eight_bit", "8-bit Adam states", False, group="Beyond the book", after_reveal=True),
        live.Choice(
            "offload",
            "Keep in host memory",
            (
                live.ControlOption("none", "Nothing"),
                live.ControlOption("optimizer", "States"),
                live.ControlOption("gradients", "States + gradients"),
            ),
            "none",
            "States include the master copy. Each step then crosses the bus.",
            after_reveal=True,
        ),
        live.Choice(
            "laptops",
            "Laptops",
            tuple(live.ControlOption(count, str(count)) for count in LAPTOPS),
            LAPTOPS[0],
            "Everything divided among them (ZeRO-3), the batch for each.",
            after_reveal=True,
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={
        "memory": "Memory of one training step, and as the book counts it (◇)",
        "floors": "The three floors",
        "weight": f"One weight under {UPDATES:,} equal updates",
    },
    reflections=REFLECTIONS,
    can_fail=True,
    moves=True,
    ledger=decisions,
)
