"""Edge Guardian, part 2: weak cores decode and augment what the GPU waits for. The facts."""

from __future__ import annotations

from ironlaw import link
from ironlaw.hardware import storage

from .edge import IMAGE, NET, ORIN, WORK
from .facts import Dial, Lever, Race, Setting, Stages

CORES = 12
"""Of the Jetson AGX Orin, Arm Cortex-A78AE."""
PIXELS_PER_CORE = 68e6
"""JPEG pixels a second of one thread, 1.32 ms for 300 x 300: torchvision's pull request 2786. Of an A78 none is
published."""
CAMERA = 1920 * 1080
STORED = {
    "full": (CAMERA, 0.25 * CAMERA),
    "small": (IMAGE * IMAGE, 0.25 * IMAGE * IMAGE),
    "raw": (0, 3.0 * IMAGE * IMAGE),
}
"""Pixels to decode and bytes to read, by the way images are stored. A quarter of a byte per pixel of JPEG."""
AUGMENT = {"none": 0.0, "light": 0.004, "weather": 0.02}
"""Seconds of a core for an image: an assumption."""
DISK = storage("nvme-3")
BETWEEN = link("ethernet-10")
BATCH = 64
GPU_RATE = WORK.reached(BATCH) * ORIN.peak("fp16") / NET.training_flops
CORE_WATTS = 2.0
"""An assumption."""
NIGHT_IMAGES, NIGHT_SECONDS = 2_300_000, 7 * 3600
DISK_BYTES = 2e12
NO_WEATHER = "A network that never saw rain fails in the first shower: the certificate asks for light and rain."
DISK_FULL = f"A night's images would need more than the {DISK_BYTES / 1e12:.0f} TB of the car's disk."
SAFETY = f"The safety loop keeps 2 of {CORES} cores for itself. Its 10 ms are the mission."


def stages(setting: Setting) -> Stages:
    """Everything overlaps: the slowest stage is the pipeline's rate."""
    devices, workers = int(setting["devices"]), int(setting["workers"])
    pixels, stored = STORED[str(setting["format"])]
    cores = min(workers, CORES)
    fed = cores / (pixels / PIXELS_PER_CORE + AUGMENT[str(setting["augmentation"])] + 0.0005)
    # The second Orin lends its GPU: half of the images go there by cable, and gradients go both ways.
    sent = 3.0 * IMAGE * IMAGE / 2 + 2.0 * NET.parameters * 2 / BATCH
    exchange = sent / BETWEEN.achievable if devices > 1 else 0.0
    bus = 1 / (stored / DISK.sequential + exchange)
    compute = devices * GPU_RATE
    rate = min(fed, bus, compute)
    busy = {"data": rate / fed, "bus": rate / bus, "compute": rate / compute}
    refused = ""
    if setting["augmentation"] != "weather":
        refused = NO_WEATHER
    elif stored * NIGHT_IMAGES > DISK_BYTES:
        refused = DISK_FULL
    elif workers > CORES - 2:
        refused = SAFETY
    return Stages(rate, busy, devices * ORIN.tdp + cores * CORE_WATTS, refused)


RACE = Race(
    situation=f"Seven hours in the garage, {NIGHT_IMAGES / 1e6:.1f} million images, and a GPU that waits most of the "
    "night. The supplier offers a second one.",
    levers=(
        Dial("workers", "Loader processes", 1, CORES, 1),
        Dial(
            "devices", "GPUs", 1, 2, 1, help="The second gets half the images, and both exchange gradients, by cable."
        ),
        Lever(
            "augmentation",
            "Augmentation",
            {"none": "None", "light": "Light", "weather": "Light and rain"},
            "weather",
            "What an image is changed by before the network sees it.",
        ),
        Lever(
            "format",
            "Images stored as",
            {"full": "Camera JPEG", "small": f"JPEG {IMAGE} x {IMAGE}", "raw": "Raw pixels"},
            "full",
        ),
    ),
    stages=stages,
    boxes={"data": "Cores", "bus": "Disk + network", "compute": "GPU"},
    change="One GPU becomes two, and the cores stay",
    after={"devices": 2},
    sample="images",
    target=NIGHT_IMAGES / NIGHT_SECONDS,
    period=(1.0, "per second"),
    worth=("images per joule", 1.0),
    lesson="The cores decoded five times the pixels that the network sees: those of a camera's JPEG. Storing images as "
    "small as they are used ends that, and then the GPU never waits.",
    sources="Cores and disk are counted from published rates on other processors; of Orin's GPU half the peak is "
    "assumed, as in part 3, because nobody has published its training. An augmentation's seconds and a core's watts "
    "are assumed.",
)
