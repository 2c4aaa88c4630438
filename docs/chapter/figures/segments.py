"""What checkpointing keeps by the length of a segment: the textbook's blocks, and those of a transformer."""

from engine import model, training_memory
from engine.graph import alive_tensors, sqrt_placement
from plugins.book.drawing import Drawing, canvas
from plugins.shared.svg import INK

LAYERS = model("gpt2-xl").layers
LENGTHS = tuple(every for every in range(1, LAYERS + 1) if LAYERS % every == 0)
MODE = "amp-bf16"


def block_tensors() -> float:
    """What a block of GPT-2 XL keeps, over the size of its input."""
    kept, inputs = (
        training_memory("gpt2-xl", precision=MODE, checkpointing=policy).bytes_by_part("activations")["block"]
        for policy in ("none", "full")
    )
    return kept / inputs


def draw() -> Drawing:
    """Two curves, each with its lowest point marked."""
    figure, axes = canvas(2.6)
    said = []
    blocks = {
        1.0: ("a block keeps one tensor", "control", "--", "s"),
        block_tensors(): (f"GPT-2 XL's keeps {block_tensors():.0f}", "memory", "-", "o"),
    }
    for kept, (title, ink, line, marker) in blocks.items():
        alive = [alive_tensors(LAYERS, every, kept) for every in LENGTHS]
        axes.plot(LENGTHS, alive, color=INK[ink], linestyle=line, marker=marker, markersize=4, label=title)
        best = sqrt_placement(LAYERS, kept)
        axes.plot(
            [best], [alive_tensors(LAYERS, best, kept)], "o", color=INK["compute"], markersize=10, fillstyle="none"
        )
        said.append(f"{title}: least at {best}, {alive_tensors(LAYERS, best, kept):.0f} tensors")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(LENGTHS, [str(every) for every in LENGTHS])
    axes.set_yticks([10, 30, 100, 300], ["10", "30", "100", "300"])
    axes.minorticks_off()
    axes.set_xlabel("blocks in a segment")
    axes.set_ylabel("tensors alive at most")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    return Drawing(figure, f"Two curves over the length of a segment, of {LAYERS} blocks. {'; '.join(said)}.")
