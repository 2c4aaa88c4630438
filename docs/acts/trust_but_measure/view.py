"""What the instruments of Act 2 show in a state."""

from __future__ import annotations

from collections.abc import Iterator

from explorable import live
from ironlaw import GB

from .block import BOXES, given, kept_of, sizes
from .configurations import Configuration, configurations, measured
from .counts import GROUPS, engine_count, shares, size, textbook, written
from .question import HUNTED, SCALE
from .tables import block_table, closed_table, count_table, tensors_table

MARKS = ("✓ found, + missed,", "✗ tapped, but dropped")
"""What the judgments mean, told in the corner that the shorter column leaves free."""


def compute(state: live.State) -> live.View:
    """What the instruments show. Before the reveal only what the reader says is in the block, and no count."""
    configuration = configurations()[str(state.controls["configuration"])]
    told = state.revealed and state.prediction is not None
    said, judged = yours(configuration, state), tuple(judgments(configuration, state)) if told else ()
    found = [(one, float(one.values["memory.held.activations"] or 0)) for one in measured().get(configuration.key, ())]
    exact, book = engine_count(configuration), textbook(configuration)
    full = 1.06 * max(exact, book, given(configuration) + sum(sizes(configuration).values()), said or 0)
    start = given(configuration) if said is None else said
    return live.View(
        data={
            "heads": tuple(heads(configuration)),
            "boxes": tuple(boxes(configuration, state, told=told)),
            "kept": tuple(row for row in judged if row["kept"]),
            "judged": judged,
            "marks": tuple({"line": line, "text": text} for line, text in enumerate(MARKS)) if told else (),
            "guess": ({"from": 0, "to": 100 * start / full, "text": guess_text(configuration, said)},),
            "engine": ({"from": 0, "to": 100 * exact / full, "text": engine_text(exact, found)},) if told else (),
            "dots": tuple({"at": 100 * value / full} for _, value in found) if told else (),
            "gap": gap(said, exact, full) if told and said is not None else (),
            "book": ({"at": 100 * book / full, "text": book_text(book, exact)},) if told else (),
            "waiting": () if told else ({"text": "PyTorch's bar and the textbook's ◇ open with the reveal"},),
            "kinds": tuple(kinds(configuration)) if told else (),
            "closed": () if told else ({"text": "opens with the reveal"},),
        },
        headline=live.Figure("PyTorch keeps", *size(exact).split())
        if told
        else live.Figure("Kept, by your count", *size(start).split()),
        summary=f"{configuration.label}: PyTorch keeps {size(exact)}, the textbook counts {size(book)}. "
        f"{measured_words(found)}."
        if told
        else f"{configuration.label}: what you tapped comes to {size(start)}, "
        f"{size(given(configuration))} of it outside the blocks.",
        tables={
            "block": block_table(configuration, state, told=told),
            "tensors": tensors_table(configuration) if told else closed_table(),
            **({"count": count_table(configuration, found)} if told else {}),
        },
    )


def yours(configuration: Configuration, state: live.State) -> float | None:
    """Bytes that the reader says are kept: the prediction, or elsewhere the same boxes; None for none."""
    number = state.held if state.prediction is None else state.prediction
    if configuration == HUNTED:
        return None if number is None else float(number) * SCALE
    tapped = [one for box, one in sizes(configuration).items() if state.controls[box]]
    return given(configuration) + sum(tapped) if tapped else None


def unit_of(configuration: Configuration) -> tuple[str, float]:
    """The unit of all boxes of a configuration, named above them: beside a box's name there is room for a number."""
    return ("GB", GB) if max(sizes(configuration).values()) >= 0.1 * GB else ("MB", 1e6)


def heads(configuration: Configuration) -> Iterator[live.Row]:
    """What the columns are called."""
    for column, half in enumerate(("Attention", "MLP")):
        yield {"column": column, "text": f"{half}, {unit_of(configuration)[0]}"}


def boxes(configuration: Configuration, state: live.State, *, told: bool) -> Iterator[live.Row]:
    """A row per box, column by column. The size gives way to the judgment that enters with the reveal."""
    for box, place in zip(BOXES, places(), strict=True):
        text = "" if told else f"{sizes(configuration)[box.name] / unit_of(configuration)[1]:,.2f}"
        yield {"box": box.name, **place, "label": box.label, "text": text, "tapped": bool(state.controls[box.name])}


def places() -> Iterator[dict[str, live.Value]]:
    """Where each box stands: its column, and its row from above."""
    seen: dict[str, int] = {}
    for box in BOXES:
        row = seen.setdefault(box.branch, 0)
        seen[box.branch] += 1
        yield {"column": 0 if box.branch == "attention" else 1, "row": row}


def judgments(configuration: Configuration, state: live.State) -> Iterator[live.Row]:
    """What became of each box, against what the reader said."""
    for box, place in zip(BOXES, places(), strict=True):
        held, tapped = kept_of(configuration)[box.name], bool(state.controls[box.name])
        name = ("found" if tapped else "missed") if held else ("wrong" if tapped else "dropped")
        amount = f"{held / unit_of(configuration)[1]:,.2f}"
        text = {"found": f"✓ {amount}", "missed": f"+ {amount}", "wrong": "✗", "dropped": "–"}[name]
        yield {"box": box.name, **place, "state": name, "text": text, "kept": bool(held), "found": name == "found"}


def guess_text(configuration: Configuration, said: float | None) -> str:
    """The reader's bar in words."""
    outside = size(given(configuration))
    return f"your bar: {outside} outside the blocks, and what you tap" if said is None else f"you {size(said)}"


def engine_text(exact: int, found: list[tuple[live.MeasuredRecord, float]]) -> str:
    """The engine's bar in words, with what was measured."""
    if not found:
        return f"PyTorch, by its list of tensors {size(exact)}"
    record, value = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"PyTorch {size(exact)}; measured ● {size(value)} ({record.title}{more})"


def book_text(book: int, exact: int) -> str:
    """The textbook's mark in words."""
    return f"textbook ◇ {size(book)}; kept is {exact / book:.2f} times that"


def gap(said: float, exact: int, full: float) -> tuple[live.Row, ...]:
    """From the reader's bar to the engine's."""
    far = abs(said - exact)
    text = "right" if far < 0.005 * exact else f"{size(far)} {'short' if said < exact else 'too much'}"
    edges = sorted((100 * said / full, 100 * exact / full))
    return ({"from": edges[0], "to": edges[1], "text": text},)


def measured_words(found: list[tuple[live.MeasuredRecord, float]]) -> str:
    """The measurement in words, or that there is none."""
    if not found:
        return "Not measured yet"
    record, value = found[0]
    return f"Measured ● {size(value)} ({record.title})"


def kinds(configuration: Configuration) -> Iterator[live.Row]:
    """A bar per kind of tensor, in percent of what is kept."""
    for name, share in shares(configuration).items():
        text = f"{written(configuration)[name]}, {share:.0f} %"
        yield {"kind": name, "share": share, "title": GROUPS[name], "text": text}
