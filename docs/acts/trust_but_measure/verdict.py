"""What Act 3 says of a prediction."""

from __future__ import annotations

from plugins import live

from .configurations import COMMAND, SOURCE_BATCH, Configuration, configuration_of, measured
from .counts import EXAMPLE, GROUPS, engine_count, gap_factor, kept, size, textbook
from .tables import tensors_table

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
        f"{len(checked)} records in this repository let us check the engine: the machine held {held(checked)}."
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


def held(ratios: list[float]) -> str:
    """What machines held over what the engine says: a range, or that there is no difference to be seen."""
    low, high = f"{min(ratios):.3f}", f"{max(ratios):.3f}"
    if low != high:
        return f"between {low} and {high} times what the engine says"
    return "what the engine says, to a tenth of a percent" if low == "1.000" else f"{low} times what the engine says"


def gap(said: float, answer: float) -> str:
    """The distance between prediction and answer, as a factor."""
    start, truth = f"You said {said:g} ×", f"PyTorch keeps {answer:.2f} times what the textbook counts"
    if said and max(said / answer, answer / said) <= TOLERANCE:
        return f"{start}, and that is close: {truth}."
    if not said:
        return f"{start}. In fact {truth}."
    factor = max(said / answer, answer / said)
    if said < answer:
        return f"{start}. In fact {truth}, and that is {factor:.1f} times what you said."
    return f"{start}. In fact {truth}: what you said is {factor:.1f} times that."
