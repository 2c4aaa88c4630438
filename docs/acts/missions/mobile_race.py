"""Mobile Nomad, part 2: the display has the memory bus. The facts."""

from __future__ import annotations

from .facts import Dial, Lever, Race, Setting, Stages
from .mobile import AUDIT, GLASSES, LEARNER, WORK
from .small import traffic

SCOPE = LEARNER.scopes["last"]
OPTIMIZER = "adam"
"""As in the best setting of part 1."""
CORES = 4
"""Of the processor, and of the GPU."""
PER_CORE = GLASSES.peak("fp32") / CORES
"""FLOPs per second of a GPU core: the peak on record is that of all four."""
PASSES = 12
DISPLAY = 60 * 2 * 1920 * 1080 * 4.0 * PASSES
"""Bytes a second of camera and display: two eyes at 60 frames a second, read or written twelve times between camera and
panel. The passes are an assumption."""
PRECISIONS = {"fp32": "fp32", "fp16": "mixed", "int8": "int8"}
AUGMENT = {"none": 0.01, "light": 0.12, "relight": 0.6}
"""Seconds of a small core for a frame: an assumption."""
IDLE, CORE_WATTS, GPU_WATTS, WATTS_PER_BYTE = 0.1, 0.03, 0.2, 40e-12
"""Watts of what always runs, of a processor core, of a GPU core, and joules for a byte of LPDDR4X; assumptions. With
four GPU cores at work they are nearly the watt of the chip's record."""
POWER = GLASSES.tdp
TOO_COARSE = "Gradients in 8-bit integers round to nothing: the filter stays as it was."
SAME_LIGHT = "The frames of one evening show one light. Without changing them the filter learns that and no other."
HOT = f"More than {POWER:g} W beside the temple is too warm to wear."


def stages(setting: Setting) -> Stages:
    """Everything overlaps; GPU and display share the memory."""
    gpu, workers, batch = int(setting["devices"]), int(setting["workers"]), int(setting["batch"])
    moved = traffic(LEARNER, SCOPE, OPTIMIZER, PRECISIONS[str(setting["numbers"])], batch) / batch
    fed = workers / AUGMENT[str(setting["augmentation"])]
    bus = (GLASSES.bandwidth - DISPLAY) / moved
    compute = gpu * PER_CORE * WORK.reached(batch) / SCOPE.flops
    rate = min(fed, bus, compute)
    watts = IDLE + workers * CORE_WATTS + gpu * GPU_WATTS + rate * moved * WATTS_PER_BYTE
    refused = ""
    if setting["numbers"] == "int8":
        refused = TOO_COARSE
    elif setting["augmentation"] == "none":
        refused = SAME_LIGHT
    elif watts > POWER:
        refused = HOT
    return Stages(rate, {"data": rate / fed, "bus": rate / bus, "compute": rate / compute}, watts, refused)


RACE = Race(
    situation="The filter's last two blocks learn while the glasses are worn. Camera and display use the same memory "
    "and go first.",
    levers=(
        Dial("workers", "Processor cores", 1, CORES, 2),
        Dial("devices", "GPU cores", 1, 4, 2),
        Lever(
            "augmentation",
            "Augmentation",
            {"none": "None", "light": "Brightness", "relight": "New light sources"},
            "relight",
        ),
        Lever(
            "numbers",
            "Numbers in memory",
            {"fp32": "FP32", "fp16": "FP16", "int8": "INT8"},
            "fp32",
            "FP16 keeps an FP32 master copy.",
        ),
        Lever("batch", "Batch", {1: "1", 2: "2"}, 1, "Weights and Adam's vectors move once for the whole batch."),
    ),
    stages=stages,
    boxes={"data": "Processor", "bus": "Memory bus", "compute": "GPU"},
    change="Weights take 2 bytes, not 4, and what learns keeps an FP32 copy",
    after={"numbers": "fp16"},
    sample="frames",
    target=AUDIT.target / 2,
    period=(1.0, "per second"),
    worth=("frames per joule", 1.0),
    lesson="The display takes most of the bus. A step reads all weights once, and moves what learns ten times, with "
    "its gradient and Adam's vectors: at first a further GPU core waits for the same memory. Fewer bytes per number "
    "free the bus, and so does a second frame per step, which fills the GPU better too. Then the GPU is what the "
    "others wait for, and a third core is worth its watts.",
    sources="The glasses' rates are a phone's at one watt, with all four GPU cores; the share of its peak that a batch "
    "reaches, passes of the display, watts and times are assumed and stand in the mission's files.",
)
