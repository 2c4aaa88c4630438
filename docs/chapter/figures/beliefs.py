"""What is often said beside what the engine computes, each as a factor."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator, model, step_time, training_memory
from ironlaw.graph import count_operations


def pairs() -> list[tuple[str, float, float]]:
    """What is compared, as a factor: the belief, and the engine's answer."""
    network = model("gpt2-xl")
    count = count_operations(network, 8, 1024, attention="flash", checkpointing="full")
    kept = count_operations(network, 8, 1024, attention="flash")
    old, new = (accelerator(name) for name in ("a100-80", "h100-sxm"))
    steps = [step_time(network, card, 8, 1024, precision="amp-bf16").total for card in (old, new)]
    memory = [
        training_memory(network, precision=mode, batch=8, sequence=1024).total_bytes for mode in ("fp32", "amp-bf16")
    ]
    odd = [step_time(model("gpt2-xl"), new, batch, 1024, precision="amp-bf16").total for batch in (32, 33)]
    return [
        ("step / forward pass", 2.0, (count.forward + count.backward) / count.forward),
        ("FLOPs, checkpointing", 4 / 3, 1 + (count.hardware - kept.hardware) / count.model),
        ("memory, FP32 / BF16", 2.0, memory[0] / memory[1]),
        ("time, batch 33 / 32", 2.0, odd[1] / odd[0]),
        ("speed, H100 / A100", new.peak("bf16") / old.peak("bf16"), steps[0] / steps[1]),
    ]


def draw() -> Drawing:
    """A hollow diamond for the belief, a dot for the computed value, a line between them."""
    rows = pairs()
    figure, axes = canvas(2.6)
    for place, (_, said, computed) in enumerate(rows):
        axes.plot([said, computed], [place, place], color=INK["control"], linewidth=1.2, zorder=1)
    places = range(len(rows))
    style = {"facecolor": INK["bg"], "edgecolor": INK["limit"], "linewidths": 1.5, "s": 44}
    axes.scatter([said for _, said, _ in rows], places, marker="D", label="often said", **style)  # type: ignore[arg-type]
    axes.scatter([value for *_, value in rows], places, color=INK["compute"], s=44, label="computed")
    axes.set_yticks(list(places), [name for name, *_ in rows])
    axes.set_xlim(0.9, 3.4)
    axes.set_xticks([1, 1.5, 2, 2.5, 3], ["1×", "1.5×", "2×", "2.5×", "3×"])
    axes.set_xlabel("factor")
    axes.invert_yaxis()
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    listed = "; ".join(f"{name}: said {said:.3g}, computed {value:.3g}" for name, said, value in rows)
    return Drawing(figure, f"What is often said beside what the engine computes, as factors. {listed}.")
