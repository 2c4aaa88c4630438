"""Cloud Titan, part 2: text is small; what the cluster waits for is its own checkpoints. The facts."""

from __future__ import annotations

from functools import cache
from math import log, sqrt

from ironlaw import estimate, setup
from ironlaw.economics import failure_overhead, time_between_failures
from ironlaw.hardware import storage

from .cloud import GPU, MODEL, SEQUENCE, UPDATE
from .facts import Dial, Lever, Race, Setting, Stages

BATCH_TOKENS = 2**22
"""Tokens of an update, whatever the number of GPUs: the mission's. Llama 3 trained at 4 million to begin with."""
STATE = 14.0 * MODEL.parameters
"""Bytes of a checkpoint: 16-bit weights, FP32 master copy, Adam's two vectors."""
STORE = storage("network-100g")
TOKENS_PER_CORE = 400e3
"""Tokens a second that a core makes of text: a gigabyte in 20 s on a server, as the tokenizers library says, over 32
cores."""
FILTERS = {"none": 0.0, "rules": 0.05, "classifier": 1.5}
"""Seconds of a core for a text of 8,192 tokens: an assumption."""
SPREAD = 0.01
"""Standard deviation of a node's speed, over the mean: an assumption. A step waits for the slowest."""
GPU_SECONDS = 50e3 * 3600
"""Mean time between failures of one GPU: 419 interruptions in 54 days of 16,384 (Llama 3, arXiv 2407.21783)."""
RESTART = 600.0
DEADLINE_DAYS, ALL_TOKENS = 120, 15e12
CORE_DOLLARS = 0.04
NEW = {"none": 1.0, "rules": 0.9, "classifier": 1.0}
"""Share of the texts that pass a filter and are none that training has seen before: an assumption."""
RAW = "Raw web text repeats itself and holds what nobody wants to have taught: the mission asks for a filter."


@cache
def tokens_per_gpu() -> float:
    """By the engine: tensor parallelism 8 in the node, 4 pipeline stages, 16 micro-batches."""
    answer = estimate(
        setup(
            MODEL,
            GPU,
            batch=1,
            sequence=SEQUENCE,
            dp=32,
            tp=8,
            pp=4,
            sequence_parallel=True,
            micro_batches=16,
            framework="megatron",
            precision="megatron",
            update=UPDATE,
        )
    )
    return answer.time.tokens_per_s / (32 * 8 * 4)


def stages(setting: Setting) -> Stages:
    """Work between checkpoints, then a checkpoint that everything waits for; now and then a failure."""
    gpus, workers, every = (int(setting[name]) for name in ("devices", "workers", "every"))
    nodes = gpus / 8
    slowest = 1 + SPREAD * sqrt(2 * log(nodes))
    alone = gpus * tokens_per_gpu() / slowest / SEQUENCE
    per_text = SEQUENCE / TOKENS_PER_CORE + FILTERS[str(setting["augmentation"])]
    fed = nodes * workers / per_text
    working = min(alone, fed)
    work = every * BATCH_TOKENS / SEQUENCE / working
    save = STATE / STORE.sequential
    overhead = failure_overhead(work, save, time_between_failures(gpus, GPU_SECONDS), RESTART)
    rate = working / (1 + overhead) * NEW[str(setting["augmentation"])]
    busy = {
        "data": working / (1 + overhead) / fed,
        "bus": save / (work * (1 + overhead)),
        "compute": working / (1 + overhead) / alone,
    }
    price = GPU.rent.dollars if GPU.rent else 0.0
    cost = gpus * price + nodes * workers * CORE_DOLLARS
    return Stages(rate, busy, cost, RAW if setting["augmentation"] == "none" else "")


RACE = Race(
    situation="Training runs on 1,280 GPUs, months behind its deadline; the team asks for twice as many. Every "
    "fifty updates all stop for a checkpoint.",
    levers=(
        Dial("devices", "GPUs", 512, 2560, 1280, 128),
        Dial("workers", "Loader processes", 1, 16, 4, unit="per node"),
        Lever(
            "augmentation",
            "Filter of the text",
            {"none": "None", "rules": "Rules", "classifier": "Classifier"},
            "classifier",
            "A small network reads every text before training does.",
        ),
        Lever(
            "every",
            "Checkpoint every",
            {50: "50", 100: "100", 200: "200", 400: "400", 800: "800", 3200: "3,200"},
            50,
            f"Updates of {BATCH_TOKENS / 1e6:.1f} million tokens. What a failure destroys is the work since the last.",
        ),
    ),
    stages=stages,
    boxes={"data": "Loaders", "bus": "Checkpoint store", "compute": "GPUs"},
    change="1,280 GPUs become 2,560; the checkpoint store stays",
    after={"devices": 2560},
    sample="new texts",
    target=ALL_TOKENS / SEQUENCE / (DEADLINE_DAYS * 86400),
    period=(1.0, "per second"),
    worth=("new texts per dollar", 3600.0),
    lesson="Four loaders in a node had little to do, even with a classifier: a text is small, and rules let repeated "
    "ones through. Twice the GPUs make steps twice as short, and the checkpoint that comes every fifty steps takes as "
    "long as before. Rarer checkpoints help until failures destroy more than was saved. Past the deadline a further "
    "GPU works nearly as much as the others and brings slightly less for its dollars: failures come more often, and of "
    "more nodes the slowest is slower.",
    sources="Speed is the engine's; checkpoints go to a store of 100 Gb/s; failures are as often as Llama 3's. A "
    "filter's seconds, what it lets through, and how much the speeds of nodes differ, are assumed.",
    turns="A checkpoint stops all else, which works side by side in between. Busiest is:",
)
