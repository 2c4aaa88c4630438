"""What Act 2 says of a prediction."""

from __future__ import annotations

from explorable import live

from .block import BOXES, kept_of
from .configurations import COMMAND, SOURCE_BATCH, Configuration, configuration_of, measured
from .counts import EXAMPLE, GROUPS, engine_count, gap_factor, kept, size, textbook
from .question import HUNTED, SCALE, UNIT
from .tables import tensors_table

TOLERANCE = 0.02
"""Share of the answer by which a prediction may miss it and be right: less than the smallest box."""


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about one configuration, wherever the instruments stand."""
    said, answer = float(prediction), engine_count(HUNTED) / SCALE
    right = abs(said - answer) <= TOLERANCE * answer
    forgotten = {name: size for name, size in kept(EXAMPLE).items() if name not in ("counted", "rest")}
    worst = sorted(forgotten, key=lambda name: forgotten[name], reverse=True)
    standard = Configuration("gpt2-xl", "amp-bf16", SOURCE_BATCH, 1024, "standard")
    return live.Verdict(
        correct=right,
        headline=gap(said, answer, right=right),
        paragraphs=(
            *hunted(state),
            "Every operation keeps what its own backward pass needs. A product needs its input, a norm its input, GELU "
            "its input. A sum needs nothing, so what it adds is dropped. A fused attention computes its scores again.",
            evidence(),
            f"And the textbook (◇)? For this model it counts {size(textbook(HUNTED))}, of which most is a flat 10 MB "
            f"per layer. For GPT-2 XL at batch {SOURCE_BATCH} it counts {size(textbook(EXAMPLE))}, and PyTorch keeps "
            f"{gap_factor(EXAMPLE):.1f} times that. Forgotten are: "
            + "; ".join(f"{GROUPS[name][0].lower()}{GROUPS[name][1:]} ({size(forgotten[name])})" for name in worst)
            + f". With attention written out it is {gap_factor(standard):.1f} times.",
        ),
        tables={"tensors": tensors_table(EXAMPLE)},
    )


def hunted(state: live.State) -> tuple[str, ...]:
    """How well the reader chose the boxes, one by one; nothing for a reader who only typed a number."""
    tapped = {box.name for box in BOXES if state.controls[box.name]}
    if not tapped:
        return ()
    held = {name for name, amount in kept_of(HUNTED).items() if amount}
    missed = [f"{box.label} ({box.place})" for box in BOXES if box.name in held - tapped]
    wrong = [f"{box.label} ({box.place})" for box in BOXES if box.name in tapped - held]
    return (
        f"You found {len(tapped & held)} of {len(held)}."
        + (f" Missed: {', '.join(missed)}." if missed else "")
        + (f" Dropped, though you kept it: {', '.join(wrong)}." if wrong else ""),
    )


def evidence() -> str:
    """What was measured on machines, compared with the engine's list."""
    checked = [
        float(one.values["memory.held.activations"] or 0) / engine_count(configuration_of(one))
        for records in measured().values()
        for one in records
    ]
    if not checked:
        return f"The engine's count is not measured yet. {COMMAND} measures it on a GPU, and this page will show it."
    return (
        f"Is that list true? {len(checked)} {'records' if len(checked) > 1 else 'record'} in this repository let us "
        f"ask PyTorch: the machine held {machine(checked)}."
    )


def machine(ratios: list[float]) -> str:
    """What machines held over what the engine says: a range, or that there is no difference to be seen."""
    low, high = f"{min(ratios):.3f}", f"{max(ratios):.3f}"
    if low != high:
        return f"between {low} and {high} times what the engine says"
    return "what the engine says, to a tenth of a percent" if low == "1.000" else f"{low} times what the engine says"


def gap(said: float, answer: float, *, right: bool) -> str:
    """The distance between prediction and answer."""
    start, truth = f"You said {said:.12g} {UNIT}", f"PyTorch keeps {answer:.2f} {UNIT}"
    if right:
        return f"{start}, and that is right: {truth}, what each operation needs for its own backward pass."
    far = f"{abs(said - answer):.2f} {UNIT}"
    return f"{start}. {truth}: {far} {'more' if said < answer else 'less'}."
