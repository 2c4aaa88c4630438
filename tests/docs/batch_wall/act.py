"""The batch wall: how large a batch of GPT-2 fits on a 24 GB card?"""

from explorable import live
from ironlaw import GB, accelerator, training_memory

CARD = accelerator("rtx-4090")
BATCHES = (8, 16, 32, 64)


def need(batch: int, precision: str = "fp32") -> int:
    """Bytes of training GPT-2 with Adam."""
    return training_memory("gpt2", optimizer="adam", precision=precision, batch=batch).total_bytes


def largest() -> int:
    """The largest of the offered batches that fits in FP32: the answer to the question."""
    return max(batch for batch in BATCHES if need(batch) <= CARD.memory_bytes)


def compute(state: live.State) -> live.View:
    """One bar per batch, against the card; until the reveal only the smallest, which gives no answer away."""
    precision = str(state.controls["precision"])
    needs = {batch: need(batch, precision) for batch in (BATCHES if state.revealed else BATCHES[:1])}
    cells = [{"batch": str(batch), "gb": f"{size / GB:.1f}"} for batch, size in needs.items()]
    fits = sum(size <= CARD.memory_bytes for size in needs.values())
    return live.View(
        data={
            "bars": [{"batch": str(batch), "gb": size / GB} for batch, size in needs.items()],
            "limit": [{"gb": CARD.memory_bytes / GB}],
        },
        headline=live.Figure("Batches that fit", f"{fits} of {len(needs)}", ""),
        summary="Memory by batch: " + ", ".join(f"batch {cell['batch']} {cell['gb']} GB" for cell in cells),
        tables={
            "wall": live.Table(
                "Memory by batch",
                (live.Column("batch", "Batch", numeric=True), live.Column("gb", "Memory", "GB", numeric=True)),
                cells,
            )
        },
    )


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """Say how far off the prediction is."""
    right = prediction == largest()
    said = f"You said batch {prediction}: {need(int(prediction)) / GB:.1f} GB in FP32."
    return live.Verdict(right, said, (f"The largest that fits is {largest()}, with {need(largest()) / GB:.1f} GB.",))


ACT = live.Act(
    name="batch-wall",
    title="The Batch Wall",
    minutes=3,
    situation="You train the smallest GPT-2 with Adam on a 24 GB card. You want the largest batch that fits.",
    contexts=(live.Context("card", CARD.title, "One card, nothing else running."),),
    question=live.ChoiceQuestion(
        "Which is the largest batch that fits in FP32?",
        tuple(live.Option(batch, f"Batch {batch}") for batch in BATCHES),
        "sequences",
        answer=largest,
    ),
    controls=(
        live.Choice(
            "precision", "Precision", (live.ControlOption("fp32", "FP32"), live.ControlOption("mixed", "Mixed")), "fp32"
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={"wall": "Training memory by batch"},
)
