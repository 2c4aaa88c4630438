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
TENSOR, PIPELINE = 8, 4
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
DEADLINE_DAYS, ALL_TOKENS = 150, 15e12
CORE_DOLLARS = 0.04
NEW = {"none": 0.8, "rules": 0.9, "classifier": 1.0}
"""Share of the texts that pass a filter and are none that training has seen before: an assumption."""
RAW = "Raw web text repeats itself and holds what nobody wants to have taught: the mission asks for a filter."


@cache
def tokens_per_gpu(gpus: int) -> float:
    """By the engine: tensor parallelism 8 in the node, 4 pipeline stages, and an update's texts one micro-batch each.

    More GPUs are more pipelines, each with fewer micro-batches, so that its stages wait longer for each other.
    """
    pipelines = gpus // (TENSOR * PIPELINE)
    micro_batches, rest = divmod(BATCH_TOKENS // SEQUENCE, pipelines)
    if rest:
        raise ValueError(f"{BATCH_TOKENS // SEQUENCE} texts do not divide among {pipelines} pipelines")
    answer = estimate(
        setup(
            MODEL,
            GPU,
            batch=1,
            sequence=SEQUENCE,
            dp=pipelines,
            tp=TENSOR,
            pp=PIPELINE,
            sequence_parallel=True,
            micro_batches=micro_batches,
            framework="megatron",
            precision="megatron",
            update=UPDATE,
        )
    )
    return answer.time.tokens_per_s / gpus


def stages(setting: Setting) -> Stages:
    """Work between checkpoints, then a checkpoint that everything waits for; now and then a failure."""
    gpus, workers, every = (int(setting[name]) for name in ("devices", "workers", "every"))
    nodes = gpus / 8
    slowest = 1 + SPREAD * sqrt(2 * log(nodes))
    alone = gpus * tokens_per_gpu(gpus) / slowest / SEQUENCE
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
    situation="Training runs on 1,024 GPUs, months behind its deadline; the team asks for twice as many. Every "
    "fifty updates all stop for a checkpoint.",
    levers=(
        Lever(
            "devices",
            "GPUs",
            {256: "256", 512: "512", 1024: "1,024", 2048: "2,048", 4096: "4,096"},
            1024,
            f"In pipelines of {PIPELINE * TENSOR}, which share the {BATCH_TOKENS // SEQUENCE} texts of an update.",
        ),
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
    change="1,024 GPUs become 2,048; the checkpoint store stays",
    after={"devices": 2048},
    sample="new texts",
    target=ALL_TOKENS / SEQUENCE / (DEADLINE_DAYS * 86400),
    period=(1.0, "per second"),
    worth=("new texts per dollar", 3600.0),
    lesson="Four loaders in a node had little to do, even with a classifier: a text is small, and rules let repeated "
    "ones through. Twice the GPUs share the same texts of an update: each pipeline has half the micro-batches to keep "
    "its stages at work, so a GPU does a sixth less, and the checkpoint that comes every fifty steps takes as long as "
    "before. Rarer checkpoints help until failures destroy more than was saved. They are free, and GPUs are not: the "
    "more there are, the fewer texts each dollar buys, so the smallest cluster that meets the deadline is the best.",
    sources=f"Speed is the engine's, over InfiniBand NDR, in pipelines of {PIPELINE} stages of {TENSOR} GPUs; "
    "checkpoints go to a store of 100 Gb/s; failures are as often as Llama 3's. A filter's seconds, what it lets "
    "through, and how much the speeds of nodes differ, are assumed.",
    turns="A checkpoint stops all else, which works side by side in between. Busiest is:",
)
