"""The sentence to complete at the end of Act 2."""

from __future__ import annotations

from explorable import live
from ironlaw.memory.textbook import LAYER_NORM_BYTES

from .configurations import configurations
from .counts import kept

SHARES = {"little": 50, "half": 65, "most": 80, "nearly": 100}
"""Upper ends, in percent, of the ranges that the second blank offers."""


def missed(state: live.State) -> dict[str, live.Value | tuple[live.Value, ...]]:
    """The largest kind of tensor that the textbook forgets, and the share of all it forgets, as configured."""
    sizes = kept(configurations()[str(state.controls["configuration"])])
    forgotten = {name: amount for name, amount in sizes.items() if name not in ("counted", "rest")}
    share = 100 * sum(forgotten.values()) / sum(sizes.values())
    return {
        "kind": tuple(name for name, size in forgotten.items() if size == max(forgotten.values())),
        "share": next(name for name, end in SHARES.items() if share <= end),
        "why": "backward",
    }


REFLECTION = live.Reflection(
    "missed",
    "The textbook counts five tensors of each layer: queries, keys, values, attention's result and one of the MLP. It "
    f"adds {LAYER_NORM_BYTES / 1e6:.0f} MB per layer for the norms. "
    "In your configuration the largest kind of tensor that the textbook forgets is {kind}. All that the textbook "
    "forgets makes {share} of what is kept, because {why}.",
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
            (
                live.Option("little", "less than 50 %", "Then the textbook would count more than it forgets."),
                live.Option(
                    "half",
                    "50 to 65 %",
                    "That takes a loss that keeps little beside residuals, inputs of products, GELU.",
                ),
                live.Option(
                    "most",
                    "65 to 80 %",
                    "That takes a loss that keeps much: few layers, and many words to choose from.",
                ),
                live.Option(
                    "nearly", "more than 80 %", "That takes scores that are stored, one for each pair of tokens."
                ),
            ),
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
