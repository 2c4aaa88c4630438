"""Edge Guardian: a perception network, trained at night on the vehicle's Orin. The facts."""

from __future__ import annotations

from ironlaw import GB, accelerator
from ironlaw.networks import resnet50

from .facts import Account, Ask, Audit, Lever, Setting, switch
from .small import Network, Scope, Work, account

ORIN = accelerator("orin")
IMAGE = 640
NET = resnet50(IMAGE, 1000)
DRIVING = 24 * GB
"""Memory that the driving software keeps, also at night: the mission's."""
WORK = Work(efficiency=0.55, half=8)
"""Share of Orin's peak that convolutions reach, and the batch that reaches half of it: assumptions."""
KEPT = 2.0 * NET.convolution_outputs
RANGE = (
    "In pure FP16 the gradients are FP16 too, and most of this network's lie below its smallest number: they become "
    "zero, or a loss of NaN at 3 AM. Range fails here, not memory."
)
RECIPE = (
    "The certificate is for the recipe of the ResNet paper, SGD with momentum. Adam would be another recipe, and ask "
    "for another certificate."
)
FEW = 16
"""Images over which batch normalization still works as well as over 32: 23.7 % error against 23.6, and 24.8 over 8
(Wu and He, Group Normalization, arXiv 1803.08494, figure 1, ResNet-50)."""
NOISY = f"Batch normalization over fewer than {FEW} images has noisy statistics: over 8 the error rises by a point."
LEARNER = Network(
    NET.parameters,
    # Batch normalization keeps every convolution's result, so all are computed again: a third of training.
    {"all": Scope(NET.parameters, KEPT, float(NET.training_flops), 2_359_296, NET.training_flops / 3, KEPT / 4)},
    "orin",
    ORIN.usable_bytes - DRIVING,
)


def audit(setting: Setting) -> Account:
    """All of ResNet-50 learns."""
    precision, optimizer, batch = str(setting["precision"]), str(setting["optimizer"]), int(setting["batch"])
    refused = RANGE if precision == "fp16" else RECIPE if optimizer == "adam" else NOISY if batch < FEW else ""
    return account(
        LEARNER,
        scope="all",
        optimizer=optimizer,
        precision=precision,
        batch=batch,
        checkpointing=bool(setting["checkpointing"]),
        refused=refused,
    )


AUDIT = Audit(
    situation="Each night a car's Jetson Orin trains a ResNet-50 on 75 images a second. Driving keeps "
    f"{DRIVING / GB:g} GB of its memory. The certificate demands SGD with momentum.",
    ask=Ask(
        f"SGD with momentum in FP32, 16 images of {IMAGE} x {IMAGE}: how many GB does training need?",
        {"optimizer": "momentum", "precision": "fp32", "batch": 16, "checkpointing": False},
        ("weights", "gradients", "optimizer", "activations"),
        60,
        0.5,
    ),
    levers=(
        Lever("optimizer", "Optimizer", {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}, "adam"),
        Lever(
            "precision",
            "Precision",
            {"fp32": "FP32", "mixed": "Mixed", "fp16": "Pure FP16"},
            "fp16",
            "Mixed keeps an FP32 master copy and scales the loss.",
        ),
        Lever("batch", "Batch size", {size: str(size) for size in (8, 16, 32, 64, 128)}, 128),
        switch("checkpointing", "Gradient checkpointing", "Keeps a quarter and computes the rest again."),
    ),
    account=audit,
    unit=("GB", GB),
    tops=(10, 20, 50, 100),
    limit_name="Orin, less driving",
    sample="images per second at most",
    lesson="Four bytes or sixteen per parameter: with 25.6 million parameters it hardly matters. Activations fill this "
    "memory, and a smaller batch pays for them, down to where batch normalization has too few images. What "
    "fails at night is the range of FP16.",
    sources="Parameters and activations are counted from ResNet-50's layers; speed is the roofline of Orin's data "
    "sheet, the most that is possible; the quarter that checkpointing keeps is assumed. What a small batch does to "
    "batch normalization is Wu and He's figure for this network.",
    target=75.0,
)
