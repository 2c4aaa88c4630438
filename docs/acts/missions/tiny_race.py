"""Tiny Pioneer, part 2: every wake-up has a fixed cost, whether there is much to do or little. The facts."""

from __future__ import annotations

from .facts import Dial, Lever, Race, Setting, Stages
from .tiny import CHIP, GAINS, KIB, RADIO, RADIO_RATE, WORK, network

FRAMES = 50
SCOPE = network(FRAMES).scopes["gains"]
WORD_SECONDS, PAGE_SECONDS, PAGE_BYTES = 41e-6, 85e-3, 4096
"""Of flash: writing a word, erasing a page. Source: nRF52840 product specification, non-volatile memory controller."""
FLASH = GAINS * WORD_SECONDS + -(-GAINS * 4 // PAGE_BYTES) * PAGE_SECONDS
"""Seconds to write what was learned; the processor stands still meanwhile."""
EXCHANGE = 4 * GAINS / RADIO_RATE + RADIO.latency
"""Seconds in which an ear sends what it learned, over what sound leaves of the radio. They do it in turn."""
FEATURES = 40e3 * FRAMES
"""Operations that make features of a window's sound: an assumption, a quarter of the network's."""
AUGMENT = {"none": 0.0, "noise": 3e6, "reverb": 20e6}
"""Operations for a window: an assumption."""
WINDOW_SECONDS = FRAMES / 100
WINDOW_BYTES = FRAMES * 42 * 4
SRAM_LEFT = 136 * KIB
"""Bytes of SRAM that the best setting of part 1 leaves."""
SLEEP_WATTS = 10e-6
BUDGET = 1e-3
AWAKE = (BUDGET - SLEEP_WATTS) / CHIP.tdp
"""Share of the time in which the chip may be awake."""
ALONE = "With nothing but its own recordings the layer learns the silence of one room: the mission asks for noise."
NO_ROOM = "So many windows do not fit beside the running product."


def stages(setting: Setting) -> Stages:
    """One core does everything in turn. At 1 mW it sleeps most of the time, and wakes for some windows at a time."""
    ears, workers, windows = (int(setting[name]) for name in ("devices", "workers", "windows"))
    core = CHIP.peak("fp32") * WORK.reached(1)
    learn = SCOPE.flops / core
    prepare = (FEATURES + AUGMENT[str(setting["augmentation"])]) / core
    # With one buffer the processor waits awake while a window is recorded; with two it sleeps or learns meanwhile.
    waiting = WINDOW_SECONDS if workers == 1 else 0.0
    fixed = FLASH + (ears * EXCHANGE if ears > 1 else 0.0)
    awake = learn + prepare + waiting + fixed / windows
    rate = ears * AWAKE / awake
    busy = {"data": (prepare + waiting) / awake, "bus": fixed / windows / awake, "compute": learn / awake}
    refused = ""
    if setting["augmentation"] == "none":
        refused = ALONE
    elif (windows + workers - 1) * WINDOW_BYTES > SRAM_LEFT:
        refused = NO_ROOM
    return Stages(rate, busy, ears * BUDGET, refused)


RACE = Race(
    situation=f"On 1 mW the chip is awake {AWAKE * 60:.1f} minutes an hour: its output layer "
    "learns from half a second of sound, then writes flash.",
    levers=(
        Dial("workers", "Sound buffers", 1, 4, 1, help="Filled by the direct memory access unit, without the core."),
        Dial(
            "devices", "Ears that learn", 1, 2, 1, help="Two exchange what they learned, over a twentieth of Bluetooth."
        ),
        Lever(
            "augmentation",
            "Sounds mixed in",
            {"none": "None", "noise": "Noise", "reverb": "Noise and echo"},
            "reverb",
        ),
        Lever(
            "windows",
            "Windows per wake-up",
            {size: str(size) for size in (1, 2, 4, 8, 16, 32)},
            1,
            "One after the other, each a batch of one, before the layer is written.",
        ),
    ),
    stages=stages,
    boxes={"data": "Sound", "bus": "Flash + radio", "compute": "Core"},
    change="A second sound buffer fills while the core learns",
    after={"workers": 2},
    sample="windows",
    target=600 / 3600,
    period=(3600.0, "per hour"),
    worth=("windows per millijoule", 1e-3),
    lesson="Waiting for sound with the core awake, and writing flash after every window, cost more than learning does. "
    "Two buffers end the first; several windows per wake-up divide the second. A second ear would learn as much again, "
    "and spend most of that on the exchange: a quarter more windows for twice the charge. No larger batch is needed.",
    sources="Flash and power are the data sheet's; operations for features and sounds, and the share of its peak that "
    "the core reaches, are assumed. Sound leaves a twentieth of the radio.",
    turns="The stages take turns, and each costs its time; the most goes to:",
    awake=" awake",
)
