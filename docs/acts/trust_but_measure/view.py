"""What the instruments of Act 3 show in a state."""

from __future__ import annotations

from collections.abc import Iterator

from plugins import live

from .configurations import Configuration, configurations, measured
from .counts import GROUPS, engine_count, kept, size, textbook
from .tables import count_table, tensors_table


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
        f"{sentence(measured_line(values, book))}.",
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
    yours = "" if prediction is None else f" Your {prediction:g} × makes it {size(said)}."
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


def sentence(text: str) -> str:
    """The words with a capital at their beginning; names inside keep theirs."""
    return text[:1].upper() + text[1:]


def kinds(configuration: Configuration) -> Iterator[live.Row]:
    """A bar per kind of tensor, in percent of what is kept."""
    total = engine_count(configuration)
    for name, amount in kept(configuration).items():
        share = 100 * amount / total
        yield {"kind": name, "share": share, "title": GROUPS[name], "text": f"{size(amount)}, {share:.0f} %"}
