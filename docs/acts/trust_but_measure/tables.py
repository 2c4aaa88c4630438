"""The numbers behind the charts of Act 2."""

from __future__ import annotations

from explorable import live

from .block import BOXES, kept_of, sizes
from .configurations import COMMAND, Configuration
from .counts import GROUPS, engine_count, shares, size, textbook, written


def block_table(configuration: Configuration, state: live.State, *, told: bool) -> live.Table:
    """Every tensor of a block, in all blocks together: its size, what the reader says, and what PyTorch does."""
    kept = kept_of(configuration)
    rows = [
        live.row(
            f"{box.label} ({box.place})",
            size(sizes(configuration)[box.name]),
            "kept" if state.controls[box.name] else "–",
            ("kept" if kept[box.name] else "dropped") if told else "?",
        )
        for box in BOXES
    ]
    return live.Table(
        f"The tensors of all blocks: {configuration.label}",
        (
            live.Column("a", "Tensor"),
            live.Column("b", "Size", numeric=True),
            live.Column("c", "You"),
            live.Column("d", "PyTorch"),
        ),
        rows,
    )


def closed_table() -> live.Table:
    """Shown in place of tables that would give the answer away."""
    return live.Table("Opens with the reveal.", (live.Column("a", "Closed until then"),), [{"a": "?"}])


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
    part = shares(configuration)
    rows = [
        {
            "a": GROUPS[name],
            "b": text,
            "c": f"{part[name]:.1f}",
            "d": "yes" if name == "counted" else "10 MB per layer" if name == "rest" else "no",
        }
        for name, text in written(configuration).items()
    ]
    return live.Table(
        "What PyTorch keeps, by kind of tensor",
        (
            live.Column("a", "Tensors"),
            live.Column("b", "Kept", numeric=True),
            live.Column("c", "Share", "%", numeric=True),
            live.Column("d", "In the textbook's count"),
        ),
        [*rows, {"a": "All", "b": size(engine_count(configuration)), "c": "100.0", "d": ""}],
    )
