"""Mobile Nomad: AR glasses adapt their filter to new lighting. The facts."""

from __future__ import annotations

from ironlaw import accelerator
from ironlaw.networks import vit_base

from .facts import Account, Ask, Audit, Lever, Setting, switch
from .small import Network, Scope, Work, account

MB = 1e6
GLASSES = accelerator("glasses")
VIT = vit_base()
RANK = 8
ADAPTERS = VIT.blocks * 2 * RANK * 2 * VIT.hidden
"""Two low-rank pairs in each block, beside queries and values. Source: Hu et al. 2021, LoRA, arXiv 2106.09685."""
LAST = 2
"""Blocks that learn when the others are frozen."""
WORK = Work(efficiency=0.8, half=1)
"""Share of the peak that the GPU reaches, by its batch: an assumption. One image is 197 tokens, and already fills much
of so small a GPU."""
KEPT = float(VIT.blocks * VIT.block_kept)
HEAD_REFUSED = (
    "New light changes what the first layers see. A classifier alone cannot bring back what they lost: the mission "
    "asks for weights inside the blocks to learn."
)
FORWARD = float(VIT.forward_flops)
AGAIN = float(VIT.block_flops - 8 * VIT.tokens * VIT.hidden**2)
"""FLOPs of a block that checkpointing computes again: all but its last product, whose input is all that backward needs
(PyTorch's `use_reentrant=False`; the engine's `recomputed`)."""
FROZEN = 11 / 16
"""Of a block's kept elements, those that stay where its products are frozen and need not keep their inputs: inputs of
both norms and of the adapters, queries, keys, values, attention's result, and the four-fold input of the activation
function. The engine's tensors of GPT-2 with LoRA add up to it."""
INPUT = 1 / 16
"""Of a block's kept elements, its input: what checkpointing keeps of every block, beside one whole block."""
LEARNER = Network(
    VIT.parameters,
    {
        "all": Scope(
            VIT.parameters,
            KEPT,
            3 * FORWARD,
            4 * VIT.hidden**2,
            again=VIT.blocks * AGAIN,
            left=KEPT * (INPUT + 1 / VIT.blocks),
        ),
        "last": Scope(
            LAST * VIT.block_parameters,
            KEPT * LAST / VIT.blocks,
            FORWARD * (1 + 2 * LAST / VIT.blocks),
            4 * VIT.hidden**2,
            again=LAST * AGAIN,
            left=KEPT * (INPUT * LAST + 1) / VIT.blocks,
            passed=VIT.head_parameters,
        ),
        # Gradients pass through every block, and none of its weights has one.
        "adapters": Scope(
            ADAPTERS,
            KEPT * FROZEN,
            2 * FORWARD,
            RANK * VIT.hidden,
            again=VIT.blocks * AGAIN,
            left=KEPT * (INPUT + FROZEN / VIT.blocks),
            added=ADAPTERS,
            passed=VIT.parameters,
        ),
        # The blocks keep nothing, so that there is nothing to compute again.
        "head": Scope(VIT.head_parameters, float(VIT.hidden), FORWARD, VIT.head_parameters, refused=HEAD_REFUSED),
    },
    "glasses",
    float(GLASSES.memory_bytes),
)


def audit(setting: Setting) -> Account:
    """The part of the filter that learns."""
    return account(
        LEARNER,
        scope=str(setting["scope"]),
        optimizer=str(setting["optimizer"]),
        precision=str(setting["precision"]),
        batch=int(setting["batch"]),
        checkpointing=bool(setting["checkpointing"]),
        in_backward=bool(setting["in_backward"]),
    )


AUDIT = Audit(
    situation="Translating glasses see badly under street lamps, so their filter, a ViT-B/16, must adapt on them. "
    "All programs have 512 MB; needed are 4 images a second at the chip's peak, of which training reaches half.",
    ask=Ask(
        f"All {VIT.parameters / 1e6:.0f} million parameters learn in FP32. Adam's state alone: how many % of the "
        "512 MB?",
        {
            "optimizer": "adam",
            "precision": "fp32",
            "scope": "all",
            "batch": 1,
            "checkpointing": False,
            "in_backward": False,
        },
        ("optimizer",),
        400,
        5,
        ("%", 0.01, "of 512 MB"),
        (("weights",), ("weights", "gradients", "optimizer", "activations")),
    ),
    levers=(
        Lever(
            "optimizer",
            "Optimizer",
            {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam", "adam8": "Adam, 8-bit"},
            "adam",
        ),
        Lever("precision", "Precision", {"fp32": "FP32", "mixed": "Mixed"}, "fp32", "Mixed keeps an FP32 master copy."),
        Lever(
            "scope",
            "What learns",
            {"all": "Everything", "last": f"Last {LAST} blocks", "adapters": "Adapters", "head": "Classifier"},
            "all",
            f"Adapters: low-rank pairs of rank {RANK} beside the frozen weights of every block.",
        ),
        Lever("batch", "Batch size", {size: str(size) for size in (1, 2, 4, 8)}, 1),
        switch("checkpointing", "Gradient checkpointing", "Keeps the input of each block."),
        switch("in_backward", "Update during backward", "Frees each gradient as soon as it was used."),
    ),
    account=audit,
    unit=("MB", MB),
    tops=(600, 1200, 2500, 5000),
    limit_name="the glasses",
    sample="images per second at most",
    lesson="Where everything learns, Adam's two vectors alone exceed the glasses. Checkpointing shrinks what is not "
    "the problem. What helps is to let fewer weights learn: then gradients and states shrink with them.",
    sources="Nobody publishes the rates of a chip for AR glasses. These are a phone's at one watt of its eight: the "
    "order is right, the second digit means nothing. Memory is exact arithmetic.",
    target=4.0,
)
