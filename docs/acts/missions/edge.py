"""Edge Guardian: a perception network, trained at night on the vehicle's Orin. The facts."""

from __future__ import annotations

from engine import GB, accelerator
from engine.networks import resnet50

from .facts import Account, Audit, Lever, Setting, switch
from .small import Network, Scope, account

ORIN = accelerator("orin")
IMAGE = 640
NET = resnet50(IMAGE, 1000)
DRIVING = 24 * GB
"""Memory that the driving software keeps, also at night: the mission's."""
KEPT = 2.0 * NET.convolution_outputs
RANGE = (
    "In pure FP16 the gradients are FP16 too, and most of this network's lie below its smallest number: they become "
    "zero, or a loss of NaN at 3 AM. Range fails here, not memory."
)
RECIPE = (
    "The certificate is for the recipe of the ResNet paper, SGD with momentum. Adam would be another recipe, and ask "
    "for another certificate."
)
LEARNER = Network(
    NET.parameters,
    {"all": Scope(NET.parameters, KEPT, float(NET.training_flops), 2_359_296)},
    "orin",
    ORIN.usable_bytes - DRIVING,
    checkpoint_share=0.25,
)


def audit(setting: Setting) -> Account:
    """All of ResNet-50 learns."""
    precision, optimizer = str(setting["precision"]), str(setting["optimizer"])
    refused = RANGE if precision == "fp16" else RECIPE if optimizer == "adam" else ""
    return account(
        LEARNER,
        scope="all",
        optimizer=optimizer,
        precision=precision,
        batch=int(setting["batch"]),
        checkpointing=bool(setting["checkpointing"]),
        refused=refused,
    )


AUDIT = Audit(
    situation="Each night a car's Jetson Orin trains a ResNet-50 on camera images. CPU and GPU share one memory; "
    f"driving keeps {DRIVING / GB:g} GB. The safety certificate demands SGD with momentum, and a finite loss.",
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
    "memory, and a smaller batch pays for them. What fails at night is the range of FP16.",
    sources="Parameters and activations are counted from ResNet-50's layers; speed is the roofline of Orin's data "
    "sheet, the most that is possible.",
)
