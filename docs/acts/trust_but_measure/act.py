"""Act 3, Trust, but Measure: the textbook's count of activations, the engine's, and what a machine really held.

Measured values come from committed records, which the build hands over with this file. Where nothing is measured the
act says so, and which command would measure it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from engine import GB, Transformer, chapter_activation_bytes, model, training_memory
from engine.dtypes import FP16, FP32
from plugins import live

RECORDS = live.records(
    "*",
    "case.model",
    "case.precision",
    "case.batch",
    "case.sequence",
    "case.attention",
    "case.dropout",
    "device.type",
    "model.layers",
    "model.hidden",
    "model.heads",
    "model.vocab",
    "model.max_seq",
    "memory.held.activations",
)
NAMES = {"gpt2": "GPT-2", "gpt2-medium": "GPT-2 M", "gpt2-large": "GPT-2 L", "gpt2-xl": "GPT-2 XL", "nano": "nano"}
FORMATS = {"fp32": "FP32", "tf32": "TF32", "amp-bf16": "autocast BF16", "amp-fp16": "autocast FP16", "bf16": "BF16"}
MOST = 9
"""Configurations to choose from, at most: more would not be read."""
SOURCE_BATCH = 32
"""The textbook's own example: GPT-2 XL, this batch, 1,024 tokens, 16 bits."""


@dataclass(frozen=True)
class Configuration:
    """What is trained, as far as activations depend on it."""

    model: str
    precision: str
    batch: int
    sequence: int
    attention: str = "flash"
    dropout: float = 0.0
    device: str = "cuda"

    @property
    def key(self) -> str:
        """The value of its option."""
        parts = (self.model, self.precision, self.batch, self.sequence, self.attention, self.dropout, self.device)
        return " ".join(str(part) for part in parts)

    @property
    def label(self) -> str:
        """How a reader chooses it."""
        extras = "".join(
            text
            for text, there in (
                (", standard attention", self.attention == "standard"),
                (f", dropout {self.dropout:g}", self.dropout > 0),
                (", on a CPU", self.device == "cpu"),
            )
            if there
        )
        name = NAMES.get(self.model, self.model)
        return f"{name}, {FORMATS.get(self.precision, self.precision)}, {self.batch} × {self.sequence:,}{extras}"


PLANNED = (
    Configuration("gpt2-xl", "amp-bf16", 8, 1024),
    Configuration("gpt2-xl", "fp32", 4, 1024),
    Configuration("gpt2", "amp-bf16", 16, 1024),
    Configuration("gpt2", "fp32", 16, 1024),
)
"""What the benchmark's suite measures on a GPU; offered also while nothing is measured."""
COMMAND = "python -m gpu_bench run --suite gpt2"


def configuration_of(record: live.MeasuredRecord) -> Configuration:
    """The configuration that a record measured."""
    at = record.values
    return Configuration(
        str(at["case.model"]),
        str(at["case.precision"]),
        int(at["case.batch"] or 0),
        int(at["case.sequence"] or 0),
        str(at["case.attention"]),
        float(at["case.dropout"] or 0),
        str(at["device.type"]),
    )


@cache
def measured() -> dict[str, tuple[live.MeasuredRecord, ...]]:
    """Records with a count of activations, by the key of their configuration, one per device."""
    found: dict[str, dict[str, live.MeasuredRecord]] = {}
    for record in RECORDS:
        if record.values["memory.held.activations"]:
            # The optimizer holds no activations: of several cases that differ in it, any will do.
            found.setdefault(configuration_of(record).key, {}).setdefault(record.device, record)
    return {key: tuple(devices.values()) for key, devices in found.items()}


@cache
def configurations() -> dict[str, Configuration]:
    """What can be chosen: everything measured, then what is planned."""
    every = [configuration_of(records[0]) for records in measured().values()]
    # The largest models first: that is where memory matters.
    every.sort(key=lambda one: (list(NAMES).index(one.model) if one.model in NAMES else -1) % 4, reverse=True)
    chosen = {one.key: one for one in (*every, *PLANNED)}
    return dict(list(chosen.items())[:MOST])


def shape(configuration: Configuration) -> Transformer:
    """The transformer: by name, or by the shape that the record states."""
    if configuration.model in ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"):
        return model(configuration.model)
    at = measured()[configuration.key][0].values
    layers, hidden, heads, vocab, longest = (
        int(at[f"model.{name}"] or 0) for name in ("layers", "hidden", "heads", "vocab", "max_seq")
    )
    return Transformer(configuration.model, layers, hidden, heads, vocab, longest)


# ---- three counts ----


def textbook(configuration: Configuration) -> int:
    """The textbook's bytes: four tensors of the hidden size, one of the MLP's, and 10 MB for norms per layer."""
    dtype = FP32 if configuration.precision in ("fp32", "tf32") else FP16
    return chapter_activation_bytes(shape(configuration), configuration.batch, configuration.sequence, dtype)


GROUPS = {
    "counted": "Query, key, value, attention's result, MLP",
    "residual": "Residual stream, before each norm",
    "norms": "Inputs of the products, after each norm",
    "gelu": "The MLP's second tensor, after GELU",
    "scores": "Scores and masks of attention",
    "loss": "Log-probabilities of the loss",
    "rest": "Statistics, indices, masks",
}
"""Kinds of kept tensors. The textbook counts the first; of the others it allows for statistics only."""


def group(name: str, component: str) -> str:
    """The kind of a kept tensor."""
    part = name.removeprefix("blocks.*.")
    if component == "logits":
        return "loss"
    if part in ("attn.c_attn", "attn.core", "attn.core.q", "attn.core.k", "attn.core.v", "mlp.c_fc"):
        return "counted"
    if part in ("input", "residual_1", "ln_f.input"):
        return "residual"
    if part in ("ln_1", "ln_2", "lm_head.input") or part.endswith(".cast"):
        return "norms"
    if part == "mlp.gelu":
        return "gelu"
    return "scores" if part in ("attn.core.softmax", "attn.core.future") or "drop" in part else "rest"


@cache
def kept(configuration: Configuration) -> dict[str, int]:
    """The engine's bytes by kind of tensor: what autograd saves, 16-bit casts of weights left out as in the record."""
    ledger = training_memory(
        shape(configuration),
        precision="fp32" if configuration.precision == "tf32" else configuration.precision,
        batch=configuration.batch,
        sequence=configuration.sequence,
        attention="standard" if configuration.attention == "standard" else "flash",
        dropout=configuration.dropout,
        backend="cpu" if configuration.device == "cpu" else "cuda",
    )
    sizes = dict.fromkeys(GROUPS, 0)
    for tensor in ledger.tensors:
        if tensor.component in ("activations", "logits"):
            sizes[group(tensor.name, tensor.component)] += tensor.bytes
    return {name: size for name, size in sizes.items() if size}


def engine_count(configuration: Configuration) -> int:
    """The engine's bytes."""
    return sum(kept(configuration).values())


def gap_factor(configuration: Configuration) -> float:
    """How many times the textbook's count is really kept, by the engine."""
    return engine_count(configuration) / textbook(configuration)


EXAMPLE = Configuration("gpt2-xl", "amp-bf16", SOURCE_BATCH, 1024)
"""The question's configuration: the textbook's example under autocast."""


def size(value: float) -> str:
    """Bytes as GB, or MB where GB would be all zeros."""
    return f"{value / GB:,.2f} GB" if value >= 0.1 * GB else f"{value / 1e6:,.2f} MB"


# ---- the view ----


def compute(state: live.State) -> live.View:
    """What the instruments show. Before the reveal only the textbook's count and the reader's are on the table."""
    configuration = configurations()[str(state.controls["configuration"])]
    if not state.revealed or state.prediction is None:
        return covered(configuration, None if state.prediction is None else float(state.prediction))
    book, exact = textbook(configuration), engine_count(configuration)
    found = measured().get(configuration.key, ())
    said = float(state.prediction) * book
    values = [(one, float(one.values["memory.held.activations"] or 0)) for one in found]
    return live.View(
        data={
            "book": ({"from": 0, "to": 100 * book / unit(configuration, said)},),
            "guess": ({"from": 0, "to": 100 * said / unit(configuration, said)},),
            "parts": tuple(parts(configuration, said)),
            "dots": tuple({"at": 100 * value / unit(configuration, said)} for _, value in values),
            "values": tuple(
                {"row": row, "text": text}
                for row, text in enumerate(
                    (
                        f"you: {state.prediction:g} × {size(book)} = {size(said)}",
                        f"textbook ◇ {size(book)}",
                        f"engine {size(exact)}, {exact / book:.2f} times",
                        measured_line(values, book),
                    )
                )
            ),
            "kinds": tuple(kinds(configuration)),
        },
        headline=live.Figure("The engine's count over the textbook's", f"{exact / book:.2f}", "times"),
        summary=f"{configuration.label}: the textbook counts {size(book)} of activations, the engine {size(exact)}. "
        f"{measured_line(values, book).capitalize()}.",
        tables={"count": count_table(configuration, values), "tensors": tensors_table(configuration)},
    )


def covered(configuration: Configuration, prediction: float | None) -> live.View:
    """The bench before the reveal: the textbook's count, and what the prediction makes of it. The rest is closed."""
    book = textbook(configuration)
    said = 0 if prediction is None else prediction * book
    width = 1.08 * max(3 * book, said)
    counts = [{"a": "Textbook ◇", "b": size(book)}]
    lines = [f"textbook ◇ {size(book)}", "engine ?", "measured ● ?"]
    if prediction is not None:
        counts.insert(0, {"a": "You", "b": size(said)})
    closed = live.Table(
        f"Activations kept for the backward pass: {configuration.label}. The other counts open with the reveal.",
        (live.Column("a", "Count"), live.Column("b", "Activations", numeric=True)),
        counts,
    )
    names = live.Table(
        "Kinds of tensors in a forward pass. Which of them are kept, and how large they are, opens with the reveal.",
        (live.Column("a", "Tensors"), live.Column("b", "Kept", numeric=True)),
        [{"a": title, "b": "?"} for title in GROUPS.values()],
    )
    yours = "" if prediction is None else f" Your {prediction:g} times make it {size(said)}."
    return live.View(
        data={
            "book": ({"from": 0, "to": 100 * book / width},),
            "guess": () if prediction is None else ({"from": 0, "to": 100 * said / width},),
            "parts": (),
            "dots": (),
            "values": tuple(
                {"row": row, "text": text}
                for row, text in enumerate(
                    ("" if prediction is None else f"you: {prediction:g} × {size(book)} = {size(said)}", *lines)
                )
            ),
            "kinds": tuple({"kind": name, "share": 0, "title": title, "text": "?"} for name, title in GROUPS.items()),
        },
        headline=live.Figure("The engine's count over the textbook's", "?", "times")
        if prediction is None
        else live.Figure("Activations, by your prediction", *size(said).split()),
        summary=f"{configuration.label}: the textbook counts {size(book)} of activations.{yours}",
        tables={"count": closed, "tensors": names},
    )


def unit(configuration: Configuration, said: float) -> float:
    """Bytes that fill the width: a little more than the longest bar."""
    return 1.08 * max(textbook(configuration), engine_count(configuration), said)


def parts(configuration: Configuration, said: float) -> Iterator[live.Row]:
    """The engine's bar, stacked by kind of tensor."""
    base = 0.0
    for name, amount in kept(configuration).items():
        share = 100 * amount / unit(configuration, said)
        yield {"kind": name, "from": base, "to": base + share}
        base += share


def measured_line(values: list[tuple[live.MeasuredRecord, float]], book: float) -> str:
    """The measurement in words, or that there is none."""
    if not values:
        return "not measured yet"
    record, value = values[0]
    more = f" and {len(values) - 1} more" if len(values) > 1 else ""
    return f"measured ● {size(value)}, {value / book:.2f} times ({record.title}{more})"


def kinds(configuration: Configuration) -> Iterator[live.Row]:
    """A bar per kind of tensor, in percent of what is kept."""
    total = engine_count(configuration)
    for name, amount in kept(configuration).items():
        share = 100 * amount / total
        yield {"kind": name, "share": share, "title": GROUPS[name], "text": f"{size(amount)}, {share:.0f} %"}


def count_table(configuration: Configuration, values: list[tuple[live.MeasuredRecord, float]]) -> live.Table:
    """The three counts with where each comes from."""
    book, exact = textbook(configuration), engine_count(configuration)

    def line(name: str, value: float, origin: str) -> dict[str, str]:
        return {"a": name, "b": size(value), "c": f"{value / book:.2f}", "d": f"{value / exact:.3f}", "e": origin}

    rows = [
        line("Textbook ◇", book, "4 h + 4 h per token and layer, 10 MB per layer"),
        line("Engine", exact, "named tensors of the forward pass"),
        *(line("Measured ●", value, f"{one.title}, {one.day}, {one.suite}/{one.case}") for one, value in values),
    ]
    if not values:
        rows.append({"a": "Measured ●", "b": "not measured yet", "c": "–", "d": "–", "e": COMMAND})
    return live.Table(
        f"Activations kept for the backward pass: {configuration.label}",
        (
            live.Column("a", "Count"),
            live.Column("b", "Activations", numeric=True),
            live.Column("c", "Of the textbook's", "times", numeric=True),
            live.Column("d", "Of the engine's", "times", numeric=True),
            live.Column("e", "Where from"),
        ),
        rows,
    )


def tensors_table(configuration: Configuration) -> live.Table:
    """Every kind of tensor, and whether the textbook counts it."""
    total = engine_count(configuration)
    rows = [
        {
            "a": GROUPS[name],
            "b": size(amount),
            "c": f"{100 * amount / total:.1f}",
            "d": "yes" if name == "counted" else "10 MB per layer" if name == "rest" else "no",
        }
        for name, amount in kept(configuration).items()
    ]
    return live.Table(
        "What PyTorch keeps, by kind of tensor",
        (
            live.Column("a", "Tensors"),
            live.Column("b", "Kept", numeric=True),
            live.Column("c", "Share", "%", numeric=True),
            live.Column("d", "In the textbook's count"),
        ),
        [*rows, {"a": "All", "b": size(total), "c": "100.0", "d": ""}],
    )


# ---- the reveal ----

TOLERANCE = 1.2
"""A factor of at most this between prediction and answer counts as right."""


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about the textbook's own example."""
    said, answer = float(prediction), gap_factor(EXAMPLE)
    sizes, book = kept(EXAMPLE), textbook(EXAMPLE)
    forgotten = {name: amount for name, amount in sizes.items() if name not in ("counted", "rest")}
    worst = sorted(forgotten, key=lambda name: forgotten[name], reverse=True)
    standard = Configuration("gpt2-xl", "amp-bf16", SOURCE_BATCH, 1024, "standard")
    checked = [
        float(one.values["memory.held.activations"] or 0) / engine_count(configuration_of(one))
        for records in measured().values()
        for one in records
    ]
    evidence = (
        f"{len(checked)} records in this repository let us check the engine: the machine held between "
        f"{min(checked):.3f} and {max(checked):.3f} times what the engine says."
        if checked
        else f"The engine's count is not measured yet. {COMMAND} measures it on a GPU, and this page will show it."
    )
    return live.Verdict(
        correct=max(said / answer, answer / said) <= TOLERANCE if said else False,
        headline=gap(said, answer),
        paragraphs=(
            f"For GPT-2 XL at batch {SOURCE_BATCH} the textbook (◇) counts {size(book)}: query, key, value and result "
            f"of attention, and one tensor of the MLP. PyTorch keeps {size(sum(sizes.values()))} under autocast.",
            "Every operation keeps what its own backward pass needs, and there are more operations than a diagram has "
            "boxes. Forgotten are, by size: "
            + "; ".join(f"{GROUPS[name][0].lower()}{GROUPS[name][1:]} ({size(forgotten[name])})" for name in worst)
            + ".",
            "The count depends on the code, not only on the model. With attention written out, without a fused kernel, "
            f"it is {gap_factor(standard):.1f} times the textbook's, for the same numbers in and out.",
            f"{evidence} A formula is a claim. A list of tensors can be checked one by one.",
        ),
        tables={"tensors": tensors_table(EXAMPLE)},
    )


def gap(said: float, answer: float) -> str:
    """The distance between prediction and answer, as a factor."""
    start, truth = f"You said {said:g} times", f"PyTorch keeps {answer:.2f} times what the textbook counts"
    if said and max(said / answer, answer / said) <= TOLERANCE:
        return f"{start}, and that is close: {truth}."
    if not said:
        return f"{start}. In fact {truth}."
    factor = max(said / answer, answer / said)
    return f"{start}. In fact {truth}: {factor:.1f} times {'more' if said < answer else 'less'} than you thought."


# ---- the reflection ----

SHARES = (15, 35, 60, 85)


def missed(state: live.State) -> dict[str, live.Value]:
    """The largest kind of tensor that the textbook forgets, and the share of all it forgets, as configured."""
    sizes = kept(configurations()[str(state.controls["configuration"])])
    forgotten = {name: amount for name, amount in sizes.items() if name not in ("counted", "rest")}
    share = 100 * sum(forgotten.values()) / sum(sizes.values())
    return {
        "kind": max(forgotten, key=lambda name: forgotten[name]),
        "share": min(SHARES, key=lambda value: abs(value - share)),
        "why": "backward",
    }


REFLECTION = live.Reflection(
    "missed",
    "In your configuration the largest kind of tensor that the textbook forgets is {kind}. All it forgets makes about "
    "{share} of what is kept, because {why}.",
    (
        live.Blank(
            "kind",
            "The kind",
            (
                live.Option("residual", "the residual stream", "Each norm's backward needs its input: two per layer."),
                live.Option("norms", "the inputs of the products", "Each product's weight gradient needs its input."),
                live.Option("gelu", "the MLP's second tensor", "GELU needs its input, the next product GELU's output."),
                live.Option("scores", "attention's scores", "A fused kernel never stores them; written out, it must."),
                live.Option(
                    "loss", "the log-probabilities", "A number for every token and word: much for small models."
                ),
            ),
        ),
        live.Blank(
            "share",
            "How much",
            tuple(live.Option(value, f"{value} %", "Add up the bars that are not in its count.") for value in SHARES),
        ),
        live.Blank(
            "why",
            "Why",
            (
                live.Option(
                    "backward",
                    "each operation keeps what its own backward pass needs",
                    "That is the rule by which autograd saves, and it is all you need to count.",
                ),
                live.Option(
                    "leak", "PyTorch leaks memory", "Nothing leaks: every tensor is used once more, then freed."
                ),
                live.Option("wide", "PyTorch keeps everything in FP32", "Products are kept in the format they ran in."),
                live.Option("weights", "weights are counted twice", "None of these tensors is a weight."),
            ),
        ),
    ),
    missed,
)

# ---- the scene ----

ACT = live.Act(
    name="trust-but-measure",
    title="Trust, but Measure",
    minutes=8,
    situation=f"The textbook counts {size(textbook(EXAMPLE))} of activations for GPT-2 XL at batch {SOURCE_BATCH}, in "
    "16 bits. You order GPUs by that number. Before you sign, ask PyTorch what it really keeps.",
    contexts=(live.Context("bench", "The bench", "Kept from forward to backward; flash attention unless said."),),
    question=live.NumberQuestion(
        prompt="How many times the textbook's count does PyTorch really keep from the forward to the backward pass?",
        unit="times",
        minimum=0.1,
        maximum=50,
        answer=lambda: gap_factor(EXAMPLE),
    ),
    controls=(
        live.Choice(
            "configuration",
            "Configuration",
            tuple(live.ControlOption(key, one.label) for key, one in configurations().items()),
            next(iter(configurations())),
            "Batch × tokens per sequence.",
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={"count": "Three counts of the same tensors", "tensors": "What is kept, by kind"},
    reflections=(REFLECTION,),
)
